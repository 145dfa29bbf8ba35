"""The same data in every container give the same rows, read without changing or copying the source."""

import array
import hashlib
import tracemalloc
from collections import deque
from decimal import Decimal
from fractions import Fraction

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from given_rows import rows_of

from trueness.errors import InputError
from trueness.inputs.columns import CHUNK
from trueness.inputs.rows import Arrays

pytestmark = pytest.mark.filterwarnings("error")

# Eighths are exact in every float type, bfloat16 included.
F = [0.0, 0.125, 0.25, 0.5, 0.625, 0.875, 1.0]
Y = [0, 0, 1, 0, 1, 1, 1]
W = [1.0, 2.0, 0.5, 4.0, 1.0, 0.25, 3.0]


def same(got: Arrays, f=F, y=Y, w=None) -> None:
    assert got.f.dtype == got.y.dtype == np.float64
    np.testing.assert_array_equal(got.f, f)
    np.testing.assert_array_equal(got.y, y)
    if w is None:
        assert got.w is None
    else:
        assert got.w is not None
        assert got.w.dtype == np.float64
        np.testing.assert_array_equal(got.w, w)
    assert got.rejected == {}
    assert got.clipped == 0


def objects(values):
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def matrix(values):
    with pytest.warns(PendingDeprecationWarning):
        return np.matrix(values)


def every_other(values):
    out = np.full(2 * len(values), 9.0)
    out[::2] = values
    return out[::2]


def read_only(values):
    out = np.array(values, dtype=float)
    out.flags.writeable = False
    return out


FLOATS = {
    "list": list,
    "tuple": tuple,
    "deque": deque,
    "array.array": lambda v: array.array("d", v),
    "memoryview": lambda v: memoryview(array.array("d", v)),
    "list of rows": lambda v: [[x] for x in v],
    "float64": lambda v: np.array(v, dtype="f8"),
    "float32": lambda v: np.array(v, dtype="f4"),
    "float16": lambda v: np.array(v, dtype="f2"),
    "longdouble": lambda v: np.array(v, dtype=np.longdouble),
    "big-endian": lambda v: np.array(v, dtype=">f8"),
    "big-endian float32": lambda v: np.array(v, dtype=">f4"),
    "strided": every_other,
    "reversed": lambda v: np.array(v[::-1], dtype=float)[::-1],
    "fortran column": lambda v: np.asfortranarray(np.stack([v, v], axis=1))[:, :1],
    "column": lambda v: np.array(v, dtype=float)[:, None],
    "matrix": lambda v: np.array(v, dtype=float)[:, None].view(np.matrix),
    "read-only": read_only,
    "objects": lambda v: objects([float(x) for x in v]),
    "Decimal": lambda v: [Decimal(x) for x in v],
    "Fraction": lambda v: objects([Fraction(x) for x in v]),
    "mixed objects": lambda v: objects([Decimal(v[0]), *[np.float32(x) for x in v[1:-1]], int(v[-1])]),
    "masked, nothing masked": lambda v: np.ma.array(v, dtype=float),
    "pandas": lambda v: pd.Series(v, dtype="float64"),
    "pandas float32": lambda v: pd.Series(v, dtype="float32"),
    "pandas Float64": lambda v: pd.Series(v, dtype="Float64"),
    "pandas Float32": lambda v: pd.Series(v, dtype="Float32"),
    "pandas ArrowDtype": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.float64())),
    "pandas object": lambda v: pd.Series(v, dtype=object),
    "pandas sparse": lambda v: pd.Series(v, dtype=pd.SparseDtype("float64")),
    "pandas Index": lambda v: pd.Index(v, dtype="float64"),
    "pandas array": lambda v: pd.array(v, dtype="Float64"),
    "pandas frame": lambda v: pd.DataFrame({"a": v}),
    "polars": lambda v: pl.Series("a", v, dtype=pl.Float64),
    "polars Float32": lambda v: pl.Series("a", v, dtype=pl.Float32),
    "polars Decimal": lambda v: pl.Series("a", [Decimal(x) for x in v]),
    "polars frame": lambda v: pl.DataFrame({"a": v}),
    "polars two chunks": lambda v: pl.concat([pl.Series(v[:3]), pl.Series(v[3:])], rechunk=False),
    "narwhals": lambda v: nw.from_native(pl.Series(v), series_only=True),
    "arrow": lambda v: pa.array(v, pa.float64()),
    "arrow float32": lambda v: pa.array(v, pa.float32()),
    "arrow halffloat": lambda v: pa.array(np.array(v, dtype="f2")),
    "arrow decimal": lambda v: pa.array([Decimal(x) for x in v], pa.decimal128(10, 5)),
    "arrow chunked": lambda v: pa.chunked_array([v[:2], [], v[2:]], type=pa.float64()),
    "arrow sliced": lambda v: pa.array([9.0, *v, 9.0]).slice(1, len(v)),
    "arrow table": lambda v: pa.table({"a": v}),
    "generator": lambda v: (x for x in v),
    "chunks": lambda v: iter([np.array(v[:2]), np.array([]), np.array(v[2:])]),
    "chunks of lists": lambda v: iter([v[:2], v[2:]]),
}

