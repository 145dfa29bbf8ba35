"""Lazy frames answer, and refuse, as every other engine does."""

import datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trueness import summarize, summarize_files, summarize_frame
from trueness.errors import InputError

Y = np.array([1, 0, 1, 0])
P = np.array([0.5, 0.25, 0.75, 0.125])
COLUMNS = {"outcome": "y", "prediction": "p"}
ENGINES = ("pandas", "polars", "lazy polars", "arrow", "duckdb", "parquet")


@pytest.fixture(params=ENGINES)
def reduced(request, tmp_path):
    """Columns reduced by one of the engines."""

    def reduce(columns, **options):
        table = pa.table(columns)
        options = {**COLUMNS, **({"weight": "w"} if "w" in columns else {}), **options}
        if request.param in ("duckdb", "parquet"):
            pq.write_table(table, tmp_path / "a.parquet")
        if request.param == "parquet":
            return summarize_files(tmp_path / "a.parquet", **options)
        frames = {
            "pandas": lambda: pd.DataFrame(columns),
            "polars": lambda: pl.from_arrow(table),
            "lazy polars": lambda: pl.from_arrow(table).lazy(),
            "arrow": lambda: table,
            "duckdb": lambda: duckdb.read_parquet(str(tmp_path / "a.parquet")),
        }
        return summarize_frame(frames[request.param](), **options)

    return reduce


WEIGHTS = [[True, False, True, True], [1e200, 2e200, 1e200, 3e200], [1e-200, 2e-200, 5e-324, 3e-200], [1e100, 1e-100, 1e80, 0]]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_weights_of_any_size_or_truth(reduced, weights):
    w = np.array(weights)
    found, expected = reduced({"y": Y, "p": P, "w": w}), summarize(Y, P, sample_weight=w)
    assert (found.n, found.exponent, found.cells.tolist()) == (expected.n, expected.exponent, expected.cells.tolist())
    # Beside the others a weight below 2^-380 counts as that: its square would vanish, which some engines take for an error.
    raised = np.where(w > 0, np.maximum(w, 2.0 ** (expected.exponent - 380)), 0.0) if w.dtype == float else w
    close = [
        np.allclose(found.sums, each.sums, rtol=1e-12, atol=0) for each in (expected, summarize(Y, P, sample_weight=raised))
    ]
    assert any(close), found.sums


def test_weights_whose_sum_overflows(reduced):
    with pytest.raises(InputError, match=r"column 'w': the sum of .* overflows float64 \(largest: .*1e\+308\)"):
        reduced({"y": Y, "p": P, "w": np.array([1e307, 1e308, 9e307, 1.0])})


@pytest.mark.parametrize("beyond", [2**-23, 2**-21])
def test_rounding_of_float32(reduced, beyond):
    rounded = np.array([0.5, 0.25, 1 + beyond, 0.125], dtype=np.float32)
    for columns in ({"y": Y, "p": rounded}, {"y": rounded, "p": P}):
        found = reduced(columns)
        assert found == summarize(columns["y"], columns["p"])
        assert found.clipped == 1
    far = np.array([0.5, 0.25, 1 + 2**-20, 0.125], dtype=np.float32)
    for columns in ({"y": Y, "p": far}, {"y": far, "p": P}):
        with pytest.raises(InputError, match="1 of 4 values is"):
            reduced(columns)


@pytest.mark.parametrize("event", [2**53 + 1, 2**53, float(2**53)])
def test_events_beyond_what_float64_tells_apart(reduced, event):
    y = 2**53 + np.array([0, 1, 2, 1])
    assert reduced({"y": y, "p": P}, pos_label=event) == summarize(y == int(event), P)
    with pytest.raises(InputError, match="0 of 4 values equal"):
        reduced({"y": np.array([2.0**53, 1.0, 3.0, 2.0**53 + 2]), "p": P}, pos_label=2**53 + 1)


@pytest.mark.parametrize("event", [2**70, 2.5, 10**400], ids=["large", "broken", "huge"])
def test_events_that_cannot_occur(reduced, event):
    with pytest.raises(InputError, match="0 of 4 values equal"):
        reduced({"y": np.array([1, 2, 3, 1]), "p": P}, pos_label=event)


@pytest.mark.parametrize("event", [0.1, float(np.float32(0.1)), np.float32(0.1)], ids=repr)
def test_events_of_float32(reduced, event):
    y = np.array([0.1, 0.9, 0.1, 0.3], dtype=np.float32)
    assert reduced({"y": y, "p": P}, pos_label=event) == summarize([1, 0, 1, 0], P)


