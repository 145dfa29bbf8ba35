"""Groups of rows: values that differ are told apart, whatever they are kept in, and shown so that they differ."""

from collections import deque
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from trueness import Record, assess, group_tests, summarize, summarize_files, summarize_frame
from trueness._text import group_name
from trueness.errors import InputError
from trueness.inputs.membership import group_values

BIG = 2**53
NOON = datetime(2024, 5, 17, 12, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
TWICE = [datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN, fold=fold) for fold in (0, 1)]  # clocks are put back at three

APART = {
    "moments of NumPy": lambda: np.array([1, 2], dtype="M8[ns]"),
    "picoseconds": lambda: np.array([1, 2], dtype="M8[ps]"),
    "durations of NumPy": lambda: np.array([1, 2], dtype="m8[ns]"),
    "moments in a list": lambda: list(np.array([1, 2], dtype="M8[ns]")),
    "moments in a tuple": lambda: tuple(np.array([1, 2], dtype="M8[ns]")),
    "a column of moments": lambda: np.array([[1], [2]], dtype="M8[ns]"),
    "masked moments": lambda: np.ma.array([1, 2], dtype="M8[ns]"),
    "moments of pandas": lambda: pd.Series(np.array([1, 2], dtype="M8[ns]")),
    "durations of pandas": lambda: pd.Series(np.array([1, 2], dtype="m8[ns]")),
    "moments of pandas in UTC": lambda: pd.Series(np.array([1, 2], dtype="M8[ns]")).dt.tz_localize("UTC"),
    "moments of pandas with Arrow": lambda: pd.Series(
        pa.array([1, 2], pa.timestamp("ns")).to_pandas(types_mapper=pd.ArrowDtype)
    ),
    "times of pandas with Arrow": lambda: pa.array([1, 2], pa.time64("ns")).to_pandas(types_mapper=pd.ArrowDtype),
    "moments of polars": lambda: pl.Series([1, 2]).cast(pl.Datetime("ns")),
    "moments of polars in Berlin": lambda: pl.Series([1, 2]).cast(pl.Datetime("ns", "Europe/Berlin")),
    "durations of polars": lambda: pl.Series([1, 2]).cast(pl.Duration("ns")),
    "times of polars": lambda: pl.Series([1, 2]).cast(pl.Time),
    "moments of Arrow": lambda: pa.array([1, 2], pa.timestamp("ns")),
    "moments of Arrow in Berlin": lambda: pa.chunked_array([[1], [2]], pa.timestamp("ns", "Europe/Berlin")),
    "durations of Arrow": lambda: pa.array([1, 2], pa.duration("ns")),
    "times of Arrow": lambda: pa.array([1, 2], pa.time64("ns")),
    "clocks put back": lambda: TWICE,
    "clocks put back, polars": lambda: pl.Series(TWICE),
    "clocks put back, pandas": lambda: pd.Series(pd.DatetimeIndex(TWICE)),
    "clocks put back, Arrow": lambda: pa.array(TWICE, pa.timestamp("us", "Europe/Berlin")),
    "decimals": lambda: [Decimal("0.10000000000000000001"), Decimal("0.1")],
    "decimals of Arrow": lambda: pa.array([Decimal("0.10000000000000000001"), Decimal("0.10000000000000000002")]),
    "decimals of polars": lambda: pl.Series([Decimal("0.100000000000000001"), Decimal("0.100000000000000002")]),
    "whole numbers": lambda: (BIG, BIG + 1),
    "whole numbers of pandas": lambda: pd.Series([BIG, BIG + 1], dtype="Int64").to_frame(),
    "whole numbers of polars": lambda: pl.DataFrame({"g": pl.Series([BIG, BIG + 1])}),
    "whole numbers of Arrow": lambda: pa.table({"g": [BIG, BIG + 1]}),
    "years beyond Python's": lambda: np.array(["20240-01-01", "20241-01-01"], dtype="M8[D]"),
    "an aware and a naive time": lambda: [NOON, NOON.replace(tzinfo=None)],
}


@pytest.mark.parametrize("make", APART.values(), ids=APART)
def test_values_that_differ_are_groups_of_their_own_and_look_different(make):
    first, second = group_values(make(), "by")
    assert len({first, second}) == 2
    assert group_name(first) != group_name(second)


