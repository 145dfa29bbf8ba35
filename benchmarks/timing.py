"""Time items in turns, each run preceded by *read*, so that a busy moment hits all of them alike."""

import signal
import statistics
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from benchmarks.data import Data, power
from benchmarks.item import INSTALL, Item

SLOW = 5.0  # seconds from which one run is enough


@dataclass(frozen=True, slots=True)
class Plan:
    """How often to repeat, and when to give up."""

    budget: float = 2.0  # seconds for the repeats of one item
    least: int = 3
    most: int = 30
    cap: float = 120.0  # seconds one run may take

    def rounds(self, seconds: float) -> int:
        """Repeats of an item that takes so long."""
        return 1 if seconds > SLOW else min(self.most, max(self.least, int(self.budget / seconds)))


@dataclass(slots=True)
class Timed:
    """What came of one item."""

    item: Item
    first: float | None = None  # first run on these rows
    first_cpu: float = 0.0
    times: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)  # seconds of all threads, of the same runs
    reads: list[float] = field(default_factory=list)  # *read* just before each of them
    result: Any = None
    note: str = ""

    @property
    def best(self) -> float | None:
        """Shortest run."""
        return min(self.times, default=None)

    @property
    def median_ratio(self) -> float | None:
        """Median run over the median *read* around it."""
        return statistics.median(self.times) / statistics.median(self.reads) if self.times else None


class OverCapError(Exception):
    """A run took longer than the cap."""


@contextmanager
def capped(seconds: float) -> Iterator[None]:
    """Stop what runs longer, at the next Python instruction; no cap where there are no interval timers."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise OverCapError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def read(data: Data) -> float:
    """The yardstick: NumPy sums both float64 arrays once."""
    return float(data.y.sum() + data.f.sum())


class Clocked(NamedTuple):
    """What one call took and gave."""

    seconds: float
    cpu: float  # seconds of all threads
    result: Any


def clock(call: Callable[[Data], Any], data: Data) -> Clocked:
    """Time a call."""
    cpu, start = time.process_time(), time.perf_counter()
    result = call(data)
    return Clocked(time.perf_counter() - start, time.process_time() - cpu, result)


def measure(items: list[Item], data: Data, plan: Plan, tell: Callable[[str], None]) -> list[Timed]:
    """Time all items on the same rows: one run to see how long each takes, then rounds in which they take turns."""
    found = [Timed(item) for item in items]
    for entry in found:
        tell(f"{data.case}, {len(data)} rows: {entry.item.measure} by {entry.item.by}")
        if entry.item.most is not None and len(data) > entry.item.most:
            entry.note = f"left out above {power(entry.item.most)} rows"
            continue
        _attempt(entry, lambda entry=entry: _first(entry, data), plan.cap)
    left = {id(entry): plan.rounds(entry.first) for entry in found if not entry.note and entry.first is not None}
    for entry in found:
        if left.get(id(entry)) == 1:  # slow: the run just made is its only one
            entry.times, entry.cpu, left[id(entry)] = [entry.first or 0.0], [entry.first_cpu], 0
    while any(left.values()):
        for entry in found:
            if left.get(id(entry)):
                left[id(entry)] -= 1
                _attempt(entry, lambda entry=entry: _again(entry, data), plan.cap)
    for entry in found:
        if len(entry.times) == 1:
            entry.note = entry.note or "run once"
    return found


def _first(entry: Timed, data: Data) -> None:
    entry.item.load()
    with entry.item.around():
        head = data.head(entry.item.warm_up)
        if len(head):
            entry.item.prepare(head)
            entry.item.run(head)  # imports, compilation
        entry.item.prepare(data)
        entry.reads = [clock(read, data).seconds for _ in range(3)]
        entry.first, entry.first_cpu, entry.result = clock(entry.item.run, data)


def _again(entry: Timed, data: Data) -> None:
    if not entry.times:
        entry.reads = []
    with entry.item.around():
        read(data)  # so that the next one and the item find the caches alike, whoever ran before
        before = clock(read, data).seconds
        seconds, cpu, entry.result = clock(entry.item.run, data)
    entry.reads.append(before)
    entry.times.append(seconds)
    entry.cpu.append(cpu)


def _attempt(entry: Timed, action: Callable[[], None], cap: float) -> None:
    """Run it; what keeps it from running becomes the note of its line. A fault of our own is not caught."""
    began = time.process_time()
    try:
        with warnings.catch_warnings(), capped(cap):
            warnings.simplefilter("ignore")
            action()
    except ImportError as fault:
        if fault.name is not None and fault.name.partition(".")[0] == "trueness":
            raise
        entry.note = f"not installed ({INSTALL})"
    except OverCapError:
        entry.note = f"stopped: over the cap of {cap:g} s, after {time.process_time() - began:.0f} CPU s"
    except Exception as fault:
        if entry.item.ours:
            raise
        entry.note = f"failed: {type(fault).__name__}: {str(fault).splitlines()[0] if str(fault) else ''}"
