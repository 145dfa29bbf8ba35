"""Draws of points: sums of rows with weights, and cells of a weighted summary, against the rows one by one."""

import itertools

import numpy as np
import pytest

import trueness
from trueness import calibration_test, summarize
from trueness.data.points import FEW_POINTS, points_of_summary
from trueness.data.sample import as_sample

DRAWS = 10_000


def weighted(n, seed=0):
    """Rows of which some weigh a hundred times as much as others."""
    rng = np.random.default_rng(seed)
    f = 0.05 + 0.9 * rng.beta(1, 4, n)
    return (rng.random(n) < f).astype(float), f, rng.pareto(1.5, n) + 0.1


def moments(sums):
    """Variance, skewness and kurtosis of each column."""
    z = (sums - sums.mean(axis=0, dtype=float)) / sums.std(axis=0, dtype=float)
    return sums.var(axis=0, dtype=float), (z**3).mean(axis=0), (z**4).mean(axis=0)


@pytest.mark.parametrize("points", [40, FEW_POINTS + 1])
def test_sums_of_weighted_rows_have_the_moments_of_their_rows(points):
    y, f, w = weighted(30 * points)
    base = as_sample(y, f, w).points(rows=True)
    merged = base.merged(np.arange(0, len(base.score), 30))
    order = np.argsort(f)
    f, y, w = f[order], y[order], w[order] / w.mean()
    starts = np.arange(0, len(f), 30)
    for draw, variance, third in (
        (merged.sampler.null, w**2 * f * (1 - f), w**3 * f * (1 - f) * (1 - 2 * f)),
        (merged.sampler.flips, (w * (y - f)) ** 2, 0 * f),
    ):
        expected = np.add.reduceat(variance, starts)
        seen, skewness, _ = moments(draw(np.random.default_rng(1), DRAWS))
        assert seen / expected == pytest.approx(np.ones(points), abs=0.15)  # some sums are a single row's
        assert np.mean(seen / expected) == pytest.approx(1, abs=0.005)
        assert skewness == pytest.approx(np.add.reduceat(third, starts) / expected**1.5, abs=0.35)


def test_a_row_that_weighs_more_than_all_others_is_drawn_by_itself():
    rng = np.random.default_rng(2)
    f = np.sort(rng.random(60 * 600))
    w = np.ones(len(f))
    w[::60] = 50.0
    base = as_sample(rng.random(len(f)) < f, f, w).points(rows=True)
    merged = base.merged(np.arange(0, len(f), 60))
    heavy = 50 / w.mean()
    sums = merged.sampler.null(np.random.default_rng(3), 400)
    # An event of the heavy row moves the sum by its weight: two heaps, as far apart as that.
    middle = merged.sampler.flips(np.random.default_rng(3), 400)
    apart = [np.ptp(column) > 0.9 * heavy for column in (sums[:, 300], middle[:, 300])]
    near = np.abs(np.abs(middle[:, 300]) - heavy * np.abs((base.e / base.weight)[300 * 60])) < 0.35 * heavy
    assert all(apart)
    assert near.mean() > 0.95


def test_the_scale_of_weights_is_theirs_alone():
    y, f, w = weighted(500)
    one, other = (as_sample(y, f, scale * w).points(rows=True) for scale in (1.0, 1e200))
    assert np.allclose(one.e, other.e, rtol=1e-12)
    assert other.total == pytest.approx(500)


# Cells of a weighted summary


def weighted_points(f, w):
    return points_of_summary(summarize(np.arange(len(f)) % 2, f, sample_weight=w))


def drawn(points, draws=20_000):
    return points.sampler.null(np.random.default_rng(3), draws)


def require_variance(sums, variance):
    """Within five standard deviations, by the fourth moment."""
    fourth = np.mean(sums**4.0, axis=0) / variance**2
    assert (np.abs(sums.var(axis=0) / variance - 1) < 5 * np.sqrt(fourth / len(sums))).all()


def test_single_rows_are_drawn_as_they_are():
    f, w = np.array([0.01, 0.3, 0.75]), np.array([2.0, 0.5, 3.25])
    points = weighted_points(f, w)
    for column, score, weight in zip(drawn(points).T, f, w / w.mean(), strict=True):
        assert sorted(set(column.tolist())) == pytest.approx([-weight * score, weight * (1 - score)])
        assert np.mean(column > 0) == pytest.approx(score, abs=4 * np.sqrt(score * (1 - score) / 20_000))


def test_two_rows_of_a_cell_are_drawn_as_they_are():
    f, w = np.array([0.25, 0.25]), np.array([1.0, 3.0])
    (column,) = drawn(weighted_points(f, w)).T * w.mean()
    values, counts = np.unique(np.round(column + 1, 4), return_counts=True)
    assert values == pytest.approx([0, 1, 3, 4])
    chances = np.array([9, 3, 3, 1]) / 16
    assert counts / 20_000 == pytest.approx(chances, abs=0.015)


