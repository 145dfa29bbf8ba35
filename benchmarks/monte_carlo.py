"""The LS-ECE estimator of Chidambaram et al. (2024), Figure 1: an n × n_t kernel matrix, here taken in blocks.

n_t noisy logits t are drawn from the rows; E[Y | t] is the Nadaraya–Watson regression on all n rows; the estimate is the
mean of |E[Y | t] − ρ(t)|. The figure forms the whole matrix at once (4 GB at n = 5·10⁴ in float64): in blocks that stay in
the cache it is several times faster, and that is what is timed. Each function returns the estimate and its standard error.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.data import Data, Floats

DRAWS = 10_000
BANDWIDTH = 1 / 15
_NUMPY_BLOCK = 1 << 17  # kernel values at a time: 1 MB of float64
_TORCH_BLOCK = 1 << 18

Estimate = tuple[float, float]


def noisy_logits(data: Data) -> tuple[Floats, Floats]:
    """The logits of the rows and the draws at which the error is read."""
    rng = np.random.default_rng(len(data))
    h = np.log(data.f) - np.log1p(-data.f)
    return h, rng.choice(h, DRAWS) + BANDWIDTH * rng.standard_normal(DRAWS)


def _estimate(shares: Floats, t: Floats) -> Estimate:
    errors = np.abs(shares - 1 / (1 + np.exp(-t)))
    return float(errors.mean()), float(errors.std() / np.sqrt(len(errors)))


def in_numpy(data: Data) -> Estimate:
    """float64, in place, sums by matrix product."""
    h, t = noisy_logits(data)
    z, points = h / (BANDWIDTH * np.sqrt(2)), t / (BANDWIDTH * np.sqrt(2))
    columns = np.column_stack([data.y, np.ones(len(h))])
    sums = np.empty((DRAWS, 2))
    step = max(1, _NUMPY_BLOCK // len(h))
    kernel = np.empty((step, len(h)))
    for a in range(0, DRAWS, step):
        block = kernel[: len(points[a : a + step])]
        np.subtract(points[a : a + step, None], z, out=block)
        np.multiply(block, block, out=block)
        np.negative(block, out=block)
        np.exp(block, out=block)
        np.matmul(block, columns, out=sums[a : a + step])
    return _estimate(sums[:, 0] / sums[:, 1], t)


def in_torch(dtype: str) -> Callable[[Data], Estimate]:
    """The same in torch, which uses all cores; "float64", or "float32" as a network's own logits are."""

    def run(data: Data) -> Estimate:
        import torch

        def tensor(x: Any) -> Any:
            return torch.from_numpy(np.ascontiguousarray(x)).to(getattr(torch, dtype))

        h, t = noisy_logits(data)
        z, points = (tensor(x / (BANDWIDTH * np.sqrt(2))) for x in (h, t))
        columns = tensor(np.column_stack([data.y, np.ones(len(h))]))
        sums = torch.empty((DRAWS, 2), dtype=columns.dtype)
        step = max(1, _TORCH_BLOCK // len(h))
        with torch.no_grad():
            for a in range(0, DRAWS, step):
                block = points[a : a + step, None] - z
                block.square_().neg_().exp_()
                torch.matmul(block, columns, out=sums[a : a + step])
        found = sums.to(torch.float64).numpy()
        return _estimate(found[:, 0] / found[:, 1], t)

    return run
