"""Second passes over rows that are already checked: moments on a uniform grid, and the rows of chosen cells."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._types import Floats, Ints
from trueness.engines.arrays.workers import (
    FLOAT_PARTS,
    MOST_THREADS,
    PAYS_ONCE_LOADED,
    accelerator,
    in_parts,
    in_threads,
    kernel_labels,
)
from trueness.inputs.rows import Arrays, Rows
from trueness.summary.ruler import SLOTS, Ruler

ORDERS = 6  # moments 0 … 5 of each cell
_COLUMNS = 8  # of a table: two vectors
_PIECE = 1 << 15
_CELLS = 1 << 17  # of all tables together, but for two

Chunk = Callable[[int, int], tuple[Floats, tuple[Floats, ...]]]


def grid_moments(n: int, chunk: Chunk, cells: int) -> list[Floats]:
    """Moments of masses at positions in [0, 1] on `cells` equal cells.

    `chunk(a, b)` gives the positions of rows a…b and one or more masses for each; the result has for each mass a table
    [p, cell] = Σ mass·d^p, d in [−½, ½] the position within the cell.
    """
    compiled = accelerator(n)
    spread = _spread if compiled is None else compiled.spread()
    # Plain bincount makes a table for every piece: pieces no smaller than the table keep that cheap.
    piece = max(_PIECE, cells) if compiled is None else _PIECE

    def work(first: int, last: int) -> list[Floats]:
        tables: list[Floats] = []
        for a in range(first, last, piece):
            x, masses = chunk(a, min(a + piece, last))
            tables = tables or [np.zeros((cells, _COLUMNS)) for _ in masses]
            for mass, table in zip(masses, tables, strict=True):
                spread(np.ascontiguousarray(x), np.ascontiguousarray(mass), table)
        return tables

    results = [tables for tables in in_parts(0, n, 1 if compiled is None else _tables(n, cells), work) if tables]
    return [sum(tables[1:], start=tables[0])[:, :ORDERS].T for tables in zip(*results, strict=True)]


def _tables(n: int, cells: int) -> int:
    """How many tables the rows are parted among: a rule of their number alone, so that all machines give the same bits."""
    return 1 if n < PAYS_ONCE_LOADED else max(FLOAT_PARTS, min(MOST_THREADS, n >> 20, _CELLS // cells))


class OddRowMet(Exception):  # noqa: N818 - a signal, not an error
    """A row was met that must be judged before it is used."""


def residual_moments(rows: Rows, cells: int) -> Floats | None:
    """Moments [p, cell] of y − f at the scores; None where some row must be judged first, or has a weight."""
    compiled = accelerator(len(rows))

    def chunk(a: int, b: int) -> tuple[Floats, tuple[Floats, ...]]:
        f, y = np.ascontiguousarray(rows.f.chunk(a, b), dtype=np.float64), rows.y.chunk(a, b)
        e = np.empty(len(f))
        if compiled is not None:
            y = kernel_labels(y)
            odd = compiled.residuals(y.dtype)(f, y, e)
        else:
            np.subtract(y, f, out=e)
            odd = not (f.min() >= 0 and f.max() <= 1 and y.min() >= 0 and y.max() <= 1)  # NaN fails
        if odd:
            raise OddRowMet
        return f, (e,)

    if rows.w is not None or not len(rows):
        return None
    try:
        (moments,) = grid_moments(len(rows), chunk, cells)
    except OddRowMet:
        return None
    return moments


def _spread(x: Floats, mass: Floats, table: Floats) -> None:
    cells = len(table)
    t = x * cells
    k = np.clip(t.astype(np.int64), 0, cells - 1)
    d = t - k - 0.5
    for p in range(ORDERS):
        table[:, p] += np.bincount(k, mass, minlength=cells)
        mass = mass * d


def rows_in_slots(f: Floats, on: Ruler, slots: Ints) -> Ints:
    """Positions, ascending, of the rows whose dyadic slot is among these."""
    positions = list(_in_slots(f, on, slots, lambda a, b, taken: a + taken))
    return np.concatenate([np.zeros(0, dtype=np.int64), *positions])


def taken_in_slots(rows: Arrays, on: Ruler, slots: Ints) -> Arrays:
    """The rows whose dyadic slot is among these, in their order."""

    def take(a: int, b: int, taken: Ints) -> tuple[Any, ...]:
        return tuple(None if column is None else column[a:b][taken] for column in (rows.f, rows.y, rows.w))

    f, y, w = zip(*_in_slots(rows.f, on, slots, take), strict=True)
    return replace(rows, f=np.concatenate(f), y=np.concatenate(y), w=None if rows.w is None else np.concatenate(w), kept=None)


def _in_slots(f: Floats, on: Ruler, slots: Ints, take: Callable[[int, int, Ints], Any]) -> Iterator[Any]:
    """take(a, b, which of them) for each piece a … b of the rows whose slot is among these, while it is in the cache."""
    compiled = accelerator(len(f))
    flags = np.zeros(SLOTS, dtype=np.uint8)
    flags[slots] = 1

    def work(first: int, last: int) -> list[Any]:
        ends = ((a, min(a + _PIECE, last)) for a in range(first, last, _PIECE))
        return [take(a, b, _marked(f[a:b], on, flags, compiled)) for a, b in ends]

    for part in in_threads(0, len(f), MOST_THREADS, work):
        yield from part


def _marked(f: Floats, on: Ruler, flags: NDArray[np.uint8], compiled: ModuleType | None) -> Ints:
    """Positions of the rows of a piece whose slot is flagged."""
    if compiled is None:
        return np.flatnonzero(flags[on.slots(f)])
    taken = np.empty(len(f) + 1, dtype=np.int64)
    return taken[: compiled.mark()(np.ascontiguousarray(f), flags, taken)]


def lone_scores(f: Floats, on: Ruler) -> Floats:
    """For each cell the score that all rows of its dyadic slot have; NaN where they differ, and for empty cells."""
    compiled = accelerator(len(f))

    def work(first: int, last: int) -> tuple[Floats, NDArray[np.uint8]]:
        score, mixed = np.full(SLOTS, np.nan), np.zeros(SLOTS, dtype=np.uint8)
        for a in range(first, last, _PIECE):
            part = np.ascontiguousarray(f[a : min(a + _PIECE, last)])
            if compiled is None:
                slot = on.slots(part)
                other = np.flatnonzero(score[slot] != part)
                new = other[np.isnan(score[slot[other]])]
                score[slot[new]] = part[new]
                mixed[slot[other[score[slot[other]] != part[other]]]] = 1
            else:
                compiled.lone()(part, score, mixed)
        return score, mixed

    results = in_threads(0, len(f), MOST_THREADS, work)
    least, most = (reduce(choose, (score for score, _ in results)) for choose in (np.fmin, np.fmax))
    same = (least == most) & ~np.any([mixed for _, mixed in results], axis=0)
    lone = np.full(on.cells, np.nan)
    lone[on.locate(least[same]).cell] = least[same]
    return lone


class Runs(NamedTuple):
    """Rows with equal scores put together, in score order."""

    f: Floats
    weight: Floats  # Σw
    e: Floats  # Σw(y − f)
    positive: Floats  # Σw·max(y − f, 0)


def collapse(f: Floats, y: NDArray[Any], w: Floats | None, *, soft: bool) -> Runs:
    """Runs of equal scores. The sums of a run of hard labels are formed from counts, with one rounding."""
    if w is None and not soft:
        keys = _sorted_keys(f, y)
        f = (keys >> 1).view(np.float64)
        ends = np.flatnonzero(np.append(f[1:] != f[:-1], True))
        weight = np.diff(ends + 1, prepend=0).astype(np.float64)
        ones = np.diff(np.cumsum(keys & 1)[ends], prepend=0)
        f = f[ends]
        return Runs(f, weight, ones - weight * f, ones * (1 - f))
    order = np.argsort(f, kind="stable")
    f = f[order]
    starts = np.flatnonzero(np.append(True, f[1:] != f[:-1]))
    e = y[order] - f
    if w is None:
        weight = np.diff(starts, append=len(f)).astype(np.float64)
    else:
        e *= w[order]
        weight = np.add.reduceat(w[order], starts)
    return Runs(f[starts], weight, np.add.reduceat(e, starts), np.add.reduceat(np.maximum(e, 0.0), starts))


def _sorted_keys(f: Floats, y: NDArray[Any]) -> Ints:
    """The bits of each score and, last, its label, in order of score.

    Sorting whole numbers is several times faster than an argsort of floats; the order of scores is the same.
    """
    keys = (f + 0.0).view(np.int64)  # adding 0.0 turns −0.0, whose bits sort elsewhere, into 0.0
    keys <<= 1
    keys |= y != 0
    keys.sort()
    return keys


class Ordered(NamedTuple):
    """Outcomes in order of score."""

    y: NDArray[Any]
    w: Floats | None
    starts: Ints  # of the runs of equal scores


def in_order(f: Floats, y: NDArray[Any], w: Floats | None, *, soft: bool) -> Ordered:
    """Outcomes in order of score."""
    if w is None and not soft:
        keys = _sorted_keys(f, y)
        y = (keys & 1).astype(np.int8)
        keys >>= 1
        return Ordered(y, None, np.flatnonzero(np.append(True, keys[1:] != keys[:-1])))
    order = np.argsort(f, kind="stable")
    f = f[order]
    return Ordered(y[order], None if w is None else w[order], np.flatnonzero(np.append(True, f[1:] != f[:-1])))


def cutting_pays(candidates: int, n: int, few: int) -> bool:
    """Whether cells that hold so many of n rows are cut finer before their rows are sorted; without kernels that costs more."""
    return candidates > (few if accelerator(n) is not None else max(few, n // 4))


def refine_cells(f: Floats, y: NDArray[Any], w: Floats | None, on: Ruler, numbers: Ints, parts: int, *, soft: bool) -> Floats:
    """Sums over equal parts of chosen cells: columns Σw, Σw(y − f), Σw·max(y − f, 0), smallest and largest score.

    `numbers` gives each cell's number among the chosen, −1 for the others; part p of cell number c is row c·parts + p.
    """
    size = (int(numbers.max()) + 1) * parts
    compiled = accelerator(len(f))
    flags = np.zeros(SLOTS, dtype=np.uint8)
    flags[on.slot_of_cell[numbers >= 0]] = 1
    if compiled is not None and w is None and not soft:
        return _refined_counts(f, y, on, numbers, parts, flags, compiled)

    def work(first: int, last: int) -> Floats:
        table = np.zeros((size, 8))
        table[:, 3], table[:, 4] = np.inf, -np.inf
        for a in range(first, last, _PIECE):
            here = slice(a, min(a + _PIECE, last))
            taken = _marked(f[here], on, flags, compiled)
            scores, labels, weight = f[here][taken], y[here][taken], None if w is None else w[here][taken]
            if compiled is not None:
                weight = np.zeros(0) if weight is None else weight
                compiled.refine()(scores, labels.astype(np.float64), weight, on.extra_before, on.extra, numbers, parts, table)
            elif len(taken):
                _refine(collapse(scores, labels, weight, soft=soft), on, numbers, parts, table)
        table[:, :3] += table[:, 5:]
        return table

    tables = in_parts(0, len(f), FLOAT_PARTS, work)
    merged: Floats = tables[0][:, :5]
    for table in tables[1:]:
        merged[:, :3] += table[:, :3]
        merged[:, 3] = np.minimum(merged[:, 3], table[:, 3])
        merged[:, 4] = np.maximum(merged[:, 4], table[:, 4])
    return merged


def _refined_counts(
    f: Floats, y: NDArray[Any], on: Ruler, numbers: Ints, parts: int, flags: NDArray[np.uint8], compiled: ModuleType
) -> Floats:
    """The same for hard labels without weights, from counts and whole numbers."""
    cells = np.flatnonzero(numbers >= 0)

    def work(first: int, last: int) -> Ints:
        table = np.zeros((len(cells) * parts, 8), dtype=np.int64)
        table[:, 4] = np.iinfo(np.int64).max
        for a in range(first, last, _PIECE):
            here = slice(a, min(a + _PIECE, last))
            labels = kernel_labels(y[here])
            kernel = compiled.refine_hard(labels.dtype)
            kernel(np.ascontiguousarray(f[here]), labels, flags, on.extra_before, on.extra, numbers, parts, table)
        return table

    tables = in_threads(0, len(f), MOST_THREADS, work)
    sums = sum(table[:, :4] for table in tables)
    least, most = (way.reduce([table[:, k] for table in tables]) for way, k in ((np.minimum, 4), (np.maximum, 5)))
    k, u = (np.repeat(column[cells], parts) for column in (on.k, on.unit))
    zeros, ones = ((sums[:, j] * k + sums[:, j + 1] / 2.0**31) / u for j in (0, 2))  # Σf
    positive = sums[:, 2] - ones
    return np.stack(
        [sums[:, 0] + sums[:, 2], positive - zeros, positive, least.view(np.float64), most.view(np.float64)], axis=1
    )


def _refine(runs: Runs, on: Ruler, numbers: Ints, parts: int, table: Floats) -> None:
    located = on.locate(runs.f)
    number = numbers[located.cell]
    chosen = np.flatnonzero(number >= 0)
    if len(chosen) == 0:
        return
    place = number[chosen] * parts + np.minimum((located.r[chosen] * parts).astype(np.int64), parts - 1)
    # Scores ascend, and so do the parts: each part is one stretch.
    first = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
    last = np.append(first[1:], len(place)) - 1
    filled = place[first]
    for column, values in enumerate((runs.weight, runs.e, runs.positive)):
        table[filled, column] += np.add.reduceat(values[chosen], first)
    table[filled, 3] = np.minimum(table[filled, 3], runs.f[chosen[first]])
    table[filled, 4] = np.maximum(table[filled, 4], runs.f[chosen[last]])
