"""A printed cell beside the simulation, and beside the law it must follow."""

from collections.abc import Iterator

import numpy as np

from reproductions.arrays import Floats
from reproductions.findings import Finding, printed
from reproductions.soft_labels.setting import METRICS
from reproductions.soft_labels.theory import Law, cut, law, limit

CLOSED, HARD, OPEN = METRICS
AGAIN = "The last bin again: open in print, closed here."


def name_of(metric: str, model: str) -> str:
    """The value of a model, in few words: with the last bin open where it is."""
    return f"{model}, last bin open" if metric == OPEN else model


def readings(model: str, metric: str, k: float) -> tuple[str, ...]:
    """The ways to read a cell: two for D's SMECE, which depends on where a prediction of 1 belongs."""
    return (CLOSED, OPEN) if (model, metric) == ("D", CLOSED) and limit("D", CLOSED, k) > limit("D", OPEN, k) else (metric,)


def mean_cell(what: str, paper: str, ours: float, known: Law, runs: tuple[int, int], why: str = "") -> Iterator[Finding]:
    """A value, or the mean of several runs: from draws, then by its law. `runs` are the paper's and ours."""
    yield from _cell(what, paper, ours, known.mean, known.sd / np.sqrt(runs), known.kind, why)


def spread_cell(what: str, paper: str, ours: float, known: Law, runs: tuple[int, int], why: str = "") -> Iterator[Finding]:
    """The standard deviation over runs: from draws, then by its law."""
    kind = "exact" if known.kind == "closed form" else known.kind
    yield from _cell(what, paper, ours, known.sd, known.sd / np.sqrt(2 * np.subtract(runs, 1)), kind, AGAIN if why else "")


def _cell(what: str, paper: str, ours: float, theory: float, errors: Floats, kind: str, why: str) -> Iterator[Finding]:
    theirs, own = (float(error) for error in errors)
    if theirs == 0:
        yield printed(what, paper, ours, why=why)
        yield printed(f"{what}, {kind}", paper, theory, why=why)
        return
    away = f"{(float(paper) - theory) / theirs:+.1f} standard errors"
    told = why or (
        f"By its law {theory:.5f}: the printed value is {away} from it, ours {(ours - theory) / own:+.1f}. "
        "One difference in 370 is beyond three by chance."
    )
    yield printed(what, paper, ours, error=float(np.hypot(theirs, own)), why=told)
    yield printed(f"{what}, {kind}", paper, theory, error=theirs, why=AGAIN if why else f"The printed value is {away} away.")


def open_bin(model: str, metric: str, k: float, n: int) -> str:
    """Why the paper's SMECE of D is smaller; empty for every other cell."""
    if (model, metric) != ("D", CLOSED):
        return ""
    closed, left_open = (law("D", reading, k, n) for reading in (CLOSED, OPEN))
    return (
        f"Eq. 4 leaves the last bin open: D says exactly 1 for x > {cut(k):.3f}, and those rows are in no bin and add nothing. "
        f"Here the last bin is closed. A run has {closed.mean:.4f} ± {closed.sd:.4f} with it closed and {left_open.mean:.4f} ± "
        f"{left_open.sd:.4f} with it open, by its law: the printed value is the open one."
    )
