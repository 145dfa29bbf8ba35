"""What is watched of files beside their rows: whether they change, whether they are damaged, whether they would fit."""

import os
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from trueness.engines.files.sources import STANDARD_INPUT, Paths, damaged_gzip, is_gzip, is_pipe, listed
from trueness.errors import InputError

_STAMPED = 1 << 16  # bytes at either end of a file by which it is known again


def stamp_of(path: str) -> tuple[int, int, int]:
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
def checksum_beside(path: str) -> Iterator[None]:
    """Read a compressed file's checksum beside DuckDB, which does not; a wrong one fails before anything is reported."""
    if not is_gzip(path):
        yield
        return
    faults: list[BaseException] = []

    def read() -> None:
        import gzip

        try:
            with gzip.open(path, "rb") as file:
                while file.read(1 << 20):
                    pass
        except (EOFError, OSError, zlib.error) as error:
            faults.append(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    yield
    thread.join()
    if faults:
        raise InputError(damaged_gzip(path, faults[0])) from faults[0]


def require_memory(size: int) -> None:
    """Fail with a size rather than be ended by the system."""
    try:
        available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if size > available // 2:
        raise MemoryError(f"the rows would take more than {size / 2**30:.1f} GiB; summarize them instead, or pass fewer.")
