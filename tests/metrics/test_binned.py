"""Binned errors against MATH 2 written out bin by bin, and the known values of the papers."""

import math

import brute
import numpy as np
import pytest
from datasets import SAMPLES, sample
from pairs import pairwise

from trueness import binned_ece, soft_mean_ece, summarize
from trueness.errors import NeedsRowsError, TruenessError
from trueness.summary.ruler import ruler

EXACT = {"abs": 1e-12, "rel": 0}  # DESIGN 4

BINS = {"few": (1, 2, 3, 4, 5), "some": (7, 10, 12, 15, 20, 25, 33, 37), "many": (50, 100, 256, 1000, 2**14)}
CELLS = {"left": {}, "right": {"closed": "right"}, "quantile": {"strategy": "quantile"}}


@pairwise("name, number, cells, norm, weighting", SAMPLES, BINS, CELLS, ("l1", "l2", "max"), ("mass", "width"))
def test_values(name, number, cells, norm, weighting):
    """From rows; where bins are unions of cells also from a summary that was asked for them, and from a plain one."""
    y, f, w = sample(name)
    options = {**CELLS[cells], "norm": norm, "weighting": weighting}
    for bins in BINS[number]:
        expected = pytest.approx(brute.binned_ece(y, f, w, bins=bins, **options), **EXACT)
        assert binned_ece(y, f, bins=bins, sample_weight=w, **options) == expected, bins
        if cells == "left":
            assert binned_ece(summarize(y, f, sample_weight=w, bins=(bins,)), bins=bins, **options) == expected, bins
            if ruler().has(bins):
                assert binned_ece(summarize(y, f, sample_weight=w), bins=bins, **options) == expected, bins


HARD = ("uniform", "skewed", "rounded to 0.1", "exact ends", "17 rows", "1 row", "all wrong")


@pairwise("name, source, bins", HARD, ("uniform", "quantile", "summary"), (1, 5, 15, 100))
def test_debias(name, source, bins):
    y, f, _ = sample(name)
    strategy = "quantile" if source == "quantile" else "uniform"
    expected = brute.binned_ece(y, f, bins=bins, strategy=strategy, norm="l2", debias=True)
    data = (summarize(y, f, bins=(bins,)),) if source == "summary" else (y, f)
    # Compared before the square root: the root of a total near zero would magnify its last digits.
    value = binned_ece(*data, bins=bins, strategy=strategy, norm="l2", debias=True)
    assert value**2 == pytest.approx(expected**2, **EXACT)


def test_debiased_total_below_zero_is_zero():
    assert binned_ece([0, 1] * 50, [0.5] * 100, norm="l2", debias=True) == 0.0


def test_by_hand():
    # bins [0,.5) and [.5,1]: gaps |0 - .25| and |1 - .75|, half of the rows each
    y, f = [0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9]
    assert binned_ece(y, f, bins=2) == pytest.approx(0.25, **EXACT)
    assert binned_ece(y, f, bins=2, norm="l2") == pytest.approx(0.25, **EXACT)
    assert binned_ece(y, f, bins=1) == pytest.approx(0.0, **EXACT)


@pytest.mark.parametrize("m", [10, 15, 49, 100, 2**14 - 1])
def test_every_edge_and_the_floats_beside_it(m):
    edges = np.arange(m + 1) / m
    f = np.unique(np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, 1)]))
    y = np.random.default_rng(m).integers(0, 2, len(f)).astype(float)
    assert binned_ece(y, f, bins=m) == pytest.approx(brute.binned_ece(y, f, bins=m), **EXACT)
    if m <= 100:
        right = brute.binned_ece(y, f, bins=m, closed="right")
        assert binned_ece(y, f, bins=m, closed="right") == pytest.approx(right, **EXACT)


def test_equal_scores_never_straddle_a_quantile_boundary():
    rng = np.random.default_rng(7)
    f = np.round(rng.random(1000), 1)
    y = np.sort(rng.integers(0, 2, 1000)).astype(float)
    order = rng.permutation(1000)
    for bins in (3, 10, 15):
        a = binned_ece(y, f, bins=bins, strategy="quantile")
        assert a == pytest.approx(binned_ece(y[order], f[order], bins=bins, strategy="quantile"), **EXACT)


def test_quantile_bins_of_equal_size_when_scores_differ():
    f = (np.arange(12) + 0.5) / 12
    y = np.array([0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1.0])
    expected = np.abs((y - f).reshape(4, 3).sum(axis=1)).sum() / 12
    assert binned_ece(y, f, bins=4, strategy="quantile") == pytest.approx(expected, **EXACT)


# ------------------------------------------------------------------------------------------------------ soft labels


@pairwise("n, weighted, norm, strategy", (1, 7, 1000), (False, True), ("l1", "l2", "max"), ("uniform", "quantile"))
def test_labels_matched_give_exactly_zero(n, weighted, norm, strategy):
    rng = np.random.default_rng(n)
    f = rng.random(n)
    w = rng.random(n) + 0.1 if weighted else None
    assert soft_mean_ece(f, f.copy(), sample_weight=w) == 0.0
    assert soft_mean_ece(summarize(f, f.copy(), sample_weight=w)) == 0.0
    assert binned_ece(f, f, norm=norm, strategy=strategy, sample_weight=w) == 0.0


