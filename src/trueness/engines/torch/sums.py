"""Tensors → Summary on the device that holds them: the sums stay there, and only they come back.

The expressions of every engine as plain operations of PyTorch, each rounded by itself; on CUDA a fused kernel where Triton is
there. Both give NumPy's bits.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trueness.engines.expressions import ROWS_OF_A_CELL, Plan, require_weights
from trueness.errors import InputError
from trueness.inputs.arguments import Role
from trueness.inputs.faults import FAULTS, OUTCOME, PREDICTION, SOFT, by_reason, raise_refused, refused
from trueness.inputs.frames import reads_dtype
from trueness.inputs.remedies import Words
from trueness.summary.invariants import fault_of
from trueness.summary.moments import FLOAT_SUMS, SEGMENT
from trueness.summary.ruler import Ruler
from trueness.summary.summary import Summary, float_summary, integer_summary

if TYPE_CHECKING:
    import torch

_CHUNK, _CHUNK_ON_CPU = 1 << 20, 1 << 16  # rows worked on at a time: what keeps a device busy, what a cache holds
_CODES, _NEGATIVE = len(FAULTS) + 1, -min(FAULTS)  # codes, 0 among them, and how many are negative
_TOLERANCE = {"float16": 4 * 2.0**-10, "bfloat16": 4 * 2.0**-7, "float32": 4 * 2.0**-23, "float64": 4 * 2.0**-52}
_DAMAGED = "CalibrationSummary: the state to load is damaged: {}. Load another checkpoint."
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

        home = torch.device(_home(torch.empty(0, device=device).device))

        def nothing(*shape: int, dtype: "torch.dtype" = torch.int64) -> "torch.Tensor":
            if home.type != "cpu":
                return torch.zeros(shape, dtype=dtype, device=home)
            # Memory that is there once it is written to: PyTorch would start threads to fill it.
            return torch.from_numpy(np.zeros(shape, dtype=np.int64)).view(dtype)

        table = nothing(on.cells, len(FLOAT_SUMS) + 1, dtype=torch.float64) if floats else nothing(2 * on.cells, 4)
        return cls(on, floats, codes=nothing(_CODES + 1), rows=nothing(on.cells if floats else 0), table=table)

    @property
    def parts(self) -> tuple["torch.Tensor", ...]:
        """All tensors of the sums."""
        return self.codes, self.rows, self.table

    def moved(self, device: Any) -> Self:
        """The same sums on another device."""
        if self.table.is_meta:
            return self.zeros(self.on, device, floats=self.floats)
        codes, rows, table = (part.to(_home(device)) for part in self.parts)
        return replace(self, codes=codes, rows=rows, table=table)

    def flat(self) -> "torch.Tensor":
        """All bits of the sums as int64, one part after the other."""
        import torch

        return torch.cat([part.reshape(-1).view(torch.int64) for part in self.parts])

    def filled(self, flat: "torch.Tensor") -> Self:
        """These bits as sums of the same kind, in memory of their own; bits that are sums of no rows are refused."""
        sizes = [part.numel() for part in self.parts]
        if len(flat) != sum(sizes):
            raise InputError(_DAMAGED.format(f"it has {len(flat)} sums in place of {sum(sizes)}"))
        pieces = flat.detach().to(flat.device if self.table.is_meta else self.table.device, copy=True).split(sizes)
        codes, rows, table = (piece.view(part.dtype).view(part.shape) for piece, part in zip(pieces, self.parts, strict=True))
        sums = replace(self, codes=codes, rows=rows, table=table)
        fault = "a count is below 0" if int(codes.min()) < 0 else fault_of(sums._collected())
        if fault:
            raise InputError(_DAMAGED.format(fault))
        return sums

    def update(self, y: "torch.Tensor", f: "torch.Tensor", w: "torch.Tensor | None" = None) -> None:
        """Add rows; all tensors are on the device of the sums."""
        from trueness.engines.torch import host, triton

        if triton.serves(self, y, f, w):
            triton.update(self, y, f)
        elif f.device.type == "cpu":
            for left in host.add_plain(self, y, f, w):
                self._judge(*left)
        else:
            self._judge(y, f, w)

    def _judge(self, y: "torch.Tensor", f: "torch.Tensor", w: "torch.Tensor | None") -> None:
        """Add rows that may have to be left out and counted, by plain operations."""
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
        counts, summary = self.counts(), self._collected(notes)
        raise_refused(counts, summary.n + sum(counts.values()), nan, _NAMES, _REMEDIES)
        if self.floats:
            require_weights(summary.columns.w, summary.columns.w2)
        elif (most := int(self.table[:, 0].cpu().numpy().max())) >= ROWS_OF_A_CELL:
            raise InputError(f"y_prob: {most} rows have nearly the same score; at most 2^32 fit. Call compute sooner.")
        return summary

    def _collected(self, notes: tuple[str, ...] = ()) -> Summary:
        table = self.table.cpu().numpy()
        account: dict[str, Any] = {
            "rejected": by_reason(self.counts()),
            "clipped": int(self.codes[_CODES]),
            "source": tuple(sorted(notes)),
        }
        if self.floats:
            soft = bool(table[:, -1].sum() > 0)
            return float_summary(self.rows.cpu().numpy(), table[:, :-1].T, self.on, soft=soft, **account)
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
    if len(y) != len(f) or len(f) == 0 or y.device != f.device or not f.is_floating_point():
        return None
    if not (reads_dtype(y) and reads_dtype(f)):
        return None
    parts = []
    for start in range(0, len(f), SEGMENT):
        rows = slice(start, start + SEGMENT)
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

    before, extra = on.extra_before.astype(np.int64), on.extra_padded.copy()  # a tensor may write to its memory
    return torch.as_tensor(before, device=device), torch.as_tensor(extra, device=device)


def _home(device: "torch.device") -> Any:
    """Where the sums of tensors on a device are kept: by the host for Apple's, which have no float64."""
    return "cpu" if device.type == "mps" else device


def _place(code: int) -> int:
    """Where a code is counted: 0, then the negative ones downwards, then the positive ones."""
    return -code if code <= 0 else _NEGATIVE + code


def tolerance_of(x: "torch.Tensor") -> float:
    """How far beyond 0 and 1 rounding may carry a tensor's values."""
    return _TOLERANCE.get(str(x.dtype).removeprefix("torch."), 0.0)
