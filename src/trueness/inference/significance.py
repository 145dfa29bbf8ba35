"""Could it be noise? Tests of calibration with p-values that are right in the tails and for few or rare events."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from trueness import brownian
from trueness._json import plain
from trueness._types import Floats
from trueness.data.points import check_frequencies, has_unit_weights
from trueness.data.sample import RowData, as_data
from trueness.errors import InputError
from trueness.inference.requests import Request
from trueness.inference.simulation import SOFT, Drawn, Progress, Resampling, Wanted, check_resamples, check_seed
from trueness.metrics.cumulative import ecce
from trueness.options import check_choice
from trueness.summary.summary import Summary

LAWS = {"ecce_mad": brownian.max_abs, "ecce_r": brownian.range}
_EACH_SIGN = 20  # residuals of either sign from which soft labels are trusted to show their own variance
_SMALLEST = 5e-324


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

    def __repr__(self) -> str:
        return f"{self.statistic} = {self.value:.4g}, p {self.shown} ({self.method}; {self.reason}), n = {self.n}"

    @property
    def shown(self) -> str:
        """The p-value in words: "= 0.03", or "≤ 0.0005" where no draw reached the value."""
        smallest = self.resamples is not None and self.pvalue <= 1 / (1 + self.resamples)
        return f"{'≤' if smallest else '='} {show_pvalue(self.pvalue, self.log10_pvalue)}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary; None where a number is not finite."""
        return {name: plain(value) for name, value in asdict(self).items()}


def show_pvalue(pvalue: float, log10_pvalue: float) -> str:
    """A p-value in two digits, from its logarithm where a float cannot hold it."""
    if 0 < pvalue < 1e-300:
        exponent = math.floor(log10_pvalue)
        return f"{10 ** (log10_pvalue - exponent):.1f}e{exponent}"
    return f"{pvalue:.2g}"


