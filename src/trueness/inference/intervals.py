r"""Confidence intervals that cover, also where the truth is zero.

Most metrics here are norms, sup E[v(f)·r] over functions |v| ≤ 1 of the score: not differentiable at 0, where the percentile
bootstrap never covers. With T_n the value, BS = Σw²r²/W², V₂ = Σw²f(1−f)/W², n_e = W²/Σw², κ = Σw²|1−2f|/Σw²:

    upper   T_n + h,  h = κz²/(2n_e) + z·√(max(BS, V₂) + (κz/2n_e)²)      the best v of the truth bounds T_n from below
    lower   T_n − q,  q a quantile of the norm of noise                    |‖Ĉ‖ − ‖C‖| ≤ ‖Ĉ − C‖

with noise from residuals of random sign and from outcomes drawn as predicted, whichever is larger. Weights add T_n²/n_e to the
variance, for they move the total. Soft labels vary less than events; `trueness.data.soft_labels` says what stands for V₂ and
for drawn outcomes then. Norms sharpen both ends where they can, none beyond these: integrals of absolute values take off
what noise adds to them and keep signs that are certain (`trueness.metrics.drawing.IntegralNorm`); SmoothECE asks which
bandwidths may be its own; ECCE looks at the variance of each range; l2 at its square.
"""

import math
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np

from trueness._types import Array, Floats, Rng, Values
from trueness.data.binomials import single
from trueness.data.points import Points
from trueness.data.row_sample import RowSample
from trueness.data.sample import Given, Sample, as_sample
from trueness.errors import InputError
from trueness.inference.clustering import both_ways
from trueness.inference.significance import residual_variance
from trueness.inference.simulation import ROUNDING, Drawn, Needs, Progress, Resampling, flipped, settled
from trueness.metrics.drawing import (
    LimitLaw,
    Noise,
    Norm,
    Options,
    Reach,
    normal_quantile,
    order_statistic,
    student_quantile,
)
from trueness.metrics.registry import BoundMetric, bind
from trueness.options import check_choice, check_level, check_progress, check_seed

DRAWS = 1999
_BOOTSTRAP = 999
_STEP = 2.0**-6  # of a cluster, by which a derivative is taken: draws hold seven digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A metric's value with the range the data allow for its true value."""

    metric: str
    value: float
    low: float  # NaN where there are too few rows for an interval
    high: float
    level: float
    method: str
    n: int
    resamples: int | None = None
    seed: int | None = None
    clusters: int = 0  # that were flipped whole; 0 where rows are independent

    def __repr__(self) -> str:
        if math.isnan(self.low):
            return f"{self.metric} = {self.value:.4g}, no interval ({self.method})"
        return f"{self.metric} = {self.value:.4g}, {self.level:.4g} interval {self.low:.4g} to {self.high:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary; None where there is no interval."""
        fields = asdict(self)
        if not self.clusters:
            del fields["clusters"]
        return fields | {name: None for name in ("low", "high") if math.isnan(fields[name])}


