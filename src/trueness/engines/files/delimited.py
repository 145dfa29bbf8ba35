"""A csv or tsv file: its header, which line a row stands on, and the table that DuckDB reads."""

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from trueness.engines.files.database import AS_IT_IS, compression, literal, location
from trueness.engines.files.sources import beginning, open_text
from trueness.engines.files.table import MISSING_WORDS, TextTable, require_columns
from trueness.engines.files.text_bytes import TextBytes
from trueness.errors import InputError
from trueness.inputs.arguments import Columns
from trueness.inputs.remedies import as_option

_DELIMITERS = (",", ";", "\t", "|", " ", ":", "^", "~")
_HEADER = 1 << 24  # bytes in which the header must end
_BOMS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16", codecs.BOM_UTF32_BE: "UTF-32"}


@dataclass(frozen=True, slots=True)
class Header:
    """Names of the columns and what parts them."""

    names: tuple[str, ...]
    delimiter: str
    size: int  # bytes


@dataclass(frozen=True, kw_only=True)
class DelimitedTable(TextTable):
    """A csv or tsv file; its columns are called c0, c1, … in a query, whatever their names are."""

    header: Header

    def source(self, numbers: Sequence[str] = ()) -> str:
        kinds = {self.names[name]: "DOUBLE" for name in numbers}
        columns = ", ".join(f"'c{k}': '{kinds.get(f'c{k}', 'VARCHAR')}'" for k in range(len(self.header.names)))
        # Among text the queries say what is missing. A number may be NaN, which DuckDB reads itself.
        words = [word for word in MISSING_WORDS if word.strip("-").lower() != "nan" and self.header.delimiter not in word]
        missing = ", ".join(map(literal, words)) if numbers else "chr(0)"
        return (
            f"read_csv({location(self.path)}, columns={{{columns}}}, auto_detect=false, header=true, "
            f"delim={literal(self.header.delimiter)}, quote='\"', escape='\"', nullstr=[{missing}], "
            f"strict_mode=true, {compression(self.path)}, {AS_IT_IS})"
        )

    def number(self, name: str, numbers: Sequence[str] = ()) -> str:
        return self.column(name) if name in numbers else super().number(name)

    def check_rows(self, rows: int) -> None:
        # DuckDB takes the first line end for that of all lines, also one within quotes, and then may see no row at all.
        if not rows and has_rows(self.path, self.header.delimiter):
            raise InputError(f"{self.path!r}: lines end in different ways, also within the header. Give all the same end.")

    def text_bytes(self) -> TextBytes:
        return TextBytes(self.path, self.header.delimiter.encode()[:1], self.header.size)

    def may_be_ragged(self, rows: int, text: TextBytes) -> bool:
        return text.delimiters != rows * (len(self.header.names) - 1)

    def place(self, row: int) -> str:
        return f"line {line_of(self.path, self.header.delimiter, row)} of {self.path!r}"


def delimited_table(path: str, columns: Columns, delimiter: str | None) -> DelimitedTable:
    """What the file holds, by its header."""
    header = read_header(path, columns.names, delimiter)
    absent = [name for name in columns.names if name not in header.names]
    if absent and len(header.names) == 1:
        raise (
            f"{path!r}: only 1 column found, {header.names[0][:60]!r}, where {absent[0]!r} is wanted. Does the first line hold "
            "the names? Is the delimiter another one? Pass it " + as_option("delimiter") + "."
        ).error()
    require_columns(path, header.names, columns)
    return DelimitedTable(
        path=path,
        names={name: f"c{header.names.index(name)}" for name in columns.names},
        types=dict.fromkeys(columns.names, ""),
        header=header,
    )


def read_header(path: str, names: Sequence[str], delimiter: str | None = None) -> Header:
    """The header; the delimiter is the one that yields the columns of these names, else the one that yields the most."""
    start = beginning(path, _HEADER)
    if not start.strip():
        raise InputError(f"{path!r}: the file is empty. Pass a file with a header line and at least one row.")
    for mark, encoding in _BOMS.items():
        if start.startswith(mark):
            raise InputError(f"{path!r}: the text is {encoding}. Save it as UTF-8.")
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n\0'):
        raise InputError(f"delimiter {delimiter!r} is not one character that can part columns. Pass for example ';'.")
    text = _first_line(path, start)
    size = len(text.encode()) + (3 if start.startswith(codecs.BOM_UTF8) else 0)
    headers = [Header(_names(path, text, each), each, size) for each in ((delimiter,) if delimiter else _DELIMITERS)]
    return max(headers, key=lambda header: (set(names) <= set(header.names), len(header.names)))


def _first_line(path: str, start: bytes) -> str:
    """The beginning of the file as text, at least its header."""
    start = start.removeprefix(codecs.BOM_UTF8)
    quoted, end = False, len(start)
    for place, byte in enumerate(start):
        quoted ^= byte == 0x22
        if byte in b"\r\n" and not quoted:
            end = place
            break
    try:
        text = start[:end].decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path!r}, line 1: byte {error.start} of the header is not UTF-8 (its value is {start[error.start]:#04x}). "
            "Save the file as UTF-8."
        ) from error
    if "\0" in text:
        raise InputError(f"{path!r}, line 1: the header holds a zero byte; the text may be UTF-16. Save it as UTF-8.")
    return text


def _names(path: str, text: str, delimiter: str) -> tuple[str, ...]:
    csv.field_size_limit(_HEADER)
    try:
        return tuple(next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), []))
    except csv.Error as error:
        if delimiter == _DELIMITERS[0]:
            raise InputError(f"{path!r}, line 1: the header cannot be read ({error}). Mend its quotes.") from error
        return ()


def line_of(path: str, delimiter: str, row: int) -> int:
    """The line of the file, counted from 1, on which a data row ends."""
    with _text(path) as file:
        reader = csv.reader(file, delimiter=delimiter, skipinitialspace=delimiter != " ")  # as DuckDB, before quotes
        for number, _ in enumerate(filter(None, reader), start=-1):  # the header is row -1
            if number == row:
                break
        return reader.line_num


def has_rows(path: str, delimiter: str) -> bool:
    """Whether anything follows the header."""
    with _text(path) as file:
        rows = filter(None, csv.reader(file, delimiter=delimiter))
        return next(rows, None) is not None and next(rows, None) is not None


@contextmanager
def _text(path: str) -> Iterator[io.TextIOBase]:
    with open_text(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="") as text:
        yield text
