"""Binary problems from class probabilities: against plain loops, in any container and order, and every refusal."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from trueness.errors import InputError
from trueness.multiclass import one_vs_rest, top_k, top_label


def tied(n, width, seed, levels=8):
    """Rows of whole multiples of a power of two that sum to exactly 1, so equal probabilities are common."""
    rng = np.random.default_rng(seed)
    proba = rng.multinomial(levels, np.full(width, 1 / width), size=n) / levels
    return rng.integers(width, size=n), proba


def loop_top_k(labels, proba, k, ties):
    """The definition, row by row."""
    y, p = [], []
    for label, row in zip(labels, proba, strict=True):
        order = sorted(range(len(row)), key=lambda c: -row[c])  # stable: earlier columns first
        chosen = set(order[:k]) if ties == "first" else {c for c in range(len(row)) if row[c] >= row[order[k - 1]]}
        y.append(int(label in chosen))
        p.append(min(1.0, sum(float(row[c]) for c in order[:k])))
    return np.array(y), np.array(p)


@pytest.mark.parametrize("ties", ["all", "first"])
@given(seed=st.integers(0, 2**32), width=st.integers(2, 6), data=st.data())
def test_top_k_is_its_definition(ties, seed, width, data):
    labels, proba = tied(40, width, seed)
    k = data.draw(st.integers(1, width))
    y, p = top_k(labels, proba, k, ties=ties)
    expected_y, expected_p = loop_top_k(labels, proba, k, ties)
    np.testing.assert_array_equal(y, expected_y)
    np.testing.assert_array_equal(p, expected_p)
    assert y.dtype == np.int8
    assert p.dtype == np.float64


@pytest.mark.parametrize("ties", ["all", "first"])
def test_top_label_is_top_1(ties):
    labels, proba = tied(500, 4, 0)
    y, p = top_label(labels, proba, ties=ties)
    y1, p1 = top_k(labels, proba, 1, ties=ties)
    np.testing.assert_array_equal(y, y1)
    np.testing.assert_array_equal(p, p1)
    np.testing.assert_array_equal(p, proba.max(axis=1))
    right = proba.argmax(axis=1) == labels if ties == "first" else proba[np.arange(500), labels] == proba.max(axis=1)
    np.testing.assert_array_equal(y, right)


def test_ties_by_hand():
    proba = [[0.4, 0.4, 0.2]]
    assert [top_label([label], proba)[0][0] for label in range(3)] == [1, 1, 0]
    assert [top_label([label], proba, ties="first")[0][0] for label in range(3)] == [1, 0, 0]


def test_all_classes_are_always_right():
    labels, proba = tied(50, 3, 1)
    y, p = top_k(labels, proba, 3)
    assert y.all()
    np.testing.assert_array_equal(p, 1.0)


def test_the_sum_of_probabilities_is_at_most_one():
    row = np.full((1, 10), 0.1)
    row[0, 0] += 1e-15
    assert top_k([0], row, 10)[1][0] == 1.0


def test_one_vs_rest_is_its_definition():
    labels, proba = tied(100, 3, 2)
    pairs = one_vs_rest(labels, proba)
    assert list(pairs) == [0, 1, 2]
    for c, (y, p) in pairs.items():
        np.testing.assert_array_equal(y, labels == c)
        np.testing.assert_array_equal(p, proba[:, c])
        assert (y.dtype, p.dtype) == (np.int8, np.float64)


def test_more_rows_than_a_block():
    labels, proba = tied(70_000, 5, 3)
    y, p = top_k(labels, proba, 2)
    np.testing.assert_array_equal(p, np.sort(proba, axis=1)[:, -2:].sum(axis=1))
    np.testing.assert_array_equal(y, proba[np.arange(70_000), labels] >= np.sort(proba, axis=1)[:, -2])
    np.testing.assert_array_equal(one_vs_rest(labels, proba)[4][1], proba[:, 4])
    proba[69_999] = [0.5, 0.25, 0, 0, 0]
    with pytest.raises(InputError, match=r"1 of 70000 rows do not sum to 1 \(worst: row 69999, sum 0.75\)"):
        top_label(labels, proba)


# Containers and column order


@pytest.fixture
def animals():
    """Labels, probabilities and the names of three classes."""
    names = ["cat", "dog", "eel"]
    codes, _ = tied(200, 3, 4)
    proba = np.random.default_rng(4).dirichlet([1, 1, 1], size=200)
    return [names[c] for c in codes], proba, names


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 0, 2]])
@pytest.mark.parametrize("k", [1, 2])
def test_permuted_columns_and_classes_give_the_same(animals, order, k):
    labels, proba, names = animals
    expected = top_k(labels, proba, k, classes=names)
    y, p = top_k(labels, proba[:, order], k, classes=[names[j] for j in order])
    np.testing.assert_array_equal(y, expected[0])
    np.testing.assert_array_equal(p, expected[1])


FRAMES = {
    "pandas": lambda data: pd.DataFrame(data),
    "pandas nullable": lambda data: pd.DataFrame(data).convert_dtypes(),
    "pandas arrow": lambda data: pd.DataFrame(data).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_frames_are_matched_by_name(animals, make, order):
    labels, proba, names = animals
    frame = make({names[j]: proba[:, j] for j in order})
    y, p = top_label(labels, frame)
    expected = top_label(labels, proba, classes=names)
    np.testing.assert_array_equal(y, expected[0])
    np.testing.assert_array_equal(p, expected[1])
    pairs = one_vs_rest(labels, frame, classes=names)
    assert list(pairs) == names
    np.testing.assert_array_equal(pairs["eel"][1], proba[:, 2])


@pytest.mark.parametrize(
    "make",
    [
        list, np.array, lambda x: np.array(x, dtype=object), lambda x: np.array(x)[:, None], pd.Series,
        lambda x: pd.Series(x, dtype="category"), lambda x: pd.Series(x, dtype="string"), pl.Series,
        lambda x: pl.Series(x, dtype=pl.Categorical), pa.array, lambda x: pa.chunked_array([x[:50], x[50:]]),
    ],
)  # fmt: skip
def test_labels_in_any_container(animals, make):
    labels, proba, names = animals
    np.testing.assert_array_equal(top_label(make(labels), proba, classes=names)[0], top_label(labels, proba, classes=names)[0])


@pytest.mark.parametrize("labels", [[3, 7], [3.0, 7.0], ["3", "7"], np.array([3, 7], dtype=np.uint8)])
def test_text_names_match_labels_that_print_the_same(labels):
    frame = pl.DataFrame({"7": [0.25, 0.75], "3": [0.75, 0.25]})
    assert top_label(labels, frame)[0].tolist() == [1, 1]


def test_names_of_an_array_are_matched_exactly():
    with pytest.raises(InputError, match=r"first: row 0, value 1"):
        top_label([1], [[0.25, 0.75]], classes=["0", "1"])


def test_whole_number_columns_of_pandas_are_names():
    frame = pd.DataFrame({1: [0.25], 0: [0.75]})
    assert top_label([0], frame)[0].tolist() == [1]
    assert list(one_vs_rest([0], frame, classes=[0, 1])) == [0, 1]


BIG = 2**53  # the first whole number whose successor float64 does not have


@pytest.mark.parametrize(
    "make",
    [
        list,
        np.array,
        lambda v: np.array(v, dtype=object),
        lambda v: np.ma.array([*v, 0], mask=[0, 0, 1])[:2],
        lambda v: pd.Series(v, dtype="Int64"),
        lambda v: pd.Series(v, dtype="UInt64"),
        lambda v: pd.Series([*v, None], dtype="Int64")[:2],
        lambda v: pd.Series(v, dtype="int64[pyarrow]"),
        lambda v: pl.Series(v, dtype=pl.Int128),
        lambda v: pa.array([*v, None])[:2],
        lambda v: iter(v),
    ],
)
def test_neighbouring_whole_numbers_are_two_classes(make):
    for first in (BIG, 2**62):
        labels, table = [first, first + 1], [[0.25, 0.75]] * 2
        for proba, classes in ((table, labels), (pd.DataFrame(table, columns=list(map(str, labels))), None)):
            y, p = top_label(make(labels), proba, classes=classes)
            assert (y.tolist(), p.tolist()) == ([0, 1], [0.75, 0.75])
            pairs = one_vs_rest(make(labels), proba, classes=classes)
            assert [y.tolist() for y, _ in pairs.values()] == [[1, 0], [0, 1]]


def test_labels_beside_missing_ones_are_exact_too():
    labels = pd.Series([BIG, BIG + 1, None], dtype="Int64")
    with pytest.raises(
        InputError, match=r"y_true: 1 of 3 labels are missing .*\n.*: 1 of 3 labels have no column \(first: row 1"
    ):
        top_label(labels, [[0.5, 0.5]] * 3, classes=[BIG, 3])


def test_matrices_are_tables():
    with pytest.warns(PendingDeprecationWarning):
        table = np.matrix([[0.25, 0.75], [0.5, 0.5]])
    assert top_label([1, 0], table)[1].tolist() == [0.75, 0.5]


def test_classes_may_be_an_array(animals):
    labels, proba, names = animals
    assert list(one_vs_rest(labels, proba, classes=np.array(names))) == names


def test_inputs_are_not_changed():
    labels, proba = tied(100, 3, 5)
    logits = np.log(proba + 1)
    for array in (labels, proba, logits):
        array.flags.writeable = False
    before = proba.copy()
    top_k(labels, proba, 2)
    one_vs_rest(labels, proba)[0][1][:] = -1
    top_label(labels, logits, from_logits=True)
    np.testing.assert_array_equal(proba, before)


def test_layout_and_byte_order_do_not_matter():
    labels, proba = tied(60, 4, 6)
    expected = top_k(labels, proba, 2)
    for same in (
        np.asfortranarray(proba),
        proba[::-1][::-1],
        proba.astype(">f8"),
        proba.tolist(),
        proba.astype(object),
    ):
        y, p = top_k(labels, same, 2)
        np.testing.assert_array_equal(y, expected[0])
        np.testing.assert_array_equal(p, expected[1])


def test_tensors():
    torch = pytest.importorskip("torch")
    labels, proba = tied(60, 4, 7)
    expected = top_k(labels, proba, 2)
    tensor = torch.tensor(proba, requires_grad=True)
    for same in (tensor, tensor.to(torch.bfloat16), tensor.half(), tensor.detach().to_sparse()):
        y, p = top_k(torch.tensor(labels), same, 2)
        np.testing.assert_array_equal(y, expected[0])
        np.testing.assert_array_equal(p, expected[1])
    rough = torch.softmax(torch.randn(300, 50, generator=torch.Generator().manual_seed(0)), dim=1).to(torch.bfloat16)
    p = top_k(np.zeros(300, dtype=int), rough, 3)[1]
    np.testing.assert_allclose(p, rough.double().topk(3).values.sum(dim=1).numpy(), rtol=1e-15)


# Rounding


@pytest.mark.parametrize(("dtype", "width"), [(np.float16, 1000), (np.float32, 1000), (np.float64, 1000), (np.float32, 2)])
def test_rounding_of_the_source_is_tolerated_and_no_more(dtype, width):
    logits = np.random.default_rng(8).normal(size=(50, width)).astype(dtype)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    proba = powers / powers.sum(axis=1, keepdims=True, dtype=dtype)
    assert proba.dtype == dtype
    p = top_label(np.zeros(50, dtype=int), proba)[1]
    np.testing.assert_array_equal(p, proba.max(axis=1).astype(np.float64))
    slack = 8 * width * float(np.finfo(dtype).eps)
    spoilt = np.zeros((2, width))
    spoilt[:, 0] = 1
    spoilt[1, 1] = 2 * slack
    if slack < 0.1:
        with pytest.raises(InputError, match="1 of 2 rows do not sum to 1"):
            top_label([0, 0], spoilt.astype(dtype))


def test_float32_rounding_is_not_tolerated_in_float64():
    proba = np.array([[0.3, 0.7 + 2e-7]])
    top_label([1], proba.astype(np.float32))
    with pytest.raises(InputError, match="do not sum to 1"):
        top_label([1], proba)
    with pytest.raises(InputError, match="do not sum to 1"):
        top_label([1], pd.DataFrame(proba))
    top_label([1], pd.DataFrame(proba).astype("float32"))
    top_label([1], pd.DataFrame(proba).astype("Float32"))
    top_label([1], pl.DataFrame({"0": [0.3], "1": [0.7 + 2e-7]}, schema={"0": pl.Float32, "1": pl.Float32}))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_last_digit_outside_the_interval_is_clipped(dtype):
    above = np.nextafter(dtype(1), dtype(2))
    y, p = top_label([0], np.array([[above, 0]], dtype=dtype))
    assert (y[0], p[0]) == (1, 1.0)
    pairs = one_vs_rest([0], np.array([[1, -np.finfo(dtype).eps]], dtype=dtype))
    assert pairs[1][1][0] == 0.0


# Logits


def test_logits_become_a_softmax_only_when_told():
    rng = np.random.default_rng(9)
    logits = rng.normal(scale=20, size=(300, 6))
    labels = rng.integers(6, size=300)
    expected = softmax(logits, axis=1)
    for c, (_, p) in one_vs_rest(labels, logits, from_logits=True).items():
        np.testing.assert_allclose(p, expected[:, c], rtol=1e-12)
    y, p = top_k(labels, logits, 2, from_logits=True)
    y2, p2 = top_k(labels, expected, 2)
    np.testing.assert_array_equal(y, y2)
    np.testing.assert_allclose(p, p2, rtol=1e-14)
    with pytest.raises(InputError, match="from_logits: 'no'"):
        top_label([0], [[0.5, 0.5]], from_logits="no")
    with pytest.raises(InputError, match="from_logits=True"):
        top_label(labels, logits)


def test_huge_logits_do_not_overflow():
    y, p = top_label([1], np.array([[-1e300, 1e300]]), from_logits=True)
    assert (y[0], p[0]) == (1, 1.0)


def test_logits_are_ranked_before_they_are_rounded():
    # Both probabilities below the first underflow to 0; the logits still tell which is larger.
    assert top_k([2], [[0.0, -1000.0, -2000.0]], 2, from_logits=True)[0][0] == 0
    assert top_k([1], [[0.0, -1000.0, -2000.0]], 2, from_logits=True)[0][0] == 1


def test_float16_logits_are_promoted_first():
    logits = np.random.default_rng(10).normal(size=(20, 300)).astype(np.float16)
    p = top_label(np.zeros(20, dtype=int), logits, from_logits=True)[1]
    np.testing.assert_allclose(p, softmax(logits.astype(np.float64), axis=1).max(axis=1), rtol=1e-14)


# Refusals: what, how many of how many, first row and value, why, what to do

GOOD = [[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]]

REFUSED = {
    "flat": (([0, 1], [0.5, 0.5]), {}, r"proba: shape \(2,\) has one probability .* call the metric itself"),
    "one column": (([0, 1], [[0.5], [0.5]]), {}, r"proba: shape \(2, 1\) has one probability .* call the metric"),
    "cube": (([0], np.zeros((1, 2, 3))), {}, r"proba: shape \(1, 2, 3\) is not \(n, C\)\. Give a row"),
    "scalar": (([0], 0.5), {}, r"proba: shape \(\) is not \(n, C\)"),
    "no columns": (([0], np.zeros((1, 0))), {}, r"proba: shape \(1, 0\) has no columns"),
    "no rows": (([], np.zeros((0, 2))), {}, r"proba: no rows\. Give at least one"),
    "empty frame": (([], pd.DataFrame()), {}, r"the data frame has no columns"),
    "ragged": (([0, 1], [[0.5, 0.5], [1.0]]), {}, r"proba: a list cannot be read as a table .* same number of entries"),
    "lazy": (([0], pl.LazyFrame({"0": [0.5], "1": [0.5]})), {}, r"proba: "),
    "sum": (
        ([0, 1, 0], [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5]]),
        {},
        r"proba: 2 of 3 rows do not sum to 1 \(worst: row 1, sum 0\.75\), as .* never renormalised\. Give every class",
    ),
    "nan": (
        ([0, 1, 0], [[0.5, 0.5], [np.nan, 0.5], [np.inf, 0.5]]),
        {},
        r"proba: 2 of 3 rows hold a value that is missing or not finite \(first: row 1, value nan\)\. Remove",
    ),
    "none": (([0], [[None, 0.5]]), {}, r"1 of 1 rows hold a value that is missing"),
    "masked": (
        ([0, 1], np.ma.masked_array([[0.5, 0.5], [0.5, 0.5]], mask=[[0, 0], [1, 0]])),
        {},
        r"1 of 2 rows hold a value that is missing or not finite \(first: row 1, value nan\)",
    ),
    "masked rows": (
        ([0, 1], [np.ma.array([0.5, 0.5]), np.ma.array([0.5, 0.5], mask=[1, 0])]),
        {},
        r"1 of 2 rows hold a value that is missing or not finite \(first: row 1, value nan\)",
    ),
    "masked labels": (([0, np.ma.array([1], mask=[1])[0]], GOOD[:2]), {}, r"y_true: 1 of 2 labels are missing \(first: row 1"),
    "masked classes": (([0, 1], GOOD[:2]), {"classes": np.ma.array([0, 1], mask=[0, 1])}, r"classes: .* \(position 1 of 2\)"),
    "null": (([0, 1], pl.DataFrame({"0": [0.5, None], "1": [0.5, 0.5]})), {}, r"1 of 2 rows .* row 1, value nan"),
    "nan logit": (([0], [[np.nan, 1.0]]), {"from_logits": True}, r"1 of 1 rows .* missing or not finite"),
    "logits": (
        ([0, 1], [[2.5, -1.5], [0.5, 0.5]]),
        {},
        r"proba: 1 of 2 rows hold a value outside \[0, 1\] \(first: row 0, value 2\.5\)\. If these are logits",
    ),
    "percent": (
        ([0, 1], [[50, 50], [25, 75]]),
        {},
        r"2 of 2 rows .* \(first: row 0, value 50\.0\)\. If these are perc",
    ),
    "negative": (([0], [[-0.25, 0.75]]), {}, r"outside \[0, 1\] \(first: row 0, value -0\.25\)\. Probabilities lie"),
    "text": (
        ([0, 1], [[0.5, 0.5], ["x", 0.5]]),
        {},
        r"proba, column 0: 1 of 2 values are not numbers \(first: row 1, value 'x'\)\. Give probabilities as floats",
    ),
    "text column": (
        (["a"], pd.DataFrame({"a": ["x"], "b": [0.5]})),
        {},
        r"proba, column 'a': 1 of 1 values are not numbers \(first: row 0, value 'x'\)\. Give probabilities as floats",
    ),
    "complex": (([0], np.array([[0.5, 0.5j]])), {}, r"proba, column 0: 1 of 1 values are of dtype complex128"),
    "length": (([0, 1], GOOD), {}, r"y_true has 2 rows and proba has 3\. .* nothing is repeated"),
    "indicator": (
        (np.eye(3, 2), GOOD),
        {},
        r"y_true: shape \(3, 2\) is not \(n,\)\. Give one label .* argmax",
    ),
    "label": (
        ([0, 2, -1], GOOD),
        {},
        r"y_true: 2 of 3 labels have no column \(first: row 1, value 2.*\), which is not a whole number from 0 to 1.*",
    ),
    "fraction": (([0, 0.5, 1], GOOD), {}, r"1 of 3 labels have no column \(first: row 1, value 0\.5\)"),
    "label text": (
        ([0, 1, "1"], GOOD),
        {},
        r"1 of 3 labels have no column \(first: row 2, value '1'\), which is not a",
    ),
    "label name": (
        (["a", "b", "c"], GOOD),
        {"classes": ["a", "b"]},
        r"1 of 3 labels have no column \(first: row 2, value 'c'\), which is not one of the classes \['a', 'b'\]\. G",
    ),
    "label missing": (
        (["a", None, "c"], GOOD),
        {"classes": ["a", "b"]},
        r"(?s)y_true: 1 of 3 labels are missing \(first: row 1, value None\).*1 of 3 labels have no column",
    ),
    "label nan": (([0, np.nan, 1], GOOD), {}, r"1 of 3 labels are missing \(first: row 1, value nan\)\. Remove"),
    "classes twice": (
        (["a", "b", "a"], GOOD),
        {"classes": ["a", "a"]},
        r"classes: 'a' is listed twice \(positions 0 and 1 of 2\)\. N",
    ),
    "classes too few": ((["a"] * 3, GOOD), {"classes": ["a"]}, r"classes: 1 names for the 2 columns of proba\. N"),
    "classes text": ((["a"] * 3, GOOD), {"classes": "ab"}, r"classes: 'ab' is one string"),
    "classes number": ((["a"] * 3, GOOD), {"classes": 3}, r"classes: 3 is not a list of classes\. Give a list"),
    "classes set": ((["a"] * 3, GOOD), {"classes": {"a", "b"}}, r"classes: \{.*\} is not a list of classes\. Give a list"),
    "classes lists": (
        (["a"] * 3, GOOD),
        {"classes": [["a"], ["b"]]},
        r"classes: \['a'\] cannot name a class \(position 0 of 2\)\. Name",
    ),
    "classes missing": (
        (["a"] * 3, GOOD),
        {"classes": ["a", None]},
        r"classes: None cannot name a class \(position 1 of 2\)\. N",
    ),
    "label lists": (([{}, {}, "b"], GOOD), {"classes": ["a", "b"]}, r"y_true: some labels cannot be compared with the cl"),
    "classes of a frame": (
        (["a"], pl.DataFrame({"p_a": [0.5], "p_b": [0.5]})),
        {"classes": ["a", "b"]},
        r"classes: \['a', 'b'\] are not the names of proba's columns, \['p_a', 'p_b'\]\. Columns are matched by name",
    ),
    "columns twice": (
        (["a"], pd.DataFrame([[0.5, 0.5]], columns=["a", "a"])),
        {},
        r"proba: column names are repeated \('a' 2 times\)",
    ),
    "index": (
        (pd.Series([0, 1], index=[1, 0]), pd.DataFrame([[0.5, 0.5], [0.5, 0.5]])),
        {},
        r"y_true and proba: 2 of 2 rows have different index labels \(first: row 0, 1 and 0\)\. Align",
    ),
}


@pytest.mark.parametrize(("data", "options", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("function", [top_label, one_vs_rest])
def test_bad_input_is_refused(function, data, options, message):
    with pytest.raises(InputError, match=message):
        function(*data, **options)


class LabelledFrame(pd.DataFrame):
    """A frame of someone's own, as other packages make them."""


