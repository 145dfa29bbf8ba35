"""Many groups at once: each group's summary is that of its rows alone."""

import decimal
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trueness import ecce, summarize, summarize_files, summarize_frame
from trueness.engines.arrays import grouped
from trueness.engines.files import summarize_files as files
from trueness.engines.files.open_files import open_files
from trueness.errors import InputError

NAMES = {"outcome": "y", "prediction": "p", "by": "g"}
N = 6000


def rows(kind, seed=0):
    rng = np.random.default_rng(seed)
    f = rng.choice([0.0, 0.3, 1.0, 0.29, 1 / 3], N) if kind == "ties" else rng.random(N)
    y = (rng.random(N) < f).astype(float)
    if kind == "soft":
        y[::3] = rng.random(len(y[::3]))
    frame = pd.DataFrame({"p": f, "y": y, "w": rng.random(N), "g": rng.integers(0, 40, N)})
    frame.loc[frame["g"] == 3, "w"] = 0.0  # a group of which nothing is left
    return frame


def by_frame(frame, tmp_path, **settings):
    return summarize_frame(frame, **NAMES, **settings)


def by_files(frame, tmp_path, **settings):
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "a.parquet")
    return summarize_files(tmp_path / "a.parquet", **NAMES, **settings)


def same(found, frame, **settings):
    assert set(found) == set(frame["g"])
    for group, part in found.items():
        of = frame[frame["g"] == group]
        if settings.get("weight") and not of["w"].any():
            assert (part.n, part.rejected) == (0, {"zero weight": len(of)})
            continue
        weight = of["w"].to_numpy() if settings.get("weight") else None
        expected = summarize(of["y"].to_numpy(), of["p"].to_numpy(), sample_weight=weight, nan=settings.get("nan", "raise"))
        if not part.exact:
            expected = expected.as_float()
        np.testing.assert_array_equal(part.cells, expected.cells)
        np.testing.assert_array_equal(part.rows, expected.rows)
        np.testing.assert_allclose(part.sums, expected.sums, rtol=1e-12, atol=1e-300)
        assert (part.soft, part.exponent, part.clipped) == (expected.soft, expected.exponent, expected.clipped)
        assert part.rejected == expected.rejected


@pytest.mark.parametrize("way", [by_frame, by_files])
@pytest.mark.parametrize("kind", ["hard", "soft", "ties"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_groups_of_every_kind(tmp_path, monkeypatch, way, kind, weight):
    monkeypatch.setattr(grouped, "_CHUNK", 500)
    monkeypatch.setattr(grouped, "_PENDING", 10_000)
    monkeypatch.setattr(files, "open_files", partial(open_files, piece_rows=1700))
    frame = rows(kind)
    found = way(frame, tmp_path, weight=weight)
    assert {part.exact for part in found.values()} == {kind != "soft" and weight is None}
    same(found, frame, weight=weight)


@pytest.mark.parametrize("way", [by_frame, by_files])
@pytest.mark.parametrize("weight", [None, "w"])
def test_rows_that_cannot_be_used_are_counted_in_their_group(tmp_path, way, weight):
    frame = rows("hard")
    frame.loc[[5, 8, 100], "p"] = np.nan
    frame.loc[[8, 11], "y"] = np.nan
    frame.loc[[20, 21], "p"] = 1 + 2**-52
    same(way(frame, tmp_path, weight=weight, nan="drop"), frame, weight=weight, nan="drop")
    with pytest.raises(InputError, match=r"column 'p': 3 of 6000 values"):
        way(frame, tmp_path, weight=weight)
    frame.loc[30, "w"] = -1.0
    if weight:
        with pytest.raises(InputError, match=r"column 'w': 1 of 6000 values"):
            way(frame, tmp_path, weight=weight, nan="drop")


@pytest.mark.parametrize("way", [by_frame, by_files])
def test_weights_that_must_be_scaled_in_one_group_leave_the_others_alone(tmp_path, way):
    frame = rows("hard")
    frame["w"] += 1.0
    frame.loc[frame["g"] == 5, "w"] *= 2.0**900
    found = way(frame, tmp_path, weight="w")
    assert found[5].exponent > 0
    assert found[6].exponent == 0
    same(found, frame, weight="w")


@pytest.mark.parametrize("way", [by_frame, by_files])
def test_weights_that_vanish_beside_those_of_other_groups(tmp_path, way):
    frame = rows("hard")
    frame["w"] = np.where(frame["g"] == 5, 1e-170, 1.0 + frame["w"])
    found = way(frame, tmp_path, weight="w")
    same(found, frame, weight="w")
    assert ecce(found[5]).sigma > 0


@pytest.mark.parametrize("way", [by_frame, by_files])
def test_clipped_rows_without_weight_do_not_count(tmp_path, way):
    frame = rows("hard")
    frame.loc[[20, 21, 22], "p"] = 1 + 2**-52
    frame.loc[[20, 21], "w"] = 0.0
    same(way(frame, tmp_path, weight="w"), frame, weight="w")


def test_numbers_of_other_types_in_other_files_are_the_same_groups(tmp_path):
    y, f = np.array([1.0, 0.0]), np.array([0.25, 0.5])
    for name, kind, given in (
        ("a", pa.decimal128(4, 1), ["1.5", "20.2"]),
        ("b", pa.decimal128(4, 2), ["0.15", "1.5"]),
        ("c", pa.int32(), [1065353216, 2]),
        ("d", pa.float32(), [1.0, 2.0]),
        ("e", pa.int64(), [2, 3]),
    ):
        values = [decimal.Decimal(group) for group in given] if name in "ab" else given
        pq.write_table(pa.table({"y": y, "p": f, "g": pa.array(values, type=kind)}), tmp_path / f"{name}.parquet")
    found = summarize_files(tmp_path, **NAMES)
    expected = {"1.5": 2, "20.2": 1, "0.15": 1, "1065353216": 1, "2": 3, "1": 1, "3": 1}
    assert {float(group): part.n for group, part in found.items()} == {float(group): n for group, n in expected.items()}


@pytest.mark.full
def test_very_many_rows_of_one_score_add_without_drift():
    n = 1 << 21
    frame = pd.DataFrame({"p": np.full(n, 0.3), "y": np.full(n, 0.1), "g": np.arange(n) % 2})
    part = summarize_frame(frame, **NAMES)[0]
    total = float(part.columns.w.sum()), float(part.columns.we.sum())
    assert total == (n / 2, pytest.approx((n // 2) * (0.1 - 0.3), rel=1e-13))


@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "w"])
def test_a_million_groups_take_bounded_memory(tmp_path, weight):
    """What is held is the result, not the rows: the same groups of three times the rows take little more."""
    program = (
        "import resource, sys\n"
        "from trueness import summarize_files\n"
        f"found = summarize_files(sys.argv[1], outcome='y', prediction='p', by='g', weight={weight!r})\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "print(len(found), sum(part.n for part in found.values()), peak)\n"
    )
    peaks = []
    for times in (1, 3):
        path = tmp_path / f"{times}.parquet"
        row = np.arange(2_000_000 * times)
        columns = {"g": row % 1_000_000, "p": (row % 2_000_000 % 997) / 997, "y": row % 3 == 0, "w": np.full(len(row), 1.5)}
        pq.write_table(pa.table(columns), path)
        done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
        groups, rows, peak = map(int, done.stdout.split())
        assert (groups, rows) == (1_000_000, 2_000_000 * times)
        peaks.append(peak)
    assert peaks[1] < 1.5 * peaks[0]
    assert peaks[1] < 6 * 1024
