"""differences of predictors on the same rows (MATH 11, 20): paired limits, p-values dual to them, and Holm's adjustment."""

import itertools
import json
import math

import numpy as np
import pytest
from pairs import pairwise
from scipy import special, stats

import trueness
from trueness import TruenessError, compare, confidence_interval
from trueness.data.pair import cells_of, pair_of
from trueness.data.sample import row_sample
from trueness.inference.differences import _Errors
from trueness.inference.differences import differences as differences_of_rows
from trueness.metrics.contrast import CLEAR, Bounds, Kernel, integral_bounds
from trueness.metrics.range_contrast import RangeContrast

ERRORS = ("smooth_ece", "binned_ece", "logit_smoothed_ece", "ecce_mad", "ecce_r")
SCORES = ("brier_score", "log_loss")
EVERY = (*ERRORS, "soft_mean_ece", "weak_calibration_error", *SCORES)


def differences(y_true, predictions, *, sample_weight=None, **keywords):
    """Of predictors given as arrays."""
    rows = {name: row_sample(y_true, y_prob, sample_weight, what="compare") for name, y_prob in predictions.items()}
    return differences_of_rows(rows, **keywords)


def rows(n, seed=0):
    """Outcomes, the truth as a prediction, and two others: over-confident, and too low."""
    rng = np.random.default_rng([n, seed])
    truth = rng.random(n) * 0.9 + 0.05
    y = (rng.random(n) < truth).astype(int)
    return y, {"true": truth, "steep": special.expit(3 * special.logit(truth)), "low": truth * 0.7}


def weights(n):
    return np.random.default_rng([n, 9]).gamma(2.0, size=n) + 0.1


def by_name(found):
    return {(each.metric, each.a, each.b): each for each in found}


# -------------------------------------------------------------------------------------------------- what holds always


@pytest.mark.parametrize("kind", ["hard", "soft", "weighted"])
def test_a_predictor_against_itself(kind):
    y, predictions = rows(100)
    y = np.clip(predictions["true"] + np.random.default_rng(0).normal(0, 0.2, 100), 0, 1) if kind == "soft" else y
    w = weights(100) if kind == "weighted" else None
    found = differences(y, {"a": predictions["steep"], "b": predictions["steep"].copy()}, sample_weight=w, metrics=EVERY, rng=0)
    assert [each.metric for each in found] == list(EVERY)
    for each in found:
        assert (each.value, each.low, each.high, each.pvalue, each.adjusted_pvalue) == (0, 0, 0, 1, 1)
        assert not each.distinguishable
        assert "not distinguishable" in repr(each)


@pytest.mark.parametrize("metric", [*ERRORS, *SCORES])
def test_near_identical_predictors_share_their_noise(metric):
    """Their interval is a small part of what two separate ones allow."""
    y, predictions = rows(1000)
    near = np.clip(predictions["steep"] + np.random.default_rng(1).normal(0, 1e-3, 1000), 0.001, 0.999)
    pair = {"steep": np.clip(predictions["steep"], 0.001, 0.999), "near": near}
    (found,) = differences(y, pair, metrics=(metric,), rng=0)
    assert found.low <= 0 <= found.high
    one = 0.1 if metric in SCORES else confidence_interval(y, near, metric=metric, rng=0)
    apart = one if metric in SCORES else 2 * (one.high - one.low)
    assert found.high - found.low < (0.5 if metric == "logit_smoothed_ece" else 0.25) * apart


def test_calibrated_predictors_are_not_distinguishable():
    """Both calibrated, one of them knowing more: alike in calibration, unlike in score."""
    rng = np.random.default_rng(1)
    truth = rng.beta(0.5, 0.5, 2000)
    y = (rng.random(2000) < truth).astype(int)
    found = by_name(differences(y, {"sharp": truth, "dull": np.full(2000, y.mean())}, rng=0))
    for metric in ERRORS:
        assert not found[metric, "sharp", "dull"].distinguishable
    for metric in SCORES:
        assert found[metric, "sharp", "dull"].high < 0
        assert found[metric, "sharp", "dull"].distinguishable


