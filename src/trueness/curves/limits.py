"""Limits for a mean outcome from as many rows of equal weight as tell as much."""

import numpy as np

from trueness._types import Floats


def clopper_pearson(mean: Floats, rows: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Exact binomial limits of a mean of so many outcomes, which need not be whole numbers; NaN where there are none.

    At the effective number of weighted rows, W²/Σw², they hold for weighted means, too (Korn and Graubard 1998).
    """
    from scipy.special import betaincinv

    there = rows > 0
    n = np.where(there, rows, 1.0)
    ones = n * np.clip(np.where(there, mean, 0.0), 0.0, 1.0)
    low = np.where(ones > 0, betaincinv(np.maximum(ones, _LEAST), n - ones + 1, alpha / 2), 0.0)
    high = np.where(ones < n, betaincinv(ones + 1, np.maximum(n - ones, _LEAST), 1 - alpha / 2), 1.0)
    return np.where(there, low, np.nan), np.where(there, high, np.nan)


def wilson(mean: Floats, rows: Floats, z: float) -> tuple[Floats, Floats]:
    """Wilson's limits of a mean of so many outcomes, z standard errors to either side; NaN where there are none."""
    there = rows > 0
    n = np.where(there, rows, 1.0)
    p = np.clip(np.where(there, mean, 0.0), 0.0, 1.0)
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * np.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2) / (1 + z * z / n)
    # Rounding aside, the limits of a mean of 0 or 1 begin there.
    low, high = np.where(p > 0, middle - reach, 0.0), np.where(p < 1, middle + reach, 1.0)
    return np.where(there, np.maximum(low, 0.0), np.nan), np.where(there, np.minimum(high, 1.0), np.nan)


_LEAST = 1e-9  # a count that serves for none where the limit is known without
