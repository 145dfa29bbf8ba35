"""Draws smoothed on a grid, against sums over the points themselves."""

import numpy as np
import pytest

from trueness.smoothing.draws import DrawGrid, by_point, crossing_sizes, linear_integrals, mean_sizes, middles, nodes_for


def reflected(t, x, sigma):
    """Σ over images of the Gaussian kernel between every t and every x."""
    images = sum(np.exp(-0.5 * ((t[:, None] - sign * x + 2 * k) / sigma) ** 2) for k in range(-6, 7) for sign in (1, -1))
    return images / (sigma * np.sqrt(2 * np.pi))


def smoothed(grid, e, sigma, nodes=8):
    """Draws at the middles of cells, and these."""
    g = grid.rung(sigma, nodes).smoothed(grid.coefficients(by_point(e)))
    return g, middles(g.shape[1])


@pytest.mark.parametrize("sigma", [0.01, 0.05, 0.4, 1.5])
@pytest.mark.parametrize("points", ["uniform", "ends", "one"])
def test_smoothed_draws_are_sums_of_kernels(sigma, points):
    rng = np.random.default_rng(0)
    x = {"uniform": np.sort(rng.random(300)), "ends": np.array([0.0, 0.3, 1.0]), "one": np.array([0.37])}[points]
    e = rng.standard_normal((5, len(x)))
    g, t = smoothed(DrawGrid(x, 0.01, 7.0, reach=6.0), e, sigma)
    exact = e @ reflected(t, x, sigma).T / 7
    # The variance of two nodes, on average a sixth of a step squared, is taken out: too much for a point that is on a node.
    assert np.abs(g - exact).max() <= ((0.0025 / sigma) ** 2 / 9 + 1e-6) * np.abs(exact).max()


def test_what_two_nodes_smooth_is_taken_out():
    x = (160 + (np.arange(100) + 0.5) / 100) / 400  # every place within a step
    g, t = smoothed(DrawGrid(x, 0.01, 100.0, reach=6.0), np.ones((1, 100)), 0.01)
    exact = reflected(t, x, 0.01).mean(axis=1)
    assert np.abs(g[0] - exact).max() <= 2e-4 * exact.max()  # left in, they would make the peak 0.5 % lower


@pytest.mark.parametrize(("reach", "nodes"), [(5.3, 2), (3.2, 1)])
def test_integrals_of_draws_are_right_on_average(reach, nodes):
    rng = np.random.default_rng(1)
    x = np.sort(rng.random(2000))
    masses = by_point(rng.standard_normal((2000, 2000)))
    rough, fine = DrawGrid(x, 0.02, 1.0, reach=reach), DrawGrid(x, 0.02, 1.0, reach=5.3)
    ratio = rough.rung(0.02, nodes).norms(rough.coefficients(masses)) / fine.rung(0.02, 64).norms(fine.coefficients(masses))
    assert np.mean(ratio) == pytest.approx(1, abs=5e-4)
    assert np.std(ratio) < 0.01


def test_the_midpoint_rule_and_the_one_that_is_exact_for_lines():
    g = np.array([[1.0, -1.0, 3.0], [-2.0, -2.0, 0.0]])
    assert mean_sizes(g.copy()).tolist() == pytest.approx([5 / 3, 4 / 3])
    # Between the middles as by lines, and before the first and after the last as at these.
    flat = (np.abs(g[:, 0]) + np.abs(g[:, -1])) / 2
    assert crossing_sizes(g.copy()) == pytest.approx((linear_integrals(g, 1.0) + flat) / 3)
    # From 1 to −1 a line encloses ½, from −1 to 3 it encloses ¼ · ½ · 1 + ¾ · ½ · 3.
    assert linear_integrals(g, 1.0).tolist() == pytest.approx([0.5 + 0.125 + 1.125, 3.0])


def test_few_rows_are_looked_at_closely():
    assert nodes_for(64) > nodes_for(65)
