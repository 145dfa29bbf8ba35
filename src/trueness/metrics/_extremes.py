"""Extremes of the cumulative differences C, exact without sorting every row.

C at the edges of the ruler's cells comes from the summary. Inside a cell C stays within [start − neg, start + pos], so
only cells whose bound passes the best edge value can hold an extreme; just their rows are sorted. Where those are too many
(ties, rare events) their cells are cut finer once, and parts that hold a single score need no sorting.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness.inputs import Arrays
from trueness.metrics._data import RowData, Runs, collapse, lone_scores, refine_cells, rows_in_slots
from trueness.ruler import Floats, Ints, Ruler
from trueness.summary import Summary

SLACK = 1e-13  # rounding of the cells' sums
TIE = 1e-15  # values of C closer than this are the same but for rounding
_CROWDED = 1 << 18  # candidate rows that are always few enough to sort
_PARTS = 64  # parts of a cell that is cut
_TABLE = 1 << 20  # parts in all
_IN_MEMORY = 1 << 22  # candidate rows that are held at once where the rest does not fit


class Point(NamedTuple):
    """A value of C: all rows with scores up to `score`, which hold the share `weight` of the total."""

    value: float
    score: float
    weight: float


ORIGIN = Point(0.0, 0.0, 0.0)


class Extremes(NamedTuple):
    """The highest and lowest point of C, C_0 = 0 included; the first in score order on ties."""

    highest: Point = ORIGIN
    lowest: Point = ORIGIN

    @property
    def mad(self) -> float:
        """max |C|."""
        return max(self.highest.value, -self.lowest.value)

    @property
    def range(self) -> float:
        """max C − min C."""
        return self.highest.value - self.lowest.value

    def over(self, c: Floats, score: Floats, weight: Floats) -> "Extremes":
        """Extremes of these and of further points, given in score order."""
        if len(c) == 0:
            return self
        i = int(np.argmax(c >= c.max() - TIE))
        j = int(np.argmax(c <= c.min() + TIE))
        return Extremes(
            highest=_better(self.highest, Point(float(c[i]), float(score[i]), float(weight[i])), 1.0),
            lowest=_better(self.lowest, Point(float(c[j]), float(score[j]), float(weight[j])), -1.0),
        )


def _better(old: Point, new: Point, sign: float) -> Point:
    gain = sign * (new.value - old.value)
    if abs(gain) > TIE:
        return new if gain > 0 else old
    return new if new.weight < old.weight else old


class _Spans(NamedTuple):
    """Neighbouring ranges of scores: what C is where each begins, and how it can move inside. Shares of the total."""

    start: Floats  # C before the range
    before: Floats  # weight before the range
    e: Floats
    positive: Floats
    weight: Floats

    @property
    def end(self) -> Floats:
        return self.start + self.e

    @property
    def reach(self) -> tuple[Floats, Floats]:
        """Highest and lowest value that C can take inside."""
        return self.start + self.positive, self.start + np.minimum(self.e - self.positive, 0)

    def pick(self, which: NDArray[Any]) -> "_Spans":
        return _Spans(*(column[which] for column in self))

    def may_hold(self, found: Extremes) -> NDArray[np.bool_]:
        """Ranges whose inside may pass the extremes found so far."""
        high, low = self.reach
        return (high > found.highest.value - SLACK) | (low < found.lowest.value + SLACK)


def _cells(summary: Summary, score: Floats | None = None) -> _Spans:
    """The summary's cells; where all rows of a cell are known to have one score, Σ(y − f) is formed from it exactly."""
    m = summary.moments
    total = float(m.weight.sum())
    e, weight = m.e / total, m.weight / total
    if score is not None and summary.exact:
        e = np.where(np.isnan(score), e, (summary.columns.wy2 - m.weight * score) / total)
    return _Spans(np.cumsum(e) - e, np.cumsum(weight) - weight, e, m.e_positive / total, weight)


