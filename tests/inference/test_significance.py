"""calibration_test against its laws, against plain simulation and against all 2^n outcomes of a few rows (MATH 6)."""

import itertools
import json
import math

import brute
import nulls
import numpy as np
import pytest
from pairs import pairwise
from scipy import optimize, special, stats

import trueness
from trueness import TruenessError, brownian, calibration_test, summarize
from trueness.data.sample import as_sample
from trueness.inference.simulation import Needs, Resampling
from trueness.metrics.registry import bind

LAWS = {"ecce_mad": brownian.max_abs, "ecce_r": brownian.range}
FIELD = {"ecce_mad": "mad", "ecce_r": "range"}
ALL = (
    "ecce_r",
    "ecce_mad",
    "binned_ece",
    "soft_mean_ece",
    "smooth_ece",
    "smooth_ece_area",
    "logit_smoothed_ece",
    "weak_calibration_error",
    "brier_score",
    "log_loss",
)

SEVERAL = ("ecce_r", "binned_ece", "smooth_ece", "logit_smoothed_ece", "weak_calibration_error")  # one of every family


def rows(n, seed=0, shift=0.0):
    """Uniform scores, outcomes likelier than predicted by ``shift``."""
    rng = np.random.default_rng([n, seed])
    f = rng.random(n)
    return (rng.random(n) < f + shift).astype(int), f


def public(statistic, options=None, w=None):
    """A metric as a function of (y, f); binned ones from the brute twin, which is quicker here."""
    options = options or {}
    if statistic in ("binned_ece", "soft_mean_ece"):
        function = getattr(brute, statistic)
        return lambda y, f: function(y, f, w, **options)
    keywords = dict(options) if w is None else {"sample_weight": w, **options}
    return lambda y, f: getattr(trueness, statistic)(y, f, **keywords)


def simulated_share(metric, y, f, draws, seed=1):
    """Share of outcomes drawn as predicted whose metric reaches the observed one."""
    least = metric(y, f) * (1 - 1e-9)
    return np.mean([metric(each, f) >= least for each in nulls.outcomes(np.random.default_rng(seed), f, draws)])


def exact_share(metric, y, f):
    """P(T ≥ T_obs) over all 2^n outcomes; no value may lie so close below that rounding could decide."""
    least, reached = metric(y, f), []
    for outcome in itertools.product((0, 1), repeat=len(f)):
        value = metric(np.array(outcome), f)
        assert not least * (1 - 1e-5) < value < least * (1 - 1e-9), "data too close to a tie to be a test"
        if value >= least * (1 - 1e-9):
            reached.append(math.prod(p if one else 1 - p for one, p in zip(outcome, f.tolist(), strict=True)))
    return math.fsum(reached)


# ------------------------------------------------------------------------------------------------- asymptotic p


@pairwise("statistic, weighted, size", LAWS, (False, True), ((1000, 0.0), (5000, 0.02), (120_000, 0.001)))
def test_asymptotic_p_is_the_law_of_the_standardized_value(statistic, weighted, size):
    n, shift = size
    y, f = rows(n, shift=shift)
    w = np.random.default_rng(1).random(n) + 0.5 if weighted else None
    found = trueness.ecce(y, f, sample_weight=w)
    value = getattr(found, FIELD[statistic])
    result = calibration_test(y, f, statistic=statistic, sample_weight=w)
    assert (result.statistic, result.method, result.n) == (statistic, "asymptotic", n)
    assert result.value == pytest.approx(value, rel=1e-12)
    assert result.standardized == pytest.approx(value / found.sigma, rel=1e-9)
    assert result.pvalue == pytest.approx(LAWS[statistic].sf(value / found.sigma), rel=1e-7)
    assert result.log10_pvalue == pytest.approx(math.log10(result.pvalue), abs=1e-9)
    assert (result.resamples, result.seed) == (None, None)
    assert result.reason


def test_asymptotic_p_from_the_series_of_the_paper():
    """S_R(x) = 4 Σ (−1)^(k−1) k erfc(kx/√2) and S_M(x) = 2 Σ (−1)^k erfc((2k+1)x/√2), summed here."""
    y, f = rows(3000, seed=2, shift=0.03)
    sigma = math.sqrt(math.fsum(f * (1 - f))) / 3000
    (mad,), (spread,) = nulls.ecce((y - f)[None, :], f)
    x, z = spread / sigma, spread / sigma / math.sqrt(2)
    expected = 4 * math.fsum((-1) ** (k - 1) * k * math.erfc(k * z) for k in range(1, 40))
    assert 1.5 < x < 6
    assert calibration_test(y, f).pvalue == pytest.approx(expected, rel=1e-9)
    z = mad / sigma / math.sqrt(2)
    expected = 2 * math.fsum((-1) ** k * math.erfc((2 * k + 1) * z) for k in range(40))
    assert calibration_test(y, f, statistic="ecce_mad").pvalue == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("statistic", "factor"), [("ecce_mad", 2), ("ecce_r", 4)])
def test_an_enormous_effect_keeps_its_logarithm(statistic, factor):
    f = np.linspace(0.05, 0.15, 2000)
    result = calibration_test(np.ones(2000), f, statistic=statistic, method="asymptotic")
    x = (1 - f).mean() / (math.sqrt((f * (1 - f)).sum()) / 2000)
    assert x > 40
    assert result.standardized == pytest.approx(x, rel=1e-12)
    assert result.pvalue == 5e-324  # the least a float can say; 0.0 is kept for the impossible
    assert math.isfinite(result.log10_pvalue)
    first_term = (math.log(factor * special.erfcx(x / math.sqrt(2))) - x * x / 2) / math.log(10)
    assert result.log10_pvalue == pytest.approx(first_term, rel=1e-12)
    # With fewer than 200 events the law is too small by far: what happened has a probability of its own.
    assert first_term < math.fsum(np.log10(f)) < calibration_test(np.ones(2000), f, statistic=statistic).log10_pvalue < -1000


def test_log10_of_the_far_tail_is_continuous_with_p():
    """Where p is still a float, both say the same; they never cross."""
    f = np.linspace(0.3, 0.7, 1500)
    seen = []
    for ones in (900, 1000, 1100, 1200, 1300, 1400):
        y = np.zeros(1500)
        y[np.random.default_rng(0).permutation(1500)[:ones]] = 1
        result = calibration_test(y, f)
        seen.append((result.pvalue, result.log10_pvalue))
        if result.pvalue > 1e-300:
            assert math.log10(result.pvalue) == pytest.approx(result.log10_pvalue, rel=1e-12)
    assert seen == sorted(seen, reverse=True)


# ------------------------------------------------------------------------------------------------ which method


def scaled_to_variance(n, variance):
    """n distinct rare scores with Σf(1−f) as asked."""
    low, high = 0.0, 1.0
    shape = np.linspace(0.5, 1.0, n)
    for _ in range(100):
        middle = (low + high) / 2
        f = middle * shape
        low, high = (middle, high) if math.fsum(f * (1 - f)) < variance else (low, middle)
    return low * shape


