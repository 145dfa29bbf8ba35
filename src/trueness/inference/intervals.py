r"""Confidence intervals that cover, also where the truth is zero.

Most metrics here are norms, sup E[v(f)·r] over functions |v| ≤ 1 of the score: not differentiable at 0, where the percentile
bootstrap never covers. With T_n the value, BS = Σw²r²/W², V₂ = Σw²f(1−f)/W², n_e = W²/Σw², κ = Σw²f(1−f)|1−2f|/Σw²f(1−f):

    upper   T_n + κz²/(2n_e) + z·√(max(BS, V₂) + (κz/2n_e)²)      the best v of the truth bounds T_n from below
    lower   T_n − q,  q a quantile of the norm of noise            |‖Ĉ‖ − ‖C‖| ≤ ‖Ĉ − C‖

with noise from residuals of random sign and from outcomes drawn as predicted, whichever is larger. Soft labels vary less than
events: with 20 residuals of each sign they speak for themselves (BS alone, random signs alone), else they are taken as events.
"""

import math
from dataclasses import asdict, dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from trueness._types import Floats
from trueness.data.masses import logit, sigmoid
from trueness.data.points import Points
from trueness.data.sample import RowData, as_data
from trueness.errors import InputError, NeedsRowsError
from trueness.inference.requests import Request
from trueness.inference.significance import LAWS, few_signs, residual_variance
from trueness.inference.simulation import Drawn, Progress, Resampling, Wanted, settled, uses_law
from trueness.metrics.statistics import SmoothStatistic
from trueness.options import check_choice, check_level, check_seed
from trueness.summary.summary import Summary

DRAWS = 1999
_BOOTSTRAP = 999
_BETWEEN = 8  # bandwidths looked at from one rung to the next


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

    def __repr__(self) -> str:
        if math.isnan(self.low):
            return f"{self.metric} = {self.value:.4g}, no interval ({self.method})"
        return f"{self.metric} = {self.value:.4g}, {self.level:.4g} interval {self.low:.4g} to {self.high:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary; None where there is no interval."""
        fields = asdict(self)
        return fields | {name: None for name in ("low", "high") if math.isnan(fields[name])}


def confidence_interval(
    y_true: Any,
    y_prob: Any = None,
    *,
    metric: str = "smooth_ece",
    options: Any = None,
    level: float = 0.95,
    method: Literal["auto", "bootstrap"] = "auto",
    rng: Any = None,
    sample_weight: Any = None,
    progress: Progress | None = None,
) -> Interval:
    r"""A range that contains the true value of a metric in at least the share `level` of samples, also when that is zero.

    The truth is the metric of the population from which the rows came (for quantile bins: with these scores and bins; for
    ECCE from a summary: read at its cells' edges). An interval that begins at 0 does not show calibration.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays.
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
    progress : callable, optional
        Called with the draws done and the draws in all.

    Returns
    -------
    Interval
        With ``value``, ``low``, ``high``, ``level``, ``method``, ``n``, ``resamples`` and ``seed``; ``low`` and ``high`` are
        NaN for a single row or fewer than two rows a bin.

    Examples
    --------
    >>> from trueness.demo import make_demo
    >>> y_true, y_prob, _ = make_demo()
    >>> confidence_interval(y_true, y_prob, metric="ecce_r", rng=0)
    ecce_r = 0.02791, 0.95 interval 0.0196 to 0.03391
    """
    request = Request(metric, options, what="metric")
    alpha = 1 - check_level(level)
    check_choice("method", method, ("auto", "bootstrap"))
    seed = check_seed(rng)
    data = as_data(y_true, y_prob, sample_weight)
    value = request.value(data)
    if method == "bootstrap":
        return _bootstrap(request, value, data, alpha, seed, progress)
    require_construction(request)
    resampling = Resampling(data, [request])
    draws = draws_for(alpha)
    drawn = None
    if few_rows(request, resampling.base) is None:
        drawn = resampling.draw(seed, draws, wanted_for(request, resampling), progress=progress)[0]
    return interval_of(request, value, resampling, drawn, alpha, draws, seed)


def draws_for(alpha: float) -> int:
    """Draws from which a quantile at α/2 can be read."""
    return max(DRAWS, math.ceil(4 / alpha) - 1)


