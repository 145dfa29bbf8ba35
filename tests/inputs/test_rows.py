"""What bad rows get: an error that names the argument, the count, the first row and value, why, and what to do."""

import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from given_rows import chunks_of, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st

from trueness.errors import InputError
from trueness.inputs.columns import CHUNK
from trueness.inputs.faults import FAULTS, ZERO
from trueness.inputs.rows import (
    Arrays,
    Rows,
    classify,
    raise_bad_rows,
    raise_none_left,
    weight_exponent,
)

pytestmark = pytest.mark.filterwarnings("error")


def read(*columns, **options) -> Arrays:
    return rows_of(*columns, **options).arrays()


def message(*columns, **options) -> str:
    with pytest.raises(InputError) as caught:
        read(*columns, **options)
    return str(caught.value)


# Rows 1 and 3: missing and infinite values.


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("place", "name", "code"), [(0, "y_true", -3), (1, "y_prob", -1), (2, "sample_weight", -6)])
def test_missing_or_infinite(bad, place, name, code):
    columns = [np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.1, 0.2, 0.3, 0.4]), np.array([1.0, 2.0, 3.0, 4.0])]
    columns[place][[1, 3]] = bad
    assert message(*columns) == (
        f"{name}: 2 of 4 values are missing or not finite (first: row 1, value {bad}). "
        "Fill or remove them first, or pass nan='drop' to summarize, assess or compare, which count what they drop."
    )
    got = read(*columns, nan="drop")
    assert got.rejected == {FAULTS[code].reason: 2}
    assert len(got.f) == len(got.y) == 2
    assert len(got.f) + sum(got.rejected.values()) == 4


def test_all_kinds_of_problems_in_one_error_each_column_counted_by_itself():
    text = message([np.nan, 7, 0, 1], [np.nan, np.nan, 1.5, 0.5], [np.nan, -1, 1, 1])
    assert [line.split(" (first")[0] for line in text.splitlines()] == [
        "y_prob: 2 of 4 values are missing or not finite",
        "y_prob: 1 of 4 values is outside [0, 1]",
        "y_true: 1 of 4 values is missing or not finite",
        "y_true: 1 of 4 values is not 0, 1 or a probability between them",
        "sample_weight: 1 of 4 values is negative",
        "sample_weight: 1 of 4 values is missing or not finite",
    ]
    text = message([np.nan, 7, 0, 1], [np.nan, 0.5, 1.5, 0.5], [np.nan, -1, 1, 1], nan="drop")
    assert [line.split(":")[0] for line in text.splitlines()] == ["y_prob", "y_true", "sample_weight"]


def test_dropping_does_not_excuse_what_is_wrong():
    assert "y_prob: 1 of 2 values is outside [0, 1] (first: row 1, value 1.5)" in message([0, 1], [np.nan, 1.5], nan="drop")


def test_precedence_of_reasons():
    got = read([np.nan, np.nan, 1, 1], [np.nan, 0.5, 0.5, 0.5], [np.nan, np.nan, np.nan, 1], nan="drop")
    assert got.rejected == {FAULTS[-1].reason: 1, FAULTS[-3].reason: 1, FAULTS[-6].reason: 1}


# Rows 4 and 5: how far outside [0, 1] is rounding.

