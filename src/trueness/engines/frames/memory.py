"""Frames whose columns can be read in place → Summary, by the array engine."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from trueness.engines.arrays.grouped import ExtremeWeightsMet, GroupedSums
from trueness.engines.arrays.summarize import reduce_some
from trueness.engines.exact import SecondPass, in_memory
from trueness.inputs.columns import columns_text
from trueness.inputs.containers import group_values
from trueness.inputs.rows import Rows, read_rows
from trueness.inputs.tables import column_of, group_keys
from trueness.summary.ruler import Ruler
from trueness.summary.summary import Summary, empty_summary

Names = Mapping[str, str | None]
Settings = Mapping[str, Any]
Reduced = tuple[dict[Any, Summary], SecondPass | None]  # summaries by group, and how their rows are read once more


def reduce_columns(frame: Any, names: Names, groups: Sequence[str], on: Ruler, settings: Settings) -> Reduced:
    """Groups and their summaries, from a frame whose columns can be read in place."""
    by = [group_values(column_of(frame, name), f"column {name!r}") for name in groups]
    if _length(column_of(frame, str(names["prediction"]))) == 0:
        return {} if groups else {None: empty_summary(on)}, None
    rows = read_columns(frame, names, settings)
    by_group = reduce_groups(rows, by, on) if groups else {None: reduce_some(rows, on)}
    return by_group, in_memory(rows, on)


def read_columns(frame: Any, names: Names, settings: Settings) -> Rows:
    """The columns of a frame whose columns can be read in place, as rows that are checked when they are read."""
    columns: dict[str, Any] = {role: None if name is None else column_of(frame, name) for role, name in names.items()}
    called = columns_text([name or "" for name in names.values()])
    return read_rows(
        columns["outcome"], columns["prediction"], columns["weight"], names=(called[0], called[1], called[2]), **settings
    )


def reduce_groups(rows: Rows, by: Sequence[Sequence[Any]], on: Ruler) -> dict[Any, Summary]:
    """The summary of each group's rows; rows that cannot be used are told by their place among all."""
    total = reduce_some(rows, on)  # raises for rows that are not allowed, before any group is looked at
    code: dict[Any, int] = {}
    keys = group_keys(by)
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
