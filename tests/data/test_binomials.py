"""Counts drawn for the same trials again and again, against the binomial law itself."""

import numpy as np
import pytest
from scipy.stats import binom

from trueness.data import binomials
from trueness.data.binomials import COINS, Binomials, Signs

DRAWS = 40_000
SMALL = [(1, 0.5), (1, 0.001), (3, 0.2), (10, 0.9), (50, 0.3), (1000, 0.001), (10**6, 1e-7), (400, 0.9999), (5, 0.5)]


def law_is_binomial(counts, n, p):
    """Largest distance between the two distribution functions, in units that 1.95 exceeds in one of a thousand runs."""
    k = np.arange(counts.max() + 1)
    seen = np.searchsorted(np.sort(counts), k, side="right") / len(counts)
    return np.abs(seen - binom.cdf(k, n, p)).max() * np.sqrt(len(counts)) < 1.95


def counts_of(n, p, seed, draws):
    """Whole numbers of each binomial."""
    n, p = np.array(n, dtype=float), np.array(p)
    counts = Binomials(n, p).drawn(np.random.default_rng(seed), draws) + n * p
    assert np.abs(counts - np.rint(counts)).max() < 1e-4
    return np.rint(counts)


@pytest.mark.parametrize("tabulated", [True, False])
def test_small_counts_have_the_binomial_law(tabulated, monkeypatch):
    monkeypatch.setattr(binomials, "_TABULATED", 1 << 12 if tabulated else 0)
    n, p = np.array(SMALL).T
    counts = counts_of(n, p, 0, DRAWS)
    for k, (trials, chance) in enumerate(SMALL):
        assert law_is_binomial(counts[:, k], trials, chance), (trials, chance)


def test_large_counts_are_whole_numbers_of_the_binomial_law():
    counts = counts_of([66, 400], [0.5, 0.9], 3, DRAWS)
    # An observed count of 40 of 66 is reached by itself, as by every other draw of it.
    assert np.mean(counts[:, 0] >= 40) == pytest.approx(binom.sf(39, 66, 0.5), abs=0.006)
    assert np.mean(counts[:, 1] <= 350) == pytest.approx(binom.cdf(350, 400, 0.9), abs=0.006)


def test_what_is_certain_is_certain():
    counts = counts_of([7, 7, 10**6], [0.0, 1.0, 1.0], 0, 50)
    assert np.array_equal(np.unique(counts, axis=0), [[0, 7, 10**6]])


@pytest.mark.parametrize(("n", "p"), [(200, 0.5), (2000, 0.02), (2000, 0.98), (10**6, 0.3)])
@pytest.mark.parametrize("precise", [True, False])
def test_large_counts_have_the_moments_of_the_binomial(n, p, precise):
    z = Binomials(np.array([float(n)]), np.array([p]), precise=precise).drawn(np.random.default_rng(1), 200_000)[:, 0]
    variance = n * p * (1 - p)
    assert abs(z.mean(dtype=float)) < 4 * np.sqrt(variance / 200_000)
    assert z.var() == pytest.approx(variance, rel=0.015)
    assert np.mean(z**3.0) / variance**1.5 == pytest.approx((1 - 2 * p) / np.sqrt(variance), abs=0.03)


@pytest.mark.parametrize("count", [1, 2, 5, COINS, COINS + 1, 500])
@pytest.mark.parametrize("precise", [True, False])
def test_sums_of_signs(count, precise):
    signs = Signs([np.array([float(count)])], [np.array([0.5])], precise=precise)
    sums = signs.drawn(np.random.default_rng(2), DRAWS)[:, 0] / 0.5
    if count <= COINS:
        assert law_is_binomial((sums + count) / 2, count, 0.5)
    assert abs(sums.mean(dtype=float)) < 4 * np.sqrt(count / DRAWS)
    assert sums.var() == pytest.approx(count, rel=0.03)


def test_signs_of_two_kinds_of_rows_have_their_variance_and_kurtosis():
    counts, residuals = [np.array([3.0]), np.array([9.0])], [np.array([0.8]), np.array([0.2])]
    exact, together = (
        Signs(counts, residuals, precise=precise).drawn(np.random.default_rng(4), 200_000)[:, 0] for precise in (True, False)
    )
    variance = 3 * 0.8**2 + 9 * 0.2**2
    for sums in (exact, together):
        assert sums.var() == pytest.approx(variance, rel=0.015)
    tails = [float(np.mean(sums**4.0)) / variance**2 for sums in (exact, together)]
    assert tails[0] == pytest.approx(3 - 2 * (3 * 0.8**4 + 9 * 0.2**4) / variance**2, abs=0.03)
    assert tails[1] == pytest.approx(tails[0], abs=0.1)  # a whole number of coins
