"""One p-value of several statistics on the same draws."""

from collections.abc import Sequence

import numpy as np

from trueness._types import Floats

_SAME = 1e-5  # of a statistic's spread: values nearer than this are equal
_LARGEST = 1e300  # from here on values are equal


def rank_pvalues(values: Floats) -> Floats:
    """Share of the values that reach each one, itself counted; equal ones, but for rounding, reach each other."""
    values = np.clip(values, -_LARGEST, _LARGEST)
    largest = max(float(np.abs(values).max()), 1e-300)
    shares = values / largest  # whose spread does not overflow
    steps = np.round(shares / max(_SAME * float(shares.std()), 2e-6))
    ordered = np.sort(steps)
    return np.asarray((len(steps) - np.searchsorted(ordered, steps, side="left")) / len(steps))


def joint_pvalue(statistics: Sequence[Floats], further: Floats | None = None) -> tuple[float, list[float]]:
    """The p-value of the smallest of several, and each of them; the first of the values is the observed one.

    Every value, observed or drawn, is ranked among all of its statistic; its smallest rank is then ranked among those of all
    draws: exact under calibration, as the observed outcomes are then one draw like the others. `further` parts those of
    equal smallest rank, the smaller the further out.
    """
    ranks = np.stack([rank_pvalues(values) for values in statistics])
    smallest = ranks.min(axis=0)
    out = smallest < smallest[0] - 1e-12
    level = np.abs(smallest - smallest[0]) <= 1e-12
    if further is not None:
        beyond = rank_pvalues(-further)
        level &= beyond <= beyond[0]
    return float(np.count_nonzero(out | level)) / len(smallest), [float(rank[0]) for rank in ranks]
