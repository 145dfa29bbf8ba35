"""SmoothECE against direct sums over every image of the reflected kernel, integrated between sign changes."""

import functools
import itertools
import math

import brute
import numpy as np
import pytest
from datasets import SAMPLES, sample
from pairs import pairwise
from scipy import optimize

from trueness import smooth_ece, smooth_ece_area, summarize
from trueness.errors import NeedsRowsError, TruenessError

ROWS = {"rel": 1e-8, "abs": 1e-15}  # DESIGN 4
LOOSE = {"rel": 1e-6, "abs": 1e-15}  # area and logit scale
CELL = 2.0**-14
BANDWIDTHS = (0.003, 0.02, 0.1, 0.5, 3.0)


@functools.cache
def fixed_point(name, scale="probability"):
    return brute.smooth_ece(*sample(name), scale=scale)


@pytest.mark.parametrize("name", SAMPLES)
def test_fixed_point(name):
    y, f, w = sample(name)
    value = smooth_ece(y, f, sample_weight=w)
    assert isinstance(value, float)
    assert value == pytest.approx(fixed_point(name), **ROWS)


@pytest.mark.parametrize("name", SAMPLES)
def test_fixed_point_solves_its_equation(name):
    y, f, w = sample(name)
    value = smooth_ece(y, f, sample_weight=w)
    if value > 0:
        assert smooth_ece(y, f, bandwidth=value, sample_weight=w) == pytest.approx(value, rel=2e-8)


@pairwise(
    "name, sigma, what", SAMPLES, BANDWIDTHS, ("value", "area", "logit"), unless=lambda _, s, what: what == "logit" and s < 0.02
)
def test_fixed_bandwidth(name, sigma, what):
    y, f, w = sample(name)
    if what == "area":
        found, expected = smooth_ece_area(y, f, bandwidth=sigma, sample_weight=w), brute.smooth_ece_area(y, f, w, sigma=sigma)
        assert found == pytest.approx(expected, **LOOSE)
        return
    scale, tolerance = ("logit", LOOSE) if what == "logit" else ("probability", ROWS)
    expected = brute.smooth_ece_at(y, f, w, sigma=sigma, scale=scale)
    assert smooth_ece(y, f, bandwidth=sigma, scale=scale, sample_weight=w) == pytest.approx(expected, **tolerance)


@pytest.mark.parametrize("name", ["uniform", "rounded to 0.01", "exact ends", "soft weighted"])
def test_every_bandwidth(name):
    """A sweep: sign changes fall at every place between the nodes of whatever grid is used."""
    y, f, w = sample(name)
    for sigma in np.geomspace(0.004, 0.4, 30):
        expected = brute.smooth_ece_at(y, f, w, sigma=sigma)
        assert smooth_ece(y, f, bandwidth=sigma, sample_weight=w) == pytest.approx(expected, **ROWS), sigma


@pytest.mark.parametrize("name", SAMPLES)
def test_area(name):
    y, f, w = sample(name)
    assert smooth_ece_area(y, f, sample_weight=w) == pytest.approx(brute.smooth_ece_area(y, f, w), **LOOSE)


@pytest.mark.parametrize("name", SAMPLES)
def test_logit_scale(name):
    y, f, w = sample(name)
    assert smooth_ece(y, f, scale="logit", sample_weight=w) == pytest.approx(fixed_point(name, "logit"), **LOOSE)


def identity(f):
    return f


def arcsine(f):
    return np.arcsin(2 * np.asarray(f) - 1)


@pytest.mark.parametrize("scale", [identity, arcsine, np.sqrt])
@pytest.mark.parametrize("name", ["uniform", "rounded to 0.1", "exact ends", "soft weighted", "3 rows"])
def test_any_scale(name, scale):
    y, f, w = sample(name)
    expected = brute.smooth_ece(y, f, w, scale=scale)
    assert smooth_ece(y, f, scale=scale, sample_weight=w) == pytest.approx(expected, **LOOSE)
    expected = brute.smooth_ece_at(y, f, w, sigma=0.2, scale=scale)
    assert smooth_ece(y, f, scale=scale, bandwidth=0.2, sample_weight=w) == pytest.approx(expected, **LOOSE)


def test_a_scale_cannot_write_into_the_data():
    def double(x):
        x *= 2
        return x

    f = np.array([0.2, 0.4, 0.9])
    smooth_ece([0, 1, 1], f, scale=double)
    assert f.tolist() == [0.2, 0.4, 0.9]


