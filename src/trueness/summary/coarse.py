"""Fewer, wider cells: a ruler with some of its edges taken away, and sums moved onto it.

A wider cell has a dyadic frame of its own: positions r = f·u − k with u a power of two no larger than one over its width
and k/u the beginning of the first slot in it. Sums of powers of r move from frame to frame by the binomial theorem. Counts
stay what they are; moved integer sums are rounded once, to 2^-31 of the cell's frame, and moved float sums as floats are.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._frozen import column
from trueness._types import Floats, Ints
from trueness._values import show
from trueness.errors import InputError, SummaryError
from trueness.summary.moments import FLOAT_SUMS, INTEGER_SUMS, NUMERATOR_BITS
from trueness.summary.ruler import FINE, Located, Ruler, ruler, uniform_edges


@dataclass(frozen=True)
class CoarseRuler(Ruler):
    """Some of the edges of the ruler with these `bins`: a cell begins where each of these cells of that ruler does."""

    starts: tuple[int, ...] = (0,)

    def __reduce__(self) -> tuple[Any, ...]:
        return CoarseRuler, (self.bins, self.starts)

    @cached_property
    def fine(self) -> Ruler:
        """The ruler whose edges these are some of."""
        return ruler(self.bins)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.starts)

    @column
    def edges(self) -> Floats:
        """All edges, 0 and 1 included."""
        return self.fine.edges[[*self.starts, self.fine.cells]]

    @cached_property
    def _first_and_past(self) -> tuple[Floats, Floats]:
        """Where the first slot in each cell begins, and where the last one ends."""
        fine, first = self.fine, np.array(self.starts)
        last = np.append(first[1:], fine.cells) - 1
        return fine.k[first] / fine.unit[first], (fine.k[last] + 1) / fine.unit[last]

    @column
    def unit(self) -> Floats:
        """u of each cell: the largest power of two that is no more than one over the width of its slots."""
        first, past = self._first_and_past
        mantissa, exponent = np.frexp(past - first)  # in [½, 1)·2^exponent; a power of two has ½
        return np.asarray(np.ldexp(1.0, np.where(mantissa == 0.5, 1, 0) - exponent))

    @column
    def k(self) -> Floats:
        """k of each cell, not always a whole number: its first slot begins at k/u."""
        return self._first_and_past[0] * self.unit

    @column
    def of_fine(self) -> Ints:
        """The cell that holds each cell of the fine ruler."""
        return np.searchsorted(np.array(self.starts), np.arange(self.fine.cells), side="right") - 1

    def locate(self, scores: Floats) -> Located:
        """Cell of each score in [0, 1], and its position r = f·u − k."""
        cell = self.of_fine[self.fine.locate(scores).cell]
        return Located(cell, scores * self.unit[cell] - self.k[cell])

    def has(self, bins: int) -> bool:
        """Whether `bins` equal-width bins are unions of cells: whether all their edges are left."""
        return bool(np.isin(uniform_edges(bins), self.edges).all())


def coarser_ruler(on: Ruler, occupied: Mapping[Any, tuple[Ints, Ints]], min_rows: Any) -> Ruler:
    """The ruler with as few edges taken away as leave no key a cell with fewer rows than that, given cells and rows by key."""
    if isinstance(min_rows, bool) or not isinstance(min_rows, int | np.integer) or min_rows < 1:
        raise InputError(f"min_rows: {show(min_rows)} is not a whole number of at least 1. Pass for example min_rows=10.")
    for key, (_, rows) in occupied.items():
        if 0 < (n := int(rows.sum())) < min_rows:
            whose = "the summary" if key is None and len(occupied) == 1 else f"key {key!r}"
            raise SummaryError(
                f"min_rows: {whose} holds {n} rows in all, fewer than {show(min_rows)}. "
                "Leave it out, or merge it with others first."
            )
    parts = [(cells, np.full(len(cells), number), rows) for number, (cells, rows) in enumerate(occupied.values())]
    cells, keys, rows = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(cells, kind="stable")
    columns = (column[order].tolist() for column in (cells, keys, rows))
    runs = [run for run in merged_cells(zip(*columns, strict=True), _worth(on), int(min_rows)) if run[0] < run[1]]
    return merged_ruler(on, runs) if runs else on


def _worth(on: Ruler) -> Ints:
    """How much the edge at which each cell begins is needed: those of 15 bins most, then of bins asked for, 10, 100, 64."""
    low, worth = on.edges[:-1], np.zeros(on.cells, dtype=np.int64)
    for level, counts in enumerate([(64,), (100,), (10,), on.bins, (15,)], start=1):
        for bins in counts:
            worth[np.isin(low, uniform_edges(bins))] = level
    return worth


@dataclass(slots=True)
class _Stretch:
    """Neighbouring cells taken together, and the rows that each key has there."""

    first: int
    last: int
    rows: dict[int, int]
    worth: int  # of the most needed edge between the stretch before and this one

    def add(self, other: "_Stretch") -> None:
        self.last = other.last
        for key, count in other.rows.items():
            self.rows[key] = self.rows.get(key, 0) + count

    def lacks(self, min_rows: int) -> bool:
        """Whether some key has rows here, but fewer than that."""
        return min(self.rows.values()) < min_rows


def merged_cells(cells: Iterable[tuple[int, int, int]], worth: Ints, min_rows: int) -> list[tuple[int, int]]:
    """First and last of the cells taken together so that in none any key holds some rows, but fewer than `min_rows`.

    The cells come as (cell, key, rows) in the order of the cells; every key holds as many rows in all. Edges that are needed
    are kept as long as the cells between them hold enough.
    """
    stretches: list[_Stretch] = []
    for cell, key, count in cells:
        if stretches and stretches[-1].last == cell:
            stretches[-1].add(_Stretch(cell, cell, {key: count}, 0))
        else:
            between = int(worth[stretches[-1].last + 1 : cell + 1].max()) if stretches else 0
            stretches.append(_Stretch(cell, cell, {key: count}, between))
    for level in range(int(worth.max()) + 1):
        runs: list[list[_Stretch]] = []
        for stretch in stretches:
            if not runs or stretch.worth > level:
                runs.append([])
            runs[-1].append(stretch)
        stretches = [stretch for run in runs for stretch in _filled(run, min_rows)]
    return [(stretch.first, stretch.last) for stretch in stretches]


def _filled(run: list[_Stretch], min_rows: int) -> list[_Stretch]:
    """Stretches taken together from left to right until each holds enough; one alone, where all together do not."""
    closed: list[_Stretch] = []
    for stretch in run:
        if closed and closed[-1].lacks(min_rows):
            closed[-1].add(stretch)
        else:
            closed.append(stretch)
    while len(closed) > 1 and closed[-1].lacks(min_rows):  # what is left at the end is too little to stand alone
        rest = closed.pop()
        closed[-1].add(rest)
    return closed


def merged_ruler(on: Ruler, runs: Iterable[tuple[int, int]]) -> CoarseRuler:
    """The ruler without the edges inside these runs of cells, each from its first to its last."""
    kept = np.ones(on.cells, dtype=bool)
    for first, last in runs:
        kept[first + 1 : last + 1] = False
    starts = np.array(on.starts) if isinstance(on, CoarseRuler) else np.arange(on.cells)
    return CoarseRuler(on.bins, tuple(starts[kept].tolist()))


def moved(cells: Ints, rows: Ints, sums: NDArray[Any], on: Ruler, to: CoarseRuler) -> tuple[Ints, Ints, NDArray[Any]]:
    """Cells, rows and sums of one summary on a ruler that has some of its edges."""
    past = np.searchsorted(to.edges, on.edges[cells], side="right")
    target, first = np.unique(past - 1, return_index=True)
    move = _moved_integers if sums.dtype == np.int64 else _moved_floats
    return target, np.add.reduceat(rows, first), move(sums, first, _Frames(on, cells, to, past - 1))


class _Frames:
    """The frames of cells, old and new, in units of 2^-20, of which every slot is a whole number."""

    def __init__(self, on: Ruler, cells: Ints, to: CoarseRuler, target: Ints) -> None:
        self.scale = (FINE / on.unit[cells]).astype(np.int64)  # of the old frame
        self.shift = ((on.k[cells] / on.unit[cells] - to.k[target] / to.unit[target]) * FINE).astype(np.int64)
        self.length = (FINE / to.unit[target]).astype(np.int64)  # of the new frame: r' = (scale·r + shift)/length


def _moved_floats(sums: NDArray[Any], first: Ints, frames: _Frames) -> NDArray[Any]:
    a, d = frames.scale / frames.length, frames.shift / frames.length
    new = dict(zip(FLOAT_SUMS, sums.copy(), strict=True))
    for zeroth, once, twice in (("w", "wr", "wr2"), ("we", "wer", "wer2")):
        s0, s1, s2 = new[zeroth], new[once], new[twice]
        new[once], new[twice] = a * s1 + d * s0, a**2 * s2 + 2 * a * d * s1 + d**2 * s0
    return np.add.reduceat(np.array(list(new.values())), first, axis=1)


def _moved_integers(sums: NDArray[Any], first: Ints, frames: _Frames) -> NDArray[Any]:
    """In Python's whole numbers, which do not overflow: exact but for one rounding of each sum."""
    a, d = frames.scale.astype(object), frames.shift.astype(object)
    bits = np.log2(frames.length[first]).astype(np.int64).astype(object)
    new = np.empty((len(sums), len(first)), dtype=np.int64)
    for label in (0, 1):
        start = len(INTEGER_SUMS) * label
        n, *parts = (part.astype(object) for part in sums[start : start + len(INTEGER_SUMS)])
        s0 = n * 2**NUMERATOR_BITS
        s1, s2, s3 = (w * 2**NUMERATOR_BITS + v for w, v in zip(parts[::2], parts[1::2], strict=True))
        powers = (
            a * s1 + d * s0,
            a**2 * s2 + 2 * a * d * s1 + d**2 * s0,
            a**3 * s3 + 3 * a**2 * d * s2 + 3 * a * d**2 * s1 + d**3 * s0,
        )
        new[start] = np.add.reduceat(sums[start], first)
        for j, power in enumerate(powers, start=1):
            total = np.add.reduceat(power, first)
            rounded = (2 * total + 2 ** (j * bits)) // 2 ** (j * bits + 1)
            new[start + 2 * j - 1] = (rounded >> NUMERATOR_BITS).astype(np.int64)
            new[start + 2 * j] = (rounded & (2**NUMERATOR_BITS - 1)).astype(np.int64)
    return new
