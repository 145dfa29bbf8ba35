"""Rows as a sample; checked, summed and promoted to float64 only as far as needed."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from trueness._frozen import read_only
from trueness._types import Array, Floats
from trueness.data.certainties import Contradictions
from trueness.data.clustered import clusters_of_rows
from trueness.data.masses import Kind, Masses, RowMasses
from trueness.data.points import (
    FEW_EVENTS,
    FEW_SCORES,
    LARGE_JUMP,
    ROWS,
    Points,
    frequencies,
    points_of_rows,
    points_of_summary,
)
from trueness.data.row_extremes import from_rows
from trueness.data.scales import Scale
from trueness.engines.arrays.bins import BinSums, bin_sums
from trueness.engines.arrays.grid import Runs, collapse, residual_moments
from trueness.engines.arrays.summarize import nothing_odd, reduce_rows
from trueness.engines.arrays.workers import total_of
from trueness.inputs.clusters import Clusters
from trueness.inputs.rows import Arrays, Rows, read_rows
from trueness.summary.extremes import TIE, Extremes
from trueness.summary.ruler import Ruler, ruler
from trueness.summary.summary import Summary

# Below this many rows a metric works from the rows themselves; above, from their summary as far as that is exact enough.
SMALL = 1 << 17


class RowSample:
    """Rows; checked, summed and promoted to float64 only as far as needed."""

    has_rows = True
    bracket = None
    rounding = TIE

    def __init__(self, given: Rows) -> None:
        self.given = given
        self._summaries: dict[Ruler, Summary] = {}

    def __reduce__(self) -> tuple[type["RowSample"], tuple[Rows]]:
        """What is copied is the rows: what was worked out of them follows again."""
        return RowSample, (self.given,)

    @property
    def n(self) -> int:
        rows = self.given  # without weights each counts, or is refused
        return len(rows) if rows.w is None and rows.nan == "raise" else len(self.arrays.f)

    @property
    def soft(self) -> bool:
        return self.arrays.soft

    @property
    def small(self) -> bool:
        return len(self.given) <= SMALL

    def summary(self, bins: tuple[int, ...] = ()) -> Summary:
        on = ruler(bins)
        if on not in self._summaries:
            self._summaries[on] = reduce_rows(self.given, on)
        return self._summaries[on]

    @cached_property
    def arrays(self) -> Arrays:
        """Scores, outcomes and weights of the usable rows; scores and weights in float64."""
        a = self._usable()
        return replace(a, f=read_only(a.f), y=read_only(a.y), w=None if a.w is None else read_only(a.w))

    def _usable(self) -> Arrays:
        n, seen = len(self.given), next(iter(self._summaries.values()), None)
        if self.small or self.given.w is not None:
            return self.given.arrays()
        # A summary has seen every row, or a quick look does: where nothing need change there is no second check.
        if (seen.clipped or seen.n != n) if seen else not nothing_odd(self.given):
            return self.given.arrays()
        f, y = np.asarray(self.given.f.chunk(0, n), dtype=np.float64), _number(self.given.y.chunk(0, n))
        return Arrays(f=f, y=y, w=None, soft=seen.soft if seen else _is_soft(y), clipped=0, rejected={})

    @cached_property
    def _clusters(self) -> Clusters | None:
        """Those of the usable rows."""
        given, kept = self.given.cluster, self.arrays.kept
        return given if given is None or kept is None else given.taken(kept)

    @property
    def clusters(self) -> int:
        return 0 if self._clusters is None else self._clusters.count

    @cached_property
    def independent(self) -> "RowSample":
        if self.given.cluster is None:
            return self
        alone = RowSample(replace(self.given, cluster=None))
        alone.arrays, alone._summaries = self.arrays, self._summaries
        return alone

    @cached_property
    def total(self) -> float:
        w = None if self.given.w is None else self.arrays.w
        return float(self.n) if w is None else float(w.sum())

    def has_bins(self, count: int) -> bool:
        return True

    def bin_sums(self, bins: int) -> BinSums | None:
        return bin_sums(self.given, bins)

    def residual_moments(self, cells: int) -> Floats | None:
        """Moments of y − f on so many cells of [0, 1], where no row need be looked at before; else None."""
        return residual_moments(self.given, cells)

    def rows(self, what: str, names: tuple[str, str, str] | None = None) -> "RowSample":
        return self

    @cached_property
    def runs(self) -> Runs:
        """Runs of equal scores."""
        a = self.arrays
        return collapse(a.f, a.y, a.w, soft=a.soft)

    def points(self, *, rows: bool = False, bins: tuple[int, ...] = (), frequency: bool = False) -> Points:
        if frequency and self.given.w is not None:
            frequencies(self.given.w.chunk(0, len(self.given)))
        if self._clusters is not None:
            runs = points_of_rows(self.arrays, frequency=frequency)
            return clusters_of_rows(runs, self.arrays, self._clusters, frequency=frequency)
        if frequency or rows or self.n <= ROWS:
            return points_of_rows(self.arrays, frequency=frequency)
        cells = points_of_summary(self.summary(bins))
        # Weighted rows are drawn one by one unless there are many events, many scores and no row that decides alone.
        normal = cells.events >= FEW_EVENTS and cells.jump <= LARGE_JUMP and len(cells.score) >= FEW_SCORES
        return points_of_rows(self.arrays) if cells.weighted and not normal else cells

    def cells(self) -> Points:
        return points_of_rows(self.arrays) if self.n <= ROWS else points_of_summary(self.summary())

    def masses(self, scale: Scale, kinds: tuple[Kind, ...], resolution: float = 0.0) -> Masses:
        return RowMasses(self, scale, kinds)

    @cached_property
    def extremes(self) -> Extremes:
        summary = None if self.small else self.summary()  # first: it sees every row, which then need no look of their own
        return from_rows(self.arrays, self.total, summary)

    @property
    def exact_extremes(self) -> Extremes:
        return self.extremes

    @cached_property
    def variance(self) -> float:
        a = self.arrays
        spread = (a.y - a.f) ** 2 if a.soft else a.f * (1 - a.f)
        return float(np.sum(spread if a.w is None else a.w**2 * spread))

    @property
    def squares(self) -> float:
        a = self.arrays

        def squares(first: int, last: int) -> float:
            e = a.y[first:last] - a.f[first:last]
            return float(np.sum(e * e if a.w is None else a.w[first:last] * (e * e)))

        return total_of(self.n, squares) / self.total

    @cached_property
    def shows_variance(self) -> bool:
        """Whether its outcomes are soft labels that show by themselves how they vary."""
        labels = points_of_rows(self.arrays).labels if self.soft else None
        return labels is not None and labels.trusted

    def contradictions(self, *, frequency: bool = False) -> Contradictions:
        w = self.arrays.w if frequency else None
        happened, failed = (round(float(rows.sum() if w is None else w[rows].sum())) for rows in self._contradicted)
        return Contradictions(happened, failed)

    @property
    def _contradicted(self) -> tuple[Array, Array]:
        a = self.arrays
        return (a.f <= 0) & (a.y > 0), (a.f >= 1) & (a.y < 1)

    @cached_property
    def without_contradictions(self) -> "RowSample | None":
        happened, failed = self._contradicted
        kept = ~(happened | failed)
        return self.taken(kept) if kept.any() else None

    def taken(self, rows: Array) -> "RowSample":
        """Some of the usable rows, by a mask or by their places."""
        a = self.arrays
        y, f = a.y[rows], a.f[rows]
        given = read_rows(y, f, None if a.w is None else a.w[rows])
        part = RowSample(given if self._clusters is None else replace(given, cluster=self._clusters.taken(rows)))
        if a.w is None:  # checked already; weights are looked at again, for those of a part may need another scale
            part.arrays = Arrays(f=f, y=y, w=None, soft=a.soft and _is_soft(y), clipped=0, rejected={})
        return part

    def lowest_score(self, low: float, high: float, *, closed: bool) -> float:
        scores = self.arrays.f
        inside = (scores >= low) if closed else (scores > low)
        return float(scores[inside].min(initial=high))


def _is_soft(y: Array) -> bool:
    parts = (y[a : a + SMALL] for a in range(0, len(y), SMALL))
    return y.dtype.kind == "f" and any(bool(np.any((part > 0) & (part < 1))) for part in parts)


def _number(y: Array) -> Array:
    """Outcomes that give float64 differences with float64 scores, without a copy where they are whole numbers."""
    if y.dtype == np.bool_:
        return y.view(np.uint8)
    return y if y.dtype.kind in "iu" else y.astype(np.float64, copy=False)


def residuals(rows: Arrays, a: int, b: int) -> Floats:
    """w(y − f) of rows a…b."""
    e: Floats = rows.y[a:b] - rows.f[a:b]
    return e if rows.w is None else rows.w[a:b] * e
