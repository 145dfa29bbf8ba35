r"""What the simulations must give: closed forms, and the law of every value at n rows.

With t the label of a row, a value is :math:`\sum_b |G_b|`, where :math:`G_b = \frac1n \sum_{i \in b} (f_i - t_i)`. A, B and C
cross their label at x = 0, which is the bin edge 0.5, and D never falls below its soft label: every row of a bin pulls the same
way, the value is a mean of n independent terms, its expectation is the limit and its variance exact, at any n. What remains
are E, the bin of D in which the outcome changes, and outcomes drawn at random. There :math:`G_b` is taken as normal and
:math:`|G_b|` as folded normal; covariances drop terms in the square of a correlation between two such bins.
"""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, ndtr

from reproductions.arrays import Floats
from reproductions.soft_labels.setting import BIAS, BINS, MODELS, REACH, SCALE, predict, sigmoid

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_FLAT = 1e-9  # a standard deviation below this is rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """Expectation and standard deviation of a value at n rows, and how they come about."""

    mean: float
    sd: float
    kind: str


# ------------------------------------------------------------------------------------------------------- closed forms


def shortfall(c: float) -> float:
    r"""How far σ(cx) lies from 1[x ≥ 0] on average: :math:`\{\ln 2 - \ln(1 + e^{-3c})\} / 3c`."""
    return float((np.log(2.0) - np.logaddexp(0.0, -REACH * c)) / (REACH * c))


def limit(model: str, metric: str, k: float) -> float:
    """The value in the limit of many rows.

    A's ECE is ``shortfall(k)``, B's ``shortfall(3k)``, C's ``shortfall(0.4k)``; B's and C's SMECE are the differences to A's.
    """
    if model == "E":
        return 0.25  # labels of mean ½ in every bin: the mean of |0.05 − ½|, |0.15 − ½|, …
    if model == "D":
        return _limit_of_d(metric, k)
    own = shortfall(SCALE[model] * k)
    return own if metric == "ECE" else abs(own - shortfall(k))


def cut(k: float) -> float:
    """The x from which D says exactly 1; 3 where it never does."""
    return min(REACH, float(logit(1 - BIAS)) / k)


def _limit_of_d(metric: str, k: float) -> float:
    full = cut(k)
    if metric != "ECE":
        above = _area(-k, full, REACH) if metric == "SMECE" else 0.0
        return (BIAS * (REACH + full) + above) / (2 * REACH)
    edge = float(logit(0.7 - BIAS)) / k  # below it every bin lies above its outcomes, beyond it below
    low = _area(k, -REACH, edge) + BIAS * (REACH + edge) - edge
    high = (1 - BIAS) * (full - edge) - _area(k, edge, full)
    return (low + high) / (2 * REACH)


def _area(k: float, start: float, end: float) -> float:
    """∫ σ(kx) dx; with −k in place of k that of 1 − σ(kx)."""
    return float((np.logaddexp(0.0, k * end) - np.logaddexp(0.0, k * start)) / k)


# -------------------------------------------------------------------------------------------------------- at n rows


def law(model: str, metric: str, k: float, n: int, *, drawn: bool = False) -> Law:
    """Expectation and standard deviation at n rows; `drawn` for outcomes drawn from the posterior in place of 1[x ≥ 0]."""
    means, covariance = joint(metric, k, n, drawn=drawn)
    place = list(MODELS).index(model)
    sd = float(np.sqrt(max(covariance[place, place], 0.0)))
    exact = model != "E" and not drawn and (model, metric) != ("D", "ECE")
    return Law(
        mean=limit(model, metric, k) if exact else float(means[place]),
        sd=sd if sd > _FLAT else 0.0,
        kind="closed form" if exact else "normal law",
    )


def chance_below(first: str, second: str, metric: str, k: float, n: int) -> float:
    """Probability that the first model has the smaller value, by the normal law of the difference."""
    means, covariance = joint(metric, k, n)
    i, j = (list(MODELS).index(model) for model in (first, second))
    sd = float(np.sqrt(max(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j], 0.0)))
    if sd <= _FLAT:
        return float(means[i] < means[j])
    return float(ndtr((means[j] - means[i]) / sd))


