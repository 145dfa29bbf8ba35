"""What must be undone if the process is ended now: half-written files, copies of pipes, a hidden cursor.

A signal may arrive at any moment, also where an exception would crash a native library. So its handler raises nothing: it
undoes what is written down here and leaves at once.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