@pytest.mark.parametrize(("variance", "method"), [(49.99, "simulated"), (50.01, "asymptotic")])
def test_rule_few_events(variance, method):
    f = scaled_to_variance(2000, variance)
    y = np.random.default_rng(0).random(2000) < f
    result = calibration_test(y, f, rng=0, resamples=99)
    assert result.method == method
    assert ("few events" in result.reason) == (method == "simulated")


@pytest.mark.parametrize(("target", "method"), [(49.9, "simulated"), (50.1, "asymptotic")])
def test_rule_few_events_by_weight(target, method):
    """V = (Σwf(1−f))²/Σw²f(1−f): some heavy rows bring it down to the limit, whatever the weights' scale."""
    y, f = rows(2000)
    v = f * (1 - f)
    low, high = 1.0, 1e6
    for _ in range(100):
        middle = math.sqrt(low * high)
        w = np.where(np.arange(2000) < 200, middle, 1.0)
        low, high = (middle, high) if (w * v).sum() ** 2 / (w * w * v).sum() > target else (low, middle)
    assert (w * v).sum() ** 2 / (w * w * v).sum() == pytest.approx(target, rel=1e-6)
    assert v.sum() > 300
    for scale in (1.0, 1e-6, 1e9):
        assert calibration_test(y, f, sample_weight=scale * w, rng=0, resamples=99).method == method


@pytest.mark.parametrize(("n", "method"), [(999, "simulated"), (1000, "asymptotic")])
def test_rule_few_rows(n, method):
    y, f = rows(n)
    result = calibration_test(y, f, rng=0, resamples=99)
    assert result.method == method
    assert ("few rows" in result.reason) == (method == "simulated")


def test_rule_few_rows_counts_rows_with_weight():
    y, f = rows(1000)
    w = np.ones(1000)
    assert calibration_test(y, f, sample_weight=w, rng=0).method == "asymptotic"
    w[17] = 0
    result = calibration_test(y, f, sample_weight=w, rng=0, resamples=99)
    assert (result.method, result.n) == ("simulated", 999)


def test_rule_few_rows_counts_repeats():
    y, f = rows(500)
    twice = calibration_test(y, f, sample_weight=np.full(500, 2), weight_kind="frequency", rng=0)
    assert (twice.method, twice.n) == ("asymptotic", 1000)


@pytest.mark.parametrize(("distinct", "method"), [(99, "simulated"), (100, "asymptotic")])
@pytest.mark.parametrize("source", ["rows", "summary"])
def test_rule_few_distinct_scores(distinct, method, source):
    """From a summary the cells with rows count; two scores here never share one."""
    f = np.linspace(0.05, 0.95, distinct)[np.arange(3000) % distinct]
    y = np.random.default_rng(0).random(3000) < f
    data = (y, f) if source == "rows" else (summarize(y, f),)
    result = calibration_test(*data, rng=0, resamples=99)
    assert result.method == method
    assert (str(distinct) in result.reason) or method == "asymptotic"


def many_events_of_few(size):
    """A thousand rows whose number of events has variance 52, and so many standard deviations more events than predicted."""
    f = np.sort(np.random.default_rng(1).beta(1, 17.5, 1000))
    y, spare = np.zeros(1000, dtype=int), math.fsum(f) + size * math.sqrt(math.fsum(f * (1 - f)))
    y[np.argsort(-f)[: round(spare)]] = 1
    return y, f


@pytest.mark.parametrize("statistic", LAWS)
def test_far_tails_of_few_events_allow_for_their_skewness(statistic):
    y, f = many_events_of_few(5)
    v = f * (1 - f)
    variance = math.fsum(v)
    assert 50 < variance < 60
    result = calibration_test(y, f, statistic=statistic)
    law, x = LAWS[statistic], result.standardized
    k = math.fsum(v * np.abs(1 - 2 * f)) / variance / math.sqrt(variance) / 6
    # x = u + k(u² − 1) on the side of many events, x = u − k(u² − 1), up to its turn at u = 1/2k, on that of few.
    many = optimize.brentq(lambda u: u + k * (u * u - 1) - x, 0, 40)
    few = optimize.brentq(lambda u: u - k * (u * u - 1) - x, 0, 1 / (2 * k))
    expected = (law.sf(many) + law.sf(few)) / 2
    assert law.sf(x) < result.pvalue < 1e-4
    assert result.pvalue == pytest.approx(expected, rel=1e-6)
    assert result.log10_pvalue == pytest.approx(math.log10(expected), rel=1e-6)
    assert calibration_test(y, f, statistic=statistic, method="asymptotic").pvalue == pytest.approx(law.sf(x), rel=1e-9)


@pytest.mark.parametrize("source", ["rows", "summary"])
def test_rule_scores_are_counted_by_their_variance(source):
    """Hundreds of scores, and nearly all variance on two of them: the law took 1.2 to 2 % where it says 5."""
    f = np.concatenate([np.repeat([0.3, 0.6], 1000), np.linspace(1e-4, 1e-3, 500)])
    y = np.random.default_rng(0).random(2500) < f
    result = calibration_test(*((y, f) if source == "rows" else (summarize(y, f),)), rng=0, resamples=99)
    assert result.method == "simulated"
    assert "few" in result.reason
    v = np.array([1000 * 0.3 * 0.7, 1000 * 0.6 * 0.4, *(np.linspace(1e-4, 1e-3, 500) * (1 - np.linspace(1e-4, 1e-3, 500)))])
    assert f"as good as {v.sum() ** 2 / (v**2).sum():.3g} of" in result.reason


def test_rule_few_distinct_cells_of_a_summary():
    """Thousands of scores in the 60 cells of [0.5, 0.5 + 60/2^14): from rows enough, from a summary too few."""
    f = 0.5 + np.random.default_rng(0).random(3000) * 58 / 2**14
    y = np.random.default_rng(1).random(3000) < f
    assert calibration_test(y, f, rng=0).method == "asymptotic"
    assert calibration_test(summarize(y, f), rng=0, resamples=99).method == "simulated"


@pytest.mark.parametrize("statistic", [name for name in ALL if name not in LAWS])
def test_other_statistics_are_simulated(statistic):
    y, f = rows(1200)
    result = calibration_test(y, f, statistic=statistic, rng=0, resamples=19)
    assert (result.method, result.resamples, result.seed) == ("simulated", 19, 0)
    assert statistic in result.reason
    with pytest.raises(TruenessError, match="method"):
        calibration_test(y, f, statistic=statistic, method="asymptotic")


@pytest.mark.parametrize("method", ["asymptotic", "simulated"])
def test_a_method_asked_for_is_used(method):
    for n in (60, 1500):
        y, f = rows(n)
        assert calibration_test(y, f, method=method, rng=0, resamples=99).method == method


