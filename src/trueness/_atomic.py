"""Files that appear whole or not at all, and what must be undone if the process is ended now.

A signal may arrive at any moment, also where an exception would crash a native library. So its handler raises nothing: it
undoes what is written down here (half-written files, copies of pipes, a hidden cursor) and leaves at once.
"""

import contextlib
import glob
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows: what a killed writer leaves stays there
    fcntl = None  # type: ignore[assignment]

_LONGEST = 255 - len("..0123456789abcdef.tmp")  # bytes of a name that leave room for what a temporary file's has besides

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
    if is_device(target):
        raise FileExistsError(f"{target!r} is a pipe or a device, and would be replaced by a file; give another name")
    folder, name = os.path.split(target)
    if not os.path.isdir(folder or "."):
        raise FileNotFoundError(f"{folder!r} is not a directory; make it first, or give another name")
    _remove_leftovers(target)
    temporary = os.path.join(folder, f".{_stem(name)}.{os.urandom(8).hex()}.tmp")
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


def is_device(path: str) -> bool:
    """Whether the name is that of a pipe, a device, or like /dev/stdout of what a process has open."""
    opened = os.path.realpath(os.path.dirname(path)) + "/", os.readlink(path) if os.path.islink(path) else ""
    return any(place.startswith("/proc/") for place in opened) or (os.path.exists(path) and not _is_plain(os.stat(path)))


def leftovers(path: str) -> list[str]:
    """Temporary files of writers of this name."""
    folder, name = os.path.split(path)
    return glob.glob(os.path.join(glob.escape(folder), f".{glob.escape(_stem(name))}.{'?' * 16}.tmp"))


def _stem(name: str) -> str:
    """What a temporary file is called after: the name, or a digest of one that leaves no room for more."""
    if len(os.fsencode(name)) <= _LONGEST:
        return name
    import hashlib

    return hashlib.sha256(os.fsencode(name)).hexdigest()


def _is_plain(state: os.stat_result) -> bool:
    return stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)


def _mode(target: str) -> int | None:
    """What a file that is replaced allows whom; a link says nothing of that."""
    try:
        state = os.lstat(target)
    except FileNotFoundError:
        return None
    return stat.S_IMODE(state.st_mode) if stat.S_ISREG(state.st_mode) else None


def _write(temporary: str, target: str, content: bytes) -> None:
    mode = _mode(target)
    with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, 0o666 if mode is None else 0o600)) as file:
        _is_locked(file)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        if fcntl is not None:  # while it is held: no other writer takes it for a leftover
            os.replace(temporary, target)
    if fcntl is None:  # Windows renames only what is closed
        os.replace(temporary, target)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _remove_leftovers(target: str) -> None:
    """Remove temporary files of this name that no living writer holds."""
    for leftover in filter(os.path.isfile, leftovers(target)):  # to open a pipe would be to wait for who writes into it
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
