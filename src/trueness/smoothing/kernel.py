"""The Gaussian kernel between scores and grid points, as sparse matrices."""

from typing import Any, NamedTuple

import numpy as np

from trueness._types import Array, Floats
from trueness.data.points import Points
from trueness.smoothing.cosine import REACH

GRID = 256  # steps from 0 to 1, and never wider than a quarter of the bandwidth
_FINEST = 4096
WIDEST = 1000.0  # bandwidths beyond which a curve could not be told from a flat one
_FEW = 4096  # points that are taken as they are


def grid_for(bandwidth: float) -> Floats:
    """Points from 0 to 1 that show every bend of a curve of this bandwidth."""
    steps = GRID
    while steps < min(4 / max(bandwidth, 1e-9), _FINEST):
        steps *= 2
    return np.arange(steps + 1) / steps


def gaussian(distance: Floats, bandwidth: float) -> Floats:
    """φ_σ."""
    z = distance / bandwidth
    return np.asarray(np.exp(-0.5 * z * z) / (bandwidth * np.sqrt(2 * np.pi)))


def reflected_kernel(t: Floats, f: Floats, bandwidth: float) -> Any:
    """K̃(t, f) at every pair, Σ_k φ(t − f + 2k) + φ(t + f + 2k), as a sparse matrix: rows for an even grid t, columns for f."""
    from scipy.sparse import csr_array

    step = t[1] - t[0]
    reach = int(np.ceil(REACH * bandwidth / step))
    offsets = np.arange(-reach, reach + 1)
    images = int(REACH * bandwidth / 2) + 1
    rows, columns, values = [], [], []
    for k in range(-images, images + 1):
        for centre in (f - 2 * k, -f - 2 * k):
            near = np.flatnonzero((centre > -REACH * bandwidth) & (centre < 1 + REACH * bandwidth))
            row = np.rint(centre[near] / step).astype(np.int64)[:, None] + offsets
            inside = (row >= 0) & (row < len(t))
            column = np.broadcast_to(near[:, None], row.shape)[inside]
            row = row[inside]
            rows.append(row)
            columns.append(column)
            values.append(gaussian(t[row] - centre[column], bandwidth))
    places = (np.concatenate(rows), np.concatenate(columns))
    return csr_array((np.concatenate(values), places), shape=(len(t), len(f)))


class Lattice(NamedTuple):
    """Nodes of an even lattice wherever a kernel reaches, and the kernels there as a sparse matrix [node, point]."""

    nodes: Floats
    neighbours: Array  # whether each node is a step before the next
    kernel: Any


def lattice(x: Floats, bandwidth: float, step: float, reach: float) -> Lattice:
    """The lattice of this step within so many bandwidths of the positions x."""
    from scipy.sparse import csr_array

    width = int(reach * bandwidth / step) + 1
    node = np.rint(x / step).astype(np.int64)[:, None] + np.arange(-width, width + 1)
    numbers, column = np.unique(node, return_inverse=True)
    nodes = numbers * step
    values = gaussian(nodes[column.reshape(node.shape)] - x[:, None], bandwidth)
    place = np.repeat(np.arange(len(x)), node.shape[1])
    kernel = csr_array((values.ravel(), (column.ravel(), place)), shape=(len(numbers), len(x)))
    return Lattice(nodes, np.diff(numbers) == 1, kernel)


def near_points(points: Points, bandwidth: float) -> Points:
    """Points; of many those within an eighth of the bandwidth put together."""
    if len(points.score) <= _FEW:
        return points
    label = (points.score * (8 / bandwidth)).astype(np.int64)
    return points.merged(np.flatnonzero(np.append(True, label[1:] != label[:-1])))
