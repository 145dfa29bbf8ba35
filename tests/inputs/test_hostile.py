"""Inputs nobody should pass and somebody will: each gives the right number or an error that says what is wrong."""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from given_rows import chunks_of, rows_of

from trueness.errors import InputError
from trueness.inputs.rows import Arrays

BIG = 2**53  # the first whole number whose successor float64 does not have
LONG = np.dtype(np.longdouble).itemsize > 8


def read(*columns, **options) -> Arrays:
    return rows_of(*columns, **options).arrays()


def message(*columns, **options) -> str:
    with pytest.raises(InputError) as caught:
        read(*columns, **options)
    text = str(caught.value)
    assert text.replace("\n", "").isprintable()
    return text


def objects(*values):
    out = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):
        out[k] = value
    return out


# Labels that are large whole numbers, such as identifiers, are told apart even where a column is read as float64.


@pytest.mark.parametrize(
    "labels",
    [
        [BIG, BIG + 1],
        [BIG, BIG + 1, None],
        [BIG, BIG + 1, -1],
        objects(BIG, BIG + 1, None),
        np.array([BIG, BIG + 1]),
        np.ma.array([BIG, BIG + 1, 3], mask=[False, False, True]),
        pd.Series([BIG, BIG + 1], dtype="Int64"),
        pd.Series([BIG, BIG + 1, None], dtype="Int64"),
        pl.Series([BIG, BIG + 1, None]),
        pl.Series([BIG, BIG + 1], dtype=pl.Int128),
        pa.array([BIG, BIG + 1, None]),
        [Decimal(BIG), Decimal(BIG + 1)],
        [Fraction(BIG), Fraction(BIG + 1), None],
        pa.array([Decimal(BIG), Decimal(BIG + 1)]),
        pl.Series([Decimal(BIG), Decimal(BIG + 1)]),
        pd.Series([BIG, BIG + 1]).astype("category"),
        pa.array([BIG, BIG + 1, None]).dictionary_encode(),
    ],
    ids=lambda labels: type(labels).__module__ + str(len(labels)),
)
def test_neighbouring_whole_numbers_are_two_labels(labels):
    f = [0.5] * len(labels)
    for kind in (int, float, np.float64, Decimal, Fraction):
        assert read(labels, f, pos_label=kind(BIG), nan="drop").y.tolist()[:2] == [1.0, 0.0]
    for kind in (int, np.int64, Decimal, Fraction):
        assert read(labels, f, pos_label=kind(BIG + 1), nan="drop").y.tolist()[:2] == [0.0, 1.0]


@pytest.mark.parametrize("label", [Decimal("0.2"), Fraction(1, 5)])
@pytest.mark.parametrize("container", [list, pa.array, pl.Series])
def test_labels_that_no_float_has_are_compared_as_they_are(container, label):
    labels = container([Decimal("0.1"), Decimal("0.2"), Decimal("0.20000000000000000001")])
    assert read(labels, [0.5] * 3, pos_label=label).y.tolist() == [0.0, 1.0, 0.0]


def test_whole_numbers_beyond_64_bits():
    assert read([2**70, 2**70 + 1], [0.5] * 2, pos_label=2**70).y.tolist() == [1.0, 0.0]
    assert read([-1, 2**63 + 1, 2**63 + 2], [0.5] * 3, pos_label=2**63 + 2).y.tolist() == [0.0, 0.0, 1.0]
    assert read([-(2**63), 0], [0.5] * 2, pos_label=np.int64(-(2**63))).y.tolist() == [1.0, 0.0]
    assert "value -1)" in message([-1, 2**63 + 1], [0.5] * 2)


@pytest.mark.parametrize(
    ("labels", "label"), [(np.array([1, 2], dtype="f2"), 70_000), ([1.0, 2.0], 10**400), ([1, 2], 10**400), ([0.5, 2.0], 1e300)]
)
def test_a_label_beyond_the_dtype_of_the_column_never_occurs(labels, label):
    assert "y_true: 0 of 2 values equal pos_label=" in message(labels, [0.5] * 2, pos_label=label)