EPS = {"float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}


@pytest.mark.parametrize("dtype", EPS)
def test_rounding_of_the_source_dtype_is_clipped_and_counted(dtype):
    eps = EPS[dtype]
    f = np.array([0.5, 1 + eps, 1 + 4 * eps, -eps, -4 * eps, 0.0, 1.0], dtype=dtype)
    rows = rows_of(np.ones(7), f)
    assert rows.f.tolerance == 4 * eps
    got = rows.arrays()
    assert got.f.tolist() == [0.5, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    assert got.clipped == 4
    for beyond in (1 + 5 * eps, -5 * eps):
        text = message([1, 1], np.array([0.5, beyond], dtype=dtype))
        assert "y_prob: 1 of 2 values is outside [0, 1] (first: row 1" in text


def test_rounding_of_bfloat16():
    torch = pytest.importorskip("torch")
    got = read([1, 1], torch.tensor([1 + 2.0**-7, -(2.0**-7)], dtype=torch.bfloat16))
    assert got.f.tolist() == [1.0, 0.0]
    assert "outside [0, 1]" in message([1], torch.tensor([1 + 5 * 2.0**-7], dtype=torch.bfloat16))


def test_outcomes_are_clipped_within_rounding_too():
    got = read([1 + 2.0**-52, 0.0], [0.5, 1 + 2.0**-52])
    assert got.y.tolist() == [1.0, 0.0]
    assert got.clipped == 2
    assert not got.soft


def test_clipped_values_of_unused_rows_do_not_count():
    f = np.array([1 + 2.0**-52] * 3)
    assert read([1, np.nan, 1], f, [0.0, 1.0, 1.0], nan="drop").clipped == 1


@pytest.mark.parametrize("value", [1 + 1e-6, -0.3, 1.5, -1e-15])
def test_outside_by_more(value):
    assert f"y_prob: 1 of 2 values is outside [0, 1] (first: row 1, value {value})" in message([0, 1], [0.5, value])


def test_ends_denormals_and_negative_zero():
    f = [5e-324, 1 - 2.0**-53, -0.0, 0.0, 1.0]
    got = read([0] * 5, f)
    assert got.f.tolist() == f
    assert got.clipped == 0


# Rows 6 and 7: what the numbers may be instead.


def test_hints():
    example = message([0, 1, 0, 1], [0.1, 0.2, 0.3, 1.5])
    assert example == (
        "y_prob: 1 of 4 values is outside [0, 1] (first: row 3, value 1.5). "
        "If these are logits, pass them through a sigmoid first; if percentages, divide by 100."
    )
    assert message([0, 1], [-2.5, 3.0]).endswith("If these are logits, pass them through a sigmoid first.")
    assert message([0, 1], [12.0, 99.0]).endswith("If these are percentages, divide by 100.")
    assert message([0, 1], [-2.5, -0.1]).endswith(
        "log-probabilities, pass them through exp first; if logits, through a sigmoid."
    )
    assert message([0, 1], [250.0, 99.0]).endswith("a sigmoid first; if percentages, divide by 100.")


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_random_logits(seed):
    logits = np.random.default_rng(seed).normal(0, 3, 100)
    assert "If these are logits" in message(np.zeros(100), logits)


def test_integer_predictions():
    assert read([0, 1], [0, 1]).f.tolist() == [0.0, 1.0]
    assert read([0, 1], [False, True]).f.tolist() == [0.0, 1.0]
    assert "y_prob: 1 of 2 values is outside [0, 1] (first: row 1, value 2)" in message([0, 1], np.array([0, 2]))


# Rows 8 to 10: outcomes.


@pytest.mark.parametrize("values", [(-1, 1), (1, 2), (0, 2), (0, 1, 7)])
@pytest.mark.parametrize("make", [list, np.array, pl.Series, pa.array, lambda v: pd.Series(v, dtype="Int64")])
def test_other_codes_for_outcomes(values, make):
    labels = [values[k % len(values)] for k in range(6)]
    wrong = [k for k, label in enumerate(labels) if label not in (0, 1)]
    text = message(make(labels), [0.5] * 6)
    assert text.startswith(
        f"y_true: {len(wrong)} of 6 values are not 0, 1 or a probability between them "
        f"(first: row {wrong[0]}, value {labels[wrong[0]]}). Observed values: "
    )
    for value in values:
        assert f"{value} ({6 // len(values)} rows)" in text
    event = max(values)
    assert text.endswith(f"the event: pos_label={event} on summarize, assess or compare, or pass y_true == {event}.")
    got = read(make(labels), [0.5] * 6, pos_label=event)
    assert got.y.tolist() == [float(label == event) for label in labels]


def test_outcomes_that_are_no_outcomes_at_all_list_ten():
    text = message(np.arange(100.0), np.full(100, 0.5))
    assert "98 of 100 values are not 0, 1" in text
    assert text.count(" rows)") == 10
    assert "and 90 more." in text
    assert "at least" in message(np.arange(20_000.0), np.full(20_000, 0.5))


LABELS = {
    "list": list,
    "numpy str": np.array,
    "numpy bytes": lambda v: np.array(v, dtype="S"),
    "object": lambda v: np.array(v, dtype=object),
    "pandas": pd.Series,
    "pandas object": lambda v: pd.Series(v, dtype=object),
    "pandas string": lambda v: pd.Series(v, dtype="string"),
    "pandas string[pyarrow]": lambda v: pd.Series(v, dtype="string[pyarrow]"),
    "pandas arrow": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.string())),
    "pandas category": lambda v: pd.Series(v, dtype="category"),
    "pandas Categorical": pd.Categorical,
    "polars": pl.Series,
    "polars Categorical": lambda v: pl.Series(v, dtype=pl.Categorical),
    "polars Enum": lambda v: pl.Series(v, dtype=pl.Enum(["ham", "spam"])),
    "arrow": pa.array,
    "arrow large": lambda v: pa.array(v, pa.large_string()),
    "arrow dictionary": lambda v: pa.array(v).dictionary_encode(),
    "arrow chunked": lambda v: pa.chunked_array([v[:1], v[1:]]),
    "generator": iter,
    "chunks": lambda v: iter([v[:2], v[2:]]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_text_labels(kind):
    labels = ["ham", "spam", "ham", "ham"]
    ham, spam = (b"ham", b"spam") if "bytes" in kind else ("ham", "spam")
    text = message(LABELS[kind](labels), [0.5] * 4)
    assert text.startswith(f"y_true: 4 of 4 values are of type {type(ham).__name__} in a column of dtype ")
    assert f", not numbers (first: row 0, value {ham!r}). Observed values: {ham!r} (3 rows), {spam!r} (1 rows)." in text
    assert text.endswith(f"pos_label={spam!r} on summarize, assess or compare, or pass y_true == {spam!r}.")
    rows = rows_of(LABELS[kind](labels), [0.5] * 4, pos_label=spam)
    assert rows.arrays().y.tolist() == [0.0, 1.0, 0.0, 0.0]
    assert f"y_true: {spam!r} counted as 1, every other value as 0" in rows.notes
    absent = message(LABELS[kind](labels), [0.5] * 4, pos_label="eggs")
    assert "y_true: 0 of 4 values equal pos_label='eggs' of type str. Observed values:" in absent
    assert f"{ham!r} (3 rows)" in absent
    wrong_type = message(LABELS[kind](["ham"] * 4), [0.5] * 4, pos_label=1)
    assert "0 of 4 values equal pos_label=1 of type int" in wrong_type
    assert f"y_prob: 4 of 4 values are of type {type(ham).__name__}" in message([0] * 4, LABELS[kind](labels))
    assert "Convert the column to numbers first." in message([0] * 4, [0.5] * 4, LABELS[kind](labels))


MISSING_LABELS = {
    "list": list,
    "object": lambda v: np.array(v, dtype=object),
    "pandas": pd.Series,
    "pandas string": lambda v: pd.Series(v, dtype="string"),
    "pandas category": lambda v: pd.Series(v, dtype="category"),
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow dictionary": lambda v: pa.array(v).dictionary_encode(),
    "masked": lambda v: np.ma.array(["x" if a is None else a for a in v], mask=[a is None for a in v]),
}


@pytest.mark.parametrize("make", MISSING_LABELS.values(), ids=MISSING_LABELS.keys())
def test_missing_labels_stay_missing(make):
    labels = ["spam", None, "ham"]
    text = message(make(labels), [0.5] * 3, pos_label="spam")
    assert "y_true: 1 of 3 values is missing or not finite (first: row 1, value " in text
    got = read(make(labels), [0.1, 0.2, 0.3], pos_label="spam", nan="drop")
    assert got.y.tolist() == [1.0, 0.0]
    assert got.f.tolist() == [0.1, 0.3]
    assert got.rejected == {FAULTS[-3].reason: 1}


def test_missing_numbers_stay_missing_with_pos_label():
    assert read([1, None, 2], [0.5] * 3, pos_label=2, nan="drop").y.tolist() == [0.0, 1.0]
    assert read(pd.Series([1, None, 2], dtype="Int64"), [0.5] * 3, pos_label=2, nan="drop").y.tolist() == [0.0, 1.0]
    assert read([1.0, np.inf, 2.0], [0.5] * 3, pos_label=2, nan="drop").y.tolist() == [0.0, 1.0]


def test_pos_label_on_numbers():
    assert read([True, False], [0.5] * 2, pos_label=False).y.tolist() == [0.0, 1.0]
    assert read([1, 1], [0.5] * 2, pos_label=2).y.tolist() == [0.0, 0.0]
    assert "0 of 3 values equal pos_label=9 of type int. Observed values: 1 (2 rows), 2 (1 rows)" in message(
        [1, 2, 1], [0.5] * 3, pos_label=9
    )
    assert "0 of 2 values equal pos_label='1' of type str" in message([1, 1], [0.5] * 2, pos_label="1")
    assert read(np.array([1, 2, "x"], dtype=object), [0.5] * 3, pos_label="x").y.tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("label", [np.nan, pd.NA, [1], np.array([1])])
def test_pos_label_is_one_value(label):
    assert "is not a label. Pass the one value of y_true" in message([0, 1], [0.5] * 2, pos_label=label)


def test_categories_of_numbers_are_labels():
    text = message(pd.Series([0, 1, 1], dtype="category"), [0.5] * 3)
    assert "y_true: 3 of 3 values are of type int in a column of dtype category, not numbers" in text
    assert "Observed values: 1 (2 rows), 0 (1 rows)" in text
    assert read(pd.Series([0, 1, 1], dtype="category"), [0.5] * 3, pos_label=1).y.tolist() == [0.0, 1.0, 1.0]


def test_chunks_of_numbers_and_of_text():
    parts = [0, 1, 7], ["a", "b"]
    text = message(iter(parts), [0.5] * 5)
    assert text.startswith("y_true: 2 of 5 values are of type str")
    assert "(first: row 3, value 'a')" in text
    assert read(iter(parts), [0.5] * 5, pos_label="b").y.tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert read(iter(parts), [0.5] * 5, pos_label=7).y.tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]


def test_text_columns_without_a_value():
    for column in (pd.Series([None, None], dtype="string"), pa.array([None, None], pa.string())):
        text = message(column, [0.5] * 2)
        assert text.startswith("y_true: 2 of 2 values are missing in a column of dtype string (first: row 0, value ")
        assert "y_true: 2 of 2 values are missing or not finite" in message(column, [0.5] * 2, pos_label="a")


def test_labels_that_cannot_be_hashed_are_listed_too():
    labels = np.empty(2, dtype=object)
    labels[:] = [[1], [2]]
    assert "Observed values: '[1]' (1 rows), '[2]' (1 rows)." in message(labels, [0.5] * 2)


# Rows 13 to 15: shapes and lengths.


@pytest.mark.parametrize("n", [1, 4])
def test_lengths_differ(n):
    text = message([0, 1, 0, 1, 0], [0.5] * n)
    assert f"y_prob: lengths differ (y_true has 5, y_prob has {n} values)" in text
    assert "nothing is broadcast or cut" in text
    text = message([0, 1], [0.5] * 2, [1.0] * n)
    assert f"sample_weight: lengths differ (y_true has 2, y_prob has 2, sample_weight has {n} values)" in text


@pytest.mark.parametrize("scalar", [0.5, 1, True, np.float64(0.5), np.array(0.5), None, Decimal("0.5"), Fraction(1, 2)])
def test_scalars_are_not_broadcast(scalar):
    text = message([0, 1], scalar)
    assert text.startswith("y_prob: is ")
    assert "single value" in text
    assert "not broadcast" in text


@pytest.mark.parametrize(
    ("shape", "remedy"),
    [
        ((1, 4), "x.ravel()"),
        ((4, 2), "top_label"),
        ((4, 0), "one column"),
        ((4, 1, 1), "one column"),
        ((2, 2, 2), "one column"),
    ],
)
def test_shapes(shape, remedy):
    text = message([0, 1, 0, 1], np.full(shape, 0.5))
    assert text.startswith(f"y_prob: has shape {shape} where one column")
    assert remedy in text


def test_frames_of_several_columns():
    for frame in (
        pd.DataFrame({"a": [0.5], "b": [0.5]}),
        pl.DataFrame({"a": [0.5], "b": [0.5]}),
        pa.table({"a": [0.5], "b": [0.5]}),
    ):
        assert "y_prob: has shape (1, 2) where one column" in message([0], frame)


@pytest.mark.parametrize("empty", [[], (), np.array([]), pd.Series([], dtype=float), pl.Series([]), pa.array([]), iter(())])
def test_no_rows(empty):
    assert message([], empty) == "y_true and y_prob: no rows (0 values in each). Pass at least one row."


def test_one_row():
    assert read([1], [0.5]).f.tolist() == [0.5]


# Rows 20 to 22: number types.


def test_notes_tell_the_source_dtype():
    y = [0, 1]
    assert rows_of(y, np.array([0.5, 0.5])).notes == ()
    assert rows_of(y, np.array([0.5, 0.5], dtype="f4")).notes == ("y_prob: float32 promoted to float64",)
    assert rows_of(y, pd.Series([0.5, 0.5], dtype="Float32")).notes == ("y_prob: Float32 promoted to float64",)
    assert rows_of(y, np.array([0.5, 0.5], dtype=">f2")).notes == ("y_prob: float16 promoted to float64",)
    if np.dtype(np.longdouble).itemsize > 8:
        assert rows_of(y, np.array([0.5, 0.5], dtype=np.longdouble)).notes == ("y_prob: longdouble rounded to float64",)


def test_promotion_happens_before_anything_else():
    f = np.random.default_rng(0).random(100).astype("f4")
    np.testing.assert_array_equal(read(np.zeros(100), f).f, f.astype("f8"))


def test_decimals_and_fractions_are_correctly_rounded():
    assert read([0, 0], [Decimal("0.1"), Decimal("0.30000000000000004440892098500627")]).f.tolist() == [
        0.1,
        0.30000000000000004,
    ]
    assert read([0, 0], [Fraction(1, 3), Fraction(1, 10)]).f.tolist() == [1 / 3, 0.1]
    third = Decimal("0.33333333333333333333333333333333")
    for column in (pa.array([third]), pl.Series([third])):
        assert read([0], column).f.tolist() == [1 / 3]


@pytest.mark.parametrize("value", [10**400, Fraction(10**400), Decimal("1e400"), -(10**5000)], ids=list("abcd"))
def test_numbers_beyond_float64(value):
    assert "y_prob: row 1, value " in message([0, 0], [0.5, value])
    assert "too large for a float64" in message([0, 0], [0.5, value])


@pytest.mark.parametrize(
    "column",
    [
        np.array([1j, 0.5]),
        np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"),
        np.array([1, 2], dtype="m8[s]"),
        np.array([(0.5, 1), (0.5, 2)], dtype=[("p", "f8"), ("k", "i4")]),
        pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])),
        pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])).dt.tz_localize("UTC"),
        pd.Series(pd.period_range("2020", periods=2, freq="D")),
        pl.Series([[0.5], [0.5]]),
        pl.Series([{"p": 0.5}, {"p": 0.5}]),
        pa.array([[0.5], [0.5]]),
        pa.array([1, 2], pa.timestamp("s")),
    ],
    ids=lambda column: str(getattr(column, "dtype", getattr(column, "type", ""))),
)
def test_dtypes_that_are_not_numbers(column):
    for name, columns in {
        "y_prob": ([0, 1], column),
        "y_true": (column, [0.5, 0.5]),
        "sample_weight": ([0, 1], [0.5] * 2, column),
    }.items():
        text = message(*columns)
        assert text.startswith(f"{name}: 2 of 2 values are of dtype ")
        assert "(first: row 0, value " in text
        assert "Pass " in text


