"""Frames whose columns can be read in place → Summary, by the array engine."""

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from trueness._again import RowsGoneError
from trueness.engines.again import InPieces
from trueness.engines.arrays.grouped import ExtremeWeightsMet, GroupedSums
from trueness.engines.arrays.summarize import reduce_some
from trueness.errors import InputError
from trueness.inputs.columns import columns_text, missing_column, roots
from trueness.inputs.containers import group_values
from trueness.inputs.rows import Arrays, Rows, read_rows
from trueness.summary.ruler import Ruler
from trueness.summary.summary import Summary, empty_summary

_PIECE = 1 << 22  # rows looked at again at a time

Names = Mapping[str, str | None]
Settings = Mapping[str, Any]


def reduce_columns(frame: Any, names: Names, groups: Sequence[str], on: Ruler, settings: Settings) -> dict[Any, Summary]:
    """Groups and their summaries, from a frame whose columns can be read in place."""
    by = [group_values(column_of(frame, name), f"column {name!r}") for name in groups]
    if _length(column_of(frame, str(names["prediction"]))) == 0:
        return {} if groups else {None: empty_summary(on)}
    rows = read_columns(frame, names, settings)
    if not groups:
        return {None: reduce_some(rows, on)}
    return reduce_groups(rows, by, on)


def read_columns(frame: Any, names: Names, settings: Settings) -> Rows:
    """The columns of a frame whose columns can be read in place, as rows that are checked when they are read."""
    wanted: dict[str, Any] = {role: None if name is None else column_of(frame, name) for role, name in names.items()}
    called = columns_text([name or "" for name in names.values()])
    return read_rows(
        wanted["outcome"], wanted["prediction"], wanted["weight"], names=(called[0], called[1], called[2]), **settings
    )


def rows_of_group(frame: Any, names: Names, groups: Sequence[str], group: Any, settings: Settings) -> Rows:
    """The rows of one group; of all without groups."""
    rows = read_columns(frame, names, settings)
    if not groups:
        return rows
    keys = _keys([group_values(column_of(frame, name), f"column {name!r}") for name in groups])
    return rows.taken(np.flatnonzero(np.fromiter((key == group for key in keys), dtype=bool, count=len(keys))))


def again_of(
    frame: Any, names: Names, groups: Sequence[str], on: Ruler, settings: Settings
) -> Callable[[Any], InPieces | None]:
    """How a group's rows are read again from a frame in memory, as long as someone else holds it and leaves it as it is."""
    try:
        held = weakref.ref(frame)
    except TypeError:
        return lambda group: None

    def read(group: Any) -> Iterator[Arrays]:
        if (frame := held()) is None:
            raise RowsGoneError
        try:
            rows = rows_of_group(frame, names, groups, group, {**settings, "whole": False})
            for start in range(0, len(rows), _PIECE):
                yield rows.between(start, start + _PIECE).arrays(whole=False)
        except InputError as error:  # the frame has been edited since
            raise RowsGoneError from error

    return lambda group: InPieces(on, lambda slots: read(group), lasting=False)


def _keys(by: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """The group of each row."""
    return by[0] if len(by) == 1 else list(zip(*by, strict=True))


def reduce_groups(rows: Rows, by: Sequence[Sequence[Any]], on: Ruler) -> dict[Any, Summary]:
    """The summary of each group's rows; rows that cannot be used are told by their place among all."""
    whole = reduce_some(rows, on)  # raises for rows that are not allowed, before any group is looked at
    code: dict[Any, int] = {}
    keys = _keys(by)
    codes = np.fromiter((code.setdefault(key, len(code)) for key in keys), dtype=np.int64, count=len(keys))
    if len(code) == 1:
        return {next(iter(code)): whole}
    sums = GroupedSums(on, floats=not whole.exact)
    try:
        sums.add(rows, codes)
    except ExtremeWeightsMet:
        order = np.argsort(codes, kind="stable")
        stretches = np.split(order, np.cumsum(np.bincount(codes, minlength=len(code)))[:-1])
        return {group: reduce_some(rows.taken(stretches[number]), on) for group, number in code.items()}
    return sums.summaries({number: group for group, number in code.items()})


def column_of(frame: Any, name: str) -> Any:
    """One column of a pandas, polars or Arrow frame, or of a mapping of arrays."""
    known: Any = getattr(frame, "column_names", getattr(frame, "columns", None))
    if "pyarrow" in roots(frame):  # `columns` are the columns themselves there
        known = frame.schema.names
    known = list(frame) if known is None and isinstance(frame, Mapping) else known
    if known is None:
        raise InputError(f"a {type(frame).__name__} has no columns. Pass a data frame, or arrays without outcome=.")
    count = list(known).count(name)
    if count > 1:
        raise InputError(f"column {name!r}: occurs {count} times. Give each column its own name.")
    if not count:
        raise InputError(missing_column(name, list(known)))
    return frame[name]


def _length(column: Any) -> int:
    try:
        return len(column)
    except TypeError:
        return -1  # an iterator: what it holds is seen when it is read