INTEGERS = {
    "list": list,
    "list of bool": lambda v: [bool(x) for x in v],
    "bool": lambda v: np.array(v, dtype=bool),
    "int8": lambda v: np.array(v, dtype="i1"),
    "uint64": lambda v: np.array(v, dtype="u8"),
    "big-endian int": lambda v: np.array(v, dtype=">i4"),
    "object bools": lambda v: objects([np.bool_(x) for x in v]),
    "pandas Int64": lambda v: pd.Series(v, dtype="Int64"),
    "pandas UInt8": lambda v: pd.Series(v, dtype="UInt8"),
    "pandas boolean": lambda v: pd.Series([bool(x) for x in v], dtype="boolean"),
    "pandas bool": lambda v: pd.Series([bool(x) for x in v]),
    "pandas arrow bool": lambda v: pd.Series([bool(x) for x in v], dtype="bool[pyarrow]"),
    "pandas sparse int": lambda v: pd.Series(v, dtype=pd.SparseDtype("int64", 0)),
    "polars Int8": lambda v: pl.Series(v, dtype=pl.Int8),
    "polars Int128": lambda v: pl.Series(v, dtype=pl.Int128),
    "polars Boolean": lambda v: pl.Series([bool(x) for x in v]),
    "arrow int32": lambda v: pa.array(v, pa.int32()),
    "arrow bool": lambda v: pa.array([bool(x) for x in v]),
    "arrow chunked bool": lambda v: pa.chunked_array([[bool(x) for x in v[:2]], [bool(x) for x in v[2:]]]),
    "map": lambda v: map(int, v),
}


@pytest.mark.parametrize("make", FLOATS.values(), ids=FLOATS.keys())
def test_predictions_outcomes_and_weights_in_every_container(make):
    same(rows_of(Y, make(F)).arrays())
    same(rows_of(make([float(y) for y in Y]), np.array(F)).arrays())
    same(rows_of(Y, F, make(W)).arrays(), w=W)
    same(rows_of(make([float(y) for y in Y]), make(F), make(W)).arrays(), w=W)


@pytest.mark.parametrize("make", INTEGERS.values(), ids=INTEGERS.keys())
def test_outcomes_in_every_container_of_integers(make):
    same(rows_of(make(Y), F).arrays())
    same(rows_of(Y, make(Y)).arrays(), f=Y)


def test_range_and_soft_labels():
    got = rows_of(range(2), [0.5, 0.5]).arrays()
    assert got.y.tolist() == [0.0, 1.0]
    assert not got.soft
    assert rows_of([0, 0.5], [0.5, 0.5]).arrays().soft


def test_memmap(tmp_path):
    path = tmp_path / "p.bin"
    np.array(F).tofile(path)
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    same(rows_of(Y, np.memmap(path, dtype="f8", mode="r")).arrays())
    same(rows_of(Y, np.memmap(path, dtype="f8", mode="r+")).arrays())
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before


@pytest.mark.parametrize(
    "make",
    [
        lambda torch: torch.tensor(F),
        lambda torch: torch.tensor(F, dtype=torch.float64, requires_grad=True),
        lambda torch: torch.nn.Parameter(torch.tensor(F)),
        lambda torch: torch.tensor(F, dtype=torch.bfloat16),
        lambda torch: torch.tensor(F, dtype=torch.float16),
        lambda torch: torch.tensor(F)[:, None],
        lambda torch: torch.tensor(F).to_sparse(),
        lambda torch: torch.tensor([x for v in F for x in (v, 9.0)])[::2],
    ],
)
def test_tensors(make):
    torch = pytest.importorskip("torch")
    same(rows_of(torch.tensor(Y), make(torch)).arrays())
    same(rows_of(torch.tensor(Y, dtype=torch.bool), make(torch), torch.tensor(W)).arrays(), w=W)


