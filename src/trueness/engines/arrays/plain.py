"""The reduction in plain NumPy, one chunk of rows at a time: what every faster path must equal."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._types import Floats, Ints
from trueness.summary.moments import FLOAT_SUMS
from trueness.summary.ruler import Ruler
from trueness.summary.summary import Summary, summary_of_cells

CHUNK = 1 << 17
_EXACT = 1 << 22  # rows whose 31-bit integers add exactly in float64
_RUN = 1 << 12  # rows of one cell added in sequence before rounding is compensated

Array = NDArray[Any]


class SoftLabelMet(Exception):  # noqa: N818 - a signal, not an error
    """An outcome strictly between 0 and 1 was met while summing in integers: start again in float64."""


class HardSums:
    """Integer sums for hard labels without weights; bincount in float64 is exact up to 2^22 rows, then it is flushed."""

    def __init__(self, on: Ruler) -> None:
        self.on = on
        self.table = np.zeros((4, 2 * on.cells), dtype=np.int64)  # [sum, row], the rows of label 1 after those of label 0
        self._block = np.zeros((4, 2 * on.cells))
        self._pending = 0
        self.zero_weight = 0

    def add(self, f: Floats, y: Array, w: None) -> None:
        """Add rows whose scores lie in [0, 1]."""
        label = y != 0
        if np.any(label & (y != 1)):
            raise SoftLabelMet
        for start in range(0, len(f), _EXACT):
            self._add_block(f[start : start + _EXACT], label[start : start + _EXACT])

    def _add_block(self, f: Floats, label: NDArray[np.bool_]) -> None:
        located = self.on.rows(f)
        row, r = located.cell, located.r
        row += self.on.cells * label
        if len(f) < self.on.cells:  # few rows: sums of the cells they meet, not of all
            met, row = np.unique(row, return_inverse=True)
            for j, term in enumerate(powers(r)):
                self.table[j, met] += np.bincount(row, term).astype(np.int64)
            return
        if self._pending + len(f) > _EXACT:
            self._flush()
        self._pending += len(f)
        for j, term in enumerate(powers(r)):
            self._block[j] += np.bincount(row, term, minlength=2 * self.on.cells)

    def _flush(self) -> None:
        if self._pending:
            self.table += self._block.astype(np.int64)
            self._block[:] = 0
            self._pending = 0

    def summary(self, **fields: Any) -> Summary:
        """The sums so far."""
        self._flush()
        by_label = self.table.reshape(4, 2, -1)
        cells = np.flatnonzero((by_label[0, 0] + by_label[0, 1])[self.on.row_of_cell])
        by_sum = by_label[:, :, self.on.row_of_cell[cells]].transpose(1, 0, 2).reshape(8, -1)
        return summary_of_cells(cells, by_sum, self.on, **fields)


def powers(r: Floats) -> Iterator[Floats | None]:
    """What a row adds to n (None: one) and to the sums of floor(r^j·2^31 + ½), each power rounded once."""
    yield None
    power = r
    for j in (1, 2, 3):
        if j > 1:
            power = power * r
        rounded = power * 2.0**31
        rounded += 0.5
        yield np.floor(rounded, out=rounded)


class FloatSums:
    """Float64 sums for weights or soft labels, compensated so that the order of the rows shows only beyond 1e-12."""

    def __init__(self, on: Ruler, exponent: int = 0) -> None:
        self.on = on
        self.exponent = exponent
        self.soft = False
        self.zero_weight = 0
        self._cells: Ints = np.zeros(0, dtype=np.int64)  # those with rows so far, to which the columns of the rest belong
        self._rows: Ints = np.zeros(0, dtype=np.int64)
        self._total = np.zeros((len(FLOAT_SUMS), 0))
        self._lost = np.zeros((len(FLOAT_SUMS), 0))

    def add(self, f: Floats, y: Array, w: Floats | None) -> None:
        """Add rows whose scores and outcomes lie in [0, 1] and whose weights are finite and not negative."""
        y = y.astype(np.float64, copy=False)
        if w is not None:
            positive = w > 0
            if not positive.all():
                self.zero_weight += int(len(w) - positive.sum())
                f, y, w = f[positive], y[positive], w[positive]
            w = np.ldexp(w, -self.exponent) if self.exponent else w
        if not len(f):
            return
        self.soft = self.soft or bool(np.any((y != 0) & (y != 1)))
        located = self.on.locate(f)
        count = np.bincount(located.cell, minlength=self.on.cells)
        occupied = np.flatnonzero(count)
        row = np.searchsorted(occupied, located.cell) if len(occupied) < 64 else _renumber(occupied, located.cell)
        places = self._places(occupied)
        self._rows[places] += count[occupied]
        # A cell that takes many rows of this chunk adds them in several short runs.
        step = len(f) if count.max() <= _RUN else _RUN
        for column, term in enumerate(float_terms(f, y, w, located.r)):
            total, lost = self._total[column], self._lost[column]
            for start in range(0, len(f), step):
                run = slice(start, start + step)
                _settle(total, lost, places, np.bincount(row[run], term[run], minlength=len(occupied)))

    def _places(self, occupied: Ints) -> Ints | slice:
        """Where the sums of these cells are kept; the first rows make room for their own cells, the next for all."""
        if len(self._cells) == 0:
            self._make_room(occupied)
            return slice(None)
        if len(self._cells) < self.on.cells:
            self._make_room(np.arange(self.on.cells))
        return occupied

    def _make_room(self, cells: Ints) -> None:
        """Keep sums for these cells, among which all others are."""
        before, held = self._cells, (self._rows, self._total, self._lost)
        self._cells = cells
        self._rows, self._total, self._lost = (np.zeros((*sums.shape[:-1], len(cells)), sums.dtype) for sums in held)
        for new, old in zip((self._rows, self._total, self._lost), held, strict=True):
            new[..., before] = old

    def summary(self, **fields: Any) -> Summary:
        """The sums so far."""
        some: Ints | slice = np.flatnonzero(self._rows) if len(self._cells) == self.on.cells else slice(None)
        return Summary(
            ruler=self.on,
            cells=self._cells[some],
            sums=(self._total + self._lost)[:, some],
            rows=self._rows[some],
            soft=self.soft,
            exponent=self.exponent,
            **fields,
        )


def _settle(total: Floats, lost: Floats, places: Ints | slice, sums: Array) -> None:
    """Add sums in their places, keeping what rounding loses (the two-sum of Knuth)."""
    before = total[places]
    after = before + sums
    back = after - before
    lost[places] += (before - (after - back)) + (sums - back)
    total[places] = after


def _renumber(occupied: Ints, cell: Ints) -> Ints:
    number = np.empty(int(occupied[-1]) + 1, dtype=np.int64)
    number[occupied] = np.arange(len(occupied))
    return number[cell]


def float_terms(f: Floats, y: Floats, w: Floats | None, r: Floats) -> Iterator[Floats]:
    """One row's share of each of FLOAT_SUMS, with the roundings of the compiled kernel."""
    weight = np.ones(len(f)) if w is None else w
    e = y - f
    we = weight * e
    ww = weight * weight
    rr = r * r
    yield weight
    yield weight * r
    yield weight * rr
    yield we
    yield we * r
    yield we * rr
    yield weight * (y * y)
    yield np.maximum(we, 0.0)
    yield ww
    yield ww * (f * (1.0 - f))
    yield ww * (e * e)
