"""Files of any size → Summary: DuckDB reads, the array engine reduces.

One query a file, in the order given, streams plain numbers; whatever cannot be used is judged by the same code as arrays.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Any, Literal, overload

from trueness.engines.files.integrity import require_own_file
from trueness.engines.files.open_files import open_files
from trueness.engines.files.outcomes import as_event
from trueness.engines.files.reader import Progress
from trueness.engines.files.sources import Paths
from trueness.errors import InputError
from trueness.inputs.arguments import Columns, Reading, column_names
from trueness.options import check_flag, check_path, check_progress
from trueness.summary.record import Record
from trueness.summary.ruler import ruler
from trueness.summary.summary import Summary


@overload
def summarize_files(
    paths: Paths,
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
    delimiter: str | None = None,
    memory_limit: str | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Summary: ...


@overload
def summarize_files(
    paths: Paths,
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
    delimiter: str | None = None,
    memory_limit: str | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Record: ...


@overload
def summarize_files(
    paths: Paths,
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
    delimiter: str | None = None,
    memory_limit: str | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Record: ...


def summarize_files(
    paths: Paths,
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
    delimiter: str | None = None,
    memory_limit: str | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Summary | Record:
    r"""Reduce files of any size to a summary, or to one for each group.

    Parameters
    ----------
    paths : path or list of paths
        csv, tsv, txt, json, ndjson or jsonl (each also .gz) or Parquet, all of one kind: names, patterns, folders; "-" is
        standard input. In text, nothing and words like NA, nan and null stand for a missing value.
    outcome, prediction, weight : str
        Names of columns.
    by : str or sequence of str, optional
        Columns whose values make the groups; with one, a group is its value, with several a tuple. Missing is None.
    cluster : str, optional
        The column of clusters, rows of one of which are not independent: repeats of one question, visits of one patient. By
        the text of their names they are hashed into 64 buckets, the last axis of the record, which tests and intervals flip.
    bins : int or iterable of int
        As for `summarize`.
    nan : {"raise", "drop"}
        Refuse missing values, or drop their rows and count them in ``.rejected``.
    pos_label : text or number, optional
        The one value of the outcomes that means the event.
    exact : bool
        Read the rows that matter a second time, so that the summary keeps the exact extremes of the cumulative differences
        (`ecce`); without, they have bounds. With `by` these are the extremes of all rows together, kept in the record: for
        each group they would take a pass of their own.
    delimiter : str, optional
        What parts the columns of a text file; found out from the header where not given.
    memory_limit : str, optional
        The most that the reader may hold, such as "1GB"; reading needs little.
    resume : path, optional
        Keep the sums so far in this file, and go on from them if it is there; it is removed at the end. Not with `by` or
        `cluster`.
    progress : callable, optional
        Called with the rows read, and the rows in all where that is known.

    Returns
    -------
    Summary, or with `by` or `cluster` a Record, which is a {group: Summary}

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "predictions.csv")
    >>> _ = path.write_text("happened,said\n1,0.9\n0,0.2\n1,0.6\n")
    >>> summarize_files(path, outcome="happened", prediction="said")
    <Summary of 3 rows in 3 of 48746 cells, integer sums>
    >>> folder.cleanup()
    """
    columns = Columns(outcome=outcome, prediction=prediction, weight=weight, by=column_names(by), cluster=cluster).in_text()
    on = ruler(bins)
    reading = Reading(nan=nan, pos_label=as_event(pos_label), delimiter=delimiter, memory_limit=memory_limit)
    kept = None if resume is None else check_path("resume", resume)
    check_progress(progress)
    check_flag("exact", exact)
    if columns.axes and kept is not None:
        raise InputError("resume: groups and clusters are not kept in a file. Leave out by= and cluster=, or resume=.")
    if kept is not None:
        require_own_file(kept, paths)
    with open_files(paths, columns, reading) as files:
        return files.record(on, progress, exact=exact) if columns.axes else files.summary(on, progress, kept, exact=exact)
