"""Many draws smoothed at once, and the integrals of their absolute values.

A draw is a row of masses at the same points. The points are spread over equal steps of a window, two nodes each, and one cosine
transform of all draws serves every bandwidth. What two nodes smooth by themselves is taken out again, frequency by frequency.
"""

import numpy as np

from trueness._types import Floats
from trueness.smoothing.cosine import damping

STEPS = 4  # of the grid in a bandwidth
NODES = 2  # at which a smoothed draw is looked at in a bandwidth
FEW_ROWS, MANY_NODES = 512, 16  # of few rows some draws are mirrors of others: their integrals must come out equal
MOST_STEPS = 1 << 15
_FEWEST = 32


class DrawGrid:
    """Points in a window mapped to [0, 1], fine enough for bandwidths from `sigma` on."""

    def __init__(self, place: Floats, sigma: float, total: float, reach: float) -> None:
        from scipy.fft import next_fast_len
        from scipy.sparse import csr_array

        steps = next_fast_len(max(_FEWEST, int(np.ceil(STEPS / sigma))))
        node = np.minimum((place * steps).astype(np.int64), steps - 1)
        share = place * steps - node
        counted = np.full(steps + 1, 0.5 / total)  # a transform of this type counts all but the ends twice
        counted[[0, -1]] = 1 / total
        rows, values = np.concatenate([node, node + 1]), np.concatenate([1 - share, share])
        columns = np.tile(np.arange(len(place)), 2)
        self._spread = csr_array((values * counted[rows], (rows, columns)), shape=(steps + 1, len(place)))
        self._known = np.pi * np.arange(min(steps, int(reach / (np.pi * sigma)) + 1) + 1)
        self._unspread = np.sinc(self._known / (2 * np.pi * steps))[:, None] ** -2
        self._reach = reach

    def coefficients(self, e: Floats) -> Floats:
        """a_k of each draw: [frequency, draw]."""
        from scipy.fft import dct

        nodes = self._spread @ np.ascontiguousarray(e.T)
        return np.asarray(dct(nodes, type=1, axis=0, overwrite_x=True)[: len(self._known)] * self._unspread)

    def smoothed(self, a: Floats, sigma: float, nodes: float) -> Floats:
        """Draws smoothed by this bandwidth, at equal steps of the window, so many a bandwidth: [node, draw]."""
        from scipy.fft import dct, next_fast_len

        last = min(int(self._reach / (np.pi * sigma)) + 1, len(a) - 1)
        intervals = next_fast_len(max(16, last + 1, int(np.ceil(nodes / sigma))))
        padded = np.zeros((intervals + 1, a.shape[1]))
        np.multiply(a[: last + 1], damping(sigma, self._known[: last + 1])[:, None], out=padded[: last + 1])
        return np.asarray(dct(padded, type=1, axis=0, overwrite_x=True))

    def norms(self, a: Floats, sigma: float, nodes: float) -> Floats:
        """∫|g_σ| of each draw.

        By the plain trapezoid rule: wherever the nodes lie, what it adds at a change of sign it loses between them on average.
        """
        return mean_sizes(self.smoothed(a, sigma, nodes))


def nodes_for(rows: int) -> int:
    """Nodes a bandwidth at which draws of so many rows are looked at."""
    return NODES if rows > FEW_ROWS else MANY_NODES


def mean_sizes(g: Floats) -> Floats:
    """∫|g| over [0, 1] of each column, by the trapezoid rule at equal steps."""
    size = np.abs(g, out=g)
    return np.asarray((size.sum(axis=0) - (size[0] + size[-1]) / 2) / (len(g) - 1))


def crossing_sizes(g: Floats) -> Floats:
    """The same, less what the rule adds at a change of sign: exact where g is linear."""
    draws, product = g.shape[1], (g[:-1] * g[1:]).ravel()
    change = np.flatnonzero(product < 0)
    sizes = mean_sizes(g)
    left, right = g.ravel()[change], g.ravel()[change + draws]  # sizes by now
    lost = np.bincount(change % draws, -product[change] / (left + right), draws)
    return np.asarray(sizes - lost / (len(g) - 1))


def linear_integrals(g: Floats, step: float, breaks: Floats | None = None) -> Floats:
    """∫|g| of each row at equal steps, exact where g is linear: a trapezoid rule, less what it adds at a change of sign."""
    size = np.abs(g)
    both = size[:, :-1] + size[:, 1:]
    crossing = g[:, :-1] * g[:, 1:] < 0
    lost = np.divide(size[:, :-1] * size[:, 1:], both, out=np.zeros_like(both), where=crossing)
    pieces = both / 2 - lost
    return np.asarray((pieces if breaks is None else pieces * breaks).sum(axis=1) * step)
