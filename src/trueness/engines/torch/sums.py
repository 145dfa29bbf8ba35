"""Tensors → Summary on the device that holds them: the sums stay there, and only they come back.

Plain operations of PyTorch, each rounded by itself; on CUDA a fused kernel where Triton is there. Both give NumPy's bits.
"""

from typing import Any

import numpy as np

from trueness.engines.expressions import ROWS_OF_A_CELL, require_weights
from trueness.errors import InputError
from trueness.inputs.faults import FAULTS, OUTCOME, PREDICTION, SOFT, ZERO, Role, by_reason, raise_refused, refused
from trueness.inputs.remedies import Words
from trueness.summary.columns import FLOAT_SUMS
from trueness.summary.ruler import COARSE, END, FINE, ZONE_OFFSET, Ruler
from trueness.summary.summary import Summary, float_summary, integer_summary

_CHUNK = 1 << 22  # rows worked on at a time
_SEGMENT = 1 << 31  # rows whose int64 sums cannot overflow
_CODES, _NEGATIVE = len(FAULTS) + 1, -min(FAULTS)  # codes, 0 among them, and how many are negative
_TOLERANCE = {"float16": 4 * 2.0**-10, "bfloat16": 4 * 2.0**-7, "float32": 4 * 2.0**-23, "float64": 4 * 2.0**-52}
_NAMES: dict[Role, str] = {"prediction": "y_prob", "outcome": "y_true", "weight": "sample_weight"}
_REMEDIES = {
    PREDICTION[1]: Words.plain("If these are logits, pass from_logits=True."),
    OUTCOME[1]: Words.plain("Pass outcomes in [0, 1]."),
}


