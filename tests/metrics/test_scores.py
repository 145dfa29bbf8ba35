"""Proper scores and the CORP decomposition against loops over the rows."""

import dataclasses
import json
import math

import brute
import numpy as np
import pytest
from datasets import SAMPLES, sample
from scipy.optimize import isotonic_regression
from scipy.special import xlogy

from trueness import brier_score, decompose, log_loss, summarize
from trueness.engines.arrays import workers
from trueness.errors import NeedsRowsError, TruenessError

EXACT = {"abs": 1e-12, "rel": 0}
FINITE = [name for name in SAMPLES if not math.isinf(brute.log_loss(*sample(name)))]


@pytest.mark.parametrize("name", SAMPLES)
def test_brier_score(name):
    y, f, w = sample(name)
    expected = brute.brier_score(y, f, w)
    assert brier_score(y, f, sample_weight=w) == pytest.approx(expected, **EXACT)
    assert brier_score(summarize(y, f, sample_weight=w)) == pytest.approx(expected, **EXACT)


@pytest.mark.parametrize("score", [1 - 1e-9, 1e-7, 1e-9])
def test_brier_score_of_many_good_predictions(score):
    y = np.full(200_000, round(score))
    assert brier_score(y, np.full(200_000, score)) == pytest.approx((round(score) - score) ** 2, rel=1e-9)


def test_brier_score_of_a_soft_summary_of_matching_labels():
    f = np.random.default_rng(2).random(1000)
    assert brier_score(summarize(f, f)) == 0.0


@pytest.mark.parametrize("name", SAMPLES)
def test_log_loss(name):
    y, f, w = sample(name)
    assert log_loss(y, f, sample_weight=w) == pytest.approx(brute.log_loss(y, f, w), rel=1e-12, abs=1e-15)


def test_samples_cover_both_kinds():
    assert "all wrong" not in FINITE
    assert "all right" in FINITE


def test_log_loss_by_hand():
    assert log_loss([1, 0], [0.5, 0.5]) == pytest.approx(math.log(2), rel=1e-15)
    assert log_loss([1, 0], [1.0, 0.0]) == 0.0
    assert log_loss([1, 0], [0.0, 0.0]) == math.inf
    assert log_loss([0.5], [1.0]) == math.inf
    assert log_loss([0, 1], [1.0, 0.5], sample_weight=[0.0, 1.0]) == pytest.approx(math.log(2), rel=1e-15)
    assert log_loss([1], [1e-300]) == pytest.approx(300 * math.log(10), rel=1e-14)  # nothing is clipped
    assert log_loss([0], [1e-300]) == pytest.approx(1e-300, rel=1e-14)


@pytest.mark.parametrize("name", SAMPLES)
def test_brier_decomposition(name):
    y, f, w = sample(name)
    result = decompose(y, f, sample_weight=w)
    for field, expected in brute.decompose(y, f, w)._asdict().items():
        assert getattr(result, field) == pytest.approx(expected, **EXACT), field


@pytest.mark.parametrize("name", SAMPLES)
def test_log_decomposition(name):
    y, f, w = sample(name)
    result = decompose(y, f, score="log", sample_weight=w)
    for field, expected in brute.decompose(y, f, w, score="log")._asdict().items():
        assert getattr(result, field) == pytest.approx(expected, **EXACT), field


@pytest.mark.parametrize("name", FINITE)
@pytest.mark.parametrize("score", ["brier", "log"])
def test_parts_add_up_and_have_a_sign(name, score):
    y, f, w = sample(name)
    d = decompose(y, f, score=score, sample_weight=w)
    assert d.miscalibration - d.discrimination + d.uncertainty == pytest.approx(d.score, **EXACT)
    assert min(d.miscalibration, d.discrimination, d.uncertainty) >= -1e-15
    assert d.score == pytest.approx((brier_score if score == "brier" else log_loss)(y, f, sample_weight=w), **EXACT)


def test_decomposition_by_hand():
    # isotonic fit: 0.2 -> 0, {0.4, 0.6} pooled -> 1/2, 0.9 -> 1; S(iso) = 1/8, S(mean) = 1/4
    d = decompose([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.9])
    assert d.score == pytest.approx((0.04 + 0.36 + 0.36 + 0.01) / 4, **EXACT)
    assert d.miscalibration == pytest.approx(0.1925 - 0.125, **EXACT)
    assert d.discrimination == pytest.approx(0.125, **EXACT)
    assert d.uncertainty == pytest.approx(0.25, **EXACT)


@pytest.mark.parametrize(("y", "f", "w"), [([1, 0], [0.5, 0.5], [1, 1e-20]), ([1, 0, 1], [0.5, 0.5, 0.6], [1, 1e-17, 1])])
def test_log_score_parts_with_a_mean_that_rounds_to_one(y, f, w):
    parts = decompose(y, f, score="log", sample_weight=w)
    assert 0 < parts.uncertainty < 1e-14
    assert 0.4 < parts.miscalibration < 0.7
    assert parts.discrimination >= 0