class LabelledSeries(pd.Series):
    """A series of someone's own."""


@pytest.mark.parametrize(
    ("labels", "table"),
    [
        (LabelledSeries, pd.DataFrame),
        (pd.Series, LabelledFrame),
        (LabelledSeries, LabelledFrame),
        (lambda *given, **options: nw.from_native(pd.Series(*given, **options), series_only=True), pd.DataFrame),
        (pd.Series, lambda *given, **options: nw.from_native(pd.DataFrame(*given, **options))),
    ],
    ids=["own series", "own frame", "both", "narwhals series", "narwhals frame"],
)
@pytest.mark.parametrize("function", [top_label, one_vs_rest])
def test_rows_are_matched_whatever_holds_the_index(function, labels, table):
    proba = table([[0.9, 0.1], [0.2, 0.8]], index=["a", "b"])
    with pytest.raises(InputError, match=r"2 of 2 rows have different index labels \(first: row 0, 'b' and 'a'\)"):
        function(labels([1, 0], index=["b", "a"]), proba)
    function(labels([0, 1], index=["a", "b"]), proba)


def test_tensors_of_a_class_of_their_own():
    torch = pytest.importorskip("torch")

    class Probabilities(torch.Tensor):
        pass

    proba = torch.tensor([[0.75, 0.25], [0.5, 0.5]], dtype=torch.bfloat16).as_subclass(Probabilities)
    y, p = top_label([0, 1], proba)
    assert (y.tolist(), p.tolist()) == ([1, 1], [0.75, 0.5])


