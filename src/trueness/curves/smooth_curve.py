"""The smooth reliability curve: outcomes averaged over neighbouring scores."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueness._types import Floats, Rng, Values
from trueness.curves.curve import Curve
from trueness.curves.limits import wilson
from trueness.data.points import Points
from trueness.data.sample import Given, Sample, as_sample
from trueness.data.scales import PROBABILITY, UNIT
from trueness.metrics.drawing import normal_quantile
from trueness.metrics.smooth import smooth_ece
from trueness.options import check_bandwidth, check_level, check_seed
from trueness.smoothing.cosine import REACH, smoothed
from trueness.smoothing.kernel import WIDEST, grid_for, near_points, reflected_kernel
from trueness.smoothing.smoothed import grid_cells, smoothed_masses

BAND_DRAWS = 999
_NOTHING = 1e-12  # density below which there is nothing to average
_NARROWEST = 1e-4  # the narrowest kernel that is drawn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SmoothCurve(Curve):
    """Mean outcome near each score, with two bands that answer different questions.

    The *confidence* band is where the curve of the population may lie (pointwise, without the smoothing's own bias); the
    *consistency* band is where this curve would lie if the predictions were perfect.
    """

    score: Floats  # the grid
    outcome: Floats  # ŷ(t); NaN where there are no scores nearby
    density: Floats  # δ(t), of the scores
    confidence_low: Floats
    confidence_high: Floats
    consistency_low: Floats  # NaN for soft labels, which cannot be drawn
    consistency_high: Floats
    bandwidth: float
    smooth_ece: float
    level: float
    n: int
    soft: bool
    seed: int

    columns = ("score", "outcome", "density", "confidence_low", "confidence_high", "consistency_low", "consistency_high")


def smooth_curve(
    y_true: Given,
    y_prob: Values | None = None,
    *,
    bandwidth: float | None = None,
    level: float = 0.95,
    rng: Rng = 0,
    sample_weight: Values | None = None,
) -> SmoothCurve:
    r"""Mean outcome as a function of the score, by a Gaussian kernel reflected at 0 and 1.

    .. math:: \hat y_\sigma(t) = \frac{\sum_i w_i \tilde K_\sigma(t, f_i)\,y_i}{\sum_i w_i \tilde K_\sigma(t, f_i)}, \qquad
              \delta_\sigma(t) = \frac1W \sum_i w_i \tilde K_\sigma(t, f_i)

    at the bandwidth that `smooth_ece` finds, or at one given. A perfect model's curve lies near the diagonal.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays.
    y_prob : array-like
        Predicted probabilities.
    bandwidth : float, optional
        σ; by default the fixed point of `smooth_ece`, and no less than 1e-4.
    level : float
        Level of both bands, a fraction.
    rng : None, int or numpy Generator
        Randomness of the consistency band.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    SmoothCurve

    References
    ----------
    J. Błasiok, P. Nakkiran (2024). Smooth ECE: principled reliability diagrams via kernel smoothing. ICLR.
    """
    alpha, seed = 1 - check_level(level), check_seed(rng)
    sample = as_sample(y_true, y_prob, sample_weight)
    value = smooth_ece(sample)
    sigma = max(value, _NARROWEST) if bandwidth is None else max(check_bandwidth(bandwidth, largest=WIDEST), _NARROWEST)
    t = grid_for(sigma)
    ones, zeros = (np.maximum(smoothed(a, sigma, len(t) - 1)[0], 0.0) for a in _cosine_sums(sample, sigma))
    density = ones + zeros
    near_rows = density > _NOTHING
    outcome = np.divide(ones, density, out=np.full(len(t), np.nan), where=near_rows)
    points = near_points(sample.points(), sigma)
    weights = reflected_kernel(t, points.score, sigma)
    near = weights @ points.weight
    near_rows &= near > 0
    confidence = _confidence(points, weights, near, np.where(near_rows, outcome, 0.0), alpha)
    consistency = _consistency(points, weights, near, alpha, seed)
    bands = [np.where(near_rows, np.clip(band, 0, 1), np.nan) for band in (*confidence, *consistency)]
    return SmoothCurve(
        score=t,
        outcome=np.where(near_rows, outcome, np.nan),
        density=density,
        confidence_low=bands[0],
        confidence_high=bands[1],
        consistency_low=bands[2],
        consistency_high=bands[3],
        bandwidth=sigma,
        smooth_ece=value,
        level=1 - alpha,
        n=points.n,
        soft=points.soft,
        seed=seed,
    )


def _cosine_sums(sample: Sample, sigma: float) -> tuple[Floats, Floats]:
    """Σwy cos(πkf)/W and Σw(1 − y) cos(πkf)/W for k = 0, 1, …: the smooth curve at any bandwidth from σ on."""
    masses = sample.masses(PROBABILITY, ("outcome", "counter"))
    ones, zeros = smoothed_masses(masses, UNIT, grid_cells(UNIT, sigma)).coefficients
    last = int(REACH / (np.pi * sigma)) + 1
    return ones[: last + 1], zeros[: last + 1]


def _confidence(points: Points, weights: Any, near: Floats, outcome: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Wilson's limits at the effective number of rows, n(t) = (ΣwK̃)²/Σw²K̃²."""
    squared = weights * weights @ (points.unit * points.weight)
    rows = np.divide(near * near, squared, out=np.zeros_like(near), where=squared > 0)
    return wilson(outcome, rows, normal_quantile(alpha / 2))


def _consistency(points: Points, weights: Any, near: Floats, alpha: float, seed: int) -> tuple[Floats, Floats]:
    """Pointwise quantiles of the curve over outcomes drawn as predicted."""
    if points.soft:
        nothing = np.full(len(near), np.nan)
        return nothing, nothing
    rng = np.random.default_rng(seed)
    expected = weights @ (points.weight * points.score)
    drawn = [(weights @ points.sampler.null(rng, min(100, BAND_DRAWS - start)).T).T for start in range(0, BAND_DRAWS, 100)]
    low, high = np.quantile(np.concatenate(drawn), [alpha / 2, 1 - alpha / 2], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (expected + low) / near, (expected + high) / near