@pytest.mark.parametrize("weighted", [False, True])
def test_a_clear_difference_is_distinguishable(weighted):
    y, predictions = rows(3000)
    pair = {"steep": predictions["steep"], "true": predictions["true"]}
    found = differences(y, pair, sample_weight=weights(3000) if weighted else None, rng=0)
    for each in found:
        assert (each.a, each.b) == ("steep", "true")
        assert 0 < each.low <= each.value <= each.high, each.metric
        assert each.distinguishable
        assert "not distinguishable" not in repr(each)


def test_the_other_way_round():
    y, predictions = rows(500)
    forth = by_name(differences(y, {"a": predictions["steep"], "b": predictions["true"]}, metrics=("ecce_r", *SCORES), rng=0))
    back = by_name(differences(y, {"b": predictions["true"], "a": predictions["steep"]}, metrics=("ecce_r", *SCORES), rng=0))
    for metric in ("ecce_r", *SCORES):
        one, other = forth[metric, "a", "b"], back[metric, "b", "a"]
        assert (one.value, one.value_a) == (-other.value, other.value_b)
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low), rel=1e-9)
        assert one.pvalue == pytest.approx(other.pvalue, rel=1e-9)


def test_values_are_those_of_the_metrics():
    y, predictions = rows(400)
    w = weights(400)
    for each in differences(y, predictions, sample_weight=w, rng=0):
        metric = getattr(trueness, each.metric)
        assert each.value_a == pytest.approx(metric(y, predictions[each.a], sample_weight=w), rel=1e-9)
        assert each.value_b == pytest.approx(metric(y, predictions[each.b], sample_weight=w), rel=1e-9)
        assert each.value == each.value_a - each.value_b


@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_pair_once(count):
    y, predictions = rows(120)
    predictions["half"] = np.full(120, 0.5)
    chosen = dict(list(predictions.items())[:count])
    found = differences(y, chosen, metrics=("ecce_r", "brier_score"), rng=0)
    names = list(chosen)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    assert len(pairs) == count * (count - 1) // 2
    assert [(each.metric, each.a, each.b) for each in found] == [
        (metric, a, b) for metric in ("ecce_r", "brier_score") for a, b in pairs
    ]


# ------------------------------------------------------------------------------------------- what the limits are made of


def pair_and_rows(n, *, weighted=False, seed=0):
    """A pair on cells of distinct scores, and for each row its cells, scores, outcome and share of the weight."""
    rng = np.random.default_rng([n, seed])
    scores = [rng.integers(1, 12, n) / 12, rng.integers(1, 12, n) / 12]
    y, w = (rng.random(n) < 0.6).astype(int), weights(n) if weighted else None
    cells = cells_of([row_sample(y, f, w, what="compare") for f in scores], (4,))
    share = np.full(n, 1 / n) if w is None else w / w.sum()
    return cells, pair_of(cells, 0, 1, as_events=True), y, scores, share


@pytest.mark.parametrize("weighted", [False, True])
def test_variances_of_a_pair_by_rows(weighted):
    """Σw²(v·r_a − u·r_b)²/W²: as seen, and expected over both outcomes of every row as if either predictor were right."""
    cells, pair, y, (fa, fb), share = pair_and_rows(60, weighted=weighted)
    rng = np.random.default_rng(2)
    v, u = rng.uniform(-1, 1, (2, len(cells.score)))
    va, ub = v[cells.predictors[0].cell], u[cells.predictors[1].cell]

    def square(y):
        return math.fsum((share * (va * (y - fa) - ub * (y - fb))) ** 2)

    def expected(p):
        ends = [(share * (va * (k - fa) - ub * (k - fb))) ** 2 for k in (0, 1)]
        return math.fsum((1 - p) * ends[0] + p * ends[1])

    variance, outcome = pair.spread(v, u)
    assert variance == pytest.approx([square(y), expected(fa), expected(fb)], rel=1e-9)
    assert outcome == pytest.approx([math.fsum((share * (va - ub)) ** 2 * p * (1 - p)) for p in (fa, fb)], rel=1e-9)
    back, _ = pair.swapped.spread(u, v)
    assert back == pytest.approx([variance[0], variance[1], variance[2]], rel=1e-9)


