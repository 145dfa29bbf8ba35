"""The rows of several files as one stream of numbers, and what a row of it is: its columns' names, its file and line."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from trueness._types import Array, Ints
from trueness.engines.files.arrow import numeric_batches
from trueness.engines.files.database import fetched, is_conversion, unreadable
from trueness.engines.files.integrity import read_beside
from trueness.engines.files.outcomes import Outcomes
from trueness.engines.files.table import Table
from trueness.engines.files.text_bytes import TextBytes
from trueness.errors import InputError
from trueness.inputs.arguments import Columns, Reading
from trueness.inputs.clusters import missing_clusters
from trueness.inputs.columns import columns_text
from trueness.inputs.remedies import lines
from trueness.inputs.rows import Rows, read_rows
from trueness.summary.ruler import COARSE

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Batch = list[Array]  # outcome, predictions, weight where there is one, code of the group where there are some
Progress = Callable[[int, int | None], None]


class Reader:
    """Rows of several files, one file after the other: one query a file streams plain numbers."""

    def __init__(self, connection: "DuckDBPyConnection", tables: Sequence[Table], columns: Columns, reading: Reading) -> None:
        self.columns, self.reading = columns, reading
        self.tables = tables
        self._connection = connection
        self._outcomes = Outcomes(connection, tables, columns.outcome, reading.pos_label)

    @cached_property
    def row_count(self) -> int | None:
        """Rows in all, where the files say so themselves."""
        counts = [table.row_count for table in self.tables if table.row_count is not None]
        return sum(counts) if len(counts) == len(self.tables) else None

    @cached_property
    def dtypes(self) -> list[str]:
        """The columns of a batch: float32 stays what it is, so that its rounding is known; an outcome may be a label."""
        narrow = [all(table.types[name] == "float32" for table in self.tables) for name in self.columns.numbers]
        narrow[0] = narrow[0] and not self._outcomes.labels
        return [*("f4" if each else "f8" for each in narrow), *(["u8"] if self.columns.axes else [])]

    def batches(self, progress: Progress | None = None) -> Iterator[Batch]:
        """All rows, of which there must be some; a file that is damaged is told at its end at the latest."""
        done = 0
        for table in self.tables:
            before = done
            table.check_pages()
            text = table.text_bytes()
            with read_beside(text):
                for batch in self._streamed(table):
                    done += len(batch[0])
                    if progress is not None:
                        progress(done, self.row_count)
                    if len(batch[0]):
                        yield batch
            table.check_rows(done - before)
            if text is not None:
                self._check_text(table, done - before, text)
        if not done:
            self._raise_no_rows()

    def _check_text(self, table: Table, rows: int, text: TextBytes) -> None:
        """What DuckDB lets pass where it reads numbers: digits parted by underscores, and cells too many that look missing."""
        if text.underscores and (problems := self._outcomes.problems(table, self.columns.numbers)):
            raise lines(problems).error()
        if self._numbers and table.may_be_ragged(rows, text):
            fetched(self._connection, table.path, f"SELECT count(*) FROM {table.source()}")  # where nothing counts as missing

    def chosen(self, cells: Ints) -> Iterator[Batch]:
        """The rows whose prediction times 2^14, rounded down, is among `cells`."""
        for table in self.tables:
            prediction = table.number(self.columns.prediction, self._numbers)
            where = f" WHERE floor(({prediction})::DOUBLE * {COARSE}) IN ({', '.join(map(str, cells.tolist()))})"
            yield from (batch for batch in self._streamed(table, where) if len(batch[0]))

    def fetched(self, table: Table, expressions: str) -> list[tuple[Any, ...]]:
        """Something else of a file than its numbers, at once."""
        return fetched(self._connection, table.path, f"SELECT {expressions} FROM {table.source(self._numbers)}")

    def rows(self, y: Array, f: Array, w: Array | None, prediction: str) -> Rows:
        """Columns that were read, judged as they are used; messages name column, file and line."""
        names = columns_text((self.columns.outcome, prediction, self.columns.weight or ""))
        rows = read_rows(y, f, w, Reading(nan=self.reading.nan), names=(names[0], names[1], names[2]))
        return replace(
            rows,
            y=replace(rows.y, place=self.place),
            f=replace(rows.f, place=self.place),
            w=None if rows.w is None else replace(rows.w, place=self.place),
            notes=(*rows.notes, *self._outcomes.notes, *replace(self.columns, prediction=prediction).notes),
        )

    def place(self, row: int) -> str:
        """File and line of a row counted over all files."""
        for table in self.tables:
            size = table.row_count if table.row_count is not None else self.fetched(table, "count(*)")[0][0]
            if row < size:
                return table.place(row)
            row -= size
        return "beyond the end"

    def clusters(self) -> list[str]:
        """The cluster of each row as text; none may be missing."""
        name = self.columns.cluster
        if name is None:
            raise RuntimeError("clusters were asked for")
        found = [text for table in self.tables for (text,) in self.fetched(table, table.cluster(name))]
        if missing := found.count(None):
            raise missing_clusters(f"column {name!r}", missing, len(found), self.place(found.index(None)))
        return found

    def _streamed(self, table: Table, where: str = "") -> Iterator[Batch]:
        query = f"SELECT {', '.join(self._expressions(table))} FROM {table.source(self._numbers)}{where}"
        cursor = self._connection.cursor()  # its own: while a stream is open its connection answers nothing else
        try:
            yield from numeric_batches(cursor.sql(query, params=self._outcomes.values or None), self.dtypes)
        except InputError:
            raise
        except Exception as error:
            if is_conversion(error) and not table.typed and (problems := self._outcomes.problems(table, self.columns.numbers)):
                raise lines(problems).error() from error
            raise unreadable(table.path, error) from error

    def _expressions(self, table: Table) -> list[str]:
        """The columns of a batch in SQL."""
        others = [f"coalesce({table.number(name, self._numbers)}, 'nan')" for name in self.columns.numbers[1:]]
        numbers = [self._outcomes.number(table, self._numbers), *others]
        types = ["FLOAT" if dtype == "f4" else "DOUBLE" for dtype in self.dtypes[: len(numbers)]]
        typed = [f"({number})::{kind}" for number, kind in zip(numbers, types, strict=True)]
        return [*typed, *([table.group_code(self.columns)] if self.columns.axes else [])]

    @cached_property
    def _numbers(self) -> list[str]:
        """Columns that a text file reads as numbers at once: all, where none is text."""
        text = self._outcomes.labels or self.columns.axes or self.columns.key is not None
        return [] if text else self.columns.numbers

    def _raise_no_rows(self) -> NoReturn:
        which = repr(self.tables[0].path) if len(self.tables) == 1 else f"{len(self.tables)} files"
        raise InputError(f"no rows: 0 in {which}. Pass at least one row.")
