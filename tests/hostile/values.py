"""The hostile values, each under a name: the same column in another form, a column that must be refused, and wrong types.

Each is made from the clean value and a generator, so that a name and a seed say exactly what was tried.
"""

import datetime
import importlib.util
from array import array
from collections import deque
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

HAS_TORCH = importlib.util.find_spec("torch") is not None

Make = Callable[[Any, np.random.Generator], Any]

# Which parameters are columns of values, one a row, and of what.
KINDS = {
    "by": "groups",
    "mass": "weights",
    "proba": "table",
    "sample_weight": "weights",
    "truth": "scores",
    "y": "outcomes",
    "y_prob": "scores",
    "y_true": "outcomes",
}
CLASSES = ("one_vs_rest", "top_k", "top_label")  # their y_true is a label of several
NAMED = ("sql", "summarize_files", "summarize_frame", "assess[frame]")  # their by= names columns
GIVEN_WHOLE = ("assess[frame]", "assess[summary]", "group_tests[record]")  # their y_true is a frame or holds sums
TENSORS = "torch.CalibrationSummary.update"


def kind_of(target: str, parameter: str) -> str:
    """What the values of a parameter are, or "" where it is no column."""
    kind = KINDS.get(parameter, "")
    if kind == "outcomes":
        kind = "labels" if target in CLASSES else "" if target in GIVEN_WHOLE else kind
    if kind == "groups" and target in NAMED:
        return ""
    return f"{kind} in tensors" if kind and target == TENSORS else kind


# ---------------------------------------------------------------------------------------- the same values in another form


