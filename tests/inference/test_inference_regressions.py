"""What went wrong once in tests and intervals, and must not again."""

import json
import math

import numpy as np
import pytest

import trueness
from trueness import TruenessError, calibration_test, confidence_interval, group_tests, noise_floor, smooth_ece, summarize
from trueness.comparison import compare
from trueness.data.sample import as_sample
from trueness.data.scales import LOGIT, PROBABILITY
from trueness.metrics.smooth import SmoothNorm


@pytest.mark.parametrize("sigma", [0.003, 0.05, 0.19, 0.3, 0.5, 1.0, 20.0])
@pytest.mark.parametrize("kind", ["ends", "uniform", "rare"])
def test_draws_are_smoothed_as_the_metric_is(sigma, kind) -> None:
    rng = np.random.default_rng(1)
    f = {"ends": np.repeat([0.01, 0.99], 50), "uniform": rng.random(200), "rare": rng.beta(2, 200, 200)}[kind]
    y = (rng.random(len(f)) < 0.5).astype(int)
    points = as_sample(y, f).points()
    for scale, name in ((PROBABILITY, "probability"), (LOGIT, "logit")):
        if sigma < 0.01 and name == "logit":
            continue
        found = SmoothNorm(points, scale, sigma).of(points.e[None, :])[0]
        assert found == pytest.approx(smooth_ece(y, f, bandwidth=sigma, scale=name), rel=0.02, abs=1e-9)


def test_a_bandwidth_too_small_to_draw_is_refused_not_replaced() -> None:
    rng = np.random.default_rng(0)
    f = rng.random(500)
    y = (rng.random(500) < f).astype(int)
    with pytest.raises(TruenessError, match="at least"):
        confidence_interval(y, f, options={"bandwidth": 1e-6})
    assert confidence_interval(y, f, options={"bandwidth": 3e-4}, rng=0).low == 0.0


def test_groups_of_neighbours_are_narrower_than_the_kernel() -> None:
    rng = np.random.default_rng(0)
    f = rng.random(12_000)
    y = (rng.random(len(f)) < f).astype(int)
    narrow = {"bandwidth": 1e-3}
    floor = noise_floor(y, f, metric="logit_smoothed_ece", options=narrow, rng=0, resamples=200)
    drawn = [trueness.logit_smoothed_ece((rng.random(len(f)) < f).astype(int), f, **narrow) for _ in range(20)]
    assert floor == pytest.approx(np.mean(drawn), rel=0.015)
    floor = noise_floor(y, f, options={"scale": "logit"}, rng=0, resamples=200)
    drawn = [smooth_ece((rng.random(len(f)) < f).astype(int), f, scale="logit") for _ in range(20)]
    assert floor == pytest.approx(np.mean(drawn), rel=0.04)


def test_soft_labels_of_few_events_are_covered() -> None:
    rng = np.random.default_rng(3)
    for metric in ("ecce_r", "binned_ece", "smooth_ece"):
        hits = 0
        for seed in range(20):
            f = rng.beta(2, 200, 50)
            y = np.where(rng.random(50) < f / 0.95, 0.95, 1e-6)
            hits += confidence_interval(y, f, metric=metric, rng=seed).low <= 1e-5
        assert hits >= 17  # P(X < 17) is 0.016 at 0.95, below 0.001 at the 0.99 that is meant


def test_l2_counts_the_shares_of_bins_as_random() -> None:
    rng = np.random.default_rng(4)
    hits = 0
    for seed in range(60):
        event = rng.random(1000) < 0.1
        options = {"norm": "l2", "bins": 50}
        found = confidence_interval(
            event.astype(int), np.where(event, 0.03, 0.001), metric="binned_ece", options=options, rng=seed
        )
        hits += found.low <= 0.30675 <= found.high  # √(.1·.97² + .9·.001²)
    assert hits >= 54


def test_weights_of_mean_one_are_still_weights() -> None:
    rng = np.random.default_rng(5)
    w, f = np.tile([0.05, 1.95], 100), np.full(200, 0.3)
    y = (rng.random(200) < f).astype(int)
    assert "weighted" in calibration_test(summarize(y, f, sample_weight=w)).reason


