"""Kernels of the CUDA reduction, for Triton; `triton.py` launches them.

Multiply-add must not be fused: that would change the bits. Functions that convert floats are few here on purpose: the device
does sixteen a cycle where it does a hundred and twenty-eight additions, so whole parts are read off the bits of a sum.
"""

import triton
import triton.language as tl

SAMPLE = tl.constexpr(256)
COMMON = tl.constexpr(4)


@triton.jit
def _whole(x):
    """Whole part of a float32 0 ≤ x < 2^22, as an integer and as a float."""
    shifted = x + 8388608.0  # 2^23: the sum's last bits are x rounded
    rounded = shifted - 8388608.0
    up = rounded > x
    return shifted.to(tl.int32, bitcast=True) - 0x4B000000 - up.to(tl.int32), tl.where(up, rounded - 1.0, rounded)


@triton.jit
def _bin_narrow(f, m: tl.constexpr):
    """Bin of f among m. A float32 is never between k/m and the float64 nearest to k/m, so the exact sign of m·f − k decides."""
    shifted = f * m + 8388608.0
    k = shifted.to(tl.int32, bitcast=True) - 0x4B000000
    short = tl.fma(f, tl.full(f.shape, m, tl.float32), 8388608.0 - shifted) < 0.0
    return tl.minimum(k - short.to(tl.int32), m - 1)


@triton.jit
def _bin_wide(f, edges, m: tl.constexpr):
    """Bin of a float64 among m: the cell rule, with the edges themselves."""
    k = tl.floor(f * m).to(tl.int32)
    k = k - (f < tl.load(edges + k)).to(tl.int32)
    k = k + (f >= tl.load(edges + k + 1)).to(tl.int32)
    return tl.minimum(k, m - 1)


@triton.jit
def _locate(f, hundredths, fifteenths, WIDE: tl.constexpr, MIDDLE: tl.constexpr, HIGH: tl.constexpr):
    """Cell of a score in [0, 1] and its position in the dyadic slot, a float64."""
    low = f < 0.015625
    high = f >= 0.984375
    unit = tl.where(low | high, 1048576.0, 16384.0)
    if WIDE:
        unit = unit.to(tl.float64)
        scaled = f * unit
        whole = tl.minimum(tl.floor(scaled), unit - 1.0)
        k = whole.to(tl.int32)
        of_hundred, of_fifteen = _bin_wide(f, hundredths, 100), _bin_wide(f, fifteenths, 15)
    else:
        scaled = f * unit
        k, whole = _whole(scaled)
        last = whole == unit
        k = k - last.to(tl.int32)
        whole = tl.where(last, whole - 1.0, whole)
        of_hundred, of_fifteen = _bin_narrow(f, 100), _bin_narrow(f, 15)
    slot = k + tl.where(low, 0, tl.where(high, HIGH, MIDDLE))
    # Edges of quarters are edges of hundredths, those of fifths edges of fifteenths: shared ones count once.
    cell = slot + of_hundred - of_hundred // 25 + of_fifteen - of_fifteen // 3
    return cell, (scaled - whole).to(tl.float64)


@triton.jit
def _read(scores, labels, at, there, NEAR: tl.constexpr, WIDE: tl.constexpr):
    """Scores and labels, whether a row can be used, and whether it is as it should be (neither refused nor clipped)."""
    f = tl.load(scores + at, mask=there, other=0.0).to(tl.float64 if WIDE else tl.float32)
    y = tl.load(labels + at, mask=there, other=0)
    hard = (y == 0) | (y == 1)
    used = there & (f >= -NEAR) & (f - 1.0 <= NEAR) & hard  # constants are float32 here: 1 + NEAR would be 1
    plain = (f >= 0.0) & (f <= 1.0) & hard
    return f, y, used, plain


