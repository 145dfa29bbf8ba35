"""Draws of points: sums of rows with weights, put together as they are, against the rows one by one."""

import numpy as np
import pytest

from trueness.data.points import FEW_POINTS
from trueness.data.sample import as_sample

DRAWS = 20_000


def weighted(n, seed=0):
    """Rows of which some weigh a hundred times as much as others."""
    rng = np.random.default_rng(seed)
    f = 0.05 + 0.9 * rng.beta(1, 4, n)
    return (rng.random(n) < f).astype(float), f, rng.pareto(1.5, n) + 0.1


def moments(sums):
    """Variance, skewness and kurtosis of each column."""
    z = (sums - sums.mean(axis=0, dtype=float)) / sums.std(axis=0, dtype=float)
    return sums.var(axis=0, dtype=float), (z**3).mean(axis=0), (z**4).mean(axis=0)


@pytest.mark.parametrize("points", [40, FEW_POINTS + 40])
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
        assert seen / expected == pytest.approx(np.ones(points), abs=0.12)  # some sums are a single row's
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
