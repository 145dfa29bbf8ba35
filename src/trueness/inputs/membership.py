"""The group that each row belongs to, as a value that others can be told from."""

from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any

import numpy as np

from trueness._types import Array
from trueness._values import BELOW_MICROSECONDS, are, is_chunk, is_hashable, is_missing, native, show
from trueness.errors import InputError
from trueness.inputs.columns import attempt, refuse
from trueness.inputs.frames import one_column, unwrapped

__all__ = ["group_values"]

_PLAIN = {str, int, bool, type(None)}
_native = lru_cache(1 << 12, typed=True)(native)  # groups repeat


def group_values(x: Any, name: str) -> list[Any]:
    """The groups that rows belong to, one a row, as Python's own values; None where missing.

    Moments and durations finer than a microsecond, which Python has not, stay NumPy's or pandas' own.
    """
    if isinstance(x, Iterator):
        items = list(x)
        chunks = bool(items) and is_chunk(items[0])
        return [group for item in items for group in group_values(item, name)] if chunks else _groups(items, name)
    return _groups(attempt(_listed, _single(unwrapped(x), name), name), name)


def _single(x: Any, name: str) -> Any:
    if isinstance(x, str | bytes | bytearray | Mapping | Set):
        refuse(x, name)
    x = one_column(x, name)
    if not isinstance(x, Sequence) and not any(hasattr(x, way) for way in ("to_pylist", "to_list", "tolist", "__array__")):
        refuse(x, name)
    return x


def _listed(x: Any) -> list[Any]:
    """The values of any column."""
    if isinstance(x, np.ma.MaskedArray):
        values = _listed(np.asarray(x.data))
        return [None if masked else value for value, masked in zip(values, np.ma.getmaskarray(x), strict=True)]
    if isinstance(x, np.ndarray):
        return _moments(x) if x.dtype.kind in "Mm" else x.tolist()
    if type(getattr(x, "dtype", None)).__name__ == "ArrowDtype":
        x = getattr(x, "array", x).__arrow_array__()
    way = next((way for way in ("to_pylist", "to_list", "tolist") if hasattr(x, way)), None)
    if way is None:
        return list(x) if isinstance(x, Sequence) else _listed(np.asarray(x))
    values = list(getattr(x, way)())
    ticks = _ticks(x)
    if ticks is None:
        return values
    kind = np.datetime64 if _type_of(x).startswith("Datetime") else np.timedelta64
    return [kind(tick, "ns") if tick and tick % 1000 else value for value, tick in zip(values, ticks, strict=True)]


def _moments(x: Array) -> list[Any]:
    """Python's own dates, times and durations where all of them can be, else NumPy's."""
    coarse = x.astype(f"{x.dtype.kind}8[us]") if np.datetime_data(x.dtype)[0] in BELOW_MICROSECONDS else x
    values: list[Any] = coarse.tolist()
    return list(x) if int in set(map(type, values)) or ((coarse != x) & ~np.isnat(x)).any() else values


def _ticks(x: Any) -> list[int | None] | None:
    """Nanoseconds of a column that counts them, where its own lists end at microseconds."""
    kind, ticks = _type_of(x), None
    if hasattr(x, "to_physical") and (kind == "Time" or "time_unit='ns'" in kind):
        ticks = x.to_physical().to_list()
    elif kind == "time64[ns]":
        ticks = x.cast("int64").to_pylist()
    return ticks


def _type_of(x: Any) -> str:
    return str(getattr(x, "type", getattr(x, "dtype", "")))


def _groups(values: list[Any], name: str) -> list[Any]:
    kinds = set(map(type, values))
    if kinds <= _PLAIN | {float}:
        return [None if value != value else value for value in values] if float in kinds else values
    values = [_group(value) for value in values]
    bad = [row for row, value in enumerate(values) if not is_hashable(value)]
    if bad:
        first = values[bad[0]]
        what = f"of a kind such as {type(first).__name__}, which cannot name a group"
        raise InputError(
            f"{name}: {are(len(bad), len(values), what)} (first: row {bad[0]}, value {show(first)}). "
            "Make groups of text, numbers, truth values, dates or times."
        )
    return values


def _group(value: Any) -> Any:
    value = value.as_py() if hasattr(value, "as_py") else value
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        return _native(value)
    if type(value) is datetime and value.fold and (offset := value.utcoffset()) is not None:
        return value.astimezone(timezone(offset))  # else equal to the same time an hour before, when clocks are put back
    return value