def test_tensors_that_hold_no_real_numbers():
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match=r"y_prob: the tensor is on the meta device"):
        rows_of(Y, torch.empty(7, device="meta"))
    with pytest.raises(InputError, match=r"y_prob: 7 of 7 values are of dtype complex64 .*row 0"):
        rows_of(Y, torch.zeros(7, dtype=torch.complex64))
    with pytest.raises(InputError, match=r"y_prob: is a single value"):
        rows_of(Y, torch.tensor(0.5))


MISSING = {
    "None": lambda: [0.5, None, 0.25],
    "NaN": lambda: np.array([0.5, np.nan, 0.25]),
    "float32 NaN": lambda: np.array([0.5, np.nan, 0.25], dtype="f4"),
    "Decimal NaN": lambda: [Decimal("0.5"), Decimal("NaN"), Decimal("0.25")],
    "pd.NA": lambda: [0.5, pd.NA, 0.25],
    "NaT": lambda: objects([0.5, pd.NaT, 0.25]),
    "masked": lambda: np.ma.array([0.5, 0.75, 0.25], mask=[False, True, False]),
    "masked column": lambda: np.ma.array([[0.5], [0.75], [0.25]], mask=[[False], [True], [False]]),
    "list with the masked constant": lambda: [0.5, np.ma.masked, 0.25],
    "list of masked numbers": lambda: [np.ma.array(v, mask=v == 0.75) for v in (0.5, 0.75, 0.25)],
    "list of masked arrays of one": lambda: [np.ma.array([v], mask=[v == 0.75]) for v in (0.5, 0.75, 0.25)],
    "masked matrix": lambda: np.ma.array(matrix([[0.5], [0.75], [0.25]]), mask=[[False], [True], [False]]),
    "masked objects": lambda: np.ma.array(objects([0.5, "x", 0.25]), mask=[False, True, False]),
    "pandas": lambda: pd.Series([0.5, None, 0.25]),
    "pandas Float64": lambda: pd.Series([0.5, None, 0.25], dtype="Float64"),
    "pandas Float32": lambda: pd.Series([0.5, None, 0.25], dtype="Float32"),
    "pandas arrow": lambda: pd.Series([0.5, None, 0.25], dtype=pd.ArrowDtype(pa.float32())),
    "pandas sparse": lambda: pd.Series([0.5, None, 0.25], dtype=pd.SparseDtype("float64")),
    "polars": lambda: pl.Series([0.5, None, 0.25]),
    "polars NaN": lambda: pl.Series([0.5, float("nan"), 0.25]),
    "polars Decimal": lambda: pl.Series([Decimal("0.5"), None, Decimal("0.25")]),
    "arrow": lambda: pa.array([0.5, None, 0.25]),
    "arrow chunked": lambda: pa.chunked_array([[0.5], [None, 0.25]], type=pa.float64()),
    "generator": lambda: iter([0.5, None, 0.25]),
    "chunks": lambda: iter([np.array([0.5]), np.array([np.nan, 0.25])]),
}
MISSING_OUTCOMES = {
    "None": lambda: [1, None, 0],
    "masked int": lambda: np.ma.array([1, 1, 0], mask=[False, True, False]),
    "masked bool": lambda: np.ma.array([True, True, False], mask=[False, True, False]),
    "list of masked": lambda: [1, np.ma.masked, 0],
    "pandas Int64": lambda: pd.Series([1, None, 0], dtype="Int64"),
    "pandas boolean": lambda: pd.Series([True, None, False], dtype="boolean"),
    "pandas arrow bool": lambda: pd.Series([True, None, False], dtype="bool[pyarrow]"),
    "polars Int64": lambda: pl.Series([1, None, 0]),
    "polars Boolean": lambda: pl.Series([True, None, False]),
    "arrow int": lambda: pa.array([1, None, 0]),
    "arrow bool": lambda: pa.array([True, None, False]),
    "arrow chunked bool": lambda: pa.chunked_array([[True], [None, False]]),
}


@pytest.mark.parametrize("make", MISSING.values(), ids=MISSING.keys())
def test_missing_values_of_every_container(make):
    message = r"{}: 1 of 3 values is missing or not finite \(first: row 1, value .+\)\. Fill or remove .* nan='drop'"
    with pytest.raises(InputError, match=message.format("y_prob")):
        rows_of([1, 0, 0], make()).arrays()
    with pytest.raises(InputError, match=message.format("sample_weight")):
        rows_of([1, 0, 0], [0.5, 0.5, 0.5], make()).arrays()
    got = rows_of([1, 1, 0], make(), nan="drop").arrays()
    assert got.rejected == {"prediction missing or not finite": 1}
    assert got.f.tolist() == [0.5, 0.25]
    assert got.y.tolist() == [1.0, 0.0]
    got = rows_of([1, 1, 0], [0.5, 0.75, 0.25], make(), nan="drop").arrays()
    assert got.rejected == {"weight missing or not finite": 1}
    assert got.w is not None
    assert got.w.tolist() == [0.5, 0.25]


