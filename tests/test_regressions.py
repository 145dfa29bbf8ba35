"""Cases that were once wrong, each with the figure it must give."""

import subprocess
import sys

import brute
import numpy as np
import pytest

from trueness import (
    binned_ece,
    brier_score,
    decompose,
    ecce,
    ece_continuity_gap,
    logit_smoothed_ece,
    smooth_ece,
    smooth_ece_area,
    summarize,
    top_label,
    weak_calibration_error,
)
from trueness.errors import TruenessError


def test_errors_that_cancel_within_a_cell_still_count():
    """Σ|Σe| over cells does not bound the smoothed error: the fixed point may lie above it."""
    y = np.r_[np.ones(21200), np.zeros(78800), np.ones(50000), np.zeros(50000)].astype(int)
    f = np.r_[np.full(100000, 0.2), np.full(50000, 0.5), np.full(50000, 0.50006)]
    expected = smooth_ece([1, 0, 1, 0], [0.2, 0.2, 0.5, 0.50006], sample_weight=[21200, 78800, 50000, 50000])
    assert expected == pytest.approx(0.006871051437, rel=1e-9)
    assert smooth_ece(y, f) == pytest.approx(expected, rel=1e-8)
    assert smooth_ece_area(y, f) == pytest.approx(brute.smooth_ece_area(y[::50], f[::50]), rel=1e-6)


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_two_scores_in_one_cell_of_a_summary(scale):
    y, f = np.array([1, 0] * 50), np.array([0.5, 0.50006] * 50)
    expected = brute.smooth_ece(y, f, scale=scale)
    assert smooth_ece(y, f, scale=scale) == pytest.approx(expected, rel=1e-8)
    assert smooth_ece(summarize(y, f), scale=scale) == pytest.approx(expected, rel=1e-3)
    assert smooth_ece(summarize(y, f), bandwidth=0.01) == pytest.approx(smooth_ece(y, f, bandwidth=0.01), rel=1e-4)


@pytest.mark.parametrize("repeats", [1, 100_000])
def test_a_dipole_within_a_cell_at_a_fixed_bandwidth(repeats):
    y, f = np.tile([0.75, 0.25 + 2**-15], repeats), np.tile([0.5, 0.5 + 2**-15], repeats)
    expected = brute.smooth_ece_at(y[:2], f[:2], sigma=0.01)
    assert smooth_ece(y, f, bandwidth=0.01) == pytest.approx(expected, rel=1e-8)
    assert smooth_ece(summarize(y, f), bandwidth=0.01) == pytest.approx(expected, rel=1e-5)


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


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_small_float_labels_are_promoted_before_any_sum(dtype):
    rng = np.random.default_rng(0)
    f = rng.random(200_000)
    y = np.clip(f + 0.05 * rng.normal(size=len(f)), 0, 1).astype(dtype)
    for metric in (smooth_ece_area, smooth_ece, logit_smoothed_ece, brier_score):
        assert metric(y, f) == metric(y.astype(np.float64), f)


@pytest.mark.parametrize("bandwidth", [1e-10, 1e-9, 1e-6, 1e-3])
def test_uniform_noise_of_small_width(bandwidth):
    rng = np.random.default_rng(1)
    f = rng.random(1000)
    y = rng.random(1000) < f
    expected = np.abs(y - f).mean()  # no two scores meet; the sigmoid is flat over so short a piece
    assert logit_smoothed_ece(y, f, bandwidth=bandwidth, noise="uniform") == pytest.approx(
        expected, rel=1e-6 if bandwidth < 1e-4 else 0.5
    )


@pytest.mark.parametrize("score", [1 - 1e-9, 1e-7, 1e-9])
def test_brier_score_of_many_good_predictions(score):
    y = np.full(200_000, round(score))
    assert brier_score(y, np.full(200_000, score)) == pytest.approx((round(score) - score) ** 2, rel=1e-9)


def test_brier_score_of_a_soft_summary_of_matching_labels():
    f = np.random.default_rng(2).random(1000)
    assert brier_score(summarize(f, f)) == 0.0