def test_identity_scale_is_not_the_reflected_kernel():
    y, f, _ = sample("skewed")
    assert smooth_ece(y, f, scale=identity, bandwidth=0.2) != pytest.approx(smooth_ece(y, f, bandwidth=0.2), rel=1e-3)


# ------------------------------------------------------------------------------------------------------ from a summary


@pytest.mark.parametrize("name", SAMPLES)
def test_from_a_summary(name):
    y, f, w = sample(name)
    summary = summarize(y, f, sample_weight=w)
    expected = fixed_point(name)
    if expected >= 10 * CELL or expected == 0:
        rel = 1e-8 if expected >= 90 * CELL else 1e-6
        assert smooth_ece(summary) == pytest.approx(expected, rel=rel, abs=1e-15)
    for sigma in (10 * CELL, 30 * CELL, 90 * CELL, 0.1):
        rel = 1e-8 if sigma >= 90 * CELL else 1e-6
        expected = brute.smooth_ece_at(y, f, w, sigma=sigma)
        assert smooth_ece(summary, bandwidth=sigma) == pytest.approx(expected, rel=rel, abs=1e-15), sigma


@pytest.mark.parametrize("name", SAMPLES)
def test_logit_scale_from_a_summary(name):
    y, f, w = sample(name)
    value = smooth_ece(summarize(y, f, sample_weight=w), scale="logit")
    assert value == pytest.approx(fixed_point(name, "logit"), rel=2e-4, abs=1e-15)


@pytest.mark.parametrize(("seed", "n", "excess"), [(1, 700, 1.2), (7, 3000, 1.2), (13, 700, 1.2)])
def test_logit_scale_from_a_summary_of_rare_events(seed, n, excess):
    """Cells just above 2^-6 are a third of the bandwidth wide here: their moments matter, not their sums alone."""
    rng = np.random.default_rng(seed)
    f = rng.beta(2, 200, n)
    y = (rng.random(n) < excess * f).astype(np.float64)
    expected = brute.smooth_ece(y, f, scale="logit")
    assert smooth_ece(summarize(y, f), scale="logit") == pytest.approx(expected, rel=2e-4)


@pytest.mark.parametrize("name", ["uniform", "rounded to 0.01", "exact ends", "weighted", "soft"])
def test_area_from_a_summary(name):
    y, f, w = sample(name)
    value = smooth_ece_area(summarize(y, f, sample_weight=w))
    assert value == pytest.approx(brute.smooth_ece_area(y, f, w), **LOOSE)


# ------------------------------------------------------------------------------------------- scores that share a cell


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


# --------------------------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize("name", SAMPLES)
def test_never_increases_with_the_bandwidth(name):
    y, f, w = sample(name)
    values = [smooth_ece(y, f, bandwidth=s, sample_weight=w) for s in np.geomspace(1e-3, 4, 25)]
    assert np.all(np.diff(values) <= 1e-13)


@pytest.mark.parametrize("name", SAMPLES)
def test_area_is_within_eight_tenths_of_the_bandwidth(name):
    y, f, w = sample(name)
    for sigma in (0.005, 0.03, 0.1, 0.3, 1.0):
        area = smooth_ece_area(y, f, bandwidth=sigma, sample_weight=w)
        value = smooth_ece(y, f, bandwidth=sigma, sample_weight=w)
        assert abs(area - value) <= math.sqrt(2 / math.pi) * sigma + 1e-12


@pytest.mark.parametrize("name", SAMPLES)
def test_bounds_of_the_fixed_point(name):
    y, f, w = sample(name)
    _, _, residual = brute.runs(y, f, w)
    value = smooth_ece(y, f, sample_weight=w)
    assert abs(residual.sum()) - 1e-12 <= value <= np.abs(residual).sum() + 1e-12


def test_residuals_of_one_sign_give_the_mean_residual():
    y, f, _ = sample("always zero")
    assert smooth_ece(y, f) == pytest.approx(f.mean(), rel=1e-14)
    assert smooth_ece([1.0], [0.25]) == 0.75


@pytest.mark.parametrize("bandwidth", [24.0, 100.0, 1e6])
def test_a_bandwidth_wider_than_the_scale_gives_the_mean_residual(bandwidth):
    assert smooth_ece([0, 1], [0.2, 0.7], bandwidth=bandwidth) == pytest.approx(0.05, rel=1e-12)


def test_a_constant_prediction_that_is_right_gives_zero():
    assert smooth_ece([1, 1, 1] + [0] * 7, [0.3] * 10) == 0.0


def test_labels_matched_give_zero():
    f = np.random.default_rng(5).random(500)
    assert smooth_ece(f, f) == 0.0
    assert smooth_ece(f, f, scale="logit") == 0.0
    assert smooth_ece(summarize(f, f)) == 0.0


