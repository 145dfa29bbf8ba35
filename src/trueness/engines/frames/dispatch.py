"""Data frames → Summary: columns in memory go to the array engine, lazy frames and Dask's to engines of their own."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, overload

from trueness._values import show
from trueness.engines.exact import summary_or_record
from trueness.engines.frames.memory import Reduced, added_by_group, reduce_columns
from trueness.errors import InputError
from trueness.inputs.arguments import Columns, Reading, column_names
from trueness.inputs.columns import roots
from trueness.inputs.frames import unwrapped
from trueness.inputs.remedies import option
from trueness.inputs.tables import computes_elsewhere, reads_once
from trueness.options import check_flag
from trueness.summary.record import Record
from trueness.summary.ruler import Ruler, ruler
from trueness.summary.summary import Summary, empty_summary


@overload
def summarize_frame(
    frame: Any,
    *,
    outcome: str,
    prediction: str,
    weight: str | None = None,
    by: None = None,
    cluster: None = None,
    bins: Iterable[int] | int = (),
    nan: Literal["raise", "drop"] = "raise",
    pos_label: Any = None,
    exact: bool = False,
) -> Summary: ...


@overload
def summarize_frame(
    frame: Any,
    *,
    outcome: str,
    prediction: str,
    weight: str | None = None,
    by: str | Sequence[str],
    cluster: str | None = None,
    bins: Iterable[int] | int = (),
    nan: Literal["raise", "drop"] = "raise",
    pos_label: Any = None,
    exact: bool = False,
) -> Record: ...


@overload
def summarize_frame(
    frame: Any,
    *,
    outcome: str,
    prediction: str,
    weight: str | None = None,
    by: None = None,
    cluster: str,
    bins: Iterable[int] | int = (),
    nan: Literal["raise", "drop"] = "raise",
    pos_label: Any = None,
    exact: bool = False,
) -> Record: ...


def summarize_frame(
    frame: Any,
    *,
    outcome: str,
    prediction: str,
    weight: str | None = None,
    by: str | Sequence[str] | None = None,
    cluster: str | None = None,
    bins: Iterable[int] | int = (),
    nan: Literal["raise", "drop"] = "raise",
    pos_label: Any = None,
    exact: bool = False,
) -> Summary | Record:
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
    cluster : str, optional
        The column of clusters, rows of one of which are not independent: repeats of one question, visits of one patient. By
        the text of their names they are hashed into 64 buckets, the last axis of the record, which tests and intervals flip.
    bins, nan, pos_label
        As for `summarize`.
    exact : bool
        Read the rows that matter a second time, so that the summary keeps the exact extremes of the cumulative differences
        (`ecce`); without, they have bounds. With `by` these are the extremes of all rows together, kept in the record: for
        each group they would take a pass of their own.

    Returns
    -------
    Summary, or with `by` or `cluster` a Record, which is a {group: Summary}

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"happened": [1, 0, 1], "said": [0.9, 0.2, 0.6], "who": ["a", "b", "a"]})
    >>> summarize_frame(frame, outcome="happened", prediction="said")
    <Summary of 3 rows in 3 of 48746 cells, integer sums>
    >>> summarize_frame(frame.lazy(), outcome="happened", prediction="said", by="who")["a"].n
    2
    """
    on = ruler(bins)
    check_flag("exact", exact)
    columns = Columns(outcome=outcome, prediction=prediction, weight=weight, by=column_names(by), cluster=cluster)
    return reduce_frame(unwrapped(frame), columns, on, Reading(nan=nan, pos_label=pos_label), exact=exact)


def reduce_frame(frame: Any, columns: Columns, on: Ruler, reading: Reading, *, exact: bool) -> Summary | Record:
    """The summary of a frame, or with groups the record."""
    if exact and reads_once(frame):
        raise InputError(
            f"exact: a {type(frame).__name__} can be read only once, and exact extremes need a second pass over the rows. "
            "Pass a table or files, or exact=False for bounds instead."
        )
    by_group, rows = _reduced(frame, columns, on, reading)
    if not any(summary.n for summary in by_group.values()):
        rejected = dict(sum(by_group.values(), start=empty_summary(on)).rejected)
        why = rejected or "none given"
        named = f"columns {columns.outcome!r} and {columns.prediction!r}"
        raise InputError(f"{named}: no rows left ({why}). Pass at least one row.")
    return summary_or_record(by_group, columns.axes, rows if exact else None)


def _reduced(frame: Any, columns: Columns, on: Ruler, reading: Reading) -> Reduced:
    """Summaries by group, by the engine for this kind of frame."""
    if roots(frame) & {"dask", "dask_expr"}:
        from trueness.engines.frames.dask import reduce_partitions

        by_group, rows = reduce_partitions(frame, columns, on, reading)
    elif reads_once(frame):
        by_group, rows = added_by_group(_reduce_batches(frame, columns, on, reading)), None
    elif computes_elsewhere(frame):
        from trueness.engines.frames.lazy import reduce_lazy

        by_group, rows = reduce_lazy(frame, columns, on, reading)
    else:
        return reduce_columns(frame, columns, on, reading)
    require_event(by_group, columns.outcome, reading.pos_label)
    return by_group, rows


def _reduce_batches(reader: Any, columns: Columns, on: Ruler, reading: Reading) -> Iterator[dict[Any, Summary]]:
    for number, batch in enumerate(reader):
        try:
            yield reduce_columns(batch, columns, on, reading, part=True)[0]
        except InputError as error:
            raise error.within(f"batch {number}") from error


def require_event(by_group: Mapping[Any, Summary], outcome: str, pos_label: Any) -> None:
    """A label that never occurs in any part is a mistake."""
    n = sum(summary.n for summary in by_group.values())
    if pos_label is not None and n and not any(summary.columns.wy2.sum() for summary in by_group.values()):
        given = option("pos_label", show(pos_label))
        raise (f"column {outcome!r}: 0 of {n} values equal " + given + ". Pass the one that means the event.").error()
