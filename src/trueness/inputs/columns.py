"""One column of the data, read a few rows at a time, and the columns that arrays, objects and text make."""

import sys
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from trueness._frozen import frozen
from trueness._types import Array
from trueness._values import is_missing, is_number, is_unusable, show
from trueness.errors import InputError
from trueness.inputs.remedies import option

__all__ = [
    "CHUNK",
    "ELSEWHERE",
    "Column",
    "array_column",
    "attempt",
    "columns_text",
    "is_coarse",
    "masked_column",
    "missing_column",
    "object_column",
    "refuse",
    "refuse_dtype",
    "require_one_column",
    "roots",
    "rounding",
    "text_column",
    "without_masks",
]

CHUNK = 1 << 15  # rows converted at a time
ELSEWHERE = {"dask", "dask_expr", "duckdb", "ibis", "pyspark"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of the data, converted as it is read."""

    name: str
    length: int
    dtype: str
    tolerance: float
    fetch: Callable[[int, int], Array]
    # The value of one row as its owner would see it, for messages; read through `fetch` where None.
    value: Callable[[int], object] | None = None
    # Where the column holds something other than numbers: rows start..stop, None where missing.
    labels: Callable[[int, int], list[object]] | None = None
    # Where a row stands in its file, for messages.
    place: Callable[[int], str] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy is made of the values: what reads them from their source cannot go to another process."""
        return _read_already, (self.name, self.dtype, self.tolerance, self.chunk(0, self.length))

    def owned(self) -> "Column":
        """The same with a copy of the values, which whoever has the source cannot change."""
        values = frozen(self.chunk(0, self.length))
        return replace(self, fetch=lambda a, b: values[a:b])

    def chunk(self, start: int, stop: int) -> Array:
        """Rows start..stop as bool, integers or floats, NaN where missing; a view of the source where it can be."""
        return self.fetch(start, min(stop, self.length))

    def item(self, row: int) -> object:
        """The value of one row as in the source."""
        if self.value is not None:
            return self.value(row)
        value: object = self.chunk(row, row + 1)[0]
        return value

    def first(self, row: int) -> str:
        """A row and its value as messages name them."""
        where = f"row {row}"
        if self.place is not None:
            place = self.place(row)
            where = place if place.startswith(f"{where} ") else f"{where}, {place}"
        return f"(first: {where}, value {show(self.item(row))})"


def _read_already(name: str, dtype: str, tolerance: float, values: Array) -> Column:
    return Column(name=name, length=len(values), dtype=dtype, tolerance=tolerance, fetch=lambda a, b: values[a:b])


def columns_text(names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns as messages write them."""
    return tuple(f"column {show(name)}" for name in names)


def missing_column(name: object, known: Sequence[object], where: str = "") -> str:
    """What to say of a column that is not there."""
    from difflib import get_close_matches

    asked, name = show(name), name if isinstance(name, str) else ""
    texts = [str(column) for column in known]
    near = [text for text in texts if text.strip().lower() == name.strip().lower()]
    near = near or get_close_matches(name[:100], [text[:100] for text in texts[:1000]], n=1)
    guess = f" Did you mean {show(near[0])}?" if near else ""
    listed = ", ".join(map(show, texts[:20])) + (f" and {len(texts) - 20} more" if len(texts) > 20 else "")
    return f"there is no column {asked}{where}; the columns are {listed}.{guess}"


def roots(x: object) -> frozenset[str]:
    """The packages that an object's type and its bases come from; the compiled half of one may be called _duckdb."""
    return _roots_of(type(x).__mro__)


@lru_cache(maxsize=256)
def _roots_of(bases: tuple[type, ...]) -> frozenset[str]:
    return frozenset(base.__module__.partition(".")[0].lstrip("_") for base in bases)


def refuse(x: object, name: str) -> NoReturn:
    """Raise for something that holds no column."""
    if is_number(x) or is_missing(x):
        raise InputError(
            f"{name}: is the single value {show(x)}, not a column of values; it is not broadcast. "
            "Pass one value per row, for example a list or a NumPy array."
        )
    remedy = "Pass a list, a NumPy array, a pandas or polars Series, an Arrow array or a tensor."
    if isinstance(x, Set):
        remedy = "A set has no order: pass a list."
    elif isinstance(x, Mapping):
        remedy = "Pass the values of one key as a list."
    elif type(x).__name__ in ("LazyFrame", "LazyGroupBy"):
        remedy = "Call .collect() first and pass its columns."
    elif roots(x) & ELSEWHERE:
        remedy = "Collect the column into memory first, or summarize its parts and add the summaries."
    elif hasattr(x, "toarray"):
        remedy = "Call .toarray().ravel() first."
    raise InputError(f"{name}: a {type(x).__module__}.{type(x).__qualname__} is not a column of values. {remedy}")


def attempt(read: Callable[[Any], Any], x: Any, name: str) -> Any:
    """What `read` makes of a container whose own methods may fail in any way."""
    try:
        return read(x)
    except MemoryError:
        raise
    except Exception as error:
        why = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise InputError(
            f"{name}: a {type(x).__qualname__} could not be read as one column: {why}. Pass a NumPy array."
        ) from error


def refuse_dtype(name: str, dtype: str, length: int, first: Callable[[], object], remedy: str = "") -> NoReturn:
    """Raise for a column of something other than numbers or labels."""
    where = f" (first: row 0, value {show(first())})" if length else ""
    remedy = remedy or "Pass real numbers: convert the column first."
    raise InputError(f"{name}: {length} of {length} values are of dtype {dtype}{where}, not read as real numbers. {remedy}")


def require_one_column(shape: tuple[int, ...], name: str) -> None:
    """A column is 1-D, or 2-D with one column; anything else would need a guess."""
    if len(shape) == 1 or (len(shape) == 2 and shape[1] == 1):
        return
    if len(shape) == 0:
        raise InputError(f"{name}: is a single value, not a column of values; it is not broadcast. Pass one value per row.")
    remedy = "Pass one column, for example x[:, 1] or frame['p']; for several classes see top_label and one_vs_rest."
    if len(shape) == 2 and shape[0] == 1:
        remedy = "This is one row: pass x.ravel() if its values are the rows."
    raise InputError(f"{name}: has shape {shape} where one column, ({shape[0]},) or ({shape[0]}, 1), is expected. {remedy}")


@lru_cache(maxsize=256)
def _named(dtype: np.dtype[Any]) -> str:
    """The name of a dtype whatever its byte order: NumPy makes it anew at every call."""
    return dtype.newbyteorder("=").name


@lru_cache(maxsize=256)
def rounding(dtype: np.dtype[Any]) -> float:
    """4 units in the last place at 1, of the dtype the values were computed in."""
    return 4.0 * max(float(np.finfo(dtype).eps), 2.0**-52) if dtype.kind == "f" else 0.0


def is_coarse(numbers: Array) -> bool:
    """Whether whole numbers among them may have been rounded when they were read as floats."""
    return numbers.dtype.kind == "f" and bool((np.abs(numbers) >= 2.0**53).any())


def array_column(x: Array, name: str) -> Column:
    """A NumPy array of any dtype, read in place where its numbers are native."""
    x = np.asarray(x)
    require_one_column(x.shape, name)
    x = x if x.ndim == 1 else x[:, 0]
    kind, dtype, length = x.dtype.kind, x.dtype, len(x)
    if kind == "O":
        return object_column(x.tolist(), name)
    if kind in "UST":
        return text_column(name, length, "str" if kind != "S" else "bytes", lambda start, stop: x[start:stop].tolist())
    if _named(dtype) == "bfloat16":  # ml_dtypes, what JAX hands over
        return Column(
            name=name,
            length=length,
            dtype="bfloat16",
            tolerance=4 * 2.0**-7,
            fetch=lambda a, b: x[a:b].astype(np.float32),
        )
    if kind not in "biuf":
        remedy = "Pass the real part if the imaginary one is nothing but rounding." if kind == "c" else ""
        remedy = f"Pass one field, for example x[{show(dtype.names[0])}]." if dtype.names else remedy
        refuse_dtype(name, dtype.name, length, lambda: x[0], remedy)
    native = np.dtype(np.float64) if dtype.itemsize > 8 else dtype.newbyteorder("=")

    def fetch(start: int, stop: int) -> Array:
        part = x[start:stop]
        if part.dtype == native and part.dtype.isnative:
            return part
        with np.errstate(over="ignore", invalid="ignore"):
            converted = part.astype(native)
        if dtype.itemsize > 8 and (lost := np.isinf(converted) & np.isfinite(part)).any():
            row = int(lost.argmax())
            raise InputError(_too_large(name, start + row, part[row]))
        return converted

    return Column(name=name, length=length, dtype=_named(dtype), tolerance=rounding(dtype), fetch=fetch)


def masked_column(x: "np.ma.MaskedArray[Any, Any]", name: str) -> Column:
    """A NumPy array in which what is masked is missing."""
    require_one_column(x.shape, name)
    x = np.ma.array(np.asarray(x.data), mask=np.ma.getmaskarray(x)).reshape(-1)  # a matrix would keep its two dimensions
    mask = np.ma.getmaskarray(x)
    if x.dtype.kind in "OUST":
        values = np.array(x.data, dtype=object)
        values[mask] = None
        return object_column(values.tolist(), name)
    data = x.filled(0.0) if x.dtype == np.longdouble else x.data  # what is masked may be too large for a float64
    return _with_mask(array_column(np.asarray(data), name), mask, lambda row: x[row])


def without_masks(items: list[Any]) -> list[Any]:
    """The items of a list, with None for what is masked: NumPy would read what lies under the mask."""
    if not any(issubclass(kind, np.ma.MaskedArray) for kind in set(map(type, items))):
        return items
    return [item.tolist() if isinstance(item, np.ma.MaskedArray) else item for item in items]


def _with_mask(column: Column, mask: Array, value: Callable[[int], object]) -> Column:
    def fetch(start: int, stop: int) -> Array:
        part, absent = column.fetch(start, stop), mask[start:stop]
        if not absent.any():
            return part
        part = part.astype(np.float64)
        part[absent] = np.nan
        return part

    return replace(column, fetch=fetch, value=value)


def text_column(name: str, length: int, dtype: str, labels: Callable[[int, int], list[object]]) -> Column:
    """A column of labels; it has numbers only once a label has been named as the event."""

    def fetch(start: int, stop: int) -> Array:
        raise (f"{name}: values of dtype {dtype} are not numbers. Name the event with " + option("pos_label") + ".").error()

    def present(start: int, stop: int) -> list[object]:
        values = labels(start, stop)
        if set(map(type, values)) <= {str, bytes, type(None)}:
            return values
        return [None if is_unusable(value) else value for value in values]

    return Column(
        name=name,
        length=length,
        dtype=dtype,
        tolerance=0.0,
        fetch=fetch,
        value=lambda row: labels(row, row + 1)[0],
        labels=present,
    )


def object_column(values: list[object], name: str) -> Column:
    """Python objects: converted once where every one is a number or missing, else labels."""
    kinds = set(map(type, values))
    floats: Array | None = None
    if kinds <= {float, int, bool, type(None)}:
        try:
            floats = np.array(values, dtype=np.float64)
        except OverflowError:
            floats = None
    if floats is None:
        if not all(is_number(value) or is_missing(value) for value in values):
            return text_column(name, len(values), "object", lambda start, stop: values[start:stop])
        floats = np.fromiter((_to_float(value, row, name) for row, value in enumerate(values)), np.float64, len(values))
    converted = floats
    return Column(
        name=name,
        length=len(values),
        dtype="object",
        tolerance=4 * 2.0**-52,
        fetch=lambda start, stop: converted[start:stop],
        value=lambda row: values[row],
    )


def _to_float(value: Any, row: int, name: str) -> float:
    if is_missing(value):
        return float("nan")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if abs(number) > sys.float_info.max and not is_unusable(value):
        raise InputError(_too_large(name, row, value))
    return number


def _too_large(name: str, row: int, value: object) -> str:
    return f"{name}: row {row}, value {show(value)}, is too large for a float64. Pass numbers below 1.8e308."
