"""Could it be noise? Tests of calibration with p-values that are right in the tails and for few or rare events."""

import math
from dataclasses import dataclass, fields
from typing import Any, Literal

from trueness._json import plain
from trueness._text import show_pvalue
from trueness._types import Floats, Rng, Values
from trueness.data.sample import Given, Sample, as_sample
from trueness.errors import InputError
from trueness.inference.simulation import SOFT, Drawn, Needs, Progress, Resampling
from trueness.metrics.drawing import LimitLaw, Options
from trueness.metrics.registry import BoundMetric, bind
from trueness.options import check_choice, check_count, check_progress, check_seed

_EACH_SIGN = 20  # residuals of either sign from which soft labels are trusted to show their own variance
_SMALLEST = 5e-324

METHODS = ("auto", "asymptotic", "simulated")
WEIGHT_KINDS = ("importance", "frequency")


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationTest:
    """What a test of calibration found. A large p-value means that noise could explain it, not that the model is calibrated."""

    statistic: str
    value: float
    standardized: float  # ECCE: in units of its noise scale; else standard deviations above the mean under calibration
    pvalue: float
    log10_pvalue: float
    method: str  # "asymptotic" or "simulated"
    reason: str  # why this method
    n: int
    resamples: int | None = None
    seed: int | None = None
    # Certain bounds for the p-value of the rows, where only their summary is known and the limit law is used.
    pvalue_bounds: tuple[float, float] | None = None
    # Where certain predictions were wrong, which makes p = 0: how many at least, and the test of the other rows.
    contradictions: int = 0
    rest: "CalibrationTest | None" = None

    def __repr__(self) -> str:
        return f"{self.statistic} = {self.value:.4g}, p {self.shown} ({self.method}; {self.reason}), n = {self.n}"

    @property
    def shown(self) -> str:
        """The p-value in words: "= 0.03", or "≤ 0.0005" where no draw reached the value."""
        smallest = self.resamples is not None and self.pvalue <= 1 / (1 + self.resamples)
        return f"{'≤' if smallest else '='} {show_pvalue(self.pvalue, self.log10_pvalue)}"

    @property
    def explained(self) -> str:
        """The p-value without "="; a 0 with the number of certain predictions that were wrong, and the others' p."""
        return self.shown.removeprefix("= ") + self.certainties

    @property
    def certainties(self) -> str:
        """In parentheses, how many certain predictions were wrong, and the others' p; nothing where none was."""
        others = "" if self.rest is None else f"; others {self.rest.shown.removeprefix('= ')}"
        return f" ({self.contradictions} certain and wrong{others})" if self.contradictions else ""

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary; None where a number is not finite."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: plain(value) for name, value in named.items() if value or name not in ("contradictions", "rest")}


