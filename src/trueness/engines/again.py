"""Rows read again a piece at a time, and summed at places finer than the ruler's cells."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueness._again import Again, Places, PlaceSums, ScoreSums
from trueness._types import Ints
from trueness.engines.arrays.grid import collapse, joined, rows_in_slots
from trueness.inputs.rows import Arrays
from trueness.summary.ruler import Ruler, places
from trueness.summary.summary import Groups, Summary

_AT_ONCE = 1 << 20  # rows looked at
_OF_NONE = PlaceSums(*np.zeros((2, 0), dtype=np.int64), *np.zeros((5, 0)))


def _taken(rows: Arrays, on: Ruler, among: Places) -> Iterator[Arrays]:
    """The rows of these places, a million or fewer at a time."""
    slots = np.unique(among.slots)
    for start in range(0, len(rows.f), _AT_ONCE):
        at = start + rows_in_slots(rows.f[start : start + _AT_ONCE], on, slots)
        if among.parts > 1:
            at = at[np.isin(places(rows.f[at], among.parts), among.number)]
        if len(at):
            yield replace(rows, f=rows.f[at], y=rows.y[at], w=None if rows.w is None else rows.w[at], kept=None)


def score_sums(rows: Arrays, on: Ruler, among: Places) -> ScoreSums:
    """Sums over equal scores in these places."""
    runs = [collapse(part.f, part.y, part.w, soft=part.soft) for part in _taken(rows, on, among)]
    return joined([ScoreSums(each.f, each.weight, each.e) for each in runs])


def place_sums(rows: Arrays, on: Ruler, among: Places, parts: int) -> PlaceSums:
    """Sums over the finer places within these."""
    return added([_summed(part, parts) for part in _taken(rows, on, among)])


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
    number, *columns = (np.concatenate(column) for column in zip(_OF_NONE, *parts, strict=True))
    if not len(number):
        return _OF_NONE
    order = np.argsort(number, kind="stable")
    number = number[order]
    first = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
    ways = (np.add, np.add, np.add, np.add, np.minimum, np.maximum)
    return PlaceSums(number[first], *(way.reduceat(c[order], first) for way, c in zip(ways, columns, strict=True)))


@dataclass(frozen=True, slots=True)
class InPieces:
    """Rows that `read` gives again: at least those of the slots asked for."""

    on: Ruler
    read: Callable[[Ints], Iterable[Arrays]]
    lasting: bool = True

    def sums(self, among: Places, parts: int) -> PlaceSums:
        """Sums over the finer places within these."""
        whole = _OF_NONE
        for rows in self.read(np.unique(among.slots)):
            whole = added([whole, place_sums(rows, self.on, among, parts)])
        return whole

    def scores(self, among: Places) -> Iterator[ScoreSums]:
        """Every score of these places."""
        for rows in self.read(np.unique(among.slots)):
            yield score_sums(rows, self.on, among)


def with_rows_again(
    found: Mapping[Any, Summary], of_group: Callable[[Any], Again | None], of_all: Again | None = None
) -> Groups:
    """The summaries, each with how its rows are read again; not where weights were scaled, since the rows are not."""
    return Groups(
        {
            group: summary if summary.exponent or not summary.n else replace(summary, again=of_group(group))
            for group, summary in found.items()
        },
        of_all,
    )
