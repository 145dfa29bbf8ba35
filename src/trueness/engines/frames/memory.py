"""Frames whose columns can be read in place → Summary, by the array engine."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from trueness.engines.arrays.summarize import reduce_groups, reduce_some
from trueness.engines.exact import SecondPass, in_memory
from trueness.inputs.arguments import Columns, Reading
from trueness.inputs.columns import columns_text
from trueness.inputs.rows import Groups, Named, Rows, read_rows
from trueness.inputs.tables import column_of
from trueness.summary.ruler import Ruler
from trueness.summary.summary import Summary, empty_summary

Reduced = tuple[dict[Any, Summary], SecondPass | None]  # summaries by group, and how their rows are read once more


def reduce_columns(frame: Any, columns: Columns, on: Ruler, reading: Reading, *, part: bool = False) -> Reduced:
    """Groups and their summaries, from a frame whose columns can be read in place."""
    for name in columns.names:
        column_of(frame, name)
    if _length(column_of(frame, columns.prediction)) == 0:
        return {} if columns.axes else {None: empty_summary(on)}, None
    rows = read_columns(frame, columns, reading, part=part)
    keys = rows.keys(len(columns.by))
    by_group = {None: reduce_some(rows, on)} if keys is None else reduce_groups(rows, keys, on)
    return by_group, in_memory(rows, on)


def read_columns(
    frame: Any,
    columns: Columns,
    reading: Reading,
    *,
    by: Groups = (),
    cluster: Named | None = None,
    part: bool = False,
) -> Rows:
    """The columns of a frame whose columns can be read in place, as rows that are checked when they are read.

    Groups and clusters may also be given beside the frame, as `by` and `cluster`.
    """
    y, f, *w = (column_of(frame, name) for name in columns.numbers)
    called = columns_text([*columns.numbers, ""])
    groups = [(f"column {name!r}", column_of(frame, name)) for name in columns.by]
    names = (called[0], called[1], called[2])
    if columns.cluster is not None:
        cluster = f"column {columns.cluster!r}", column_of(frame, columns.cluster)
    groups = [*groups, *by]
    rows = read_rows(y, f, w[0] if w else None, reading, by=groups, cluster=cluster, names=names, part=part)
    return replace(rows, notes=(*rows.notes, *columns.notes))


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