def test_one_heavy_row_is_simulated() -> None:
    n = 5001
    f, w, y = 0.02 + np.linspace(-1e-4, 1e-4, n), np.ones(n), np.zeros(n, dtype=int)
    w[2500] = 60
    y[::50] = 1
    y[2500] = 1
    found = calibration_test(y, f, sample_weight=w, rng=0, resamples=199)
    assert found.method == "simulated"
    assert found.pvalue >= 0.004


def test_an_impossible_event_is_seen_among_many_rows() -> None:
    rng = np.random.default_rng(6)
    f = np.concatenate([[0.0], np.full(50_001, 1e-7), np.linspace(0.1, 0.9, 50_000)])
    y = (rng.random(len(f)) < f).astype(int)
    y[0] = 1
    found = calibration_test(y, f)
    assert (found.pvalue, found.log10_pvalue) == (0.0, -math.inf)
    assert "1 times" in found.reason
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["log10_pvalue"] is None
    y[0], f[0] = 1, 1e-17
    assert calibration_test(y, f).pvalue > 0


def test_weights_that_vanish_beside_others() -> None:
    w = np.array([1e300] * 5 + [1e-300] * 5)
    f = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1, 1, 1])
    some = calibration_test(y, f, sample_weight=w, statistic="binned_ece", rng=0)
    alone = calibration_test(y[:5], f[:5], statistic="binned_ece", sample_weight=np.ones(5), rng=0)
    assert some.pvalue == alone.pvalue
    for statistic in ("log_loss", "weak_calibration_error", "smooth_ece"):
        assert 0 < calibration_test(y, f, sample_weight=w, statistic=statistic, rng=0, resamples=99).pvalue <= 1


def test_repeated_soft_rows_count_as_often_as_they_are_repeated() -> None:
    rng = np.random.default_rng(7)
    f = rng.random(24)
    y = np.clip(f + rng.normal(0.05, 0.1, 24), 0.01, 0.99)
    a = calibration_test(y, f, sample_weight=np.full(24, 5), weight_kind="frequency")
    b = calibration_test(np.repeat(y, 5), np.repeat(f, 5))
    assert a.reason == b.reason
    assert a.pvalue == pytest.approx(b.pvalue, rel=1e-9)


def test_weighted_ties_in_any_order() -> None:
    rng = np.random.default_rng(8)
    f = rng.integers(0, 10, 300) / 10 + 0.05
    y, w, order = (rng.random(300) < f).astype(int), rng.random(300), rng.permutation(300)
    results = [calibration_test(y[o], f[o], sample_weight=w[o], rng=1).pvalue for o in (slice(None), order)]
    assert results[0] == results[1]


def test_few_events_give_no_paired_interval() -> None:
    found = compare(np.zeros(50, int), {"a": np.full(50, 0.01), "b": np.full(50, 0.02)}, metrics=["brier_score"])
    assert math.isnan(found.differences[0].low)
    assert not found.differences[0].distinguishable
    y = np.array([0, 1] * 30)
    infinite = compare(y, {"a": np.zeros(60), "b": np.full(60, 0.5)}, metrics=["log_loss"])
    assert infinite.differences[0].distinguishable
    json.dumps(infinite.to_dict(), allow_nan=False)


def test_small_things() -> None:
    assert math.isnan(calibration_test([0, 1], [1e-12, 0.5], statistic="brier_score", resamples=1, rng=0).standardized)
    assert confidence_interval([0, 1] * 40, [0.4, 0.6] * 40, level=0.1, rng=0).level == 0.1
    with pytest.raises(TruenessError, match="nonsense"):
        group_tests([0, 1], [0.2, 0.3], by=["a", "b"], statistic="nonsense")
    days = np.array(["2026-01-01", "NaT", "2026-01-02"], dtype="datetime64[D]")
    assert [each.group is None for each in group_tests([0, 1, 1], [0.2, 0.3, 0.5], by=days)] == [False, False, True]
    assert len(repr(group_tests(np.zeros(500, int), np.full(500, 0.1), by=np.arange(500))).splitlines()) == 1
    assert noise_floor([0, 1], [1 - 2**-53] * 2, metric="brier_score", rng=0) >= 0
    assert trueness.confidence_interval([0, 1] * 40, [0.4, 0.6] * 40, metric="ecce_r", rng=0).seed == 0
