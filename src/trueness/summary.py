"""Summary: the sums per cell of the ruler from which every metric is computed; summaries add.

Only cells that hold rows are kept. Hard labels without weights are summed in integers, so that any chunking, thread count,
merge order, engine or machine gives the same bits; weights or soft labels are summed in float64.
"""

import hashlib
import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trueness.errors import SummaryError
from trueness.ruler import Floats, Ints, Ruler, ruler

# Integer sums per cell, for label 0 and then for label 1. R_j = Σ floor(r^j·2^31 + ½) / 2^31 is kept as a whole part and a
# numerator below 2^31: a single int64 would overflow beyond 2^32 rows in a cell.
INTEGER_SUMS = ("n", "R1", "R1_numerator", "R2", "R2_numerator", "R3", "R3_numerator")
NUMERATOR_BITS = 31
_CARRY = tuple((7 * label + 2 * j, 7 * label + 2 * j - 1) for label in (0, 1) for j in (1, 2, 3))

# Float sums per cell; r is the position in the dyadic slot, e = y − f formed row by row so that f = y gives exactly 0.
FLOAT_SUMS = ("w", "wr", "wr2", "we", "wer", "wer2", "wy2", "we_positive", "w2", "w2f(1-f)", "w2e2")

FEW_ROWS = 30


@dataclass(frozen=True)
class Moments:
    """What the metrics need of each non-empty cell, in float64, around the cell's mean score."""

    weight: Floats  # Σw
    mean: Floats  # mean score
    e: Floats  # Σw(y − f)
    spread: Floats  # Σw(f − mean)²
    e1: Floats  # Σw(y − f)(f − mean)
    e2: Floats  # Σw(y − f)(f − mean)²
    e_positive: Floats  # Σw·max(y − f, 0)
    brier: float  # Σw(y − f)², over all cells
    squared_weight: float  # Σw²
    binomial_variance: float  # Σw²f(1 − f)
    residual_variance: float  # Σw²(y − f)²


