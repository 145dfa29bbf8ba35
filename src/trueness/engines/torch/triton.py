"""The fused reduction on CUDA: scores and labels are read once, and each row adds its four integers to its cell.

Rows that cannot be used are counted, not added. The kernels are in `kernels.py`.
"""

from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from trueness.summary.ruler import ZONE_OFFSET, uniform_edges

_ROWS = 256  # that a program takes at a time
_PROGRAMS = 16  # for each multiprocessor, where scores are crowded
_STEP = 1 << 30  # rows of a launch
_COPIES = 16  # of the table, each 3 MB, where rows are many: with ties, rows would wait for the same places
_MANY = 1 << 24  # rows
_FEW = 1 << 15  # rows that wait for one another for less time than two more launches take
_SCORES = {"torch.float16", "torch.bfloat16", "torch.float32", "torch.float64"}
_LABELS = {"torch.bool", "torch.uint8", "torch.int8", "torch.int16", "torch.int32", "torch.int64"}


@cache
def available() -> bool:
    return find_spec("triton") is not None


def serves(sums: Any, y: Any, f: Any, w: Any) -> bool:
    """Whether the kernel can take these rows; anything else goes through plain operations."""
    if sums.floats or sums.on.bins or w is not None or f.device.type != "cuda" or not available():
        return False
    return str(f.dtype) in _SCORES and str(y.dtype) in _LABELS


def update(sums: Any, y: Any, f: Any) -> None:
    """Add the rows to the sums."""
    import torch

    from trueness.engines.torch import kernels
    from trueness.engines.torch.sums import tolerance_of

    f, y = f.contiguous(), y.contiguous()
    y = y.view(torch.uint8) if y.dtype == torch.bool else y
    few = len(f) <= _FEW
    common = _none_common(f.device) if few else torch.empty(kernels.COMMON.value, dtype=torch.int64, device=f.device)
    copies = _COPIES if len(f) >= _MANY else 1
    table = torch.zeros((copies, *sums.table.shape), dtype=sums.table.dtype, device=f.device) if copies > 1 else sums.table
    programs = _PROGRAMS * torch.cuda.get_device_properties(f.device).multi_processor_count
    rule = {
        "NEAR": tolerance_of(f),
        "WIDE": f.dtype == torch.float64,
        "MIDDLE": int(ZONE_OFFSET[1]),
        "HIGH": int(ZONE_OFFSET[2]),
        "enable_fp_fusion": False,
    }
    for start in range(0, len(f), _STEP):
        rows = (f[start : start + _STEP], y[start : start + _STEP])
        rest = (common, *_edges(f.device), len(rows[0]))
        where = {"COPIES": copies, "PLACES": len(sums.table), "CLIPPED": len(sums.codes) - 1, "ROWS": _ROWS, **rule}
        with torch.cuda.device(f.device):
            if not few:
                kernels.survey[(1,)](*rows, *rest, **rule)
            for crowded, size in ((False, -(-len(rows[0]) // _ROWS)), (True, programs))[: 1 if few else 2]:
                kernels.add[(size,)](*rows, table, sums.codes, *rest, CROWDED=crowded, **where)
    if copies > 1:
        sums.table += table.sum(0)


@cache
def _none_common(device: Any) -> Any:
    """What a survey says where no score is crowded."""
    import torch

    from trueness.engines.torch import kernels

    return torch.full((kernels.COMMON.value,), -1, dtype=torch.int64, device=device)


@cache
def _edges(device: Any) -> tuple[Any, Any]:
    """Edges of the two grids that are not dyadic, and one beyond the last."""
    import torch

    return tuple(torch.as_tensor(np.append(uniform_edges(m), 2.0), device=device) for m in (100, 15))