def bound_of(pair, v, u, centre, z, factor):
    """A mean of rows that lies `centre` high, and how far noise may carry it."""
    variance, outcome = (max(float(each.max()), 0.0) for each in pair.spread(v, u))
    lean = (pair.skew * factor * min(outcome / variance, 1.0) if variance > 1e-18 else 0.0) * z / 2
    return centre + lean * z + z * math.sqrt(variance + lean**2)


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("shift", [0.0, 0.45])
def test_ranges_one_by_one(spread, shift):
    """Every range and sign of the first, against the same range of the second, its worst where that is clear, or none."""
    rng, share, z = np.random.default_rng(1 if shift else 0), np.full(90, 1 / 90), 1.7
    fa = rng.integers(5, 12, 90) / 12
    y = (rng.random(90) < fa).astype(int)
    fb = np.clip(np.where(rng.random(90) < 0.3, 0.75, fa) - shift, 0.01, 0.99)
    cells = cells_of([row_sample(y, f, None, what="compare") for f in (fa, fb)], ())
    pair = pair_of(cells, 0, 1, as_events=True)
    m = len(cells.score)

    def within(part):
        return np.array([float(part[0] <= k < part[1]) for k in range(m)])

    def total(part):
        on = within(part)
        return [math.fsum(share * on[each.cell] * each.residual) for each in cells.predictors]

    ranges = [(i, j) for i in range(m) for j in range(i + 1, m + 1) if spread or i == 0]
    worst = max(ranges, key=lambda part: abs(total(part)[1]))
    b = total(worst)[1]
    assert (abs(b) > 3 * math.sqrt(max(math.fsum(each) for each in pair.squares[1]))) == bool(shift)
    best = -math.inf
    for part, sign in itertools.product(ranges, (1, -1)):
        v, a = sign * within(part), sign * total(part)[0]
        options = [bound_of(pair, v, v, a - sign * total(part)[1], z, 2)]
        if shift:
            options.append(bound_of(pair, v, np.sign(b) * within(worst), a - abs(b), z, 2))
        else:
            options.append(bound_of(pair, v, np.zeros(m), a, z, 1))
        best = max(best, min(options))
    values = [max(abs(total(part)[k]) for part in ranges) for k in (0, 1)]
    found = RangeContrast(m, spread=spread).lead(pair, (values[0], values[1]))
    assert found.upper(z) == pytest.approx(best, rel=1e-6)


def test_signs_that_are_not_known():
    """The first way: every sign of the first's bins that is not clear may be the other one, all 2^k of them tried."""
    cells, pair, _, _, share = pair_and_rows(400, seed=3)
    bins = np.arange(len(cells.score)) // 2
    kernel = Kernel((bins[:, None] == np.arange(bins[-1] + 1)).astype(float))
    sums = [np.bincount(bins[each.cell], share * each.residual) for each in cells.predictors]
    errors = [np.sqrt((squares @ kernel.weights).max(axis=0)) for squares in pair.squares]
    u = np.sign(sums[1]) * (abs(sums[1]) > CLEAR * errors[1])
    known = abs(sums[0]) > CLEAR * errors[0]
    z, best = 2.2, -math.inf
    for signs in itertools.product((-1.0, 1.0), repeat=len(u)):
        v = np.where(known, np.sign(sums[0]), signs)
        centre = float(v @ sums[0] - u @ sums[1])
        best = max(best, bound_of(pair, kernel.weights @ v, kernel.weights @ u, centre, z, 2))
    found, value = integral_bounds(pair, kernel, kernel)
    assert value == pytest.approx(abs(sums[0]).sum() - abs(sums[1]).sum(), rel=1e-12)
    assert found.bounds[0].upper(z) == pytest.approx(best, rel=0.01)
    assert found.upper(z) <= found.bounds[0].upper(z)
    assert found.upper(z) >= value


