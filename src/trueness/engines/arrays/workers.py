"""Who does the work: compiled kernels where they pay, and as many threads as there are cores for."""

import math
import os
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np

from trueness._types import Array, Ints
from trueness.errors import InputError

# Loading numba takes about half a second, a compiled pass saves about 10 ns a row: below these sizes NumPy is as good.
PAYS_ONCE_LOADED = 1 << 18
PAYS_TO_LOAD = 1 << 22
_TERMS = 1 << 16  # that are summed at a time: what a cache holds
_PIECES = 4  # of as many terms that a thread is worth
MOST_THREADS = 8
FLOAT_PARTS = 2  # of the rows, where each has a large table of floats: their sums depend on how many there are


def accelerator(n: int) -> ModuleType | None:
    """The compiled kernels, when numba is installed and n rows are enough to pay for them."""
    loaded = sys.modules.get("trueness.engines.arrays.compiled")
    if n < (PAYS_ONCE_LOADED if loaded else PAYS_TO_LOAD):
        return None
    if loaded:
        return loaded
    spec = find_spec("numba")
    if spec is None or spec.origin is None:  # absent, or a mere folder of that name
        return None
    from trueness.engines.arrays import compiled

    return compiled


def cores() -> int:
    """How many threads may work at once: the variable TRUENESS_THREADS, else as many as there are cores for this process."""
    if asked := os.environ.get("TRUENESS_THREADS"):
        if not (asked.isascii() and asked.isdecimal() and int(asked[:9]) > 0):
            raise InputError(f"TRUENESS_THREADS: {asked!r} is not a number of threads. Set it to 1 or more, or unset it.")
        return int(asked[:9])
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(work: Callable[[int], Any], count: int) -> Iterator[Any]:
    """Results of `work(0)`, `work(1)`, … in that order, made in threads where there are cores for them."""
    threads = min(cores(), count, MOST_THREADS)
    if threads <= 1:
        yield from map(work, range(count))
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, range(count))


def in_threads(start: int, stop: int, threads: int, work: Callable[[int, int], Any]) -> list[Any]:
    """Results of `work(a, b)` over a split of start…stop into as many contiguous parts as there are cores for.

    For what does not depend on the split: sums of floats, whose last bits do, are made by `in_parts`.
    """
    return in_parts(start, stop, min(threads, cores()), work)


def in_parts(start: int, stop: int, parts: int, work: Callable[[int, int], Any]) -> list[Any]:
    """Results of `work(a, b)` over a split of start…stop into so many contiguous parts, whatever the number of cores."""
    parts = max(1, parts)
    cuts = [start + (stop - start) * i // parts for i in range(parts + 1)]
    return list(in_order(lambda i: work(cuts[i], cuts[i + 1]), parts))


def total_of(n: int, part: Callable[[int, int], float]) -> float:
    """The sum of `part(a, b)` over pieces of 0…n, which are the same whatever the number of threads."""

    def work(first: int, last: int) -> list[float]:
        return [part(a, min(a + _TERMS, n)) for a in range(first * _TERMS, last * _TERMS, _TERMS)]

    pieces = -(-n // _TERMS)
    return math.fsum(x for sums in in_threads(0, pieces, min(MOST_THREADS, pieces // _PIECES), work) for x in sums)


def hard_table(cells: int) -> Ints:
    """Zeros that begin at a cache line: a cell's eight integers, four a label, are one line."""
    size = cells * 64
    memory = np.zeros(size + 64, dtype=np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(np.int64).reshape(2 * cells, 4)


def kernel_scores(f: Array) -> Array:
    """Scores in a dtype that the compiled reduction takes."""
    return np.ascontiguousarray(f, dtype=np.float32 if f.dtype == np.float32 else np.float64)


def kernel_labels(y: Array) -> Array:
    """Outcomes in a dtype that the compiled reduction takes."""
    if y.dtype == np.bool_:
        y = y.view(np.uint8)
    if y.dtype.kind in "iu" and y.dtype != np.uint8:
        return np.ascontiguousarray(y, dtype=np.int64)
    return np.ascontiguousarray(y, dtype=np.uint8 if y.dtype == np.uint8 else np.float64)