def calibration_test(
    y_true: Given,
    y_prob: Values | None = None,
    *,
    statistic: str = "ecce_r",
    options: Options | None = None,
    method: Literal["auto", "asymptotic", "simulated"] = "auto",
    resamples: int = 1999,
    rng: Rng = None,
    sample_weight: Values | None = None,
    weight_kind: Literal["importance", "frequency"] = "importance",
    progress: Progress | None = None,
) -> CalibrationTest:
    r"""How often a calibrated model would look at least this far off.

    .. math:: p = P\bigl(R > \text{ECCE-R}/\sigma_n\bigr) \quad\text{(asymptotic)}, \qquad
              p = \frac{1 + \#\{T(y^*, f) \ge T(y, f)\}}{1 + \text{resamples}} \quad\text{(simulated)}

    with R the range of Brownian motion (its largest absolute value for ECCE-MAD) and outcomes :math:`y^*_i \sim
    \mathrm{Bernoulli}(f_i)`. The p-value does not depend on the order of the rows, ties included. It is invalid for a model
    that was calibrated on the same rows, and a large one never shows that a model is calibrated.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1] (ECCE only, with a variance taken from the residuals), or a summary in place
        of both arrays: C is then read at its cells' edges, which makes the test a little conservative.
    y_prob : array-like
        Predicted probabilities.
    statistic : str
        Name of a metric; large values speak against calibration.
    options : mapping, optional
        The metric's options, for example ``{"bins": 20}``.
    method : {"auto", "asymptotic", "simulated"}
        "auto" simulates where the limit law is not to be trusted: a variance of events below 50, fewer than 1000 rows or 100
        distinct scores; and for every statistic but ECCE, which alone has a limit law here.
    resamples : int
        Draws of the simulated method; its smallest p-value is 1/(resamples + 1).
    rng : None, int or numpy Generator
        Randomness of the simulated method; the seed is recorded in the result.
    sample_weight : array-like, optional
        Weights ≥ 0. They may depend on the prediction, not on the outcome: rows thinned by their outcome and weighted back are
        noisier than the test believes, and it rejects too often.
    weight_kind : {"importance", "frequency"}
        Whether a weight says how much a row counts, or how many equal rows it stands for.
    progress : callable, optional
        Called with the draws done and the draws in all.

    Returns
    -------
    CalibrationTest
        With ``statistic``, ``value``, ``standardized``, ``pvalue``, ``log10_pvalue`` (exact where a float underflows),
        ``method``, ``reason``, ``n``, ``resamples`` and ``seed``. Certain predictions that were wrong, an event at 0 or none
        at 1, make p = 0; ``rest`` is then the test of the other rows.

    References
    ----------
    I. Arrieta-Ibarra, P. Gujral, J. Tannen, M. Tygert, C. Xu (2022). Metrics of calibration for probabilistic predictions.
    JMLR 23.

    Examples
    --------
    >>> from trueness.demo import make_demo
    >>> y_true, y_prob, _ = make_demo()
    >>> result = calibration_test(y_true, y_prob)
    >>> result.method, float(f"{result.pvalue:.1g}")
    ('asymptotic', 2e-21)
    """
    bound = bind(statistic, options, what="statistic")
    check_choice("method", method, METHODS)
    check_choice("weight_kind", weight_kind, WEIGHT_KINDS)
    check_progress(progress)
    resamples, seed = check_count("resamples", resamples), check_seed(rng)
    sample = as_sample(y_true, y_prob, sample_weight)
    resampling = Resampling(sample, [bound], frequency=weight_kind == "frequency")
    return outcome_of(bound, resampling.values[0], resampling, method, resamples, seed, progress)


def outcome_of(
    bound: BoundMetric,
    value: float,
    resampling: Resampling,
    method: str,
    resamples: int,
    seed: int,
    progress: Progress | None = None,
    drawn: Drawn | None = None,
    rest: bool = True,
) -> CalibrationTest:
    """The test of a value; `drawn` holds draws already made with this seed, `rest` asks for the test of the rest."""
    points, sample = resampling.base, resampling.sample
    if points.soft:
        return _soft(bound, value, resampling, method)
    sigma = math.sqrt(float(points.binomial.sum())) / points.total
    simulated, reason = _choice(bound, resampling, method)
    fields: dict[str, Any] = {"statistic": bound.name, "value": value, "n": points.n}
    fields |= {"method": "simulated" if simulated else "asymptotic"}
    if times := (contradictions := sample.contradictions(frequency=resampling.frequency)).total:
        zero = "0" if sample.has_rows else "0 (below 1e-15 in a summary)"
        wrong = f"{'at least ' if contradictions.at_least else ''}{times} time{'' if times == 1 else 's'}"
        reason = f"an event of predicted probability {zero} was observed, {wrong}"
        fields |= {"standardized": math.inf, "pvalue": 0.0, "log10_pvalue": -math.inf}
        others = _rest(bound, resampling, method, resamples, seed, progress) if rest else None
        return CalibrationTest(**fields, reason=reason, contradictions=times, rest=others)
    if sigma == 0:
        reason = "every prediction is 0 or 1 and none is contradicted"
        return CalibrationTest(**fields, standardized=0.0, pvalue=1.0, log10_pvalue=0.0, reason=reason)
    if not simulated and bound.law is not None:
        return _asymptotic(fields, bound.law, sigma, reason, sample)
    if drawn is None:
        drawn = resampling.draw(seed, resamples, [Needs()], progress)[0]
    return _simulated(fields, bound, drawn, sigma, reason, seed, sample)


def _rest(
    bound: BoundMetric, resampling: Resampling, method: str, resamples: int, seed: int, progress: Progress | None
) -> CalibrationTest | None:
    """The test of the rows that no certain prediction was wrong for."""
    sample = resampling.sample.without_contradictions
    if sample is None:
        return None
    others = Resampling(sample, [bound], frequency=resampling.frequency)
    return outcome_of(bound, others.values[0], others, method, resamples, seed, progress)


