"""Worlds to draw from: how scores are spread, and what then happens."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit
from scipy.stats import beta

Array = np.ndarray[Any, Any]


class Scores(NamedTuple):
    """A distribution of scores."""

    draw: Callable[[np.random.Generator, int], Array]
    continuous: bool


def _beta(a: float, b: float) -> Scores:
    return Scores(lambda rng, n: rng.beta(a, b, n), continuous=True)


def _ends(rng: np.random.Generator, n: int) -> Array:
    f = rng.random(n)
    kind = rng.random(n)
    return np.where(kind < 0.25, 0.0, np.where(kind < 0.5, 1.0, f))


SCORES = {
    "uniform": Scores(lambda rng, n: rng.random(n), continuous=True),
    "Beta(.2,.2)": _beta(0.2, 0.2),
    "Beta(1,20)": _beta(1, 20),
    "Beta(2,200)": _beta(2, 200),
    "ten values": Scores(lambda rng, n: rng.integers(0, 10, n) / 10 + 0.05, continuous=False),
    "constant": Scores(lambda rng, n: np.full(n, 0.3), continuous=False),
    "masses at 0 and 1": Scores(_ends, continuous=False),
}

SHAPES = {"uniform": (1.0, 1.0), "Beta(.4,1.2)": (0.4, 1.2), "Beta(2,200)": (2.0, 200.0)}
TRUTHS = ("calibrated", "slope .9", "slope .6", "shift", "wave")


def truth(name: str, f: Array, shape: tuple[float, float]) -> Array:
    """E[y | f]."""
    with np.errstate(divide="ignore"):
        h = logit(f)
    if name == "calibrated":
        return f
    if name.startswith("slope"):
        return np.asarray(expit(float(name.split()[1]) * h))
    if name == "shift":
        return np.asarray(expit(h + 0.3))
    if name == "wave":  # three turns over the scores as they are spread, never outside [0, 1]
        return np.asarray(f + 0.4 * f * (1 - f) * np.sin(6 * np.pi * beta.cdf(f, *shape)))
    raise ValueError(name)


@cache
def population(scores: str, name: str, points: int = 200_000) -> tuple[Array, Array]:
    """Truth and scores at the middles of so many equal shares of the population: soft labels for exact metrics."""
    shape = SHAPES[scores]
    f = np.asarray(beta.ppf((np.arange(points) + 0.5) / points, *shape))
    return truth(name, f, shape), f
