"""LS-ECE against direct sums integrated between sign changes (Gaussian), closed forms between breakpoints (uniform)."""

import functools
import math

import brute
import numpy as np
import pytest
from datasets import SAMPLES, sample
from pairs import pairwise

from trueness import logit_smoothed_ece, summarize
from trueness.data.sample import as_sample
from trueness.errors import NeedsRowsError, TruenessError
from trueness.metrics.logit_smoothed import LogitDrawing

# DESIGN 4. The floor is what rounding leaves in a sum over the whole logit axis (length 46): it shows only on values that
# the clip of the logit makes, such as 1e-10 for predictions that are all right.
ROWS = {"rel": 1e-6, "abs": 1e-14}
SUMMARY = {"rel": 3e-5, "abs": 1e-15}


SIGMAS = (0.02, 1 / 15, 0.3, 1.0, 5.0)


@functools.cache
def oracle(name, noise, sigma):
    y, f, w = sample(name)
    return (brute.ls_ece_gaussian if noise == "gaussian" else brute.ls_ece_uniform)(y, f, w, sigma=sigma)


@pairwise("name, noise, sigma", SAMPLES, ("gaussian", "uniform"), SIGMAS)
def test_from_rows(name, noise, sigma):
    y, f, w = sample(name)
    value = logit_smoothed_ece(y, f, bandwidth=sigma, noise=noise, sample_weight=w)
    assert value == pytest.approx(oracle(name, noise, sigma), **ROWS)


@pytest.mark.parametrize("name", SAMPLES)
def test_from_a_summary(name):
    y, f, w = sample(name)
    summary = summarize(y, f, sample_weight=w)
    for sigma in (1 / 15, 1.0):
        assert logit_smoothed_ece(summary, bandwidth=sigma) == pytest.approx(oracle(name, "gaussian", sigma), **SUMMARY), sigma


def test_default_bandwidth():
    y, f, _ = sample("uniform")
    assert logit_smoothed_ece(y, f) == logit_smoothed_ece(y, f, bandwidth=1 / 15)


def test_calibrated_model_is_not_zero():
    # MATH 4: 0.069 at sigma = 1; labels replaced by their means leave the smoothing alone
    f = (np.arange(20_000) + 0.5) / 20_000
    assert logit_smoothed_ece(f, f, bandwidth=1.0) == pytest.approx(0.069, abs=5e-4)


@pytest.mark.parametrize("noise", ["gaussian", "uniform"])
def test_one_row_by_hand(noise):
    # y = 1, f = 1/2: E[1 - rho(xi)] = 1/2 by symmetry
    assert logit_smoothed_ece([1], [0.5], noise=noise, bandwidth=0.7) == pytest.approx(0.5, rel=1e-9)


def test_two_points_stay_near_a_fifth_of_the_bandwidth():
    # Section 6.1 of the paper: |rho(u) - 1/2| is |u|/4 near 0, so LS-ECE is sigma sqrt(2/pi)/4 = 0.2 sigma, and it
    # stays small where the binned error jumps between 0 and 1/2.
    x = np.repeat([-0.5, 0.5], 500)
    f = 1 / (1 + np.exp(-1e-3 * x))
    y = (x > 0).astype(np.float64)
    for bins in range(1, 101):
        assert logit_smoothed_ece(y, f, bandwidth=1 / bins) < 0.25 / bins + 0.02
    for sigma in (0.1, 0.2, 0.4):
        assert logit_smoothed_ece(y, f, bandwidth=sigma) == pytest.approx(0.2 * sigma, rel=0.12)
        expected = brute.ls_ece_gaussian(y, f, sigma=sigma)
        assert logit_smoothed_ece(y, f, bandwidth=sigma) == pytest.approx(expected, **ROWS)


