"""Checksums of a Parquet file's pages, where its writer has put them: DuckDB does not look at them."""

import zlib
from collections.abc import Iterator
from typing import BinaryIO

_STRUCT, _LISTS, _STRINGS = 12, (9, 10), 8


def wrong_page(path: str, chunks: list[tuple[int, int]]) -> int | None:
    """Where the first page begins whose content is not what its checksum says; `chunks` are (offset, size) of columns."""
    with open(path, "rb") as file:
        for start, size in chunks:
            at = start
            while at < start + size:
                file.seek(at)
                length, checksum = _header(file)
                if checksum is None:
                    break  # written for all pages of a column or for none
                if zlib.crc32(file.read(length)) != checksum & 0xFFFFFFFF:
                    return at
                at = file.tell()
    return None


def _header(file: BinaryIO) -> tuple[int, int | None]:
    """Size of the page that follows, and its checksum: fields 3 and 4 of its header."""
    found: dict[int, int] = {}
    for number, kind in _fields(file):
        if kind == 5:
            found[number] = _zigzag(file)
        else:
            _skip(file, kind)
    if 3 not in found:
        raise ValueError("a page without a size")
    return found[3], found.get(4)


def _fields(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """Number and type of each field of a struct in Thrift's compact form; the caller reads the value."""
    number = 0
    while (byte := _byte(file)) != 0:
        number = number + (byte >> 4) if byte >> 4 else _zigzag(file)
        yield number, byte & 15


def _skip(file: BinaryIO, kind: int) -> None:
    if kind in (1, 2):  # a truth value is in its type
        return
    if kind == 3:
        _byte(file)
    elif kind in (4, 5, 6):
        _varint(file)
    elif kind == 7:
        file.seek(8, 1)
    elif kind == _STRINGS:
        file.seek(_varint(file), 1)
    elif kind in _LISTS:
        head = _byte(file)
        for _ in range(_varint(file) if head >> 4 == 15 else head >> 4):
            _skip(file, head & 15)
    elif kind == _STRUCT:
        for _, inner in _fields(file):
            _skip(file, inner)
    else:
        raise ValueError("not a page's header")


def _byte(file: BinaryIO) -> int:
    byte = file.read(1)
    if not byte:
        raise ValueError("the file ends within a page's header")
    return byte[0]


def _varint(file: BinaryIO) -> int:
    value = shift = 0
    while (byte := _byte(file)) & 128 and shift < 70:
        value |= (byte & 127) << shift
        shift += 7
    return value | byte << shift


def _zigzag(file: BinaryIO) -> int:
    value = _varint(file)
    return value >> 1 ^ -(value & 1)