def test_p_is_where_the_limit_reaches_zero():
    rng = np.random.default_rng(0)
    for _ in range(20):
        bounds = Bounds(rng.normal(-1, 0.3, (2, 5)), rng.random((2, 5)) ** 2 / 9, rng.random((2, 5)) / 9)
        if bounds.z > 0:
            assert bounds.upper(bounds.z) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("metric", [*ERRORS, *SCORES])
def test_the_interval_excludes_zero_when_p_is_small(metric):
    y, predictions = rows(400)
    for level in (0.5, 0.9, 0.99):
        for each in differences(y, predictions, metrics=(metric,), level=level, rng=0):
            assert (each.low > 0 or each.high < 0) == (each.pvalue < 1 - level)
            assert each.low <= each.value <= each.high


def test_holm_over_all_differences():
    y, predictions = rows(300)
    found = differences(y, predictions, metrics=("ecce_r", "brier_score"), rng=0)
    order = sorted(found, key=lambda each: each.pvalue)
    largest = 0.0
    for place, each in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - place) * each.pvalue))
        assert each.adjusted_pvalue == pytest.approx(largest, rel=1e-9)
        assert each.distinguishable == (each.adjusted_pvalue < 0.05)


class Known:
    """An interval that is the same at every level."""

    smallest_alpha = 1e-3

    def __init__(self, low, high):
        self.low, self.high = low, high

    def at(self, alpha):
        return self


def test_limits_of_both_intervals():
    """[L_a − U_b, U_a − L_b]."""
    errors = object.__new__(_Errors)
    errors._separate = {"a": {"ecce_r": Known(0.2, 0.5)}, "b": {"ecce_r": Known(0.1, 0.15)}}
    found = errors._box("ecce_r", "a", "b", 0.05)
    assert (found.low, found.high) == pytest.approx((0.05, 0.4))


@pytest.mark.full
def test_weak_calibration_error_is_drawn():
    y, predictions = rows(400)
    pair = {name: predictions[name] for name in ("true", "low")}
    one, again, other = (differences(y, pair, metrics=("weak_calibration_error",), rng=seed) for seed in (1, 1, 2))
    assert one == again != other


@pytest.mark.full
def test_weak_calibration_error_has_limits_of_both_intervals_too():
    """Half of the error each: what two separate intervals say bounds it."""
    y, predictions = rows(400)
    (found,) = differences(y, {n: predictions[n] for n in ("steep", "low")}, metrics=("weak_calibration_error",), rng=0)
    a, b = (
        confidence_interval(y, predictions[n], metric="weak_calibration_error", level=0.9875, rng=1) for n in ("steep", "low")
    )
    slack = 0.1 * (a.high - a.low)  # of the draws
    assert a.low - b.high - slack <= found.low <= found.value <= found.high <= a.high - b.low + slack
    assert "both intervals" in found.method


# ------------------------------------------------------------------------------------------------ whether the limits hold


def ten_points(n, seed):
    """A calibrated predictor, and one that is 10 points higher."""
    rng = np.random.default_rng([n, seed])
    truth = rng.uniform(0.1, 0.9, n)
    return (rng.random(n) < truth).astype(int), {"right": truth, "high": np.clip(truth + 0.1, 0, 1)}


def test_ten_points_are_seen():
    for seed in range(4):
        y, pair = ten_points(5000, seed)
        found = compare(y, pair)
        assert found.verdict.startswith("right is off by less than high (")
        for each in found.differences:
            if each.metric in ERRORS:
                assert each.low <= -0.0985 <= each.high + 0.003


@pytest.mark.parametrize("metric", ["binned_ece", "ecce_r"])
def test_differences_of_calibrated_predictors_cover_zero(metric):
    """Both right, one of them knowing less: at a level of 0.5, misses in half of forty samples would be chance alone."""
    missed = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 5])
        truth = rng.random(400)
        y, dull = (rng.random(400) < truth).astype(int), np.where(rng.random(400) < 0.5, truth, 0.5)
        (found,) = differences(y, {"sharp": truth, "dull": dull}, metrics=(metric,), level=0.5, rng=0)
        missed += not found.low <= 0 <= found.high
    assert missed <= 12


