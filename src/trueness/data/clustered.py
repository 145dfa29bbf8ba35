"""Points whose draws flip whole clusters: of rows with their clusters, or of summaries of buckets of clusters."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from trueness.data.cluster_sampler import ClusterSampler
from trueness.data.points import Points, weight_unit
from trueness.errors import InputError
from trueness.inputs.clusters import Clusters
from trueness.inputs.rows import Arrays
from trueness.summary.summary import Summary


def clusters_of_rows(points: Points, rows: Arrays, clusters: Clusters, *, frequency: bool) -> Points:
    """Runs of equal scores whose rows come in clusters."""
    require_several(clusters.count, "cluster")
    w = np.ones(len(rows.f)) if rows.w is None else rows.w
    kept = w > 0  # a weight may have vanished beside one 1e300 times as large
    f, y, w, code = rows.f[kept] + 0.0, rows.y[kept].astype(np.float64), w[kept], clusters.code[kept]
    if rows.w is not None and not frequency:
        w = w / w.mean()
    sampler = ClusterSampler(
        cluster=code,
        point=np.searchsorted(points.score, f),
        e=w * (y - f),
        weight=w,
        count=clusters.count,
        points=len(points.score),
        inflation=_inflation(points),
    )
    return replace(points, sampler=sampler)


def clusters_of_buckets(points: Points, total: Summary, buckets: Mapping[int, Summary]) -> Points:
    """Cells of a summary whose rows come in buckets of clusters."""
    require_several(len(buckets), "bucket of clusters")
    cells, unit = total.cells[total.columns.w > 0], weight_unit(total)
    members: list[list[np.ndarray]] = [[], [], [], []]
    for number, bucket in enumerate(buckets[key] for key in sorted(buckets)):
        there = np.isin(bucket.cells, cells)
        scale = math.ldexp(unit, bucket.exponent - total.exponent)
        moments = bucket.moments
        point = np.searchsorted(cells, bucket.cells[there])
        for column, values in zip(
            members,
            (np.full(len(point), number), point, moments.e[there] * scale, moments.weight[there] * scale),
            strict=True,
        ):
            column.append(values)
    cluster, point, e, weight = map(np.concatenate, members)
    sampler = ClusterSampler(
        cluster=cluster,
        point=point,
        e=e,
        weight=weight,
        count=len(buckets),
        points=len(points.score),
        inflation=_inflation(points),
    )
    return replace(points, sampler=sampler)


def require_several(count: int, what: str) -> None:
    """One cluster alone cannot be flipped against others."""
    if count < 2:
        raise InputError(
            f"cluster: all rows are of one {what}, so there is nothing to flip. Pass what tells at least two clusters apart, "
            "or leave out cluster= if the rows are independent."
        )


def _inflation(points: Points) -> float:
    """c: how much larger the residuals would be on the whole, were their squares what is said of the variance."""
    own, said = float(points.squares.sum()), float(points.variance.sum())
    return 1.0 if own == 0 else math.sqrt(max(1.0, said / own))
