"""Summary: the sums per cell of the ruler from which every metric is computed; summaries add.

Only cells that hold rows are kept. Hard labels without weights are summed in integers, so that any chunking, thread count,
merge order, engine or machine gives the same bits; weights or soft labels are summed in float64.
"""

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
    sums: NDArray[Any]  # int64 (14, cells): INTEGER_SUMS of label 0, then of label 1; or float64 (11, cells): FLOAT_SUMS
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
        import hashlib

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
        if self.n == 0:
            return tuple(notes)
        ones, weight = (self.float_sums[FLOAT_SUMS.index(name)] for name in ("wy2", "w"))
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
        w, wr, wr2, we, wer, wer2, wy2, positive, w2, binomial, residual = self.float_sums
        r = np.divide(wr, w, out=np.zeros_like(w), where=w > 0)  # a weight may vanish beside one 1e300 times as large
        # In slot units first, then in units of the score.
        spread = np.maximum(wr2 - wr * r, 0)
        e1 = wer - we * r
        e2 = wer2 - 2 * r * wer + we * r * r
        mean = (k + r) / u
        if np.array_equal(w, w2):  # weights of one: Σw²(y−f)² is at hand
            brier = float(residual.sum())
        else:  # Σw(y−f)² = Σwy² − Σwf² − 2Σwf(y−f)
            brier = float((wy2 - w * mean * mean - spread / u**2 - 2 * (we * mean + e1 / u)).sum())
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
        """The rows of FLOAT_SUMS, whatever the kind of the summary."""
        if not self.exact:
            return self.sums
        k, u = self.ruler.k[self.cells], self.ruler.unit[self.cells]
        unit = 1 / u  # exact: u is a power of two
        values = self.sums.astype(np.float64)
        n0, *zeros = values[0], *(values[j] + values[j + 1] * 2.0**-NUMERATOR_BITS for j in (1, 3, 5))
        n1, *ones = values[7], *(values[j] + values[j + 1] * 2.0**-NUMERATOR_BITS for j in (8, 10, 12))
        n = n0 + n1
        r1, r2, r3 = (zero + one for zero, one in zip(zeros, ones, strict=True))
        s = np.empty((len(FLOAT_SUMS), len(k)))
        s[0], s[1], s[2], s[6], s[8] = n, r1, r2, n1, n
        # Σf r^j = (k·R_j + R_{j+1}) / u; the integers of j = 0 are combined before they are divided.
        s[3] = (n1 * u - n * k - r1) * unit
        s[4] = ones[0] - (k * r1 + r2) * unit
        s[5] = ones[1] - (k * r2 + r3) * unit
        f1 = (n1 * k + ones[0]) * unit  # Σf of the rows with label 1
        f, ff = (n * k + r1) * unit, ((n * k + 2 * r1) * k + r2) * unit**2  # Σf and Σf² of all
        s[7] = n1 - f1
        s[9] = f - ff
        s[10] = n1 - 2 * f1 + ff
        return s

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
    if len(a.cells) == 0 or len(b.cells) == 0:
        part = a if len(a.cells) else b
        return {"cells": part.cells, "rows": part.rows, "sums": part.sums, "exponent": part.exponent}
    exponent = max(a.exponent, b.exponent)
    cells = a.cells if np.array_equal(a.cells, b.cells) else np.union1d(a.cells, b.cells)
    rows = np.zeros(len(cells), dtype=np.int64)
    sums = np.zeros((len(a.sums), len(cells)), dtype=a.sums.dtype)
    for part in (a, b):
        at = np.searchsorted(cells, part.cells)
        rows[at] += part.rows
        sums[:, at] += scale_weights(part.sums, part.exponent - exponent)
    carry(sums)
    return {"cells": cells, "rows": rows, "sums": sums, "exponent": exponent}


def carry(sums: NDArray[Any]) -> None:
    """Bring every numerator of integer sums below 2^31 again, in place."""
    if sums.dtype != np.int64:
        return
    for numerator, whole in _CARRY:
        sums[whole] += sums[numerator] >> NUMERATOR_BITS
        sums[numerator] &= 2**NUMERATOR_BITS - 1


def scale_weights(sums: NDArray[Any], exponent: int) -> NDArray[Any]:
    """Float sums as if every weight had been multiplied by 2^exponent."""
    if exponent == 0:
        return sums
    power = np.where([name.startswith("w2") for name in FLOAT_SUMS], 2, 1)
    return np.asarray(np.ldexp(sums, exponent * power[:, None]))


def integer_summary(table: Ints, on: Ruler, **facts: Any) -> Summary:
    """A summary from int64 sums [label, (n, R1, R2, R3), row], where R_j = Σ floor(r^j·2^31 + ½) and rows are those of
    `Ruler.row_of_cell`."""
    count = (table[0, 0] + table[1, 0])[on.row_of_cell]
    cells = np.flatnonzero(count)
    sums = np.empty((2, len(INTEGER_SUMS), len(cells)), dtype=np.int64)
    for label, j in np.ndindex(2, 4):
        held = table[label, j, on.row_of_cell[cells]]
        if j == 0:
            sums[label, 0] = held
        else:
            sums[label, 2 * j - 1] = held >> NUMERATOR_BITS
            sums[label, 2 * j] = held & (2**NUMERATOR_BITS - 1)
    return Summary(ruler=on, cells=cells, sums=sums.reshape(14, len(cells)), rows=count[cells], **facts)


def float_summary(rows: Ints, table: Floats, on: Ruler, **facts: Any) -> Summary:
    """A summary from float64 sums [column, cell], and the number of rows in each cell."""
    cells = np.flatnonzero(rows)
    return Summary(ruler=on, cells=cells, sums=table[:, cells], rows=rows[cells], **facts)


def empty_summary(on: Ruler | None = None) -> Summary:
    """A summary of no rows: what a reduction starts from."""
    none = np.zeros(0, dtype=np.int64)
    return Summary(ruler=on or ruler(), cells=none, sums=np.zeros((14, 0), dtype=np.int64), rows=none)
