"""Going on where a long run was interrupted: the sums so far beside the result, with what they are sums of."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from trueness._atomic import is_device, leftovers, write_atomically
from trueness.errors import InputError
from trueness.summary.summary import Summary

try:
    import fcntl
except ImportError:  # Windows: two runs at once are not told apart
    fcntl = None  # type: ignore[assignment]


class Checkpoint:
    """Rows done and their summary, in a file that only one run at a time may use."""

    def __init__(self, path: str, run: Mapping[str, object]) -> None:
        """`run` is what must be the same in the run that left the file and in the one that goes on."""
        self.path, self._run = path, json.loads(json.dumps(run))

    def load(self) -> tuple[int, Summary | None]:
        """Rows done before, and their summary."""
        if not os.path.exists(self.path):
            return 0, None
        with open(self.path, "rb") as file:
            head, _, body = file.read().partition(b"\n")
        try:
            fields = json.loads(head)
            run, rows = fields["facts"], int(fields["rows"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{self.path!r}: is not what an interrupted run leaves. Name another file.") from error
        if run != self._run:
            changed = next((name for name in self._run if run.get(name) != self._run[name]), "something")
            raise InputError(
                f"{self.path!r}: was left by a run on something else: {changed} changed since. Remove it to start again."
            )
        from trueness.summary.file import decode

        summary = decode(body, self.path)
        if summary.rows_in != rows:
            raise InputError(f"{self.path!r}: is damaged. Remove it to start again.")
        return rows, summary

    def save(self, rows: int, summary: Summary) -> None:
        """Write down where the run stands."""
        from trueness.summary.file import encode

        head = json.dumps({"facts": self._run, "rows": rows}, sort_keys=True)
        write_atomically(self.path, head.encode() + b"\n" + encode(summary))

    def remove(self) -> None:
        """The run is done: nothing of it stays, nor of runs that were killed while they wrote, for no other is writing."""
        for path in (self.path, *leftovers(self.path)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    @contextmanager
    def locked(self) -> Iterator["Checkpoint"]:
        """While the block runs no other run may use the file."""
        lock = f"{self.path}.lock"
        for path in (self.path, lock):  # which would make the run wait
            if is_device(path):
                raise InputError(f"resume: {path!r} is a pipe or a device. Name another file.")
        with open(lock, "ab") as file:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    text = f"{self.path!r}: another run is using it. Wait for that to end, or choose another output."
                    raise InputError(text) from error
                if not _is_named(file.fileno(), lock):  # the run before this one has just ended, and taken its lock away
                    raise InputError(f"{self.path!r}: another run has just used it. Start this one again.")
            try:
                yield self
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(lock)


def _is_named(file: int, path: str) -> bool:
    """Whether the open file is the one that has this name."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False
