"""Extremes of the cumulative differences C, exact without sorting every row.

C at the edges of the ruler's cells comes from the summary. Inside a cell C stays within [start − neg, start + pos], so
only cells whose bound passes the best edge value can hold an extreme; just their rows are sorted. Where those are too many
(ties, rare events) their cells are cut finer, and parts that hold a single score need no sorting.
"""

import numpy as np
from numpy.typing import NDArray

from trueness._types import Floats, Ints
from trueness.data.sample import RowData, collapse, lone_scores, refine_cells, rows_in_slots
from trueness.engines.exact import parts_of
from trueness.summary.extremes import Extremes
from trueness.summary.ruler import Ruler
from trueness.summary.spans import Spans, cell_spans
from trueness.summary.summary import Summary

_CROWDED = 1 << 18  # candidate rows that are always few enough to sort


def from_rows(data: RowData) -> Extremes:
    """Extremes of C over all rows."""
    if data.small:
        whole = Spans(*np.zeros((5, 1)))
        return _sorted(Extremes(), data, slice(None), np.zeros(1), np.full(1, np.inf), whole)
    summary = data.summary()
    cells = cell_spans(summary)
    wanted = cells.may_hold(Extremes().over(cells.end, cells.end, cells.after))
    found = Extremes()
    if _crowded(summary, wanted):
        # Ties crowd cells: where all rows of a cell have one score, C has no value inside it.
        score = lone_scores(data.arrays.f, summary.ruler)[summary.cells]
        alone = ~np.isnan(score)
        cells = cell_spans(summary, score)
        found = found.over(cells.end[alone], score[alone], cells.after[alone])
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


def _numbers(on: Ruler, chosen: Ints) -> tuple[Ints, int]:
    """The place of each chosen cell among them, -1 for all others, and into how many parts each is cut."""
    numbers = np.full(on.cells, -1, dtype=np.int64)
    numbers[chosen] = np.arange(len(chosen))
    return numbers, parts_of(len(chosen))


def _refined(found: Extremes, data: RowData, on: Ruler, chosen: Ints, cells: Spans) -> Extremes:
    """Extremes from cells cut finer; only parts that may hold one and have more than one score are sorted."""
    rows = data.arrays
    numbers, parts = _numbers(on, chosen)
    table = refine_cells(rows.f, rows.y, rows.w, on, numbers, parts, soft=rows.soft)
    held = np.flatnonzero(table[:, 0] > 0)
    cell, part = held // parts, held % parts
    weight, e, positive, least, most = table[held].T
    inside = cells.cut(cell, weight, e, positive, data.total_weight)
    found = found.over(inside.end, most, inside.after)
    wanted = inside.may_hold(found) & (least < most)
    if not wanted.any():
        return found
    cell, part = chosen[cell[wanted]], part[wanted]
    low, high = _edges(on, cell)
    k, u = on.k[cell], on.unit[cell]
    low = np.maximum(low, (k + part / parts) / u)
    high = np.where(part == parts - 1, high, np.minimum(high, (k + (part + 1) / parts) / u))
    return _sorted(found, data, rows_in_slots(rows.f, on, on.slot_of_cell[cell]), low, high, inside.pick(wanted))


def _sorted(found: Extremes, data: RowData, taken: Ints | slice, low: Floats, high: Floats, spans: Spans) -> Extremes:
    """Extremes of those found and of C at the scores of the rows taken that lie in ranges [low, high)."""
    rows = data.arrays
    runs = collapse(rows.f[taken], rows.y[taken], None if rows.w is None else rows.w[taken], soft=rows.soft)
    start, stop = np.searchsorted(runs.f, low), np.searchsorted(runs.f, high)
    return spans.extremes(found, runs, data.total_weight, start, stop)