class TensorSums:
    """Sums over cells on one device; `update` never waits for the device."""

    def __init__(self, on: Ruler, device: Any, *, floats: bool) -> None:
        import torch

        self.on, self.floats = on, floats
        self.codes = torch.zeros(_CODES + 1, dtype=torch.int64, device=device)  # by code, the clipped values last
        if floats:
            self.rows = torch.zeros(on.cells, dtype=torch.int64, device=device)
            self.table = torch.zeros((on.cells, len(FLOAT_SUMS) + 1), dtype=torch.float64, device=device)
        else:
            self.rows = torch.zeros(0, dtype=torch.int64, device=device)
            self.table = torch.zeros((2 * on.cells, 4), dtype=torch.int64, device=device)
        self._extra = torch.as_tensor(on.extra, device=device)

    def update(self, y: Any, f: Any, w: Any = None) -> None:
        """Add rows; all tensors are on the device of the sums."""
        from trueness.engines.torch import triton

        if triton.serves(self, y, f, w):
            triton.update(self, y, f)
            return
        for start in range(0, len(f), _CHUNK):
            part = slice(start, start + _CHUNK)
            self._add(y[part], f[part], None if w is None else w[part])

    def _add(self, y: Any, f: Any, w: Any) -> None:
        import torch

        f_near, y_near = tolerance_of(f), tolerance_of(y)
        f, y = f.to(torch.float64), y.to(torch.float64)
        w = None if w is None else w.to(torch.float64)
        codes = self._judge(y, f, w, y_near, f_near)
        used = codes == 0
        f, y = (torch.where(used, x, torch.zeros_like(x)) for x in (f, y))
        moved = (used & ((f < 0) | (f > 1))).sum() + (used & ((y < 0) | (y > 1))).sum()
        self.codes[:_CODES] += torch.bincount(_index(codes), minlength=_CODES)
        self.codes[_CODES] += moved
        f, y = f.clamp(0.0, 1.0), y.clamp(0.0, 1.0)
        cell, r = self._locate(f)
        if self.floats:
            self._add_floats(cell, r, y, f, used, w)
        else:
            self._add_integers(cell, r, y, used)

    def _judge(self, y: Any, f: Any, w: Any, y_near: float, f_near: float) -> Any:
        """A code for each row, 0 where it can be used; the prediction's fault before the outcome's before the weight's."""
        import torch

        codes = torch.zeros(len(f), dtype=torch.int64, device=f.device)
        if w is not None:
            codes = torch.where(w == 0, ZERO, codes)
            codes = torch.where(w < 0, -5, codes)
            codes = torch.where(torch.isfinite(w), codes, -6)
        if not self.floats:
            inside = (y > 0) & (y < 1)
            codes = torch.where(inside, SOFT, codes)
        for x, near, missing, outside in ((y, y_near, -3, -4), (f, f_near, -1, -2)):
            codes = torch.where((x < -near) | (x > 1 + near), outside, codes)
            codes = torch.where(torch.isfinite(x), codes, missing)
        return codes

    def _locate(self, f: Any) -> tuple[Any, Any]:
        """The cell of each score and its position in the dyadic slot."""
        import torch

        low, high = f < END, f >= 1 - END
        unit = torch.where(low | high, float(FINE), float(COARSE)).to(torch.float64)
        scaled = f * unit
        k = torch.minimum(scaled.floor(), unit - 1)
        offset = torch.where(low, int(ZONE_OFFSET[0]), torch.where(high, int(ZONE_OFFSET[2]), int(ZONE_OFFSET[1])))
        return k.to(torch.int64) + offset + torch.bucketize(f, self._extra, right=True), scaled - k

    def _add_integers(self, cell: Any, r: Any, y: Any, used: Any) -> None:
        import torch

        r2 = r * r
        terms = [torch.floor(power * 2.0**31 + 0.5).to(torch.int64) for power in (r, r2, r2 * r)]
        terms = torch.stack([torch.ones_like(terms[0]), *terms], dim=1) * used.to(torch.int64)[:, None]
        self.table.index_add_(0, 2 * cell + (y >= 0.5).to(torch.int64), terms)

    def _add_floats(self, cell: Any, r: Any, y: Any, f: Any, used: Any, w: Any) -> None:
        import torch

        weight = used.to(torch.float64) if w is None else torch.where(used, w, torch.zeros_like(w))
        e = y - f
        we, ww, rr = weight * e, weight * weight, r * r
        soft = (used & (y > 0) & (y < 1)).to(torch.float64)
        terms = [weight, weight * r, weight * rr, we, we * r, we * rr, weight * (y * y), we.clamp(min=0.0), ww]
        terms += [ww * (f * (1.0 - f)), ww * (e * e), soft]
        self.rows.index_add_(0, cell, used.to(torch.int64))
        self.table.index_add_(0, cell, torch.stack(terms, dim=1))

    def counts(self) -> dict[int, int]:
        """How many rows have each code but 0."""
        codes = self.codes.cpu().numpy()
        return {code: int(codes[_index(code)]) for code in FAULTS}

    def summary(self, *, nan: str = "raise", notes: tuple[str, ...] = ()) -> Summary:
        """The sums so far, brought to the host; raises for rows that are not allowed."""
        counts = self.counts()
        table = self.table.cpu().numpy()
        rows = self.rows.cpu().numpy() if self.floats else table[:, 0]
        raise_refused(counts, int(rows.sum()) + sum(counts.values()), nan, _NAMES, _REMEDIES)
        facts = {"rejected": by_reason(counts), "clipped": int(self.codes[_CODES]), "source": tuple(sorted(notes))}
        if self.floats:
            soft = bool(table[:, -1].sum() > 0)
            require_weights(table[:, FLOAT_SUMS.index("w")], table[:, FLOAT_SUMS.index("w2")])
            return float_summary(rows, table[:, :-1].T, self.on, soft=soft, **facts)
        if int(rows.max()) >= ROWS_OF_A_CELL:
            raise InputError(
                f"y_prob: {int(rows.max())} rows have nearly the same score; at most 2^32 fit. Call compute sooner."
            )
        by_row = np.empty((self.on.cells, 8), dtype=np.int64)
        by_row[self.on.row_of_cell] = table.reshape(self.on.cells, 8)
        return integer_summary(by_row, self.on, **facts)


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


def _reduce_segment(y: Any, f: Any, on: Ruler, nan: str) -> Summary | None:
    for floats in (False, True):
        sums = TensorSums(on, f.device, floats=floats)
        sums.update(y, f)
        counts = sums.counts()
        soft = counts.pop(SOFT)
        if refused(counts, nan):
            return None
        if not soft:
            found = sums.summary(nan=nan)
            return found if found.n else None
    return None


def _index(code: Any) -> Any:
    """Where a code is counted: 0, the reasons -1 … -6, then a soft label and a weight of zero."""
    if isinstance(code, int):
        return -code if code <= 0 else _NEGATIVE + code
    import torch

    return torch.where(code <= 0, -code, _NEGATIVE + code)


def tolerance_of(x: Any) -> float:
    """How far beyond 0 and 1 rounding may carry a tensor's values."""
    return _TOLERANCE.get(str(x.dtype).removeprefix("torch."), 0.0)
