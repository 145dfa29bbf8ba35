"""Draws of points: sums of rows with weights, and cells of a weighted summary, against the rows one by one."""

import numpy as np
import pytest

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
