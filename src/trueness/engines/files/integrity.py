"""What is watched of files beside their rows: whether they change, whether they are damaged, whether they would fit."""

import os
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

from trueness.engines.files.sources import STANDARD_INPUT, Paths, damaged_gzip, is_pipe, listed, open_text
from trueness.engines.files.text_bytes import TextBytes
from trueness.errors import InputError

_STAMPED = 1 << 16  # bytes at either end of a file by which it is known again
_PART = 1 << 18  # bytes of text looked at together, which a processor keeps near
_STRUCT, _LISTS, _STRINGS = 12, (9, 10), 8  # types in Thrift's compact form

Stamp = tuple[int, int, int]


class WatchedFiles:
    """Files as they were when they were first seen."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._folder = os.getcwd()  # in which the names are meant
        self.stamps = {path: _stamp(path) for path in paths}

    @property
    def gone(self) -> bool:
        """Whether a file is no longer there, or its name may mean another one."""
        moved = os.getcwd() != self._folder and not all(map(os.path.isabs, self.stamps))
        return moved or not all(map(os.path.exists, self.stamps))

    def require_unchanged(self) -> None:
        """Raise where a file is no longer what it was."""
        for path, stamp in self.stamps.items():
            if not os.path.exists(path) or _stamp(path) != stamp:
                raise InputError(f"{path!r}: the input changed since it was first read. Summarize it again.")


def _stamp(path: str) -> Stamp:
    """What changes when a file does: size, time, and how it begins and ends (where Parquet describes its row groups)."""
    state = os.stat(path)
    with open(path, "rb") as file:
        check = zlib.crc32(file.read(_STAMPED))
        file.seek(max(0, state.st_size - _STAMPED))
        return state.st_size, state.st_mtime_ns, zlib.crc32(file.read(_STAMPED), check)


def require_own_file(resume: str, paths: Paths) -> None:
    """What is kept of a run is no input, and belongs to inputs that are there when the run goes on."""
    for path in listed(paths):
        if is_pipe(path):
            what = "standard input" if path == STANDARD_INPUT else f"the pipe {path!r}"
            raise InputError(f"resume: {what} cannot be read again. Pass files, or leave out resume=.")
        if os.path.exists(resume) and os.path.samefile(path, resume):
            raise InputError(f"resume: {resume!r} is one of the inputs. Name a file of its own.")


@contextmanager
def read_beside(text: TextBytes | None) -> Iterator[None]:
    """Look at a text file's bytes and its checksum beside DuckDB, which does not; faults come before anything is reported."""
    if text is None:
        yield
        return
    faults: list[BaseException] = []
    left = threading.Event()

    def read() -> None:
        part = bytearray(_PART)
        try:
            with open_text(text.path) as file:
                while not left.is_set() and (size := file.readinto(part)):  # type: ignore[attr-defined]
                    text.add(part if size == len(part) else part[:size])
            text.end()
        except (EOFError, OSError, zlib.error, InputError) as error:
            faults.append(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        yield
    except BaseException:
        left.set()  # what went wrong is told already, or no more rows are wanted
        raise
    finally:
        thread.join()
    for fault in faults:
        raise fault if isinstance(fault, InputError) else InputError(damaged_gzip(text.path, fault)) from fault


def require_memory(size: int) -> None:
    """Fail with a size rather than be ended by the system."""
    try:
        available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if size > available // 2:
        raise MemoryError(f"the rows would take more than {size / 2**30:.1f} GiB; summarize them instead, or pass fewer.")


def wrong_page(path: str, chunks: list[tuple[int, int]]) -> int | None:
    """Where a Parquet file's first page begins whose content is not what its checksum says, where there is one.

    `chunks` are (offset, size) of parts of columns. DuckDB does not look at the checksums.
    """
    with open(path, "rb") as file:
        for start, size in chunks:
            page = start
            while page < start + size:
                file.seek(page)
                length, checksum = _page_header(file)
                if checksum is None:
                    break  # written for all pages of a column or for none
                if zlib.crc32(file.read(length)) != checksum & 0xFFFFFFFF:
                    return page
                page = file.tell()
    return None


def _page_header(file: BinaryIO) -> tuple[int, int | None]:
    """Size of the page that follows, and its checksum: fields 3 and 4 of its header."""
    values: dict[int, int] = {}
    for number, kind in _fields(file):
        if kind == 5:
            values[number] = _zigzag(file)
        else:
            _skip(file, kind)
    if 3 not in values:
        raise ValueError("a page without a size")
    return values[3], values.get(4)


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