@pytest.mark.parametrize("event", [2**24 + 1, 2.0**24 + 1])
def test_whole_numbers_that_float32_has_not(reduced, event):
    y = np.array([2**24, 0, 2**24, 0], dtype=np.float32)
    with pytest.raises(InputError, match="0 of 4 values equal"):
        reduced({"y": y, "p": P}, pos_label=event)
    assert reduced({"y": y, "p": P}, pos_label=2**24) == summarize([1, 0, 1, 0], P)


LAZY = {"polars": pl.LazyFrame, "duckdb": lambda columns: duckdb.from_arrow(pa.table(columns))}


@pytest.mark.parametrize("frame", LAZY.values(), ids=LAZY)
def test_events_of_bytes(frame):
    rows = frame({"y": [b"a", b"b", b"a", b"\xff"], "p": P.tolist()})
    assert summarize_frame(rows, **COLUMNS, pos_label=b"a") == summarize([1, 0, 1, 0], P)
    with pytest.raises(InputError, match=r"column 'y': is of type Binary, not numbers.*b'a' \(2 rows\)"):
        summarize_frame(rows, **COLUMNS)


@pytest.mark.parametrize("frame", LAZY.values(), ids=LAZY)
def test_events_of_decimals(frame):
    rows = frame({"y": [Decimal("0.2"), Decimal("0.1"), Decimal("0.2"), Decimal("0.3")], "p": P.tolist()})
    for event in ("0.2", "0.20"):
        assert summarize_frame(rows, **COLUMNS, pos_label=Decimal(event)) == summarize([1, 0, 1, 0], P)
    for event, why in (
        ("0.20000000000000000001", "0 of 4 values equal"),
        ("1e60", "is not"),
        ("1e-60", "is not"),
        ("inf", "is not"),
    ):
        with pytest.raises(InputError, match=why):
            summarize_frame(rows, **COLUMNS, pos_label=Decimal(event))


@pytest.mark.parametrize("frame", LAZY.values(), ids=LAZY)
def test_events_of_a_type_that_is_not_read(frame):
    days = [datetime.date(2026, 1, day) for day in (1, 2, 1, 2)]
    with pytest.raises(InputError, match=r"column 'y': is of type Date, not a number\. Convert it to numbers first\.$"):
        summarize_frame(frame({"y": days, "p": P.tolist()}), **COLUMNS, pos_label=days[0])


ROLES = [("outcome", "prediction"), ("outcome", "weight"), ("prediction", "weight")]


@pytest.mark.parametrize(("first", "second"), ROLES)
def test_one_column_in_two_roles(reduced, first, second):
    names = {"outcome": "y", "prediction": "p", "weight": "w"}
    notes = reduced({"y": Y, "p": P, "w": P + 1}, **{**names, second: names[first]}).notes
    assert [note for note in notes if "is both" in note] == [f"column '{names[first]}': is both the {first} and the {second}"]


def test_outcomes_that_are_their_predictions(reduced):
    assert "every outcome equals its prediction: was one column passed as both?" in reduced({"y": P, "p": P}).notes
    assert not reduced({"y": P, "p": np.flip(P)}).notes[1:]


@pytest.mark.parametrize(("kind", "far"), [(pl.Datetime("ms"), 253_402_300_800_000), (pl.Duration("ms"), 2**62)], ids=str)
def test_groups_beyond_pythons_own_times(kind, far):
    frame = pl.DataFrame({"y": Y, "p": P, "g": np.array([far, 1, 0, 0])}).with_columns(pl.col("g").cast(kind))
    for each in (frame, frame.lazy()):
        with pytest.raises(InputError, match=r"'g': a Series could not be read|by: a group of type .* is none that Python has"):
            summarize_frame(each, **COLUMNS, by="g")


def test_spans_of_duckdb_are_known_by_their_text():
    spans = ("1 month", "30 days", "24:00:00", "00:00:00.000001")
    rows = " UNION ALL ".join(f"SELECT 1 AS y, 0.5 AS p, INTERVAL '{span}' AS g" for span in spans)
    found = summarize_frame(duckdb.sql(rows), **COLUMNS, by="g")
    assert {group: part.n for group, part in found.items()} == dict.fromkeys(spans, 1)
