"""Kernels compiled by numba (extra ``fast``): the loops of `plain`, with the same results. Loaded only when they pay.

No fastmath and no fused multiply-add: every rounding is the one NumPy makes, so integer sums have the same bits.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numba
import numpy as np

from trueness.summary.ruler import COARSE, END, FINE, SLOTS, ZONE_OFFSET

BLOCK = 1024  # rows a cell takes in before its float sums move on to the compensated totals

_BATCH = 256
_COARSE, _FINE = float(COARSE), float(FINE)
_LOW, _MID, _HIGH = (float(offset) for offset in ZONE_OFFSET)
_TWO31 = 2.0**31


def _compile(function: Callable[..., Any], *signature: Any) -> Callable[..., Any]:
    try:
        return numba.njit([signature], nogil=True, cache=True)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # nowhere to keep the compiled code (read-only installation and home)
        return numba.njit([signature], nogil=True)(function)  # type: ignore[no-any-return]


def _reading(dtype: np.dtype[Any]) -> Any:
    # Declared read-only: a writable array converts to it, so one compilation serves both.
    return numba.types.Array(numba.from_dtype(dtype), 1, "C", readonly=True)


def _slot_of(x):  # type: ignore[no-untyped-def]
    """Dyadic slot of a score, as a float, and the position within it; without branches, so that a batch vectorises."""
    low = x < END
    high = x >= 1.0 - END
    unit = _FINE if (low | high) else _COARSE
    offset = _LOW if low else (_HIGH if high else _MID)
    scaled = x * unit
    k = min(np.floor(scaled), unit - 1.0)
    return k + offset, scaled - k


def _row_from(x, slot, extra_before, extra):  # type: ignore[no-untyped-def]
    """Table row of a score in a slot that extra edges cut."""
    row = slot
    for j in range(extra_before[slot], extra_before[slot + 1]):
        if x >= extra[j]:
            row = np.int64(SLOTS + j)
    return row


def _place(x, extra_before, extra):  # type: ignore[no-untyped-def]
    """Cell of a score in [0, 1] and the position in its dyadic slot (`Ruler.locate`, one score)."""
    slot, r = slot_of(x)
    first = np.int64(extra_before[np.int64(slot)])
    cell = np.int64(slot) + first
    for j in range(first, extra_before[np.int64(slot) + 1]):
        cell += x >= extra[j]
    return cell, r


def _hard(f, y, cut, extra_before, extra, table):  # type: ignore[no-untyped-def]
    """Add rows to table[2·row + label] = (n, R1, R2, R3); returns how many rows were not plain and were left out.

    A batch is first computed, which vectorises, and then added. A slot's own row takes what lies below its extra edges,
    the row of an extra edge what lies from there on (`Ruler.row_of_cell`); few slots are cut. No branch depends on the
    label, which is unpredictable.
    """
    places = np.empty(_BATCH, np.int32)
    terms = np.empty((_BATCH, 4), np.int64)
    odd = 0
    for first in range(0, f.size, _BATCH):
        size = min(_BATCH, f.size - first)
        bad = 0
        for i in range(size):
            x = np.float64(f[first + i])
            label = y[first + i]
            slot, r = slot_of(x)
            one = label == 1
            usable = (x >= 0.0) & (x <= 1.0) & (one | (label == 0))
            bad += not usable
            places[i] = 2 * np.int32(slot if usable else 0.0) + np.int32(one)
            square = r * r
            terms[i, 0] = 1
            terms[i, 1] = np.int64(r * _TWO31 + 0.5)
            terms[i, 2] = np.int64(square * _TWO31 + 0.5)
            terms[i, 3] = np.int64((square * r) * _TWO31 + 0.5)
        odd += bad
        for i in range(size):
            place = np.int64(places[i])
            slot = place >> 1
            if cut[slot]:
                place = 2 * row_from(np.float64(f[first + i]), slot, extra_before, extra) + (place & 1)
            if bad:
                x = np.float64(f[first + i])
                label = y[first + i]
                if not ((x >= 0.0) & (x <= 1.0) & ((label == 1) | (label == 0))):
                    continue
            for j in range(4):
                table[place, j] += terms[i, j]
    return odd


def _settle(row, block, total, lost):  # type: ignore[no-untyped-def]
    """Move a row's block sums to its totals, keeping what rounding loses (Neumaier)."""
    for j in range(12):
        a = total[row, j]
        b = block[row, j]
        s = a + b
        if abs(a) >= abs(b):
            lost[row, j] += (a - s) + b
        else:
            lost[row, j] += (b - s) + a
        total[row, j] = s
        block[row, j] = 0.0