class ArrayLike:
    """An object that is an array only when asked."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.x, dtype=dtype)


class Subclass(np.ndarray):
    """An array of another class."""


def _strided(x: np.ndarray) -> np.ndarray:
    return np.repeat(x, 3, axis=0)[1::3]


def _reversed(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x[::-1])[::-1]


def _unaligned(x: np.ndarray) -> np.ndarray:
    raw = np.zeros(x.nbytes + 1, dtype=np.uint8)
    raw[1:] = np.frombuffer(x.tobytes(), dtype=np.uint8)
    return raw[1:].view(x.dtype).reshape(x.shape)


def _field(x: np.ndarray) -> np.ndarray:
    table = np.zeros(len(x), dtype=[("other", "i1"), ("x", x.dtype)])
    table["x"] = x
    return table["x"]


def _chunks(x: np.ndarray) -> Iterator[np.ndarray]:
    return iter([x[:5], x[5:5], x[5:40], x[40:]])


def _torch(x: Any, **options: Any) -> Any:
    import torch

    return torch.tensor(np.array(x), **options)


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "deque": lambda x: deque(x.tolist()),
    "list of NumPy's numbers": list,
    "generator": lambda x: (value for value in x.tolist()),
    "chunks, one empty": _chunks,
    "array.array": lambda x: array("d", x),
    "memoryview": lambda x: memoryview(np.array(x)),
    "float16": lambda x: x.astype("f2"),
    "float32": lambda x: x.astype("f4"),
    "longdouble": lambda x: x.astype("g"),
    "big-endian": lambda x: x.astype(">f8"),
    "objects": lambda x: x.astype(object),
    "Decimal": lambda x: [Decimal(value) for value in x.tolist()],
    "Fraction": lambda x: [Fraction(value) for value in x.tolist()],
    "one column of two dimensions": lambda x: x[:, None],
    "one column, Fortran": lambda x: np.asfortranarray(x[:, None]),
    "list of lists": lambda x: x[:, None].tolist(),
    "strided": _strided,
    "negative stride": _reversed,
    "unaligned": _unaligned,
    "a field": _field,
    "writable": np.array,
    "subclass": lambda x: np.array(x).view(Subclass),
    "masked without a mask": np.ma.array,
    "masked with an empty mask": lambda x: np.ma.array(x, mask=np.zeros(len(x), dtype=bool)),
    "masked, one column, empty mask": lambda x: np.ma.array(x[:, None], mask=np.zeros((len(x), 1), dtype=bool)),
    "__array__ alone": ArrayLike,
    "pandas": pd.Series,
    "pandas, an index of its own": lambda x: pd.Series(x, index=np.arange(len(x)) * 3 + 7),
    "pandas, one column": lambda x: pd.DataFrame({"x": x}),
    "pandas Float64": lambda x: pd.Series(x, dtype="Float64"),
    "pandas Float32": lambda x: pd.Series(x, dtype="Float32"),
    "pandas on Arrow": lambda x: pd.Series(x, dtype="double[pyarrow]"),
    "pandas, sparse": lambda x: pd.Series(pd.arrays.SparseArray(x)),
    "pandas, objects": lambda x: pd.Series(x, dtype=object),
    "pandas index": pd.Index,
    "polars": pl.Series,
    "polars, chunked": lambda x: pl.concat([pl.Series(x[:9]), pl.Series(x[9:])], rechunk=False),
    "polars Float32": lambda x: pl.Series(x, dtype=pl.Float32),
    "polars, one column": lambda x: pl.DataFrame({"x": x}),
    "Arrow": pa.array,
    "Arrow, chunked": lambda x: pa.chunked_array([x[:9], x[9:]]),
    "Arrow, an offset": lambda x: pa.array([0.25, *x])[1:],
    "Arrow float32": lambda x: pa.array(x, type=pa.float32()),
    "narwhals": lambda x: nw.from_native(pl.Series(x), series_only=True),
}
if HAS_TORCH:
    NUMBERS |= {
        "tensor": _torch,
        "tensor float32": lambda x: _torch(x).float(),
        "tensor bfloat16": lambda x: _torch(x).bfloat16(),
        "tensor with a gradient": lambda x: _torch(x, requires_grad=True),
        "tensor, one column": lambda x: _torch(x)[:, None],
        "tensor, strided": lambda x: _torch(_strided(x)),
    }
TRUTHS: dict[str, Callable[[Any], Any]] = {
    "int8": lambda x: x.astype("i1"),
    "uint64": lambda x: x.astype("u8"),
    "bool": lambda x: x.astype(bool),
    "Python's bool": lambda x: x.astype(bool).tolist(),
    "pandas boolean": lambda x: pd.Series(x.astype(bool), dtype="boolean"),
    "pandas Int64": lambda x: pd.Series(x.astype("i8"), dtype="Int64"),
    "polars Boolean": lambda x: pl.Series(x.astype(bool)),
    "Arrow bool": lambda x: pa.array(x.astype(bool)),
}
WORDS: dict[str, Callable[[Any], Any]] = {
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "generator": lambda x: (value for value in x.tolist()),
    "objects": lambda x: x.astype(object),
    "NumPy's strings": lambda x: [np.str_(value) for value in x],
    "one column of two dimensions": lambda x: x[:, None],
    "strided": _strided,
    "masked without a mask": np.ma.array,
    "pandas": pd.Series,
    "pandas category": lambda x: pd.Series(x, dtype="category"),
    "pandas string": lambda x: pd.Series(x, dtype="string"),
    "polars": lambda x: pl.Series(x.tolist()),
    "polars Categorical": lambda x: pl.Series(x.tolist(), dtype=pl.Categorical),
    "Arrow": lambda x: pa.array(x.tolist()),
    "Arrow dictionary": lambda x: pa.array(x.tolist()).dictionary_encode(),
    "narwhals": lambda x: nw.from_native(pl.Series(x.tolist()), series_only=True),
}
LABELS: dict[str, Callable[[Any], Any]] = {
    "list": lambda x: x.tolist(),
    "int8": lambda x: x.astype("i1"),
    "uint64": lambda x: x.astype("u8"),
    "objects": lambda x: x.astype(object),
    "strided": _strided,
    "pandas": pd.Series,
    "pandas Int64": lambda x: pd.Series(x, dtype="Int64"),
    "polars": pl.Series,
    "Arrow": pa.array,
}
TABLES: dict[str, Callable[[Any], Any]] = {
    "list of lists": lambda x: x.tolist(),
    "float16": lambda x: x.astype("f2"),
    "float32": lambda x: x.astype("f4"),
    "big-endian": lambda x: x.astype(">f8"),
    "Fortran": np.asfortranarray,
    "strided": _strided,
    "negative stride": _reversed,
    "unaligned": _unaligned,
    "writable": np.array,
    "masked without a mask": np.ma.array,
    "pandas": pd.DataFrame,
    "polars": lambda x: pl.DataFrame(x, schema=["0", "1", "2"]),
    "Arrow": lambda x: pa.table({str(k): x[:, k] for k in range(x.shape[1])}),
}
TENSOR_FORMS: dict[str, Callable[[Any], Any]] = {
    "float32": lambda x: x.float(),
    "bfloat16": lambda x: x.bfloat16(),
    "float16": lambda x: x.half(),
    "with a gradient": lambda x: x.clone().requires_grad_(),
    "one column": lambda x: x[:, None],
    "strided": lambda x: x.repeat_interleave(3)[1::3],
    "expanded": lambda x: x[:, None].expand(-1, 2)[:, 0],
}

SAME: dict[str, dict[str, Callable[[Any], Any]]] = {
    "scores": NUMBERS,
    "weights": NUMBERS,
    "outcomes": {**NUMBERS, **TRUTHS},
    "groups": WORDS,
    "labels": LABELS,
    "table": TABLES,
    **{f"{kind} in tensors": TENSOR_FORMS for kind in ("scores", "weights", "outcomes")},
}


# --------------------------------------------------------------------------------------------------- columns to be refused


def _at_random(bad: Any) -> Make:
    """One value of the column, at a random place, replaced."""

    def make(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        y = np.array(x, dtype=object if not isinstance(bad, float) else x.dtype)
        y[rng.integers(len(y))] = bad
        return y

    return make


def _masked(shape: tuple[int, ...]) -> Make:
    def make(x: np.ndarray, rng: np.random.Generator) -> np.ma.MaskedArray:
        mask = np.zeros(len(x), dtype=bool)
        mask[rng.integers(len(x))] = True
        return np.ma.array(x, mask=mask).reshape(shape)

    return make


def _other_index(x: np.ndarray, rng: np.random.Generator) -> pd.Series:
    return pd.Series(x, index=np.roll(np.arange(len(x)), 1 + rng.integers(len(x) - 1)))


_SHAPES: dict[str, Make] = {
    "one value short": lambda x, rng: x[:-1],
    "one value": lambda x, rng: x[:1],
    "no values": lambda x, rng: x[:0],
    "one value too many": lambda x, rng: np.append(x, x[:1]),
    "a row, not a column": lambda x, rng: x[None, :],
    "two columns": lambda x, rng: np.stack([x, x], axis=1),
    "three dimensions": lambda x, rng: x[:, None, None],
    "zero dimensions": lambda x, rng: np.array(x[0]),
    "a scalar": lambda x, rng: x[0].item(),
    "a text": lambda x, rng: "y_prob",
    "bytes": lambda x, rng: b"0" * len(x),
    "a set": lambda x, rng: set(x.tolist()),
    "a mapping": lambda x, rng: dict(enumerate(x.tolist())),
    "a class": lambda x, rng: list,
    "a function": lambda x, rng: len,
    "an object": lambda x, rng: object(),
    "a ragged list": lambda x, rng: [[value] * (1 + k % 2) for k, value in enumerate(x.tolist())],
    "two columns of pandas": lambda x, rng: pd.DataFrame({"a": x, "b": x}),
    "two columns of polars": lambda x, rng: pl.DataFrame({"a": x, "b": x}),
}
_NUMBERS: dict[str, Make] = {
    **_SHAPES,
    "not a number": _at_random(float("nan")),
    "infinite": _at_random(float("inf")),
    "infinitely small": _at_random(float("-inf")),
    "None": _at_random(None),
    "pandas' NA": _at_random(pd.NA),
    "pandas' NaT": _at_random(pd.NaT),
    "a text among them": _at_random("0.5"),
    "a list among them": lambda x, rng: [[0.5, 0.5], *x.tolist()[1:]],
    "a Decimal that is none": _at_random(Decimal("nan")),
    "a whole number beyond float64": _at_random(10**400),
    "texts": lambda x, rng: x.astype(str),
    "byte strings": lambda x, rng: x.astype("S"),
    "complex": lambda x, rng: x + 0j,
    "dates": lambda x, rng: np.full(len(x), np.datetime64("2020-01-01")),
    "durations": lambda x, rng: np.full(len(x), np.timedelta64(1, "s")),
    "structured": lambda x, rng: np.zeros(len(x), dtype=[("a", "f8"), ("b", "f8")]),
    "masked": _masked((-1,)),
    "masked, one column": _masked((-1, 1)),
    "polars null": lambda x, rng: pl.Series([None, *x.tolist()[1:]]),
    "polars texts": lambda x, rng: pl.Series(x.astype(str).tolist()),
    "polars lists": lambda x, rng: pl.Series([[value] for value in x.tolist()]),
    "Arrow null": lambda x, rng: pa.array([None, *x.tolist()[1:]]),
    "pandas Float64 with NA": lambda x, rng: pd.Series([None, *x.tolist()[1:]], dtype="Float64"),
    "chunks that change their dtype": lambda x, rng: iter([x[:9], x[9:].astype("f4")]),
    "an index in another order": _other_index,
    "other labels in the index": lambda x, rng: pd.Series(x, index=np.arange(len(x)) + 1000),
}
if HAS_TORCH:

    def _sparse_nan(x: np.ndarray, rng: np.random.Generator) -> Any:
        y = _torch(x)
        y[int(rng.integers(len(x)))] = float("nan")
        return y.to_sparse()

    _NUMBERS |= {
        "tensor without data": lambda x, rng: _torch(x).to("meta"),
        "complex tensor": lambda x, rng: _torch(x + 0j),
        "sparse tensor, not a number": _sparse_nan,
    }
_BEYOND: dict[str, Make] = {
    "above 1": _at_random(1.5),
    "a little above 1": _at_random(1.000001),
    "below 0": _at_random(-0.25),
    "percentages": lambda x, rng: x * 100,
    "logits": lambda x, rng: (x - 0.5) * 8,
    "huge": _at_random(1e300),
}
_TENSORS: dict[str, Make] = {
    "a list": lambda x, rng: x.tolist(),
    "an array": lambda x, rng: x.numpy(),
    "one value short": lambda x, rng: x[:-1],
    "one value": lambda x, rng: x[:1],
    "two columns": lambda x, rng: x.repeat(2, 1).T,
    "zero dimensions": lambda x, rng: x[0],
    "sparse": lambda x, rng: x.to_sparse(),
    "complex": lambda x, rng: x + 0j,
    "without data": lambda x, rng: x.to("meta"),
    "None": lambda x, rng: None,
}

REFUSED: dict[str, dict[str, Make]] = {
    "scores": {**_NUMBERS, **_BEYOND},
    "outcomes": {
        **_NUMBERS,
        **_BEYOND,
        "labels -1 and 1": lambda x, rng: 2 * x - 1,
        "labels 1 and 2": lambda x, rng: x + 1,
        "words": lambda x, rng: np.where(x > 0, "yes", "no"),
        "a category": lambda x, rng: pd.Series(np.where(x > 0, "yes", "no"), dtype="category"),
    },
    "weights": {
        **_NUMBERS,
        "below 0": _at_random(-0.5),
        "all zero": lambda x, rng: np.zeros(len(x)),
        "a sum beyond float64": lambda x, rng: np.full(len(x), 1.7e308),
    },
    "groups": {
        **{name: make for name, make in _SHAPES.items() if name not in ("a ragged list",)},
        "lists": lambda x, rng: [[value] for value in x.tolist()],
        "mappings": lambda x, rng: [{value: 1} for value in x.tolist()],
        "an index in another order": _other_index,
    },
    "labels": {
        **{name: make for name, make in _SHAPES.items() if name not in ("one value",)},
        "one value": lambda x, rng: x[:1],
        "not a number": lambda x, rng: _at_random(float("nan"))(x.astype(float), rng),
        "a class that has no column": _at_random(7),
        "None": _at_random(None),
        "halves": lambda x, rng: x / 2,
        "texts that are no class": lambda x, rng: np.full(len(x), "dog"),
        "masked": _masked((-1,)),
    },
    "table": {
        "one row short": lambda x, rng: x[:-1],
        "no rows": lambda x, rng: x[:0],
        "one dimension": lambda x, rng: x[:, 0],
        "three dimensions": lambda x, rng: x[:, :, None],
        "a scalar": lambda x, rng: 0.5,
        "a text": lambda x, rng: "proba",
        "None": lambda x, rng: None,
        "a set": lambda x, rng: {0.5},
        "a mapping of scalars": lambda x, rng: {0: 0.5, 1: 0.25, 2: 0.25},
        "rows that do not add to 1": lambda x, rng: x / 2,
        "not a number": lambda x, rng: np.where(x == x[rng.integers(len(x)), 0], np.nan, x),
        "infinite": lambda x, rng: np.where(x == x.max(), np.inf, x),
        "below 0": lambda x, rng: x * np.array([-1, 1, 1]),
        "texts": lambda x, rng: x.astype(str),
        "complex": lambda x, rng: x + 0j,
        "masked": lambda x, rng: np.ma.array(x, mask=x == x.max()),
        "a column twice": lambda x, rng: pd.DataFrame(x, columns=["0", "0", "1"]),
        "ragged": lambda x, rng: [[0.5, 0.5], *x.tolist()[1:]],
        "percentages": lambda x, rng: x * 100,
    },
    **{f"{kind} in tensors": _TENSORS for kind in ("scores", "outcomes")},
    "weights in tensors": {name: make for name, make in _TENSORS.items() if name != "None"},
}


# ------------------------------------------------------------------------------------------------------------- wrong types


class Unprintable:
    """Its own repr fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