def test_weighted_summaries_use_the_law():
    """Their rows cannot be drawn."""
    y, f = rows(300)
    w = np.random.default_rng(0).random(300) + 0.5
    cells = summarize(y, f, sample_weight=w)
    result = calibration_test(cells)
    assert result.method == "asymptotic"
    assert "weight" in result.reason
    sigma = math.sqrt(math.fsum(w * w * f * (1 - f))) / math.fsum(w)
    assert result.pvalue == pytest.approx(brownian.range.sf(trueness.ecce_r(cells) / sigma), rel=1e-9)


def test_many_weighted_rows_with_few_scores_are_drawn():
    """Nine scores, 100 001 rows: the rule asks for a simulation, and weighted rows can be drawn, whatever their number."""
    rng = np.random.default_rng(0)
    f = rng.integers(1, 10, size=100_001) / 10
    y, w = rng.random(len(f)) < f, rng.random(len(f)) + 0.5
    result = calibration_test(y, f, sample_weight=w, rng=0, resamples=99)
    assert result.method == "simulated"


def test_weights_of_mean_one_are_still_weights():
    rng = np.random.default_rng(5)
    w, f = np.tile([0.05, 1.95], 100), np.full(200, 0.3)
    y = (rng.random(200) < f).astype(int)
    assert "weighted" in calibration_test(summarize(y, f, sample_weight=w)).reason


def test_one_heavy_row_is_simulated():
    n = 5001
    f, w, y = 0.02 + np.linspace(-1e-4, 1e-4, n), np.ones(n), np.zeros(n, dtype=int)
    w[2500] = 60
    y[::50] = 1
    y[2500] = 1
    found = calibration_test(y, f, sample_weight=w, rng=0, resamples=199)
    assert found.method == "simulated"
    assert found.pvalue >= 0.004


# ------------------------------------------------------------------------------------------ simulated p: by hand

BINNED = [
    {},
    {"bins": 4},
    {"bins": 12, "strategy": "quantile"},
    {"norm": "l2"},
    {"norm": "max", "bins": 8},
    {"weighting": "width"},
    {"weighting": "width", "strategy": "quantile", "bins": 6},
    {"closed": "right", "bins": 10},
    {"norm": "l2", "debias": True, "bins": 6},
]
OTHERS = [
    ("ecce_r", {}),
    ("ecce_mad", {}),
    ("soft_mean_ece", {}),
    ("smooth_ece", {}),
    ("smooth_ece", {"bandwidth": 0.05}),
    ("smooth_ece", {"bandwidth": 0.002}),
    ("smooth_ece", {"scale": "logit"}),
    ("smooth_ece_area", {}),
    ("logit_smoothed_ece", {}),
    ("logit_smoothed_ece", {"bandwidth": 1.0}),
    ("logit_smoothed_ece", {"noise": "uniform"}),
    ("weak_calibration_error", {}),
    ("brier_score", {}),
    ("log_loss", {}),
]
SLOW = ("smooth_ece", "smooth_ece_area")


def mixed(n, seed):
    """Scores with and without ties, on bins' edges too; outcomes a little likelier than predicted."""
    rng = np.random.default_rng(seed)
    f = np.where(rng.random(n) < 0.3, rng.integers(1, 10, size=n) / 10, rng.beta(0.8, 1.1, n))
    return (rng.random(n) < np.clip(f + 0.05, 0, 1)).astype(int), f


@pytest.mark.full
@pytest.mark.parametrize(("statistic", "options"), [*OTHERS, *(("binned_ece", options) for options in BINNED)])
def test_simulated_p_against_plain_simulation(statistic, options):
    y, f = mixed(130, seed=3)
    metric = public(statistic, options)
    draws, resamples = (500, 699) if statistic in SLOW else (1200, 1999)
    expected = simulated_share(metric, y, f, draws)
    result = calibration_test(y, f, statistic=statistic, options=options, method="simulated", resamples=resamples, rng=5)
    assert result.value == pytest.approx(metric(y, f), rel=1e-7)
    assert result.log10_pvalue == pytest.approx(math.log10(result.pvalue), abs=1e-12)
    assert 0.005 < expected < 0.995  # else the comparison would say little
    assert nulls.same_share(result.pvalue, resamples, expected, draws)


@pytest.mark.full
@pytest.mark.parametrize(
    ("statistic", "options"),
    [("ecce_r", {}), ("ecce_mad", {}), ("binned_ece", {}), ("smooth_ece", {}), ("logit_smoothed_ece", {}), ("brier_score", {})],
)
def test_simulated_p_with_importance_weights(statistic, options):
    y, f = mixed(120, seed=4)
    w = np.random.default_rng(0).gamma(1.0, size=120) + 0.02
    draws = 600
    expected = simulated_share(public(statistic, options, w), y, f, draws)
    result = calibration_test(y, f, statistic=statistic, options=options, sample_weight=w, method="simulated", rng=5)
    assert 0.005 < expected < 0.995
    assert nulls.same_share(result.pvalue, 1999, expected, draws)


@pytest.mark.full
@pytest.mark.parametrize("statistic", SEVERAL)
def test_simulated_p_with_thousands_of_scores(statistic):
    rng = np.random.default_rng(6)
    f = rng.beta(0.6, 1.4, 4000)
    y = (rng.random(4000) < f**1.04).astype(int)
    draws = 2000
    e = np.concatenate([(y - f)[None, :], nulls.residuals(rng, f, draws)])
    if statistic == "weak_calibration_error":
        draws = 200
        values = np.array([trueness.weak_calibration_error(each + f > 0.5, f) for each in e[: draws + 1]])
    else:
        values = {
            "ecce_r": lambda: nulls.ecce(e, f)[1],
            "binned_ece": lambda: nulls.binned(e, f),
            "smooth_ece": lambda: nulls.smooth(e, f, finest=4e-3),
            "logit_smoothed_ece": lambda: nulls.logit_smoothed(e, f),
        }[statistic]()
    expected = np.mean(values[1:] >= values[0] * (1 - 1e-9))
    assert 0.005 < expected < 0.995
    result = calibration_test(y, f, statistic=statistic, method="simulated", rng=5)
    assert nulls.same_share(result.pvalue, 1999, expected, draws)


