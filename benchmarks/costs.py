"""What is not a ratio of times on rows: memory, the time to import, the time to compile."""

import os
import statistics
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import trueness
from benchmarks.data import Data
from benchmarks.item import NUMBA, PLAIN, WARM_UP_ROWS
from benchmarks.ours import load_numba, without_numba

MIB = 1 << 20

_IMPORT = "import time; start = time.process_time(); {}; print(time.process_time() - start)"
_IMPORTS = {
    "numpy": "import numpy",
    "trueness": "import numpy, trueness",
    "every name": "import numpy; from trueness import *",
}

_COMPILE = f"""
import time
import numpy as np
import trueness
start = time.perf_counter()
import trueness.engines.arrays.compiled
loaded = time.perf_counter()
f = np.random.default_rng(0).random({WARM_UP_ROWS})
y = (np.arange(len(f)) % 2).astype(float)
trueness.summarize(y, f)
trueness.summarize(y, f, sample_weight=f + 1)
trueness.smooth_ece(y, f)
trueness.ecce_r(y, f)
trueness.logit_smoothed_ece(y, f)
print(loaded - start, time.perf_counter() - loaded)
"""


def extra_memory(data: Data) -> dict[str, float]:
    """Peak MiB that `summarize` takes besides its inputs, by engine and kind of rows.

    NumPy tells tracemalloc of every array, the tables of the compiled kernels among them; kernels allocate nothing. The
    figure does not depend on the cores of this machine: see `_many_cores`.
    """
    engines = {PLAIN: without_numba}
    try:
        load_numba()
        engines[NUMBA] = nullcontext
    except ImportError:
        pass
    found = {}
    for by, around in engines.items():
        for kind, y, weight in (("hard", data.y, None), ("weighted", data.y, data.weight), ("soft", data.soft, None)):
            with around(), _many_cores():
                head = slice(WARM_UP_ROWS)
                trueness.summarize(y[head], data.f[head], sample_weight=None if weight is None else weight[head])
                found[f"{kind}, {by}"] = _peak(lambda y=y, weight=weight: trueness.summarize(y, data.f, sample_weight=weight))
    return found


@contextmanager
def _many_cores() -> Iterator[None]:
    """As on a machine with 64 cores: as many threads as the library ever starts, each with its table."""
    name = "sched_getaffinity" if hasattr(os, "sched_getaffinity") else "cpu_count"
    before = getattr(os, name)
    setattr(os, name, lambda *_: range(64) if name == "sched_getaffinity" else 64)
    try:
        yield
    finally:
        setattr(os, name, before)


def _peak(call: Callable[[], Any]) -> float:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        call()
        return (tracemalloc.get_traced_memory()[1] - before) / MIB
    finally:
        tracemalloc.stop()


def import_seconds(repeats: int) -> dict[str, float]:
    """Median CPU seconds of each of _IMPORTS, in fresh processes that take turns after a first round."""
    times: dict[str, list[float]] = {name: [] for name in _IMPORTS}
    for turn in range(repeats + 1):
        for name, found in times.items():
            seconds = float(_fresh(_IMPORT.format(_IMPORTS[name])))
            if turn:
                found.append(seconds)
    return {name: statistics.median(found) for name, found in times.items()}


def compile_seconds() -> tuple[float, float]:
    """Seconds to load numba, and to compile every kernel where none is cached."""
    with tempfile.TemporaryDirectory() as empty:
        load, build = _fresh(_COMPILE, NUMBA_CACHE_DIR=empty).split()
    return float(load), float(build)


KEPT = {"PYTHONDONTWRITEBYTECODE": ""}  # as where it is installed, Python keeps what it has compiled


def _fresh(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **KEPT, **environment}
    )
    return done.stdout