# Labels of other kinds.


def test_one_class_of_another_type_than_the_event_is_a_mistake():
    for column, shown in (
        (np.array(["ham", "ham"], dtype="S"), "b'ham' (2 rows)"),
        ([datetime.date(2020, 1, 1)] * 2, "datetime.date(2020, 1, 1) (2 rows)"),
        (objects({}, {}), "'{}' (2 rows)"),
    ):
        text = message(column, [0.5] * 2, pos_label="ham")
        assert f"y_true: 0 of 2 values equal pos_label='ham' of type str. Observed values: {shown}." in text
    assert read(["ham", "ham"], [0.5] * 2, pos_label="spam").y.tolist() == [0.0, 0.0]
    assert read(["ham", "spam"], [0.5] * 2, pos_label=np.str_("spam")).y.tolist() == [0.0, 1.0]


class Uncomparable:
    __hash__ = object.__hash__

    def __eq__(self, other):
        raise TypeError("no")


@pytest.mark.parametrize("odd", [np.array([1, 2]), pd.DataFrame({"a": [1, 2]}), Uncomparable()], ids=lambda x: type(x).__name__)
def test_labels_that_do_not_compare_are_not_the_event(odd):
    assert read(objects(odd, "a", None), [0.5] * 3, pos_label="a", nan="drop").y.tolist() == [0.0, 1.0]


def test_an_event_that_does_not_compare_never_occurs():
    assert "y_true: 0 of 2 values equal pos_label=<" in message(["a", "b"], [0.5] * 2, pos_label=Uncomparable())


def test_the_advice_names_a_label_that_can_be_passed():
    text = message(objects(np.array([1, 2]), "a"), [0.5] * 2)
    assert text.endswith("pos_label='a' on summarize, assess or compare, or pass y_true == 'a'.")
    for column in (objects([1], [2]), pd.MultiIndex.from_tuples([(1, 2), (3, 4)]), pl.Series([[1], [2]], dtype=pl.Object)):
        assert message(column, [0.5] * 2).endswith("Give each row one label, such as a number or a text.")


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.float32(np.inf), Decimal("inf")])
def test_infinite_among_labels_is_not_finite(value):
    text = message(objects("a", value), [0.5] * 2, pos_label="a")
    assert "y_true: 1 of 2 values is missing or not finite (first: row 1, value " in text
    assert read(iter([["a"], [value]]), [0.5] * 2, pos_label="a", nan="drop").y.tolist() == [1.0]


def test_the_total_counts_values_that_are_not_listed():
    text = message(np.arange(20_000), np.full(20_000, 0.5), pos_label=-5)
    assert "y_true: 0 of 20000 values equal pos_label=-5" in text
    assert "and at least 9990 more." in text


def test_missing_categories_are_not_counted_as_numbers():
    text = message(pd.Series([None, 1, 0], dtype="category"), [0.5] * 3)
    assert text.startswith(
        "y_true: 2 of 3 values are of type int in a column of dtype category, not numbers (first: row 1, value 1)"
    )


# Lists that NumPy would read as something else.


def test_a_list_of_rows_of_numbers_and_text_is_not_turned_into_text():
    assert "y_prob: 1 of 2 values is of type str in a column of dtype object" in message([0, 1], [["a"], [0.5]])
    assert read([["a"], [np.nan], ["b"]], [0.5] * 3, pos_label="a", nan="drop").y.tolist() == [1.0, 0.0]
    assert read([["a"], [1]], [0.5] * 2, pos_label=1).y.tolist() == [0.0, 1.0]