@pytest.mark.parametrize("rows", [3, 7, 50, 5000])
@pytest.mark.parametrize("score", [0.001, 0.2, 0.5, 0.97])
def test_many_rows_have_the_mean_and_the_variance_that_are_known(rows, score):
    w = np.random.default_rng(rows).pareto(1.5, rows) + 0.01
    points = weighted_points(np.full(rows, score), w)
    sums = drawn(points)
    require_variance(sums, points.binomial)
    assert abs(sums.mean()) < 4 * np.sqrt(points.binomial[0] / len(sums))
    mean = points.score + sums / points.weight
    assert mean.min() >= -1e-6
    assert mean.max() <= 1 + 1e-6


def test_groups_of_cells_have_the_sum_of_their_variances():
    rng = np.random.default_rng(5)
    points = weighted_points(rng.random(300), rng.exponential(size=300))
    merged = points.merged(np.arange(0, len(points.score), 7))
    require_variance(drawn(merged), merged.binomial)


@pytest.mark.parametrize("options", [{"noise": "uniform"}, {"bandwidth": 6.0}, {}], ids=str)
def test_a_weighted_summary_has_the_pvalue_of_its_rows(options):
    """LS-ECE with uniform or wide noise is drawn one by one, from mean outcomes: .003 and .993 where rows give .6 and .3."""
    rng = np.random.default_rng(0)
    f, w = rng.random(200), rng.exponential(size=200) + 0.1
    y = rng.random(200) < f
    asked = {"statistic": "logit_smoothed_ece", "options": options, "rng": 1, "resamples": 499}
    ours = calibration_test(summarize(y, f, sample_weight=w), **asked).pvalue
    rows = calibration_test(y, f, sample_weight=w, **asked).pvalue
    assert ours == pytest.approx(rows, abs=0.1)  # three standard deviations


# What draws of weighted rows decide: against sums over all outcomes, or brute force


def exact_p(y, f, w):
    """P(ECCE-R ≥ observed) over all outcomes of distinct or tied scores."""
    value = trueness.ecce_r(y, f, sample_weight=w)
    p = 0.0
    for outcome in itertools.product((0, 1), repeat=len(f)):
        chance = np.where(outcome, f, 1 - np.asarray(f)).prod()
        if chance and trueness.ecce_r(outcome, f, sample_weight=w) >= value - 1e-12:
            p += chance
    return p


@pytest.mark.parametrize(
    ("y", "f", "w"),
    [
        ([0, 1, 1], [0, 0.5, 1.0], [1, 0.7, 1.3]),  # every draw equals what was observed
        ([1, 1], [0.5, 0.5], [100, 1]),  # one row of a tie weighs more than the other
        ([0, 1, 0, 1], [0.2, 0.2, 0.2, 0.7], [1000, 1, 1, 5]),
    ],
)
def test_p_of_few_weighted_rows_is_the_sum_over_all_outcomes(y, f, w):
    p = calibration_test(y, f, sample_weight=w, method="simulated", resamples=9999, rng=0).pvalue
    assert p == pytest.approx(exact_p(y, f, w), abs=0.02)


def test_a_value_that_every_draw_has_is_no_evidence_and_no_error():
    f = np.r_[np.zeros(100), np.ones(99), 0.5]
    w = np.random.default_rng(11).uniform(0.5, 2, 200)
    for metric in ("binned_ece", "ecce_r", "ecce_mad", "smooth_ece"):
        assert calibration_test((f >= 0.5) * 1, f, sample_weight=w, statistic=metric, rng=0).pvalue == 1
        assert trueness.confidence_interval((f >= 0.5) * 1, f, sample_weight=w, metric=metric, rng=0).low == 0


def test_rows_beside_one_that_outweighs_them_are_drawn_one_by_one():
    w = np.ones(30)
    w[0] = 1000
    f, rng = np.full(30, 0.01), np.random.default_rng(0)
    value = abs(np.average(-f, weights=w))
    brute = [abs(np.average((rng.random(30) < f) - f, weights=w)) >= value - 1e-12 for _ in range(20_000)]
    p = calibration_test(np.zeros(30, int), f, sample_weight=w, method="simulated", resamples=9999, rng=0).pvalue
    assert p == pytest.approx(np.mean(brute), abs=0.02)


def test_weights_further_apart_than_squares_can_be_are_drawn_from_a_summary():
    rng = np.random.default_rng(0)
    f = rng.random(300)
    sums = summarize(rng.random(300) < f, f, sample_weight=np.where(np.arange(300) % 2, 1e-163, 1.0))
    assert 0 < calibration_test(sums, method="simulated", rng=0, resamples=99).pvalue <= 1
    assert trueness.noise_floor(sums, resamples=99, rng=0) > 0


def test_groups_of_weighted_cells_are_no_noisier_than_their_rows():
    rng = np.random.default_rng(3)
    f, w = rng.beta(2, 200, 2000), rng.pareto(1.5, 2000) + 0.2
    y = rng.random(2000) < f
    for metric in ("binned_ece", "smooth_ece"):
        floors = [
            trueness.noise_floor(*data, metric=metric, rng=1, **weights)
            for data, weights in (((y, f), {"sample_weight": w}), ((summarize(y, f, sample_weight=w),), {}))
        ]
        assert floors[1] == pytest.approx(floors[0], rel=0.06)