def confidence_interval(
    y_true: Given,
    y_prob: Values | None = None,
    *,
    metric: str = "smooth_ece",
    options: Options | None = None,
    level: float = 0.95,
    method: Literal["auto", "bootstrap"] = "auto",
    rng: Rng = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    progress: Progress | None = None,
) -> Interval:
    r"""A range that contains the true value of a metric in at least the share `level` of samples, also when that is zero.

    The truth is the metric of the population from which the rows came (for quantile bins and l2: with these scores and bins, so
    that a score which is seldom seen and far off counts as often as it was seen; for ECCE from a summary: read at its cells'
    edges). An interval that begins at 0 does not show calibration.

    Parameters
    ----------
    y_true : array-like, Summary or Record
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary, or a record of buckets of clusters, in place of both arrays.
    y_prob : array-like
        Predicted probabilities.
    metric : {"binned_ece", "soft_mean_ece", "smooth_ece", "logit_smoothed_ece", "ecce_mad", "ecce_r", "weak_calibration_error"}
        Which metric; binned ECE with ``norm="l1"`` or ``"l2"`` and ``weighting="mass"``.
    options : mapping, optional
        The metric's options, for example ``{"bins": 20}``.
    level : float
        Coverage, a fraction between 0 and 1 (at most 0.9999).
    method : {"auto", "bootstrap"}
        The construction above, or the percentile bootstrap, which is not valid near zero and is labelled so.
    rng : None, int or numpy Generator
        Randomness; the seed is recorded in the result.
    sample_weight : array-like, optional
        Weights ≥ 0, taken as importance weights.
    cluster : array-like, optional
        The cluster of each row, where rows of one are not independent: repeats of one question, visits of one patient. The
        limits are then those of clusters, and never closer than those of independent rows.
    progress : callable, optional
        Called with the draws done and the draws in all.

    Returns
    -------
    Interval
        With ``value``, ``low``, ``high``, ``level``, ``method``, ``n``, ``resamples``, ``seed`` and ``clusters``;
        ``low`` and ``high`` are NaN for a single row or fewer than two rows a bin.

    Examples
    --------
    >>> from trueness.demo import make_demo
    >>> y_true, y_prob, _ = make_demo()
    >>> confidence_interval(y_true, y_prob, metric="ecce_r", rng=0)
    ecce_r = 0.02791, 0.95 interval 0.0196 to 0.03161
    """
    bound = bind(metric, options, what="metric")
    alpha = 1 - check_level(level)
    check_choice("method", method, ("auto", "bootstrap"))
    check_progress(progress)
    seed = check_seed(rng)
    sample = as_sample(y_true, y_prob, sample_weight, cluster=cluster)
    if method == "bootstrap":
        if sample.clusters:
            raise InputError('method: the bootstrap draws rows, not clusters. Leave method="auto", or leave out cluster=.')
        return _bootstrap(bound, bound.value(sample), sample, alpha, seed, progress)
    bound.require_interval()
    draws = draws_for(alpha)

    def interval(part: Sample) -> Interval:
        resampling = Resampling(part, [bound])
        drawn = None
        if few_rows(bound, resampling.base) is None:
            drawn = resampling.draw(seed, draws, [needs_of(bound, resampling)], progress).get(0)
        return interval_of(bound, resampling.values[0], resampling, drawn, alpha, draws, seed)

    found, *alone = map(interval, both_ways(sample))
    return cautious_interval(found, alone[0], sample.clusters) if alone else found


def cautious_interval(interval: Interval, alone: Interval, clusters: int) -> Interval:
    """The interval by clusters, with the ends of that of independent rows where these lie further out."""
    return replace(interval, low=min(interval.low, alone.low), high=max(interval.high, alone.high), clusters=clusters)


def draws_for(alpha: float) -> int:
    """Draws from which a quantile at α/2 can be read."""
    return max(DRAWS, math.ceil(4 / alpha) - 1)


def few_rows(bound: BoundMetric, points: Points | RowSample) -> str | None:
    """Why there is no interval: a range of no width, or bins without rows, would look like knowledge."""
    if points.n < 2:
        return "too few rows: 1"
    if bound.bins is not None and points.n < 2 * bound.bins:
        return f"too few rows: {points.n} in {bound.bins} bins"
    return None


def needs_of(bound: BoundMetric, resampling: Resampling) -> Needs | None:
    """Which draws an interval of this metric reads."""
    if resampling.base.clustered is not None:
        return Needs(null=False, flips=True)
    norms = uses_null(resampling) and not resampling.uses_law(bound)
    flips = bound.metric.drawing.needs_flips
    return Needs(null=False, norms=norms, flips=flips) if norms or flips else None


def uses_null(resampling: Resampling) -> bool:
    """Whether outcomes drawn as predicted bound the noise: not of soft labels that all show their own variance."""
    labels = resampling.base.labels
    return labels is None or not labels.trusted


def interval_of(
    bound: BoundMetric, value: float, resampling: Resampling, drawn: Drawn | None, alpha: float, draws: int, seed: int
) -> Interval:
    """The interval of a value from its draws."""
    points = resampling.base
    fields: dict[str, Any] = {"metric": bound.name, "value": value, "level": round(1 - alpha, 12), "n": points.n}
    reason = few_rows(bound, points)
    if reason is not None:
        return Interval(**fields, low=math.nan, high=math.nan, method=reason)
    norm, null = bound.norm(points, None), uses_null(resampling)
    if norm is None:
        raise RuntimeError("the metric has no interval")
    if points.clustered is not None:
        return _by_clusters(fields, norm.suffix, resampling, drawn, alpha, draws, seed)
    law = bound.law is not None and (resampling.uses_law(bound) or not null)
    method = "limit law" if law else "flipped residuals and drawn outcomes" if null else "flipped residuals"
    method += (", soft labels" if points.soft else "") + norm.suffix
    record: dict[str, Any] = {} if law else {"resamples": draws, "seed": seed}
    reach = _reach(norm, resampling, value, alpha)
    if bound.law is not None:
        high = norm.highest(value, reach, None)
        low = value - _law_noise(bound.law, resampling, drawn, alpha / 2, by_law=resampling.uses_law(bound))
    elif drawn is None or drawn.norm is None:
        raise RuntimeError("no draws were made")
    else:
        high = drawn.norm.highest(value, reach, drawn.noise)
        low = drawn.norm.lowest(value, drawn.noise, alpha)
    low = min(settled(low), value) if low > ROUNDING * value else 0.0
    return Interval(**fields, low=low, high=min(high, 1.0), method=method, **record)