@pytest.mark.parametrize(("item", "kind"), [("0.5", "str"), ([1], "list"), (1j, "complex"), (object, "type"), (b"x", "bytes")])
def test_objects_that_are_not_numbers(item, kind):
    column = np.empty(4, dtype=object)
    column[:] = [0.5, None, 0.25, 0.75]
    column[2] = item
    text = message([0] * 4, column)
    assert text.startswith(
        f"y_prob: 1 of 4 values is of type {kind} in a column of dtype object, not numbers (first: row 2, value "
    )
    assert text.endswith("Convert the column to numbers first.")
    assert f"y_true: 1 of 4 values is of type {kind}" in message(column, [0.5] * 4)


def test_a_list_of_numbers_and_text_is_not_turned_into_text():
    assert "y_prob: 1 of 3 values is of type str" in message([0] * 3, [0.5, "x", 0.25])


@pytest.mark.parametrize(
    "thing", ["abc", b"abc", {0.5, 0.25}, {"a": 0.5}, object(), pl.LazyFrame({"a": [0.5]}), pa.scalar(0.5)]
)
def test_things_that_are_no_column(thing):
    text = message([0, 1], thing)
    assert text.startswith("y_prob: a ")
    assert "is not a column of values." in text


def test_things_that_live_elsewhere_are_not_collected():
    import dask.array

    text = message([0, 1], dask.array.from_array(np.array([0.5, 0.5])))
    assert text.startswith("y_prob: a dask.array.core.Array is not a column of values. Collect the column")
    assert "y_prob: a pandas" in message([0, 1], pd.DataFrame({"a": [1, 2]}).groupby("a"))


