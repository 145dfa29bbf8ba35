"""Tensors → Summary on the device that holds them: the sums stay there, and only they come back.

The expressions of every engine as plain operations of PyTorch, each rounded by itself; on CUDA a fused kernel where Triton is
there. Both give NumPy's bits.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trueness.engines.expressions import ROWS_OF_A_CELL, Plan, require_weights
from trueness.errors import InputError
from trueness.inputs.faults import FAULTS, OUTCOME, PREDICTION, SOFT, Role, by_reason, raise_refused, refused
from trueness.inputs.remedies import Words
from trueness.summary.moments import FLOAT_SUMS
from trueness.summary.ruler import Ruler
from trueness.summary.summary import Summary, float_summary, integer_summary

if TYPE_CHECKING:
    import torch

_CHUNK, _CHUNK_ON_CPU = 1 << 20, 1 << 16  # rows worked on at a time: what keeps a device busy, what a cache holds
_SEGMENT = 1 << 31  # rows whose int64 sums cannot overflow
_CODES, _NEGATIVE = len(FAULTS) + 1, -min(FAULTS)  # codes, 0 among them, and how many are negative
_TOLERANCE = {"float16": 4 * 2.0**-10, "bfloat16": 4 * 2.0**-7, "float32": 4 * 2.0**-23, "float64": 4 * 2.0**-52}
_NAMES: dict[Role, str] = {"prediction": "y_prob", "outcome": "y_true", "weight": "sample_weight"}
_REMEDIES = {
    PREDICTION[1]: Words.plain("If these are logits, pass from_logits=True."),
    OUTCOME[1]: Words.plain("Pass outcomes in [0, 1]."),
}


class TensorAlgebra:
    """Expressions of PyTorch, computed at once; whatever the default dtype is, constants are float64."""

    def __init__(self, columns: dict[str, "torch.Tensor"], device: Any) -> None:
        import torch

        self._torch, self._device = torch, device
        self.columns = columns
        self._numbers: dict[float, torch.Tensor] = {}

    def column(self, name: str) -> "torch.Tensor":
        """A column of an earlier layer."""
        return self.columns[name]

    def number(self, value: float) -> "torch.Tensor":
        """A float64 constant."""
        if value not in self._numbers:
            self._numbers[value] = self._torch.full((), value, dtype=self._torch.float64, device=self._device)
        return self._numbers[value]

    def either(self, condition: "torch.Tensor", then: "torch.Tensor", otherwise: "torch.Tensor") -> "torch.Tensor":
        """A case."""
        return self._torch.where(condition, then, otherwise)

    def floor(self, value: "torch.Tensor") -> "torch.Tensor":
        """Rounded down."""
        return self._torch.floor(value)

    def equal(self, a: "torch.Tensor", b: "torch.Tensor") -> "torch.Tensor":
        """Equality."""
        return a == b

    def divide(self, a: "torch.Tensor", by: float, like: "torch.Tensor") -> "torch.Tensor":
        """A quotient."""
        return a / self.number(by)


@dataclass(slots=True)
class TensorSums:
    """Sums over cells on one device; `update` adds to them."""

    on: Ruler
    floats: bool
    codes: "torch.Tensor"  # rows by code, the clipped values last
    rows: "torch.Tensor"  # by cell; none where the table counts them
    table: "torch.Tensor"  # [cell, FLOAT_SUMS and soft labels], or [2·cell + label, (n, R1, R2, R3)]

    @classmethod
    def zeros(cls, on: Ruler, device: Any, *, floats: bool) -> Self:
        """No rows so far."""
        import torch

        shape = (on.cells, len(FLOAT_SUMS) + 1) if floats else (2 * on.cells, 4)
        return cls(
            on,
            floats,
            codes=torch.zeros(_CODES + 1, dtype=torch.int64, device=device),
            rows=torch.zeros(on.cells if floats else 0, dtype=torch.int64, device=device),
            table=torch.zeros(shape, dtype=torch.float64 if floats else torch.int64, device=device),
        )

    def update(self, y: "torch.Tensor", f: "torch.Tensor", w: "torch.Tensor | None" = None) -> None:
        """Add rows; all tensors are on the device of the sums."""
        from trueness.engines.torch import triton

        if triton.serves(self, y, f, w):
            triton.update(self, y, f)
            return
        plan = Plan(
            on=self.on,
            weighted=w is not None,
            floats=self.floats,
            f_tolerance=tolerance_of(f),
            y_tolerance=tolerance_of(y),
        )
        given = {"f": f, "y": y} | ({} if w is None else {"w": w})
        step = _CHUNK_ON_CPU if f.device.type == "cpu" else _CHUNK
        algebra = TensorAlgebra({}, f.device)
        for start in range(0, len(f), step):
            algebra.columns = {name: x[start : start + step].double() for name, x in given.items()}
            for layer in plan.layers(algebra, bins=False):
                algebra.columns |= layer
            self._add(algebra.columns)

    def _add(self, columns: dict[str, "torch.Tensor"]) -> None:
        """Add what the expressions have made of some rows."""
        import torch

        code = columns["code"].long()
        used = code == 0
        counts = torch.bincount(code + _NEGATIVE, minlength=_CODES)
        self.codes[: _NEGATIVE + 1] += counts[: _NEGATIVE + 1].flip(0)
        self.codes[_NEGATIVE + 1 : _CODES] += counts[_NEGATIVE + 1 :]
        self.codes[_CODES] += columns["clipped"].sum().long()
        cell = self._cell(columns["slot"].long(), columns["g"])
        if self.floats:
            self.rows.scatter_add_(0, cell, used.long())
            terms = [columns[name] for name in (*FLOAT_SUMS, "soft")]
        else:
            cell = 2 * cell + columns["label"].long()
            terms = [used.long(), *(columns[name].long() for name in ("r1", "r2", "r3"))]  # 0 where a row is not used
        for k, term in enumerate(terms):  # each by itself: rows of a table are added one at a time
            self.table.select(1, k).scatter_add_(0, cell, term)

    def _cell(self, slot: "torch.Tensor", g: "torch.Tensor") -> "torch.Tensor":
        """The cell of each score, which lies in this slot."""
        before, edges = _edges(self.on, g.device)
        passed = before.gather(0, slot)
        cell = slot + passed
        for cut in range(self.on.most_cuts):
            cell += g >= edges.gather(0, passed + cut)
        return cell

    def counts(self) -> dict[int, int]:
        """How many rows have each code but 0."""
        codes = self.codes.cpu().numpy()
        return {code: int(codes[_place(code)]) for code in FAULTS}

    def summary(self, *, nan: str = "raise", notes: tuple[str, ...] = ()) -> Summary:
        """The sums so far, brought to the host; raises for rows that are not allowed."""
        counts = self.counts()
        table = self.table.cpu().numpy()
        rows = self.rows.cpu().numpy() if self.floats else table[:, 0]
        raise_refused(counts, int(rows.sum()) + sum(counts.values()), nan, _NAMES, _REMEDIES)
        account: dict[str, Any] = {
            "rejected": by_reason(counts),
            "clipped": int(self.codes[_CODES]),
            "source": tuple(sorted(notes)),
        }
        if self.floats:
            soft = bool(table[:, -1].sum() > 0)
            require_weights(table[:, FLOAT_SUMS.index("w")], table[:, FLOAT_SUMS.index("w2")])
            return float_summary(rows, table[:, :-1].T, self.on, soft=soft, **account)
        if int(rows.max()) >= ROWS_OF_A_CELL:
            raise InputError(
                f"y_prob: {int(rows.max())} rows have nearly the same score; at most 2^32 fit. Call compute sooner."
            )
        by_row = np.empty((self.on.cells, 8), dtype=np.int64)
        by_row[self.on.row_of_cell] = table.reshape(self.on.cells, 8)
        return integer_summary(by_row, self.on, **account)


def reduce_on_device(y: Any, f: Any, on: Ruler, nan: str) -> Summary | None:
    """The summary of two tensors where they are, a CUDA device; None where the rows must be looked at on the host.

    That is so for other tensors, and for rows that cannot be used: the error shall say which.
    """
    import torch

    if not all(isinstance(x, torch.Tensor) and x.is_cuda and x.layout == torch.strided and x.ndim == 1 for x in (y, f)):
        return None
    if len(y) != len(f) or len(f) == 0 or y.device != f.device or y.is_complex() or not f.is_floating_point():
        return None
    parts = []
    for start in range(0, len(f), _SEGMENT):
        rows = slice(start, start + _SEGMENT)
        part = _reduce_segment(y.detach()[rows], f.detach()[rows], on, nan)
        if part is None:
            return None
        parts.append(part)
    return sum(parts[1:], start=parts[0])


def _reduce_segment(y: "torch.Tensor", f: "torch.Tensor", on: Ruler, nan: str) -> Summary | None:
    for floats in (False, True):
        sums = TensorSums.zeros(on, f.device, floats=floats)
        sums.update(y, f)
        counts = sums.counts()
        soft = counts.pop(SOFT)
        if refused(counts, nan):
            return None
        if not soft:
            summary = sums.summary(nan=nan)
            return summary if summary.n else None
    return None


@lru_cache(maxsize=16)
def _edges(on: Ruler, device: Any) -> tuple["torch.Tensor", "torch.Tensor"]:
    """How many extra edges lie below each slot, and these edges, with some more that no score reaches."""
    import torch

    return torch.as_tensor(on.extra_before.astype(np.int64), device=device), torch.as_tensor(on.extra_padded, device=device)


def _place(code: int) -> int:
    """Where a code is counted: 0, then the negative ones downwards, then the positive ones."""
    return -code if code <= 0 else _NEGATIVE + code


def tolerance_of(x: "torch.Tensor") -> float:
    """How far beyond 0 and 1 rounding may carry a tensor's values."""
    return _TOLERANCE.get(str(x.dtype).removeprefix("torch."), 0.0)