@pytest.mark.parametrize(
    ("statistic", "options"),
    [
        ("ecce_r", {}),
        ("ecce_mad", {}),
        ("binned_ece", {"bins": 3}),
        ("binned_ece", {"bins": 2, "strategy": "quantile", "norm": "l2"}),
        ("binned_ece", {"bins": 4, "norm": "max"}),
        ("weak_calibration_error", {}),
        ("brier_score", {}),
        ("log_loss", {}),
        ("smooth_ece", {"bandwidth": 0.1}),
        ("smooth_ece", {}),
        ("logit_smoothed_ece", {"bandwidth": 0.5}),
    ],
)
@pytest.mark.parametrize("y", [(0, 1, 1, 0, 1, 0, 1), (1, 0, 0, 1, 1, 1, 1), (0, 0, 0, 0, 1, 1, 1)])
def test_simulated_p_against_all_outcomes(statistic, options, y):
    """Seven rows, three of them with the same score: P(T ≥ T_obs) is a sum over 128 outcomes."""
    f = np.array([0.13, 0.21, 0.37, 0.37, 0.37, 0.64, 0.83])
    expected = exact_share(public(statistic, options), np.array(y), f)
    resamples = 9999 if statistic not in ("weak_calibration_error", "log_loss") else 2499
    p = calibration_test(y, f, statistic=statistic, options=options, method="simulated", resamples=resamples, rng=1).pvalue
    assert abs(p - expected) <= 4 * math.sqrt(expected * (1 - expected) / resamples) + 1 / (resamples + 1)


def test_outcomes_that_tie_where_a_curve_turns_flat():
    """SmoothECE of y = (1, 0, 0) and of (0, 1, 0) is their net error, .1533; one of the curves falls to it only just before."""
    f, y = np.array([0.69, 0.64, 0.13]), np.array([1, 0, 0])
    expected = exact_share(trueness.smooth_ece, y, f)
    p = calibration_test(y, f, statistic="smooth_ece", rng=1).pvalue
    assert expected == pytest.approx(1.0)
    assert p == pytest.approx(expected)


@pytest.mark.parametrize("seed", [2, 3])
def test_the_observed_logit_smoothed_ece_is_read_before_neighbours_are_put_together(seed):
    """Draws are made on groups, which would move what was observed by .3 to .9 %, and its p with it."""
    rng = np.random.default_rng(seed)
    f = np.clip(rng.beta(0.15, 0.15, 700), 1e-6, 1 - 1e-6)
    y = (rng.random(700) < f).astype(int)
    resampling = Resampling(as_sample(y, f), [bind("logit_smoothed_ece", None, what="statistic")])
    drawn = resampling.draw(1, 19, [Needs()])[0]
    assert len(drawn.points.score) < len(resampling.base.score)
    assert drawn.observed == pytest.approx(resampling.values[0], rel=0.0028)


@pytest.mark.parametrize("statistic", ["ecce_r", "ecce_mad", "binned_ece", "brier_score"])
def test_simulated_p_against_all_outcomes_with_weights(statistic):
    f = np.array([0.1, 0.25, 0.25, 0.4, 0.7, 0.7, 0.9, 0.95])
    w = np.array([1.0, 0.3, 2.7, 1.1, 0.2, 3.0, 0.6, 1.9])
    y = np.array([0, 1, 0, 1, 1, 0, 1, 1])
    expected = exact_share(public(statistic, {}, w), y, f)
    p = calibration_test(y, f, statistic=statistic, method="simulated", sample_weight=w, resamples=19_999, rng=2).pvalue
    assert 0.01 < expected < 0.99
    assert abs(p - expected) <= 4 * math.sqrt(expected * (1 - expected) / 19_999) + 1 / 20_000


@pytest.mark.parametrize(("y", "expected"), [(0, 1.0), (1, 0.3)])
def test_a_single_row(y, expected):
    """T = |y − 0.3|: 0.3 is always reached, 0.7 three times in ten."""
    for statistic in ("ecce_r", "ecce_mad", "binned_ece", "smooth_ece", "brier_score", "log_loss"):
        result = calibration_test([y], [0.3], statistic=statistic, resamples=4999, rng=0)
        assert (result.n, result.method) == (1, "simulated")
        assert abs(result.pvalue - expected) <= 4 * math.sqrt(0.21 / 4999)


# ---------------------------------------------------------------------------------------------- order of the rows


