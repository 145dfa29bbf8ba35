"""The local curve against lines fitted by least squares, and against the truth."""

import json

import numpy as np
import pytest
from scipy.stats import binomtest

from trueness import TruenessError, reliability_curve, summarize
from trueness.curves.local_curve import ENOUGH, local_curve, local_curves, window_of
from trueness.data.sample import as_sample
from trueness.data.scales import LOGIT, PROBABILITY
from trueness.demo import HIGH, LOW, make_demo, true_probability
from trueness.smoothing.local import _left_out, chosen_bandwidths, local_weights, scale_for


def rows(kind: str, n: int = 400, seed: int = 0):
    rng = np.random.default_rng(seed)
    f = rng.random(n)
    y = (rng.random(n) < f**1.3).astype(float)
    if kind == "soft":
        y = np.clip(f + rng.normal(0, 0.1, n), 0, 1)
    return y, f, rng.exponential(1, n) if kind == "weights" else None


def least_squares(t, y, f, w, x, h):
    """The value at t of the line that fits best near it."""
    kernel = np.exp(-0.5 * ((x(f) - x(np.array([t]))) / h) ** 2) * w
    design = np.stack([np.ones(len(f)), f - t], axis=1)
    return np.linalg.lstsq(design * np.sqrt(kernel)[:, None], y * np.sqrt(kernel), rcond=None)[0][0]


@pytest.mark.parametrize("kind", ["plain", "weights", "soft"])
@pytest.mark.parametrize("scale", [PROBABILITY, LOGIT])
def test_it_is_the_line_that_fits_best_near_each_score(kind, scale) -> None:
    y, f, w = rows(kind)
    points, w = as_sample(y, f, w).points(), np.ones(len(f)) if w is None else w
    t = np.array([0.02, 0.3, 0.5, 0.97])
    for h in (0.1, 0.5):
        local = local_weights(t, points, scale, h)
        expected = [least_squares(at, y, f, w, scale.position, h) for at in t]
        np.testing.assert_allclose(t + local.weights @ points.e, expected, atol=1e-9)
        kernel = np.exp(-0.5 * ((scale.position(f) - scale.position(t)[:, None]) / h) ** 2) * w
        np.testing.assert_allclose(local.near, kernel.sum(axis=1) ** 2 / (kernel**2).sum(axis=1), rtol=1e-9)
        found = local_curve(y, f, sample_weight=w, bandwidth=h, scale=scale.name)
        drawn = found.score[::64]
        brute = np.clip([least_squares(at, y, f, w, scale.position, h) for at in drawn], 0, 1)
        seen = ~np.isnan(found.outcome[::64])
        np.testing.assert_allclose(found.outcome[::64][seen], brute[seen], atol=1e-3)


@pytest.mark.parametrize("bandwidth", [None, 0.01, 0.3])
def test_straight_lines_come_out_as_they_are(bandwidth) -> None:
    f = np.random.default_rng(0).random(3000)
    for base, slope in ((0.0, 1.0), (0.1, 0.7)):
        found = local_curve(base + slope * f, f, bandwidth=bandwidth)
        seen = ~np.isnan(found.outcome)
        np.testing.assert_allclose(found.outcome[seen], base + slope * found.score[seen], atol=1e-9)


def test_cross_validation_leaves_each_row_out() -> None:
    y, f, w = rows("weights", 60)
    points = as_sample(y, f, w).points()
    w = w / w.mean()
    for h in (0.1, 0.4):
        left = [
            (y[i] - least_squares(f[i], np.delete(y, i), np.delete(f, i), np.delete(w, i), PROBABILITY.position, h)) ** 2
            for i in range(60)
        ]
        assert _left_out(points, PROBABILITY, np.array([h])).loss[0] == pytest.approx(np.average(left, weights=w), rel=1e-9)


def test_the_bandwidth_is_the_widest_within_a_standard_error_of_the_best() -> None:
    wide, best = [], []
    for seed in range(5):
        y, f, _ = rows("plain", 2000, seed)
        widths = chosen_bandwidths([as_sample(y, f).points()], PROBABILITY, ENOUGH)
        assert widths.steady >= widths.best
        wide.append(widths.steady)
        best.append(widths.best)
    assert np.ptp(np.log(wide)) <= np.ptp(np.log(best))


def test_one_bandwidth_and_one_scale_for_all_that_are_compared() -> None:
    y, f, _ = rows("plain", 3000)
    a, b = local_curves([as_sample(y, f), as_sample(y, np.clip(f**3, 0, 1))])
    assert (a.bandwidth, a.scale) == (b.bandwidth, b.scale)
    low, high = window_of([a, b])
    assert (low, high) == (0.0, 1.0)


@pytest.mark.parametrize("kind", ["plain", "weights", "soft"])
def test_a_summary_gives_the_same_curve(kind) -> None:
    y, f, w = rows(kind, 3000)
    one, other = local_curve(y, f, sample_weight=w), local_curve(summarize(y, f, sample_weight=w))
    assert other.bandwidth == pytest.approx(one.bandwidth, rel=1e-3)
    assert other.scale == one.scale
    np.testing.assert_allclose(other.outcome, one.outcome, atol=1e-3)
    np.testing.assert_allclose(other.confidence_low, one.confidence_low, atol=2e-3)


