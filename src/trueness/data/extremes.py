"""Extremes of the cumulative differences C, exact without sorting every row.

C at the edges of the ruler's cells comes from the summary. Inside a cell C stays within [start − neg, start + pos], so
only cells whose bound passes the best edge value can hold an extreme; just their rows are sorted. Where those are too many
(ties, rare events) their cells are cut finer, and parts that hold a single score need no sorting.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._again import Again, Places, RowsChangedError, ScoreSums
from trueness._types import Floats, Ints
from trueness.engines.arrays.grid import Runs, collapse, joined, lone_scores, refine_cells, rows_in_slots
from trueness.inputs.rows import Arrays
from trueness.summary.ruler import Ruler
from trueness.summary.ruler import places as places_of
from trueness.summary.summary import Summary

SLACK = 1e-13  # rounding of the cells' sums
_NOTHING = 1e-18  # a share of the total that cannot matter
TIE = 1e-15  # values of C closer than this are the same but for rounding
_CROWDED = 1 << 18  # candidate rows that are always few enough to sort
_PARTS = 64  # parts of a cell that is cut
_TABLE = 1 << 20  # parts in all
_IN_MEMORY = 1 << 20  # candidate rows that are held at once where the rest does not fit
_CHANGED = "other rows came when they were read again: the input changed. Summarize it again."
_FINEST = 1 << 36  # parts of a slot: few scores, or next to nothing, lie within one


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

    def over(self, c: Floats, score: Floats, weight: Floats, tie: float = TIE) -> "Extremes":
        """Extremes of these and of further points, given in score order."""
        if len(c) == 0:
            return self
        i = int(np.argmax(c >= c.max() - tie))
        j = int(np.argmax(c <= c.min() + tie))
        return Extremes(
            highest=_better(self.highest, Point(float(c[i]), float(score[i]), float(weight[i])), 1.0, tie),
            lowest=_better(self.lowest, Point(float(c[j]), float(score[j]), float(weight[j])), -1.0, tie),
        )


def _better(old: Point, new: Point, sign: float, tie: float) -> Point:
    gain = sign * (new.value - old.value)
    if abs(gain) > tie:
        return new if gain > 0 else old
    return new if new.weight < old.weight else old


@dataclass(frozen=True, slots=True)
class Bracket:
    """Certain bounds, (low, high), for the exact cumulative errors of rows known only by their sums."""

    mad: tuple[float, float]
    range: tuple[float, float]


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
        """Ranges whose inside may pass the extremes found so far; where C only falls, or only rises, its ends are enough."""
        high, low = self.reach
        rises = (self.positive > 0) & (high > found.highest.value - SLACK)
        return rises | ((self.e < self.positive) & (low < found.lowest.value + SLACK))


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


def from_rows(rows: Arrays, total: float, summary: Summary | None) -> Extremes:
    """Extremes of C over all rows; with their summary, only rows of cells that may hold one are sorted."""
    if summary is None:
        whole = _Spans(*np.zeros((5, 1)))
        return _sorted(Extremes(), rows, total, slice(None), np.zeros(1), np.full(1, np.inf), whole)
    cells = _cells(summary)
    wanted = cells.may_hold(Extremes().over(cells.end, cells.end, cells.before + cells.weight))
    found = Extremes()
    if _crowded(summary, wanted):
        # Ties crowd cells: where all rows of a cell have one score, C has no value inside it.
        score = lone_scores(rows.f, summary.ruler)[summary.cells]
        alone = ~np.isnan(score)
        cells = _cells(summary, score)
        found = found.over(cells.end[alone], score[alone], (cells.before + cells.weight)[alone])
        wanted &= ~alone
    if not wanted.any():
        return found
    chosen, cells = summary.cells[wanted], cells.pick(wanted)
    if _crowded(summary, wanted):
        return _refined(found, rows, total, summary.ruler, chosen, cells)
    taken = rows_in_slots(rows.f, summary.ruler, summary.ruler.slot_of_cell[chosen])
    return _sorted(found, rows, total, taken, *_edges(summary.ruler, chosen), cells)


def _edges(on: Ruler, cells: Ints) -> tuple[Floats, Floats]:
    """Lowest score of each cell, and the lowest above it."""
    return on.edges[cells], np.where(cells == on.cells - 1, np.inf, on.edges[cells + 1])


def _crowded(summary: Summary, wanted: NDArray[np.bool_]) -> bool:
    """Whether sorting the rows of the wanted cells would cost more than another pass over all rows."""
    return int(summary.rows[wanted].sum()) > max(_CROWDED, summary.n // 4)


def from_rows_again(summary: Summary, again: Again) -> Extremes:
    """Extremes of C over rows that do not fit in memory, which are read again where C may have one.

    Where those are too many to hold, sums over finer and finer places say which of them matter.
    """
    slots, spans, rows = _slots(summary)
    wanted = spans.may_hold(Extremes().over(spans.end, spans.end, spans.before + spans.weight))
    found, total = Extremes(), float(summary.moments.weight.sum())
    places, spans, count = Places(slots[wanted], 1), spans.pick(wanted), int(rows[wanted].sum())
    while count > _IN_MEMORY and places.parts < _FINEST:
        parts = places.parts * min(_parts(len(places.number)), _FINEST // places.parts)
        sums = again.sums(places, parts)
        outer = _inside(places, sums.number // (parts // places.parts))
        _require_same(spans, outer, sums.weight / total, sums.e / total)
        inside = _within(spans, outer, sums.weight, sums.e, sums.positive, total)
        found = found.over(inside.end, sums.most, inside.before + inside.weight, SLACK)
        # An extreme inside, not at an end, needs C to rise and to fall there; no row makes it fall by more than its score.
        falls = np.minimum(inside.positive - inside.e, inside.weight * sums.most)
        wanted = inside.may_hold(found) & (sums.least < sums.most) & (inside.positive > TIE) & (falls > TIE)
        places, spans, count = Places(sums.number[wanted], parts), inside.pick(wanted), int(sums.rows[wanted].sum())
    if not len(places.number):
        return found
    runs = joined(list(again.scores(places)))
    at = _inside(places, places_of(runs.f, places.parts))
    _require_same(spans, at, runs.weight / total, runs.e / total)
    start, stop = (np.searchsorted(at, np.arange(len(places.number)) + after) for after in (0, 1))
    return _over_runs(found, runs, total, start, stop, spans, SLACK)


def _slots(summary: Summary) -> tuple[Ints, _Spans, Ints]:
    """The dyadic slots that hold rows, what C does in each, and their rows."""
    slots, first = np.unique(summary.ruler.slot_of_cell[summary.cells], return_index=True)
    cells = _cells(summary)
    e, positive, weight = (np.add.reduceat(column, first) for column in (cells.e, cells.positive, cells.weight))
    return slots, _Spans(cells.start[first], cells.before[first], e, positive, weight), np.add.reduceat(summary.rows, first)


def _inside(places: Places, number: Ints) -> Ints:
    """Which of these places each number is."""
    at = np.searchsorted(places.number, number)
    if not np.array_equal(places.number.take(at, mode="clip"), number):
        raise RowsChangedError(_CHANGED)
    return at


def _require_same(spans: _Spans, at: Ints, weight: Floats, e: Floats) -> None:
    """What is read again in every span must be what was summed there."""
    held, moved = (np.bincount(at, column, minlength=len(spans.e)) for column in (weight, e))
    if not np.allclose(held, spans.weight, rtol=1e-9, atol=_NOTHING) or np.any(
        abs(moved - spans.e) > 1e-9 * spans.weight + _NOTHING
    ):
        raise RowsChangedError(_CHANGED)


def _numbers(on: Ruler, chosen: Ints) -> tuple[Ints, int]:
    """The place of each chosen cell among them, -1 for all others, and into how many parts each is cut."""
    numbers = np.full(on.cells, -1, dtype=np.int64)
    numbers[chosen] = np.arange(len(chosen))
    return numbers, _parts(len(chosen))


def _parts(ranges: int) -> int:
    """Into how many parts each of so many ranges is cut, at least two."""
    return 1 << max(1, min(_PARTS, _TABLE // ranges).bit_length() - 1)


def _within(outer: _Spans, at: Ints, weight: Floats, e: Floats, positive: Floats, total: float) -> _Spans:
    """Parts of ranges, in order, with their sums; `at` says of which range each is."""
    weight, e, positive = weight / total, e / total, positive / total
    first = np.searchsorted(at, at, side="left")  # of the parts of the same range
    run, mass = np.cumsum(e) - e, np.cumsum(weight) - weight
    start, before = outer.start[at] + (run - run[first]), outer.before[at] + (mass - mass[first])
    return _Spans(start, before, e, positive, weight)


def _refined(found: Extremes, rows: Arrays, total: float, on: Ruler, chosen: Ints, cells: _Spans) -> Extremes:
    """Extremes from cells cut finer; only parts that may hold one and have more than one score are sorted."""
    numbers, parts = _numbers(on, chosen)
    table = refine_cells(rows.f, rows.y, rows.w, on, numbers, parts, soft=rows.soft)
    held = np.flatnonzero(table[:, 0] > 0)
    cell, part = held // parts, held % parts
    weight, e, positive, least, most = table[held].T
    inside = _within(cells, cell, weight, e, positive, total)
    found = found.over(inside.end, most, inside.before + inside.weight)
    wanted = inside.may_hold(found) & (least < most)
    if not wanted.any():
        return found
    cell, part = chosen[cell[wanted]], part[wanted]
    low, high = _edges(on, cell)
    k, u = on.k[cell], on.unit[cell]
    low = np.maximum(low, (k + part / parts) / u)
    high = np.where(part == parts - 1, high, np.minimum(high, (k + (part + 1) / parts) / u))
    return _sorted(found, rows, total, rows_in_slots(rows.f, on, on.slot_of_cell[cell]), low, high, inside.pick(wanted))


def _sorted(
    found: Extremes, rows: Arrays, total: float, taken: Ints | slice, low: Floats, high: Floats, spans: _Spans
) -> Extremes:
    """Extremes of those found and of C at the scores of the rows taken that lie in ranges [low, high)."""
    runs = collapse(rows.f[taken], rows.y[taken], None if rows.w is None else rows.w[taken], soft=rows.soft)
    start, stop = np.searchsorted(runs.f, low), np.searchsorted(runs.f, high)
    return _over_runs(found, runs, total, start, stop, spans)


def _over_runs(
    found: Extremes, runs: Runs | ScoreSums, total: float, start: Ints, stop: Ints, spans: _Spans, tie: float = TIE
) -> Extremes:
    """Extremes of those found and of C at the runs start … stop of each span."""
    count = stop - start
    at = np.repeat(np.arange(len(count)), count)  # the span of each run, span after span
    run = np.arange(len(at)) + np.repeat(start - (np.cumsum(count) - count), count)
    e, weight = np.cumsum(runs.e) / total, np.cumsum(runs.weight) / total
    c = (spans.start - np.append(e, 0.0)[start - 1])[at] + e[run]
    share = (spans.before - np.append(weight, 0.0)[start - 1])[at] + weight[run]
    return found.over(c, runs.f[run], share, tie)
