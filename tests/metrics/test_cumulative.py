"""ECCE against a full sort in extended precision, with ties collapsed."""

import dataclasses
import json
import math

import brute
import numpy as np
import pytest
from datasets import SAMPLES, sample

from trueness import ecce, ecce_mad, ecce_r, summarize

EXACT = {"abs": 1e-12, "rel": 0}  # DESIGN 4


@pytest.mark.parametrize("name", SAMPLES)
def test_values(name):
    y, f, w = sample(name)
    expected = brute.ecce(y, f, w)
    result = ecce(y, f, sample_weight=w)
    assert result.mad == pytest.approx(expected.mad, **EXACT)
    assert result.range == pytest.approx(expected.range, **EXACT)
    assert result.sigma == pytest.approx(expected.sigma, **EXACT)
    assert result.bracket is None
    assert ecce_mad(y, f, sample_weight=w) == result.mad
    assert ecce_r(y, f, sample_weight=w) == result.range


@pytest.mark.parametrize("seed", range(12))
def test_sizes_and_shapes(seed):
    rng = np.random.default_rng(seed)
    n = int(10 ** rng.uniform(0, 4.7))
    f = [rng.random(n), rng.beta(2, 200, n), np.round(rng.random(n), 2), rng.beta(0.1, 0.1, n)][seed % 4]
    y = (rng.random(n) < f).astype(float)
    expected = brute.ecce(y, f)
    assert ecce_mad(y, f) == pytest.approx(expected.mad, **EXACT)
    assert ecce_r(y, f) == pytest.approx(expected.range, **EXACT)
    w = rng.exponential(1, n)
    expected = brute.ecce(y, f, w)
    assert ecce_mad(y, f, sample_weight=w) == pytest.approx(expected.mad, **EXACT)
    assert ecce_r(y, f, sample_weight=w) == pytest.approx(expected.range, **EXACT)


@pytest.mark.parametrize("name", SAMPLES)
def test_worst_interval(name):
    y, f, w = sample(name)
    expected = brute.ecce(y, f, w)
    worst = ecce(y, f, sample_weight=w).worst
    if expected.range == 0:
        assert worst is None
        return
    assert abs(worst.share * worst.mean_gap) == pytest.approx(expected.range, **EXACT)
    if expected.unique:  # else rounding decides which of equal extremes is first
        assert (worst.low, worst.high) == (expected.low, expected.high)
        assert worst.share == pytest.approx(expected.share, **EXACT)
        assert worst.mean_gap == pytest.approx(expected.mean_gap, rel=1e-9)


def test_by_hand():
    # C = 0, -.1/4, -.5/4, -.1/4, 0: MAD = R = 0.125; worst interval from C_0 (score 0) to 0.4
    result = ecce([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])
    assert result.mad == pytest.approx(0.125, **EXACT)
    assert result.range == pytest.approx(0.125, **EXACT)
    assert (result.worst.low, result.worst.high) == (0.0, 0.4)
    assert result.worst.share == 0.5
    assert result.worst.mean_gap == pytest.approx(-0.25, **EXACT)
    assert result.sigma == pytest.approx(math.sqrt(0.09 + 0.24 + 0.24 + 0.09) / 4, **EXACT)


def test_range_counts_the_start():
    # C only rises: without C_0 the range would be smaller than the maximum
    result = ecce([1, 1], [0.25, 0.5])
    assert result.mad == result.range == 0.625
    assert (result.worst.low, result.worst.high, result.worst.share, result.worst.mean_gap) == (0.0, 0.5, 1.0, 0.625)


def test_interval_after_a_run_of_zeros():
    # C = 0, 1/3, .5/3, -.25/3: the upper extreme is the end of the run at score 0, whose row is outside (0, .75]
    result = ecce([1, 0, 0], [0.0, 0.5, 0.75])
    assert result.range == pytest.approx(1.25 / 3, **EXACT)
    assert (result.worst.low, result.worst.high) == (0.0, 0.75)
    assert result.worst.share == pytest.approx(2 / 3, **EXACT)
    assert result.worst.mean_gap == pytest.approx(-0.625, **EXACT)


def test_constant_prediction_in_label_order_does_not_look_miscalibrated():
    y = np.repeat([0.0, 1.0], [700, 300])
    assert ecce_r(y, np.full(1000, 0.3)) == pytest.approx(0.0, **EXACT)


def test_no_gap_no_interval():
    f = np.random.default_rng(3).random(100)
    result = ecce(f, f)
    assert (result.mad, result.range, result.worst, result.sigma) == (0.0, 0.0, None, 0.0)


def test_sigma_of_soft_labels():
    y, f, w = np.array([0.5, 1.0, 0.0]), np.array([0.25, 0.5, 0.5]), np.array([1.0, 2.0, 1.0])
    expected = math.sqrt(0.0625 + 4 * 0.25 + 0.25) / 4
    assert ecce(y, f, sample_weight=w).sigma == pytest.approx(expected, **EXACT)
    assert ecce(summarize(y, f, sample_weight=w)).sigma == pytest.approx(expected, **EXACT)
    # the soft row without weight is absent, so the labels are hard
    expected = math.sqrt(0.5) / 2
    assert ecce(y, f, sample_weight=[0.0, 1.0, 1.0]).sigma == pytest.approx(expected, **EXACT)