def test_sparse_matrices_say_how_to_become_a_column():
    from scipy.sparse import csr_matrix

    assert message([0, 1], csr_matrix([[0.5], [0.0]])).endswith("Call .toarray().ravel() first.")


def test_anything_numpy_can_read():
    class Holder:
        def __array__(self, dtype=None, copy=None):
            return np.array([0.5, 0.25])

    assert read([0, 1], Holder()).f.tolist() == [0.5, 0.25]


def test_ragged_lists():
    assert "y_prob: a list could not be read as one column" in message([0, 1], [[0.5], [0.5, 0.25]])


# Rows 25 to 27: weights.


def test_negative_weights():
    assert message([0, 1, 0], [0.5] * 3, [1.0, -1.0, -2.0]) == (
        "sample_weight: 2 of 3 values are negative (first: row 1, value -1.0). "
        "A weight says how much its row counts: pass zero or more."
    )
    assert "1 of 2 values is negative" in message([0, 1], [0.5] * 2, [1, -1], nan="drop")


def test_all_weights_zero():
    assert message([0, 1], [0.5] * 2, [0, 0]) == (
        "sample_weight: 2 of 2 values are zero (first: row 0, value 0), so no rows are left. "
        "Give at least one row a positive weight."
    )
    text = message([0, 1], [0.5, np.nan], [0, 1], nan="drop")
    assert f"no rows left of 2 ({FAULTS[-1].reason}: 1, {FAULTS[ZERO].reason}: 1)" in text


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1), st.sampled_from([0.0, -0.0, 0.5, 1.0])), min_size=1, max_size=30).filter(
        lambda rows: any(w > 0 for _, _, w in rows)
    )
)
@settings(max_examples=50, deadline=None)
def test_zero_weight_is_absence(rows):
    y, f, w = zip(*rows, strict=True)
    got = read(y, f, w)
    kept = read(*zip(*[row for row in rows if row[2] > 0], strict=True))
    np.testing.assert_array_equal(got.f, kept.f)
    np.testing.assert_array_equal(got.y, kept.y)
    np.testing.assert_array_equal(got.w, kept.w)
    assert got.rejected.get(FAULTS[ZERO].reason, 0) == len(rows) - len(kept.f)


