"""wCE against its linear programme, and the bracket of the distance to calibration against a transport programme."""

import math

import brute
import numpy as np
import pytest
from datasets import SAMPLES, sample

from trueness import distance_to_calibration, summarize, weak_calibration_error
from trueness.errors import NeedsRowsError

ROWS = {"rel": 1e-9, "abs": 1e-13}  # DESIGN 4


@pytest.mark.parametrize("name", SAMPLES)
def test_weak_calibration_error(name):
    y, f, w = sample(name)
    value = weak_calibration_error(y, f, sample_weight=w)
    assert value == pytest.approx(brute.weak_calibration_error(y, f, w), **ROWS)


@pytest.mark.parametrize("seed", range(20))
def test_small_and_awkward(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    f = [rng.random(n), np.round(rng.random(n), 1), rng.beta(0.2, 0.2, n), rng.integers(0, 2, n) * 1.0][seed % 4]
    y = rng.integers(0, 2, n).astype(float) if seed % 3 else rng.random(n)
    w = None if seed % 2 else rng.integers(0, 4, n) + (np.arange(n) == 0) * 1.0
    value = weak_calibration_error(y, f, sample_weight=w)
    assert value == pytest.approx(brute.weak_calibration_error(y, f, w), **ROWS)


def test_by_hand():
    # MATH 8: f in {.4, .6}, E[y|f] = 1/2: v may differ by .2, so wCE = .05 * .2
    y, f = [0, 1, 0, 1], [0.4, 0.4, 0.6, 0.6]
    assert weak_calibration_error(y, f) == pytest.approx(0.01, **ROWS)
    assert weak_calibration_error([0.5, 0.5], [0.4, 0.6]) == pytest.approx(0.01, **ROWS)
    assert weak_calibration_error([1], [0.25]) == 0.75
    assert weak_calibration_error([0.3, 0.8], [0.3, 0.8]) == 0.0


def test_the_distance_of_the_counterexample():
    # the same data: dCE = 1/60, above wCE
    assert brute.distance_to_calibration([0.5, 0.5], [0.4, 0.6], grid=300) == pytest.approx(1 / 60, abs=1e-9)
    low, high = distance_to_calibration([0.5, 0.5], [0.4, 0.6])
    assert low <= 1 / 60 <= high


@pytest.mark.parametrize("name", SAMPLES)
def test_bracket_formula(name):
    y, f, w = sample(name)
    weak, smooth = brute.weak_calibration_error(y, f, w), brute.smooth_ece(y, f, w)
    _, _, residual = brute.runs(y, f, w)
    low, high = distance_to_calibration(y, f, sample_weight=w)
    assert low == pytest.approx(max(weak / 2, smooth**2 / (smooth + math.sqrt(2 / math.pi))), rel=1e-8, abs=1e-13)
    assert high == pytest.approx(min(2 * weak, 2 * smooth, np.abs(residual).sum()), rel=1e-8, abs=1e-13)
    assert 0 <= low <= high + 1e-15


@pytest.mark.parametrize("seed", range(24))
def test_bracket_contains_the_distance(seed):
    rng = np.random.default_rng(100 + seed)
    n, grid = int(rng.integers(1, 15)), 120
    f = rng.random(n) if seed % 3 else np.round(rng.random(n), 1)
    y = rng.integers(0, 2, n).astype(float) if seed % 4 else np.clip(f + rng.normal(0, 0.1, n), 0, 1)
    w = rng.random(n) + 0.05 if seed % 2 else None
    low, high = distance_to_calibration(y, f, sample_weight=w)
    distance = brute.distance_to_calibration(y, f, w, grid=grid)
    assert low - 1e-9 <= distance
    assert distance - 0.5 / grid <= high  # a grid of targets can only raise the distance, by half a step at most


def test_weak_calibration_error_of_many_scores_is_quick_and_right():
    """Breakpoints that pass back and forth made this quadratic; a linear programme on 300 scores guards the value."""
    rng = np.random.default_rng(6)
    f = rng.random(300_000)
    y = rng.random(len(f)) < f
    value = weak_calibration_error(y, f)
    assert 0 < value < 0.01
    few = slice(0, 300)
    assert weak_calibration_error(y[few], f[few]) == pytest.approx(brute.weak_calibration_error(y[few], f[few]), abs=1e-9)


@pytest.mark.parametrize("metric", [weak_calibration_error, distance_to_calibration])
def test_needs_rows(metric):
    with pytest.raises(NeedsRowsError):
        metric(summarize([0, 1], [0.2, 0.7]))