@pytest.mark.parametrize("make", MISSING_OUTCOMES.values(), ids=MISSING_OUTCOMES.keys())
def test_missing_outcomes_of_every_container(make):
    with pytest.raises(InputError, match=r"y_true: 1 of 3 values is missing or not finite \(first: row 1, value .+\)"):
        rows_of(make(), [0.5, 0.5, 0.5]).arrays()
    got = rows_of(make(), [0.5, 0.75, 0.25], nan="drop").arrays()
    assert got.rejected == {"outcome missing or not finite": 1}
    assert got.f.tolist() == [0.5, 0.25]
    assert got.y.tolist() == [1.0, 0.0]


def test_nothing_but_missing_values():
    for values in ([None, None], pl.Series([None, None]), pa.nulls(2), pd.Series([None, None], dtype=object)):
        with pytest.raises(InputError, match=r"y_prob: 2 of 2 values are missing or not finite \(first: row 0"):
            rows_of([0, 1], values).arrays()
        with pytest.raises(InputError, match=r"no rows left of 2 \(prediction missing or not finite: 2\)"):
            rows_of([0, 1], values, nan="drop").arrays()


def test_float64_is_not_copied():
    f, y, w = np.array(F), np.array(Y, dtype=float), np.array(W)
    got = rows_of(y, f, w).arrays()
    assert got.w is not None
    assert np.shares_memory(got.f, f)
    assert np.shares_memory(got.y, y)
    assert np.shares_memory(got.w, w)
    rows = rows_of(pl.Series(Y), pa.array(F), pd.Series(W))
    assert rows.w is not None
    for column in (rows.y, rows.f, rows.w):
        part = column.chunk(1, 3)
        assert len(part) == 2
        assert not part.flags.owndata
        assert len(column.chunk(5, 100)) == 2


@pytest.mark.parametrize("bad", [np.nan, 1.0 + 2.0**-52, 1.5])
def test_inputs_are_never_written(bad):
    f = np.array([0.5, bad, -0.0, 0.25, 0.5])
    w = np.array([1.0, 1.0, 0.0, 1e200, 1.0])
    y = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    prints = [hashlib.sha256(x.tobytes()).hexdigest() for x in (f, w, y)]
    for writeable in (True, False):
        for x in (f, w, y):
            x.flags.writeable = writeable
        try:
            rows_of(y, f, w, nan="drop").arrays()
        except InputError:
            assert bad == 1.5
    assert [hashlib.sha256(x.tobytes()).hexdigest() for x in (f, w, y)] == prints


N = 4_000_000
BIG = {
    "float32": lambda: np.linspace(0, 1, N, dtype="f4"),
    "longdouble": lambda: np.linspace(0, 1, N // 4).astype(np.longdouble),
    "masked": lambda: np.ma.array(np.linspace(0, 1, N, dtype="f4"), mask=np.arange(N) % 7 == 0),
    "pandas nullable": lambda: pd.Series(np.linspace(0, 1, N)).mask(np.arange(N) % 7 == 0).astype("Float64"),
    "pandas sparse": lambda: pd.Series(pd.arrays.SparseArray((np.arange(N) % 7 == 0).astype(float), fill_value=0.0)),
    "pandas arrow": lambda: pd.Series(np.linspace(0, 1, N), dtype=pd.ArrowDtype(pa.float64())),
    "polars": lambda: pl.Series(np.linspace(0, 1, N)).to_frame("a").select(pl.when(pl.col("a") > 0.1).then("a"))["a"],
    "arrow": lambda: pa.array(np.linspace(0, 1, N), mask=np.arange(N) % 7 == 0),
    "arrow chunked": lambda: pa.chunked_array([pa.array(np.linspace(0, 1, N // 8), pa.float32())] * 8),
    "chunks": lambda: iter([np.linspace(0, 1, N // 8, dtype="f4")] * 8),
}


@pytest.mark.parametrize("make", BIG.values(), ids=BIG.keys())
def test_a_walk_over_all_chunks_needs_little_memory(make):
    source = make()
    n = N if hasattr(source, "__next__") else len(source)
    y = np.zeros(n, dtype=bool)
    tracemalloc.start()
    try:
        rows = rows_of(y, source)
        for start in range(0, len(rows), CHUNK):
            rows.f.chunk(start, start + CHUNK)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 * 2**20
