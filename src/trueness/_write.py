"""Writing a file so that it appears whole or not at all."""

import contextlib
import os
import secrets


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace `path` by a file with this content: a temporary file beside it, flushed to disk, then renamed.

    A reader sees the old file or the complete new one; when writing fails the old file stays and the temporary one goes.
    """
    target = os.fspath(path)
    if os.path.isdir(target):
        raise IsADirectoryError(f"{target!r} is a directory; give the name of a file")
    folder, name = os.path.split(target)
    if not os.path.isdir(folder or "."):
        raise FileNotFoundError(f"{folder!r} is not a directory; make it first, or give another name")
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    with contextlib.suppress(OSError):  # some file systems cannot flush a folder; the rename itself has happened
        directory = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