def test_scalars_of_arrow_are_not_read_as_bytes():
    assert "sample_weight: 2 of 2 values are of type str" in message([0, 1], [0.5] * 2, iter(pa.array(["a", "b"])))
    assert read([0, 1, 1], list(pa.array([0.5, None, 0.25])), nan="drop").f.tolist() == [0.5, 0.25]
    chunks = chunks_of(iter(pa.array(["a", "b"])), iter(pa.array([0.5, 0.25])), nan="raise", pos_label="a")
    assert chunks is not None
    assert [rows.arrays().y.tolist() for rows in chunks] == [[1.0, 0.0]]


def test_ranges():
    assert read(range(1, -1, -1), [0.5] * 2).y.tolist() == [1.0, 0.0]
    assert read(range(0, 1, 10**30), [0.5]).y.tolist() == [0.0]
    assert "y_prob has 10000000000000 values" in message([0, 1], range(10**13))
    assert "y_prob: a range could not be read as one column" in message([0, 1], range(10**30))
    assert "(first: row 0, value 9223372036854775808)" in message([0, 1], range(2**63, 2**63 + 2))


# Numbers too large for float64 are not "missing".


@pytest.mark.skipif(not LONG, reason="longdouble is float64 here")
def test_long_doubles_beyond_float64_are_not_dropped():
    huge = np.longdouble("1e4000") if LONG else np.longdouble(0)
    for column in (np.array([0.5, huge]), objects(0.5, huge)):
        for columns in (([0, 1], column), ([0, 1], [0.5] * 2, column)):
            assert ": row 1, value 1e+4000, is too large for a float64" in message(*columns, nan="drop")
    assert read([0, 1], np.ma.array([0.5, huge], mask=[False, True]), nan="drop").f.tolist() == [0.5]
    assert "missing or not finite (first: row 1, value inf)" in message([0, 1], np.array([0.5, np.inf], dtype=np.longdouble))


# Containers of pandas and PyTorch.


def test_sparse_columns_of_other_dtypes():
    sparse = pd.arrays.SparseArray
    assert read(sparse(objects("a", "b")), [0.5] * 2, pos_label="b").y.tolist() == [0.0, 1.0]
    assert read([0, 1], pd.Series(sparse(objects(0.5, None))), nan="drop").f.tolist() == [0.5]
    text = message([0, 1], sparse(np.array(["2020", "2021"], dtype="M8[ns]")))
    assert text.startswith("y_prob: 2 of 2 values are of dtype datetime64[ns] (first: row 0, value ")
    assert "2 of 2 values are of dtype complex128 (first: row 0, value 1j)" in message([0, 1], sparse(np.array([1j, 2j])))


def test_extension_arrays_of_numpy():
    assert read([0, 1], pd.arrays.NumpyExtensionArray(np.array([0.5, 0.25]))).f.tolist() == [0.5, 0.25]


def test_a_multiindex_is_no_column_of_numbers():
    index = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
    assert "y_prob: 2 of 2 values are of type tuple" in message([0, 1], index)
    assert read([0, 1], pd.Series([0.5, 0.25], index=index)).f.tolist() == [0.5, 0.25]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors():
    torch = pytest.importorskip("torch")
    for layout in (torch.strided, torch.jagged):
        nested = torch.nested.nested_tensor([torch.tensor([0.5]), torch.tensor([0.5, 1.0])], layout=layout)
        assert "y_prob: the tensor is nested" in message([0, 1], nested)


def test_integer_and_boolean_tensors():
    torch = pytest.importorskip("torch")
    for dtype in (torch.bool, torch.int8, torch.uint8, torch.uint16, torch.uint64):
        assert read(torch.tensor([0, 1], dtype=dtype), [0.5] * 2).y.tolist() == [0.0, 1.0]
    text = message([0, 1], torch.tensor([0.5, 0.5]).to(torch.float8_e4m3fn))
    assert "2 of 2 values are of dtype float8_e4m3fn (first: row 0, value 0.5), not read as real numbers." in text


def test_structured_arrays_name_their_field():
    assert message([0, 1], np.zeros(2, dtype=[("chance", "f8")])).endswith("Pass one field, for example x['chance'].")


# Indexes that pandas itself cannot match.


