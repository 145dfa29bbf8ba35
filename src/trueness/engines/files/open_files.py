"""Files of any size as one table: rows in memory, or summaries of them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from trueness._types import Array
from trueness.engines.exact import InPieces, exact_extremes, summary_or_record
from trueness.engines.files.checkpoint import Checkpoint
from trueness.engines.files.database import connect
from trueness.engines.files.group_codes import GroupCodes
from trueness.engines.files.held_rows import HeldRows, MoreRowsMet, held_rows, joined
from trueness.engines.files.integrity import WatchedFiles
from trueness.engines.files.reader import Progress, Reader
from trueness.engines.files.reduction import Reduction
from trueness.engines.files.rows_again import rows_again
from trueness.engines.files.rows_on_disk import rows_on_disk
from trueness.engines.files.schema import described
from trueness.engines.files.sources import Paths, one_kind, opened
from trueness.errors import InputError
from trueness.inputs.arguments import Columns, Reading
from trueness.inputs.rows import raise_none_left
from trueness.summary.record import Record
from trueness.summary.ruler import Ruler
from trueness.summary.summary import Summary, empty_summary

_PIECE_ROWS = 1 << 22


@contextmanager
def open_files(
    paths: Paths, columns: Columns, reading: Reading | None = None, *, piece_rows: int = _PIECE_ROWS
) -> Iterator["OpenFiles"]:
    """The files as one table, open until the ``with`` block ends; `piece_rows` rows are reduced at a time."""
    with opened(paths) as files:
        yield OpenFiles(files, columns, Reading() if reading is None else reading, piece_rows)


class OpenFiles:
    """Rows in files, read in the order of the files."""

    def __init__(self, paths: list[str], columns: Columns, reading: Reading, piece_rows: int) -> None:
        kind = one_kind(paths)
        if kind == "summary":
            raise InputError(f"{paths[0]!r} is named like a summary, and rows are wanted. Pass files of rows.")
        connection = connect(reading.memory_limit)
        self._files = WatchedFiles(paths)
        tables = described(connection, paths, kind, columns, reading.delimiter)
        self._reader = Reader(connection, tables, columns, reading)
        self._columns, self._reading, self._piece_rows = columns, reading, piece_rows

    def rows(self, progress: Progress | None = None) -> HeldRows:
        """All rows in memory."""
        return self._checked(joined(self._reader.batches(progress)))

    def rows_up_to(self, limit: int, progress: Progress | None = None) -> HeldRows | None:
        """All rows in memory; None where there are more than `limit`."""
        if (self._reader.row_count or 0) > limit:
            return None
        try:
            return self._checked(joined(self._reader.batches(progress), limit))
        except MoreRowsMet:
            return None

    def _checked(self, columns: list[Array]) -> HeldRows:
        self._files.require_unchanged()
        return held_rows(self._reader, columns)

    def summary(
        self, on: Ruler, progress: Progress | None = None, resume: str | None = None, *, exact: bool = False
    ) -> Summary:
        """All rows reduced; with `resume` the sums so far are kept in that file, and a run goes on from them."""
        reduction = Reduction(self._reader, on, self._piece_rows, progress)
        if resume is None:
            return self._finished(reduction.total(), exact)
        with Checkpoint(resume, self._run(on)).locked() as checkpoint:
            summary = self._finished(reduction.total(checkpoint), exact)
            checkpoint.remove()
        return summary

    def _finished(self, total: Summary, exact: bool) -> Summary:
        self._files.require_unchanged()
        if total.n == 0:
            raise_none_left(rows_on_disk(self._reader), dict(total.rejected))
        return replace(total, extremes=exact_extremes(total, self._again(total.ruler))) if exact else total

    def record(self, on: Ruler, progress: Progress | None = None, *, exact: bool = False) -> Record:
        """The rows of every group reduced."""
        summaries = Reduction(self._reader, on, self._piece_rows, progress).by_group(GroupCodes(self._reader))
        self._files.require_unchanged()
        if not any(summary.n for summary in summaries.values()):
            rejected = sum(summaries.values(), start=empty_summary(on)).rejected
            raise_none_left(rows_on_disk(self._reader), dict(rejected))
        record = summary_or_record(summaries, self._columns.axes, self._again(on) if exact else None)
        if not isinstance(record, Record):
            raise RuntimeError("groups were asked for")
        return record

    def _again(self, on: Ruler) -> InPieces:
        return rows_again(self._reader, self._files, on, self._piece_rows)

    def _run(self, on: Ruler) -> dict[str, object]:
        """What a run goes on with only if it is the same."""
        columns = self._columns
        return {
            "input": {os.path.abspath(path): stamp for path, stamp in self._files.stamps.items()},
            "the order of the files": [*map(os.path.abspath, self._files.stamps)],  # rows are left out by their number
            "delimiter": self._reading.delimiter,
            "columns": {"outcome": columns.outcome, "predictions": columns.predictions, "weight": columns.weight},
            "bins": on.bins,
            "nan": self._reading.nan,
            "pos_label": self._reading.pos_label,
            "piece": self._piece_rows,
        }
