"""Files of any size → rows in memory, or a Summary: DuckDB reads, the array engine reduces.

One query a file, in the order given, streams plain numbers; whatever cannot be used is judged by the same code as arrays.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, NoReturn, overload

import numpy as np
from numpy.typing import NDArray

from trueness._types import Ints
from trueness.engines.arrays.grouped import ExtremeWeightsMet, GroupedSums
from trueness.engines.arrays.plain import SoftLabelMet
from trueness.engines.arrays.summarize import reduce_some
from trueness.engines.exact import InPieces, exact_extremes
from trueness.engines.files.arrow import numeric_batches
from trueness.engines.files.checkpoint import Checkpoint
from trueness.engines.files.integrity import checksum_beside, require_memory, require_own_file, stamp_of
from trueness.engines.files.labels import Outcomes, raise_text
from trueness.engines.files.sources import Paths, one_kind, opened
from trueness.engines.files.tables import Roles, Table, describe, is_conversion, literal, unreadable
from trueness.errors import InputError
from trueness.inputs.columns import Column, columns_text
from trueness.inputs.rows import Arrays, Rows, check_options, raise_bad_rows, raise_none_left, read_rows
from trueness.summary.record import Record
from trueness.summary.ruler import COARSE, Ruler, ruler
from trueness.summary.summary import Summary, empty_summary

__all__ = ["Columns", "FileTable", "Roles", "open_files", "summarize_files"]

Array = NDArray[Any]
Progress = Callable[[int, int | None], None]

PIECE = 1 << 22  # rows reduced at a time


@overload
def summarize_files(
    paths: Paths,
    *,
    outcome: str,
    prediction: str,
    weight: str | None = None,
    by: None = None,
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
        Keep the sums so far in this file, and go on from them if it is there; it is removed at the end. Not with `by`.
    progress : callable, optional
        Called with the rows read, and the rows in all where that is known.

    Returns
    -------
    Summary, or with `by` a Record, which is a {group: Summary}

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
    groups = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    roles = Roles(outcome=outcome, predictions=(prediction,), weight=weight, by=groups)
    on = ruler(tuple(bins) if isinstance(bins, Iterable) else (bins,))
    check_options(nan)
    pos_label = pos_label.item() if isinstance(pos_label, np.generic) else pos_label
    if groups and resume is not None:
        raise InputError("resume: groups are not kept in a file. Leave out by= or resume=.")
    if resume is not None:
        require_own_file(os.fspath(resume), paths)
    settings = {"nan": nan, "pos_label": pos_label, "delimiter": delimiter, "memory_limit": memory_limit}
    with open_files(paths, roles, **settings) as table:
        if groups:
            return table.record(on, progress, exact=exact)
        return table.summary(on, progress, None if resume is None else os.fspath(resume), exact=exact)


@contextmanager
def open_files(paths: Paths, roles: Roles, **settings: Any) -> Iterator["FileTable"]:
    """The files as one table, open until the ``with`` block ends."""
    with opened(paths) as found:
        yield FileTable(found, roles, **settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Rows in memory: outcomes, predictions by name, weights, groups and keys."""

    y: Array
    f: dict[str, Array]
    w: Array | None
    groups: Array | None
    keys: list[Any] | None