def test_parts_of_a_score_are_never_negative():
    for score in ("brier", "log"):
        parts = decompose([0.1] * 7, [0.1] * 7, score=score)
        assert parts.miscalibration == 0.0
        assert parts.discrimination == 0.0


def test_contradicted_certainty():
    d = decompose([1, 0, 1], [0.0, 0.5, 1.0], score="log")
    assert d.score == d.miscalibration == math.inf
    assert math.isfinite(d.discrimination)
    assert math.isfinite(d.uncertainty)


def test_result_is_frozen_and_travels():
    d = decompose([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.9])
    with pytest.raises(dataclasses.FrozenInstanceError):
        d.score = 0.0
    there = json.loads(json.dumps(d.to_dict()))
    for field in ("score", "miscalibration", "discrimination", "uncertainty"):
        assert there[field] == getattr(d, field)
    assert "\n" not in repr(d)


def test_unknown_score():
    with pytest.raises(TruenessError, match=r"(?s)score.*spherical"):
        decompose([0, 1], [0.2, 0.7], score="spherical")


@pytest.mark.parametrize("metric", [log_loss, decompose])
def test_needs_rows(metric):
    with pytest.raises(NeedsRowsError):
        metric(summarize([0, 1], [0.2, 0.7]))


def test_pooling_does_not_depend_on_row_order():
    rng = np.random.default_rng(8)
    f, y = np.round(rng.random(500), 2), rng.integers(0, 2, 500).astype(float)
    order = rng.permutation(500)
    assert decompose(y, f).miscalibration == pytest.approx(decompose(y[order], f[order]).miscalibration, **EXACT)


# Weights so far apart that some vanish beside others, when they are scaled so that their squares can be summed.
VANISHING = [
    ([1, 1], [0.25, 0.5], [1e308, 1e-200]),
    ([0, 1, 1, 1, 1], [0.65, 1e-300, 1e-300, 0.5, 0.65], [1e-200, 1e-200, 1e-200, 1.0, 1e300]),
    ([1, 0, 0, 1], [0.0, 0.5, 0.75, 0.25], [1e-320, 1e200, 1e200, 1e-300]),
]


@pytest.mark.parametrize(("y", "f", "w"), VANISHING)
def test_weights_that_vanish_beside_others(y, f, w):
    y, f, w = np.array(y), np.array(f), np.array(w)
    large = w >= w.max() * 1e-10
    found = decompose(y, f, sample_weight=w)
    assert found == decompose(y[large], f[large], sample_weight=w[large] / w.max())
    assert decompose(y, f, sample_weight=w, score="log").score == log_loss(y, f, sample_weight=w)
    contradicted = np.any((f == 0) & (y == 1))
    assert math.isinf(log_loss(y, f, sample_weight=w)) == contradicted


@pytest.mark.parametrize("kind", ["hard", "weighted", "soft", "tied"])
@pytest.mark.parametrize("score", ["brier", "log"])
def test_many_rows(kind, score):
    rng = np.random.default_rng(4)
    n = 150_000  # several pieces of the sums
    f = rng.beta(0.5, 3, n).round(3 if kind == "tied" else 17)
    f = np.clip(f, 1e-9, 1 - 1e-9)
    y = rng.beta(2, 5, n) if kind == "soft" else (rng.random(n) < f**1.2).astype(int)
    w = rng.random(n) if kind == "weighted" else None
    weight = np.ones(n) if w is None else w
    _, run = np.unique(f, return_inverse=True)
    total = np.bincount(run, weight)
    fit = isotonic_regression(np.bincount(run, weight * y) / total, weights=total).x[run]
    single = {"brier": lambda p: (y - p) ** 2, "log": lambda p: -(xlogy(y, p) + xlogy(1 - y, 1 - p))}[score]
    own, best, flat = (
        math.fsum(weight * single(p)) / math.fsum(weight) for p in (f, fit, np.full(n, np.average(y, weights=w)))
    )
    parts = decompose(y, f, score=score, sample_weight=w)
    assert parts.score == pytest.approx(own, **EXACT)
    assert parts.score == (brier_score if score == "brier" else log_loss)(y, f, sample_weight=w)
    assert parts.miscalibration == pytest.approx(own - best, **EXACT)
    assert parts.discrimination == pytest.approx(flat - best, **EXACT)
    assert parts.uncertainty == pytest.approx(flat, **EXACT)


def test_the_number_of_threads_does_not_show(monkeypatch):
    rng = np.random.default_rng(5)
    f = rng.random(300_000)
    y = rng.random(300_000) < f
    values = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(workers.os, "sched_getaffinity", lambda pid, threads=threads: range(threads))
        values.append((brier_score(y, f), log_loss(y, f)))
    assert len(set(values)) == 1
