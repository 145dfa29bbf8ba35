"""Any container that holds one column, recognised and read; an iterator's chunks become one column."""

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._types import Array
from trueness._values import is_chunk, is_missing, is_number, is_unusable, show
from trueness.errors import InputError
from trueness.inputs.columns import (
    ELSEWHERE,
    Column,
    array_column,
    attempt,
    is_coarse,
    masked_column,
    refuse,
    roots,
    without_masks,
)
from trueness.inputs.frames import ADAPTERS, unwrapped
from trueness.inputs.membership import group_values

__all__ = ["as_column", "changed_dtype", "group_values"]


def as_column(x: Any, name: str) -> Column:
    """Any container that holds one column, without copying what can be read in place."""
    if isinstance(x, np.ma.MaskedArray):
        return masked_column(x, name)
    if isinstance(x, np.ndarray):
        return array_column(x, name)
    if isinstance(x, Iterator):
        return _iterator(x, name)
    x = unwrapped(x)
    modules = roots(x)
    for root, adapter in ADAPTERS.items():
        if root in modules:
            return adapter(x, name)
    if modules & ELSEWHERE or isinstance(x, (str, bytes, bytearray, Mapping, Set)) or is_number(x) or is_missing(x):
        refuse(x, name)
    if isinstance(x, (memoryview, array)) or (hasattr(x, "__array__") and not isinstance(x, Sequence)):
        return array_column(attempt(np.asarray, x, name), name)
    if isinstance(x, range) and max(map(abs, (x.start, x.stop, x.step))) < 2**63:
        return _range(x, name)
    if isinstance(x, (Sequence, deque)):
        return _list(attempt(list, x, name), name)
    refuse(x, name)


def _range(x: range, name: str) -> Column:
    def fetch(start: int, stop: int) -> Array:
        return np.arange(start, stop, dtype=np.int64) * x.step + x.start

    return Column(name=name, length=attempt(len, x, name), dtype="int64", tolerance=0.0, fetch=fetch)


def _list(x: list[Any], name: str) -> Column:
    if x and hasattr(x[0], "as_py"):  # Arrow's scalars, whose bytes NumPy would take for numbers
        x = [item.as_py() if hasattr(item, "as_py") else item for item in x]
    x = without_masks(x)
    values = attempt(np.asarray, x, name)
    if values.dtype.kind in "US":  # NumPy has turned any numbers among them into text
        return array_column(np.array(x, dtype=object), name)
    column = array_column(values, name)
    if values.ndim == 1 and is_coarse(values):
        return replace(column, value=lambda row: x[row])
    return column


def _iterator(x: Iterator[Any], name: str) -> Column:
    items = list(x)
    if not items or not is_chunk(items[0]):
        return _list(items, name)
    columns = [as_column(item, f"{name}, chunk {number}") for number, item in enumerate(items)]
    parts = [(column, isinstance(item, (list, tuple))) for column, item in zip(columns, items, strict=True) if column.length]
    for column, is_list in parts[1:]:
        if column.dtype != parts[0][0].dtype and not (is_list and parts[0][1]):
            raise InputError(changed_dtype(column, parts[0][0]))
    return _concatenated([column for column, _ in parts] or columns[:1], name)


def changed_dtype(column: Column, first: Column) -> str:
    """What to say of a chunk whose dtype is not the first one's."""
    return (
        f"{column.name}: its {column.length} values are of dtype {column.dtype}, the first chunk's of {first.dtype} "
        f"(first: row 0, value {show(column.item(0))}). Give every chunk the same dtype."
    )


def _concatenated(columns: list[Column], name: str) -> Column:
    ends = np.cumsum([column.length for column in columns]).tolist()

    def place(row: int) -> tuple[Column, int]:
        part = bisect_right(ends, row)
        return columns[part], row - (ends[part - 1] if part else 0)

    def pieces(start: int, stop: int) -> Iterator[tuple[Column, int, int]]:
        stop = min(stop, ends[-1])
        while start < stop:
            column, row = place(start)
            taken = min(stop - start, column.length - row)
            yield column, row, row + taken
            start += taken

    def fetch(start: int, stop: int) -> Array:
        parts = [column.chunk(first, last) for column, first, last in pieces(start, stop)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts or [np.empty(0)])

    def value(row: int) -> object:
        column, inside = place(row)
        return column.item(inside)

    labels: Callable[[int, int], list[Any]] | None = None
    if any(column.labels is not None for column in columns):

        def labels(start: int, stop: int) -> list[Any]:
            return [label for column, first, last in pieces(start, stop) for label in _any_labels(column, first, last)]

    tolerance = max(column.tolerance for column in columns)
    return replace(columns[0], name=name, length=ends[-1], tolerance=tolerance, fetch=fetch, value=value, labels=labels)


def _any_labels(column: Column, start: int, stop: int) -> list[Any]:
    if column.labels is not None:
        return column.labels(start, stop)
    return [None if is_unusable(value) else value for value in column.chunk(start, stop).tolist()]
