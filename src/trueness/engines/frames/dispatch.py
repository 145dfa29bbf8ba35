"""Data frames → Summary: columns in memory go to the array engine, lazy frames and Dask's to engines of their own."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from trueness.engines.again import with_rows_again
from trueness.engines.frames.memory import Names, Settings, again_of, reduce_columns
from trueness.errors import InputError
from trueness.inputs.columns import roots
from trueness.inputs.frames import unwrapped
from trueness.inputs.remedies import option
from trueness.options import check_options
from trueness.summary.ruler import Ruler, ruler
from trueness.summary.summary import Summary, empty_summary


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
        from trueness.engines.frames.dask import reduce_partitions

        found = reduce_partitions(frame, names, groups, on, {**settings, "whole": False})
        require_event(found, names, pos_label)
    elif type(frame).__name__ == "RecordBatchReader":
        found = added_by_group(_reduce_batches(frame, names, groups, on, {**settings, "whole": False}))
        require_event(found, names, pos_label)
    elif computes_elsewhere(frame):
        from trueness.engines.frames.lazy import reduce_lazy

        found = reduce_lazy(frame, names, groups, on, settings)
        require_event(found, names, pos_label)
    else:
        found = reduce_columns(frame, names, groups, on, settings)
        again = again_of(frame, names, groups, on, settings)
        found = with_rows_again(found, again, again_of(frame, names, (), on, settings)(None))
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
            raise error.within(f"batch {number}") from error


def computes_elsewhere(frame: Any) -> bool:
    """Whether the frame is only a plan, or holds its rows in other processes."""
    frame = unwrapped(frame)
    remote = {"dask", "dask_expr", "duckdb", "ibis", "pyspark", "sqlframe"}
    return bool(roots(frame) & remote) or type(frame).__name__ in ("LazyFrame", "RecordBatchReader")


def require_event(found: Mapping[Any, Summary], names: Names, pos_label: Any) -> None:
    """A label that never occurs in any part is a mistake."""
    n = sum(summary.n for summary in found.values())
    if pos_label is not None and n and not any(summary.columns.wy2.sum() for summary in found.values()):
        given = option("pos_label", repr(pos_label))
        raise (f"column {names['outcome']!r}: 0 of {n} values equal " + given + ". Pass the one that means the event.").error()


def added_by_group(parts: Iterable[Mapping[Any, Summary]]) -> dict[Any, Summary]:
    """Summaries of parts added group by group."""
    found: dict[Any, Summary] = {}
    for part in parts:
        for group, summary in part.items():
            found[group] = found[group] + summary if group in found else summary
    return found