def test_result_is_frozen_and_travels_as_json():
    result = ecce([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.mad = 0.0
    there = json.loads(json.dumps(result.to_dict()))
    assert there["mad"] == result.mad
    assert there["range"] == result.range
    assert there["sigma"] == result.sigma
    assert there["worst"]["high"] == result.worst.high
    assert there["bracket"] is None
    assert "\n" not in repr(result)
    assert json.dumps(ecce(summarize([0, 1], [0.2, 0.7])).to_dict())


# ------------------------------------------------------------------------------------------------------ from a summary


def at_edges(y, f, w):
    """Extremes of C read at the ruler's edges only."""
    y, f, w = brute.rows(y, f, w)
    cell = brute.ruler_cell(f)
    order = np.argsort(cell, kind="stable")
    sums = np.cumsum((w * (y - f))[order].astype(np.longdouble)) / math.fsum(w)
    c = np.append(sums[np.append(np.diff(cell[order]) > 0, True)], 0)
    return float(np.abs(c).max()), float(c.max() - c.min())


@pytest.mark.parametrize("name", SAMPLES)
def test_from_a_summary(name):
    y, f, w = sample(name)
    summary = summarize(y, f, sample_weight=w)
    exact, (mad, spread) = brute.ecce(y, f, w), at_edges(y, f, w)
    result = ecce(summary)
    assert ecce_mad(summary) == result.mad == pytest.approx(mad, **EXACT)
    assert ecce_r(summary) == result.range == pytest.approx(spread, **EXACT)
    assert result.sigma == pytest.approx(exact.sigma, **EXACT)
    for (low, high), value in ((result.bracket.mad, exact.mad), (result.bracket.range, exact.range)):
        assert low <= value <= high
    assert result.bracket.mad[0] == pytest.approx(result.mad, abs=3e-13)
    assert result.bracket.range[0] == pytest.approx(result.range, abs=3e-13)
    if result.worst is not None:
        assert abs(result.worst.share * result.worst.mean_gap) == pytest.approx(result.range, **EXACT)


@pytest.mark.parametrize("name", ["uniform", "rare", "weighted", "soft"])
def test_parts_merge_to_the_whole(name):
    y, f, w = sample(name)
    parts = [summarize(y[i::3], f[i::3], sample_weight=None if w is None else w[i::3]) for i in range(3)]
    merged, whole = ecce(sum(parts)), ecce(summarize(y, f, sample_weight=w))
    if name in ("uniform", "rare"):
        assert merged == whole  # integer sums: the same bits
    for a, b in ((merged.bracket.mad, whole.bracket.mad), (merged.bracket.range, whole.bracket.range)):
        assert a == pytest.approx(b, **EXACT)


def test_bracket_is_tight_where_cells_hold_single_scores():
    y, f, _ = sample("rounded to 0.01")
    bracket = ecce(summarize(y, f)).bracket
    assert bracket.range[0] == pytest.approx(brute.ecce(y, f).range, **EXACT)


def test_bracket_of_one_crowded_cell():
    # both rows in one cell: C goes down by .3 and back up, the edges see only the sum
    f = np.array([0.3, 0.3 + 1e-9])
    result = ecce(summarize([0, 1], f))
    assert result.range == pytest.approx((0.7 - 0.3) / 2, abs=1e-8)
    assert result.bracket.range[1] >= ecce_r([0, 1], f)


def test_the_bracket_of_one_row_holds_its_value():
    exact = ecce([0], [0.4999954])
    bracket = ecce(summarize([0], [0.4999954])).bracket
    assert bracket.mad[0] <= exact.mad <= bracket.mad[1]
    assert bracket.range[0] <= exact.range <= bracket.range[1]


def test_the_worst_interval_of_a_summary_holds_the_scores_it_counts():
    f = np.array([0.2, 0.25 - 1e-9, 0.25, 0.3])
    worst = ecce(summarize([0, 0, 1, 1], f)).worst
    inside = (f > worst.low) & (f <= worst.high)
    assert inside.mean() == worst.share == 0.5
    assert inside.tolist() == [False, False, True, True]


# ----------------------------------------------------------------------------------------------------- rare, at size


def test_two_million_rare_events():
    rng = np.random.default_rng(12)
    f = rng.beta(5, 500, 2 * 10**6)
    y = (rng.random(len(f)) < 1.03 * f).astype(np.float64)
    _, c = brute.cumulative_differences(y, f)
    assert ecce_r(y, f) == pytest.approx(float(c.max() - c.min()), rel=0, abs=1e-13)
    assert ecce_mad(y, f) == pytest.approx(float(np.abs(c).max()), rel=0, abs=1e-13)


@pytest.mark.parametrize(
    ("spread", "ends"), [(1e-6, ("0.300000", "0.300001")), (3e-9, ("0.300000000", "0.300000003")), (0.0, ("0.30", "0.30"))]
)
def test_the_ends_of_a_short_range_are_told_apart(spread, ends):
    worst = ecce([1, 1, 1], [0.3, 0.3 + spread / 2, 0.3 + spread]).worst
    assert worst.ends == ends
