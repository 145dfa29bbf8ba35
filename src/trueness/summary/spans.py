"""What the cumulative differences C do over neighbouring ranges of scores, known from sums alone.

C at the edges of a summary's cells comes from its sums. Inside a cell C stays within [start − neg, start + pos], so only
cells whose bound passes the best edge value can hold an extreme.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from trueness._types import Floats, Ints
from trueness.summary.extremes import ORIGIN, TIE, Extremes
from trueness.summary.summary import Summary

SLACK = 1e-13  # rounding of the cells' sums


class ScoreRuns(Protocol):
    """Rows with equal scores put together, in score order."""

    @property
    def f(self) -> Floats:
        """The scores."""

    @property
    def weight(self) -> Floats:
        """Σw."""

    @property
    def e(self) -> Floats:
        """Σw(y − f)."""


class Spans(NamedTuple):
    """Neighbouring ranges of scores: what C is where each begins, and how it can move inside. Shares of the total."""

    start: Floats  # C before the range
    before: Floats  # weight before the range
    e: Floats
    positive: Floats
    weight: Floats

    @property
    def end(self) -> Floats:
        """C after each range."""
        return self.start + self.e

    @property
    def after(self) -> Floats:
        """The weight up to the end of each range."""
        return self.before + self.weight

    @property
    def reach(self) -> tuple[Floats, Floats]:
        """Highest and lowest value that C can take inside."""
        return self.start + self.positive, self.start + np.minimum(self.e - self.positive, 0)

    def pick(self, which: NDArray[Any]) -> "Spans":
        """Some of the ranges."""
        return Spans(*(column[which] for column in self))

    def may_hold(self, known: Extremes) -> NDArray[np.bool_]:
        """Ranges whose inside may pass the extremes known so far; where C only falls, or only rises, its ends are enough."""
        high, low = self.reach
        rises = (self.positive > 0) & (high > known.highest.value - SLACK)
        return rises | ((self.e < self.positive) & (low < known.lowest.value + SLACK))

    def cut(self, of: Ints, weight: Floats, e: Floats, positive: Floats, total: float) -> "Spans":
        """Parts of these ranges, in order, from their sums; `of` says of which range each is a part."""
        weight, e, positive = weight / total, e / total, positive / total
        first = np.searchsorted(of, of, side="left")  # of the parts of the same range
        run, mass = np.cumsum(e) - e, np.cumsum(weight) - weight
        start, before = self.start[of] + (run - run[first]), self.before[of] + (mass - mass[first])
        return Spans(start, before, e, positive, weight)

    def extremes(self, known: Extremes, runs: ScoreRuns, total: float, start: Ints, stop: Ints, tie: float = TIE) -> Extremes:
        """Extremes of those known and of C at the runs start … stop of each range."""
        count = stop - start
        of = np.repeat(np.arange(len(count)), count)  # the range of each run, range after range
        run = np.arange(len(of)) + np.repeat(start - (np.cumsum(count) - count), count)
        e, weight = np.cumsum(runs.e) / total, np.cumsum(runs.weight) / total
        c = (self.start - np.append(e, 0.0)[start - 1])[of] + e[run]
        share = (self.before - np.append(weight, 0.0)[start - 1])[of] + weight[run]
        return known.over(c, runs.f[run], share, tie)


def cell_spans(summary: Summary, score: Floats | None = None) -> Spans:
    """The summary's cells; where all rows of a cell are known to have one score, Σ(y − f) is formed from it exactly."""
    m = summary.moments
    total = float(m.weight.sum())
    e, weight = m.e / total, m.weight / total
    if score is not None and summary.exact:
        e = np.where(np.isnan(score), e, (summary.columns.wy2 - m.weight * score) / total)
    return Spans(np.cumsum(e) - e, np.cumsum(weight) - weight, e, m.e_positive / total, weight)


def from_cells(summary: Summary, inside: NDArray[np.bool_] | None = None) -> tuple[Extremes, Extremes]:
    """Extremes of C at the edges of the summary's cells, and of what C can reach inside them or some, rounding included."""
    cells = cell_spans(summary)
    # Cells are closed on the left: the rows below an edge have scores up to the float before it.
    edge = summary.ruler.edges[summary.cells + 1]
    score = np.where(edge < 1, np.nextafter(edge, 0), 1.0)
    edges = Extremes().over(cells.end, score, cells.after)
    high, low = (cells if inside is None else cells.pick(inside)).reach
    bounds = Extremes(
        highest=ORIGIN._replace(value=float(high.max(initial=edges.highest.value)) + SLACK),
        lowest=ORIGIN._replace(value=float(low.min(initial=edges.lowest.value)) - SLACK),
    )
    return edges, bounds
