"""A second pass over the files, for the exact cumulative errors of rows that do not fit."""

import io

import numpy as np
import pytest
from data_files import COLUMNS, F, Y, in_pieces, write_csv, write_parquet

from trueness import ecce, ecce_r, summarize_files
from trueness.engines import exact
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


@pytest.mark.parametrize(
    ("kind", "weighted", "held"),
    [("calibrated", False, 500), ("ties", True, 500), ("rare", False, 1 << 22), ("one cell", True, 500), ("ends", False, 500)],
)
def test_a_second_pass_gives_the_exact_cumulative_errors(tmp_path, monkeypatch, kind, weighted, held):
    monkeypatch.setattr("trueness.engines.exact._IN_MEMORY", held)
    y, f, w = made(kind)
    path = write_parquet(tmp_path / "a.parquet", {"y": y, "p": f, "w": w}, row_group_size=5000)
    found = in_pieces(path, 10_000, weight="w" if weighted else None, exact=True)
    expected = ecce(y, f, sample_weight=w if weighted else None)
    agrees(ecce(found), expected)
    assert ecce_r(found) == pytest.approx(expected.range, abs=1e-13)


def test_without_a_second_pass_there_is_a_bracket(tmp_path):
    y, f, _ = made("calibrated")
    path = write_parquet(tmp_path / "a.parquet", {"y": y, "p": f})
    low, high = ecce(summarize_files(path, **COLUMNS)).bracket.range
    assert low <= ecce(y, f).range <= high


def test_files_that_change_between_the_passes(tmp_path, monkeypatch):
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F})
    keep = exact.exact_extremes

    def changed(summary, rows):
        write_parquet(path, {"y": 1 - Y, "p": F})
        return keep(summary, rows)

    monkeypatch.setattr(exact, "exact_extremes", changed)
    monkeypatch.setattr("trueness.engines.files.open_files.exact_extremes", changed)
    for by in (None, "p"):
        write_parquet(path, {"y": Y, "p": F})
        with pytest.raises(InputError, match="the input changed"):
            summarize_files(path, **COLUMNS, by=by, exact=True)


def test_what_was_piped_in_is_read_twice_too(tmp_path, monkeypatch):
    content = write_csv(tmp_path / "a.csv", {"y": Y, "p": F}).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    agrees(ecce(summarize_files("-", **COLUMNS, exact=True)), ecce(Y, F))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_a_second_pass_finds_scores_at_and_beyond_the_ends(tmp_path, seed, name):
    rng = np.random.default_rng(seed)
    ends = [0.0, 1.0, -0.0, 5e-324, 1 + 2**-52, -1e-17, 1 - 2**-53, 2.0**-14, 1 - 2.0**-14]
    f = np.concatenate([rng.choice(ends, 300), rng.beta(0.02, 0.02, 300)])
    y = (rng.random(600) < np.clip(f, 0, 1) * (seed % 2) + 0.3 * (seed % 3)).astype(float)
    path = (write_parquet if name == "a.parquet" else write_csv)(tmp_path / name, {"y": y, "p": f})
    found, expected = ecce(summarize_files(path, **COLUMNS, exact=True)), ecce(y, f)
    assert found.bracket is None
    assert (found.mad, found.range) == pytest.approx((expected.mad, expected.range), rel=1e-12)
