"""The fused kernel for CUDA: scores and labels are read once, and each row adds its four integers to its cell.

Four neighbouring lanes add the four sums of one row, which the memory takes as one access. Multiply-add must not be fused:
that would change the bits. Rows that cannot be used are counted, not added.
"""

from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from trueness.ruler import ZONE_OFFSET, uniform_edges

_ROWS = 128  # of a block
_STEP = 1 << 30  # rows of a launch
_SCORES = {"torch.float16", "torch.bfloat16", "torch.float32", "torch.float64"}
_LABELS = {"torch.bool", "torch.uint8", "torch.int8", "torch.int16", "torch.int32", "torch.int64"}


@cache
def _available() -> bool:
    return find_spec("triton") is not None


def serves(sums: Any, y: Any, f: Any, w: Any) -> bool:
    """Whether the kernel can take these rows; anything else goes through plain operations."""
    if sums.floats or sums.on.bins or w is not None or f.device.type != "cuda" or not _available():
        return False
    return str(f.dtype) in _SCORES and str(y.dtype) in _LABELS


def update(sums: Any, y: Any, f: Any) -> None:
    """Add the rows to the sums."""
    import torch
    import triton

    from trueness.engines.torch import tolerance_of

    f, y = f.contiguous(), y.contiguous()
    y = y.view(torch.uint8) if y.dtype == torch.bool else y
    hundredths, fifteenths = _edges(f.device)
    sums.codes[0] += len(f)
    for start in range(0, len(f), _STEP):
        scores, labels = f[start : start + _STEP], y[start : start + _STEP]
        with torch.cuda.device(f.device):
            _kernel()[(triton.cdiv(len(scores), _ROWS),)](
                scores,
                labels,
                sums.table,
                sums.codes,
                hundredths,
                fifteenths,
                len(scores),
                NEAR=tolerance_of(f),
                ROWS=_ROWS,
                MIDDLE=int(ZONE_OFFSET[1]),
                HIGH=int(ZONE_OFFSET[2]),
                num_warps=4,
                enable_fp_fusion=False,
            )


@cache
def _edges(device: Any) -> tuple[Any, Any]:
    """Edges of the two grids that are not dyadic, and one beyond the last."""
    import torch

    return tuple(torch.as_tensor(np.append(uniform_edges(m), 2.0), device=device) for m in (100, 15))


@cache
def _kernel() -> Any:
    import triton
    import triton.language as tl

    @triton.jit  # type: ignore[untyped-decorator]
    def bin_of(f, edges, m: tl.constexpr):  # type: ignore[no-untyped-def]  # idx(m, f) of the cell rule
        k = tl.floor(f * m).to(tl.int32)
        k = k - (f < tl.load(edges + k)).to(tl.int32)
        k = k + (f >= tl.load(edges + k + 1)).to(tl.int32)
        return tl.minimum(k, m - 1)

    @triton.jit  # type: ignore[untyped-decorator]
    def add(  # type: ignore[no-untyped-def]
        scores,
        labels,
        table,
        codes,
        hundredths,
        fifteenths,
        n,
        NEAR: tl.constexpr,
        ROWS: tl.constexpr,
        MIDDLE: tl.constexpr,
        HIGH: tl.constexpr,
    ):
        lane = tl.arange(0, 4 * ROWS)
        at = tl.program_id(0).to(tl.int64) * ROWS + lane // 4
        j = lane % 4
        there = at < n
        f = tl.load(scores + at, mask=there, other=0.0).to(tl.float64)
        y = tl.load(labels + at, mask=there, other=0).to(tl.int64)
        code = tl.where((y == 0) | (y == 1), 0, 4)
        code = tl.where((f < -NEAR) | (f - 1.0 > NEAR), 2, code)  # constants are float32 here: 1 + NEAR would be 1
        code = tl.where((f - f) == 0.0, code, 1)
        once = there & (j == 0)
        used = there & (code == 0)
        tl.atomic_add(codes + tl.zeros_like(code), -1, mask=once & (code != 0), sem="relaxed")  # all were counted as used
        tl.atomic_add(codes + code, 1, mask=once & (code != 0), sem="relaxed")
        tl.atomic_add(codes + 9 + tl.zeros_like(code), 1, mask=once & used & ((f < 0.0) | (f > 1.0)), sem="relaxed")
        f = tl.where(used, tl.minimum(tl.maximum(f, 0.0), 1.0), 0.0)
        low = f < 0.015625
        high = f >= 0.984375
        unit = tl.where(low | high, 1048576.0, 16384.0).to(tl.float64)
        scaled = f * unit
        k = tl.minimum(tl.floor(scaled), unit - 1.0)
        r = scaled - k
        slot = k.to(tl.int32) + tl.where(low, 0, tl.where(high, HIGH, MIDDLE))
        # Edges of quarters are edges of hundredths, those of fifths edges of fifteenths: shared ones count once.
        of_hundred, of_fifteen = bin_of(f, hundredths, 100), bin_of(f, fifteenths, 15)
        cell = slot + of_hundred - of_hundred // 25 + of_fifteen - of_fifteen // 3
        target = 2 * cell + tl.where(used, y, 0).to(tl.int32)
        r2 = r * r
        power = tl.where(j == 1, r, tl.where(j == 2, r2, r2 * r))
        term = tl.where(j == 0, 1, tl.floor(power * 2147483648.0 + 0.5).to(tl.int64))
        # Where a score is so common that all would wait for its cell, the block adds it up first.
        for pick in tl.static_range(2):
            common = tl.sum(tl.where(lane == pick * 2 * ROWS, target, 0))
            same = used & (target == common)
            if tl.sum(same.to(tl.int32)) >= ROWS // 2:
                for sums in tl.static_range(4):
                    whole = tl.sum(tl.where(same & (j == sums), term, 0))
                    tl.atomic_add(table + 4 * common.to(tl.int64) + sums, whole, sem="relaxed")
                used = used & (target != common)
        tl.atomic_add(table + 4 * target.to(tl.int64) + j, term, mask=used, sem="relaxed")

    return add