@functools.lru_cache(maxsize=256)
def joint(metric: str, k: float, n: int, *, drawn: bool = False) -> tuple[Floats, Floats]:
    """Expectations of the five models' values at n rows, and their covariances."""
    x, mass = _quadrature(k)
    label = (x >= 0).astype(np.float64) if metric == "ECE" and not drawn else sigmoid(k * x)
    scatter = label * (1 - label) if drawn else np.zeros_like(label)
    given = [_gaps(model, metric, k, x, label, scatter) for model in MODELS]
    first = np.concatenate([mean for mean, _ in given], axis=1)
    certain: NDArray[np.bool_] = np.asarray((first.min(axis=0) >= 0) | (first.max(axis=0) <= 0))  # every row pulls one way
    certain[0 if drawn else -BINS :] = False  # what E says, and a drawn outcome, are not known from x
    moments = first.T @ (mass[:, None] * first)  # of two models on the same row; within a model a row is in one bin
    for place, (_, square) in enumerate(given):
        block = slice(place * BINS, (place + 1) * BINS)
        moments[block, block] = np.diag(mass @ square)
    centre = mass @ first
    sizes, covariance = _folded(centre, (moments - np.outer(centre, centre)) / n, certain)
    blocks = np.repeat(np.eye(len(MODELS)), BINS, axis=0)
    return sizes @ blocks, blocks.T @ covariance @ blocks


def _gaps(model: str, metric: str, k: float, x: Floats, label: Floats, scatter: Floats) -> tuple[Floats, Floats]:
    """Given x, mean and mean square of what a row adds to each bin's sum of f − t: (points, bins) each."""
    if model == "E":
        gap = (np.arange(BINS) + 0.5) / BINS - label[:, None]
        return gap / BINS, (gap**2 + 1 / (12 * BINS**2) + scatter[:, None]) / BINS
    f = predict(model, k, x)
    inside = np.minimum((f * BINS).astype(np.int64), BINS - 1)[:, None] == np.arange(BINS)
    if metric == "SMECE, last bin open":
        inside = inside & (f < 1)[:, None]
    gap = (f - label)[:, None]
    return np.where(inside, gap, 0.0), np.where(inside, gap**2 + scatter[:, None], 0.0)


def _folded(centre: Floats, covariance: Floats, certain: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Expectations and covariances of |G|: exact where the sign of G is certain, elsewhere for G normal."""
    spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    steps = np.copysign(np.full_like(centre, np.inf), centre)
    np.divide(centre, spread, out=steps, where=(spread > 0) & ~certain)
    sign = 1 - 2 * ndtr(-steps)
    sizes = centre * sign + spread * np.sqrt(2 / np.pi) * np.exp(-(steps**2) / 2)
    folded = covariance * np.outer(sign, sign)
    np.fill_diagonal(folded, np.where(certain, spread**2, np.maximum(centre**2 + spread**2 - sizes**2, 0.0)))
    return sizes, folded


def _quadrature(k: float) -> tuple[Floats, Floats]:
    """Points and masses for an expectation over x, exact to rounding: no bin, clip or outcome changes between two ends."""
    edges = np.arange(1, BINS) / BINS
    scores = [*(logit(edges) / scale for scale in SCALE.values()), logit(edges[1:] - BIAS), [logit(1 - BIAS), 0.0]]
    tails = np.outer([4.0, 6.0, 8.0, 11.0, 15.0, 20.0, 28.0, 40.0], [1 / scale for scale in SCALE.values()]).ravel()
    ends = np.concatenate([*scores, tails, -tails]) / k
    ends = np.unique(np.concatenate([ends[np.abs(ends) < REACH], [-REACH, REACH]]))
    half = np.diff(ends)[:, None] / 2
    x = ((ends[:-1] + ends[1:]) / 2)[:, None] + half * _POINTS
    return x.ravel(), (half * _WEIGHTS / (2 * REACH)).ravel()