# ---------------------------------------------------------------------------------------------------- paired scores


def losses(metric, y, f):
    """The score of each row, 0·ln 0 = 0."""
    if metric == "brier_score":
        return [(a - p) ** 2 for a, p in zip(y.tolist(), f.tolist(), strict=True)]
    terms = []
    for a, p in zip(y.tolist(), f.tolist(), strict=True):
        terms.append(-((a * math.log(p) if a > 0 else 0.0) + ((1 - a) * math.log1p(-p) if a < 1 else 0.0)))
    return terms


@pairwise("metric, weighted, soft, level", SCORES, (False, True), (False, True), (0.95, 0.5))
def test_scores_are_compared_row_by_row(metric, weighted, soft, level):
    """The largest of the variances Σw²(d − d̄)²/W² as seen and as if either were right, and a lean for skewed outcomes."""
    y, predictions = rows(300)
    y = np.clip(predictions["true"] + np.random.default_rng(0).normal(0, 0.2, 300), 0, 1) if soft else y
    w = weights(300) if weighted else np.ones(300)
    a, b = predictions["steep"], predictions["low"]
    given = w if weighted else None
    (found,) = differences(y, {"a": a, "b": b}, metrics=(metric,), level=level, sample_weight=given, rng=0)
    share = w / math.fsum(w)

    def gaps(y):
        return np.array(losses(metric, y, a)) - losses(metric, y, b)

    d = gaps(y)
    mean = math.fsum(share * d)
    variances, thirds = [math.fsum((share * (d - mean)) ** 2)], [0.0]
    for p in () if soft else (a, b):
        zero, one = gaps(np.zeros(300)), gaps(np.ones(300))
        middle = math.fsum(share * ((1 - p) * zero + p * one))
        inner = (1 - p) * zero + p * one
        variances.append(math.fsum(share**2 * ((inner - middle) ** 2 + (one - zero) ** 2 * p * (1 - p))))
        thirds.append(math.fsum(share**3 * abs(one - zero) ** 3 * p * (1 - p) * abs(1 - 2 * p)))
    z = stats.norm.ppf((1 + level) / 2)
    lean = max(thirds) / max(variances) * z / 2
    error = lean * z + z * math.sqrt(max(variances) + lean**2)
    assert found.value == pytest.approx(mean, rel=1e-9)
    assert (found.low, found.high) == pytest.approx((mean - error, mean + error), rel=1e-9)
    assert found.method == "paired rows"
    assert found.level == pytest.approx(level, rel=1e-12)


@pytest.mark.parametrize("metric", SCORES)
def test_outcomes_that_have_not_happened_yet(metric):
    """1e-4 against a right 0.05 on 0.5 % of rows: a normal interval declares the worse one better in half of samples."""
    for seed in range(20):
        rng = np.random.default_rng([seed, 8])
        truth = rng.beta(2, 3, 1000)
        few = rng.random(1000) < 0.005
        truth[few] = 0.05
        y = (rng.random(1000) < truth).astype(int)
        wrong = np.where(few, 1e-4, truth)
        noise = np.where(few, 0.0, rng.normal(0, 0.003, 1000))
        (found,) = differences(y, {"wrong": wrong, "right": truth}, metrics=(metric,), rng=0)
        assert math.isnan(found.low)
        assert "where they differ" in found.method
        assert math.isnan(found.adjusted_pvalue)
        # With slight differences elsewhere there is an interval, and what the right one thinks likely widens it.
        (found,) = differences(y, {"wrong": wrong, "right": np.clip(truth + noise, 1e-6, 0.999)}, metrics=(metric,), rng=0)
        assert not found.high < 0


