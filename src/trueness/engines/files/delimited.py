"""The header of a delimited text file, and which line a row stands on."""

import codecs
import csv
import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from trueness.engines.files.sources import beginning, is_gzip
from trueness.errors import InputError

_DELIMITERS = (",", ";", "\t", "|", " ", ":", "^", "~")
_HEADER = 1 << 24  # bytes in which the header must end
_BOMS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16", codecs.BOM_UTF32_BE: "UTF-32"}


@dataclass(frozen=True, slots=True)
class Header:
    """Names of the columns and what parts them."""

    names: tuple[str, ...]
    delimiter: str


def read_header(path: str, wanted: list[str], delimiter: str | None = None) -> Header:
    """The header; the delimiter is the one that yields the wanted columns, else the one that yields the most."""
    start = beginning(path, _HEADER)
    if not start.strip():
        raise InputError(f"{path!r}: the file is empty. Pass a file with a header line and at least one row.")
    for mark, encoding in _BOMS.items():
        if start.startswith(mark):
            raise InputError(f"{path!r}: the text is {encoding}. Save it as UTF-8.")
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n\0'):
        raise InputError(f"delimiter {delimiter!r} is not one character that can part columns. Pass for example ';'.")
    text = _first_line(path, start)
    found = [Header(_names(path, text, each), each) for each in ((delimiter,) if delimiter else _DELIMITERS)]
    return max(found, key=lambda header: (set(wanted) <= set(header.names), len(header.names)))


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
        reader = csv.reader(file, delimiter=delimiter)
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
    with (
        gzip.open(path, "rb") if is_gzip(path) else open(path, "rb") as file,
        io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="") as text,
    ):
        yield text
