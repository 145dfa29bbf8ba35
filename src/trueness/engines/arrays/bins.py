"""Rows → sums over equal-width bins, for a metric that needs no more: what remains of the ruler's reduction.

Sums are exact integers, of scores rounded to 2^-45, so that neither the order of the rows nor the number of threads shows.
"""

from types import ModuleType
from typing import NamedTuple

import numpy as np

from trueness._types import Array, Floats, Ints
from trueness.engines.arrays.workers import MOST_THREADS, accelerator, in_threads, kernel_labels, kernel_scores
from trueness.inputs.rows import Rows
from trueness.summary.ruler import uniform_edges

MOST_BINS = 256  # beyond, the ruler's reduction is as good
UNITS = 45  # scores are whole multiples of 2^-45
_PIECE = 1 << 17  # rows whose sums an int64 holds
_LOW = 23  # bits of a score that are summed apart, so that the sums of a piece are exact in float64


class BinSums(NamedTuple):
    """Sums over the rows of each bin: hard labels, no weights."""

    n: Floats
    outcomes: Floats  # Σy
    gap: Floats  # Σ(y − f)


def bin_sums(rows: Rows, bins: int) -> BinSums | None:
    """Sums over equal-width bins; None where some row must be judged first, has a weight or a soft label."""
    if rows.w is not None or bins > MOST_BINS:
        return None
    compiled = accelerator(len(rows))

    def work(first: int, last: int) -> Ints | None:
        total = np.zeros((bins, 4), dtype=np.int64)  # n, Σy and Σf, its low bits apart
        for a in range(first, last, _PIECE):
            b = min(a + _PIECE, last)
            part = _sums(rows.f.chunk(a, b), rows.y.chunk(a, b), bins, compiled)
            if part is None:
                return None
            total[:, :2] += part[:, :2]
            total[:, 2] += part[:, 2] >> _LOW
            total[:, 3] += part[:, 2] & ((1 << _LOW) - 1)
        return total

    parts = in_threads(0, len(rows), min(MOST_THREADS, -(-len(rows) // _PIECE)), work)
    if any(part is None for part in parts):
        return None
    n, outcomes, high, low = sum(parts).T
    exact = (outcomes.astype(object) << UNITS) - (high.astype(object) << _LOW) - low  # in Python's integers, rounded once
    return BinSums(n.astype(np.float64), outcomes.astype(np.float64), (exact / (1 << UNITS)).astype(np.float64))


def _sums(f: Array, y: Array, bins: int, compiled: ModuleType | None) -> Ints | None:
    """n, Σy and Σf in units of 2^-45 of a piece; None where some row is not plain."""
    if compiled is None:
        return _plain_sums(f, y, bins)
    f, y = kernel_scores(f), kernel_labels(y)
    table = np.zeros((bins * compiled.COPIES, 4), dtype=np.int64)
    if compiled.binned(f.dtype, y.dtype)(f, y, float(bins), table):
        return None
    return np.asarray(table.reshape(bins, compiled.COPIES, 4).sum(axis=1))


def _plain_sums(f: Array, y: Array, bins: int) -> Ints | None:
    f = f.astype(np.float64, copy=False)
    if not (f.min() >= 0 and f.max() <= 1 and ((y == 0) | (y == 1)).all()):  # NaN fails
        return None
    k = _bins(f, bins)
    units = np.rint(f * 2.0**UNITS)
    high = np.floor(units * 2.0**-_LOW)
    sums = [np.bincount(k, x, minlength=bins) for x in (None, y, high, units - high * 2.0**_LOW)]
    n, outcomes, high, low = (x.astype(np.int64) for x in sums)
    return np.stack([n, outcomes, (high << _LOW) + low], axis=1)


def _bins(f: Floats, bins: int) -> Ints:
    """The cell rule idx(m, f)."""
    edges = uniform_edges(bins)
    k = (f * bins).astype(np.int64)
    k -= f < edges[k]
    k += f >= edges.take(k + 1, mode="clip")
    return np.minimum(k, bins - 1, out=k)