@triton.jit
def survey(
    scores,
    labels,
    common,
    hundredths,
    fifteenths,
    n,
    NEAR: tl.constexpr,
    WIDE: tl.constexpr,
    MIDDLE: tl.constexpr,
    HIGH: tl.constexpr,
):
    """Places of the table that at least an eighth of a sample goes to; −1 where there are no more."""
    at = (tl.arange(0, SAMPLE).to(tl.int64) * n) // SAMPLE
    f, y, used, _ = _read(scores, labels, at, at < n, NEAR, WIDE)
    cell, _ = _locate(tl.minimum(tl.maximum(f, 0.0), 1.0), hundredths, fifteenths, WIDE, MIDDLE, HIGH)
    target = tl.where(used, 2 * cell + y.to(tl.int32), -1)
    for place in tl.static_range(COMMON):
        counts = tl.sum((target[:, None] == target[None, :]).to(tl.int32), axis=1)
        counts = tl.where(target < 0, 0, counts)
        often = tl.max(counts, axis=0)
        best = tl.max(tl.where(counts == often, target, -1), axis=0)
        best = tl.where(8 * often >= SAMPLE, best, -1)
        tl.store(common + place, best)
        target = tl.where(target == best, -1, target)


@triton.jit
def _terms(
    scores,
    labels,
    codes,
    begin,
    n,
    hundredths,
    fifteenths,
    CLIPPED: tl.constexpr,
    NEAR: tl.constexpr,
    WIDE: tl.constexpr,
    ROWS: tl.constexpr,
    MIDDLE: tl.constexpr,
    HIGH: tl.constexpr,
):
    """What four neighbouring lanes add for a row: which sum, to which place, how much, and whether; odd rows are counted."""
    lane = tl.arange(0, 4 * ROWS)
    j = lane % 4
    at = begin + lane // 4
    there = at < n
    f, y, used, plain = _read(scores, labels, at, there, NEAR, WIDE)
    outside = (f < -NEAR) | (f - 1.0 > NEAR)
    code = tl.where(used, CLIPPED, tl.where((f - f) == 0.0, tl.where(outside, 2, 4), 1))
    tl.atomic_add(codes + code, 1, mask=there & (j == 0) & (plain == 0), sem="relaxed")
    f = tl.minimum(tl.maximum(f, 0.0), 1.0)
    cell, r = _locate(f, hundredths, fifteenths, WIDE, MIDDLE, HIGH)
    r2 = r * r
    power = tl.where(j == 1, r, tl.where(j == 2, r2, r2 * r))
    term = tl.where(j == 0, 1, (power * 2147483648.0 + 0.5).to(tl.uint32).to(tl.int64))
    return j, 2 * cell + y.to(tl.int32), term, used


@triton.jit
def add(
    scores,
    labels,
    table,
    codes,
    common,
    hundredths,
    fifteenths,
    n,
    CROWDED: tl.constexpr,
    COPIES: tl.constexpr,
    PLACES: tl.constexpr,
    CLIPPED: tl.constexpr,
    NEAR: tl.constexpr,
    WIDE: tl.constexpr,
    ROWS: tl.constexpr,
    MIDDLE: tl.constexpr,
    HIGH: tl.constexpr,
):
    """Add each row's four integers to its place, which the memory takes as one access.

    CROWDED is for scores so common that all would wait for their places: a program adds those up first. Of both launches
    the one that does not fit the scores does nothing, so that nobody waits to learn which does. Programs share out the
    COPIES of the table's PLACES, so that fewer wait for the same one.
    """
    crowded = tl.load(common) >= 0
    table += (tl.program_id(0) % COPIES) * (4 * PLACES)
    if CROWDED:
        if crowded:
            for begin in range(tl.program_id(0) * ROWS, n, tl.num_programs(0) * ROWS):
                j, target, term, used = _terms(
                    scores, labels, codes, begin, n, hundredths, fifteenths, CLIPPED, NEAR, WIDE, ROWS, MIDDLE, HIGH
                )
                for place in tl.static_range(COMMON):
                    usual = tl.load(common + place)
                    if usual >= 0:
                        same = used & (target == usual)
                        for part in tl.static_range(4):
                            whole = tl.sum(tl.where(same & (j == part), term, 0))
                            tl.atomic_add(table + 4 * usual + part, whole, sem="relaxed")
                        used = used & (target != usual)
                tl.atomic_add(table + (4 * target + j), term, mask=used, sem="relaxed")
    elif not crowded:
        begin = tl.program_id(0) * ROWS
        j, target, term, used = _terms(
            scores, labels, codes, begin, n, hundredths, fifteenths, CLIPPED, NEAR, WIDE, ROWS, MIDDLE, HIGH
        )
        tl.atomic_add(table + (4 * target + j), term, mask=used, sem="relaxed")
