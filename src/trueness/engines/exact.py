"""Extremes of the cumulative differences C of rows that need not fit in memory, by further passes over their source.

The summary says in which cells C may have its extremes. Only the rows of these are read again; where they are too many to
hold, sums over finer and finer places say which of them matter.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from trueness._types import Floats, Ints
from trueness.engines.arrays.grid import collapse, rows_in_slots
from trueness.errors import InputError
from trueness.inputs.rows import Arrays, Rows
from trueness.summary.extremes import TIE, Extremes
from trueness.summary.record import Record
from trueness.summary.ruler import Ruler, places
from trueness.summary.spans import SLACK, Spans, cell_spans
from trueness.summary.summary import Summary

_NOTHING = 1e-18  # a share of the total that cannot matter
_PARTS = 64  # parts of a range that is cut
_TABLE = 1 << 20  # parts in all
_IN_MEMORY = 1 << 20  # candidate rows that are held at once where the rest does not fit
_FINEST = 1 << 36  # parts of a slot: few scores, or next to nothing, lie within one
_AT_ONCE = 1 << 20  # rows looked at
PIECE = 1 << 22  # rows in memory that are judged at a time
_CHANGED = "other rows came when they were read again: the input changed. Summarize it again."


class Places(NamedTuple):
    """Some equal parts of the dyadic slots: part p of slot s is number s·parts + p."""

    number: Ints  # ascending
    parts: int  # a power of two

    @property
    def slots(self) -> Ints:
        """The slot of each place."""
        return self.number // self.parts

    def numbered(self, number: Ints) -> Ints:
        """Which of these places each number is; any other means that other rows came."""
        index = np.searchsorted(self.number, number)
        if not np.array_equal(self.number.take(index, mode="clip"), number):
            raise InputError(_CHANGED)
        return index


class PlaceSums(NamedTuple):
    """Sums over places that hold rows, in order."""

    number: Ints
    rows: Ints
    weight: Floats  # Σw
    e: Floats  # Σw(y − f)
    positive: Floats  # Σw·max(y − f, 0)
    least: Floats  # score
    most: Floats


class ScoreSums(NamedTuple):
    """Sums over rows of equal scores, in order."""

    f: Floats
    weight: Floats  # Σw
    e: Floats  # Σw(y − f)


class SecondPass(Protocol):
    """Reads the usable rows of a source once more."""

    def sums(self, among: Places, parts: int) -> PlaceSums:
        """Sums over the finer places, with so many `parts` a slot, within these."""

    def scores(self, among: Places) -> Iterable[ScoreSums]:
        """Every score of these places and no others, a piece of the rows at a time."""


def summary_or_record(by_group: Mapping[Any, Summary], axes: Sequence[str], rows: SecondPass | None = None) -> Summary | Record:
    """The one summary, or with axes the record; with the extremes of all rows where these are read once more."""
    if not axes:
        summary = by_group[None]
        return summary if rows is None else replace(summary, extremes=exact_extremes(summary, rows))
    record = Record(by_group, axes=axes)
    return record if rows is None else Record(by_group, axes=axes, extremes=exact_extremes(record.total(), rows))


def exact_extremes(summary: Summary, rows: SecondPass) -> Extremes | None:
    """Extremes of C over the rows of a summary; None where there are none, or their weights were scaled for it."""
    if summary.exponent or not summary.n:
        return None
    slots, spans, count = _slots(summary)
    chosen = spans.may_hold(Extremes().over(spans.end, spans.end, spans.after))
    total = float(summary.moments.weight.sum())
    return _refined(rows, Places(slots[chosen], 1), spans.pick(chosen), int(count[chosen].sum()), total)


def _refined(rows: SecondPass, among: Places, spans: Spans, count: int, total: float) -> Extremes:
    """Extremes within the places that may hold one, cut until no more than a million rows are left to sort."""
    known = Extremes()
    while count > _IN_MEMORY and among.parts < _FINEST:
        parts = among.parts * min(parts_of(len(among.number)), _FINEST // among.parts)
        sums = rows.sums(among, parts)
        outer = among.numbered(sums.number // (parts // among.parts))
        _require_same(spans, outer, sums.weight / total, sums.e / total)
        inside = spans.cut(outer, sums.weight, sums.e, sums.positive, total)
        known = known.over(inside.end, sums.most, inside.after, SLACK)
        # An extreme inside, not at an end, needs C to rise and to fall there; no row makes it fall by more than its score.
        falls = np.minimum(inside.positive - inside.e, inside.weight * sums.most)
        chosen = inside.may_hold(known) & (sums.least < sums.most) & (inside.positive > TIE) & (falls > TIE)
        among, spans, count = Places(sums.number[chosen], parts), inside.pick(chosen), int(sums.rows[chosen].sum())
    if not len(among.number):
        return known
    runs = joined(list(rows.scores(among)))
    place = among.numbered(places(runs.f, among.parts))
    _require_same(spans, place, runs.weight / total, runs.e / total)
    start, stop = (np.searchsorted(place, np.arange(len(among.number)) + after) for after in (0, 1))
    return spans.extremes(known, runs, total, start, stop, SLACK)


def parts_of(ranges: int) -> int:
    """Into how many parts each of so many ranges is cut, at least two."""
    return 1 << max(1, min(_PARTS, _TABLE // ranges).bit_length() - 1)


def _slots(summary: Summary) -> tuple[Ints, Spans, Ints]:
    """The dyadic slots that hold rows, what C does in each, and their rows."""
    slots, first = np.unique(summary.ruler.slot_of_cell[summary.cells], return_index=True)
    cells = cell_spans(summary)
    e, positive, weight = (np.add.reduceat(column, first) for column in (cells.e, cells.positive, cells.weight))
    return slots, Spans(cells.start[first], cells.before[first], e, positive, weight), np.add.reduceat(summary.rows, first)


def _require_same(spans: Spans, of: Ints, weight: Floats, e: Floats) -> None:
    """What is read again in every span must be what was summed there."""
    mass, moved = (np.bincount(of, column, minlength=len(spans.e)) for column in (weight, e))
    if not np.allclose(mass, spans.weight, rtol=1e-9, atol=_NOTHING) or np.any(
        abs(moved - spans.e) > 1e-9 * spans.weight + _NOTHING
    ):
        raise InputError(_CHANGED)


# Rows in pieces


_NO_PLACES = PlaceSums(*np.zeros((2, 0), dtype=np.int64), *np.zeros((5, 0)))


@dataclass(frozen=True, slots=True)
class InPieces:
    """Rows that `read` gives again: at least those of the slots asked for."""

    on: Ruler
    read: Callable[[Ints], Iterable[Arrays]]

    def sums(self, among: Places, parts: int) -> PlaceSums:
        """Sums over the finer places within these."""
        total = _NO_PLACES
        for rows in self.read(np.unique(among.slots)):
            total = added([total, place_sums(rows, self.on, among, parts)])
        return total

    def scores(self, among: Places) -> Iterator[ScoreSums]:
        """Every score of these places."""
        for rows in self.read(np.unique(among.slots)):
            yield score_sums(rows, self.on, among)


def in_memory(rows: Rows, on: Ruler) -> InPieces:
    """Rows that are held in memory."""

    def read(slots: Ints) -> Iterator[Arrays]:
        for start in range(0, len(rows), PIECE):
            yield rows.between(start, start + PIECE).arrays(part=True)

    return InPieces(on, read)


def _among(rows: Arrays, on: Ruler, among: Places) -> Iterator[Arrays]:
    """The rows of these places, a million or fewer at a time."""
    slots = np.unique(among.slots)
    for start in range(0, len(rows.f), _AT_ONCE):
        row = start + rows_in_slots(rows.f[start : start + _AT_ONCE], on, slots)
        if among.parts > 1:
            row = row[np.isin(places(rows.f[row], among.parts), among.number)]
        if len(row):
            yield replace(rows, f=rows.f[row], y=rows.y[row], w=None if rows.w is None else rows.w[row], kept=None)


def score_sums(rows: Arrays, on: Ruler, among: Places) -> ScoreSums:
    """Sums over equal scores in these places."""
    runs = [collapse(part.f, part.y, part.w, soft=part.soft) for part in _among(rows, on, among)]
    return joined([ScoreSums(each.f, each.weight, each.e) for each in runs])


def place_sums(rows: Arrays, on: Ruler, among: Places, parts: int) -> PlaceSums:
    """Sums over the finer places within these."""
    return added([_summed(part, parts) for part in _among(rows, on, among)])


def _summed(rows: Arrays, parts: int) -> PlaceSums:
    runs = collapse(rows.f, rows.y, rows.w, soft=rows.soft)
    of_row, of_run = np.sort(places(rows.f, parts)), places(runs.f, parts)  # scores ascend, and so do their places
    number, first = np.unique(of_run, return_index=True)
    weight, e, positive = (np.add.reduceat(column, first) for column in (runs.weight, runs.e, runs.positive))
    last = np.append(first[1:], len(of_run)) - 1
    count = np.diff(np.searchsorted(of_row, number), append=len(of_row))
    return PlaceSums(number, count, weight, e, positive, runs.f[first], runs.f[last])


def added(parts: Sequence[PlaceSums]) -> PlaceSums:
    """Sums of pieces of the rows as one."""
    number, *columns = (np.concatenate(column) for column in zip(_NO_PLACES, *parts, strict=True))
    if not len(number):
        return _NO_PLACES
    order = np.argsort(number, kind="stable")
    number = number[order]
    first = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
    ways = (np.add, np.add, np.add, np.add, np.minimum, np.maximum)
    return PlaceSums(number[first], *(way.reduceat(c[order], first) for way, c in zip(ways, columns, strict=True)))


def joined(parts: Sequence[ScoreSums]) -> ScoreSums:
    """Sums over equal scores in pieces of the rows as those of all."""
    f, weight, e = (np.concatenate([np.zeros(0), *(part[k] for part in parts)]) for k in range(3))
    if not len(f):
        return ScoreSums(f, weight, e)
    order = np.argsort(f, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(f[order]) > 0))
    return ScoreSums(f[order][starts], *(np.add.reduceat(column[order], starts) for column in (weight, e)))
