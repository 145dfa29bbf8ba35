"""Moments of the two limit laws, from their upper tails."""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

import trueness


class Moments(NamedTuple):
    """Mean and standard deviation."""

    mean: float
    deviation: float


def law_of(error: str) -> Any:
    """The law that an error over σ_n tends to when the scores are calibrated."""
    return trueness.brownian.max_abs if error.startswith("ECCE-MAD") else trueness.brownian.range


@functools.cache
def moments(error: str) -> Moments:
    """Of that law: E X = ∫ P(X > x) dx and E X² = ∫ 2x P(X > x) dx; beyond 12 there is less than 1e-31."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    x, w = 6 * (nodes + 1), 6 * weights
    tail = law_of(error).sf(x)
    mean = float(w @ tail)
    return Moments(mean, math.sqrt(float(w @ (2 * x * tail)) - mean**2))