class Equal:
    """Equal to nothing and everything: comparing gives no truth value."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        return np.array([True, False])


WRONG: dict[str, Make] = {
    "None": lambda x, rng: None,
    "True": lambda x, rng: True,
    "zero": lambda x, rng: 0,
    "one": lambda x, rng: 1,
    "minus one": lambda x, rng: -1,
    "a fraction": lambda x, rng: 2.5,
    "not a number": lambda x, rng: float("nan"),
    "infinite": lambda x, rng: float("inf"),
    "a huge whole number": lambda x, rng: 10**30,
    "a whole number too long to print": lambda x, rng: 10**5000,
    "complex": lambda x, rng: 1j,
    "an empty text": lambda x, rng: "",
    "a text": lambda x, rng: "nope",
    "no as a text": lambda x, rng: "no",
    "a lone surrogate": lambda x, rng: "\ud800",
    "a NUL": lambda x, rng: "a\0b",
    "a terminal's escape": lambda x, rng: "\x1b[31mred",
    "a random text": lambda x, rng: "".join(map(chr, rng.integers(1, 0x2FFF, 1 + rng.integers(40)))).replace("/", ""),
    "a long text": lambda x, rng: "x" * 10_000,
    "bytes": lambda x, rng: b"p",
    "an empty list": lambda x, rng: [],
    "a list of None": lambda x, rng: [None],
    "a list of lists": lambda x, rng: [["a"], ["b"]],
    "an empty mapping": lambda x, rng: {},
    "a mapping": lambda x, rng: {"a": 1},
    "a mapping of None": lambda x, rng: {None: None},
    "a set": lambda x, rng: {1, 2},
    "a tuple": lambda x, rng: (1, 2),
    "a generator": lambda x, rng: (k for k in range(3)),
    "an array": lambda x, rng: np.array([1.0, 2.0]),
    "an array of no dimension": lambda x, rng: np.array(0.5),
    "an array of texts": lambda x, rng: np.array(["a", "b"]),
    "a frame": lambda x, rng: pd.DataFrame({"a": [1, 2]}),
    "a Series": lambda x, rng: pd.Series([1, 2]),
    "an object": lambda x, rng: object(),
    "what cannot be printed": lambda x, rng: Unprintable(),
    "what cannot be compared": lambda x, rng: Equal(),
    "a class": lambda x, rng: int,
    "a function of too many": lambda x, rng: _of_nine,
    "an ellipsis": lambda x, rng: ...,
    "a date": lambda x, rng: datetime.date(2020, 1, 1),
    "a Decimal": lambda x, rng: Decimal("0.5"),
    "a generator of numbers": lambda x, rng: np.random.default_rng(0),
    "an old generator of numbers": lambda x, rng: np.random.RandomState(0),
}


def _of_nine(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, i: Any) -> None:
    """Not what calls back."""