@pytest.mark.parametrize("order", ["sorted by label", "interleaved"])
@pytest.mark.parametrize("n", [100_000, 1_000_000])
def test_a_constant_prediction_that_is_right_gives_zero_in_any_order(order, n):
    y = np.zeros(n, dtype=int)
    y[: 3 * n // 10] = 1
    if order == "interleaved":
        y = np.random.default_rng(3).permutation(y)
    f = np.full(n, 0.3)
    assert smooth_ece(y, f) == 0.0
    assert weak_calibration_error(y, f) < 1e-15
    result = ecce(y, f)
    assert result.range < 1e-15
    assert result.worst is None
    assert ecce(summarize(y, f)).worst is None


def test_degenerate_data_are_fast_enough_not_to_notice():
    assert smooth_ece([1, 1, 1] + [0] * 7, [0.3] * 10) == 0.0


def test_extreme_weights_count_alike_in_every_engine():
    n = 400_000
    w = np.where(np.arange(n) % 2 == 0, 1e300, 1e-300)
    f = np.random.default_rng(4).random(n)
    y = (f > 0.5).astype(int)
    summary = summarize(y, f, sample_weight=w)
    assert summary.n == n
    assert dict(summary.rejected) == {}


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


@pytest.mark.parametrize("bandwidth", [24.0, 100.0, 1e6])
def test_wide_bandwidths(bandwidth):
    assert smooth_ece([0, 1], [0.2, 0.7], bandwidth=bandwidth) == pytest.approx(0.05, rel=1e-12)


@pytest.mark.parametrize(
    "scale",
    [
        lambda x: x - 50 * np.abs(np.sin(np.pi * 1024 * x)),
        lambda x: np.floor(4096 * x) / 4096,
        np.log,
        lambda x: 1e308 * x,
        lambda x: float(x),
        lambda x: x[:-1],
        lambda x: -x,
        lambda x: np.full(len(x), np.nan),
    ],
)
def test_scales_that_are_not_increasing_functions(scale):
    rng = np.random.default_rng(5)
    f = rng.random(2000)
    with pytest.raises(TruenessError, match=r"scale: .*Pass a function"):
        smooth_ece(rng.random(2000) < f, f, scale=scale)


def test_a_scale_cannot_write_into_the_data():
    def double(x):
        x *= 2
        return x

    f = np.array([0.2, 0.4, 0.9])
    smooth_ece([0, 1, 1], f, scale=double)
    assert f.tolist() == [0.2, 0.4, 0.9]


@pytest.mark.parametrize("rng", [-1, "a", 1.5, True])
def test_bad_rng(rng):
    with pytest.raises(TruenessError, match="rng"):
        logit_smoothed_ece([0, 1], [0.2, 0.7], method="monte-carlo", rng=rng)


@pytest.mark.parametrize("bandwidth", [10**400, 1e4, 1e-12, np.complex128(1), "1", True])
def test_bad_bandwidth(bandwidth):
    with pytest.raises(TruenessError, match="bandwidth"):
        logit_smoothed_ece([0, 1], [0.2, 0.7], bandwidth=bandwidth)


def test_quantile_bins_have_no_closed_side_to_choose():
    with pytest.raises(TruenessError, match="closed"):
        binned_ece([0, 1], [0.2, 0.7], strategy="quantile", closed="right")


def test_messages_name_the_arguments_there_are():
    with pytest.raises(TruenessError, match="Pass truth and y_prob"):
        ece_continuity_gap(summarize([0], [0.5]), None)
    with pytest.raises(TruenessError, match="from_logits"):
        top_label([0], [[0.5, 0.5]], from_logits="no")


def test_a_summary_of_nothing_has_no_class():
    from trueness.summary.summary import empty_summary

    assert empty_summary().notes == ("too few rows: 0",)


def test_no_warning_escapes_with_warnings_as_errors():
    script = (
        "import numpy as np, trueness as t\n"
        "for y, f in [([0], [0.0]), ([1], [0.0]), ([1, 0], [1.0, 0.0]), ([0.5], [0.5]), ([1, 1], [1.0, 1.0])]:\n"
        "    s = t.summarize(y, f)\n"
        "    for d in ((y, f), (s,)):\n"
        "        for m in (t.binned_ece, t.smooth_ece, t.smooth_ece_area, t.logit_smoothed_ece, t.ecce, t.brier_score):\n"
        "            m(*d)\n"
        "    t.log_loss(y, f); t.decompose(y, f, score='log'); t.distance_to_calibration(y, f)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)


def test_weak_calibration_error_of_many_scores_is_quick_and_right():
    """Breakpoints that pass back and forth made this quadratic; a linear programme on 300 scores guards the value."""
    rng = np.random.default_rng(6)
    f = rng.random(300_000)
    y = rng.random(len(f)) < f
    value = weak_calibration_error(y, f)
    assert 0 < value < 0.01
    few = slice(0, 300)
    assert weak_calibration_error(y[few], f[few]) == pytest.approx(brute.weak_calibration_error(y[few], f[few]), abs=1e-9)


def test_summaries_can_be_pickled_and_copied():
    import copy
    import pickle

    summary = summarize([0, 1, np.nan], [0.2, 0.7, 0.1], nan="drop", bins=(12,))
    assert ecce(summary).n == 2  # what was worked out is not carried along
    for other in (pickle.loads(pickle.dumps(summary)), copy.deepcopy(summary)):  # noqa: S301
        assert other == summary
        assert other.rejected == summary.rejected
        assert other.ruler is summary.ruler


def test_swapped_arguments_are_noted():
    rng = np.random.default_rng(7)
    f = rng.random(100)
    assert any("swapped" in note for note in summarize(f, rng.random(100) < f).notes)


def test_saving_into_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere' is not a directory"):
        summarize([0], [0.5]).save(tmp_path / "nowhere" / "s.tns")