@pytest.mark.parametrize("statistic", ALL)
@pytest.mark.parametrize("n", [300, 3000])
def test_a_constant_prediction_that_is_right(statistic, n):
    """30 % ones at 0.3: nothing is off, in whatever order the rows come."""
    y, f = np.repeat([1, 0], [3 * n // 10, 7 * n // 10]), np.full(n, 0.3)
    orders = [np.arange(n), np.arange(n)[::-1], np.random.default_rng(0).permutation(n)]
    found = {calibration_test(y[o], f, statistic=statistic, rng=0, resamples=99).pvalue for o in orders}
    assert len(found) == 1
    assert found.pop() > 0.05


@pairwise("statistic, weighted, ties", SEVERAL, (False, True), (False, True))
def test_the_order_of_rows_does_not_matter(statistic, weighted, ties):
    y, f = rows(200, seed=8)
    f = np.ceil(f * 8) / 9 if ties else f
    w = np.random.default_rng(9).random(200) + 0.2 if weighted else None
    expected = calibration_test(y, f, statistic=statistic, sample_weight=w, rng=0, resamples=499)
    for seed in range(3):
        o = np.random.default_rng(seed).permutation(200)
        weights = None if w is None else w[o]
        shuffled = calibration_test(y[o], f[o], statistic=statistic, sample_weight=weights, rng=0, resamples=499)
        assert shuffled.pvalue == expected.pvalue
        assert shuffled.value == pytest.approx(expected.value, rel=1e-12)


def test_weighted_ties_in_any_order():
    rng = np.random.default_rng(8)
    f = rng.integers(0, 10, 300) / 10 + 0.05
    y, w, order = (rng.random(300) < f).astype(int), rng.random(300), rng.permutation(300)
    results = [calibration_test(y[o], f[o], sample_weight=w[o], rng=1).pvalue for o in (slice(None), order)]
    assert results[0] == results[1]


# ------------------------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("statistic", ["ecce_r", "ecce_mad", "binned_ece", "smooth_ece", "brier_score"])
@pytest.mark.parametrize("n", [150, 1500])
def test_the_scale_of_weights_does_not_matter(statistic, n):
    y, f = rows(n, seed=3)
    w = np.random.default_rng(1).gamma(2.0, size=n)
    expected = calibration_test(y, f, statistic=statistic, sample_weight=w, rng=0, resamples=499)
    for scale in (3.0, 1e-3, 1e6, 1e-290, 1e290):
        scaled = calibration_test(y, f, statistic=statistic, sample_weight=scale * w, rng=0, resamples=499)
        assert scaled.method == expected.method
        assert scaled.pvalue == pytest.approx(expected.pvalue, rel=1e-9)
        assert scaled.standardized == pytest.approx(expected.standardized, rel=1e-9)


@pytest.mark.parametrize("statistic", ["ecce_r", "ecce_mad", "binned_ece", "smooth_ece", "brier_score", "log_loss"])
@pytest.mark.parametrize("n", [120, 700])
def test_frequencies_are_repeated_rows(statistic, n):
    y, f = mixed(n, seed=11)
    w = np.random.default_rng(1).integers(0, 5, size=n)
    keywords = {"statistic": statistic, "rng": 0, "resamples": 1999}
    counted = calibration_test(y, f, sample_weight=w, weight_kind="frequency", **keywords)
    repeated = calibration_test(np.repeat(y, w), np.repeat(f, w), **keywords)
    assert (counted.n, counted.method) == (repeated.n, repeated.method) == (w.sum(), repeated.method)
    assert counted.value == pytest.approx(repeated.value, rel=1e-9)
    if counted.method == "asymptotic":
        assert counted.pvalue == pytest.approx(repeated.pvalue, rel=1e-9)
    assert nulls.same_share(counted.pvalue, 1999, repeated.pvalue, 1999)
    importance = calibration_test(y, f, sample_weight=w, **keywords)
    assert importance.n == (w > 0).sum()


def test_frequencies_of_soft_labels_are_repeated_rows():
    """35 residuals above and 35 below, each counted twice, are 70 and 70: enough to show their own variance."""
    f = np.linspace(0.1, 0.9, 70)
    y = f + np.where(np.arange(70) % 2 == 0, 0.05, -0.04)
    counted = calibration_test(y, f, sample_weight=np.full(70, 2), weight_kind="frequency")
    repeated = calibration_test(np.repeat(y, 2), np.repeat(f, 2))
    assert counted.n == repeated.n == 140
    assert counted.reason == repeated.reason == "soft labels: variance of their residuals, of either sign as good as 70 or more"
    assert counted.standardized == pytest.approx(repeated.standardized, rel=1e-9)
    assert counted.pvalue == pytest.approx(repeated.pvalue, rel=1e-9)


def test_certain_and_wrong_rows_count_as_often_as_they_are_repeated():
    y, f, w = np.array([1, 0, 1, 0, 1]), np.array([0.0, 1.0, 0.5, 0.5, 0.25]), np.array([3, 2, 4, 1, 5])
    counted = calibration_test(y, f, sample_weight=w, weight_kind="frequency", rng=0)
    repeated = calibration_test(np.repeat(y, w), np.repeat(f, w), rng=0)
    assert (counted.contradictions, counted.reason) == (repeated.contradictions, repeated.reason) == (5, counted.reason)
    assert calibration_test(y, f, sample_weight=w, rng=0).contradictions == 2  # weights that count no rows


def test_repeated_soft_rows_count_as_often_as_they_are_repeated():
    rng = np.random.default_rng(7)
    f = rng.random(24)
    y = np.clip(f + rng.normal(0.05, 0.1, 24), 0.01, 0.99)
    a = calibration_test(y, f, sample_weight=np.full(24, 5), weight_kind="frequency")
    b = calibration_test(np.repeat(y, 5), np.repeat(f, 5))
    assert a.reason == b.reason
    assert a.pvalue == pytest.approx(b.pvalue, rel=1e-9)


def test_frequencies_are_whole_numbers():
    y, f = rows(50)
    with pytest.raises(TruenessError, match=r"sample_weight: 1\.5 .*weight_kind"):
        calibration_test(y, f, sample_weight=np.full(50, 1.5), weight_kind="frequency")
    weighted = summarize(y, f, sample_weight=np.full(50, 2.0))
    with pytest.raises(TruenessError, match="weight_kind"):
        calibration_test(weighted, weight_kind="frequency")
    plain = calibration_test(summarize(y, f), weight_kind="frequency", rng=0)
    assert plain == calibration_test(summarize(y, f), rng=0)


@pytest.mark.parametrize("kind", ["importance", "frequency"])
@pytest.mark.parametrize("statistic", ["ecce_r", "binned_ece", "smooth_ece"])
def test_a_zero_weight_is_absence(kind, statistic):
    y, f = rows(400, seed=5)
    w = np.random.default_rng(2).integers(0, 3, size=400)
    kept = w > 0
    keywords = {"statistic": statistic, "weight_kind": kind, "rng": 0, "resamples": 499}
    with_zeros = calibration_test(y, f, sample_weight=w, **keywords)
    assert with_zeros == calibration_test(y[kept], f[kept], sample_weight=w[kept], **keywords)


def test_weights_that_vanish_beside_others():
    w = np.array([1e300] * 5 + [1e-300] * 5)
    f = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1, 1, 1])
    some = calibration_test(y, f, sample_weight=w, statistic="binned_ece", rng=0)
    alone = calibration_test(y[:5], f[:5], statistic="binned_ece", sample_weight=np.ones(5), rng=0)
    assert some.pvalue == alone.pvalue
    for statistic in ("log_loss", "weak_calibration_error", "smooth_ece"):
        assert 0 < calibration_test(y, f, sample_weight=w, statistic=statistic, rng=0, resamples=99).pvalue <= 1


def test_an_impossible_event_of_zero_weight_did_not_happen():
    y, f = rows(50)
    y, f = np.append(y, 1), np.append(f, 0.0)
    assert calibration_test(y, f, sample_weight=np.append(np.ones(50), 0), rng=0).pvalue > 0
    assert calibration_test(y, f, rng=0).pvalue == 0


# --------------------------------------------------------------------------------------------------- soft labels


def soft(above, below, size=0.03):
    """Soft labels with so many residuals above 0 and below, of unlike sizes."""
    n = above + below
    f = np.linspace(0.2, 0.8, n)
    sign = np.where(np.random.default_rng(0).permutation(n) < above, 1.0, -1.0)
    return f + sign * size * np.linspace(0.5, 1.5, n), f


SIGNS = ((90, 90), (300, 90), (90, 400), (700, 700), (50, 90), (90, 50), (0, 50), (50, 900))  # residuals above 0, below


@pairwise("statistic, weighted, signs", LAWS, (False, True), SIGNS)
def test_soft_labels_show_their_own_variance(statistic, weighted, signs):
    above, below = signs
    y, f = soft(above, below)
    w = np.random.default_rng(1).random(len(f)) + 0.5 if weighted else np.ones(len(f))
    variance, enough = nulls.label_variance(y, f, w)
    assert enough == (min(above, below) >= 90)
    sigma = math.sqrt(variance) / math.fsum(w)
    value = nulls.ecce((w * (y - f))[None, :], f, w)[int(statistic == "ecce_r")][0]
    result = calibration_test(y, f, statistic=statistic, sample_weight=w if weighted else None)
    assert (result.method, result.n) == ("asymptotic", len(f))
    assert result.value == pytest.approx(value, rel=1e-12)
    assert result.standardized == pytest.approx(value / sigma, rel=1e-9)
    assert result.log10_pvalue == pytest.approx(LAWS[statistic].logsf(value / sigma) / math.log(10), rel=1e-9)
    assert "soft" in result.reason
    assert ("larger" in result.reason) != enough