def test_whole_number_weights_count_as_rows() -> None:
    y, f, _ = rows("plain", 200)
    twice = np.repeat(np.arange(200), 3)
    a = local_curve(y[twice], f[twice], bandwidth=0.1)
    b = local_curve(y, f, sample_weight=np.full(200, 3.0), bandwidth=0.1)
    np.testing.assert_allclose(a.outcome[~np.isnan(b.outcome)], b.outcome[~np.isnan(b.outcome)], atol=1e-12)
    np.testing.assert_allclose(a.effective, 3 * b.effective)


def test_scores_that_crowd_at_the_ends_are_smoothed_in_logits() -> None:
    rng = np.random.default_rng(0)
    for f, scale in ((rng.random(500), PROBABILITY), (rng.beta(2, 200, 500), LOGIT), (rng.beta(8, 0.5, 500), LOGIT)):
        assert scale_for([as_sample(np.zeros(500), f).points()]) is scale


def test_it_is_drawn_where_the_kernel_holds_enough_rows() -> None:
    rng = np.random.default_rng(0)
    f = np.concatenate([rng.uniform(0.2, 0.4, 400), [0.9, 0.95]])
    found = local_curve((rng.random(402) < f).astype(int), f, bandwidth=0.02)
    held = np.exp(-0.5 * ((found.score[:, None] - f) / 0.02) ** 2)
    held = held.sum(axis=1) ** 2 / (held**2).sum(axis=1)
    np.testing.assert_array_equal(np.isnan(found.outcome), found.effective < ENOUGH)
    sure = np.abs(held - ENOUGH) > 0.5
    np.testing.assert_array_equal(np.isnan(found.outcome)[sure], (held < ENOUGH)[sure])
    for column in (found.confidence_low, found.consistency_high, found.simultaneous_low):
        np.testing.assert_array_equal(np.isnan(column), np.isnan(found.outcome))


def test_between_far_scores_nothing_is_drawn() -> None:
    f = np.concatenate([np.linspace(0.1, 0.11, 60), np.linspace(0.9, 0.91, 60)])
    found = local_curve((np.arange(120) % 3 == 0).astype(int), f, bandwidth=0.004)
    between = (found.score > 0.15) & (found.score < 0.85)
    assert np.isnan(found.outcome[between]).all()
    assert not np.isnan(found.outcome[[0, -1]]).any()


def test_few_scores_are_dots_with_exact_intervals() -> None:
    rng = np.random.default_rng(0)
    f = rng.integers(0, 11, 800) / 10
    y = (rng.random(800) < f).astype(int)
    found = local_curve(y, f)
    assert found.dots
    assert np.isnan(found.bandwidth)
    for k, score in enumerate(found.score):
        here = y[f == score]
        exact = binomtest(int(here.sum()), len(here)).proportion_ci(method="exact")
        assert found.outcome[k] == pytest.approx(here.mean())
        assert (found.confidence_low[k], found.confidence_high[k]) == pytest.approx((exact.low, exact.high), abs=1e-7)
    assert local_curve([0, 1, 1], [0.2, 0.5, 0.7]).dots  # a curve would be drawn nowhere
    assert not local_curve(y[:30], rng.random(30)).dots


def test_the_band_of_perfect_predictions_holds_at_each_score_or_everywhere() -> None:
    """Against outcomes drawn afresh, by the kernel's definition."""
    _, f, _ = rows("plain", 500)
    found = local_curve((f > 0.5).astype(float), f, bandwidth=0.1)
    t, seen = found.score[::8], ~np.isnan(found.outcome[::8])
    points = as_sample(np.zeros(500), f).points()
    weights = local_weights(t, points, PROBABILITY, 0.1).weights[seen]
    drawn = (np.random.default_rng(1).random((4000, 500)) < points.score) - points.score
    curves = np.clip(t[seen] + drawn @ weights.T, 0, 1)
    inside = (curves >= found.consistency_low[::8][seen] - 1e-9) & (curves <= found.consistency_high[::8][seen] + 1e-9)
    assert 0.935 <= inside.mean() <= 0.965
    low, high = found.simultaneous_low[::8][seen], found.simultaneous_high[::8][seen]
    everywhere = ((curves >= low - 1e-9) & (curves <= high + 1e-9)).all(axis=1).mean()
    assert 0.93 <= everywhere <= 0.97


