"""Many draws smoothed at once, and the integrals of their absolute values.

A draw is a row of masses at the same points. The points are spread over equal cells of a window, the middles of two cells
each, and one cosine transform of all draws serves every bandwidth. What two middles smooth by themselves is taken out again,
frequency by frequency.
"""

from typing import Any, NamedTuple

import numpy as np

from trueness._types import Array, Floats, Ints
from trueness.data.binomials import Draws, single
from trueness.smoothing.cosine import damping

STEPS = 4  # of the grid in a bandwidth
NODES = 2  # at which a smoothed draw is looked at in a bandwidth
MIRRORED_ROWS, MANY_NODES = 64, 16  # of few rows some draws are mirrors of others: their integrals must come out equal
MOST_STEPS = 1 << 15
_FEWEST = 32


def by_point(e: Array) -> Draws:
    """Draws as masses [point, draw]."""
    return np.ascontiguousarray(single(e).T)


class DrawGrid:
    """Points in a window mapped to [0, 1], fine enough for bandwidths from `sigma` on.

    Frequencies up to `reach` over π·sigma are kept, all in the precision of draws unless told.
    """

    def __init__(self, place: Floats, sigma: float, total: float, reach: float, dtype: Any = np.float32) -> None:
        from scipy.fft import next_fast_len
        from scipy.sparse import csr_array

        cells = next_fast_len(max(_FEWEST, int(np.ceil(STEPS / sigma))), real=True)
        left = np.floor(place * cells - 0.5)
        share = place * cells - 0.5 - left
        # Before the first middle and after the last the mirror of a cell is the cell itself.
        middle = np.clip(np.stack([left, left + 1], axis=1), 0, cells - 1).astype(np.int32).ravel()
        values = np.stack([1 - share, share], axis=1).ravel() / (2 * total)  # the transform counts twice
        points = np.arange(0, len(values) + 1, 2, dtype=np.int32)
        self._spread = csr_array((values.astype(dtype), middle, points), shape=(len(place), cells)).T
        self._known = np.pi * np.arange(min(cells - 1, int(reach / (np.pi * sigma)) + 1) + 1)
        self._unspread = (np.sinc(self._known / (2 * np.pi * cells)) ** -2).astype(dtype)
        self._reach = reach

    def coefficients(self, masses: Array) -> Array:
        """a_k of each draw, [draw, frequency], from masses [point, draw]."""
        from scipy.fft import dct

        a = dct(np.ascontiguousarray((self._spread @ masses).T), type=2, axis=1, overwrite_x=True)
        return np.asarray(a[:, : len(self._known)] * self._unspread)

    def rung(self, sigma: float, nodes: float) -> "Rung":
        """How draws are smoothed by this bandwidth and looked at on so many nodes a bandwidth."""
        from scipy.fft import next_fast_len

        last = min(int(self._reach / (np.pi * sigma)) + 1, len(self._known) - 1)
        cells = next_fast_len(max(16, last + 1, int(np.ceil(nodes / sigma))), real=True)
        return Rung(damping(sigma, self._known[: last + 1]).astype(self._unspread.dtype), int(cells))


class Rung(NamedTuple):
    """One bandwidth: what its kernel leaves of each frequency, and the equal cells in whose middles draws are looked at."""

    damped: Array
    cells: int

    def smoothed(self, a: Array) -> Array:
        """Draws smoothed, from their coefficients: [draw, node]."""
        from scipy.fft import dct

        padded = np.zeros((len(a), self.cells), dtype=a.dtype)
        np.multiply(a[:, : len(self.damped)], self.damped, out=padded[:, : len(self.damped)])
        return np.asarray(dct(padded, type=3, axis=1, overwrite_x=True))

    def norms(self, a: Draws) -> Floats:
        """∫|g_σ| of each draw.

        By the plain midpoint rule: wherever the nodes lie, what it adds at a change of sign it loses between them on average.
        """
        return mean_sizes(self.smoothed(a))

    def norms_and_signed(self, a: Draws, node: Ints, sign: Array) -> tuple[Floats, Floats]:
        """∫|g_σ| of each draw, and the same where g_σ keeps its sign, times this one, at some nodes."""
        g = self.smoothed(a)
        kept = g[:, node]
        signed = kept @ sign.astype(g.dtype) - np.abs(kept).sum(axis=1)
        norms = mean_sizes(g)
        return norms, norms + signed.astype(np.float64) / self.cells


def nodes_for(rows: int) -> int:
    """Nodes a bandwidth at which draws of so many rows are looked at."""
    return NODES if rows > MIRRORED_ROWS else MANY_NODES


def middles(cells: int) -> Floats:
    """The middles of equal cells of [0, 1]."""
    return (np.arange(cells) + 0.5) / cells


def mean_sizes(g: Draws) -> Floats:
    """∫|g| over [0, 1] of each row, from the middles of equal cells."""
    return np.asarray(np.add.reduce(np.abs(g, out=g), axis=1).astype(np.float64) / g.shape[1])


def crossing_sizes(g: Draws) -> Floats:
    """The same, less what the rule adds at a change of sign: exact where g is linear, and flat beyond the outer nodes."""
    product = g[:, :-1] * g[:, 1:]
    row, column = np.nonzero(product < 0)
    sizes = mean_sizes(g)
    lost = -product[row, column] / (g[row, column] + g[row, column + 1])  # sizes by now
    return np.asarray(sizes - np.bincount(row, lost, len(g)) / g.shape[1])


def linear_integrals(g: Draws, step: float, breaks: Array | None = None) -> Floats:
    """∫|g| of each row at equal steps, exact where g is linear: a trapezoid rule, less what it adds at a change of sign."""
    size = np.abs(g)
    both = size[:, :-1] + size[:, 1:]
    crossing = g[:, :-1] * g[:, 1:] < 0
    lost = np.divide(size[:, :-1] * size[:, 1:], both, out=np.zeros_like(both), where=crossing)
    pieces = both / 2 - lost
    return np.asarray((pieces if breaks is None else pieces * breaks).sum(axis=1) * step, dtype=np.float64)