def test_a_row_is_checked_before_its_zero_weight_removes_it():
    assert "y_prob: 1 of 2 values is outside [0, 1]" in message([0, 1], [0.5, 2.0], [1, 0])
    assert read([0, 1], [0.5, np.nan], [1, 0], nan="drop").rejected == {FAULTS[-1].reason: 1}


@pytest.mark.parametrize("scale", [1e300, 1e-300, 5e-324, 2.0**1000])
def test_huge_and_tiny_weights_are_scaled(scale):
    w = np.array([1.0, 3.0, 2.0]) * scale
    rows = rows_of([0, 1, 1], [0.1, 0.2, 0.3], w)
    exponent = weight_exponent(rows)
    assert exponent == math.frexp(float(w.max()))[1]
    got = rows.arrays().w
    assert got is not None
    np.testing.assert_array_equal(np.ldexp(got, exponent), w)
    assert 0.5 <= got.max() < 1.0


@pytest.mark.parametrize("largest", [1.0, 2.0**-300, 2.0**300, 1e-20])
def test_ordinary_weights_are_left_alone(largest):
    rows = rows_of([0, 1], [0.1, 0.2], [largest, 0.0])
    assert weight_exponent(rows) == 0
    assert weight_exponent(rows_of([0, 1], [0.1, 0.2])) == 0


def test_weights_whose_sum_overflows():
    text = message([0, 1, 0], [0.5] * 3, [1e308, 1.5e308, 1e308])
    assert text == (
        "sample_weight: the sum of 3 of 3 values overflows float64 (largest: row 1, value 1.5e+308). "
        "Divide all weights by a constant; that changes no result."
    )
    got = read([0, np.nan, 0], [0.5] * 3, [1.0, 1e308, 2.0], nan="drop")
    assert got.w is not None
    assert got.w.tolist() == [1.0, 2.0]


# Rows 32 and 33: pandas' index.


def test_same_index_or_only_one_is_fine():
    y, f = pd.Series([0, 1], index=["a", "a"]), pd.Series([0.25, 0.5], index=["a", "a"])
    assert read(y, f).f.tolist() == [0.25, 0.5]
    assert read(y, [0.25, 0.5]).f.tolist() == [0.25, 0.5]
    assert read(np.array([0, 1]), f, [1, 2]).f.tolist() == [0.25, 0.5]
    assert read(y, pl.Series([0.25, 0.5])).f.tolist() == [0.25, 0.5]
    assert read(y, pd.Index([0.25, 0.5])).f.tolist() == [0.25, 0.5]


