"""Proper scores and the CORP decomposition against loops over the rows."""

import dataclasses
import json
import math

import brute
import numpy as np
import pytest
from datasets import SAMPLES, sample

from trueness import brier_score, decompose, log_loss, summarize
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