def _simulated(
    fields: dict[str, Any], bound: BoundMetric, drawn: Drawn, sigma: float, reason: str, seed: int, sample: Sample
) -> CalibrationTest:
    if bound.law is not None and not sample.has_rows and sample.exact_extremes is not None:
        fields["value"] = drawn.observed  # at the edges of cells, like the draws: p belongs to that
        reason = f"{reason}; value and p from the cells of the summary"
    pvalue = drawn.pvalue()
    spread = float(drawn.null.std())
    above = (drawn.observed - float(drawn.null.mean())) / spread if spread > 1e-14 else math.nan
    return CalibrationTest(
        **fields,
        standardized=fields["value"] / sigma if bound.law is not None else above,
        pvalue=pvalue,
        log10_pvalue=math.log10(pvalue),
        reason=reason,
        resamples=len(drawn.null),
        seed=seed,
    )


def _choice(bound: BoundMetric, resampling: Resampling, method: str) -> tuple[bool, str]:
    """Whether to simulate, and why."""
    if method == "asymptotic":
        if bound.law is None:
            raise InputError(f'method: {bound.name} has no limit law here. Pass method="simulated", or statistic="ecce_r".')
        return False, "as asked"
    if method == "simulated":
        return True, "as asked"
    weighted_cells = resampling.base.weighted and resampling.base.kind == "cells"
    if bound.law is None:
        normal = "; rows of weighted cells drawn as if they were alike" if weighted_cells else ""
        return True, f"{bound.name} has no limit law here{normal}"
    if weighted_cells:
        few = "" if resampling.regime.asymptotic else f", though {resampling.regime.reason}: p may be too small"
        return False, f"weighted rows cannot be drawn from cells{few}"
    return not resampling.regime.asymptotic, resampling.regime.reason


def _asymptotic(fields: dict[str, Any], limit: LimitLaw, sigma: float, reason: str, sample: Sample) -> CalibrationTest:
    law, standardized = limit.law, fields["value"] / sigma
    bounds = None
    if (bracket := sample.bracket) is not None:
        low, high = limit.bounds(bracket)
        bounds = (max(law.sf(high / sigma), _SMALLEST), max(law.sf(low / sigma), _SMALLEST))
    return CalibrationTest(
        **fields,
        standardized=standardized,
        pvalue=max(law.sf(standardized), _SMALLEST),
        log10_pvalue=law.logsf(standardized) / math.log(10),
        reason=reason,
        pvalue_bounds=bounds,
    )


def _soft(bound: BoundMetric, value: float, resampling: Resampling, method: str) -> CalibrationTest:
    """Soft labels show their own variance, unless residuals of one sign are too few to show it."""
    if bound.law is None or method == "simulated":
        raise InputError(f"{'statistic' if bound.law is None else 'method'}: {SOFT}")
    points = resampling.base
    variance, reason = residual_variance(resampling)
    fields: dict[str, Any] = {"statistic": bound.name, "value": value, "n": points.n, "method": "asymptotic"}
    if variance == 0:
        return CalibrationTest(**fields, standardized=0.0, pvalue=1.0, log10_pvalue=0.0, reason=reason)
    return _asymptotic(fields, bound.law, math.sqrt(variance) / points.total, reason, resampling.sample)


def residual_variance(resampling: Resampling, squares: Floats | None = None) -> tuple[float, str]:
    """Σw²(y − f)² where that is enough to go by, else no less than Σw²f(1 − f); and which. `squares` stands for the points'."""
    points = resampling.base
    own, binomial = float((points.squares if squares is None else squares).sum()), float(points.binomial.sum())
    if not points.soft:
        return max(own, binomial), "the larger of residual and binomial variance"
    signs = resampling.sample.residual_signs(frequency=resampling.frequency)
    at_least = "" if resampling.sample.has_rows else "at least "
    if min(signs) >= _EACH_SIGN:
        return own, f"soft labels: variance of their residuals ({at_least}{signs[0]} above, {signs[1]} below)"
    few = f"{at_least or 'only '}{signs[0]} above and {signs[1]} below"
    return max(own, binomial), f"soft labels: the larger of residual and binomial variance ({few})"


def few_signs(resampling: Resampling) -> bool:
    """Whether residuals of one sign are too few to show their own variance."""
    return min(resampling.sample.residual_signs(frequency=resampling.frequency)) < _EACH_SIGN
