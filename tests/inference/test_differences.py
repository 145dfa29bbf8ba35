"""differences of predictors on the same rows (MATH 11): limits of both intervals, or a paired normal interval for scores."""

import json
import math

import nulls
import numpy as np
import pytest
from pairs import pairwise
from scipy import special, stats

import trueness
from trueness import TruenessError, brownian, compare, confidence_interval
from trueness.data.sample import row_sample
from trueness.inference.differences import differences as differences_of_rows

ERRORS = ("smooth_ece", "binned_ece", "logit_smoothed_ece", "ecce_mad", "ecce_r")
SCORES = ("brier_score", "log_loss")
LAWS = {"ecce_mad": brownian.max_abs, "ecce_r": brownian.range}


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


def test_identical_predictors_are_not_distinguishable():
    y, predictions = rows(300)
    found = differences(y, {"a": predictions["steep"], "b": predictions["steep"].copy()}, rng=0)
    assert [each.metric for each in found] == [*ERRORS, *SCORES]
    for each in found:
        assert each.value == 0
        assert each.low <= 0 <= each.high
        assert not each.distinguishable
        assert "not distinguishable" in repr(each)


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
        if metric in SCORES:
            assert (one.low, one.high) == pytest.approx((-other.high, -other.low), rel=1e-12)


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


# ----------------------------------------------------------------------------------- limits of the single intervals


@pytest.mark.parametrize("metric", LAWS)
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_bounds_of_ecce_from_its_law(metric, level):
    """[L_a − U_b, U_a − L_b], each one-sided limit at α/4: with thousands of scores no limit is drawn."""
    y, predictions = rows(5000)
    (found,) = differences(y, {n: predictions[n] for n in ("steep", "low")}, metrics=(metric,), level=level, rng=0)
    a, b = (confidence_interval(y, predictions[n], metric=metric, level=1 - (1 - level) / 2, rng=1) for n in ("steep", "low"))
    assert (found.low, found.high) == pytest.approx((a.low - b.high, a.high - b.low), rel=1e-9)
    f, tail = predictions["steep"], (1 - level) / 4
    scale = math.sqrt(max(math.fsum((y - f) ** 2), math.fsum(f * (1 - f)))) / 5000
    lower = trueness.ecce(y, f).mad if metric == "ecce_mad" else trueness.ecce(y, f).range
    assert a.low == pytest.approx(lower - LAWS[metric].isf(tail) * scale, rel=1e-9)
    if level == 0.95:  # seconds for every range of thousands of scores
        upper = nulls.ecce_upper_limit(y, f, np.ones(5000), 1 - 2 * tail, spread=metric == "ecce_r")
        assert upper - 1e-12 <= a.high <= upper + 0.02 * (upper - a.value)


@pytest.mark.full
@pytest.mark.parametrize("metric", ERRORS)
def test_bounds_from_both_intervals(metric):
    """Upper limits are formulas; lower ones come from draws, whose scatter over ten seeds is seen first."""
    y, predictions = rows(400)
    pair, w = {n: predictions[n] for n in ("steep", "low")}, weights(400)
    (found,) = differences(y, pair, metrics=(metric,), sample_weight=w, rng=11)
    limits = {
        name: [confidence_interval(y, f, metric=metric, level=0.975, sample_weight=w, rng=seed) for seed in range(10)]
        for name, f in pair.items()
    }
    high = {name: each[0].high for name, each in limits.items()}
    for drawn, name in ((found.low + high["low"], "steep"), (high["steep"] - found.high, "low")):
        lows = np.array([each.low for each in limits[name]])
        assert lows.min() > 0
        assert abs(drawn - lows.mean()) <= 5 * lows.std(ddof=1) + 1e-9
    assert found.low < found.value < found.high


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
    """d̄ ± z·√Σw²(d − d̄)²/W of the differences d of the rows' scores."""
    y, predictions = rows(300)
    y = np.clip(predictions["true"] + np.random.default_rng(0).normal(0, 0.2, 300), 0, 1) if soft else y
    w = weights(300) if weighted else np.ones(300)
    (found,) = differences(
        y,
        {"a": predictions["steep"], "b": predictions["low"]},
        metrics=(metric,),
        level=level,
        sample_weight=w if weighted else None,
        rng=0,
    )
    d = np.array(losses(metric, y, predictions["steep"])) - losses(metric, y, predictions["low"])
    total = math.fsum(w)
    mean = math.fsum(w * d) / total
    error = stats.norm.ppf((1 + level) / 2) * math.sqrt(math.fsum((w * (d - mean)) ** 2)) / total
    assert found.value == pytest.approx(mean, rel=1e-9)
    assert (found.low, found.high) == pytest.approx((mean - error, mean + error), rel=1e-9)
    assert "paired" in found.method
    assert found.level == pytest.approx(level, rel=1e-12)


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
    assert found["ecce_r", "perfect", "true"].low <= 0


# ----------------------------------------------------------------------------------------------- too few rows, soft


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
        assert one == again
        assert one != other
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