class FileTable:
    """Rows in files, read in the order of the files."""

    def __init__(
        self,
        paths: list[str],
        roles: Roles,
        *,
        nan: str = "raise",
        pos_label: Any = None,
        delimiter: str | None = None,
        memory_limit: str | None = None,
    ) -> None:
        import duckdb

        kind = one_kind(paths)
        if kind == "summary":
            raise InputError(f"{paths[0]!r} is named like a summary, and rows are wanted. Pass files of rows.")
        self.roles, self.nan, self._pos_label = roles, nan, pos_label
        self._duckdb = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
        self._duckdb.execute("SET enable_progress_bar = false")  # stdout is for results
        if memory_limit is not None:
            self._limit_memory(memory_limit)
        self._stamps = {path: stamp_of(path) for path in paths}
        self.tables = [self._described(path, kind, delimiter) for path in paths]
        for name in roles.wanted:
            held = {_sort(table.types[name]): table for table in reversed(self.tables)}
            if len(held) > 1:
                which = ", ".join(f"{kind} in {table.path!r}" for kind, table in held.items())
                raise InputError(f"column {name!r}: its type differs between the files ({which}). Give all files one type.")
        self.outcomes = Outcomes(self._duckdb, self.tables, roles.outcome, pos_label)

    def _limit_memory(self, limit: str) -> None:
        try:
            self._duckdb.execute(f"SET memory_limit = {literal(str(limit))}")
        except Exception as error:
            raise InputError(f"memory_limit={limit!r} is not a size. Pass for example '1GB'.") from error

    def _described(self, path: str, kind: str, delimiter: str | None) -> Table:
        try:
            return describe(self._duckdb, path, kind, self.roles, delimiter)
        except (InputError, MemoryError, OSError):
            raise
        except Exception as error:
            raise unreadable(path, error) from error

    @cached_property
    def row_count(self) -> int | None:
        """Rows in all, where the files say so themselves."""
        counts = [table.rows for table in self.tables if table.rows is not None]
        return sum(counts) if len(counts) == len(self.tables) else None

    # Rows and summaries

    def summary(
        self, on: Ruler, progress: Progress | None = None, resume: str | None = None, *, exact: bool = False
    ) -> Summary:
        """All rows reduced; with `resume` the sums so far are kept in that file, and a run goes on from them."""
        if resume is None:
            return self._finished(self._summed(on, progress, None), on, exact)
        with Checkpoint(resume, self._facts(on)).held() as checkpoint:
            summary = self._finished(self._summed(on, progress, checkpoint), on, exact)
            checkpoint.remove()
        return summary

    def _finished(self, whole: Summary, on: Ruler, exact: bool) -> Summary:
        self._require_unchanged()
        if whole.n == 0:
            raise_none_left(self._on_disk(), dict(whole.rejected))
        return replace(whole, extremes=exact_extremes(whole, self._again(on))) if exact else whole

    def _summed(self, on: Ruler, progress: Progress | None, checkpoint: Checkpoint | None, *, floats: bool = False) -> Summary:
        done, before = (0, None) if checkpoint is None or floats else checkpoint.load()
        whole = empty_summary(on) if before is None else before
        floats = floats or not whole.exact
        for rows, _ in self._pieces(progress, skip=done):
            part = self._reduced(rows, on, floats)
            if whole.n and whole.exact != part.exact:  # a soft label met late: all rows again, in float64
                return self._summed(on, progress, checkpoint, floats=True)
            whole = whole + part
            done += len(rows)
            if checkpoint is not None:
                checkpoint.save(done, whole)
        return whole

    def _facts(self, on: Ruler) -> dict[str, Any]:
        """What a run goes on with only if it is the same."""
        roles = {name: getattr(self.roles, name) for name in ("outcome", "predictions", "weight")}
        files = {os.path.abspath(path): stamp for path, stamp in self._stamps.items()}
        return {
            "input": files,
            "columns": roles,
            "bins": on.bins,
            "nan": self.nan,
            "pos_label": self._pos_label,
            "piece": PIECE,
        }

    def _again(self, on: Ruler) -> InPieces:
        """The rows once more."""
        return InPieces(on, partial(self._read_again, on))

    def _read_again(self, on: Ruler, slots: Ints) -> Iterator[Arrays]:
        """The rows of these slots, and some beside them, a piece at a time, if the files are what they were."""
        self._require_unchanged()
        among = _around(on, slots)
        for rows, _ in self._pieces(None, batches=None if among is None else self._chosen(among)):
            yield rows.arrays(whole=False)

    def _require_unchanged(self) -> None:
        for path, stamp in self._stamps.items():
            if not os.path.exists(path) or stamp_of(path) != stamp:
                raise InputError(f"{path!r}: the input changed since it was first read. Summarize it again.")

    def record(self, on: Ruler, progress: Progress | None = None, *, exact: bool = False) -> Record:
        """The rows of every group reduced, in one table whatever the number of groups."""
        floats = self.roles.weight is not None
        try:
            found = self._together(on, progress, floats=floats)
        except SoftLabelMet:
            found = self._together(on, progress, floats=True)
        except ExtremeWeightsMet:
            found = self._one_by_one(on, progress)
        self._require_unchanged()
        if not any(summary.n for summary in found.values()):
            raise_none_left(self._on_disk(), dict(sum(found.values(), start=empty_summary(on)).rejected))
        record = Record(found, axes=self.roles.by)
        if not exact:
            return record
        return Record(found, axes=self.roles.by, extremes=exact_extremes(record.total(), self._again(on)))

    def _together(self, on: Ruler, progress: Progress | None, *, floats: bool) -> dict[Any, Summary]:
        sums, numbers = GroupedSums(on, floats=floats), dict[int, int]()
        for rows, codes in self._pieces(progress):
            values, inverse = np.unique(np.asarray(codes), return_inverse=True)
            number = np.array([numbers.setdefault(code, len(numbers)) for code in values.tolist()])
            try:
                sums.add(rows, number[inverse])
            except InputError:
                raise_bad_rows(self._on_disk())
        return sums.summaries({number: self._group_of(code) for code, number in numbers.items()})

    def _one_by_one(self, on: Ruler, progress: Progress | None) -> dict[Any, Summary]:
        found: dict[Any, Summary] = {}
        for rows, codes in self._pieces(progress):
            if codes is None:
                raise RuntimeError("groups were asked for")
            order = np.argsort(codes, kind="stable")
            values, starts = np.unique(codes[order], return_index=True)
            for code, at in zip(values.tolist(), np.split(order, starts[1:]), strict=True):
                group = self._group_of(code)
                found[group] = found.get(group, empty_summary(on)) + self._reduced(rows.taken(at), on, True)
        return found

    def columns(self, limit: int | None = None, progress: Progress | None = None) -> Columns | None:
        """All rows in memory; None where there are more than `limit`."""
        roles = self.roles
        if limit is not None and (self.row_count or 0) > limit:
            return None
        held, rows = list[list[Array]](), 0
        for batch in self._batches(progress):
            rows += len(batch[0])
            if limit is not None and rows > limit:
                return None
            require_memory(16 * rows * len(batch))  # once as batches, once as columns
            held.append([column.copy() for column in batch])
        if not held:
            self._raise_no_rows()
        self._require_unchanged()
        whole = _joined(held)
        k = len(roles.predictions)
        return Columns(
            y=whole[0],
            f=dict(zip(roles.predictions, whole[1 : k + 1], strict=True)),
            w=whole[k + 1] if roles.weight is not None else None,
            groups=self._groups(whole[-1]) if roles.by else None,
            keys=self._keys() if roles.key is not None else None,
        )

    def checked(self, columns: Columns, prediction: str) -> Rows:
        """Rows in memory, judged as they are used; messages name the column, the file and the line."""
        return self._rows(columns.y, columns.f[prediction], columns.w, prediction)

    def _rows(self, y: Array, f: Array, w: Array | None, prediction: str) -> Rows:
        names = columns_text((self.roles.outcome, prediction, self.roles.weight or ""))
        rows = read_rows(y, f, w, nan=self.nan, names=(names[0], names[1], names[2]))
        return replace(
            rows,
            y=replace(rows.y, place=self._place),
            f=replace(rows.f, place=self._place),
            w=None if rows.w is None else replace(rows.w, place=self._place),
            notes=(*rows.notes, *self.outcomes.notes),
        )

    def _pieces(
        self, progress: Progress | None, skip: int = 0, batches: Iterable[list[Array]] | None = None
    ) -> Iterator[tuple[Rows, Array | None]]:
        """Rows a few million at a time, always cut at the same places, and the code of each one's group.

        All pieces use the same memory: each lives until the next is asked for.
        """
        held = [np.empty(PIECE, dtype=dtype) for dtype in [*self._dtypes, *(["u8"] if self.roles.by else [])]]
        rows = seen = 0
        for batch in self._batches(progress) if batches is None else batches:
            at = max(skip - seen, 0)  # rows of this batch that an earlier run has reduced
            seen += len(batch[0])
            while at < len(batch[0]):
                taken = min(PIECE - rows, len(batch[0]) - at)
                for column, values in zip(held, batch, strict=True):
                    column[rows : rows + taken] = values[at : at + taken]
                rows, at = rows + taken, at + taken
                if rows == PIECE:
                    yield self._piece(held)
                    rows = 0
        if rows:
            yield self._piece([column[:rows] for column in held])
        elif not seen:
            self._raise_no_rows()

    def _piece(self, held: list[Array]) -> tuple[Rows, Array | None]:
        y, f, *rest = held
        w = rest.pop(0) if self.roles.weight is not None else None
        return self._rows(y, f, w, self.roles.predictions[0]), rest[0] if self.roles.by else None

    def _reduced(self, rows: Rows, on: Ruler, floats: bool = False) -> Summary:
        try:
            return reduce_some(rows, on, floats=floats)
        except InputError:
            raise_bad_rows(self._on_disk())  # again over all rows, so that counts and places are those of the files

    def _on_disk(self) -> Rows:
        """All rows, read from the files again as often as they are looked at: for messages."""
        total = sum(len(batch[0]) for batch in self._batches(None))
        names = columns_text(self.roles.numbers)
        y, f, *w = [self._column_on_disk(k, name, total) for k, name in enumerate(names)]
        nan: Literal["drop", "raise"] = "drop" if self.nan == "drop" else "raise"
        return Rows(y=y, f=f, w=w[0] if w else None, nan=nan, notes=())

    def _column_on_disk(self, k: int, name: str, total: int) -> Column:
        at, rest = -1, iter(list[Array]())  # where the reading stands, and what follows

        def values(first: int) -> Iterator[Array]:
            start = 0
            for batch in self._batches(None):
                yield batch[k][max(first - start, 0) :].copy()
                start += len(batch[k])

        def fetch(first: int, last: int) -> Array:
            nonlocal at, rest
            if first != at:
                rest = values(first)
            have, size = list[Array](), 0
            while size < last - first and (part := next(rest, None)) is not None:
                have.append(part)
                size += len(part)
            joined = np.concatenate(have)
            at, following = last, rest
            rest = _preceded(joined[last - first :], following)
            return joined[: last - first]

        like = read_rows(np.zeros(1), np.zeros(1, self._dtypes[k]), names=("", name, "")).f
        return replace(like, length=total, fetch=fetch, place=self._place)

    # Reading

    def _batches(self, progress: Progress | None) -> Iterator[list[Array]]:
        """Outcome, predictions, weight and code of the group, file by file."""
        done = 0
        for table in self.tables:
            began = done
            if table.chunks and table.rows:
                table.check_pages()
            with checksum_beside(table.path):
                for batch in self._streamed(table):
                    done += len(batch[0])
                    if progress is not None:
                        progress(done, self.row_count)
                    if len(batch[0]):
                        yield batch
            table.check_rows(done - began)

    def _chosen(self, among: Ints) -> Iterator[list[Array]]:
        """The batches of rows whose prediction times 2^14, rounded down, is among these."""
        for table in self.tables:
            prediction = table.number(self.roles.predictions[0], self._numbers)
            where = f" WHERE floor(({prediction})::DOUBLE * {COARSE}) IN ({', '.join(map(str, among.tolist()))})"
            yield from (batch for batch in self._streamed(table, where) if len(batch[0]))

    def _code(self, table: Table) -> str:
        """The number by which a row's group is known; equal values of other types, in other files, have another."""
        groups = [*map(table.group, self.roles.by)]
        return f"hash({', '.join([*groups, *(f'typeof({group})' for group in groups)])})"

    def _streamed(self, table: Table, where: str = "") -> Iterator[list[Array]]:
        wanted, values = [self.outcomes.number(table, self._numbers)], self.outcomes.values
        for name, dtype in zip(self.roles.numbers[1:], self._dtypes[1:], strict=True):
            to = "FLOAT" if dtype == "f4" else "DOUBLE"
            wanted.append(f"coalesce({table.number(name, self._numbers)}, 'nan')::{to}")
        dtypes = list(self._dtypes)
        if self.roles.by:
            wanted.append(self._code(table))
            dtypes.append("u8")
        cursor = self._duckdb.cursor()  # its own: while a stream is open its connection answers nothing else
        try:
            yield from numeric_batches(self._select(table, ", ".join(wanted), values, cursor, where), dtypes)
        except InputError:
            raise
        except Exception as error:
            if is_conversion(error) and not table.typed:
                raise_text(self._duckdb, table, self.outcomes, self.roles.numbers)
            raise unreadable(table.path, error) from error

    def _select(self, table: Table, wanted: str, values: Sequence[Any] = (), connection: Any = None, where: str = "") -> Any:
        query = f"SELECT {wanted} FROM {table.source(self._numbers)}{where}"
        connection = self._duckdb if connection is None else connection
        return connection.sql(query, params=list(values)) if values else connection.sql(query)

    @cached_property
    def _numbers(self) -> list[str]:
        """Columns that a text file reads as numbers at once: all, where none is text."""
        text = self.outcomes.labels or self.roles.by or self.roles.key is not None
        return [] if text else self.roles.numbers

    @cached_property
    def _dtypes(self) -> list[str]:
        """Numbers as they are streamed: float32 stays what it is, so that its rounding is known."""
        narrow = [all(table.types[name] == "float32" for table in self.tables) for name in self.roles.numbers]
        return ["f8", *("f4" if each else "f8" for each in narrow[1:])]

    # Groups, keys and places

    @cached_property
    def _group_names(self) -> dict[int, Any]:
        """The group behind each code."""
        found: dict[int, Any] = {}
        for table in self.tables:
            wanted = ", ".join([self._code(table), *map(table.group, self.roles.by)])
            for code, *values in self._select(table, f"DISTINCT {wanted}").fetchall():
                named = tuple(None if value != value else value for value in values)  # NaN is missing
                group = named if len(named) > 1 else named[0]
                if found.setdefault(code, group) != group:
                    raise RuntimeError(f"groups {found[code]!r} and {group!r} have the same code")
        return found

    def _group_of(self, code: int) -> Any:
        if code not in self._group_names:
            raise InputError("a group is found in one reading of the files and not in the next: the input changed.")
        return self._group_names[code]

    def _groups(self, codes: Array) -> Array:
        values, inverse = np.unique(codes, return_inverse=True)
        names = np.empty(len(values), dtype=object)
        names[:] = [self._group_of(code) for code in values.tolist()]
        return names[inverse]

    def _keys(self) -> list[Any]:
        name = self.roles.key or ""
        found = [self._select(table, f"{table.group(name)}::VARCHAR").fetchall() for table in self.tables]
        return [row[0] for rows in found for row in rows]

    def _place(self, row: int) -> str:
        """File and line of a row counted over all files."""
        for table in self.tables:
            size = table.rows if table.rows is not None else self._select(table, "count(*)").fetchall()[0][0]
            if row < size:
                return table.place(row)
            row -= size
        return "beyond the end"

    def _raise_no_rows(self) -> NoReturn:
        which = repr(self.tables[0].path) if len(self.tables) == 1 else f"{len(self.tables)} files"
        raise InputError(f"no rows: 0 in {which}. Pass at least one row.")


def _around(on: Ruler, slots: Ints) -> Ints | None:
    """The cells of width 2^-14 that hold these slots, and what rounding may carry beyond 0 and 1; None where they are many."""
    first = on.extra_before[slots] + slots  # the cell at the slot's lower edge
    among = np.unique(np.floor(on.edges[first] * COARSE).astype(np.int64))
    if len(among) > COARSE // 8:
        return None
    beyond = [-1] * (0 in among) + [COARSE] * (COARSE - 1 in among)
    return np.append(among, np.array(beyond, dtype=np.int64))


def _sort(kind: str) -> str:
    return "number" if kind in ("float32", "truth value") else kind


def _joined(held: list[list[Array]]) -> list[Array]:
    return [np.concatenate(parts) if len(parts) > 1 else parts[0] for parts in zip(*held, strict=True)]


def _preceded(first: Array, rest: Iterator[Array]) -> Iterator[Array]:
    if len(first):
        yield first
    yield from rest