def test_another_order_of_the_index():
    y = pd.Series([0, 1, 1], index=[10, 11, 12])
    f = pd.Series([0.25, 0.5, 0.75], index=[10, 12, 11])
    assert message(y, f) == (
        "y_prob: 2 of 3 index labels are not in the order of y_true (first: row 1, label 12 where y_true has 11). "
        "Match by label with .reindex, or by position with .to_numpy() of both; summarize also takes align=."
    )
    rows = rows_of(y, f, align="position")
    assert rows.arrays().f.tolist() == [0.25, 0.5, 0.75]
    assert rows.notes == ("y_prob: matched with y_true by position; their indexes differ",)
    rows = rows_of(y, f.to_frame(), align="index")
    assert rows.arrays().f.tolist() == [0.25, 0.75, 0.5]
    assert rows.notes == ("y_prob: reordered to the index of y_true",)
    assert "sample_weight: 2 of 3 index labels" in message(y, f.to_numpy(), f)
    assert "sample_weight: 2 of 3 index labels are not in the order of y_prob" in message([0, 1, 1], f, y)


def test_another_index():
    y, f = pd.Series([0, 1, 1], index=[0, 1, 2]), pd.Series([0.25, 0.5, 0.75], index=[0, 2, 3])
    for align in (None, "index"):
        text = message(y, f, align=align)
        assert "y_prob: 1 of 3 labels of y_true are absent from its index (first: row 1, label 1)" in text
        assert ".to_numpy() of both" in text
    assert read(y, f, align="position").f.tolist() == [0.25, 0.5, 0.75]


def test_an_index_of_several_levels():
    levels = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])
    y, f = pd.Series([0, 1, 1], index=levels), pd.Series([0.25, 0.5, 0.75], index=levels)
    assert read(y, f).f.tolist() == [0.25, 0.5, 0.75]
    assert "y_prob: 2 of 3 index labels are not in the order of y_true (first: row 0" in message(y, f.iloc[::-1])
    assert read(y, f.iloc[::-1], align="index").f.tolist() == [0.25, 0.5, 0.75]


def test_repeated_labels_match_by_position_only():
    y, f = pd.Series([0, 1, 1], index=["a", "b", "b"]), pd.Series([0.25, 0.5, 0.75], index=["a", "b", "b"])
    assert read(y, f).f.tolist() == [0.25, 0.5, 0.75]
    text = message(y, f, align="index")
    assert "y_true: 1 of 3 index labels are repeats (first: row 2, label 'b')" in text
    assert ".to_numpy() of both" in text
    text = message(y, f.iloc[::-1])
    assert "y_prob: its index of 3 labels differs from that of y_true and labels repeat" in text


def test_filtered_frames_of_other_lengths_say_their_lengths():
    y, f = pd.Series([0, 1, 1]), pd.Series([0.25, 0.5], index=[0, 2])
    assert "lengths differ (y_true has 3, y_prob has 2 values)" in message(y, f)


def test_options():
    assert message([0], [0.5], nan="ignore") == "nan='ignore' is not a choice. Pass nan='raise' (the default) or nan='drop'."
    text = message([0], [0.5], align="label")
    assert text.startswith("align='label' is not a choice. Pass align=None (the default), align='position' or align='index'")


def test_names():
    text = message([0], [1.5], names=("column 'y'", "column 'p'", "column 'w'"))
    assert text.startswith("column 'p': 1 of 1 values is outside [0, 1] (first: row 0, value 1.5).")


def test_long_and_hostile_values_are_shortened_and_escaped():
    text = message(["\x1b[31m" + "x" * 10_000] * 2, [0.5, 0.5])
    assert "\x1b" not in text
    assert len(text) < 600


# Row 35: iterators.


def stream(*columns, nan="raise", pos_label=None) -> list[Arrays]:
    found = chunks_of(*columns, nan=nan, pos_label=pos_label)
    assert found is not None
    return [rows.arrays() for rows in found]


def refused(*columns, **options) -> str:
    with pytest.raises(InputError) as caught:
        stream(*columns, **options)
    return str(caught.value)


def test_arguments_that_are_not_iterators_are_not_streamed():
    assert chunks_of([0], [0.5], nan="raise", pos_label=None) is None
    assert chunks_of(np.zeros(2), np.zeros(2), nan="raise", pos_label=None) is None
    # A mixture is left whole for read_rows.
    y = iter([np.array([0, 1])])
    assert chunks_of(y, [0.5, 0.5], nan="raise", pos_label=None) is None
    assert read(y, [0.5, 0.5]).y.tolist() == [0.0, 1.0]


def test_chunks_are_paired():
    got = stream(
        iter([np.array([0, 1]), np.array([], dtype=int), [], np.array([1])]),
        iter([np.array([0.1, 0.2]), np.array([]), [], np.array([0.3])]),
        (x for x in [np.ones(2), np.ones(0), [], np.full(1, 2.0)]),
    )
    assert [a.f.tolist() for a in got] == [[0.1, 0.2], [0.3]]
    assert [a.y.tolist() for a in got] == [[0.0, 1.0], [1.0]]
    assert [a.w.tolist() for a in got if a.w is not None] == [[1.0, 1.0], [2.0]]


def test_chunks_of_lists_may_mix_integers_and_floats():
    got = stream(iter([[0, 1], [0.5, 1]]), iter([[0, 1], [0.5, 0.25]]))
    assert [a.f.tolist() for a in got] == [[0.0, 1.0], [0.5, 0.25]]