@pytest.mark.parametrize("metric", SCORES)
def test_zero_weights_and_scale(metric):
    y, predictions = rows(200)
    w = weights(200)
    w[::5] = 0
    kept = w > 0
    (expected,) = differences(
        y[kept],
        {"a": predictions["steep"][kept], "b": predictions["low"][kept]},
        metrics=(metric,),
        sample_weight=w[kept],
        rng=0,
    )
    for scale in (1.0, 1e-9, 1e9):
        pair = {"a": predictions["steep"], "b": predictions["low"]}
        (found,) = differences(y, pair, metrics=(metric,), sample_weight=scale * w, rng=0)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-9)


@pytest.mark.parametrize("wrong", ["a", "b", "both"])
def test_an_infinite_log_loss_is_told(wrong):
    """One infinite loss is infinitely larger, whatever else happens; two cannot be compared."""
    y, predictions = rows(100)
    y[0] = 1
    pair = {"a": predictions["steep"].copy(), "b": predictions["true"].copy()}
    for name in pair if wrong == "both" else (wrong,):
        pair[name][0] = 0.0
    found = by_name(differences(y, pair, metrics=SCORES, rng=0))
    log_loss = found["log_loss", "a", "b"]
    expected = {"a": math.inf, "b": -math.inf, "both": math.nan}[wrong]
    assert (log_loss.low, log_loss.high) == pytest.approx((expected, expected), nan_ok=True)
    assert "probability 0" in log_loss.method
    assert log_loss.distinguishable == (wrong != "both")
    assert log_loss.pvalue == pytest.approx(math.nan if wrong == "both" else 0.0, nan_ok=True)
    assert (log_loss.value_a == math.inf, log_loss.value_b == math.inf) == (wrong in ("a", "both"), wrong in ("b", "both"))
    kept = log_loss.to_dict()
    assert (kept["low"], kept["high"]) == (None, None)
    assert repr(log_loss)
    assert math.isfinite(found["brier_score", "a", "b"].low)


def test_certain_and_right_predictions_have_finite_scores():
    y, predictions = rows(100)
    pair = {"perfect": y.astype(float), "true": predictions["true"]}
    found = by_name(differences(y, pair, metrics=("ecce_r", "binned_ece", *SCORES), rng=0))
    assert found["log_loss", "perfect", "true"].value_a == 0
    assert found["log_loss", "perfect", "true"].high < 0
    assert "sure predictions are taken to be right" in found["log_loss", "perfect", "true"].method
    assert found["ecce_r", "perfect", "true"].low <= 0


# ----------------------------------------------------------------------------------------------- too few rows, soft


def test_differences_stay_within_the_range_of_the_metric():
    for each in differences([0, 1], {"a": [0.2, 0.3], "b": [0.9, 0.1]}, metrics=("smooth_ece", "ecce_r"), rng=0):
        assert (each.low, each.high, each.pvalue) == (pytest.approx(-1, abs=0.02), 1, 1)


def test_too_few_rows():
    y, predictions = rows(20)
    found = by_name(differences(y, {n: predictions[n] for n in ("true", "low")}, rng=0))
    few = found["binned_ece", "true", "low"]
    assert math.isnan(few.low)
    assert math.isnan(few.high)
    assert "too few rows" in few.method
    assert not few.distinguishable
    assert few.to_dict()["low"] is None
    assert not math.isnan(found["ecce_r", "true", "low"].low)
    for each in differences([1], {"a": [0.3], "b": [0.6]}, rng=0):
        assert math.isnan(each.low)
        assert "too few" in each.method
        assert math.isfinite(each.value)


def test_few_events_give_no_paired_interval():
    found = compare(np.zeros(50, int), {"a": np.full(50, 0.01), "b": np.full(50, 0.02)}, metrics=["brier_score"])
    assert math.isnan(found.differences[0].low)
    assert not found.differences[0].distinguishable
    y = np.array([0, 1] * 30)
    infinite = compare(y, {"a": np.zeros(60), "b": np.full(60, 0.5)}, metrics=["log_loss"])
    assert infinite.differences[0].distinguishable
    json.dumps(infinite.to_dict(), allow_nan=False)