def test_the_larger_variance_is_that_of_the_residuals_where_they_are_larger():
    f = np.array([0.01, 0.02, 0.03, 0.04])
    y = np.array([0.9, 0.8, 0.7, 0.6])
    sigma = math.sqrt(math.fsum((y - f) ** 2)) / 4
    assert sigma > math.sqrt(max(math.fsum(f * (1 - f) - y * (1 - y)), 0.0)) / 4
    result = calibration_test(y, f)
    assert result.standardized == pytest.approx(trueness.ecce_r(y, f) / sigma, rel=1e-12)


def events_among_labels(n, seed, share=0.5):
    """Calibrated: so many events of about 1 %, the rest labels within a tenth of their predictions."""
    rng = np.random.default_rng([n, seed])
    f, hard = rng.random(n), rng.random(n) < share
    f[hard] = rng.beta(2, 200, hard.sum())
    soft = f + np.minimum(np.minimum(f, 1 - f), 0.1) * rng.uniform(-1, 1, n)
    return np.where(hard, rng.random(n) < f, soft), f


@pytest.mark.parametrize("weighted", [False, True])
def test_labels_of_0_and_1_among_soft_ones_count_as_events(weighted):
    y, f = events_among_labels(400, 3)
    w = np.random.default_rng(1).random(400) + 0.5 if weighted else None
    variance, _ = nulls.label_variance(y, f, w)
    result = calibration_test(y, f, sample_weight=w)
    sigma = math.sqrt(variance) / (400 if w is None else math.fsum(w))
    assert result.standardized == pytest.approx(trueness.ecce_r(y, f, sample_weight=w) / sigma, rel=1e-9)
    assert "labels of 0 and 1 count as events" in result.reason


def test_shares_of_few_votes_are_no_events():
    """A third of all rows are unanimous, and rightly so."""
    rng = np.random.default_rng(0)
    f = rng.random(2000)
    y = rng.binomial(5, f) / 5
    result = calibration_test(y, f)
    assert result.standardized == pytest.approx(trueness.ecce_r(y, f) / (math.sqrt(math.fsum((y - f) ** 2)) / 2000), rel=1e-9)
    assert "events" not in result.reason


def test_rare_events_among_soft_labels_are_no_evidence():
    """A tenth or more of calibrated samples were rejected while the soft labels' variance stood for the events'."""
    rejected = sum(calibration_test(*events_among_labels(200, seed)).pvalue <= 0.05 for seed in range(200))
    assert rejected <= stats.binom.ppf(0.999, 200, 0.05)


@pytest.mark.parametrize("seed", range(3))
def test_a_summary_of_mixed_labels_bounds_the_p_value_of_its_rows(seed):
    """Cells of several rows do not tell events from soft labels."""
    y, f = events_among_labels(3000, seed)
    f = np.round(f, 2)  # many rows a cell, some of both kinds
    w = None if seed else np.random.default_rng(2).lognormal(size=3000)
    low, high = calibration_test(summarize(y, f, sample_weight=w)).pvalue_bounds
    assert low <= calibration_test(y, f, sample_weight=w).pvalue <= high


def test_a_summary_of_rows_in_cells_of_their_own_knows_what_rows_know():
    y, f = events_among_labels(300, 0)
    _, alone = np.unique(np.floor(f * 2**14), return_index=True)
    y, f = y[alone], f[alone]
    from_rows, from_cells = calibration_test(y, f), calibration_test(summarize(y, f))
    assert from_cells.standardized == pytest.approx(from_rows.standardized, rel=1e-9)
    assert from_cells.reason == from_rows.reason


def test_one_label_between_0_and_1_makes_all_soft():
    y, f = rows(2000)
    y = y.astype(float)
    y[1000] = 0.5
    result = calibration_test(y, f)
    assert "soft" in result.reason
    sigma = math.sqrt(nulls.label_variance(y, f)[0]) / 2000
    assert result.standardized == pytest.approx(trueness.ecce_r(y, f) / sigma, rel=1e-12)


def test_a_soft_summary():
    """Which rows of a cell are events is not in a summary: the larger of two estimates, and the reason says so."""
    y, f = (np.repeat(each, 2) for each in soft(300, 300))
    result, from_rows = calibration_test(summarize(y, f)), calibration_test(y, f)
    assert result.method == "asymptotic"
    assert "some may be events" in result.reason
    assert result.pvalue >= from_rows.pvalue
    assert result.pvalue_bounds[0] <= from_rows.pvalue <= result.pvalue_bounds[1]


def test_soft_labels_are_not_drawn():
    y, f = soft(30, 30)
    for keywords in ({"method": "simulated"}, *({"statistic": name} for name in ALL if name not in LAWS)):
        for data in ((y, f), (summarize(y, f),)):
            if data[1:] or keywords.get("statistic") not in ("log_loss", "weak_calibration_error"):
                with pytest.raises(TruenessError, match=r"soft labels .*not events"):
                    calibration_test(*data, **keywords)


def test_soft_labels_that_match_exactly():
    f = np.random.default_rng(0).random(500)
    for data in ((f, f), (summarize(f, f),)):
        result = calibration_test(*data)
        assert (result.value, result.standardized, result.pvalue, result.log10_pvalue) == (0.0, 0.0, 1.0, 0.0)


# -------------------------------------------------------------------------------------------------- degenerate data


SOURCES = {  # data and weights as arguments
    "rows": lambda y, f: (y, f, None),
    "summary": lambda y, f: (summarize(y, f), None, None),
    "weights": lambda y, f: (y, f, np.full(len(f), 2.5)),
}
CERTAINTIES = {"zeros": np.zeros(40), "ones": np.ones(40), "both": np.repeat([0.0, 1.0], 600), "one row": np.array([1.0])}


def needs_rows(statistic, source):
    return source == "summary" and statistic in ("log_loss", "weak_calibration_error")


@pairwise("statistic, kind, source", ALL, CERTAINTIES, SOURCES, unless=lambda s, _, source: needs_rows(s, source))
def test_certain_and_right(statistic, kind, source):
    f = CERTAINTIES[kind]
    y_true, y_prob, w = SOURCES[source](f, f)
    result = calibration_test(y_true, y_prob, statistic=statistic, sample_weight=w, rng=0, resamples=19)
    assert (result.pvalue, result.log10_pvalue) == (1.0, 0.0)
    assert result.reason


@pairwise(
    "statistic, others, source, event",
    ALL,
    ("none", "certain", "ordinary", "many"),
    SOURCES,
    ((0.0, 1), (1.0, 0)),
    unless=lambda s, others, source, _: needs_rows(s, source) or (others == "many" and s not in LAWS),
)
def test_the_impossible_happened(statistic, others, source, event):
    y, f = {
        "none": (np.zeros(0), np.zeros(0)),
        "certain": (np.repeat([0, 1], 20), np.repeat([0.0, 1.0], 20)),
        "ordinary": rows(60),
        "many": rows(1500),
    }[others]
    impossible, outcome = event
    y_true, y_prob, w = SOURCES[source](np.append(y, outcome), np.append(f, impossible))
    result = calibration_test(y_true, y_prob, statistic=statistic, sample_weight=w, rng=0, resamples=19)
    assert (result.pvalue, result.log10_pvalue) == (0.0, -math.inf)
    assert "probability 0" in result.reason
    assert repr(result)


