"""The ruler: its edges, and the cell rule at every edge and one float either side."""

from fractions import Fraction

import brute
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness.errors import TruenessError
from trueness.options import MAX_BINS, check_bins
from trueness.summary.ruler import COARSE, ruler, uniform_edges

EXTRA = [(), (12, 37), (7, 9973), (16383,)]


def uniform_index(bins, scores):
    """The cell rule of MATH §1 for equal cells, with its corrections: floor(0.29·100) is 28."""
    k = np.floor(scores * bins)
    k -= scores < k / bins
    k += scores >= (k + 1) / bins
    return np.minimum(k, bins - 1).astype(np.int64)


def around(edges):
    """Every edge, and the floats next to it, within [0, 1]."""
    near = np.concatenate([edges, np.nextafter(edges, 2), np.nextafter(edges, -1), [0.0, -0.0, 5e-324, 1 - 2**-53]])
    return np.clip(near, 0, 1)


def test_standard_ruler_has_the_cells_of_the_definition():
    assert ruler().cells == 48_746
    assert np.array_equal(ruler().edges, brute.ruler_edges())


@pytest.mark.parametrize("bins", EXTRA)
def test_cells_agree_with_search_over_the_edges(bins):
    on = ruler(bins)
    assert np.all(np.diff(on.edges) > 0)
    scores = np.concatenate([around(on.edges), np.random.default_rng(0).random(20_000)])
    expected = np.minimum(np.searchsorted(on.edges, scores, side="right") - 1, on.cells - 1)
    assert np.array_equal(on.locate(scores).cell, expected)


def test_closed_formula_of_the_cell_rule():
    """The arithmetic that SQL and CUDA use (MATH §1) gives the same cells."""
    f = around(ruler().edges)
    k, fine = uniform_index(2**14, f), uniform_index(2**20, f)
    low = np.minimum(fine, 2**14) - np.minimum(k, 2**8)
    high = np.maximum(0, fine - 2**20 + 2**14) - np.maximum(0, k - 2**14 + 2**8)
    extra = uniform_index(100, f) - uniform_index(4, f) + uniform_index(15, f) - uniform_index(5, f)
    assert np.array_equal(k + low + high + extra, ruler().locate(f).cell)


@pytest.mark.parametrize("bins", EXTRA)
def test_scores_are_recovered_from_cell_and_position(bins):
    on = ruler(bins)
    scores = around(on.edges)
    at = on.locate(scores)
    assert np.all((at.r >= 0) & (at.r <= 1))
    assert np.array_equal((on.k[at.cell] + at.r) / on.unit[at.cell], scores + 0.0)


@pytest.mark.parametrize("bins", [1, 2, 3, 4, 5, 10, 15, 20, 25, 50, 100, 2**14, 12, 37])
def test_bins_are_unions_of_cells(bins):
    on = ruler((12, 37))
    assert on.has(bins)
    scores = around(on.edges)
    assert np.array_equal(on.bin_of_cell(bins)[on.locate(scores).cell], brute.uniform_cells(scores, bins))


@pytest.mark.parametrize("bins", [1, 3, 10, 15, 29, 100, 12345, MAX_BINS])
def test_uniform_index_at_every_edge(bins):
    scores = around(uniform_edges(bins))
    assert np.array_equal(uniform_index(bins, scores), brute.uniform_cells(scores, bins))


def test_a_plain_floor_would_be_wrong():
    assert int(np.floor(0.29 * 100)) == 28
    assert uniform_index(100, np.array([0.29]))[0] == 29


@given(st.integers(1, MAX_BINS), st.integers(0, MAX_BINS))
def test_edges_are_correctly_rounded_quotients(bins, k):
    k = min(k, bins)
    assert uniform_edges(bins)[k] == float(Fraction(k, bins))


def test_rulers_with_the_same_edges_are_one():
    assert ruler((12, 6, 4, 100)) == ruler(12) == ruler([12])
    assert ruler((10, 15, 2**14)) == ruler()
    assert ruler((12,)) != ruler()


@pytest.mark.parametrize("bins", EXTRA)
def test_rows_of_the_compiled_kernels_are_a_permutation_of_the_cells(bins):
    on = ruler(bins)
    assert np.array_equal(np.sort(on.row_of_cell), np.arange(on.cells))


@pytest.mark.parametrize("bins", [0, -1, 2.5, True, MAX_BINS + 1, "10", None, np.float64(10)])
def test_bad_bins(bins):
    with pytest.raises(TruenessError, match="whole number from 1 to 16384"):
        check_bins(bins)


def test_numpy_integers_are_whole_numbers():
    assert check_bins(np.int32(7)) == 7


def test_the_most_bins_are_the_coarse_cells():
    assert MAX_BINS == COARSE
