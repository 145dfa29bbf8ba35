"""Names on the command line or in a call → the files they mean, and what kind each is."""

import glob
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from trueness._atomic import undone_by
from trueness._values import lists
from trueness.errors import InputError
from trueness.options import check_path

STANDARD_INPUT = "-"
_KINDS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".json": "json",
    ".ndjson": "json",
    ".jsonl": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".tns": "summary",
}
_KNOWN = "csv, tsv, txt, json, ndjson, jsonl (each also .gz), parquet, pq or tns"

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class Copied(str):
    """The path of a copy, which messages call by the name of what was copied."""

    __slots__ = ("name",)
    name: str

    def __repr__(self) -> str:
        return self.name


def listed(paths: Paths) -> list[str]:
    """The files that `paths` mean, each once."""
    given = list(paths) if lists(paths) and not isinstance(paths, os.PathLike) else [paths]
    if not given:
        raise InputError("no files were given. Pass a path, a pattern such as 'preds/*.parquet', or a list of them.")
    names = [name for each in given for name in _meant(check_path("paths", each))]
    _require_distinct(names)
    return names


@contextmanager
def opened(paths: Paths) -> Iterator[list[str]]:
    """The files that `paths` mean; what can be read only once, a pipe or standard input, is first copied to a file."""
    names = listed(paths)
    if not any(map(is_pipe, names)):
        yield names
        return
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="trueness-") as folder, undone_by(lambda: shutil.rmtree(folder, True)):
        yield [_copied(name, folder, number) if is_pipe(name) else name for number, name in enumerate(names)]


def _meant(name: str) -> list[str]:
    """One name: a file as it is written, else every data file of a folder, else a pattern."""
    if name == STANDARD_INPUT:
        return [name]
    if os.path.isdir(name):
        files = sorted(entry.path for entry in os.scandir(name) if entry.is_file() and _by_name(entry.name))
        if not files:
            raise InputError(f"{name!r}: the folder holds no data file ({_KNOWN}). Pass a folder that does, or a pattern.")
        _require_one_kind(files)
        _require_flat(name)
        return files
    if os.path.lexists(name):
        return [name]
    matches = sorted(glob.glob(name, recursive=True)) if glob.has_magic(name) else []
    files = [path for path in matches if not os.path.isdir(path)]
    if not files:
        what = "no file matches this pattern" if glob.has_magic(name) else "there is no such file"
        raise InputError(f"{name!r}: {what}. Check the name; it is read from the folder {os.getcwd()!r}.")
    return files


def _require_flat(folder: str) -> None:
    """Data files in folders within would be left out unseen."""
    for within, _, files in os.walk(folder):
        if within != folder and any(map(_by_name, files)):
            pattern = os.path.join(folder, "**", "*")
            raise InputError(
                f"{folder!r}: holds data files, and more in the folder {within!r}. Pass a pattern such as {pattern!r} for all."
            )


def _require_distinct(names: list[str]) -> None:
    seen: dict[object, str] = {}
    for name in names:
        file = STANDARD_INPUT if name == STANDARD_INPUT else _identity(name)
        if file in seen:
            raise InputError(f"{name!r}: is the same file as {seen[file]!r}, whose rows would count twice. Name it once.")
        seen[file] = name


def _identity(name: str) -> tuple[int, int] | str:
    """What a file has in common with its links, hard ones too."""
    try:
        state = os.stat(name)
    except OSError as error:
        if not os.path.islink(name):
            raise
        text = f"{name!r}: is a link to {os.readlink(name)!r}, which cannot be read ({error.strerror})"
        raise InputError(f"{text}. Mend the link, or name another file.") from error
    return (state.st_dev, state.st_ino) if state.st_ino else os.path.realpath(name)  # not every file system numbers files


def is_pipe(name: str) -> bool:
    """Whether the name stands for what can be read once only."""
    if name == STANDARD_INPUT:
        return True
    mode = os.stat(name).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def _copied(name: str, folder: str, number: int) -> str:
    import shutil

    path = Copied(os.path.join(folder, str(number)))
    path.name = "standard input" if name == STANDARD_INPUT else repr(name)
    with open(path, "wb") as copy:
        if name == STANDARD_INPUT:
            shutil.copyfileobj(_stdin(), copy, 1 << 20)
        else:
            with open(name, "rb") as source:
                shutil.copyfileobj(source, copy, 1 << 20)
    return path


def _stdin() -> BinaryIO:
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("standard input is a terminal. Pipe a file into the command, or pass its name.")
    return sys.stdin.buffer


def _by_name(name: str) -> str | None:
    stem = name.lower().removesuffix(".gz")
    kind = _KINDS.get(os.path.splitext(stem)[1])
    return None if name.lower().endswith(".gz") and kind not in ("csv", "json") else kind


def kind_of(path: str) -> str:
    """csv, json, parquet or summary: by the file's name, and where that says nothing by how it begins."""
    kind = _by_name(os.path.basename(path))
    if kind is not None:
        return kind
    start = beginning(path, 64)
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"PK"):
        return "summary"
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    return "json" if text[:1] in (b"{", b"[") else "csv"


def is_gzip(path: str) -> bool:
    """Whether the file is compressed, whatever it is called."""
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


def open_text(path: str) -> BinaryIO:
    """The bytes of a file, decompressed."""
    import gzip

    return cast(BinaryIO, gzip.open(path, "rb")) if is_gzip(path) else open(path, "rb")


def beginning(path: str, size: int) -> bytes:
    """The first bytes of a file, decompressed."""
    import gzip
    import zlib

    try:
        with open_text(path) as file:
            return file.read(size)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(damaged_gzip(path, error)) from error


def ending(path: str) -> bytes:
    """The last bytes of a file, decompressed."""
    import gzip
    import zlib

    size = 1 << 16
    if not is_gzip(path):
        with open(path, "rb") as file:
            file.seek(-min(size, os.path.getsize(path)), os.SEEK_END)
            return file.read()
    try:
        last = b""
        with gzip.open(path, "rb") as file:
            while part := file.read(size):
                last = last[-size:] + part
        return last
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(damaged_gzip(path, error)) from error


def damaged_gzip(path: str, error: BaseException) -> str:
    """What to say of a compressed file that cannot be read to its end."""
    return f"{path!r}: the compressed file is cut short or damaged ({error}). Copy or make it again; nothing was counted."


def _require_one_kind(paths: list[str]) -> None:
    kinds = {kind_of(path): path for path in reversed(paths)}
    if len(kinds) > 1:
        named = ", ".join(f"{path!r} ({kind})" for kind, path in sorted(kinds.items()))
        raise InputError(f"the files are of several kinds: {named}. Pass files of one kind.")


def one_kind(paths: list[str]) -> str:
    """The kind that all files have."""
    _require_one_kind(paths)
    return kind_of(paths[0])