def test_generators_of_numbers():
    got = stream(iter([0, 1]), (x for x in [0.25, 0.5]))
    assert [a.f.tolist() for a in got] == [[0.25, 0.5]]
    assert "lengths differ (y_true has 3, y_prob has 2" in refused(iter([0, 1, 1]), iter([0.5, 0.5]))
    assert "y_true: 1 of 2 values" in refused(iter([0, 2]), iter([0.5, 0.5]))


def test_errors_of_streams_name_the_chunk():
    a, b = np.array([0.5, 0.5]), np.array([0.5, 0.5, 0.5])
    y2, y3 = np.array([0, 1]), np.array([0, 1, 1])
    text = refused(iter([y2, y3]), iter([a, a]))
    assert "y_prob, chunk 1: lengths differ (y_true, chunk 1 has 3, y_prob, chunk 1 has 2 values)" in text
    text = refused(iter([y2, y3]), iter([a]))
    assert text.startswith("y_prob: no chunk 1 (first missing)")
    assert "same number of chunks" in text
    text = refused(iter([y2, y3]), iter([a, b.astype("f4")]))
    assert text.startswith(
        "y_prob, chunk 1: its 3 values are of dtype float32, the first chunk's of float64 (first: row 0, value 0.5)"
    )
    text = refused(iter([y2, y2]), iter([a, np.array([0.5, 1.5])]))
    assert text.startswith("y_prob, chunk 1: 1 of 2 values is outside [0, 1] (first: row 1, value 1.5)")
    assert "or pass y_true == 2" in refused(iter([y2, y2 + 1]), iter([a, a]))
    assert refused(iter([y2]), iter([0.5])).startswith("chunk 0: y_true gave a ndarray, y_prob gave a float")
    assert "no rows (0 values in all chunks)" in refused(iter([[]]), iter([[]]))
    assert "no rows (0 values in all chunks)" in refused(iter([]), iter([]))
    assert "y_prob, chunk 1: its 3 values are of dtype float32" in message(np.zeros(5), iter([a, b.astype("f4")]))


def test_notes_of_chunks_are_the_same_words():
    chunks = chunks_of(iter([np.array([0, 1])] * 3), iter([np.array([0.5, 0.5], dtype="f4")] * 3), nan="raise", pos_label=None)
    assert chunks is not None
    assert {rows.notes for rows in chunks} == {("y_prob: float32 promoted to float64",)}


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_chunks_in_any_sizes_are_the_whole(sizes, seed):
    n = sum(sizes)
    rng = np.random.default_rng(seed)
    y, f = rng.integers(0, 2, n), rng.random(n)
    cuts = np.cumsum(sizes)[:-1]
    parts = stream(iter(np.split(y, cuts)), iter(np.split(f, cuts)))
    np.testing.assert_array_equal(np.concatenate([part.f for part in parts]), f)
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), y)
    rows = rows_of(iter(np.split(y, cuts)), iter(np.split(f, cuts)))
    for start in range(n):
        for stop in range(start, n + 1):
            np.testing.assert_array_equal(rows.f.chunk(start, stop), f[start:stop])


def test_one_iterator_for_two_arguments():
    it = iter([0, 1, 0, 1])
    assert "y_true and y_prob: are one and the same iterator" in message(it, it)
    assert "y_true and y_prob: are one and the same iterator" in refused(it, it)


def test_pos_label_over_chunks():
    got = stream(iter([["a", "b"], ["c", "b"]]), iter([[0.5, 0.5]] * 2), pos_label="c")
    assert [a.y.tolist() for a in got] == [[0.0, 0.0], [1.0, 0.0]]
    text = refused(iter([["a"], ["b"]]), iter([[0.5]] * 2), pos_label="c")
    assert "y_true: 0 of 2 values equal pos_label='c' of type str. Observed values: 'a' (1 rows), 'b' (1 rows)" in text


def test_options_of_streams_are_checked_before_anything_is_read():
    with pytest.raises(InputError, match="nan='x' is not a choice"):
        chunks_of(iter([]), iter([]), nan="x", pos_label=None)


# The pieces engines use.


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i8", "u1", "?"])
def test_classify_of_a_clean_chunk(dtype):
    f, y, w = np.array([0, 1, 1], dtype=dtype), np.array([1, 0, 1], dtype=dtype), np.array([1, 1, 0], dtype=dtype)
    codes, f64, y64, w64, clipped = classify(rows_of(y, f, w), f, y, w)
    assert codes.dtype == np.int8
    assert codes.tolist() == [0, 0, 0]
    assert w64 is not None
    assert f64.dtype == y64.dtype == w64.dtype == np.float64
    assert clipped == 0
    assert np.shares_memory(f64, f) == (dtype == "f8")


def test_classify_codes():
    f = np.array([np.nan, 1.5, 0.5, 0.5, 0.5, 0.5, 0.5, np.inf])
    y = np.array([7.0, np.nan, np.nan, 7.0, 1.0, 1.0, 0.5, 1.0])
    w = np.array([-1.0, -1.0, -1.0, np.nan, -1.0, -np.inf, 0.0, 1.0])
    assert classify(rows_of(y, f, w), f, y, w)[0].tolist() == [-1, -2, -3, -4, -5, -6, 0, -1]