def _soft(f, y, w, cut, extra_before, extra, block, total, lost):  # type: ignore[no-untyped-def]
    """Add rows to the float sums, the last column counting rows; an empty w stands for weights of one.

    Returns how many rows were left out as not plain, had zero weight, had soft labels.
    """
    slots = np.empty(_BATCH, np.int32)
    terms = np.empty((_BATCH, 12))
    odd = 0
    zero = 0
    soft = 0
    for first in range(0, f.size, _BATCH):
        size = min(_BATCH, f.size - first)
        bad = 0
        for i in range(size):
            x = f[first + i]
            label = y[first + i]
            weight = w[first + i] if w.size else 1.0
            slot, r = slot_of(x)
            inside = (x >= 0.0) & (x <= 1.0) & (label >= 0.0) & (label <= 1.0)
            usable = inside & (weight > 0.0) & (weight < np.inf)
            bad += not usable
            soft += usable & (label > 0.0) & (label < 1.0)
            slots[i] = np.int32(slot if usable else 0.0)
            e = label - x
            we = weight * e
            ww = weight * weight
            square = r * r
            terms[i, 0] = weight
            terms[i, 1] = weight * r
            terms[i, 2] = weight * square
            terms[i, 3] = we
            terms[i, 4] = we * r
            terms[i, 5] = we * square
            terms[i, 6] = weight * (label * label)
            terms[i, 7] = max(we, 0.0)
            terms[i, 8] = ww
            terms[i, 9] = ww * (x * (1.0 - x))
            terms[i, 10] = ww * (e * e)
            terms[i, 11] = 1.0
        for i in range(size):
            row = np.int64(slots[i])
            if cut[row]:
                row = row_from(f[first + i], row, extra_before, extra)
            if bad:
                x = f[first + i]
                label = y[first + i]
                weight = w[first + i] if w.size else 1.0
                inside = (x >= 0.0) & (x <= 1.0) & (label >= 0.0) & (label <= 1.0)
                if not (inside & (weight >= 0.0) & (weight < np.inf)):
                    odd += 1
                    continue
                if weight == 0.0:
                    zero += 1
                    continue
            for j in range(12):
                block[row, j] += terms[i, j]
            if block[row, 11] == BLOCK:
                settle(row, block, total, lost)
    return odd, zero, soft


def _finish(block, total, lost):  # type: ignore[no-untyped-def]
    for row in range(block.shape[0]):
        if block[row, 11] > 0.0:
            settle(row, block, total, lost)


def _spread(x, mass, table):  # type: ignore[no-untyped-def]
    """Add each mass at position x in [0, 1] to the moments table[cell, p] = Σ mass·d^p, d the place in the cell less ½."""
    cells = table.shape[0]
    orders = table.shape[1]
    for i in range(x.size):
        t = x[i] * cells
        k = max(min(np.int64(t), cells - 1), 0)
        d = t - k - 0.5
        m = mass[i]
        for p in range(orders):
            table[k, p] += m
            m *= d


def _mark(f, flags, taken):  # type: ignore[no-untyped-def]
    """Write the positions of rows in wanted slots to `taken`, which has room for one more; returns how many."""
    slots = np.empty(_BATCH, np.int32)
    count = 0
    for first in range(0, f.size, _BATCH):
        size = min(_BATCH, f.size - first)
        for i in range(size):
            slot, _ = slot_of(f[first + i])
            slots[i] = np.int32(slot)
        for i in range(size):
            taken[count] = first + i
            count += flags[slots[i]]
    return count