# --------------------------------------------------------------------------------------------- rare events, at size


def moments(f, r, width, order=5):
    """Centres of cells of the given width and their residual moments sum r (f - c)^j / n, j < order."""
    cell = np.floor(f / width).astype(np.int64)
    centre = (cell + 0.5) * width
    cells, index = np.unique(cell, return_inverse=True)
    columns = [np.bincount(index, weights=r * (f - centre) ** j) / len(f) for j in range(order)]
    return (cells + 0.5) * width, np.stack(columns, axis=1)


def taylor_smooth_at(points, columns, sigma):
    """smECE_sigma by the kernel's Taylor series about each cell's centre: phi^(j) = (-1)^j He_j phi / sigma^j."""
    order = columns.shape[1]
    signs = (-1.0) ** np.arange(order)
    points = np.concatenate([-points[::-1], points])  # the images about 0; 1 is out of reach for these data
    columns = np.concatenate([(columns * signs)[::-1], columns])
    scale = np.array([1 / (math.factorial(j) * sigma**j) for j in range(order)])

    def g(t):
        i, j = np.searchsorted(points, [t.min() - 9 * sigma, t.max() + 9 * sigma])
        z = (t[:, None] - points[i:j]) / sigma
        total = np.zeros(z.shape)
        hermite = [np.ones_like(z), z]  # d/de phi((t - e)/sigma) brings +He_1/sigma, and so on
        for k in range(order):
            if k >= 2:
                hermite.append(z * hermite[-1] - (k - 1) * hermite[-2])
            total += scale[k] * columns[i:j, k] * hermite[k]
        return (total * np.exp(-0.5 * z * z)).sum(axis=1) / (sigma * math.sqrt(2 * math.pi))

    top = points[-1] + 9 * sigma
    edges = np.linspace(0, top, math.ceil(top / (2 * sigma)) + 1)
    return brute.integral_abs(g, list(itertools.pairwise(edges)))


def test_the_oracle_for_rare_events():
    y, f, _ = sample("rare")
    points, columns = moments(f, y - f, 2.0**-15)
    for sigma in (0.001, 0.003):
        expected = brute.smooth_ece_at(y, f, sigma=sigma)
        assert taylor_smooth_at(points, columns, sigma) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("excess", [1.03, pytest.param(1.0, marks=pytest.mark.full)])
def test_two_million_rare_events(excess):
    rng = np.random.default_rng(11)
    f = rng.beta(5, 500, 2 * 10**6)
    y = (rng.random(len(f)) < excess * f).astype(np.float64)
    points, columns = moments(f, y - f, 2.0**-18)
    upper = np.abs(columns[:, 0]).sum()
    lower = abs(columns[:, 0].sum())
    expected = optimize.brentq(lambda s: taylor_smooth_at(points, columns, s) - s, max(lower, upper / 50), upper)
    assert expected / 2.0**-18 > 5
    assert smooth_ece(y, f) == pytest.approx(expected, rel=1e-6)


# ------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("metric", [smooth_ece, smooth_ece_area])
@pytest.mark.parametrize("bandwidth", [0, -1, math.nan, math.inf, "wide", True])
def test_bandwidth_not_allowed(metric, bandwidth):
    with pytest.raises(TruenessError, match="bandwidth"):
        metric([0, 1], [0.2, 0.7], bandwidth=bandwidth)


@pytest.mark.parametrize("scale", ["probit", None, 3])
def test_unknown_scale(scale):
    with pytest.raises(TruenessError, match="scale"):
        smooth_ece([0, 1], [0.2, 0.7], scale=scale)


def test_scale_must_be_finite_and_increasing():
    with pytest.raises(TruenessError, match="scale"):
        smooth_ece([0, 1, 1], [0.2, 0.5, 0.7], scale=lambda f: -np.asarray(f))
    with pytest.raises(TruenessError, match="scale"):
        smooth_ece([0, 1, 1], [0.2, 0.5, 0.7], scale=lambda f: np.asarray(f) * math.nan)


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
    ids=["waves", "steps", "infinite", "overflows", "a number", "too short", "falling", "nan"],
)
def test_scales_that_are_not_increasing_functions(scale):
    rng = np.random.default_rng(5)
    f = rng.random(2000)
    with pytest.raises(TruenessError, match=r"scale: .*Pass a function"):
        smooth_ece(rng.random(2000) < f, f, scale=scale)


def test_any_scale_needs_rows():
    with pytest.raises(NeedsRowsError):
        smooth_ece(summarize([0, 1], [0.2, 0.7]), scale=identity)
