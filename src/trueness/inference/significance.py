"""Could it be noise? Tests of calibration with p-values that are right in the tails and for few or rare events."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from trueness._types import Floats, Rng, Values
from trueness.brownian import BrownianLaw
from trueness.data.points import Points
from trueness.data.sample import Given, Sample, as_sample
from trueness.data.soft_labels import LabelNoise
from trueness.errors import InputError
from trueness.inference.clustering import tested
from trueness.inference.combination import rank_pvalues
from trueness.inference.combined import SMALLEST, combined, ecce_part, neighbours
from trueness.inference.few_events import FewEvents, tail_law
from trueness.inference.outcome import CalibrationTest
from trueness.inference.residual_statistics import STATISTICS, tail_of, together
from trueness.inference.simulation import SOFT, Drawn, Needs, Progress, Resampling, null_draws
from trueness.metrics.drawing import LimitLaw, Options
from trueness.metrics.registry import BoundMetric, bind
from trueness.options import check_choice, check_count, check_progress, check_seed

METHODS = ("auto", "asymptotic", "simulated")
WEIGHT_KINDS = ("importance", "frequency")


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
    cluster: Values | None = None,
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
    y_true : array-like, Summary or Record
        Outcomes in {0, 1}, soft labels in [0, 1] (ECCE only, with the variance that they show; labels of 0 and 1 among them
        count as events), or a summary in place of both arrays: C is then read at its cells' edges, which makes the test a
        little conservative, and so does a cell of several soft rows, for some may be events. Or a record of buckets of
        clusters, which are flipped.
    y_prob : array-like
        Predicted probabilities.
    statistic : str
        Name of a metric, large values of which speak against calibration; or a test of its own: "cox" (slope and intercept
        of the logit), "spiegelhalter", "neyman" (waves), "hosmer_lemeshow" (64 to 1 groups), "kernel" (narrow ranges), or
        "combined": the smallest p of ECCE-R and all of these but Spiegelhalter, ranked among those of the same draws.
    options : mapping, optional
        The metric's options, for example ``{"bins": 20}``.
    method : {"auto", "asymptotic", "simulated"}
        "auto" simulates where the limit law is not to be trusted: a variance of events below 50, fewer than 1000 rows or 100
        distinct scores, or their variance on so few that fewer than 50 of equal variance would tell as much; and for every
        statistic but ECCE, which alone has a limit law here.
    resamples : int
        Draws of the simulated method; its smallest p-value is 1/(resamples + 1).
    rng : None, int or numpy Generator
        Randomness of the simulated method; the seed is recorded in the result.
    sample_weight : array-like, optional
        Weights ≥ 0. They may depend on the prediction, not on the outcome: rows thinned by their outcome and weighted back are
        noisier than the test believes, and it rejects too often.
    weight_kind : {"importance", "frequency"}
        Whether a weight says how much a row counts, or how many equal rows it stands for.
    cluster : array-like, optional
        The cluster of each row, where rows of one are not independent: repeats of one question, visits of one patient. Draws
        then flip the residuals of whole clusters, and p is never below that of independent rows.
    progress : callable, optional
        Called with the draws done and the draws in all.

    Returns
    -------
    CalibrationTest
        With ``statistic``, ``value``, ``standardized``, ``pvalue``, ``log10_pvalue`` (exact where a float underflows),
        ``method``, ``reason``, ``n``, ``resamples``, ``seed`` and ``clusters``. Certain predictions that were wrong, an event
        at 0 or none at 1, make p = 0; ``rest`` is then the test of the other rows. ``parts`` lists what a combined test is
        made of, each with its ``value``, ``pvalue`` alone, and ``words`` for what it saw; the value of the whole is ECCE-R.
        Its p-value is that of the draws; where none reached the observed one, and the variance of events is at least 200, it
        is twice the smaller of those by the laws of ECCE-R and Cox, if that is smaller still.

    References
    ----------
    D. R. Cox (1958). Two further applications of a model for binary regression. Biometrika 45.

    D. J. Spiegelhalter (1986). Probabilistic prediction in patient management and clinical trials. Statistics in Medicine 5.

    J. Fan (1996). Test of significance based on wavelet thresholding and Neyman's truncation. JASA 91.

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
    bound = bind_statistic(statistic, options)
    check_choice("method", method, METHODS)
    check_choice("weight_kind", weight_kind, WEIGHT_KINDS)
    check_progress(progress)
    resamples, seed = check_count("resamples", resamples), check_seed(rng)
    sample = as_sample(y_true, y_prob, sample_weight, cluster=cluster)

    def outcome(part: Sample) -> CalibrationTest:
        resampling = Resampling(part, [bound], frequency=weight_kind == "frequency")
        if statistic in STATISTICS or statistic == "combined":
            return outcome_by_residuals(statistic, resampling, method, resamples, seed, progress)
        return outcome_of(bound, resampling.values[0], resampling, method, resamples, seed, progress)

    return tested(sample, outcome)


def bind_statistic(statistic: Any, options: Options | None) -> BoundMetric:
    """The metric that is the statistic; for a statistic of residuals ECCE-R, whose points and regime it shares."""
    besides = (*STATISTICS, "combined")
    if not isinstance(statistic, str) or statistic not in besides:
        return bind(statistic, options, what="statistic", besides=besides)
    if options is not None and (not isinstance(options, Mapping) or options):
        raise InputError(f"options: {statistic} takes none.")
    return bind("ecce_r", None, what="statistic")


def outcome_by_residuals(
    name: str, resampling: Resampling, method: str, resamples: int, seed: int, progress: Progress | None = None
) -> CalibrationTest:
    """The test by a statistic of residuals, or by several combined."""
    points, sample = resampling.base, resampling.sample
    if points.soft:
        if name != "combined":
            raise InputError(f"statistic: {SOFT}")
        alone = outcome_of(resampling.metrics[0], resampling.values[0], resampling, method, resamples, seed, progress)
        return replace(alone, statistic=name, reason=f"{alone.reason}; ECCE-R alone", parts=(ecce_part(alone, sample),))
    if float(points.binomial.sum()) == 0 or sample.contradictions(frequency=resampling.frequency).total:
        alone = outcome_of(resampling.metrics[0], resampling.values[0], resampling, "auto", resamples, seed, rest=False)
        parts = (ecce_part(alone, sample),) if name == "combined" else ()
        rest = sample.without_contradictions if alone.contradictions else None
        if rest is not None:
            others = Resampling(rest, resampling.metrics, frequency=resampling.frequency)
            alone = replace(alone, rest=outcome_by_residuals(name, others, method, resamples, seed, progress))
        return replace(alone, statistic=name, value=alone.value if parts else math.nan, parts=parts)
    if name == "combined":
        return combined(resampling, method, resamples, seed, progress)
    return _by_residuals(name, resampling, method, resamples, seed, progress)


def _by_residuals(
    name: str, resampling: Resampling, method: str, resamples: int, seed: int, progress: Progress | None
) -> CalibrationTest:
    points, regime = resampling.base, resampling.regime
    fields: dict[str, Any] = {"statistic": name, "n": points.n}
    has_tail = tail_of(STATISTICS[name](points)) is not None
    _require_independent(points, method)
    if method == "asymptotic" and not has_tail:
        raise InputError(f'method: {name} has no limit law here. Pass method="simulated", or statistic="cox".')
    reason = "as asked" if method != "auto" else regime.reason if has_tail else f"{name} has no limit law here"
    if has_tail and (method == "asymptotic" or (method == "auto" and regime.asymptotic)):
        statistic = STATISTICS[name](points)
        value = float(statistic.of(points.e[None, :])[0])
        log_p = min(_log_tail(statistic, value), 0.0)
        fields |= {"value": value, "standardized": value, "method": "asymptotic", "reason": reason}
        return CalibrationTest(**fields, pvalue=max(math.exp(log_p), SMALLEST), log10_pvalue=log_p / math.log(10))
    groups = neighbours(points)
    values = null_draws(groups, together([STATISTICS[name](groups)]), seed, resamples, progress)[0]
    value, null = float(values[0]), values[1:]
    spread = float(null.std())
    pvalue = float(rank_pvalues(values)[0])
    return CalibrationTest(
        **fields,
        value=value,
        standardized=(value - float(null.mean())) / spread if spread > 1e-14 else math.nan,
        pvalue=pvalue,
        log10_pvalue=math.log10(pvalue),
        method="simulated",
        reason=reason,
        resamples=resamples,
        seed=seed,
    )


def _require_independent(points: Points, method: str) -> None:
    """Limit laws are those of independent rows."""
    if points.clustered is not None and method == "asymptotic":
        raise InputError('method: limit laws hold for independent rows, not for clusters. Leave method="auto".')


def _log_tail(statistic: Any, value: float) -> float:
    return float(statistic.log_tail(value))


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
    _require_independent(points, method)
    if points.soft and points.clustered is not None:
        return _soft_clusters(bound, value, resampling, resamples, seed, progress, drawn)
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
        tail = bound.law.law if method == "asymptotic" else tail_law(bound.law.law, points)
        return _asymptotic(fields, bound.law, sigma, reason, sample, tail=tail)
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
        standardized=above if bound.law is None or sample.clusters else fields["value"] / sigma,
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
    if resampling.base.clustered is not None:
        return True, resampling.regime.reason
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


def _asymptotic(
    fields: dict[str, Any],
    limit: LimitLaw,
    sigma: float,
    reason: str,
    sample: Sample,
    between: tuple[float, float] | None = None,
    tail: BrownianLaw | FewEvents | None = None,
) -> CalibrationTest:
    """By the limit law, or what stands for its `tail`.

    The rows' own noise scale lies `between` these where their summary does not tell it.
    """
    least, most = (sigma, sigma) if between is None else between
    law, standardized = limit.law if tail is None else tail, fields["value"] / sigma
    bounds = None
    if (bracket := sample.bracket) is not None:
        low, high = limit.bounds(bracket)
        smallest = law.sf(high / least) if least > 0 else 0.0
        bounds = (max(smallest, SMALLEST), max(law.sf(low / most), SMALLEST))
    return CalibrationTest(
        **fields,
        standardized=standardized,
        pvalue=max(law.sf(standardized), SMALLEST),
        log10_pvalue=law.logsf(standardized) / math.log(10),
        reason=reason,
        pvalue_bounds=bounds,
    )


def _soft(bound: BoundMetric, value: float, resampling: Resampling, method: str) -> CalibrationTest:
    """By the variance that soft labels show."""
    if bound.law is None or method == "simulated":
        raise InputError(f"{'statistic' if bound.law is None else 'method'}: {SOFT}")
    points = resampling.base
    variance, labels = residual_variance(points), _shown(points)
    fields: dict[str, Any] = {"statistic": bound.name, "value": value, "n": points.n, "method": "asymptotic"}
    if variance == 0:
        return CalibrationTest(**fields, standardized=0.0, pvalue=1.0, log10_pvalue=0.0, reason=labels.reason)
    sigmas = [math.sqrt(each) / points.total for each in (variance, labels.lowest, labels.highest)]
    return _asymptotic(fields, bound.law, sigmas[0], labels.reason, resampling.sample, between=(sigmas[1], sigmas[2]))


def _soft_clusters(
    bound: BoundMetric,
    value: float,
    resampling: Resampling,
    resamples: int,
    seed: int,
    progress: Progress | None,
    drawn: Drawn | None,
) -> CalibrationTest:
    """Soft labels in clusters: these are flipped as they are."""
    if bound.law is None:
        raise InputError(f"statistic: {SOFT}")
    points = resampling.base
    variance = residual_variance(points)
    reason = f"{resampling.regime.reason}; {_shown(points).reason}"
    fields: dict[str, Any] = {"statistic": bound.name, "value": value, "n": points.n, "method": "simulated"}
    if variance == 0:
        return CalibrationTest(**fields, standardized=0.0, pvalue=1.0, log10_pvalue=0.0, reason=reason)
    if drawn is None:
        drawn = resampling.draw(seed, resamples, [Needs()], progress)[0]
    sigma = math.sqrt(variance) / points.total
    return _simulated(fields, bound, drawn, sigma, reason, seed, resampling.sample)


def _shown(points: Points) -> LabelNoise:
    """What soft labels show of their variance."""
    if points.labels is None:
        raise RuntimeError("soft labels without their variance")
    return points.labels


def residual_variance(points: Points, squares: Floats | None = None) -> float:
    """Σw²Var(y | f), no less than Σw²(y − f)²; `squares` stands for the latter."""
    own = float((points.squares if squares is None else squares).sum())
    if points.soft:
        return own + float(points.variance.sum()) - float(points.squares.sum())
    return max(own, float(points.binomial.sum()))