def test_an_impossible_event_is_seen_among_many_rows():
    rng = np.random.default_rng(6)
    f = np.concatenate([[0.0], np.full(50_001, 1e-7), np.linspace(0.1, 0.9, 50_000)])
    y = (rng.random(len(f)) < f).astype(int)
    y[0] = 1
    found = calibration_test(y, f)
    assert (found.pvalue, found.log10_pvalue) == (0.0, -math.inf)
    assert found.reason.endswith("observed, 1 time")
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["log10_pvalue"] is None
    y[0], f[0] = 1, 1e-17
    assert calibration_test(y, f).pvalue > 0


@pytest.mark.parametrize("statistic", ALL)
def test_one_class_and_constant_predictions(statistic):
    f = np.random.default_rng(0).random(40) * 0.05
    for y in (np.zeros(40), np.ones(40)):
        for scores in (f, np.full(40, 0.02)):
            result = calibration_test(y, scores, statistic=statistic, rng=0, resamples=99)
            assert 0 < result.pvalue <= 1
            assert math.isfinite(result.standardized)
    assert calibration_test(np.ones(40), f, statistic=statistic, rng=0, resamples=99).pvalue == 0.01
    assert calibration_test(np.zeros(40), f, statistic=statistic, rng=0, resamples=99).pvalue > 0.05


def test_a_single_draw_has_no_spread_to_stand_for_a_unit():
    assert math.isnan(calibration_test([0, 1], [1e-12, 0.5], statistic="brier_score", resamples=1, rng=0).standardized)


def test_scores_at_the_ends_among_others():
    """Rows predicted 0 or 1 and right carry no evidence, but are rows."""
    y, f = rows(1200)
    certain = np.repeat([0.0, 1.0], 400)
    for statistic in ("ecce_r", "ecce_mad"):
        result = calibration_test(np.concatenate([y, certain]), np.concatenate([f, certain]), statistic=statistic)
        assert result.pvalue == pytest.approx(calibration_test(y, f, statistic=statistic).pvalue, rel=1e-9)


# ----------------------------------------------------------------------------------------------------- summaries


@pytest.mark.parametrize("statistic", ["ecce_r", "ecce_mad", "binned_ece", "smooth_ece", "logit_smoothed_ece", "brier_score"])
@pytest.mark.parametrize("n", [300, 3000])
def test_a_summary_is_the_sum_of_its_parts(statistic, n):
    y, f = rows(n, seed=1)
    whole = calibration_test(summarize(y, f), statistic=statistic, rng=0, resamples=299)
    third = n // 3
    parts = summarize(y[:third], f[:third]) + summarize(y[third:], f[third:])
    assert calibration_test(parts, statistic=statistic, rng=0, resamples=299) == whole
    assert whole.n == n
    from_rows = calibration_test(y, f, statistic=statistic, rng=0, resamples=1999)
    assert whole.method == from_rows.method
    assert nulls.same_share(whole.pvalue, 299, from_rows.pvalue, 1999)


@pytest.mark.parametrize("statistic", LAWS)
def test_asymptotic_p_of_a_summary_reads_c_at_its_edges(statistic):
    y, f = rows(4000, seed=3, shift=0.02)
    cells = summarize(y, f)
    sigma = math.sqrt(math.fsum(f * (1 - f))) / 4000
    value = getattr(trueness, statistic)(cells)
    result = calibration_test(cells, statistic=statistic)
    assert (result.method, result.value) == ("asymptotic", value)
    assert result.pvalue == pytest.approx(LAWS[statistic].sf(value / sigma), rel=1e-9)
    assert result.pvalue >= calibration_test(y, f, statistic=statistic).pvalue


@pytest.mark.parametrize(
    ("statistic", "options"),
    [
        ("binned_ece", {}),
        ("binned_ece", {"norm": "max", "bins": 20}),
        ("soft_mean_ece", {}),
        ("smooth_ece", {}),
        ("smooth_ece_area", {}),
        ("logit_smoothed_ece", {}),
        ("brier_score", {}),
        ("ecce_r", {}),
        ("ecce_mad", {}),
    ],
)
def test_many_rows_and_their_merged_summary_give_the_same_p(statistic, options):
    y, f = rows(100_500, seed=4)
    resamples = 19 if statistic == "smooth_ece_area" else 199
    keywords = {"statistic": statistic, "options": options, "method": "simulated", "rng": 7, "resamples": resamples}
    merged = sum(summarize(part, scores) for part, scores in zip(np.split(y, 3), np.split(f, 3), strict=True))
    from_rows, from_cells = calibration_test(y, f, **keywords), calibration_test(merged, **keywords)
    assert from_rows.pvalue == from_cells.pvalue
    assert (from_rows.method, from_rows.seed) == (from_cells.method, from_cells.seed) == ("simulated", 7)


def test_many_rows_with_bins_of_their_own():
    y, f = rows(100_500, seed=4)
    keywords = {"statistic": "binned_ece", "options": {"bins": 37}, "rng": 7, "resamples": 199}
    halves = summarize(y[:50_000], f[:50_000], bins=(37,)) + summarize(y[50_000:], f[50_000:], bins=(37,))
    assert calibration_test(y, f, **keywords).pvalue == calibration_test(halves, **keywords).pvalue
    with pytest.raises(TruenessError, match="37"):
        calibration_test(summarize(y, f), **keywords)


def few_events():
    """100 500 rows with V = 45: the rule asks for a simulation."""
    rng = np.random.default_rng(0)
    f = rng.random(100_500) * 9e-4
    return rng, rng.random(len(f)) < f, f


def test_many_rows_with_few_events():
    """Cell sums are held against cell sums."""
    _, y, f = few_events()
    merged = summarize(y[:40_000], f[:40_000]) + summarize(y[40_000:], f[40_000:])
    from_rows, from_cells = calibration_test(y, f, rng=1), calibration_test(merged, rng=1)
    assert from_rows.method == from_cells.method == "simulated"
    assert from_rows.pvalue == from_cells.pvalue


@pytest.mark.full
def test_many_rows_with_few_events_against_plain_simulation():
    rng, y, f = few_events()
    e = nulls.residuals(rng, f, 200)
    expected = np.mean(nulls.ecce(e, f)[1] >= trueness.ecce_r(y, f))
    assert nulls.same_share(calibration_test(y, f, rng=1).pvalue, 1999, expected, 200)


def test_statistics_that_need_rows_say_so():
    cells = summarize(*rows(100))
    for statistic, options in [
        ("log_loss", None),
        ("weak_calibration_error", None),
        ("binned_ece", {"strategy": "quantile"}),
        ("binned_ece", {"closed": "right"}),
    ]:
        with pytest.raises(TruenessError, match="rows"):
            calibration_test(cells, statistic=statistic, options=options)


