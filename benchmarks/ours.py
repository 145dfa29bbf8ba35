"""The calls of this library, with its compiled kernels and without."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import trueness
from benchmarks.data import Data
from benchmarks.item import NUMBA, PLAIN, Item, within
from trueness.engines.arrays import bins, grid
from trueness.engines.arrays import summarize as arrays

# Cells and rows are summed in another order with numba: floats may differ in their last digits, integer sums may not.
SAME = within(relative=1e-10, absolute=1e-14)


@contextmanager
def without_numba() -> Iterator[None]:
    """The plain NumPy path, whether or not numba is installed."""
    before = arrays.accelerator, bins.accelerator, grid.accelerator
    arrays.accelerator = bins.accelerator = grid.accelerator = lambda n: None
    try:
        yield
    finally:
        arrays.accelerator, bins.accelerator, grid.accelerator = before


def load_numba() -> None:
    """Load the kernels: with them in memory they are used from `workers.PAYS_ONCE_LOADED` rows on."""
    import_module("trueness.engines.arrays.compiled")


def _brier(summary: Any, data: Data) -> float:
    return trueness.brier_score(summary)


def _both(measure: str, run: Callable[[Data], Any], **how: Any) -> list[Item]:
    fast = Item(measure=measure, by=NUMBA, run=run, check=SAME, load=load_numba, **how)
    return [fast, Item(measure=measure, by=PLAIN, run=run, check=SAME, around=without_numba, **how)]


def summaries() -> list[Item]:
    """`summarize`; its value is the Brier score of the summary, a number that every row enters."""
    return _both("summarize", lambda d: trueness.summarize(d.y, d.f), value=_brier)


def float_summaries() -> list[Item]:
    """`summarize` with weights, and with soft labels."""
    return [
        *_both("summarize, weighted", lambda d: trueness.summarize(d.y, d.f, sample_weight=d.weight), value=_brier),
        *_both("summarize, soft", lambda d: trueness.summarize(d.soft, d.f), value=_brier),
    ]


def binned_ece() -> list[Item]:
    """15 equal-width bins."""
    return _both("binned_ece", lambda d: trueness.binned_ece(d.y, d.f, bins=15))


def smooth_ece() -> list[Item]:
    """SmoothECE at its fixed point."""
    return _both("smooth_ece", lambda d: trueness.smooth_ece(d.y, d.f))


def ecce_r() -> list[Item]:
    """ECCE-R, exact."""
    return _both("ecce_r", lambda d: trueness.ecce_r(d.y, d.f))


def logit_smoothed_ece() -> list[Item]:
    """LS-ECE by its integral, at the default bandwidth 1/15."""
    return _both("logit_smoothed_ece", lambda d: trueness.logit_smoothed_ece(d.y, d.f))