def require_construction(request: Request) -> None:
    """Not every metric has an interval."""
    if request.metric.interval is None:
        raise InputError(
            f'metric: there is no interval for {request.name} that is known to cover. Pass method="bootstrap" at most.'
        )
    if request.binned and (request.get("norm", "l1") == "max" or request.get("weighting", "mass") == "width"):
        raise InputError(
            'options: an interval that is known to cover exists for norm="l1" or "l2" with weighting="mass" alone. '
            'Change these options, or pass method="bootstrap".'
        )


def few_rows(request: Request, points: Points) -> str | None:
    """Why there is no interval: a range of no width, or bins without rows, would look like knowledge."""
    if points.n < 2:
        return "too few rows: 1"
    if request.binned and points.n < 2 * request.bins:
        return f"too few rows: {points.n} in {request.bins} bins"
    return None


def wanted_for(request: Request, resampling: Resampling) -> Wanted:
    """Which draws an interval of this metric needs."""
    return Wanted(null=False, norms=uses_null(resampling) and not uses_law(request, resampling), flips=not request.cumulative)


def uses_null(resampling: Resampling) -> bool:
    """Whether outcomes drawn as predicted bound the noise. Soft labels vary less; only where too few show how much, they do."""
    return not resampling.base.soft or few_signs(resampling)


def interval_of(
    request: Request, value: float, resampling: Resampling, drawn: Drawn | None, alpha: float, draws: int, seed: int
) -> Interval:
    """The interval of a value from its draws."""
    points = resampling.base
    facts: dict[str, Any] = {"metric": request.name, "value": value, "level": round(1 - alpha, 12), "n": points.n}
    reason = few_rows(request, points)
    if reason is not None:
        return Interval(**facts, low=math.nan, high=math.nan, method=reason)
    law = uses_law(request, resampling) or (request.cumulative and not uses_null(resampling))
    method = (
        "limit law" if law else "flipped residuals" if not uses_null(resampling) else "flipped residuals and drawn outcomes"
    )
    if points.soft:
        method += ", soft labels"
    if request.get("norm", "l1") == "l2":
        method += ", squared norm"
    record: dict[str, Any] = {} if law else {"resamples": draws, "seed": seed}
    high = value + _witness(request, resampling, alpha)
    if request.cumulative:
        low = value - _cumulative_noise(request, resampling, drawn, alpha / 2)
    elif drawn is None:
        raise RuntimeError("no draws were made")
    elif request.get("norm", "l1") == "l2":
        low, high = _squared_limits(drawn, alpha)
    else:
        low = _lower(value, drawn, alpha / 2)
    low = min(settled(max(low, 0.0)), value)
    return Interval(**facts, low=low, high=min(high, 1.0), method=method, **record)


def _normal(tail: float) -> float:
    from scipy.special import ndtri

    return float(-ndtri(tail))


def _witness(request: Request, resampling: Resampling, alpha: float) -> float:
    """How far the value may lie below the truth."""
    points, z = resampling.base, _normal(alpha / 2)
    squares = _noisy_squares(points, request) if request.name == "logit_smoothed_ece" else None
    variance = residual_variance(resampling, squares)[0] / points.total**2
    skew = _skewness(points) * z / (2 * points.effective)
    return skew * z + z * math.sqrt(variance + skew**2)


def _skewness(points: Points) -> float:
    """κ = Σw²f(1−f)|1−2f| / Σw²f(1−f): near 1 for rare events and for sure predictions of either kind, which a mean score of
    one half would hide; 1 where every prediction is 0 or 1."""
    total = float(points.binomial.sum())
    return float((points.binomial * np.abs(1 - 2 * points.score)).sum()) / total if total > 0 else 1.0


def _noisy_squares(points: Points, request: Request) -> Floats:
    """Σw²(y − E ρ(h + ξ))²: the residual of a prediction with noise on its logit."""
    h, sigma = logit(points.score), request.bandwidth
    if request.get("noise", "gaussian") == "uniform":
        noisy = (np.logaddexp(0, h + sigma / 2) - np.logaddexp(0, h - sigma / 2)) / sigma
    else:
        xi = np.linspace(-8.0, 8.0, 41)
        density = np.exp(-0.5 * xi * xi)
        noisy = sum(share * sigmoid(h + sigma * shift) for shift, share in zip(xi, density / density.sum(), strict=True))
    move = points.score - noisy
    # (y − f + move)², each with w²
    return np.maximum(points.squares + move * (2 * points.w2e + move * points.w2), 0.0)


@cache
def _law_quantile(name: str, tail: float) -> float:
    return float(LAWS[name].isf(tail))


