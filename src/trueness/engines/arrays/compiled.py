"""Kernels compiled by numba (extra ``fast``): the loops of `plain`, with the same results. Loaded only when they pay.

No fastmath and no fused multiply-add: every rounding is the one NumPy makes, so integer sums have the same bits. One file,
however long: numba keeps compiled code as long as the file that a kernel stands in is unchanged, and looks at no other.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from trueness.summary.ruler import COARSE, END, FINE, SLOTS, ZONE_OFFSET

COPIES = 8  # of the sums over bins
BLOCK = 1024  # rows a cell takes in before its float sums move on to the compensated totals

_BATCH = 256
_COARSE, _FINE = float(COARSE), float(FINE)
_LOW, _MID, _HIGH = (float(offset) for offset in ZONE_OFFSET)
_TWO31, _TWO45, _TWO52 = 2.0**31, 2.0**45, 2.0**52


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


def _edges_below(x, slot, extra_before, extra):  # type: ignore[no-untyped-def]
    """How many extra edges a score, which lies in this slot, is at or above."""
    count = np.int64(extra_before[slot])
    while count < extra_before[slot + 1] and x >= extra[count]:
        count += 1
    return count


def _row_from(x, slot, extra_before, extra):  # type: ignore[no-untyped-def]
    """Table row of a score in a slot that extra edges cut; nearly always it is one edge."""
    edge = np.uint32(extra_before[np.uint32(slot)])  # an index without a sign need not be looked at
    if extra_before[np.uint32(slot + 1)] == edge + 1:
        return SLOTS + np.int64(edge) if x >= extra[edge] else np.int64(slot)
    below = edges_below(x, slot, extra_before, extra)
    return slot if below == extra_before[slot] else SLOTS + below - 1


def _hard(f, y, cut, extra_before, extra, in_cells, table):  # type: ignore[no-untyped-def]
    """Add rows to table[2·row + label] = (n, R1, R2, R3); returns how many rows were not plain and were left out.

    A batch is first computed, which vectorises, and then added. A slot's own row takes what lies below its extra edges,
    the row of an extra edge what lies from there on (`Ruler.row_of_cell`), for few slots are cut; with `in_cells` rows are
    cells in order. No branch depends on the label, which is unpredictable.

    The powers stay floats, 2^52 + v for a whole number v, whose bits are v above those of 2^52: conversions to integers
    would cost more than all the rest.
    """
    places = np.empty(_BATCH, np.int32)
    terms = np.empty((_BATCH, 4), np.float64)
    at_cuts = np.empty(_BATCH + 1, np.int32)
    odd = 0
    for first in range(0, f.size, _BATCH):
        # Slices: an index that might be negative, as far as the compiler can tell, would be gathered row by row.
        scores = f[first : first + _BATCH]
        labels = y[first : first + _BATCH]
        bad = 0
        for i in range(scores.size):
            x = np.float64(scores[i])
            slot, r = slot_of(x)
            one = labels[i] == 1
            usable = (x >= 0.0) & (x <= 1.0) & (one | (labels[i] == 0))
            bad += not usable
            places[i] = 2 * np.int32(slot if usable else 0.0) + np.int32(one)
            square = r * r
            terms[i, 0] = _TWO52 + 1.0
            terms[i, 1] = np.floor(r * _TWO31 + 0.5) + _TWO52
            terms[i, 2] = np.floor(square * _TWO31 + 0.5) + _TWO52
            terms[i, 3] = np.floor((square * r) * _TWO31 + 0.5) + _TWO52
        if bad:
            odd += bad
            for i in range(scores.size):
                x = np.float64(scores[i])
                if not ((x >= 0.0) & (x <= 1.0) & ((labels[i] == 1) | (labels[i] == 0))):
                    terms[i] = _TWO52
        # Places are settled before the first is added to: an address known late holds up what follows.
        if in_cells:
            for i in range(scores.size):
                places[i] += 2 * edges_below(np.float64(scores[i]), np.int64(places[i] >> 1), extra_before, extra)
        else:
            count = np.uint64(0)
            for i in range(scores.size):
                at_cuts[count] = i
                count += np.uint64(cut[np.uint32(places[i] >> 1)])
            for k in range(np.int64(count)):
                which = np.uint32(at_cuts[k])
                row = row_from(np.float64(scores[which]), np.int64(places[which] >> 1), extra_before, extra)
                places[which] = 2 * row + (places[which] & 1)
        for i in range(scores.size):
            add_whole(table, np.int64(places[i]), terms, i)
    return odd


def _binned(f, y, bins, table):  # type: ignore[no-untyped-def]
    """Add rows to table[COPIES·bin + copy] = (n, Σy, Σf in units of 2^-45, 0); returns how many rows are not plain.

    Copies, because additions to one place wait for each other.
    """
    places = np.empty(_BATCH, np.int32)
    terms = np.empty((_BATCH, 4), np.float64)
    bad = 0
    for first in range(0, f.size, _BATCH):
        scores = f[first : first + _BATCH]
        labels = y[first : first + _BATCH]
        for i in range(scores.size):
            x = np.float64(scores[i])
            one = labels[i] == 1
            usable = (x >= 0.0) & (x <= 1.0) & (one | (labels[i] == 0))
            bad += not usable
            k = np.floor(x * bins)
            k = k - 1.0 if x < k / bins else k
            k = k + 1.0 if x >= (k + 1.0) / bins else k
            k = min(k, bins - 1.0)
            places[i] = COPIES * np.int32(k if usable else 0.0) + (np.int32(i) & (COPIES - 1))
            terms[i, 0] = _TWO52 + 1.0
            terms[i, 1] = _TWO52 + (1.0 if one else 0.0)
            terms[i, 2] = _TWO52 + x * _TWO45
            terms[i, 3] = _TWO52
        for i in range(scores.size):
            add_whole(table, np.int64(places[i]), terms, i)
    return bad


# Four numbers are added as one vector: from a loop over them numba makes four additions. Many sums of a row are computed by
# columns, which vectorises, and turned into rows; four vectorise as they are. Vectors of eight are slower to add to memory.
_INTEGERS, _FLOATS = (ir.VectorType(kind, 4) for kind in (ir.IntType(64), ir.DoubleType()))


def _address(context: Any, builder: Any, array: Any, of: Any, index: Any, kind: Any) -> Any:
    """Where vector number `index` of an array is."""
    data = context.make_array(of)(context, builder, array).data
    return builder.gep(builder.bitcast(data, kind.as_pointer()), [index])


def _constant(number: int) -> Any:
    return ir.Constant(ir.IntType(64), number)


def _each_row(context: Any, builder: Any, columns: Any, of: Any, vectors: int, use: Callable[[Any, int, Any], None]) -> None:
    """Call use(row, k, vector) with each row's vectors, of which there are so many, from the columns of a batch."""

    def shuffled(a: Any, b: Any, *order: int) -> Any:
        return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), 4), order))

    with cgutils.for_range(builder, _constant(_BATCH // 4)) as loop:
        for k in range(vectors):
            places = [builder.add(loop.index, _constant((4 * k + j) * _BATCH // 4)) for j in range(4)]
            a, b, c, d = (builder.load(_address(context, builder, columns, of, place, _FLOATS), align=8) for place in places)
            pairs = [(shuffled(a, b, *order), shuffled(c, d, *order)) for order in ((0, 4, 2, 6), (1, 5, 3, 7))]
            rows = [shuffled(*pair, *half) for half in ((0, 1, 4, 5), (2, 3, 6, 7)) for pair in pairs]
            for j, vector in enumerate(rows):
                use(builder.add(builder.mul(loop.index, _constant(4)), _constant(j)), k, vector)


@intrinsic(prefer_literal=True)
def turn_into_rows(_, columns, vectors, terms):  # type: ignore[no-untyped-def]
    """Write the columns of a batch, [4·vectors, _BATCH], as rows, [_BATCH, 4·vectors]."""
    count = vectors.literal_value

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def write(row: Any, k: int, vector: Any) -> None:
            place = builder.add(builder.mul(row, _constant(count)), _constant(k))
            builder.store(vector, _address(context, builder, arguments[2], signature.args[2], place, _FLOATS), align=8)

        _each_row(context, builder, arguments[0], signature.args[0], count, write)
        return context.get_dummy_value()

    return numba.void(columns, vectors, terms), code


@intrinsic(prefer_literal=True)
def add_columns(_, table, places, columns, vectors):  # type: ignore[no-untyped-def]
    """Add the rows of a whole batch, given as columns, to these rows of the table, one after the other."""
    count = vectors.literal_value

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to = context.make_array(signature.args[1])(context, builder, arguments[1]).data

        def add(row: Any, k: int, vector: Any) -> None:
            place = builder.mul(builder.sext(builder.load(builder.gep(to, [row])), ir.IntType(64)), _constant(count))
            sums = _address(context, builder, arguments[0], signature.args[0], builder.add(place, _constant(k)), _FLOATS)
            builder.store(builder.fadd(builder.load(sums, align=8), vector), sums, align=8)

        _each_row(context, builder, arguments[2], signature.args[2], count, add)
        return context.get_dummy_value()

    return numba.void(table, places, columns, vectors), code


@intrinsic
def add_whole(_, table, row, terms, term):  # type: ignore[no-untyped-def]
    """Add v of four floats 2^52 + v to four integers."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, given = (_address(context, builder, arguments[k], signature.args[k], arguments[k + 1], _INTEGERS) for k in (0, 2))
        none = ir.Constant(_INTEGERS, [int(np.float64(_TWO52).view(np.int64))] * 4)
        numbers = builder.sub(builder.load(given, align=8), none)
        builder.store(builder.add(builder.load(to, align=8), numbers), to, align=8)
        return context.get_dummy_value()

    return numba.void(table, row, terms, term), code


@intrinsic
def add_floats(_, table, row, terms, term):  # type: ignore[no-untyped-def]
    """Add twelve floats to twelve."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        for k in range(3):
            place, given = (
                builder.add(builder.mul(index, _constant(3)), _constant(k)) for index in (arguments[1], arguments[3])
            )
            to = _address(context, builder, arguments[0], signature.args[0], place, _FLOATS)
            numbers = builder.load(_address(context, builder, arguments[2], signature.args[2], given, _FLOATS), align=8)
            builder.store(builder.fadd(builder.load(to, align=8), numbers), to, align=8)
        return context.get_dummy_value()

    return numba.void(table, row, terms, term), code


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


def _fill_terms(x, label, weight, r, columns, i):  # type: ignore[no-untyped-def]
    """A row's share of each of FLOAT_SUMS (`plain.float_terms`, one row)."""
    e = label - x
    we = weight * e
    ww = weight * weight
    square = r * r
    columns[0, i] = weight
    columns[1, i] = weight * r
    columns[2, i] = weight * square
    columns[3, i] = we
    columns[4, i] = we * r
    columns[5, i] = we * square
    columns[6, i] = weight * (label * label)
    columns[7, i] = max(we, 0.0)
    columns[8, i] = ww
    columns[9, i] = ww * (x * (1.0 - x))
    columns[10, i] = ww * (e * e)


def _soft(f, y, w, cut, extra_before, extra, block, total, lost):  # type: ignore[no-untyped-def]
    """Add rows to the float sums, the last column counting rows; an empty w stands for weights of one.

    Returns how many rows were left out as not plain, had zero weight, had soft labels.
    """
    slots = np.empty(_BATCH, np.int32)
    columns = np.empty((12, _BATCH))
    terms = np.empty((_BATCH, 12))
    odd = 0
    zero = 0
    soft = 0
    for first in range(0, f.size, _BATCH):
        scores = f[first : first + _BATCH]
        labels = y[first : first + _BATCH]
        weights = w[first : first + _BATCH]
        bad = 0
        for i in range(scores.size):
            x = scores[i]
            label = labels[i]
            weight = weights[i] if w.size else 1.0
            slot, r = slot_of(x)
            inside = (x >= 0.0) & (x <= 1.0) & (label >= 0.0) & (label <= 1.0)
            usable = inside & (weight > 0.0) & (weight < np.inf)
            bad += not usable
            soft += usable & (label > 0.0) & (label < 1.0)
            slots[i] = np.int32(slot if usable else 0.0)
            fill_terms(x, label, weight, r, columns, i)
            columns[11, i] = 1.0
        turn_into_rows(columns, 3, terms)
        for i in range(scores.size):
            row = np.int64(slots[i])
            if cut[row]:
                row = row_from(scores[i], row, extra_before, extra)
            if bad:
                x = scores[i]
                label = labels[i]
                weight = weights[i] if w.size else 1.0
                inside = (x >= 0.0) & (x <= 1.0) & (label >= 0.0) & (label <= 1.0)
                if not (inside & (weight >= 0.0) & (weight < np.inf)):
                    odd += 1
                    continue
                if weight == 0.0:
                    zero += 1
                    continue
            add_floats(block, row, terms, i)
            if block[row, 11] == BLOCK:
                settle(row, block, total, lost)
    return odd, zero, soft


def _soft_in_cells(f, y, w, extra_before, extra, rows, table):  # type: ignore[no-untyped-def]
    """Add rows to the plain sums of each cell, soft labels counted in the last column, one row after the other."""
    cells = np.empty(_BATCH, np.int64)
    columns = np.empty((12, _BATCH))
    terms = np.empty((_BATCH, 12))
    for first in range(0, f.size, _BATCH):
        scores = f[first : first + _BATCH]
        labels = y[first : first + _BATCH]
        weights = w[first : first + _BATCH]
        for i in range(scores.size):
            slot, r = slot_of(scores[i])
            cells[i] = np.int64(slot)
            fill_terms(scores[i], labels[i], weights[i] if w.size else 1.0, r, columns, i)
            columns[11, i] = (labels[i] > 0.0) & (labels[i] < 1.0)
        turn_into_rows(columns, 3, terms)
        for i in range(scores.size):
            cells[i] += edges_below(scores[i], cells[i], extra_before, extra)
        for i in range(scores.size):
            rows[cells[i]] += 1
            add_floats(table, cells[i], terms, i)


def _finish(block, total, lost):  # type: ignore[no-untyped-def]
    for row in range(block.shape[0]):
        if block[row, 11] > 0.0:
            settle(row, block, total, lost)


def _residuals(f, y, e):  # type: ignore[no-untyped-def]
    """Write y − f to e; returns how many rows are not plain."""
    bad = 0
    for i in range(f.size):
        x = f[i]
        label = np.float64(y[i])
        e[i] = label - x
        bad += not ((x >= 0.0) & (x <= 1.0) & (label >= 0.0) & (label <= 1.0))
    return bad


def _spread(x, mass, table):  # type: ignore[no-untyped-def]
    """Add each mass at position x in [0, 1] to the moments table[cell, p] = Σ mass·d^p, d the place in the cell less ½."""
    cells = np.empty(_BATCH, np.int32)
    columns = np.zeros((8, _BATCH))
    most = table.shape[0] - 1.0
    for first in range(0, x.size, _BATCH):
        positions = x[first : first + _BATCH]
        masses = mass[first : first + _BATCH]
        for i in range(positions.size):
            t = positions[i] * (most + 1.0)
            k = max(min(np.floor(t), most), 0.0)
            d = t - k - 0.5
            cells[i] = np.int32(k)
            m = masses[i]
            for p in range(6):
                columns[p, i] = m
                m *= d
        for i in range(positions.size, _BATCH):
            cells[i] = 0
            columns[:, i] = 0.0
        add_columns(table, cells, columns, 2)


def _mark(f, flags, taken):  # type: ignore[no-untyped-def]
    """Write the positions of rows in wanted slots to `taken`, which has room for one more; returns how many."""
    slots = np.empty(_BATCH, np.int32)
    count = np.uint64(0)
    for first in range(0, f.size, _BATCH):
        scores = f[first : first + _BATCH]
        for i in range(scores.size):
            slot, _ = slot_of(scores[i])
            slots[i] = np.int32(slot)
        for i in range(scores.size):
            taken[count] = first + i
            count += np.uint64(flags[np.uint32(slots[i])])
    return np.int64(count)


def _lone(f, score, mixed):  # type: ignore[no-untyped-def]
    """Keep the first score met in each slot, and mark slots that hold another one."""
    slots = np.empty(_BATCH, np.int32)
    for first in range(0, f.size, _BATCH):
        scores = f[first : first + _BATCH]
        for i in range(scores.size):
            slot, _ = slot_of(scores[i])
            slots[i] = np.int32(slot)
        for i in range(scores.size):
            x = scores[i]
            kept = score[slots[i]]
            if kept != x:
                if np.isnan(kept):
                    score[slots[i]] = x
                else:
                    mixed[slots[i]] = 1


def _refine_hard(f, y, flags, extra_before, extra, numbers, parts, table):  # type: ignore[no-untyped-def]
    """Add rows of flagged slots to table[number·parts + part] = (n and R1 of label 0, of label 1, bits of the least score and
    of the largest): one cache line. Bits of numbers from 0 on are in their order."""
    slots = np.empty(_BATCH, np.int32)
    within = np.empty(_BATCH, np.float64)
    chosen = np.empty(_BATCH + 1, np.int32)
    for first in range(0, f.size, _BATCH):
        scores = f[first : first + _BATCH]
        labels = y[first : first + _BATCH]
        for i in range(scores.size):
            slot, within[i] = slot_of(scores[i])
            slots[i] = np.int32(slot)
        count = 0
        for i in range(scores.size):
            chosen[count] = i
            count += flags[np.uint32(slots[i])]
        for k in range(count):
            i = chosen[k]
            x = scores[i] + 0.0  # not −0.0
            slot = np.int64(slots[i])
            number = numbers[slot + edges_below(x, slot, extra_before, extra)]
            if number < 0:
                continue
            row = table[number * parts + min(np.int64(within[i] * parts), parts - 1)]
            column = 2 * (labels[i] == 1)
            row[column] += 1
            row[column + 1] += np.int64(within[i] * _TWO31 + 0.5)
            bits = np.float64(x).view(np.int64)
            row[4] = min(row[4], bits)
            row[5] = max(row[5], bits)


def _refine(f, y, w, extra_before, extra, numbers, parts, table):  # type: ignore[no-untyped-def]
    """Add rows of the chosen cells to table[number·parts + part]; columns as `refine_cells`, then what rounding lost."""
    terms = np.zeros(3)
    for i in range(f.size):
        x = f[i]
        slot, r = slot_of(x)
        number = numbers[np.int64(slot) + edges_below(x, np.int64(slot), extra_before, extra)]
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
edges_below = numba.njit(nogil=True)(_edges_below)
row_from = numba.njit(nogil=True)(_row_from)
settle = numba.njit(nogil=True)(_settle)
fill_terms = numba.njit(nogil=True)(_fill_terms)


@lru_cache
def hard(f: np.dtype[Any], y: np.dtype[Any]) -> Callable[..., Any]:
    """The integer reduction for these dtypes (float64 or float32; uint8, int64 or float64)."""
    return _compile(_hard, _reading(f), _reading(y), _CUT, *_EXTRA, numba.boolean, numba.types.Array(numba.int64, 2, "C"))


@lru_cache
def binned(f: np.dtype[Any], y: np.dtype[Any]) -> Callable[..., Any]:
    """The reduction to equal-width bins for these dtypes, as `hard`."""
    return _compile(_binned, _reading(f), _reading(y), numba.float64, numba.types.Array(numba.int64, 2, "C"))


@lru_cache
def soft() -> Callable[..., Any]:
    """The float reduction."""
    column = _reading(np.dtype(np.float64))
    return _compile(_soft, column, column, column, _CUT, *_EXTRA, _F82, _F82, _F82)


@lru_cache
def soft_in_cells() -> Callable[..., Any]:
    """The float reduction to plain sums, cells in order."""
    column = _reading(np.dtype(np.float64))
    return _compile(_soft_in_cells, column, column, column, *_EXTRA, _I8, _F82)


@lru_cache
def finish() -> Callable[..., Any]:
    """Moves what is left in the block sums to the totals."""
    return _compile(_finish, _F82, _F82, _F82)


@lru_cache
def residuals(y: np.dtype[Any]) -> Callable[..., Any]:
    """y − f, and whether all rows are plain."""
    return _compile(_residuals, _reading(np.dtype(np.float64)), _reading(y), _F8)


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
def refine_hard(y: np.dtype[Any]) -> Callable[..., Any]:
    """The same for hard labels of this dtype without weights, as integers."""
    table = numba.types.Array(numba.int64, 2, "C")
    f, numbers = _reading(np.dtype(np.float64)), _reading(np.dtype(np.int64))
    return _compile(_refine_hard, f, _reading(y), _CUT, *_EXTRA, numbers, numba.int64, table)


@lru_cache
def lone() -> Callable[..., Any]:
    """Scores that are alone in their cell."""
    return _compile(_lone, _reading(np.dtype(np.float64)), _F8, numba.types.Array(numba.uint8, 1, "C"))
