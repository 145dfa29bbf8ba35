"""Where results go: stdout as text or JSON, files checked before the work begins, progress on a terminal's stderr."""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from trueness._atomic import is_device, undone_by

_PATIENCE = 2.0  # seconds that nobody needs a bar for


def echo_json(value: Any) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(value, indent=2, allow_nan=False))


def checked_output(path: str, inputs: tuple[str, ...] = ()) -> str:
    """A file name that may be written: no folder, none of the inputs, in a folder that is there and writable."""
    from trueness.engines.files.sources import listed

    folder = os.path.dirname(path) or "."
    if not path:
        raise click.UsageError("the name of the output is empty; give the name of a file.")
    if os.path.isdir(path):
        raise click.UsageError(f"{path!r} is a directory; give the name of a file.")
    if not os.path.isdir(folder):
        raise click.UsageError(f"{folder!r} is not a directory; make it first, or give another name.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(13, "the folder is not writable", folder)
    if is_device(path):
        raise click.UsageError(f"{path!r} is a pipe or a device, and would be replaced by a file; give another name.")
    for given in listed(inputs) if inputs else ():
        if os.path.exists(path) and os.path.exists(given) and os.path.samefile(path, given):
            raise click.UsageError(f"{path!r} is one of the inputs and would be overwritten; give another name.")
    return path


class Progress:
    """Bars for reading and drawing, where work goes on for longer than `patience`; silent where stderr is no terminal."""

    def __init__(self, patience: float = _PATIENCE) -> None:
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}
        self._shown_from = time.monotonic() + patience

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bars = Bars(*columns, console=Console(stderr=True), transient=True)
        self._bars.start()

    def stop(self) -> None:
        """Take the bars away."""
        if self._bars is not None:
            self._bars.stop()

    def reading(self, done: int, total: int | None) -> None:
        """Rows or files read so far."""
        self._update("reading", done, total)

    def drawing(self, done: int, total: int | None) -> None:
        """Draws made so far."""
        self._update("simulating", done, total)

    def step(self, what: str, done: int, total: int | None) -> None:
        """Parts of a named piece of work done so far."""
        self._update(what, done, total)

    def _update(self, what: str, done: int, total: int | None) -> None:
        if self._bars is None:
            if not sys.stderr.isatty() or time.monotonic() < self._shown_from:
                return
            self._start()
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what, total=total)
        self._bars.update(self._tasks[what], completed=done, total=total)


@contextmanager
def progress() -> Iterator[Progress]:
    """Progress while the block runs."""
    bars = Progress()
    with undone_by(bars.stop):
        try:
            yield bars
        finally:
            bars.stop()