def test_simultaneous_bands_are_wider() -> None:
    y, f, _ = rows("plain", 1000)
    each, everywhere = local_curve(y, f), local_curve(y, f, band="simultaneous")
    np.testing.assert_array_equal(everywhere.consistency_low, each.simultaneous_low)
    np.testing.assert_array_equal(everywhere.outcome, each.outcome)
    assert (everywhere.confidence_high >= each.confidence_high).all()
    assert (everywhere.confidence_high - everywhere.confidence_low).mean() > 1.2 * (
        each.confidence_high - each.confidence_low
    ).mean()
    soft, _, _ = rows("soft", 1000)
    wide = local_curve(soft, f, band="simultaneous")
    assert np.isnan(wide.consistency_low).all()
    assert (wide.confidence_low <= local_curve(soft, f).confidence_low).all()


def thinned():
    """The gallery's example: all events kept, and one in twenty of the others."""
    rng = np.random.default_rng(0)
    score = rng.beta(1, 30, 400_000)
    happened = rng.random(400_000) < score
    kept = happened | (rng.random(400_000) < 0.05)
    return happened[kept].astype(int), score[kept]


def test_the_curve_of_thinned_negatives_is_the_truth() -> None:
    y, f = thinned()
    found = local_curve(y, f)
    near = np.diff(np.searchsorted(np.sort(f), [found.score - 0.02, found.score + 0.02]), axis=0)[0]
    seen = (near >= 200) & ~np.isnan(found.outcome)
    assert found.score[seen].max() > 0.15
    truth = found.score / (found.score + 0.05 * (1 - found.score))
    assert np.abs(found.outcome - truth)[seen].max() < 0.03


def test_the_curve_of_the_demonstration_is_the_truth_but_for_its_jumps() -> None:
    y, f, _ = make_demo()
    found = local_curve(y, f)
    away = np.minimum(np.abs(found.score - LOW), np.abs(found.score - HIGH)) > 0.03
    assert np.abs(found.outcome - true_probability(found.score))[away].max() < 0.03


@pytest.mark.parametrize(
    "data",
    [
        ([1], [0.3]),
        ([0, 1] * 50, [0.0, 1.0] * 50),
        ([0, 1, 1] * 30, [0.3] * 90),
        ([1] * 60, list(np.linspace(0, 1, 60))),
        ([0] * 99 + [1], list(1 - np.geomspace(1e-15, 1e-2, 100))),
        ([0] * 99 + [1], list(np.geomspace(1e-300, 1e-2, 100))),
    ],
    ids=["one row", "ends", "constant", "one class", "saturated", "tiny"],
)
def test_extreme_data(data) -> None:
    for given in (data, (summarize(*data),)):
        found = local_curve(*given)
        json.dumps(found.to_dict(), allow_nan=False)
        seen = ~np.isnan(found.outcome)
        assert (found.confidence_low[seen] <= found.outcome[seen] + 1e-12).all()
        assert (found.outcome[seen] <= found.confidence_high[seen] + 1e-12).all()
        assert 0 <= found.window[0] < found.window[1] <= 1
        found.plot()


def test_one_heavy_row_leaves_nothing_to_draw() -> None:
    y, f, _ = rows("plain", 100)
    w = np.ones(100)
    w[7] = 1e9
    found = local_curve(y, f, sample_weight=w, bandwidth=0.5)
    assert np.isnan(found.outcome).all()
    assert "fewer than 20 rows near any score" in [text.get_text() for text in found.plot().texts]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"band": "both"}, "band: 'both' is not one of"),
        ({"scale": "log"}, "scale: 'log' is not one of"),
        ({"bandwidth": "smooth_ece"}, "bandwidth: 'smooth_ece' is not a positive number"),
        ({"kind": "smooth", "band": "pointwise"}, 'band: kind="smooth" has no such option'),
        ({"kind": "smooth", "scale": "logit"}, 'scale: kind="smooth" has no such option'),
    ],
)
def test_bad_options_are_named(options, says) -> None:
    with pytest.raises(TruenessError, match=says):
        reliability_curve([0, 1], [0.2, 0.7], **options)


def test_the_curve_of_smooth_ece_can_be_asked_for_by_name() -> None:
    y, f, _ = rows("plain")
    a, b = (reliability_curve(y, f, kind="smooth", bandwidth=width) for width in (None, "smooth_ece"))
    assert a.to_dict() == b.to_dict()


@pytest.mark.full
@pytest.mark.parametrize(("world", "n"), [("uniform", 1000), ("rare", 5000), ("wave", 3000), ("ends", 2000)])
def test_the_confidence_band_covers_the_truth(world, n) -> None:
    covered = drawn = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        f = {"rare": rng.beta(2, 200, n), "ends": rng.beta(0.3, 0.3, n)}.get(world, rng.random(n))
        wave = 0.06 if world == "wave" else 0.0
        scale = 1.5 if world == "rare" else 1.0
        truth = lambda t, s=scale, a=wave: np.clip(s * t + a * np.sin(4 * np.pi * t), 0, 1)  # noqa: E731
        found = local_curve((rng.random(n) < truth(f)).astype(int), f)
        seen = ~np.isnan(found.outcome)
        at = truth(found.score[seen])
        covered += ((found.confidence_low[seen] <= at) & (at <= found.confidence_high[seen])).sum()
        drawn += seen.sum()
    assert covered / drawn >= 0.9