def from_cells(summary: Summary) -> tuple[Extremes, Extremes]:
    """Extremes of C at the edges of the summary's cells, and of what C can reach inside them, rounding included."""
    cells = _cells(summary)
    # Cells are closed on the left: the rows below an edge have scores up to the float before it.
    edge = summary.ruler.edges[summary.cells + 1]
    score = np.where(edge < 1, np.nextafter(edge, 0), 1.0)
    edges = Extremes().over(cells.end, score, cells.before + cells.weight)
    high, low = cells.reach
    bounds = Extremes(
        highest=ORIGIN._replace(value=max(edges.highest.value, float(high.max())) + SLACK),
        lowest=ORIGIN._replace(value=min(edges.lowest.value, float(low.min())) - SLACK),
    )
    return edges, bounds


def from_rows(data: RowData) -> Extremes:
    """Extremes of C over all rows."""
    if data.small:
        whole = _Spans(*np.zeros((5, 1)))
        return _sorted(Extremes(), data, slice(None), np.zeros(1), np.full(1, np.inf), whole)
    summary = data.summary()
    cells = _cells(summary)
    wanted = cells.may_hold(Extremes().over(cells.end, cells.end, cells.before + cells.weight))
    found = Extremes()
    if _crowded(summary, wanted):
        # Ties crowd cells: where all rows of a cell have one score, C has no value inside it.
        score = lone_scores(data.arrays.f, summary.ruler)[summary.cells]
        alone = ~np.isnan(score)
        cells = _cells(summary, score)
        found = found.over(cells.end[alone], score[alone], (cells.before + cells.weight)[alone])
        wanted &= ~alone
    if not wanted.any():
        return found
    chosen, cells = summary.cells[wanted], cells.pick(wanted)
    if _crowded(summary, wanted):
        return _refined(found, data, summary.ruler, chosen, cells)
    taken = rows_in_slots(data.arrays.f, summary.ruler, summary.ruler.slot_of_cell[chosen])
    return _sorted(found, data, taken, *_edges(summary.ruler, chosen), cells)


def _edges(on: Ruler, cells: Ints) -> tuple[Floats, Floats]:
    """Lowest score of each cell, and the lowest above it."""
    return on.edges[cells], np.where(cells == on.cells - 1, np.inf, on.edges[cells + 1])


