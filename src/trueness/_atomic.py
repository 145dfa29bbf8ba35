"""Files that appear whole or not at all, and what must be undone if the process is ended now.

A signal may arrive at any moment, also where an exception would crash a native library. So its handler raises nothing: it
undoes what is written down here (half-written files, copies of pipes, a hidden cursor) and leaves at once.
"""

import contextlib
import glob
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows: what a killed writer leaves stays there
    fcntl = None  # type: ignore[assignment]

_undo: list[Callable[[], object]] = []


@contextmanager
def undone_by(undo: Callable[[], object]) -> Iterator[None]:
    """While the block runs, a signal that ends the process calls `undo` first."""
    _undo.append(undo)
    try:
        yield
    finally:
        _undo.remove(undo)


def undo_all() -> None:
    """Undo, the latest first."""
    for undo in reversed(_undo):
        undo()


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace `path` by a file with this content: a temporary file beside it, flushed to disk, then renamed.

    A reader sees the old file or the complete new one; when writing fails the old file stays and the temporary one goes.
    What a killed writer left behind is removed.
    """
    target = os.fspath(path)
    if os.path.isdir(target):
        raise IsADirectoryError(f"{target!r} is a directory; give the name of a file")
    folder, name = os.path.split(target)
    if not os.path.isdir(folder or "."):
        raise FileNotFoundError(f"{folder!r} is not a directory; make it first, or give another name")
    _remove_leftovers(folder, name)
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(8)}.tmp")
    with undone_by(lambda: _remove(temporary)):
        try:
            _write(temporary, target, content)
        except BaseException:
            _remove(temporary)
            raise
    with contextlib.suppress(OSError):  # some file systems cannot flush a folder; the rename itself has happened
        directory = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _write(temporary: str, target: str, content: bytes) -> None:
    with open(temporary, "xb") as file:
        _is_locked(file)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        if fcntl is not None:  # while it is held: no other writer takes it for a leftover
            os.replace(temporary, target)
    if fcntl is None:  # Windows renames only what is closed
        os.replace(temporary, target)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _remove_leftovers(folder: str, name: str) -> None:
    """Remove temporary files of this name that no living writer holds."""
    for leftover in glob.glob(os.path.join(glob.escape(folder), f".{glob.escape(name)}.{'?' * 16}.tmp")):
        with contextlib.suppress(OSError), open(leftover, "rb") as file:
            if os.fstat(file.fileno()).st_size and _is_locked(file):  # an empty one may have been made this instant
                os.unlink(leftover)


def _is_locked(file: BinaryIO) -> bool:
    """Whether this process now holds the file: no other does. The system lets go of it when a process ends."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