@pytest.mark.parametrize("name", ["moments of NumPy", "durations of NumPy", "times of polars", "clocks put back, polars"])
def test_they_stay_apart_on_every_page(name, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(100)
    y = rng.random(100) < p
    column = APART[name]()
    by = np.tile(column, 50) if isinstance(column, np.ndarray) else pl.concat([column] * 50)
    groups = group_tests(y, p, by=by)
    assert [each.n for each in groups] == [50, 50]
    assert len({each["group"] for each in groups.to_dict()["groups"]} - {1, 2}) == 2
    assert len({each.cells()[0] for each in groups}) == 2
    assert len({str(each) for each in groups}) == 2
    found = assess(y, p, by=by)
    found.report(tmp_path / "page.html")
    assert [each.n for each in found.groups] == [50, 50]
    assert len(summarize_frame({"y": y, "p": p, "g": by}, outcome="y", prediction="p", by="g")) == 2


def test_what_python_can_hold_is_pythons_own():
    assert group_values(np.array([1000, 10**9], dtype="M8[ns]"), "by") == [
        datetime(1970, 1, 1, microsecond=1),
        datetime(1970, 1, 1, 0, 0, 1),
    ]
    assert group_values(pl.Series([time(1), None]), "by") == [time(1), None]
    assert group_values(pl.Series([timedelta(1)]).cast(pl.Duration("ns")), "by") == [timedelta(1)]
    assert group_values(np.array(["2024"], dtype="M8[Y]"), "by") == [date(2024, 1, 1)]
    assert group_values(pa.array([NOON], pa.timestamp("ns", "UTC")), "by") == [NOON]


@pytest.mark.parametrize("kind", [list, tuple, deque, np.array, pd.Series, pd.Index, pl.Series, pa.array, iter])
def test_the_same_groups_from_every_container(kind):
    for values in (["a", "b"], [1, 2], [True, False], [0.5, float("inf")], [NOON.replace(tzinfo=None)] * 2):
        assert group_values(kind(values), "by") == values


@pytest.mark.parametrize(
    "given",
    [
        ["a", None],
        ("a", float("nan")),
        ["a", pd.NaT],
        ["a", np.ma.masked],
        ["a", np.datetime64("NaT")],
        [pa.scalar("a"), pa.scalar(None)],
        np.ma.array(["a", "b"], mask=[False, True]),
        np.ma.array([["a"], ["b"]], mask=[[False], [True]]),
        pd.Series(["a", None]),
        pd.Series(["a", None], dtype="category").to_frame(),
        pl.Series(["a", None]),
        pa.array(["a", None]),
    ],
)
def test_rows_without_a_group(given):
    assert group_values(given, "by") == ["a", None]


@pytest.mark.parametrize(
    "given",
    [
        [["a"], ["b"]],
        [{"a": 1}, {"b": 2}],
        [{"a"}, {"b"}],
        [np.array([1]), np.array([2])],
        [(1, [2]), (3, [4])],
        pd.Series([["a"], ["b"]]),
        pl.Series([["a"], ["b"]]),
        pl.Series([{"a": 1}, {"a": 2}]),
        pa.array([["a"], ["b"]]),
        pa.array([{"a": 1}, {"a": 2}]),
    ],
    ids=lambda given: f"{type(given).__module__}-{given[0]}",
)
def test_lists_and_dictionaries_are_no_groups(given):
    what = r": 2 of 2 values are of a kind such as \w+, which cannot name a group \(first: row 0, value .+\)\. Make groups of"
    with pytest.raises(InputError, match="by" + what):
        group_tests([0, 1], [0.5, 0.5], by=given)
    with pytest.raises(InputError, match="column 'g'" + what):
        summarize_frame({"y": [0, 1], "p": [0.5, 0.5], "g": given}, outcome="y", prediction="p", by="g")


@pytest.mark.parametrize("given", ["ab", b"ab", 5, {"a", "b"}, {"a": 1}, np.array(3), np.ones((2, 2)), object(), 1.5])
def test_what_is_no_column_holds_no_groups(given):
    with pytest.raises(InputError, match=r"^by: "):
        group_values(given, "by")


def test_equal_values_are_one_group_whatever_their_type():
    """As keys of a dictionary are: a record could not hold them apart."""
    groups, y, p = [1, True, 1.0, Decimal(1)] * 10, [0, 1] * 20, [0.25, 0.75] * 20
    assert [(each.group, each.n) for each in group_tests(y, p, by=groups, rng=0, resamples=9)] == [(1, 40)]
    for frame in (pd.DataFrame({"y": y, "p": p, "g": np.array(groups, dtype=object)}), {"y": y, "p": p, "g": groups}):
        assert {**summarize_frame(frame, outcome="y", prediction="p", by="g")} == {1: summarize(y, p)}
    parts = [Record({key: summarize(y, p)}, axes=["g"]) for key in (1, True, 1.0)]
    assert {key: part.n for key, part in sum(parts).items()} == {1: 120}


def test_equal_values_of_files_are_one_group(tmp_path):
    y, p = [0, 1] * 20, [0.25, 0.75] * 20
    paths = [tmp_path / f"{kind}.parquet" for kind in ("int64", "float64", "bool")]
    for path in paths:
        pd.DataFrame({"y": y, "p": p, "g": np.ones(40).astype(path.stem)}).to_parquet(path)
    found = summarize_files(paths, outcome="y", prediction="p", by="g")
    assert {key: part.n for key, part in found.items()} == {1: 120}