# ------------------------------------------------------------------------------------------- arguments and results


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"statistic": "nonsense"}, "statistic: 'nonsense'"),
        ({"statistic": None}, "statistic"),
        ({"statistic": ["ecce_r"]}, "statistic"),
        ({"statistic": "decompose"}, "statistic: decompose"),
        ({"statistic": "distance_to_calibration"}, "statistic"),
        ({"options": {"bins": 5}}, "options: ecce_r has no option 'bins'"),
        ({"statistic": "binned_ece", "options": {"bin": 5}}, "options: binned_ece has no option 'bin'"),
        ({"statistic": "binned_ece", "options": {"sample_weight": [1]}}, "options"),
        ({"statistic": "binned_ece", "options": {"bins": 0}}, "bins"),
        ({"statistic": "binned_ece", "options": {"norm": "l3"}}, "norm"),
        ({"options": [("bins", 5)]}, "options: .* not a mapping"),
        ({"options": "bins"}, "options"),
        ({"statistic": "logit_smoothed_ece", "options": {"method": "monte-carlo"}}, "options"),
        ({"method": "bootstrap"}, "method: 'bootstrap'"),
        ({"method": None}, "method"),
        ({"weight_kind": "both"}, "weight_kind: 'both'"),
        ({"resamples": 0}, "resamples: 0"),
        ({"resamples": -5}, "resamples: -5"),
        ({"resamples": True}, "resamples: True"),
        ({"resamples": 99.0}, "resamples"),
        ({"resamples": None}, "resamples"),
        ({"rng": -1}, "rng: -1"),
        ({"rng": True}, "rng: True"),
        ({"rng": 0.5}, "rng"),
        ({"rng": "0"}, "rng"),
        ({"sample_weight": [1.0]}, "sample_weight"),
        ({"sample_weight": np.full(20, -1.0)}, "sample_weight"),
    ],
)
def test_bad_arguments_are_named(keywords, message):
    y, f = rows(20)
    with pytest.raises(TruenessError, match=message):
        calibration_test(y, f, **keywords)


def test_bad_data():
    y, f = rows(20)
    with pytest.raises(TruenessError, match="y_prob is missing"):
        calibration_test(y)
    with pytest.raises(TruenessError, match="y_prob"):
        calibration_test(summarize(y, f), f)
    with pytest.raises(TruenessError, match="no rows"):
        calibration_test([], [])
    with pytest.raises(TruenessError, match="20"):
        calibration_test(y, f[:-1])
    f[3] = np.nan
    with pytest.raises(TruenessError, match=r"1 of 20 .*row 3"):
        calibration_test(y, f)
    with pytest.raises(TypeError):
        calibration_test(y, f, alpha=0.05)


@pytest.mark.parametrize("statistic", ["ecce_r", "binned_ece", "smooth_ece", "log_loss"])
def test_the_seed_gives_the_result_again(statistic):
    y, f = rows(150, seed=2)
    for rng in (None, 12, np.int64(12), np.random.default_rng(3)):
        result = calibration_test(y, f, statistic=statistic, rng=rng, resamples=299)
        assert isinstance(result.seed, int)
        assert result.seed >= 0
        assert calibration_test(y, f, statistic=statistic, rng=result.seed, resamples=299) == result
    assert calibration_test(y, f, rng=12).seed == 12
    first, second = (calibration_test(y, f, rng=np.random.default_rng(3)) for _ in range(2))
    assert first == second
    assert calibration_test(y, f, rng=None).seed != calibration_test(y, f, rng=None).seed


def test_a_generator_moves_on():
    y, f = rows(150, seed=2)
    generator = np.random.default_rng(3)
    assert calibration_test(y, f, rng=generator).seed != calibration_test(y, f, rng=generator).seed


def test_the_global_state_is_left_alone():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    calibration_test(*rows(100))
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("resamples", [1, 9, 199])
def test_p_counts_the_observed_outcome_among_the_draws(resamples):
    """p = (1 + b)/(1 + resamples): never below 1/(1 + resamples), and a whole number of those."""
    y, f = rows(100, shift=0.4)
    result = calibration_test(y, f, resamples=resamples, rng=0)
    assert result.pvalue == 1 / (resamples + 1)
    assert result.resamples == resamples
    fair = calibration_test(*rows(100), resamples=resamples, rng=0).pvalue * (resamples + 1)
    assert fair == pytest.approx(round(fair), abs=1e-9)


def test_results_can_be_kept_and_shown():
    y, f = rows(100)
    result = calibration_test(y, f, rng=0, resamples=99)
    kept = json.loads(json.dumps(result.to_dict()))
    fields = ("statistic", "value", "standardized", "pvalue", "log10_pvalue", "method", "reason", "n", "resamples", "seed")
    assert tuple(kept) == (*fields, "pvalue_bounds")
    assert kept["n"] == 100
    with pytest.raises(AttributeError):
        result.pvalue = 0.5
    text = repr(result)
    assert "\n" not in text
    for part in ("ecce_r", "p = ", "simulated", "n = 100"):
        assert part in text
    assert "calibrated" not in text  # a large p does not show that
    tiny = calibration_test(np.ones(2000), np.linspace(0.05, 0.15, 2000))
    assert f"e{math.floor(tiny.log10_pvalue)}" in repr(tiny)


def test_inputs_are_left_as_they_were():
    y, f = rows(100)
    w = np.ones(100)
    for array in (y, f, w):
        array.flags.writeable = False
    for statistic in ("ecce_r", "binned_ece", "smooth_ece"):
        calibration_test(y, f, statistic=statistic, sample_weight=w, rng=0, resamples=19)


@pytest.mark.parametrize("statistic", ["ecce_r", "smooth_ece"])
def test_progress_is_monotone_and_complete(statistic):
    calls = []
    calibration_test(*rows(900), statistic=statistic, rng=0, resamples=900, progress=lambda *call: calls.append(call))
    done, total = zip(*calls, strict=True)
    assert set(total) == {900}
    assert list(done) == sorted(done)
    assert done[-1] == 900


@pytest.mark.parametrize("statistic", ["ecce_mad", "ecce_r"])
@pytest.mark.parametrize("soft", [False, True])
def test_a_bare_summary_gives_bounds_for_the_p_value(statistic, soft):
    rng = np.random.default_rng(11)
    f = rng.random(40_000)
    y = np.clip(f + rng.normal(0, 0.2, 40_000), 0, 1) if soft else (rng.random(40_000) < f).astype(float)
    exact = calibration_test(y, f, statistic=statistic, method="asymptotic")
    found = calibration_test(summarize(y, f), statistic=statistic, method="asymptotic")
    low, high = found.pvalue_bounds
    assert low <= exact.pvalue <= high
    assert low <= found.pvalue <= high
    assert exact.pvalue_bounds is None
    assert found.to_dict()["pvalue_bounds"] == [low, high]
