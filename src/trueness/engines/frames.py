"""Data frames → Summary: columns in memory go to the array engine, lazy frames and Dask's to engines of their own."""

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from trueness._again import RowsGoneError
from trueness.engines.again import InPieces, with_rows_again
from trueness.engines.arrays import reduce_some
from trueness.engines.groups import ExtremeWeightsMet, GroupedSums
from trueness.errors import InputError
from trueness.inputs import (
    Arrays,
    Rows,
    check_options,
    columns_text,
    group_values,
    missing_column,
    read_rows,
    roots,
    unwrapped,
)
from trueness.ruler import Ruler, ruler
from trueness.summary import Summary, empty_summary

_PIECE = 1 << 22  # rows looked at again at a time

Names = Mapping[str, str | None]
Settings = Mapping[str, Any]


def summarize_frame(
    frame: Any,
    *,
    outcome: str,
    prediction: str,
    weight: str | None = None,
    by: str | Sequence[str] | None = None,
    bins: Iterable[int] | int = (),
    nan: Literal["raise", "drop"] = "raise",
    pos_label: Any = None,
) -> Any:
    """Reduce a data frame to a summary, or to one for each group.

    Parameters
    ----------
    frame : data frame
        pandas, polars (DataFrame or LazyFrame), pyarrow (Table or RecordBatchReader), Dask, DuckDB relation, Ibis table,
        PySpark, or a mapping of arrays. Lazy ones are reduced where they are; rows of the others are read in place.
    outcome, prediction, weight : str
        Names of columns.
    by : str or sequence of str, optional
        Columns whose values make the groups; with one, a group is its value, with several a tuple. Missing is None.
    bins, nan, pos_label
        As for `summarize`.

    Returns
    -------
    Summary, or {group: Summary} with `by`

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"happened": [1, 0, 1], "said": [0.9, 0.2, 0.6], "who": ["a", "b", "a"]})
    >>> summarize_frame(frame, outcome="happened", prediction="said")
    <Summary of 3 rows in 3 of 48746 cells, integer sums>
    >>> summarize_frame(frame.lazy(), outcome="happened", prediction="said", by="who")["a"].n
    2
    """
    on = ruler(tuple(bins) if isinstance(bins, Iterable) else (bins,))
    groups = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    names = {"outcome": outcome, "prediction": prediction, "weight": weight}
    settings = {"nan": nan, "pos_label": pos_label}
    check_options(nan, pos_label=pos_label)
    frame = unwrapped(frame)
    kind = roots(frame)
    if kind & {"dask", "dask_expr"}:
        from trueness.engines.dask import reduce_partitions

        found = reduce_partitions(frame, names, groups, on, {**settings, "whole": False})
        require_event(found, names, pos_label)
    elif type(frame).__name__ == "RecordBatchReader":
        found = merged(_reduce_batches(frame, names, groups, on, {**settings, "whole": False}))
        require_event(found, names, pos_label)
    elif computes_elsewhere(frame):
        from trueness.engines.lazy import reduce_lazy

        found = reduce_lazy(frame, names, groups, on, settings)
        require_event(found, names, pos_label)
    else:
        found = reduce_columns(frame, names, groups, on, settings)
        again = _again(frame, names, groups, on, settings)
        found = with_rows_again(found, again, _again(frame, names, (), on, settings)(None))
    if not any(summary.n for summary in found.values()):
        rejected = dict(sum(found.values(), start=empty_summary(on)).rejected)
        why = rejected or "none given"
        raise InputError(f"columns {outcome!r} and {prediction!r}: no rows left ({why}). Pass at least one row.")
    return found if groups else found[None]


def _reduce_batches(
    reader: Any, names: Names, groups: Sequence[str], on: Ruler, settings: Settings
) -> Iterator[dict[Any, Summary]]:
    for number, batch in enumerate(reader):
        try:
            yield reduce_columns(batch, names, groups, on, settings)
        except InputError as error:
            raise InputError(f"batch {number}: {error}") from error


def computes_elsewhere(frame: Any) -> bool:
    """Whether the frame is only a plan, or holds its rows in other processes."""
    frame = unwrapped(frame)
    remote = {"dask", "dask_expr", "duckdb", "ibis", "pyspark", "sqlframe"}
    return bool(roots(frame) & remote) or type(frame).__name__ in ("LazyFrame", "RecordBatchReader")


def require_event(found: Mapping[Any, Summary], names: Names, pos_label: Any) -> None:
    """A label that never occurs in any part is a mistake."""
    n = sum(summary.n for summary in found.values())
    if pos_label is not None and n and not any(summary.columns.wy2.sum() for summary in found.values()):
        raise InputError(
            f"column {names['outcome']!r}: 0 of {n} values equal pos_label={pos_label!r}. Pass the one that means the event."
        )


def merged(parts: Iterable[Mapping[Any, Summary]]) -> dict[Any, Summary]:
    """Summaries of parts added group by group."""
    found: dict[Any, Summary] = {}
    for part in parts:
        for group, summary in part.items():
            found[group] = found[group] + summary if group in found else summary
    return found


# Columns in memory


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
    wanted = {role: None if name is None else column_of(frame, name) for role, name in names.items()}
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


def _again(frame: Any, names: Names, groups: Sequence[str], on: Ruler, settings: Settings) -> Callable[[Any], InPieces | None]:
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