def series(values, index):
    return pd.Series(values, index=index)


def test_overlapping_intervals():
    index = pd.IntervalIndex.from_tuples([(0, 2), (1, 3)])
    y, f = series([0, 1], index), series([0.25, 0.5], index[::-1])
    assert "2 of 2 index labels are not in the order of y_true (first: row 0, label Interval(1, 3" in message(y, f)
    assert read(y, f, align="index").f.tolist() == [0.5, 0.25]
    assert "2 of 2 labels of y_true are absent from its index" in message(pd.Series([0, 1]), f)


def test_levels_of_another_number():
    two, three = pd.MultiIndex.from_tuples([(1, 1), (2, 2)]), pd.MultiIndex.from_tuples([(1, 1, 1), (2, 2, 2)])
    for align in (None, "index"):
        text = message(series([0, 1], two), series([0.5, 0.5], three), align=align)
        assert "y_prob: 2 of 2 labels of y_true are absent from its index (first: row 0" in text


def test_index_labels_that_cannot_be_hashed():
    lists = pd.Index([[1], [2]], dtype=object)
    text = message(series([0, 1], lists), pd.Series([0.5, 0.5]))
    assert "y_prob: its index of 2 labels cannot be matched by label: unhashable" in text
    assert read(series([0, 1], lists), pd.Series([0.5, 0.25]), align="position").f.tolist() == [0.5, 0.25]


def test_index_labels_of_other_types_that_pandas_converts():
    y, f = series([0, 1], ["2020-01-01", "2020-01-02"]), series([0.5, 0.25], pd.date_range("2020", periods=2))
    text = message(y, f)
    assert text.startswith("y_prob: its index labels are of dtype datetime64[")
    assert "label Timestamp('2020-01-01 00:00:00') where y_true has '2020-01-01'" in text


# Objects whose own methods fail.


class Silent:
    def __repr__(self):
        raise RuntimeError("no")


class Loud:
    def __repr__(self):
        return "two\nlines\x1b[31m"


class Broken:
    def __array__(self, dtype=None, copy=None):
        raise KeyError("field")


class NextOnly:
    def __next__(self):
        raise StopIteration


def test_values_that_print_badly():
    assert "(first: row 0, value a Silent)" in message([0, 1], objects(Silent(), 0.5))
    assert r"(first: row 0, value two\nlines\x1b[31m)" in message([0, 1], objects(Loud(), 0.5))
    assert r"value    a\n0  1)" in message([0, 1], objects(pd.DataFrame({"a": [1]}), 0.5))


def test_a_container_that_cannot_be_read():
    assert message([0, 1], Broken()) == "y_prob: a Broken could not be read as one column: 'field'. Pass a NumPy array."


@pytest.mark.parametrize("thing", [zip, map, NextOnly()], ids=["zip", "map", "object"])
def test_what_is_no_iterator_is_not_taken_for_one(thing):
    assert chunks_of(thing, thing, nan="raise", pos_label=None) is None
    assert "is not a column of values" in message([0, 1], thing)


def test_an_error_inside_a_generator_is_its_own():
    with pytest.raises(ZeroDivisionError):
        read([0, 1], (1 / x for x in (1, 0)))


@pytest.mark.parametrize("option", ["nan", "align"])
def test_options_that_are_arrays(option):
    assert f"{option}=array([1, 2]) is not a choice." in message([0], [0.5], **{option: np.array([1, 2])})


@pytest.mark.parametrize(
    "empty",
    [
        [[]],
        np.empty((0, 3)),
        pd.DataFrame(),
        pl.DataFrame(),
        pa.table({}),
        "",
        {},
        pd.Series([], dtype="M8[ns]"),
        np.zeros(0, dtype=[("p", "f8")]),
    ],
    ids=lambda empty: type(empty).__module__ + type(empty).__name__,
)
def test_empty_things_of_the_wrong_kind(empty):
    assert message([], empty).startswith("y_prob: ")