def test_all_faults_are_told_at_once():
    proba = [[np.nan, 0.5], [1.5, -0.5], [0.5, 0.25]]
    with pytest.raises(InputError) as caught:
        top_label([0, 0, 0], proba)
    lines = str(caught.value).splitlines()
    assert [line.split(" of ")[0] for line in lines] == ["proba: 1"] * 3
    assert "row 2, sum 0.75" in lines[2]


def test_many_classes_are_not_all_listed():
    with pytest.raises(InputError, match=r"'c9', \.\.\. 40 in all\]"):
        top_label(["x"], np.full((1, 40), 1 / 40), classes=[f"c{j}" for j in range(40)])


@pytest.mark.parametrize("k", [0, 3, -1, 1.5, True, None])
def test_k_is_a_number_of_classes(k):
    with pytest.raises(InputError, match=r"k: .* Give a whole number from 1 to 2"):
        top_k([0, 1, 0], GOOD, k)


def test_ties_is_a_choice():
    with pytest.raises(InputError, match=r"ties: 'last' is not one of 'all', 'first'"):
        top_label([0, 1, 0], GOOD, ties="last")


def test_positions_only_are_explained():
    with pytest.raises(InputError, match=r"a position among the columns\. Name the columns with classes=\."):
        top_label(["a", "b", "a"], GOOD)
