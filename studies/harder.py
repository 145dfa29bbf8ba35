"""Worlds on which an attack found tests and intervals of version 0.1 wrong, and others as hard.

A world is a mixture of parts; each says how its scores are spread (a function of a number uniform on [0, 1]), what is expected
at a score, whether labels are hard or soft, and how much a row weighs. So one description gives samples and the population.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtri

from studies import shared
from trueness import calibration_test, confidence_interval

Array = np.ndarray[Any, Any]
Truth = Callable[[Array, Array, int], Array]  # E[y] of scores, of their places in [0, 1] and of the number of rows

_SURE = 1e-12


class Part(NamedTuple):
    """A part of a world."""

    share: float | Callable[[int], float]  # of the rows, which may depend on their number
    score: Callable[[Array], Array]
    truth: Truth = lambda f, u, n: f
    soft: float | None = None  # labels are Beta(soft · E[y], soft · (1 − E[y])); None: hard
    weight: Callable[[Array], Array] | None = None


class Rows(NamedTuple):
    """A sample, and what was expected of each row."""

    y: Array
    f: Array
    w: Array | None
    cluster: Array | None
    expected: Array


@dataclass(frozen=True)
class World:
    """A mixture of parts, with clusters of so many rows and latent correlation where there are any."""

    parts: tuple[Part, ...]
    continuous: bool = False
    repeats: int = 1
    correlation: float = 0.0
    exact: bool = False  # every sample holds just these shares

    @property
    def weighted(self) -> bool:
        """Whether rows weigh differently."""
        return any(part.weight for part in self.parts)

    def _shares(self, n: int) -> Array:
        shares = np.array([part.share(n) if callable(part.share) else part.share for part in self.parts])
        return np.asarray(shares / shares.sum())

    def _exactly(self, n: int) -> Array:
        return np.searchsorted(np.round(np.cumsum(self._shares(n)) * n), np.arange(n), side="right")

    def draw(self, rng: np.random.Generator, n: int, truth: Truth | None = None) -> Rows:
        """So many rows; `truth` in place of that of the first part."""
        groups = -(-n // self.repeats)
        kind = rng.choice(len(self.parts), groups, p=self._shares(n)) if not self.exact else self._exactly(groups)
        u = rng.random(groups)
        latent = rng.standard_normal(groups)
        kind, u, latent = (np.repeat(each, self.repeats)[:n] for each in (kind, u, latent))
        f, eta, w, soft = self._columns(kind, u, n, truth)
        y = self._outcomes(rng, eta, latent)
        if not np.isinf(soft).all():
            y = np.where(np.isinf(soft), y, _beta_labels(rng, eta, soft))
        cluster = np.repeat(np.arange(groups), self.repeats)[:n] if self.repeats > 1 else None
        return Rows(y, f, w if self.weighted else None, cluster, eta)

    def _outcomes(self, rng: np.random.Generator, eta: Array, latent: Array) -> Array:
        if self.correlation == 0:
            return (rng.random(len(eta)) < eta).astype(float)
        noise = np.sqrt(self.correlation) * latent + np.sqrt(1 - self.correlation) * rng.standard_normal(len(eta))
        return (noise < ndtri(eta)).astype(float)

    def _columns(self, kind: Array, u: Array, n: int, truth: Truth | None) -> tuple[Array, Array, Array, Array]:
        f, eta, w, soft = np.empty_like(u), np.empty_like(u), np.ones_like(u), np.full_like(u, np.inf)
        for number, part in enumerate(self.parts):
            rows = kind == number
            f[rows] = part.score(u[rows])
            eta[rows] = (truth if truth and number == 0 else part.truth)(f[rows], u[rows], n)
            if part.weight:
                w[rows] = part.weight(f[rows])
            if part.soft:
                soft[rows] = part.soft
        return f, eta, w, soft

    def population(self, n: int, truth: Truth | None = None, points: int = 20_000) -> tuple[Array, Array, Array]:
        """Expected outcomes, scores and weights of the middles of equal shares of every part: metrics of it are the truth."""
        shares = self._shares(n)
        kind = np.repeat(np.arange(len(self.parts)), points)
        u = np.tile((np.arange(points) + 0.5) / points, len(self.parts))
        f, eta, w, _ = self._columns(kind, u, n, truth)
        return eta, f, w * shares[kind]


def _beta_labels(rng: np.random.Generator, eta: Array, soft: Array) -> Array:
    size = np.where(np.isinf(soft), 1.0, soft)
    return rng.beta(np.maximum(size * eta, _SURE), np.maximum(size * (1 - eta), _SURE))


def _uniform(low: float = 0.0, high: float = 1.0) -> Callable[[Array], Array]:
    return lambda u: low + (high - low) * u


def _beta(a: float, b: float) -> Callable[[Array], Array]:
    return lambda u: np.asarray(betaincinv(a, b, u))


def _at(*values: float) -> Callable[[Array], Array]:
    return lambda u: np.array(values)[(len(values) * u).astype(int)]


def _resampled(name: str) -> Callable[[Array], Array]:
    def score(u: Array) -> Array:
        ordered = _ordered(name)
        return np.asarray(ordered[(len(ordered) * u).astype(int)])

    return score


@cache
def _ordered(name: str) -> Array:
    return np.sort(shared.load(name)[1])


def _pareto(f: Array) -> Array:
    """Weights of tail index 2.2 that grow with a uniform score."""
    return np.asarray((1.0005 - f) ** (-1 / 2.2))


CLUSTERED = {"clusters, correlation .3": 0.3, "clusters, correlation .6": 0.6}
WORLDS: dict[str, World] = {
    "uniform": World((Part(1, _uniform()),), continuous=True),
    "Beta(1,20)": World((Part(1, _beta(1, 20)),), continuous=True),
    "Beta(2,200)": World((Part(1, _beta(2, 200)),), continuous=True),
    "top label Beta(4,.7)": World((Part(1, _beta(4, 0.7)),), continuous=True),
    # One rare event is expected among hard labels, and the soft ones beside them hardly vary.
    "mixed labels": World((Part(0.5, _uniform(0.002, 0.002)), Part(0.5, _uniform(0.1, 0.9), soft=2000))),
    "soft, rare": World((Part(1, _beta(2, 200), soft=2),)),
    "soft, small variance": World((Part(1, _uniform(), soft=1e5),)),
    "saturated": World((Part(lambda n: 1 - 1 / n, _at(1.0)), Part(lambda n: 1 / n, _at(0.5))), exact=True),
    "rare outliers": World((Part(0.001, _at(0.95)), Part(0.999, _uniform(0.005, 0.015)))),
    "atoms and continuum": World((Part(0.4, _beta(0.4, 1.2)), Part(0.6, _at(0.1, 0.5, 0.9)))),
    "Pareto weights": World((Part(1, _uniform(), weight=_pareto),)),
    "weighted rare": World((Part(1, _beta(1, 20), weight=lambda f: 1 + 30 * (np.sin(1e6 * f) > 0.97)),)),
    "heavy weights, f = 0": World(
        (Part(0.99, _uniform(0.2, 0.8)), Part(0.01, _at(0.0), weight=lambda f: np.full(len(f), 100.0)))
    ),
    **{name: World((Part(1, _uniform()),), repeats=10, correlation=rho) for name, rho in CLUSTERED.items()},
}
RESAMPLED = {
    f"confidences of {name.removeprefix('imagenet_')}": World((Part(1, _resampled(name)),))
    for name in ("imagenet_efficientnet_b1", "imagenet_tv_resnet101")
}


def worlds() -> Mapping[str, World]:
    """All that can be drawn here: resampled confidences only where the data are."""
    there = set(shared.names())
    return WORLDS | {name: world for name, world in RESAMPLED.items() if f"imagenet_{name.split()[-1]}" in there}


def _logit(f: Array) -> Array:
    return np.asarray(logit(np.clip(f, _SURE, 1 - _SURE)))


def _slope(slope: float, shift: float = 0.0) -> Truth:
    return lambda f, u, n: np.asarray(expit(slope * _logit(f) + shift))


def _local(pattern: Callable[[Array, Array], Array], floors: float) -> Truth:
    """As far off as so many noise floors of ECCE-R, which falls with the number of rows."""
    middles = (np.arange(20_000) + 0.5) / 20_000
    gap = np.cumsum(pattern(middles, middles)) / 20_000
    reach = max(gap.max(), 0.0) - min(gap.min(), 0.0)

    def truth(f: Array, u: Array, n: int) -> Array:
        floor = np.sqrt(8 / np.pi / 6 / n)  # the mean range of Brownian motion times √(E f(1 − f)/n), f uniform
        return np.clip(f + floors * floor / reach * pattern(f, u), 0, 1)

    return truth


TRUTHS: dict[str, Truth] = {
    "calibrated": lambda f, u, n: f,
    "shift": _slope(1, 0.3),
    "slope .6": _slope(0.6),
    "step": lambda f, u, n: f - 0.2 * ((f > 0.5) & (f < 0.55)) + 0.1 * ((f > 0.2) & (f < 0.25)),
    "2 waves": lambda f, u, n: f + 0.35 * f * (1 - f) * np.sin(4 * np.pi * u),
    "10 waves": lambda f, u, n: f + 0.5 * f * (1 - f) * np.sin(20 * np.pi * u),
    "rare events x 3": lambda f, u, n: np.minimum(3 * f, 1),
    "x 1.5": lambda f, u, n: np.minimum(1.5 * f, 1),
    "1.6 errors expected": lambda f, u, n: np.where(f == 1, np.maximum(1 - 1.6 / n, 0), f),
    "outliers off": lambda f, u, n: np.full_like(f, 0.02),
    ".2 too low": lambda f, u, n: np.minimum(f + 0.2, 1),
}
_PATTERNS: dict[str, Callable[[Array, Array], Array]] = {
    "shift": lambda f, u: f * (1 - f),
    "slope": lambda f, u: f * (1 - f) * (1 - 2 * f),
    "wave": lambda f, u: f * (1 - f) * np.sin(6 * np.pi * u),
}
FLOORS = (0.5, 1.0, 2.0, 3.0)
LOCAL = tuple(f"{pattern} of {floors:g} floors" for pattern in _PATTERNS for floors in FLOORS)
TRUTHS |= {f"{name} of {floors:g} floors": _local(pattern, floors) for name, pattern in _PATTERNS.items() for floors in FLOORS}


CLUSTERS_CAN_BE_TOLD = all("cluster" in signature(function).parameters for function in (calibration_test, confidence_interval))


def sample(world: str, n: int, seed: int, truth: str = "calibrated") -> Rows | None:
    """One sample; None where the data to resample are not here, or the library does not take clusters."""
    found = worlds().get(world)
    if found is None or (found.repeats > 1 and not CLUSTERS_CAN_BE_TOLD):
        return None
    return found.draw(np.random.default_rng(seed), n, TRUTHS[truth])


def clusters(rows: Rows) -> dict[str, Any]:
    """The argument that says which rows belong together, where some do."""
    return {} if rows.cluster is None else {"cluster": rows.cluster}


def absent() -> list[str]:
    """Worlds that are left out here, each with the reason."""
    missing = [f"{name}: its data are not here" for name in RESAMPLED if name not in worlds()]
    return missing + ([] if CLUSTERS_CAN_BE_TOLD else [f"{name}: this version takes no clusters" for name in CLUSTERED])
