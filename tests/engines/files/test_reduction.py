"""Rows reduced a piece at a time: the same sums whatever the pieces."""

import numpy as np
import pytest
from data_files import F, G, N, Y, in_pieces, message, write_parquet

from trueness import summarize
from trueness.errors import InputError


@pytest.mark.parametrize("size", [1, 100, 700])
def test_pieces_of_any_size_give_the_same_bits(tmp_path, size):
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F, "g": G}, row_group_size=128)
    assert in_pieces(path, size) == summarize(Y, F)
    assert sum(in_pieces(path, size, by="g").values()) == summarize(Y, F)


def test_soft_labels_met_late_among_groups(tmp_path):
    y = Y.astype(float)
    y[-1] = 0.5
    path = write_parquet(tmp_path / "a.parquet", {"y": y, "p": F, "g": G})
    found = in_pieces(path, 700, by="g")
    for group, summary in found.items():
        at = group == G
        expected = summarize(y[at], F[at], sample_weight=np.ones(at.sum()))  # in float64, whatever the labels are
        np.testing.assert_allclose(summary.sums, expected.sums, rtol=1e-12, atol=1e-14)


def test_a_soft_label_met_late_starts_again_in_float64(tmp_path):
    for place in (0, -1):
        y = Y.astype(float)
        y[place] = 0.5
        path = write_parquet(tmp_path / "a.parquet", {"y": y, "p": F})
        found, expected = in_pieces(path, 300, resume=tmp_path / "kept"), summarize(y, F)
        assert found.soft
        np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(found.rows, expected.rows)


def test_as_many_groups_as_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("trueness.engines.arrays.grouped._PENDING", 125)
    holes = np.where(np.arange(N) % 9 == 0, np.nan, F)
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": holes, "g": np.arange(N) % 375})
    found = in_pieces(path, 170, by="g", nan="drop")
    assert len(found) == 375
    for group in range(375):
        at = np.arange(N) % 375 == group
        missing = int(np.isnan(holes[at]).sum())
        assert found[group].rejected == ({"prediction missing or not finite": missing} if missing else {})
        if missing < at.sum():
            assert found[group] == summarize(Y[at], holes[at], nan="drop")
    with pytest.raises(InputError, match="missing or not finite"):
        in_pieces(path, 700, by="g")


@pytest.mark.parametrize("by", [None, "g"])
def test_weights_whose_sum_overflows(write, by):
    path = write({"y": Y[:4], "p": F[:4], "w": np.array([1e307, 1.5e308, 1e308, 1.0]), "g": np.full(4, "all")})
    text = message(path, weight="w", by=by)
    assert "column 'w': the sum of 4 of 4 values overflows float64 (largest: row 1, value 1.5e+308). Divide all" in text