@dataclass(frozen=True, kw_only=True, eq=False)
class Summary:
    """Sums over the cells of the ruler: all that a metric needs to know of any number of rows.

    Make one with `summarize`; add with ``+`` or ``sum([...])``. Two summaries are equal when ruler and sums are; how the
    rows came (notes, rejected rows) does not enter.
    """

    ruler: Ruler
    cells: Ints  # indices of the cells that hold rows, ascending
    sums: NDArray[Any]  # int64 (cells, 14), or float64 (cells, 11)
    rows: Ints  # rows of positive weight in each cell
    soft: bool = False  # some outcome is strictly between 0 and 1
    exponent: int = 0  # weights were multiplied by 2^-exponent (extreme weights only)
    rejected: MappingProxyType[str, int] = field(default_factory=lambda: MappingProxyType({}))
    clipped: int = 0
    source: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the sums are integers (hard labels, no weights)."""
        return self.sums.dtype == np.int64

    @property
    def n(self) -> int:
        """Rows used: those of positive weight."""
        return int(self.rows.sum())

    @property
    def rows_in(self) -> int:
        """Rows met, used or not."""
        return self.n + sum(self.rejected.values())

    @cached_property
    def digest(self) -> str:
        """SHA-256 over ruler and sums."""
        h = hashlib.sha256(repr((self.ruler.bins, self.exact, self.soft, self.exponent)).encode())
        for part in (self.cells, self.rows, self.sums):
            h.update(np.ascontiguousarray(part, dtype=part.dtype.newbyteorder("<")).tobytes())
        return h.hexdigest()

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Summary) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        kind = "integer sums" if self.exact else "float sums, " + ("soft labels" if self.soft else "weights")
        return f"<Summary of {self.n} rows in {len(self.cells)} of {self.ruler.cells} cells, {kind}>"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know of the rows."""
        notes = list(self.source)
        if self.clipped:
            notes.append(f"{self.clipped} values beyond 0 or 1 by at most 4 units in the last place were set to 0 or 1")
        notes += [f"{count} rows not used: {reason}" for reason, count in self.rejected.items()]
        if self.n < FEW_ROWS:
            notes.append(f"too few rows: {self.n}")
        ones, weight = self.float_sums[:, FLOAT_SUMS.index("wy2")], self.float_sums[:, FLOAT_SUMS.index("w")]
        if not ones.any():
            notes.append("only one class: no outcome is 1")
        elif np.array_equal(ones, weight):
            notes.append("only one class: every outcome is 1")
        if np.all(np.isin(self.moments.mean, (0.0, 1.0))):
            notes.append("predictions are all 0 or 1: are these class labels?")
        return tuple(notes)

    @cached_property
    def moments(self) -> Moments:
        """The sums around each cell's mean score."""
        k, u = self.ruler.k[self.cells], self.ruler.unit[self.cells]
        s = self.float_sums
        w, wr, wr2, we, wer, wer2, wy2, positive, w2, binomial, residual = s.T
        r = np.divide(wr, w, out=np.zeros_like(w), where=w > 0)  # a weight may vanish beside one 1e300 times as large
        # In slot units first, then in units of the score.
        spread = np.maximum(wr2 - wr * r, 0)
        e1 = wer - we * r
        e2 = wer2 - 2 * r * wer + we * r * r
        mean = (k + r) / u
        # Σw(y−f)² = Σwy² − Σwf² − 2Σwf(y−f)
        square = w * mean * mean + spread / u**2
        brier = float((wy2 - square - 2 * (we * mean + e1 / u)).sum())
        return Moments(
            weight=w,
            mean=mean,
            e=we,
            spread=spread / u**2,
            e1=e1 / u,
            e2=e2 / u**2,
            e_positive=positive,
            brier=max(brier, 0.0),
            squared_weight=float(w2.sum()),
            binomial_variance=float(binomial.sum()),
            residual_variance=float(residual.sum()),
        )

    @cached_property
    def float_sums(self) -> Floats:
        """The columns of FLOAT_SUMS, whatever the kind of the summary."""
        if not self.exact:
            return self.sums
        k, u = self.ruler.k[self.cells], self.ruler.unit[self.cells]
        per_label = self.sums.reshape(-1, 2, 7).astype(np.float64)
        n = per_label[:, :, 0]
        r1, r2, r3 = (per_label[:, :, j] + per_label[:, :, j + 1] * 2.0**-NUMERATOR_BITS for j in (1, 3, 5))
        n0, n1 = n.T
        total = n0 + n1
        t1, t2, t3 = (r.sum(axis=1) for r in (r1, r2, r3))
        # Σf r^j = (k·R_j + R_{j+1}) / u; the integers of j = 0 are combined before they are divided.
        e = (n1 * u - total * k - t1) / u
        er = r1[:, 1] - (k * t1 + t2) / u
        er2 = r2[:, 1] - (k * t2 + t3) / u
        f1 = (n1 * k + r1[:, 1]) / u
        f0 = (n0 * k + r1[:, 0]) / u
        ff0, ff1 = (n.T * k**2 + 2 * k * r1.T + r2.T) / u**2
        binomial = (f0 + f1) - (ff0 + ff1)
        residual = (n1 - 2 * f1 + ff1) + ff0
        return np.column_stack([total, t1, t2, e, er, er2, n1, n1 - f1, total, binomial, residual])

    def as_float(self) -> Self:
        """The same rows in a float summary."""
        return replace(self, sums=self.float_sums) if self.exact else self

    def __add__(self, other: object) -> Self:
        if isinstance(other, int) and other == 0:  # sum([...]) starts from 0
            return self
        if not isinstance(other, Summary):
            return NotImplemented
        if self.ruler != other.ruler:
            raise SummaryError(
                f"summaries on different rulers do not add: bins={self.ruler.bins} and bins={other.ruler.bins}. "
                "Summarize both with the same bins=."
            )
        a, b = (self, other) if self.exact == other.exact else (self.as_float(), other.as_float())
        return replace(
            a,
            **_added(a, b),
            soft=a.soft or b.soft,
            rejected=MappingProxyType(
                {k: a.rejected.get(k, 0) + b.rejected.get(k, 0) for k in sorted({*a.rejected, *b.rejected})}
            ),
            clipped=a.clipped + b.clipped,
            source=tuple(sorted({*a.source, *b.source})),
        )

    __radd__ = __add__

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the summary to a file that `Summary.load` reads; the file appears whole or not at all."""
        from trueness._summary_file import encode
        from trueness._write import write_atomically

        write_atomically(path, encode(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Summary":
        """Read a summary; a file that is damaged or something else is an error, never a number."""
        from trueness._summary_file import decode

        with open(path, "rb") as file:
            return decode(file.read(), os.fspath(path))


def _added(a: Summary, b: Summary) -> dict[str, Any]:
    """Cells, rows, sums and exponent of two summaries of one kind added."""
    exponent = max((part.exponent for part in (a, b) if len(part.cells)), default=0)
    cells = np.union1d(a.cells, b.cells)
    rows = np.zeros(len(cells), dtype=np.int64)
    sums = np.zeros((len(cells), a.sums.shape[1]), dtype=a.sums.dtype)
    for part in (a, b):
        at = np.searchsorted(cells, part.cells)
        rows[at] += part.rows
        sums[at] += scale_weights(part.sums, part.exponent - exponent)
    carry(sums)
    return {"cells": cells, "rows": rows, "sums": sums, "exponent": exponent}


def carry(sums: NDArray[Any]) -> None:
    """Bring every numerator of integer sums below 2^31 again, in place."""
    if sums.dtype != np.int64:
        return
    for numerator, whole in _CARRY:
        sums[:, whole] += sums[:, numerator] >> NUMERATOR_BITS
        sums[:, numerator] &= 2**NUMERATOR_BITS - 1


def scale_weights(sums: NDArray[Any], exponent: int) -> NDArray[Any]:
    """Float sums as if every weight had been multiplied by 2^exponent."""
    if exponent == 0:
        return sums
    power = np.where([name.startswith("w2") for name in FLOAT_SUMS], 2, 1)
    return np.asarray(np.ldexp(sums, exponent * power))


def integer_summary(table: Ints, on: Ruler, **facts: Any) -> Summary:
    """A summary from int64 sums per label and cell, shape (2, 4, cells): n and the three sums of floor(r^j·2^31 + ½)."""
    count = table[0, 0] + table[1, 0]
    cells = np.flatnonzero(count)
    columns = []
    for label in (0, 1):
        n, *sums = table[label][:, cells]
        columns.append(n)
        for s in sums:
            columns += [s >> NUMERATOR_BITS, s & (2**NUMERATOR_BITS - 1)]
    return Summary(ruler=on, cells=cells, sums=np.column_stack(columns), rows=count[cells], **facts)


def float_summary(rows: Ints, table: Floats, on: Ruler, **facts: Any) -> Summary:
    """A summary from float64 sums per cell, shape (11, cells), and the number of rows in each."""
    cells = np.flatnonzero(rows)
    return Summary(ruler=on, cells=cells, sums=np.ascontiguousarray(table[:, cells].T), rows=rows[cells], **facts)


def empty_summary(on: Ruler | None = None) -> Summary:
    """A summary of no rows: what a reduction starts from."""
    none = np.zeros(0, dtype=np.int64)
    return Summary(ruler=on or ruler(), cells=none, sums=np.zeros((0, 14), dtype=np.int64), rows=none)
