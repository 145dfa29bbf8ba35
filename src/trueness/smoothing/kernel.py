"""The reflected Gaussian kernel at grid points, and what a curve needs of the data for it."""

from typing import Any

import numpy as np

from trueness._types import Floats
from trueness.data.points import Points, points_of
from trueness.data.sample import RowData
from trueness.summary.summary import Summary

GRID = 256  # steps from 0 to 1, and never wider than a quarter of the bandwidth
_FINEST = 4096
_REACH = 8.6
_FEW = 4096  # points that are taken as they are


def grid_for(bandwidth: float) -> Floats:
    """Points from 0 to 1 that show every bend of a curve of this bandwidth."""
    steps = GRID
    while steps < min(4 / max(bandwidth, 1e-9), _FINEST):
        steps *= 2
    return np.arange(steps + 1) / steps


def kernel(t: Floats, f: Floats, bandwidth: float) -> Any:
    """K̃(t, f) at every pair, Σ_k φ(t − f + 2k) + φ(t + f + 2k), as a sparse matrix: rows for an even grid t, columns for f."""
    from scipy.sparse import csr_array

    step = t[1] - t[0]
    reach = int(np.ceil(_REACH * bandwidth / step))
    offsets = np.arange(-reach, reach + 1)
    images = int(_REACH * bandwidth / 2) + 1
    rows, columns, values = [], [], []
    for k in range(-images, images + 1):
        for centre in (f - 2 * k, -f - 2 * k):
            near = np.flatnonzero((centre > -_REACH * bandwidth) & (centre < 1 + _REACH * bandwidth))
            row = np.rint(centre[near] / step).astype(np.int64)[:, None] + offsets
            inside = (row >= 0) & (row < len(t))
            column = np.broadcast_to(near[:, None], row.shape)[inside]
            row = row[inside]
            z = (t[row] - centre[column]) / bandwidth
            rows.append(row)
            columns.append(column)
            values.append(np.exp(-0.5 * z * z) / (bandwidth * np.sqrt(2 * np.pi)))
    at = (np.concatenate(rows), np.concatenate(columns))
    return csr_array((np.concatenate(values), at), shape=(len(t), len(f)))


def grouped(data: RowData | Summary, bandwidth: float) -> Points:
    """The data's points; of many those within an eighth of the bandwidth put together."""
    points = points_of(data)
    if len(points.score) <= _FEW:
        return points
    label = (points.score * (8 / bandwidth)).astype(np.int64)
    return points.merged(np.flatnonzero(np.append(True, label[1:] != label[:-1])))