def test_hard_predictions_that_are_right_give_exactly_zero():
    y = np.array([0, 1, 1, 0, 1.0])
    assert soft_mean_ece(y, y) == 0.0


@pytest.mark.parametrize("name", SAMPLES)
def test_soft_mean_ece(name):
    """Its own default of ten bins, and any number; with these bins it is ECE, also on binary labels."""
    y, f, w = sample(name)
    assert soft_mean_ece(y, f, sample_weight=w) == binned_ece(y, f, bins=10, sample_weight=w)
    for bins in (1, 10, 33):
        expected = brute.soft_mean_ece(y, f, w, bins=bins)
        assert soft_mean_ece(y, f, bins=bins, sample_weight=w) == pytest.approx(expected, **EXACT), bins


def test_floor_of_proposition_3():
    # MATH 2: f = sigmoid(2x), x uniform on (-3, 3), label 1[x >= 0], ten bins
    x = (np.arange(10**6) + 0.5) / 10**6 * 6 - 3
    f = 1 / (1 + np.exp(-2 * x))
    floor = (math.log(2) - math.log1p(math.exp(-6))) / 6
    assert floor == pytest.approx(0.11511, abs=5e-6)
    assert soft_mean_ece((x >= 0).astype(np.float64), f) == pytest.approx(floor, rel=5e-5)
    assert soft_mean_ece(f, f) == 0.0


def test_two_points_alternate_with_the_parity_of_the_bins():
    # LS-ECE paper, section 6.1: x = -1/2 with label 0, x = 1/2 with label 1, f = sigmoid(x / 1000)
    x = np.repeat([-0.5, 0.5], 500)
    f = 1 / (1 + np.exp(-1e-3 * x))
    y = (x > 0).astype(np.float64)
    for bins in range(1, 101):
        assert binned_ece(y, f, bins=bins) == pytest.approx(0.5 if bins % 2 == 0 else 0.0, abs=3e-4), bins


@pytest.mark.parametrize("n", [5 * 10**6, pytest.param(4 * 10**7, marks=pytest.mark.full)])
def test_millions_of_float32_rows(n):
    f = np.full(n, 0.3, dtype=np.float32)
    y = np.zeros(n, dtype=np.uint8)
    y[::10] = y[3::10] = y[7::10] = 1
    value = binned_ece(y, f)
    assert value < 1e-6
    assert value == pytest.approx(abs(0.3 - float(np.float32(0.3))), **EXACT)


# ----------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("bins", [0, -1, 2.5, True, 2**14 + 1, "10", None])
def test_bins_not_allowed(bins):
    for metric in (binned_ece, soft_mean_ece):
        with pytest.raises(TruenessError, match="bins"):
            metric([0, 1], [0.2, 0.7], bins=bins)


@pytest.mark.parametrize("option", ["norm", "strategy", "closed", "weighting"])
def test_unknown_choice(option):
    with pytest.raises(TruenessError, match=f"(?s){option}.*median"):
        binned_ece([0, 1], [0.2, 0.7], **{option: "median"})


@pytest.mark.parametrize(
    ("y", "options"),
    [
        ([0, 1], {"norm": "l1"}),
        ([0, 1], {"norm": "max"}),
        ([0.5, 1], {"norm": "l2"}),
        ([0, 1], {"norm": "l2", "sample_weight": [1.0, 2.0]}),
    ],
)
def test_debias_needs_l2_hard_labels_and_no_weights(y, options):
    with pytest.raises(TruenessError, match="debias"):
        binned_ece(y, [0.2, 0.7], debias=True, **options)


def test_debias_from_a_soft_or_weighted_summary():
    for summary in (summarize([0.5, 1], [0.2, 0.7]), summarize([0, 1], [0.2, 0.7], sample_weight=[1.0, 2.0])):
        with pytest.raises(TruenessError, match="debias"):
            binned_ece(summary, norm="l2", debias=True)


@pytest.mark.parametrize("options", [{"strategy": "quantile"}, {"closed": "right"}])
def test_needs_rows(options):
    with pytest.raises(NeedsRowsError):
        binned_ece(summarize([0, 1], [0.2, 0.7]), **options)


def test_quantile_bins_have_no_closed_side_to_choose():
    with pytest.raises(TruenessError, match="closed"):
        binned_ece([0, 1], [0.2, 0.7], strategy="quantile", closed="right")


def test_summary_without_the_bins():
    with pytest.raises(TruenessError, match=r"bins=\(12,\)"):
        binned_ece(summarize([0, 1], [0.2, 0.7]), bins=12)
    with pytest.raises(TruenessError, match=r"bins=\(12,\)"):
        soft_mean_ece(summarize([0, 1], [0.2, 0.7], bins=(37,)), bins=12)


def test_misspelt_option():
    with pytest.raises(TypeError):
        binned_ece([0, 1], [0.2, 0.7], n_bins=3)
