"""Draws smoothed on a grid, against sums over the points themselves."""

import numpy as np
import pytest

from trueness.smoothing.draws import DrawGrid, crossing_sizes, linear_integrals, mean_sizes, nodes_for


def reflected(t, x, sigma):
    """Σ over images of the Gaussian kernel between every t and every x."""
    images = sum(np.exp(-0.5 * ((t[:, None] - sign * x + 2 * k) / sigma) ** 2) for k in range(-6, 7) for sign in (1, -1))
    return images / (sigma * np.sqrt(2 * np.pi))


@pytest.mark.parametrize("sigma", [0.01, 0.05, 0.4, 1.5])
@pytest.mark.parametrize("points", ["uniform", "ends", "one"])
def test_smoothed_draws_are_sums_of_kernels(sigma, points):
    rng = np.random.default_rng(0)
    x = {"uniform": np.sort(rng.random(300)), "ends": np.array([0.0, 0.3, 1.0]), "one": np.array([0.37])}[points]
    e = rng.standard_normal((5, len(x)))
    grid = DrawGrid(x, 0.01, 7.0, reach=6.0)
    g = grid.smoothed(grid.coefficients(e), sigma, nodes=8)
    t = np.linspace(0, 1, len(g))
    exact = reflected(t, x, sigma) @ e.T / 7
    # The variance of two nodes, on average a sixth of a step squared, is taken out: too much for a point that is on a node.
    assert np.abs(g - exact).max() <= (0.0025 / sigma) ** 2 / 9 * np.abs(exact).max()


def test_what_two_nodes_smooth_is_taken_out():
    x = (160 + (np.arange(100) + 0.5) / 100) / 400  # every place within a step
    grid = DrawGrid(x, 0.01, 100.0, reach=6.0)
    g = grid.smoothed(grid.coefficients(np.ones((1, 100))), 0.01, nodes=8)[:, 0]
    exact = reflected(np.linspace(0, 1, len(g)), x, 0.01).mean(axis=1)
    assert np.abs(g - exact).max() <= 2e-4 * exact.max()  # left in, they would make the peak 0.5 % lower


def test_integrals_of_draws_are_right_on_average():
    rng = np.random.default_rng(1)
    x = np.sort(rng.random(2000))
    e = rng.standard_normal((400, 2000))
    grid = DrawGrid(x, 0.02, 1.0, reach=5.3)
    a = grid.coefficients(e)
    coarse, fine = grid.norms(a, 0.02, 2), grid.norms(a, 0.02, 64)
    assert np.mean(coarse / fine) == pytest.approx(1, abs=1e-3)
    assert np.std(coarse / fine) < 0.01


def test_the_trapezoid_rule_and_the_one_that_is_exact_for_lines():
    g = np.array([[1.0, -2.0], [-1.0, -2.0], [3.0, 0.0]])
    assert mean_sizes(g.copy()).tolist() == [(0.5 + 1 + 1.5) / 2, (1 + 2 + 0) / 2]
    assert crossing_sizes(g.copy()) == pytest.approx(linear_integrals(g.T, 0.5))
    # From 1 to −1 a line encloses ½, from −1 to 3 it encloses ¼ · ½ · 1 + ¾ · ½ · 3.
    assert linear_integrals(g.T, 1.0).tolist() == pytest.approx([0.5 + 0.125 + 1.125, 3.0])


def test_few_rows_are_looked_at_closely():
    assert nodes_for(512) > nodes_for(513)