def test_soft_labels():
    _, predictions = rows(400)
    y = np.clip(predictions["true"] + np.random.default_rng(0).normal(0, 0.05, 400), 0, 1)
    found = by_name(differences(y, {n: predictions[n] for n in ("true", "low")}, rng=0))
    for metric in ERRORS:
        assert found[metric, "true", "low"].low <= found[metric, "true", "low"].value <= found[metric, "true", "low"].high
    assert found["brier_score", "true", "low"].high < 0


def test_outcomes_among_soft_labels_may_vary_as_predicted():
    """Labels alone show their variance; beside them outcomes of rare events show little, and limits are those of events."""
    rng = np.random.default_rng(0)
    labels, f = np.clip(rng.normal(0.5, 0.01, 200), 0.4, 0.6), np.append(np.full(200, 0.5), np.full(200, 0.02))
    predictions = {"a": f, "b": np.append(np.full(200, 0.5), np.full(200, 0.03))}
    for low in (0.019, 0.0):
        y = np.append(labels, np.full(200, low) + (rng.normal(0, 0.001, 200) if low else 0.0))
        (found,) = differences(y, predictions, metrics=("binned_ece",), rng=0)
        assert (found.high - found.low < 2e-3) == bool(low), found


# ---------------------------------------------------------------------------------------------- arguments and results


@pytest.mark.parametrize("count", [0, 1])
def test_one_predictor_cannot_be_compared(count):
    y, predictions = rows(50)
    with pytest.raises(TruenessError, match=rf"predictions: {count} .*at least two"):
        differences(y, dict(list(predictions.items())[:count]))


@pytest.mark.parametrize("level", [0, 1, 95, True, math.nan, "0.95"])
def test_level_is_a_fraction(level):
    y, predictions = rows(50)
    with pytest.raises(TruenessError, match=r"level.*fraction"):
        differences(y, predictions, level=level)


def test_bad_arguments_are_named():
    y, predictions = rows(50)
    with pytest.raises(TruenessError, match="rng"):
        differences(y, predictions, rng=-1)
    with pytest.raises(TruenessError, match="nonsense"):
        differences(y, predictions, metrics=("nonsense",))
    with pytest.raises(TruenessError, match="smooth_ece_area"):
        differences(y, predictions, metrics=("smooth_ece_area",))
    with pytest.raises(TruenessError, match="49"):
        differences(y, {"a": predictions["true"], "b": predictions["low"][:-1]})
    with pytest.raises(TruenessError, match=r"1 of 50 .*row 7"):
        differences(y, {"a": predictions["true"], "b": np.where(np.arange(50) == 7, 2.0, predictions["low"])})


@pytest.mark.parametrize("level", [0.99, 0.9998, 0.9999])
def test_high_levels(level):
    """Each limit is asked for half of the error; where that is too little to be drawn, the level named is the one given."""
    y, predictions = rows(60)
    found, message = [], ""
    try:
        found = differences(y, predictions, metrics=("ecce_r", "brier_score"), level=level, rng=0)
    except TruenessError as error:
        message = str(error)
    if level < 0.9999 or not message:
        assert [each.level for each in found] == pytest.approx([level] * 6, abs=1e-12)
    else:
        assert "level: 0.9999 " in message


def test_the_same_seed_gives_the_same_bounds():
    y, predictions = rows(200)
    for metric in ("smooth_ece", "binned_ece"):
        one, again, other = (differences(y, predictions, metrics=(metric,), rng=seed) for seed in (1, 1, 2))
        assert one == again == other  # nothing is drawn
    first, second = (differences(y, predictions, metrics=("binned_ece",), rng=np.random.default_rng(3)) for _ in range(2))
    assert first == second


def test_progress_and_results():
    y, predictions = rows(100)
    calls = []
    found = differences(y, predictions, metrics=("ecce_r", "log_loss"), rng=0, progress=lambda *call: calls.append(call))
    assert calls[-1] == (3, 3)
    assert calls == sorted(calls)
    for each in found:
        kept = json.loads(json.dumps(each.to_dict(), allow_nan=False))
        assert kept["value"] == each.value
        assert kept["distinguishable"] == each.distinguishable
        assert "\n" not in repr(each)
    with pytest.raises(AttributeError):
        found[0].low = 0.0
