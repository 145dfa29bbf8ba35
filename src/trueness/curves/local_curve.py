"""The local reliability curve: a line fitted to the outcomes near each score."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from trueness._types import Array, Floats, Rng, Values
from trueness.curves.curve import Curve
from trueness.curves.limits import clopper_pearson
from trueness.data.points import Points
from trueness.data.sample import Given, Sample, as_sample
from trueness.data.scales import LOGIT, PROBABILITY, Scale
from trueness.metrics.drawing import normal_quantile, order_statistic
from trueness.metrics.smooth import smooth_ece
from trueness.options import check_bandwidth, check_choice, check_level, check_seed
from trueness.smoothing.kernel import WIDEST, gaussian
from trueness.smoothing.local import Bandwidths, chosen_bandwidths, even_scores, grouped, local_weights, scale_for

FEW_SCORES = 40  # up to so many distinct ones, repeated, each has a dot of its own
ENOUGH = 20.0  # rows that tell as much: fewer are not drawn
BAND_DRAWS = 999
STEPS = 256  # of the curve
_FOR_LIMITS, _FOR_DRAWS = 16, 4  # parts of a bandwidth within which scores are put together
_STRIP = 60  # widths of the strip that shows where scores are, in their range
_NARROWEST = 500  # bandwidths in the range of the scores
_UNDERSMOOTHED = 0.5  # bandwidth of the confidence band over that of the curve
_SCALES = {PROBABILITY.name: PROBABILITY, LOGIT.name: LOGIT}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalCurve(Curve):
    """Mean outcome near each score, with bands that answer different questions.

    The *confidence* band is where the truth may lie; the *consistency* band is where this curve would lie if the predictions
    were perfect. Each holds at every score by itself, or with ``band="simultaneous"`` at all scores at once; the *simultaneous*
    limits of the consistency band are always there. At most 40 distinct scores that repeat
    stand each for itself: `dots`.
    """

    score: Floats
    outcome: Floats  # NaN where fewer than 20 rows tell
    effective: Floats  # rows of equal weight that the kernel holds, (ΣwK)²/Σw²K²
    density: Floats  # of the scores; of dots the share of the weight
    confidence_low: Floats
    confidence_high: Floats
    consistency_low: Floats  # NaN for soft labels, which cannot be drawn
    consistency_high: Floats
    simultaneous_low: Floats
    simultaneous_high: Floats
    dots: bool
    bandwidth: float  # on the scale; NaN for dots
    scale: str
    band: str
    smooth_ece: float
    level: float
    n: int
    soft: bool
    seed: int

    columns = (
        "score", "outcome", "effective", "density", "confidence_low", "confidence_high", "consistency_low", "consistency_high",
        "simultaneous_low", "simultaneous_high",
    )  # fmt: skip

    @property
    def window(self) -> tuple[float, float]:
        """The part of [0, 1] in which the curve lies, for both axes of a diagram; bands may reach beyond it."""
        return window_of([self])


def window_of(curves: Sequence[LocalCurve]) -> tuple[float, float]:
    """The part of [0, 1] for a diagram of these curves: all of it, unless they keep to less than half."""
    sides: list[Floats] = []
    for curve in curves:
        sides += [curve.score[seen] if (seen := ~np.isnan(curve.outcome)).any() else curve.score, curve.outcome]
        sides += [curve.confidence_low, curve.confidence_high] if curve.dots else []
    ends = np.concatenate(sides)
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    span = max(high - low, 0.2 * min(high, 1 - low), 1e-6)
    if span > 0.5:
        return 0.0, 1.0
    middle = (low + high) / 2
    low, high = middle - 0.54 * span, middle + 0.54 * span
    low, high = (0.0 if low < span / 4 else low), (1.0 if high > 1 - span / 4 else high)
    return max(low, 0.0), min(high, 1.0)


def local_curve(
    y_true: Given,
    y_prob: Values | None = None,
    *,
    bandwidth: float | None = None,
    scale: Literal["probability", "logit"] | None = None,
    band: Literal["pointwise", "simultaneous"] = "pointwise",
    level: float = 0.95,
    rng: Rng = 0,
    sample_weight: Values | None = None,
) -> LocalCurve:
    r"""Mean outcome as a function of the score, by local linear regression with a Gaussian kernel.

    .. math:: \hat y(t) = t + \frac{S_2 E_0 - S_1 E_1}{S_0 S_2 - S_1^2}, \qquad S_j = \sum_i w_i K_i (f_i - t)^j, \quad
              E_j = \sum_i w_i K_i (f_i - t)^j (y_i - f_i), \quad K_i = \phi\Bigl(\frac{x(f_i) - x(t)}{h}\Bigr)

    with x the score itself, or its logit where most scores crowd at the ends. Straight lines come out as they are: the curve of
    perfect predictions is the diagonal but for noise, however wide the kernel. The bandwidth h is the widest whose
    leave-one-out error is within one standard error of the best.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays.
    y_prob : array-like
        Predicted probabilities.
    bandwidth : float, optional
        h, on the scale; by default found by cross-validation. No less than a 500th of the range of the scores.
    scale : {"probability", "logit"}, optional
        x; by default logits where more than half of the weight lies within 0.1 of an end.
    band : {"pointwise", "simultaneous"}
        Whether the bands hold at each score by itself, or everywhere at once.
    level : float
        Level of the bands, a fraction.
    rng : None, int or numpy Generator
        Randomness of the consistency band.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    LocalCurve

    References
    ----------
    J. Fan, I. Gijbels (1996). Local polynomial modelling and its applications.
    """
    sample = as_sample(y_true, y_prob, sample_weight)
    return local_curves([sample], bandwidth=bandwidth, scale=scale, band=band, level=level, rng=rng)[0]


def local_curves(
    samples: Sequence[Sample],
    *,
    bandwidth: float | None = None,
    scale: Literal["probability", "logit"] | None = None,
    band: Literal["pointwise", "simultaneous"] = "pointwise",
    level: float = 0.95,
    rng: Rng = 0,
    errors: Sequence[float] | None = None,
) -> list[LocalCurve]:
    """Curves of several samples on one scale and at one bandwidth: they differ by what happened, not by how it is shown.

    `errors` are their SmoothECE, where it is known.
    """
    check_choice("band", band, ("pointwise", "simultaneous"))
    if scale is not None:
        check_choice("scale", scale, tuple(_SCALES))
    alpha, seed = 1 - check_level(level), check_seed(rng)
    given = None if bandwidth is None else check_bandwidth(bandwidth, largest=WIDEST)
    points = [sample.points() for sample in samples]
    many = [each for each in points if not _few(each)]
    on = _SCALES[scale] if scale is not None else scale_for(many or points)
    widths = None
    if many:
        widths = chosen_bandwidths(many, on, ENOUGH) if given is None else Bandwidths(given, given)
    curves = []
    known = [smooth_ece(sample) for sample in samples] if errors is None else errors
    for error, each in zip(known, points, strict=True):
        fit = _dots(each) if widths is None or _few(each) else _line(each, on, widths)
        curves.append(_curve(error, each, fit, on, band, alpha, seed))
    return curves


def _few(points: Points) -> bool:
    """Whether scores are shown one by one: few and repeated, or of so few rows that no curve is drawn."""
    return points.n < ENOUGH or len(points.score) <= min(FEW_SCORES, points.n / 2)


class _Fit(NamedTuple):
    """What a curve is made of."""

    score: Floats
    gap: Floats  # of the curve from the score
    effective: Floats
    density: Floats
    sharp: Floats  # what a narrower kernel says,
    rows: Floats  # how many rows tell that,
    error: Floats  # and its standard error by the spread of outcomes nearby
    drawn: Points  # whose draws make the bands,
    weights: Array  # with these weights
    bandwidth: float  # NaN for dots


def _dots(points: Points) -> _Fit:
    """Each score by itself."""
    gap = points.e / points.weight
    effective = np.divide(points.weight**2, points.w2, out=np.zeros(len(gap)), where=points.w2 > 0)
    return _Fit(
        score=points.score,
        gap=gap,
        effective=effective,
        density=points.weight / points.total,
        sharp=points.score + gap,
        rows=effective,
        error=np.zeros(len(gap)),
        drawn=points,
        weights=np.diag(1 / points.weight),
        bandwidth=float("nan"),
    )


def _line(points: Points, scale: Scale, widths: Bandwidths) -> _Fit:
    t = even_scores(points, scale, STEPS)
    reach = float(np.ptp(scale.position(points.score[[0, -1]])))
    h, narrow = (max(width, reach / _NARROWEST) for width in (widths.steady, _UNDERSMOOTHED * widths.best))
    groups = grouped(points, scale)
    local = local_weights(t, groups, scale, h)
    near = grouped(points, scale, narrow / _FOR_LIMITS)
    inner = local_weights(t, near, scale, narrow)
    sharp = t + inner.weights @ near.e
    spread = np.interp(near.score, t, np.clip(sharp, 0, 1))
    drawn = grouped(points, scale, h / _FOR_DRAWS)
    strip = max(float(groups.score[-1] - groups.score[0]) / _STRIP, 1e-12)
    return _Fit(
        score=t,
        gap=local.weights @ groups.e,
        effective=local.near,
        density=gaussian(t[:, None] - groups.score, strip) @ groups.weight / groups.total,
        sharp=sharp,
        rows=1 / inner.variance(near.w2),
        error=np.sqrt(inner.variance(near.w2 * spread * (1 - spread))),
        drawn=drawn,
        weights=local_weights(t, drawn, scale, h).weights,
        bandwidth=h,
    )


def behind(curve: LocalCurve, sample: Sample) -> Points:
    """The sums of neighbouring scores that a curve is made of."""
    return grouped(sample.points(), _SCALES[curve.scale])


def _curve(error: float, points: Points, fit: _Fit, scale: Scale, band: str, alpha: float, seed: int) -> LocalCurve:
    dots = np.isnan(fit.bandwidth)
    seen = np.full(len(fit.score), True) if dots else fit.effective >= ENOUGH
    outcome = fit.score + fit.gap
    noise = _noise(fit, seen, alpha, seed, null=not points.soft)
    pointwise, everywhere = (
        tuple(np.where(seen, np.clip(fit.score + side, 0, 1), np.nan) for side in limits) for limits in noise[:2]
    )
    low, high = _confidence(fit, np.clip(outcome, 0, 1), noise.reach if band == "simultaneous" else normal_quantile(alpha / 2))
    return LocalCurve(
        score=fit.score,
        outcome=np.where(seen, np.clip(outcome, 0, 1), np.nan),
        effective=fit.effective,
        density=fit.density,
        confidence_low=np.where(seen, low, np.nan),
        confidence_high=np.where(seen, high, np.nan),
        consistency_low=(pointwise if band == "pointwise" else everywhere)[0],
        consistency_high=(pointwise if band == "pointwise" else everywhere)[1],
        simultaneous_low=everywhere[0],
        simultaneous_high=everywhere[1],
        dots=bool(dots),
        bandwidth=fit.bandwidth,
        scale=scale.name,
        band=band,
        smooth_ece=error,
        level=1 - alpha,
        n=points.n,
        soft=points.soft,
        seed=seed,
    )


class _Noise(NamedTuple):
    """Limits of what chance does to the curve, less the score."""

    pointwise: tuple[Floats, Floats]
    everywhere: tuple[Floats, Floats]
    reach: float  # standard errors within which all of it stays


def _noise(fit: _Fit, seen: Array, alpha: float, seed: int, *, null: bool) -> _Noise:
    """From one set of draws: of outcomes as predicted, or of soft labels' residuals with random signs, for the reach alone."""
    nothing = np.full(len(seen), np.nan)
    rng, sampler = np.random.default_rng(seed), fit.drawn.sampler
    if not seen.any():
        return _Noise((nothing, nothing), (nothing, nothing), normal_quantile(alpha / 2))
    weights = fit.weights[seen].astype(np.float32)
    draw = sampler.null if null else sampler.flips
    gaps = np.concatenate([draw(rng, min(100, BAND_DRAWS - done)) @ weights.T for done in range(0, BAND_DRAWS, 100)])
    spread = gaps.std(axis=0, dtype=np.float64)
    moved = spread > 0
    reach = normal_quantile(alpha / 2)
    if moved.any():
        reach = max(reach, order_statistic((np.abs(gaps[:, moved]) / spread[moved]).max(axis=1), alpha))
    if not null:
        return _Noise((nothing, nothing), (nothing, nothing), reach)
    low, high = np.quantile(gaps, [alpha / 2, 1 - alpha / 2], axis=0)
    # Skewed draws reach further to one side; where hardly ever anything happens a quantile may be 0.
    down, up = np.maximum(-low, spread), np.maximum(high, spread)
    wider = 1.0
    if moved.any():
        ends = np.maximum(gaps[:, moved] / up[moved], -gaps[:, moved] / down[moved]).max(axis=1)
        wider = max(1.0, order_statistic(ends, alpha))
    pointwise, everywhere = ((np.array(nothing), np.array(nothing)) for _ in range(2))
    pointwise[0][seen], pointwise[1][seen] = low, high
    everywhere[0][seen], everywhere[1][seen] = np.minimum(low, -wider * down), np.maximum(high, wider * up)
    return _Noise(pointwise, everywhere, reach)


def _confidence(fit: _Fit, outcome: Floats, z: float) -> tuple[Floats, Floats]:
    """Around the curve, as far as a narrower kernel's estimate may be from its own mean.

    Where that estimate leaves the curve, the curve cuts a corner: it and half its reach are inside. Coverage by simulation.
    """
    sharp = np.clip(fit.sharp, 0, 1)
    (low, high), (sharp_low, sharp_high) = _limits(fit, outcome, z), _limits(fit, sharp, z)
    return np.minimum(low, (sharp_low + sharp) / 2), np.maximum(high, (sharp_high + sharp) / 2)


def _limits(fit: _Fit, mean: Floats, z: float) -> tuple[Floats, Floats]:
    """Binomial limits at the effective number of rows, or z standard errors: at an end outcomes nearby spread more."""
    from scipy.special import ndtr

    low, high = clopper_pearson(mean, fit.rows, 2 * float(ndtr(-z)))
    reach = z * fit.error
    return np.clip(np.minimum(low, mean - reach), 0, 1), np.clip(np.maximum(high, mean + reach), 0, 1)
