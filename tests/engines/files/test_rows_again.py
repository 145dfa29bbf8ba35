"""A second pass over the files, for the exact cumulative errors of rows that do not fit."""

import io

import numpy as np
import pytest
from data_files import COLUMNS, F, Y, in_pieces, write_csv, write_parquet

from trueness import Summary, ecce, ecce_r, summarize, summarize_files, summarize_frame
from trueness.errors import InputError


def made(kind, n=60_000):
    rng = np.random.default_rng(3)
    f = {
        "calibrated": rng.random(n),
        "ties": rng.integers(0, 101, n) / 100,
        "rare": rng.beta(5, 500, n),
        "one cell": 0.5 + 1e-6 * rng.random(n),
        "ends": rng.integers(0, 2, n).astype(float),
    }[kind]
    return (rng.random(n) < f).astype(int), f, rng.integers(1, 4, n).astype(float)


def agrees(found, expected):
    assert found.bracket is None
    assert (found.mad, found.range) == pytest.approx((expected.mad, expected.range), abs=1e-13)
    assert (found.worst is None) == (expected.worst is None)
    if expected.worst:
        assert (found.worst.low, found.worst.high) == (expected.worst.low, expected.worst.high)
        assert found.worst.mean_gap == pytest.approx(expected.worst.mean_gap, abs=1e-10)


@pytest.mark.parametrize("kind", ["calibrated", "ties", "rare", "one cell", "ends"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("held", [1 << 22, 500])
def test_a_second_pass_gives_the_exact_cumulative_errors(tmp_path, monkeypatch, kind, weighted, held):
    monkeypatch.setattr("trueness.data.extremes._IN_MEMORY", held)
    y, f, w = made(kind)
    path = write_parquet(tmp_path / "a.parquet", {"y": y, "p": f, "w": w}, row_group_size=5000)
    found = in_pieces(path, 10_000, weight="w" if weighted else None)
    expected = ecce(y, f, sample_weight=w if weighted else None)
    agrees(ecce(found), expected)
    assert ecce_r(found) == pytest.approx(expected.range, abs=1e-13)
    import polars as pl

    lazy = pl.DataFrame({"y": y, "p": f, "w": w}).lazy()
    agrees(ecce(summarize_frame(lazy, **COLUMNS, weight="w" if weighted else None)), expected)


def test_without_a_second_pass_there_is_a_bracket(tmp_path):
    y, f, _ = made("calibrated")
    path = write_parquet(tmp_path / "a.parquet", {"y": y, "p": f})
    found, exact = summarize_files(path, **COLUMNS), ecce(y, f)
    found.save(tmp_path / "a.tns")
    import pickle

    for bare in (Summary.load(tmp_path / "a.tns"), pickle.loads(pickle.dumps(found)), found + summarize([1], [0.5])):  # noqa: S301
        assert bare.again is None
        low, high = ecce(bare).bracket.range
        if bare.n == found.n:
            assert low <= exact.range <= high


def test_files_that_change_between_the_passes(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F})
    found = summarize_files(path, **COLUMNS)
    write_parquet(path, {"y": 1 - Y, "p": F})
    with pytest.raises(InputError, match="the input changed"):
        ecce(found)
    path.unlink()
    gone = ecce(found)  # what cannot be read again leaves the bracket
    assert gone.bracket.range[0] <= ecce(Y, F).range <= gone.bracket.range[1]
    assert ecce_r(found) == gone.range


def test_a_summary_of_what_was_piped_in_has_no_way_back(tmp_path, monkeypatch):
    content = write_csv(tmp_path / "a.csv", {"y": Y, "p": F}).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    found = summarize_files("-", **COLUMNS)
    assert ecce(found).bracket is not None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_a_second_pass_finds_scores_at_and_beyond_the_ends(tmp_path, seed, name):
    rng = np.random.default_rng(seed)
    ends = [0.0, 1.0, -0.0, 5e-324, 1 + 2**-52, -1e-17, 1 - 2**-53, 2.0**-14, 1 - 2.0**-14]
    f = np.concatenate([rng.choice(ends, 300), rng.beta(0.02, 0.02, 300)])
    y = (rng.random(600) < np.clip(f, 0, 1) * (seed % 2) + 0.3 * (seed % 3)).astype(float)
    path = (write_parquet if name == "a.parquet" else write_csv)(tmp_path / name, {"y": y, "p": f})
    found, exact = ecce(summarize_files(path, **COLUMNS)), ecce(y, f)
    assert found.bracket is None
    assert (found.mad, found.range) == pytest.approx((exact.mad, exact.range), rel=1e-12)