@pytest.mark.parametrize("noise", ["gaussian", "uniform"])
@pytest.mark.parametrize("name", ["17 rows", "soft weighted", "exact ends", "whole weights"])
def test_monte_carlo_agrees_within_its_noise(name, noise):
    y, f, w = sample(name)
    exact = logit_smoothed_ece(y, f, bandwidth=0.5, noise=noise, sample_weight=w)
    options = {"bandwidth": 0.5, "noise": noise, "method": "monte-carlo", "sample_weight": w, "draws": 5000}
    value = logit_smoothed_ece(y, f, rng=3, **options)
    assert value == pytest.approx(exact, abs=5 * 0.5 / math.sqrt(5000))  # terms lie in [0, 1]: sd at most 1/2
    assert value == logit_smoothed_ece(y, f, rng=3, **options)
    assert value == logit_smoothed_ece(y, f, rng=np.random.default_rng(3), **options)
    assert value != logit_smoothed_ece(y, f, rng=4, **options)


@pytest.mark.parametrize("bandwidth", [1e-10, 1e-9, 1e-6, 1e-3])
def test_uniform_noise_of_small_width(bandwidth):
    rng = np.random.default_rng(1)
    f = rng.random(1000)
    y = rng.random(1000) < f
    expected = np.abs(y - f).mean()  # no two scores meet; the sigmoid is flat over so short a piece
    assert logit_smoothed_ece(y, f, bandwidth=bandwidth, noise="uniform") == pytest.approx(
        expected, rel=1e-6 if bandwidth < 1e-4 else 0.5
    )


# ------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("bandwidth", [0, -1, math.nan, math.inf, None, True, 10**400, 1e4, 1e-12, np.complex128(1), "1"])
def test_bandwidth_not_allowed(bandwidth):
    with pytest.raises(TruenessError, match="bandwidth"):
        logit_smoothed_ece([0, 1], [0.2, 0.7], bandwidth=bandwidth)


@pytest.mark.parametrize("option", ["noise", "method"])
def test_unknown_choice(option):
    with pytest.raises(TruenessError, match=f"(?s){option}.*laplace"):
        logit_smoothed_ece([0, 1], [0.2, 0.7], **{option: "laplace"})


@pytest.mark.parametrize("draws", [0, -5, 2.5])
def test_draws_not_allowed(draws):
    with pytest.raises(TruenessError, match="draws"):
        logit_smoothed_ece([0, 1], [0.2, 0.7], method="monte-carlo", draws=draws)


@pytest.mark.parametrize("rng", [-1, "a", 1.5, True])
def test_rng_not_allowed(rng):
    with pytest.raises(TruenessError, match="rng"):
        logit_smoothed_ece([0, 1], [0.2, 0.7], method="monte-carlo", rng=rng)


def test_monte_carlo_needs_rows():
    with pytest.raises(NeedsRowsError):
        logit_smoothed_ece(summarize([0, 1], [0.2, 0.7]), method="monte-carlo")


@pytest.mark.parametrize("bandwidth", [0.3, 1.0])
@pytest.mark.parametrize(("low", "high"), [(0.7, 0.72), (0.3, 0.4), (0.01, 0.9)])
def test_draws_rank_as_the_metric_does(low, high, bandwidth):
    """Beside a wide kernel's bias draws differ little: a share of that little decides where an observed value stands."""
    rng = np.random.default_rng(0)
    f = np.sort(rng.uniform(low, high, 2000))
    y = rng.random((60, 2000)) < f
    options = {"bandwidth": bandwidth, "noise": "gaussian", "method": "integral"}
    points = as_sample(y[0], f, None).points(rows=True, bins=(), frequency=False)
    starts = points.groups(LogitDrawing().cuts(points, options), even=False)
    drawn = LogitDrawing().statistic(points.merged(starts), options, None).of(np.add.reduceat(y - f, starts, axis=1))
    exact = np.array([logit_smoothed_ece(each, f, bandwidth=bandwidth) for each in y])
    assert np.std(drawn - exact) < 0.04 * np.std(exact)


def test_many_rows_of_one_score_do_not_make_many_groups():
    f = np.sort(np.concatenate([np.full(60_000, 0.3), 0.3 + np.arange(1, 9) * 1e-12, np.linspace(0.001, 0.999, 50_000)]))
    points = as_sample(np.zeros(len(f), dtype=np.int64), f, None).points(rows=True, bins=(), frequency=False)
    options = {"bandwidth": 1.0, "noise": "gaussian", "method": "integral"}
    assert len(points.groups(LogitDrawing().cuts(points, options), even=False)) < 2600
