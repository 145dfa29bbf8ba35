"""Going on where a long run was interrupted: the sums so far beside the result, with what they are sums of."""

import contextlib
import glob
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from trueness._atomic import write_atomically
from trueness.errors import InputError
from trueness.summary.file import decode, encode
from trueness.summary.summary import Summary

try:
    import fcntl
except ImportError:  # Windows: two runs at once are not told apart
    fcntl = None  # type: ignore[assignment]


class Checkpoint:
    """Rows done and their summary, in a file that only one run at a time may use."""

    def __init__(self, path: str, facts: dict[str, Any]) -> None:
        self.path, self._facts = path, json.loads(json.dumps(facts))

    def load(self) -> tuple[int, Summary | None]:
        """Rows done before, and their summary."""
        if not os.path.exists(self.path):
            return 0, None
        with open(self.path, "rb") as file:
            head, _, body = file.read().partition(b"\n")
        try:
            held = json.loads(head)
            facts, rows = held["facts"], int(held["rows"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{self.path!r}: is not what an interrupted run leaves. Name another file.") from error
        if facts != self._facts:
            changed = next((name for name in self._facts if facts.get(name) != self._facts[name]), "something")
            raise InputError(
                f"{self.path!r}: was left by a run on something else: {changed} changed since. Remove it to start again."
            )
        summary = decode(body, self.path)
        if summary.rows_in != rows:
            raise InputError(f"{self.path!r}: is damaged. Remove it to start again.")
        return rows, summary

    def save(self, rows: int, summary: Summary) -> None:
        """Write down where the run stands."""
        head = json.dumps({"facts": self._facts, "rows": rows}, sort_keys=True)
        write_atomically(self.path, head.encode() + b"\n" + encode(summary))

    def remove(self) -> None:
        """The run is done: nothing of it stays, nor of runs that were killed while they wrote, for no other is writing."""
        folder, name = os.path.split(self.path)
        half = glob.glob(os.path.join(glob.escape(folder), f".{glob.escape(name)}.{'?' * 16}.tmp"))
        for path in (self.path, *half):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    @contextmanager
    def held(self) -> Iterator["Checkpoint"]:
        """While the block runs no other run may use the file."""
        lock = f"{self.path}.lock"
        with open(lock, "ab") as file:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    text = f"{self.path!r}: another run is using it. Wait for that to end, or choose another output."
                    raise InputError(text) from error
                if not _is_at(file.fileno(), lock):  # the run before this one has just ended, and taken its lock away
                    raise InputError(f"{self.path!r}: another run has just used it. Start this one again.")
            try:
                yield self
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(lock)


def _is_at(file: int, path: str) -> bool:
    """Whether the open file is the one that has this name."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False
