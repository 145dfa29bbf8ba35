"""CUDA: (float32, uint8) pairs reduced on the device, beside reading them once."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.data import power
from benchmarks.table import duration, render, times
from benchmarks.targets import Line

_LIMIT, _TARGET_ROWS = 15, 4 * 10**8
_BATCH, _BATCH_MS, _BATCHES = 10**4, 0.15, 200
_CASES = ("uniform", "sigmoid", "constant", "ten values", "bfloat16")


@dataclass(frozen=True, slots=True, kw_only=True)
class OnDevice:
    """What came of one set of pairs."""

    rows: int
    case: str
    read: float  # the fastest reading of both tensors: their maxima, the labels as int64 words
    sums: float  # torch's sum of each
    fused: float | None  # None where Triton is not there
    plain: float | None
    same: bool | None  # fused and plain gave the same integers

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def device() -> str | None:
    """The name of the CUDA device; None where there is none."""
    try:
        import torch
    except ImportError:
        return None
    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def _scores(case: str, n: int, generator: Any) -> Any:
    import torch

    if case == "constant":
        return torch.full((n,), 0.3, device="cuda")
    if case == "sigmoid":
        return torch.sigmoid(3 * torch.randn(n, device="cuda", generator=generator))
    f = torch.rand(n, device="cuda", generator=generator)
    if case == "ten values":
        return (10 * f).floor() / 10 + 0.05
    return f.to(torch.bfloat16) if case == "bfloat16" else f


def _clock(call: Callable[[], Any], repeats: int) -> float:
    import torch

    call()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1000)
    return min(times)


def measure_gpu(sizes: tuple[int, ...], tell: Callable[[str], None]) -> list[OnDevice]:
    """All cases at the first number of pairs, the uniform one at the others."""
    import torch

    found = []
    for n in sizes:
        for case in _CASES if n == sizes[0] else _CASES[:1]:
            tell(f"CUDA, {power(n)} pairs, {case}")
            generator = torch.Generator("cuda").manual_seed(0)
            f = _scores(case, n, generator)
            y = (torch.rand(n, device="cuda", generator=generator) < f).to(torch.uint8)
            found.append(_measured(case, y, f))
            del f, y
            torch.cuda.empty_cache()
    return found


def _measured(case: str, y: Any, f: Any) -> OnDevice:
    import torch

    from trueness.engines.torch import triton
    from trueness.engines.torch.sums import TensorSums
    from trueness.summary.ruler import ruler

    def reduced() -> Any:
        sums = TensorSums.zeros(ruler(), "cuda", floats=False)
        sums.update(y, f)
        return sums

    words = y.view(torch.int64)
    read = _clock(lambda: (f.amax(), words.amax()), 9)
    sums = _clock(lambda: (f.sum(), y.sum()), 9)
    fused = _clock(reduced, 5) if triton.available() else None
    before, triton.available = triton.available, lambda: False
    try:
        plain = _clock(reduced, 1)
        expected = reduced().table
    finally:
        triton.available = before
    same = None if fused is None else bool(torch.equal(reduced().table, expected))
    return OnDevice(rows=len(f), case=case, read=read, sums=sums, fused=fused, plain=plain, same=same)


def render_gpu(found: list[OnDevice], name: str) -> str:
    """For people."""
    head = ("pairs", "scores", "read", "fused kernel", "plain torch", "torch's two sums", "same bits")
    body = [
        (
            power(row.rows),
            row.case,
            duration(row.read),
            "–" if row.fused is None else f"{times(row.fused / row.read)} × read",
            "–" if row.plain is None else f"{times(row.plain / row.read)} × read",
            f"{times(row.sums / row.read)} × read",
            {True: "yes", False: "NO", None: "–"}[row.same],
        )
        for row in found
    ]
    return f"{name}\n{render(head, body, right=(0, 2, 3, 4, 5))}"


def batch_ms() -> float:
    """Milliseconds of one `CalibrationSummary.update` with a small batch, of many in a row."""
    import torch

    from trueness.torch import CalibrationSummary

    collected = CalibrationSummary(device="cuda")
    f = torch.rand(_BATCH, device="cuda")
    y = (torch.rand(_BATCH, device="cuda") < f).to(torch.uint8)

    def updates() -> None:
        for _ in range(_BATCHES):
            collected.update(y_true=y, y_prob=f)

    return 1000 * _clock(updates, 5) / _BATCHES


def gpu_lines(found: list[OnDevice], batch: float | None) -> list[Line]:
    """The targets."""
    missing = "not measured: needs a CUDA device with Triton"
    row = next((row for row in found if row.rows == _TARGET_ROWS and row.case == "uniform" and row.fused), None)
    ratio = row.fused / row.read if row and row.fused else None
    return [
        Line(
            work=f"CUDA, {power(_TARGET_ROWS)} (float32, uint8) pairs",
            family="gpu",
            target=f"≤ {_LIMIT} × reading them",
            measured=ratio,
            met=None if ratio is None else ratio <= _LIMIT,
            why="" if ratio else missing,
        ),
        Line(
            work=f"CUDA, update with a batch of {power(_BATCH)}",
            family="gpu",
            target=f"≤ {_BATCH_MS:g} ms",
            measured=batch,
            met=None if batch is None else batch <= _BATCH_MS,
            why="" if batch else missing,
        ),
    ]