def _lone(f, score, mixed):  # type: ignore[no-untyped-def]
    """Keep the first score met in each slot, and mark slots that hold another one."""
    slots = np.empty(_BATCH, np.int32)
    for first in range(0, f.size, _BATCH):
        size = min(_BATCH, f.size - first)
        for i in range(size):
            slot, _ = slot_of(f[first + i])
            slots[i] = np.int32(slot)
        for i in range(size):
            x = f[first + i]
            kept = score[slots[i]]
            if kept != x:
                if np.isnan(kept):
                    score[slots[i]] = x
                else:
                    mixed[slots[i]] = 1


def _refine(f, y, w, extra_before, extra, numbers, parts, table):  # type: ignore[no-untyped-def]
    """Add rows of the chosen cells to table[number·parts + part]; columns as `refine_cells`, then what rounding lost."""
    terms = np.zeros(3)
    for i in range(f.size):
        x = f[i]
        cell, r = place(x, extra_before, extra)
        number = numbers[cell]
        if number < 0:
            continue
        place_of_part = number * parts + min(np.int64(r * parts), parts - 1)
        terms[0] = w[i] if w.size else 1.0
        terms[1] = terms[0] * (y[i] - x)
        terms[2] = max(terms[1], 0.0)
        for j in range(3):
            a = table[place_of_part, j]
            b = terms[j]
            s = a + b
            back = s - a
            table[place_of_part, 5 + j] += (a - (s - back)) + (b - back)
            table[place_of_part, j] = s
        table[place_of_part, 3] = min(table[place_of_part, 3], x)
        table[place_of_part, 4] = max(table[place_of_part, 4], x)


_I8 = numba.types.Array(numba.int64, 1, "C")
_F8 = numba.types.Array(numba.float64, 1, "C")
_F82 = numba.types.Array(numba.float64, 2, "C")
_CUT = _reading(np.dtype(np.uint8))
_EXTRA = (_reading(np.dtype(np.int32)), _reading(np.dtype(np.float64)))

slot_of = numba.njit(nogil=True)(_slot_of)
row_from = numba.njit(nogil=True)(_row_from)
place = numba.njit(nogil=True)(_place)
settle = numba.njit(nogil=True)(_settle)


@lru_cache
def hard(f: np.dtype[Any], y: np.dtype[Any]) -> Callable[..., Any]:
    """The integer reduction for these dtypes (float64 or float32; uint8, int64 or float64)."""
    return _compile(_hard, _reading(f), _reading(y), _CUT, *_EXTRA, numba.types.Array(numba.int64, 2, "C"))


@lru_cache
def soft() -> Callable[..., Any]:
    """The float reduction."""
    column = _reading(np.dtype(np.float64))
    return _compile(_soft, column, column, column, _CUT, *_EXTRA, _F82, _F82, _F82)


@lru_cache
def finish() -> Callable[..., Any]:
    """Moves what is left in the block sums to the totals."""
    return _compile(_finish, _F82, _F82, _F82)


@lru_cache
def spread() -> Callable[..., Any]:
    """Moments of masses on a uniform grid."""
    column = _reading(np.dtype(np.float64))
    return _compile(_spread, column, column, _F82)


@lru_cache
def mark() -> Callable[..., Any]:
    """Positions of the rows in wanted slots."""
    return _compile(_mark, _reading(np.dtype(np.float64)), _reading(np.dtype(np.uint8)), _I8)


@lru_cache
def refine() -> Callable[..., Any]:
    """Sums over parts of chosen cells."""
    column = _reading(np.dtype(np.float64))
    numbers = _reading(np.dtype(np.int64))
    return _compile(_refine, column, column, column, *_EXTRA, numbers, numba.int64, _F82)


@lru_cache
def lone() -> Callable[..., Any]:
    """Scores that are alone in their cell."""
    return _compile(_lone, _reading(np.dtype(np.float64)), _F8, numba.types.Array(numba.uint8, 1, "C"))
