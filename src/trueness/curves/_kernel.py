"""The reflected Gaussian kernel at grid points, and what a curve needs of the data for it."""

import numpy as np

from trueness.inference._points import Points, points_of
from trueness.metrics._data import RowData
from trueness.ruler import Floats
from trueness.summary import Summary

GRID = 256  # steps from 0 to 1, and never wider than a quarter of the bandwidth
_FINEST = 4096
_REACH = 8.6


def grid_for(bandwidth: float) -> Floats:
    """Points from 0 to 1 that show every bend of a curve of this bandwidth."""
    steps = GRID
    while steps < min(4 / max(bandwidth, 1e-9), _FINEST):
        steps *= 2
    return np.arange(steps + 1) / steps


def kernel(t: Floats, f: Floats, bandwidth: float) -> Floats:
    """K̃(t, f) at every pair: Σ_k φ(t − f + 2k) + φ(t + f + 2k)."""
    reach = int(_REACH * bandwidth / 2) + 1
    total = np.zeros((len(t), len(f)))
    for k in range(-reach, reach + 1):
        for centre in (f - 2 * k, -f - 2 * k):
            z = (t[:, None] - centre) / bandwidth
            total += np.exp(-0.5 * z * z)
    return np.asarray(total / (bandwidth * np.sqrt(2 * np.pi)))


def grouped(data: RowData | Summary) -> Points:
    """The data's points, neighbours put together where they are many."""
    points = points_of(data)
    return points.merged(points.groups([]))
