"""Frames whose columns can be read in place → Summary, by the array engine."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueness.engines.arrays.grouped import ExtremeWeightsMet, GroupedSums
from trueness.engines.arrays.summarize import reduce_some
from trueness.engines.exact import SecondPass, in_memory
from trueness.inputs.arguments import Columns, Reading
from trueness.inputs.columns import columns_text
from trueness.inputs.rows import Groups, Rows, read_rows
from trueness.inputs.tables import column_of
from trueness.summary.ruler import Ruler
from trueness.summary.summary import Summary, empty_summary

Reduced = tuple[dict[Any, Summary], SecondPass | None]  # summaries by group, and how their rows are read once more


def reduce_columns(frame: Any, columns: Columns, on: Ruler, reading: Reading, *, part: bool = False) -> Reduced:
    """Groups and their summaries, from a frame whose columns can be read in place."""
    for name in columns.names:
        column_of(frame, name)
    if _length(column_of(frame, columns.prediction)) == 0:
        return {} if columns.by else {None: empty_summary(on)}, None
    rows = read_columns(frame, columns, reading, part=part)
    by_group = {None: reduce_some(rows, on)} if rows.by is None else reduce_groups(rows, rows.by, on)
    return by_group, in_memory(rows, on)


def read_columns(frame: Any, columns: Columns, reading: Reading, *, by: Groups = (), part: bool = False) -> Rows:
    """The columns of a frame whose columns can be read in place, as rows that are checked when they are read.

    Groups may also be given beside the frame, as `by`.
    """
    y, f, *w = (column_of(frame, name) for name in columns.numbers)
    called = columns_text([*columns.numbers, ""])
    groups = [(f"column {name!r}", column_of(frame, name)) for name in columns.by]
    names = (called[0], called[1], called[2])
    rows = read_rows(y, f, w[0] if w else None, reading, by=[*groups, *by], names=names, part=part)
    return replace(rows, notes=(*rows.notes, *columns.notes))


def reduce_groups(rows: Rows, keys: Sequence[Any], on: Ruler) -> dict[Any, Summary]:
    """The summary of each group's rows, from the group of each; rows that cannot be used are told by their place among all."""
    total = reduce_some(rows, on)  # raises for rows that are not allowed, before any group is looked at
    code: dict[Any, int] = {}
    codes = np.fromiter((code.setdefault(key, len(code)) for key in keys), dtype=np.int64, count=len(keys))
    if len(code) == 1:
        return {next(iter(code)): total}
    sums = GroupedSums(on, floats=not total.exact)
    try:
        sums.add(rows, codes)
    except ExtremeWeightsMet:
        order = np.argsort(codes, kind="stable")
        stretches = np.split(order, np.cumsum(np.bincount(codes, minlength=len(code)))[:-1])
        return {group: reduce_some(rows.taken(stretches[number]), on) for group, number in code.items()}
    return sums.summaries({number: group for group, number in code.items()})


def _length(column: Any) -> int:
    try:
        return len(column)
    except TypeError:
        return -1  # an iterator: what it holds is seen when it is read


def added_by_group(parts: Iterable[Mapping[Any, Summary]]) -> dict[Any, Summary]:
    """Summaries of parts added group by group."""
    by_group: dict[Any, Summary] = {}
    for part in parts:
        for group, summary in part.items():
            by_group[group] = by_group[group] + summary if group in by_group else summary
    return by_group
