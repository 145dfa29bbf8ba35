"""The floor: `summarize` of hard labels as a loop in C, written for AVX2 by hand, compiled where a compiler is there."""

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import trueness
from benchmarks.data import Data
from benchmarks.item import Item, within
from benchmarks.targets import FLOOR
from trueness.engines.arrays.workers import in_threads
from trueness.summary.ruler import SLOTS, ZONE_OFFSET, ruler
from trueness.summary.summary import Summary, integer_summary

_THREADS = 8
_STEP = 4


@cache
def load() -> Any:
    """The loop; ImportError where there is no compiler, or another kind of processor."""
    compiler, processor = shutil.which("cc"), Path("/proc/cpuinfo")
    if compiler is None or not processor.exists() or "avx2" not in processor.read_text(encoding="utf-8"):
        raise ImportError("no C compiler (cc), or no processor known to have AVX2")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "floor.so")
        flags = ["-O3", "-mavx2", "-ffp-contract=off", "-shared", "-fPIC"]
        source = Path(__file__).with_suffix(".c")
        done = subprocess.run([compiler, *flags, str(source), "-o", str(library)], capture_output=True, check=False)
        if done.returncode:
            raise ImportError("the C compiler cannot compile for AVX2")
        loop = ctypes.CDLL(str(library)).hard
    pointer = ctypes.c_void_p
    loop.argtypes = [pointer, pointer, ctypes.c_ssize_t, pointer, pointer, pointer, ctypes.c_int64]
    loop.argtypes += [ctypes.c_double, ctypes.c_double, pointer]
    loop.restype = None
    return loop


def summary(d: Data) -> Summary:
    """The summary of rows in [0, 1] with outcomes 0 and 1, in as many threads as `summarize` has."""
    on, loop = ruler(), load()
    whole = len(d) - len(d) % _STEP

    def work(first: int, last: int) -> Any:
        table = np.zeros((2 * on.cells, 4), dtype=np.int64)
        f, y = d.f[_STEP * first :], d.y[_STEP * first :]
        tables = (on.cut.ctypes.data, on.extra_before.ctypes.data, on.extra.ctypes.data)
        offsets = (float(ZONE_OFFSET[1]), float(ZONE_OFFSET[2]))
        loop(f.ctypes.data, y.ctypes.data, _STEP * (last - first), *tables, SLOTS, *offsets, table.ctypes.data)
        return table

    sums = integer_summary(sum(in_threads(0, whole // _STEP, _THREADS, work)).reshape(-1, 8), on)
    return sums if whole == len(d) else sums + trueness.summarize(d.y[whole:], d.f[whole:])


def items() -> list[Item]:
    """The floor of `summarize`."""
    value = lambda found, d: trueness.brier_score(found)  # noqa: E731
    return [Item(measure="summarize", by=FLOOR, run=summary, value=value, check=within(), load=load)]