def _order_statistic(values: Floats, tail: float) -> float:
    """The smallest value that all but a share `tail` of further draws stay below."""
    place = math.ceil((len(values) + 1) * (1 - tail))
    return float(np.sort(values)[min(place, len(values)) - 1])


def _cumulative_noise(request: Request, resampling: Resampling, drawn: Drawn | None, tail: float) -> float:
    points = resampling.base
    law = _law_quantile(request.name, tail) / points.total
    quantiles = [law * math.sqrt(float(points.squares.sum()))]
    if uses_law(request, resampling):
        quantiles.append(law * math.sqrt(float(points.binomial.sum())))
    elif drawn is not None and len(drawn.null_norms):
        quantiles.append(_order_statistic(drawn.null_norms, tail))
    return max(quantiles)


def _lower(value: float, drawn: Drawn, tail: float) -> float:
    """The value less its noise; for SmoothECE the best of all bandwidths, each bounded by what is left there and by itself."""
    norm = drawn.norm
    if isinstance(norm, SmoothStatistic) and not norm.fixed:
        noise = np.max([_simultaneous(values, tail) for values in _norms(drawn)], axis=0)
        # Between two rungs the noise is no more than at the lower one, since norms fall with the bandwidth.
        fine = np.unique(np.concatenate([np.geomspace(a, b, _BETWEEN + 1) for a, b in pairwise(norm.ladder)]))
        curve = SmoothStatistic(drawn.points, norm.scale, None, ladder=fine).noise(drawn.points.e[None, :], nodes=32)[0]
        rung = np.searchsorted(norm.ladder, fine * (1 + 1e-12), side="right") - 1
        return float(min(np.max(np.minimum(fine, curve - noise[rung])), value))
    return value - max(_order_statistic(values.reshape(len(values)), tail) for values in _norms(drawn))


def _norms(drawn: Drawn) -> list[Floats]:
    """Norms of noise of either kind."""
    return [drawn.flip_norms] if len(drawn.null_norms) == 0 else [drawn.flip_norms, drawn.null_norms]


def _simultaneous(curves: Floats, tail: float) -> Floats:
    """A bound on the noise at every bandwidth that holds for all of them together."""
    mean, spread = curves.mean(axis=0), curves.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    bound: Floats = mean + _order_statistic(((curves - mean) / spread).max(axis=1), tail) * spread
    return bound


def _squared_limits(drawn: Drawn, alpha: float) -> tuple[float, float]:
    """Limits for l2-ECE T: T_n² = T² + 2T·⟨u, ε⟩ + ‖ε‖², with ε the noise of the bins and u the direction of their gaps.

    ⟨u, ε⟩ is about normal with a variance of at most the largest bin's; quantiles of ‖ε‖² come from the draws. Each of the
    two is given half of the error on either side.
    """
    points, statistic = drawn.points, drawn.norm
    squared = float((statistic.gaps(points.e[None, :])[0] ** 2 * statistic.share).sum())
    z = _normal(alpha / 4)
    slack = z * math.sqrt(statistic.direction_variance(points, z))
    most = max(_order_statistic(values, alpha / 4) for values in _norms(drawn)) ** 2
    low = math.sqrt(slack**2 + squared - most) - slack if squared > most else 0.0
    high = slack + math.sqrt(slack**2 + squared)
    return low, high


def _bootstrap(
    request: Request, value: float, data: RowData | Summary, alpha: float, seed: int, progress: Progress | None
) -> Interval:
    if isinstance(data, Summary):
        raise NeedsRowsError(
            'method="bootstrap" needs the rows themselves; a summary does not hold them. Pass y_true and y_prob.'
        )
    rows = data.arrays
    n, rng = len(rows.f), np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    facts: dict[str, Any] = {"metric": request.name, "value": value, "level": round(1 - alpha, 12), "n": n}
    if n < 2:
        return Interval(**facts, low=math.nan, high=math.nan, method="too few rows: 1")
    values = np.empty(_BOOTSTRAP)
    for i in range(_BOOTSTRAP):
        at = rng.integers(n, size=n)
        weights = {} if rows.w is None else {"sample_weight": rows.w[at]}
        values[i] = request.metric.function(rows.y[at], rows.f[at], **weights, **request.options)
        if progress is not None:
            progress(i + 1, _BOOTSTRAP)
    low, high = np.quantile(values, [alpha / 2, 1 - alpha / 2])
    method = "percentile bootstrap (not valid near zero)"
    return Interval(**facts, low=float(low), high=float(high), method=method, resamples=_BOOTSTRAP, seed=seed)
