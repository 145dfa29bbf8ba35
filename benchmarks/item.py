"""One timed thing: what it measures, by whom, how it is called and what its value must agree with."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from benchmarks.data import Data

INSTALL = "pip install 'trueness[bench]'"

NUMBA = "trueness + numba"
PLAIN = "trueness"
ENGINES = "engines"
WAITING = "waiting"

WARM_UP_ROWS = 1 << 17  # enough for the compiled kernels to be used, and so compiled

Check = Callable[[Any, Data, float], tuple[bool, str]]


def within(relative: float = 0.0, absolute: float = 0.0) -> Check:
    """A check that a float is as near as this to the value of trueness."""

    def check(result: Any, data: Data, ours: float) -> tuple[bool, str]:
        near = abs(float(result) - ours) <= absolute + relative * abs(ours)
        return near, "yes" if near else f"NO, ours is {ours:.10g}"

    return check


@dataclass(frozen=True, kw_only=True)
class Item:
    """A call to be timed."""

    measure: str  # what is computed: the first word is the name that --only takes
    by: str  # who computes it
    run: Callable[[Data], Any]  # the timed part
    check: Check  # untimed; is given the value, or the result where `checks_result`
    value: Callable[[Any, Data], float] = lambda result, data: float(result)  # untimed
    checks_result: bool = False
    around: Callable[[], AbstractContextManager[Any]] = nullcontext
    prepare: Callable[[Data], Any] = lambda data: None  # untimed, once for the rows
    most: int | None = None  # rows beyond which it is left out
    warm_up: int = WARM_UP_ROWS  # rows of a first run, which imports and compiles; 0 for none
    load: Callable[[], Any] = lambda: None  # imports what it needs; ImportError when that is not installed

    @property
    def family(self) -> str:
        """The name that --only takes."""
        return self.measure.partition(",")[0]

    @property
    def ours(self) -> bool:
        """Whether this library is what is timed."""
        return self.by in (NUMBA, PLAIN) or self.family == ENGINES
