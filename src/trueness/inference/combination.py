"""One p-value of several statistics on the same draws."""

from collections.abc import Sequence

import numpy as np

from trueness._types import Floats

_SAME = 1e-5  # of a statistic's spread: values nearer than this are equal
_LARGEST = 1e300  # from here on values are equal
_TAIL = 0.1  # share of the values from which a tail is told


def rank_pvalues(values: Floats) -> Floats:
    """Share of the values that reach each one, itself counted; equal ones, but for rounding, reach each other."""
    shares, alike = _shares(values)
    steps = np.round(shares / alike)
    ordered = np.sort(steps)
    return np.asarray((len(steps) - np.searchsorted(ordered, steps, side="left")) / len(steps))


def joint_pvalue(statistics: Sequence[Floats]) -> tuple[float, list[float]]:
    """The p-value of the smallest of several, and each of them; the first of the values is the observed one.

    Every value, observed or drawn, is ranked among all of its statistic; its smallest rank is then ranked among those of all
    draws: exact under calibration, as the observed outcomes are then one draw like the others. Draws of equal smallest rank
    are parted by how far out they lie in the tail of the values.
    """
    ranks = np.stack([rank_pvalues(values) for values in statistics])
    smallest = ranks.min(axis=0)
    out = smallest < smallest[0] - 1e-12
    level = np.abs(smallest - smallest[0]) <= 1e-12
    if np.count_nonzero(level) > 1:
        beyond = rank_pvalues(np.max([_depth(values) for values in statistics], axis=0))
        level &= beyond <= beyond[0]
    return float(np.count_nonzero(out | level)) / len(smallest), [float(rank[0]) for rank in ranks]


def _depth(values: Floats) -> Floats:
    """How far out each value lies, in mean excesses over the value that a tenth exceed, as if that tail were exponential."""
    shares, alike = _shares(values)
    excess = shares - np.quantile(shares, 1 - _TAIL)
    outer = excess > alike
    return np.where(outer, excess, 0.0) / (excess[outer].mean() if outer.any() else 1.0)


def _shares(values: Floats) -> tuple[Floats, float]:
    """The values in units of the largest, whose spread does not overflow, and how near to each other they are equal."""
    values = np.clip(values, -_LARGEST, _LARGEST)
    shares = values / max(float(np.abs(values).max()), 1e-300)
    return shares, max(_SAME * float(shares.std()), 2e-6)
