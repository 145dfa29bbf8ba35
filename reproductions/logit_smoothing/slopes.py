"""Exponents of power laws from simulated errors, with their standard errors."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reproductions.arrays import Floats


class Slope(NamedTuple):
    """An exponent and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.error:.3f}"


def slope(x: Sequence[float] | Floats, errors: Sequence[Floats]) -> Slope:
    """Slope of log(mean error) against log(x): least squares, weighted by the precision of each logarithm.

    `errors` holds the simulated errors at each x, independent between them.
    """
    position = np.log(np.asarray(x, dtype=np.float64))
    mean = np.array([part.mean() for part in errors])
    spread = np.array([part.std(ddof=1) / math.sqrt(len(part)) for part in errors]) / mean
    weight = 1 / spread**2
    centred = position - (weight @ position) / weight.sum()
    precision = float(weight @ centred**2)
    return Slope(float((weight * centred) @ np.log(mean)) / precision, 1 / math.sqrt(precision))