def test_classify_of_an_empty_chunk():
    rows = rows_of([0], [0.5], [1.0])
    codes, f, _, _, clipped = classify(rows, np.empty(0), np.empty(0), np.empty(0))
    assert len(codes) == len(f) == clipped == 0


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_codes_agree_with_a_plain_loop(data):
    odd = [0.0, -0.0, 0.5, 1.0, np.nan, np.inf, -np.inf, 1.5, -0.5, 1 + 2.0**-52, 1 + 2.0**-49, -(2.0**-52), 5e-324]
    n = data.draw(st.integers(1, 12))
    f, y, w = (np.array(data.draw(st.lists(st.sampled_from(odd), min_size=n, max_size=n))) for _ in range(3))
    expected, clipped, tolerance = [], 0, 4 * 2.0**-52
    for a, b, c in zip(f, y, w, strict=True):
        if not math.isfinite(a):
            expected.append(-1)
        elif a < -tolerance or a > 1 + tolerance:
            expected.append(-2)
        elif not math.isfinite(b):
            expected.append(-3)
        elif b < -tolerance or b > 1 + tolerance:
            expected.append(-4)
        elif math.isfinite(c) and c < 0:
            expected.append(-5)
        elif not math.isfinite(c):
            expected.append(-6)
        else:
            expected.append(0)
            clipped += sum(bool(v < 0 or v > 1) for v in (a, b)) if c > 0 else 0
    codes, f64, y64, _, found = classify(rows_of(y, f, w), f, y, w)
    assert codes.tolist() == expected
    assert found == clipped
    usable = codes == 0
    np.testing.assert_array_equal(f64[usable], np.clip(f[usable], 0, 1))
    np.testing.assert_array_equal(y64[usable], np.clip(y[usable], 0, 1))


def test_first_row_is_found_in_any_chunk():
    f = np.full(3 * CHUNK, 0.5)
    f[[2 * CHUNK + 5, 2 * CHUNK + 9]] = 1.25
    text = message(np.zeros(len(f)), f)
    assert f"y_prob: 2 of {len(f)} values are outside [0, 1] (first: row {2 * CHUNK + 5}, value 1.25)" in text


def test_data_that_change_between_passes():
    with pytest.raises(InputError, match="the data changed"):
        raise_bad_rows(rows_of([0, 1], [0.5, 0.5]))


def test_none_left_says_the_counts():
    with pytest.raises(InputError, match=r"y_true and y_prob: no rows left of 2 \(outcome missing or not finite: 2\)"):
        raise_none_left(rows_of([0, 1], [0.5, 0.5]), {FAULTS[-3].reason: 2})


# One value of a valid table spoilt at random.

SPOIL = {
    "y_true": [np.nan, np.inf, 2.0, -1.0, 1.0 + 1e-9],
    "y_prob": [np.nan, -np.inf, 1.5, -0.25, 1.0 + 1e-9],
    "sample_weight": [np.nan, np.inf, -1.0, -5e-324],
}
HOLD = [
    np.asarray,
    list,
    pd.Series,
    lambda v: pd.Series(v).astype("Float64"),
    pl.Series,
    lambda v: pa.array(v, from_pandas=True),
    lambda v: np.array(v, dtype=">f8"),
    lambda v: np.array(v, dtype=object),
]


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_one_bad_value_is_found_whatever_holds_it(data):
    n = data.draw(st.integers(1, 40))
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    columns = {
        "y_true": rng.integers(0, 2, n).astype(float),
        "y_prob": rng.random(n),
        "sample_weight": rng.random(n) + 0.5,
    }
    held = {name: data.draw(st.sampled_from(HOLD)) for name in columns}
    got = read(*(held[name](values) for name, values in columns.items()))
    for values, read_back in zip(columns.values(), (got.y, got.f, got.w), strict=True):
        np.testing.assert_array_equal(values, read_back)
    assert got.clipped == 0
    name, row = data.draw(st.sampled_from(list(SPOIL))), data.draw(st.integers(0, n - 1))
    value = data.draw(st.sampled_from(SPOIL[name]))
    columns[name][row] = value
    spoilt = [held[column](values) for column, values in columns.items()]
    text = message(*spoilt)
    assert text.startswith(f"{name}: 1 of {n} values is ")
    assert f"(first: row {row}, value " in text
    assert "\n" not in text
    if n > 1 and not math.isfinite(value):
        kept = read(*spoilt, nan="drop")
        assert sum(kept.rejected.values()) == 1
        np.testing.assert_array_equal(kept.f, np.delete(columns["y_prob"], row))
        np.testing.assert_array_equal(kept.y, np.delete(columns["y_true"], row))
        np.testing.assert_array_equal(kept.w, np.delete(columns["sample_weight"], row))


def test_reading_arrays_loads_no_other_package():
    code = (
        "import sys, numpy as np; from trueness.inputs.rows import read_rows; read_rows([0, 1], np.array([0, 1])).arrays(); "
        "sys.exit(any(m in sys.modules for m in ('pandas', 'polars', 'pyarrow', 'torch', 'narwhals', 'scipy')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rows_know_their_length():
    rows = rows_of([0, 1, 1], [0.1, 0.2, 0.3])
    assert isinstance(rows, Rows)
    assert len(rows) == 3
    assert rows.nan == "raise"