def _by_clusters(
    fields: dict[str, Any], suffix: str, resampling: Resampling, drawn: Drawn | None, alpha: float, draws: int, seed: int
) -> Interval:
    """The interval by what clusters differ from each other, whose number enters as in Student's law.

    What noise adds is not taken off its upper limit: how much clusters add is known less well than what rows do.
    """
    if drawn is None or drawn.norm is None or drawn.points.clustered is None:
        raise RuntimeError("no draws were made")
    value, sampler = fields["value"], drawn.points.clustered
    wider = student_quantile(alpha / 2, sampler.flipped - 1) / normal_quantile(alpha / 2)
    variance = float((_influences(drawn.norm, drawn.points.e, sampler.deviations(), value) ** 2).sum())
    high = drawn.norm.highest(value, _reach(drawn.norm, resampling, value, alpha, variance * wider**2), None)
    low = drawn.norm.lowest(value, Noise(drawn.noise.null, drawn.noise.flips * wider), alpha)
    low = min(settled(low), value) if low > ROUNDING * value else 0.0
    method = flipped(resampling.base, sampler.count) + (", soft labels" if resampling.base.soft else "") + suffix
    return Interval(**fields, low=low, high=min(settled(high), 1.0), method=method, resamples=draws, seed=seed)


def _influences(norm: Norm, e: Floats, deviations: Array, value: float) -> Floats:
    """What each cluster adds to the value by the witness at hand: a derivative, from a little more and a little less of it."""
    more, less = (norm.near(norm.noise(single(e + step * deviations)), value) for step in (_STEP, -_STEP))
    return np.asarray((more - less) / (2 * _STEP))


def _reach(norm: Norm, resampling: Resampling, value: float, alpha: float, by_clusters: float = 0.0) -> Reach:
    """How far the value may lie below the truth. Weights that vary move it, too, by T² more a row at most; where clusters make
    for more variance, events are as few as in fewer rows."""
    points, z = resampling.base, normal_quantile(alpha / 2)
    independent = residual_variance(points, norm.squares()) / points.total**2
    if points.weighted:
        independent += value**2 / points.effective
    variance = max(independent, by_clusters)
    likeness = variance / independent if independent > 0 else 1.0
    return Reach(z, variance, _skewness(points) * z / (2 * points.effective) * likeness)


def _skewness(points: Points) -> float:
    """κ = Σw²|1−2f|/Σw²: near 1 for rare events and for sure predictions of either kind, which a mean score of one half would
    hide, and whose variance would hide rows that are said to have none."""
    return float((points.w2 * np.abs(1 - 2 * points.score)).sum()) / float(points.w2.sum())


@cache
def _law_quantile(limit: LimitLaw, tail: float) -> float:
    return float(limit.law.isf(tail))


def _law_noise(limit: LimitLaw, resampling: Resampling, drawn: Drawn | None, tail: float, *, by_law: bool) -> float:
    """How far noise may carry the value, by its law for residuals, and by its law or by draws for outcomes as predicted."""
    points = resampling.base
    law = _law_quantile(limit, tail) / points.total
    quantiles = [law * math.sqrt(float(points.squares.sum()))]
    if by_law:
        quantiles.append(law * math.sqrt(float(points.variance.sum())))
    elif drawn is not None and len(drawn.noise.null):
        quantiles.append(order_statistic(drawn.noise.null, tail))
    return max(quantiles)


def _bootstrap(
    bound: BoundMetric, value: float, sample: Sample, alpha: float, seed: int, progress: Progress | None
) -> Interval:
    rows = sample.rows('method="bootstrap"').arrays
    n, rng = len(rows.f), np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    fields: dict[str, Any] = {"metric": bound.name, "value": value, "level": round(1 - alpha, 12), "n": n}
    if n < 2:
        return Interval(**fields, low=math.nan, high=math.nan, method="too few rows: 1")
    values = np.empty(_BOOTSTRAP)
    for i in range(_BOOTSTRAP):
        row = rng.integers(n, size=n)
        weights = {} if rows.w is None else {"sample_weight": rows.w[row]}
        values[i] = bound.metric.function(rows.y[row], rows.f[row], **weights, **bound.given)
        if progress is not None:
            progress(i + 1, _BOOTSTRAP)
    low, high = np.quantile(values, [alpha / 2, 1 - alpha / 2])
    method = "percentile bootstrap (not valid near zero)"
    return Interval(**fields, low=float(low), high=float(high), method=method, resamples=_BOOTSTRAP, seed=seed)