def _crowded(summary: Summary, wanted: NDArray[np.bool_]) -> bool:
    """Whether sorting the rows of the wanted cells would cost more than another pass over all rows."""
    return int(summary.rows[wanted].sum()) > max(_CROWDED, summary.n // 4)


def from_pieces(summary: Summary, pieces: Callable[[Ints], Iterable[Arrays]]) -> Extremes:
    """Extremes of C over rows that do not fit in memory: a further pass reads those of the cells that may hold one."""
    cells, on = _cells(summary), summary.ruler
    wanted = cells.may_hold(Extremes().over(cells.end, cells.end, cells.before + cells.weight))
    found, chosen, spans = Extremes(), summary.cells[wanted], cells.pick(wanted)
    low, high = _edges(on, chosen)
    total = float(summary.moments.weight.sum())
    if int(summary.rows[wanted].sum()) > _IN_MEMORY:
        numbers, parts = _numbers(on, chosen)
        tables = (refine_cells(x.f, x.y, x.w, on, numbers, parts, soft=summary.soft) for x in pieces(_slots(on, chosen)))
        table = functools.reduce(_joined, tables)
        found, chosen, low, high, spans = _cut(found, table, parts, on, chosen, spans, total)
    if not len(chosen):
        return found
    slots, taken = _slots(on, chosen), []
    for x in pieces(slots):
        at = rows_in_slots(x.f, on, slots)
        inside = np.searchsorted(low, x.f[at], side="right") - 1
        at = at[(inside >= 0) & (x.f[at] < high[inside])]
        taken.append([x.f[at], x.y[at].astype(np.float64), *([] if x.w is None else [x.w[at]])])
    f, y, *w = (np.concatenate(parts) for parts in zip(*taken, strict=True))
    return _over_runs(found, collapse(f, y, w[0] if w else None, soft=summary.soft), total, low, high, spans)


def _slots(on: Ruler, cells: Ints) -> Ints:
    return np.unique(on.slot_of_cell[cells])


def _joined(a: Floats, b: Floats) -> Floats:
    """Tables of two pieces of the rows as one."""
    return np.concatenate([a[:, :3] + b[:, :3], np.minimum(a[:, 3:4], b[:, 3:4]), np.maximum(a[:, 4:], b[:, 4:])], axis=1)


def _numbers(on: Ruler, chosen: Ints) -> tuple[Ints, int]:
    """The place of each chosen cell among them, -1 for all others, and into how many parts each is cut."""
    numbers = np.full(on.cells, -1, dtype=np.int64)
    numbers[chosen] = np.arange(len(chosen))
    return numbers, 1 << max(0, min(_PARTS, _TABLE // len(chosen)).bit_length() - 1)


def _refined(found: Extremes, data: RowData, on: Ruler, chosen: Ints, cells: _Spans) -> Extremes:
    """Extremes from cells cut finer; only parts that may hold one and have more than one score are sorted."""
    rows = data.arrays
    numbers, parts = _numbers(on, chosen)
    table = refine_cells(rows.f, rows.y, rows.w, on, numbers, parts, soft=rows.soft)
    found, cell, low, high, spans = _cut(found, table, parts, on, chosen, cells, data.total_weight)
    if not len(cell):
        return found
    return _sorted(found, data, rows_in_slots(rows.f, on, on.slot_of_cell[cell]), low, high, spans)


def _cut(
    found: Extremes, table: Floats, parts: int, on: Ruler, chosen: Ints, cells: _Spans, total: float
) -> tuple[Extremes, Ints, Floats, Floats, _Spans]:
    """Extremes at the ends of the parts, and the parts whose inside may pass them: cell, range of scores, and span."""
    held = np.flatnonzero(table[:, 0] > 0)
    cell, part = held // parts, held % parts
    weight, e, positive = table[held, :3].T / total
    least, most = table[held, 3:].T
    first = np.searchsorted(cell, cell, side="left")  # of the parts of the same cell
    run, mass = np.cumsum(e) - e, np.cumsum(weight) - weight
    start, before = cells.start[cell] + (run - run[first]), cells.before[cell] + (mass - mass[first])
    spans = _Spans(start, before, e, positive, weight)
    found = found.over(spans.end, most, before + weight)
    wanted = spans.may_hold(found) & (least < most)
    cell, part = chosen[cell[wanted]], part[wanted]
    low, high = _edges(on, cell)
    k, u = on.k[cell], on.unit[cell]
    low = np.maximum(low, (k + part / parts) / u)
    high = np.where(part == parts - 1, high, np.minimum(high, (k + (part + 1) / parts) / u))
    return found, cell, low, high, spans.pick(wanted)


def _sorted(found: Extremes, data: RowData, taken: Ints | slice, low: Floats, high: Floats, spans: _Spans) -> Extremes:
    """Extremes of those found and of C at the scores of the rows taken that lie in ranges [low, high)."""
    rows = data.arrays
    runs = collapse(rows.f[taken], rows.y[taken], None if rows.w is None else rows.w[taken], soft=rows.soft)
    return _over_runs(found, runs, data.total_weight, low, high, spans)


def _over_runs(found: Extremes, runs: Runs, total: float, low: Floats, high: Floats, spans: _Spans) -> Extremes:
    start, stop = np.searchsorted(runs.f, low), np.searchsorted(runs.f, high)
    count = stop - start
    at = np.repeat(np.arange(len(count)), count)  # the range of each run, range after range
    run = np.arange(len(at)) + np.repeat(start - (np.cumsum(count) - count), count)
    e, weight = np.cumsum(runs.e) / total, np.cumsum(runs.weight) / total
    c = (spans.start - np.append(e, 0.0)[start - 1])[at] + e[run]
    share = (spans.before - np.append(weight, 0.0)[start - 1])[at] + weight[run]
    return found.over(c, runs.f[run], share)
