"""Counts drawn for the same trials again and again, against the binomial law itself."""

import numpy as np
import pytest
from scipy.stats import binom

from trueness.data import binomials
from trueness.data.binomials import COINS, Binomials, fair_signs

DRAWS = 40_000
SMALL = [(1, 0.5), (1, 0.001), (3, 0.2), (10, 0.9), (50, 0.3), (1000, 0.001), (10**6, 1e-7), (400, 0.9999), (5, 0.5)]


def law_is_binomial(counts, n, p):
    """Largest distance between the two distribution functions, in units that 1.95 exceeds in one of a thousand runs."""
    k = np.arange(counts.max() + 1)
    seen = np.searchsorted(np.sort(counts), k, side="right") / len(counts)
    return np.abs(seen - binom.cdf(k, n, p)).max() * np.sqrt(len(counts)) < 1.95


@pytest.mark.parametrize("tabulated", [True, False])
def test_small_counts_have_the_binomial_law(tabulated, monkeypatch):
    monkeypatch.setattr(binomials, "_TABULATED", 1 << 12 if tabulated else 0)
    n, p = np.array(SMALL).T
    counts = Binomials(n, p).drawn(np.random.default_rng(0), DRAWS)
    assert (counts == np.floor(counts)).all()
    for k, (trials, chance) in enumerate(SMALL):
        assert law_is_binomial(counts[:, k], trials, chance), (trials, chance)


def test_large_counts_are_whole_numbers_of_the_binomial_law():
    counts = Binomials(np.array([66.0, 400.0]), np.array([0.5, 0.9])).drawn(np.random.default_rng(3), DRAWS)
    assert (counts == np.rint(counts)).all()
    # An observed count of 40 of 66 is reached by itself, as by every other draw of it.
    assert np.mean(counts[:, 0] >= 40) == pytest.approx(binom.sf(39, 66, 0.5), abs=0.006)
    assert np.mean(counts[:, 1] <= 350) == pytest.approx(binom.cdf(350, 400, 0.9), abs=0.006)


def test_what_is_certain_is_certain():
    counts = Binomials(np.array([7.0, 7.0, 10.0**6]), np.array([0.0, 1.0, 1.0])).drawn(np.random.default_rng(0), 50)
    assert np.array_equal(np.unique(counts, axis=0), [[0, 7, 10**6]])


@pytest.mark.parametrize(("n", "p"), [(200, 0.5), (2000, 0.02), (2000, 0.98), (10**6, 0.3)])
def test_large_counts_have_the_moments_of_the_binomial(n, p):
    counts = Binomials(np.array([float(n)]), np.array([p])).drawn(np.random.default_rng(1), 200_000)[:, 0]
    variance, z = n * p * (1 - p), counts - n * p
    assert abs(z.mean()) < 4 * np.sqrt(variance / 200_000)
    assert z.var() == pytest.approx(variance * (1 + (1 - 2 * p) ** 2 / (18 * variance)), rel=0.015)
    assert np.mean(z**3) / variance**1.5 == pytest.approx((1 - 2 * p) / np.sqrt(variance), abs=0.03)


@pytest.mark.parametrize("count", [1, 2, 5, COINS, COINS + 1, 500])
def test_sums_of_signs(count):
    sums = fair_signs(np.random.default_rng(2), np.array([float(count)]), DRAWS)[:, 0]
    if count <= COINS:
        assert law_is_binomial((sums + count) / 2, count, 0.5)
    assert abs(sums.mean()) < 4 * np.sqrt(count / DRAWS)
    assert sums.var() == pytest.approx(count, rel=0.03)
