"""The isotonic reliability curve (CORP): the best non-decreasing fit, without bins or bandwidth."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueness._types import Floats, Rng, Values
from trueness.curves.curve import Curve
from trueness.data.points import Points
from trueness.data.sample import Given, as_sample
from trueness.metrics.scores import Decomposition, decompose
from trueness.options import check_level, check_seed

ISOTONIC_DRAWS = 199


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IsotonicCurve(Curve):
    """The isotonic fit at the ends of each of its flat pieces, with the band where it would lie if predictions were perfect."""

    score: Floats  # ends of the pieces, ascending; a piece has two
    outcome: Floats
    weight: Floats  # of the piece, as a share
    consistency_score: Floats
    consistency_low: Floats  # empty for soft labels, which cannot be drawn
    consistency_high: Floats
    decomposition: Decomposition
    level: float
    n: int
    soft: bool
    seed: int

    columns = ("score", "outcome", "weight")


def isotonic_curve(
    y_true: Given,
    y_prob: Values | None = None,
    *,
    level: float = 0.95,
    rng: Rng = 0,
    sample_weight: Values | None = None,
) -> IsotonicCurve:
    """Isotonic regression of the outcomes on the scores, as pieces of equal height.

    Parameters
    ----------
    y_true : array-like
        Outcomes in {0, 1} or soft labels in [0, 1].
    y_prob : array-like
        Predicted probabilities.
    level : float
        Level of the consistency band, a fraction.
    rng : None, int or numpy Generator
        Randomness of the consistency band.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    IsotonicCurve

    References
    ----------
    T. Dimitriadis, T. Gneiting, A. I. Jordan (2021). Stable reliability diagrams for probabilistic classifiers. PNAS 118.
    """
    alpha, seed = 1 - check_level(level), check_seed(rng)
    sample = as_sample(y_true, y_prob, sample_weight).rows('kind="isotonic"')
    points = sample.points(rows=True)
    fit, blocks = _fit(points.score + points.e / points.weight, points.weight)
    first, last = blocks[:-1], blocks[1:] - 1
    share = np.add.reduceat(points.weight, first) / points.total
    ends = np.stack([points.score[first], points.score[last]], axis=1).ravel()
    scores, low, high = _consistency(points, alpha, seed)
    return IsotonicCurve(
        score=ends,
        outcome=np.repeat(fit[first], 2),
        weight=np.repeat(share, 2),
        consistency_score=scores,
        consistency_low=low,
        consistency_high=high,
        decomposition=decompose(sample),
        level=1 - alpha,
        n=points.n,
        soft=points.soft,
        seed=seed,
    )


def _fit(mean: Floats, weight: Floats) -> tuple[Floats, Any]:
    from scipy.optimize import isotonic_regression

    fit = isotonic_regression(mean, weights=weight)
    return np.clip(fit.x, 0.0, 1.0), fit.blocks


def _consistency(points: Points, alpha: float, seed: int) -> tuple[Floats, Floats, Floats]:
    """Pointwise quantiles of the fit to outcomes drawn as predicted, at groups of neighbouring scores."""
    if points.soft:
        return np.zeros(0), np.zeros(0), np.zeros(0)
    coarse = points.merged(points.groups([]))
    rng = np.random.default_rng(seed)
    fits = []
    for _ in range(ISOTONIC_DRAWS):
        e = coarse.sampler.null(rng, 1)[0]
        fits.append(_fit(coarse.score + e / coarse.weight, coarse.weight)[0])
    low, high = np.quantile(fits, [alpha / 2, 1 - alpha / 2], axis=0)
    return coarse.score, low, high
