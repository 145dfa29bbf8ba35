"""Draws from the cells of a weighted summary."""

import numpy as np
import pytest

from trueness import calibration_test, summarize
from trueness.data.points import points_of_summary


def weighted_points(f, w):
    return points_of_summary(summarize(np.arange(len(f)) % 2, f, sample_weight=w))


def drawn(points, draws=20_000):
    return points.sampler.null(np.random.default_rng(3), draws)


def require_variance(sums, variance):
    """Within five standard deviations, by the fourth moment."""
    fourth = np.mean(sums**4, axis=0) / variance**2
    assert (np.abs(sums.var(axis=0) / variance - 1) < 5 * np.sqrt(fourth / len(sums))).all()


def test_single_rows_are_drawn_as_they_are():
    f, w = np.array([0.01, 0.3, 0.75]), np.array([2.0, 0.5, 3.25])
    points = weighted_points(f, w)
    for column, score, weight in zip(drawn(points).T, f, w, strict=True):
        assert sorted(set(np.round(column, 9))) == pytest.approx([-weight * score, weight * (1 - score)])
        assert np.mean(column > 0) == pytest.approx(score, abs=4 * np.sqrt(score * (1 - score) / 20_000))


def test_two_rows_of_a_cell_are_drawn_as_they_are():
    f, w = np.array([0.25, 0.25]), np.array([1.0, 3.0])
    (column,) = drawn(weighted_points(f, w)).T
    values, counts = np.unique(np.round(column + 1, 9), return_counts=True)
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
    assert mean.min() >= -1e-9
    assert mean.max() <= 1 + 1e-9


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
