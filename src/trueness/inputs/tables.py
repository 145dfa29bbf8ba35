"""Data frames as tables of columns: what kind they are, and their columns by name."""

from collections.abc import Mapping, Sequence
from typing import Any

from trueness.errors import InputError
from trueness.inputs.columns import missing_column, roots
from trueness.inputs.frames import unwrapped

_REMOTE = {"dask", "dask_expr", "duckdb", "ibis", "pyspark", "sqlframe"}


def reads_once(frame: Any) -> bool:
    """Whether the rows are gone once they have been read."""
    return type(unwrapped(frame)).__name__ == "RecordBatchReader"


def computes_elsewhere(frame: Any) -> bool:
    """Whether the frame is only a plan, or holds its rows in other processes."""
    frame = unwrapped(frame)
    return bool(roots(frame) & _REMOTE) or type(frame).__name__ == "LazyFrame" or reads_once(frame)


def column_of(frame: Any, name: str) -> Any:
    """One column of a pandas, polars or Arrow frame, or of a mapping of arrays."""
    known = columns_of(frame)
    count = known.count(name)
    if count > 1:
        raise InputError(f"column {name!r}: occurs {count} times. Give each column its own name.")
    if not count:
        raise InputError(missing_column(name, known))
    return frame[name]


def columns_of(frame: Any) -> list[Any]:
    """The columns of such a frame."""
    known: Any = getattr(frame, "column_names", getattr(frame, "columns", None))
    if "pyarrow" in roots(frame):  # `columns` are the columns themselves there
        known = frame.schema.names
    known = list(frame) if known is None and isinstance(frame, Mapping) else known
    if known is None:
        raise InputError(f"a {type(frame).__name__} has no columns. Pass a data frame, or arrays without outcome=.")
    return list(known)


def group_keys(by: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """The group of each row, from the columns that make it: a value of one, a tuple of several."""
    return by[0] if len(by) == 1 else list(zip(*by, strict=True))