def calibration_test(
    y_true: Any,
    y_prob: Any = None,
    *,
    statistic: str = "ecce_r",
    options: Any = None,
    method: Literal["auto", "asymptotic", "simulated"] = "auto",
    resamples: int = 1999,
    rng: Any = None,
    sample_weight: Any = None,
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
        ``method``, ``reason``, ``n``, ``resamples`` and ``seed``.

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
    request = Request(statistic, options, what="statistic")
    check_choice("method", method, ("auto", "asymptotic", "simulated"))
    check_choice("weight_kind", weight_kind, ("importance", "frequency"))
    resamples, seed = check_resamples(resamples), check_seed(rng)
    data = as_data(y_true, y_prob, sample_weight)
    value = request.value(data)
    resampling = Resampling(data, [request], frequency=_frequency(data, weight_kind))
    return outcome_of(request, value, resampling, method, resamples, seed, progress)


def _frequency(data: RowData | Summary, weight_kind: str) -> bool:
    if weight_kind == "importance":
        return False
    if isinstance(data, RowData):
        check_frequencies(data)
        return True
    if not has_unit_weights(data):
        raise InputError(
            "weight_kind: a summary of weighted rows does not tell repeated rows from weights. "
            "Pass the rows, or summarize the repeated rows without weights."
        )
    return False


def outcome_of(
    request: Request,
    value: float,
    resampling: Resampling,
    method: str,
    resamples: int,
    seed: int,
    progress: Progress | None = None,
    drawn: Drawn | None = None,
) -> CalibrationTest:
    """The test of a value; `drawn` holds draws already made with this seed."""
    points = resampling.base
    if points.soft:
        return _soft(request, value, resampling, method)
    sigma = math.sqrt(float(points.binomial.sum())) / points.total
    simulated, reason = _choice(request, resampling, method)
    facts: dict[str, Any] = {"statistic": request.name, "value": value, "n": points.n}
    facts |= {"method": "simulated" if simulated else "asymptotic"}
    if times := _contradicted(resampling):
        exact = "0" if isinstance(resampling.data, RowData) else "0 (below 1e-15 in a summary)"
        reason = f"an event of predicted probability {exact} was observed, {times} times"
        return CalibrationTest(**facts, standardized=math.inf, pvalue=0.0, log10_pvalue=-math.inf, reason=reason)
    if sigma == 0:
        reason = "every prediction is 0 or 1 and none is contradicted"
        return CalibrationTest(**facts, standardized=0.0, pvalue=1.0, log10_pvalue=0.0, reason=reason)
    if not simulated:
        return _asymptotic(facts, sigma, reason, resampling.data)
    if drawn is None:
        drawn = resampling.draw(seed, resamples, Wanted(), progress=progress)[0]
    if isinstance(resampling.data, Summary) and resampling.data.extremes is not None and request.cumulative:
        value = facts["value"] = drawn.observed  # at the edges of cells, like the draws: p belongs to that
        reason = f"{reason}; value and p from the cells of the summary"
    pvalue = drawn.pvalue()
    spread = float(drawn.null.std())
    above = (drawn.observed - float(drawn.null.mean())) / spread if spread > 0 else math.nan
    return CalibrationTest(
        **facts,
        standardized=value / sigma if request.cumulative else above,
        pvalue=pvalue,
        log10_pvalue=math.log10(pvalue),
        reason=reason,
        resamples=len(drawn.null),
        seed=seed,
    )


def _choice(request: Request, resampling: Resampling, method: str) -> tuple[bool, str]:
    """Whether to simulate, and why."""
    if method == "asymptotic":
        if not request.cumulative:
            raise InputError(f'method: {request.name} has no limit law here. Pass method="simulated", or statistic="ecce_r".')
        return False, "as asked"
    if method == "simulated":
        return True, "as asked"
    if not request.cumulative:
        normal = (
            "; sums of weighted cells drawn as normal" if resampling.base.weighted and resampling.base.kind == "cells" else ""
        )
        return True, f"{request.name} has no limit law here{normal}"
    if resampling.base.weighted and resampling.base.kind == "cells":
        few = "" if resampling.regime.asymptotic else f", though {resampling.regime.reason}: p may be too small"
        return False, f"weighted rows cannot be drawn from cells{few}"
    return not resampling.regime.asymptotic, resampling.regime.reason


def _contradicted(resampling: Resampling) -> int:
    """How often something happened that was given probability 0; in a cell, where all scores are as good as 0 or 1."""
    if isinstance(resampling.data, RowData):
        rows = resampling.data.arrays
        return int(np.count_nonzero(((rows.f <= 0) & (rows.y > 0)) | ((rows.f >= 1) & (rows.y < 1))))
    points = resampling.base
    at = ((points.score <= 0) & (points.e > 0)) | ((points.score >= 1) & (points.e < 0))
    return int(np.ceil(np.abs(points.e[at]).sum()))


def _asymptotic(facts: dict[str, Any], sigma: float, reason: str, data: RowData | Summary) -> CalibrationTest:
    law, standardized = LAWS[facts["statistic"]], facts["value"] / sigma
    bounds = None
    if isinstance(data, Summary) and (bracket := ecce(data).bracket) is not None:
        low, high = bracket.mad if facts["statistic"] == "ecce_mad" else bracket.range
        bounds = (max(law.sf(high / sigma), _SMALLEST), max(law.sf(low / sigma), _SMALLEST))
    return CalibrationTest(
        **facts,
        standardized=standardized,
        pvalue=max(law.sf(standardized), _SMALLEST),
        log10_pvalue=law.logsf(standardized) / math.log(10),
        reason=reason,
        pvalue_bounds=bounds,
    )


def _soft(request: Request, value: float, resampling: Resampling, method: str) -> CalibrationTest:
    """Soft labels show their own variance, unless residuals of one sign are too few to show it."""
    if not request.cumulative or method == "simulated":
        raise InputError(f"{'method' if request.cumulative else 'statistic'}: {SOFT}")
    points = resampling.base
    variance, reason = residual_variance(resampling)
    facts: dict[str, Any] = {"statistic": request.name, "value": value, "n": points.n, "method": "asymptotic"}
    if variance == 0:
        return CalibrationTest(**facts, standardized=0.0, pvalue=1.0, log10_pvalue=0.0, reason=reason)
    return _asymptotic(facts, math.sqrt(variance) / points.total, reason, resampling.data)


def residual_variance(resampling: Resampling, squares: Floats | None = None) -> tuple[float, str]:
    """Σw²(y − f)² where that is enough to go by, else no less than Σw²f(1 − f); and which. `squares` stands for the points'."""
    points = resampling.base
    own, binomial = float((points.squares if squares is None else squares).sum()), float(points.binomial.sum())
    if not points.soft:
        return max(own, binomial), "the larger of residual and binomial variance"
    signs = residual_signs(resampling)
    at_least = "at least " if isinstance(resampling.data, Summary) else ""
    if min(signs) >= _EACH_SIGN:
        return own, f"soft labels: variance of their residuals ({at_least}{signs[0]} above, {signs[1]} below)"
    few = f"{at_least or 'only '}{signs[0]} above and {signs[1]} below"
    return max(own, binomial), f"soft labels: the larger of residual and binomial variance ({few})"


def residual_signs(resampling: Resampling) -> tuple[int, int]:
    """Residuals above and below 0, repeated rows as often as they count; from a summary at least so many.

    By Cauchy and Schwarz no fewer than (Σw·max(r, 0))²/Σw²r² residuals are above 0.
    """
    data = resampling.data
    if isinstance(data, Summary):
        m = data.moments
        above, squares = float(m.e_positive.sum()), float(resampling.base.squares.sum())
        below = above - float(m.e.sum())
        return (int(above**2 / squares), int(below**2 / squares)) if squares > 0 else (0, 0)
    rows = data.arrays
    count = rows.w if resampling.frequency and rows.w is not None else np.ones(len(rows.f))
    e = rows.y - rows.f
    return round(float(count[e > 0].sum())), round(float(count[e < 0].sum()))


def few_signs(resampling: Resampling) -> bool:
    """Whether residuals of one sign are too few to show their own variance."""
    return min(residual_signs(resampling)) < _EACH_SIGN
