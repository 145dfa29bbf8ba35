"""Extremes of the cumulative differences C, exact without sorting every row.

C at the edges of the ruler's cells comes from the summary. Inside a cell C stays within [start − neg, start + pos], so
only cells whose bound passes the best edge value can hold an extreme; just their rows are sorted. Where those are too many
(ties, rare events) their cells are cut finer, and parts that hold a single score need no sorting.
"""

from dataclasses import dataclass, replace

import numpy as np

from trueness._types import Floats, Ints
from trueness.engines.arrays.grid import collapse, cutting_pays, lone_scores, refine_cells, taken_in_slots
from trueness.inputs.rows import Arrays
from trueness.summary.extremes import Extremes
from trueness.summary.ruler import Ruler
from trueness.summary.spans import Spans, cell_spans
from trueness.summary.summary import Summary

_PARTS = 8  # of a cell that is cut, or more
_PLACES = 1 << 15  # parts in all that a cache holds
_SHARE = 8  # what part of the rows may be copied
FEW = 1 << 17  # candidate rows that are sorted; more are cut finer first, which costs less


@dataclass(frozen=True, slots=True)
class Bracket:
    """Certain bounds, (low, high), for the exact cumulative errors of rows known only by their sums."""

    mad: tuple[float, float]
    range: tuple[float, float]


def from_rows(rows: Arrays, total: float, summary: Summary | None) -> Extremes:
    """Extremes of C over all rows; with their summary, only rows of cells that may hold one are sorted."""
    if summary is None:
        all_scores = Spans(*np.zeros((5, 1)))
        return _sorted(Extremes(), rows, total, np.zeros(1), np.full(1, np.inf), all_scores)
    cells = cell_spans(summary)
    candidate = cells.may_hold(Extremes().over(cells.end, cells.end, cells.after))
    known = Extremes()
    if summary.rows[candidate].sum() > max(FEW, summary.n // 4):
        # Ties crowd cells: where all rows of a cell have one score, C has no value inside it.
        score = lone_scores(rows.f, summary.ruler)[summary.cells]
        alone = ~np.isnan(score)
        cells = cell_spans(summary, score)
        known = known.over(cells.end[alone], score[alone], cells.after[alone])
        candidate &= ~alone
    if not candidate.any():
        return known
    chosen, cells, count = summary.cells[candidate], cells.pick(candidate), summary.rows[candidate].sum()
    cutting = cutting_pays(count, len(rows.f), FEW)
    if not cutting or count <= summary.n // _SHARE:
        rows = taken_in_slots(rows, summary.ruler, summary.ruler.slot_of_cell[chosen])
    if cutting:
        return _refined(known, rows, total, summary.ruler, chosen, cells)
    return _sorted(known, rows, total, *_edges(summary.ruler, chosen), cells)


def _edges(on: Ruler, cells: Ints) -> tuple[Floats, Floats]:
    """Lowest score of each cell, and the lowest above it."""
    return on.edges[cells], np.where(cells == on.cells - 1, np.inf, on.edges[cells + 1])


def _numbers(on: Ruler, chosen: Ints) -> tuple[Ints, int]:
    """The place of each chosen cell among them, -1 for all others, and into how many parts each is cut."""
    numbers = np.full(on.cells, -1, dtype=np.int64)
    numbers[chosen] = np.arange(len(chosen))
    return numbers, 1 << max(_PARTS, _PLACES // len(chosen)).bit_length() - 1


def _refined(known: Extremes, rows: Arrays, total: float, on: Ruler, chosen: Ints, cells: Spans) -> Extremes:
    """Extremes from cells cut finer; only parts that may hold one and have more than one score are sorted."""
    numbers, parts = _numbers(on, chosen)
    table = refine_cells(rows.f, rows.y, rows.w, on, numbers, parts, soft=rows.soft)
    filled = np.flatnonzero(table[:, 0] > 0)
    cell, part = filled // parts, filled % parts
    weight, e, positive, least, most = table[filled].T
    inside = cells.cut(cell, weight, e, positive, total)
    known = known.over(inside.end, most, inside.after)
    candidate = inside.may_hold(known) & (least < most)
    if not candidate.any():
        return known
    cell, part = chosen[cell[candidate]], part[candidate]
    low, high = _edges(on, cell)
    k, u = on.k[cell], on.unit[cell]
    low = np.maximum(low, (k + part / parts) / u)
    high = np.where(part == parts - 1, high, np.minimum(high, (k + (part + 1) / parts) / u))
    rows = taken_in_slots(rows, on, on.slot_of_cell[cell])
    near = rows.f < high[np.searchsorted(low, rows.f, side="right") - 1]
    rows = replace(rows, f=rows.f[near], y=rows.y[near], w=None if rows.w is None else rows.w[near])
    return _sorted(known, rows, total, low, high, inside.pick(candidate))


def _sorted(known: Extremes, rows: Arrays, total: float, low: Floats, high: Floats, spans: Spans) -> Extremes:
    """Extremes of those found and of C at the scores of the rows that lie in ranges [low, high)."""
    runs = collapse(rows.f, rows.y, rows.w, soft=rows.soft)
    start, stop = np.searchsorted(runs.f, low), np.searchsorted(runs.f, high)
    return spans.extremes(known, runs, total, start, stop)
