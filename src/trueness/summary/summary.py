"""Summary: the sums per cell of the ruler from which every metric is computed; summaries add.

Only cells that hold rows are kept. Hard labels without weights are summed in integers, so that any chunking, thread count,
merge order, engine or machine gives the same bits; weights or soft labels are summed in float64.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trueness._again import Again
from trueness._types import Floats, Ints
from trueness.errors import SummaryError
from trueness.summary.columns import FLOAT_SUMS, INTEGER_SUMS, NUMERATOR_BITS, FloatColumns, IntegerColumns, Moments
from trueness.summary.ruler import Ruler, ruler

_CARRY = tuple((7 * label + 2 * j, 7 * label + 2 * j - 1) for label in (0, 1) for j in (1, 2, 3))

FEW_ROWS = 30


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
    rejected: dict[str, int] = field(default_factory=dict)
    clipped: int = 0
    source: tuple[str, ...] = ()
    again: Again | None = field(default=None, repr=False)  # reads the rows again; forgotten when added or saved
    found: dict[str, Any] = field(default_factory=dict, repr=False)  # what such a reading has found

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

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the fields, not what was worked out from them."""
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"again": None, "found": {}}

    def __repr__(self) -> str:
        kind = "integer sums" if self.exact else "float sums, " + ("soft labels" if self.soft else "weights")
        return f"<Summary of {self.n} rows in {len(self.cells)} of {self.ruler.cells} cells, {kind}>"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know of the rows."""
        notes = list(self.source)
        if self.clipped:
            notes.append(f"{self.clipped} values beyond 0 or 1 by at most 4 units in the last place were set to 0 or 1")
        notes += [f"{count} {'row' if count == 1 else 'rows'} not used: {reason}" for reason, count in self.rejected.items()]
        if self.n < FEW_ROWS:
            notes.append(f"too few rows: {self.n}")
        if self.n == 0:
            return tuple(notes)
        if not self.columns.wy2.any():
            notes.append("only one class: no outcome is 1")
        elif np.array_equal(self.columns.wy2, self.columns.w):
            notes.append("only one class: every outcome is 1")
        if np.all(np.isin(self.moments.mean, (0.0, 1.0))):
            swapped = " Outcomes are not: were y_true and y_prob swapped?" if self.soft else ""
            notes.append(f"predictions are all 0 or 1: are these class labels?{swapped}")
        return tuple(notes)

    @cached_property
    def columns(self) -> FloatColumns | IntegerColumns:
        """The sums as float64 columns, whatever the kind of the summary."""
        return (IntegerColumns if self.exact else FloatColumns)(self.sums, *self._slots)

    @cached_property
    def moments(self) -> Moments:
        """The sums around each cell's mean score."""
        return Moments(self.columns, *self._slots)

    @cached_property
    def _slots(self) -> tuple[Floats, Floats]:
        return self.ruler.k[self.cells], self.ruler.unit[self.cells]

    def of_cells(self, kept: NDArray[np.bool_]) -> Self:
        """The rows of some cells."""
        return replace(self, cells=self.cells[kept], rows=self.rows[kept], sums=self.sums[:, kept], again=None, found={})

    def as_float(self) -> Self:
        """The same rows in a float summary."""
        return replace(self, sums=np.array([getattr(self.columns, name) for name in FLOAT_SUMS])) if self.exact else self

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
            rejected={k: a.rejected.get(k, 0) + b.rejected.get(k, 0) for k in sorted({*a.rejected, *b.rejected})},
            clipped=a.clipped + b.clipped,
            source=tuple(sorted({*a.source, *b.source})),
            again=None,
            found={},
        )

    __radd__ = __add__

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the summary to a file that `Summary.load` reads; the file appears whole or not at all."""
        from trueness._atomic import write_atomically
        from trueness.summary.file import encode

        write_atomically(path, encode(self))

    @classmethod
    def from_frame(cls, frame: Any, *, nan: str = "raise") -> Any:
        """What the query of `trueness.sql` has returned, as a summary, or as {group: Summary} where it has groups.

        `nan` says whether rows with a missing value are refused or left out and counted, as for `summarize`.
        """
        from trueness.engines.sql.returned import from_frame

        return from_frame(frame, nan=nan)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Summary":
        """Read a summary; a file that is damaged or something else is an error, never a number."""
        from trueness.summary.file import decode

        with open(path, "rb") as file:
            return decode(file.read(), os.fspath(path))


class Groups(dict[Any, Summary]):
    """Summaries by group, and how the rows of all groups are read again as one."""

    def __init__(self, found: Mapping[Any, Summary], again: Again | None = None) -> None:
        super().__init__(found)
        self.again, self.n = again, sum(summary.n for summary in found.values())

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def whole_of(groups: Mapping[Any, Summary]) -> Summary:
    """The summary of the rows of all groups."""
    parts = list(groups.values())
    while len(parts) > 1:  # as a tree: small summaries are added to small ones
        parts = [sum(parts[k + 1 : k + 2], start=parts[k]) for k in range(0, len(parts), 2)]
    (whole,) = parts
    if isinstance(groups, Groups) and not whole.exponent and whole.n == groups.n:  # none was taken out or put in since
        return replace(whole, again=groups.again)
    return whole


def _added(a: Summary, b: Summary) -> dict[str, Any]:
    """Cells, rows, sums and exponent of two summaries of one kind added."""
    if len(a.cells) == 0 or len(b.cells) == 0:
        part = a if len(a.cells) else b
        return {"cells": part.cells, "rows": part.rows, "sums": part.sums, "exponent": part.exponent}
    exponent = max(a.exponent, b.exponent)
    held = np.zeros(a.ruler.cells, dtype=bool)
    held[a.cells] = held[b.cells] = True
    cells, place = np.flatnonzero(held), np.cumsum(held) - 1
    rows = np.zeros(len(cells), dtype=np.int64)
    sums = np.zeros((len(a.sums), len(cells)), dtype=a.sums.dtype)
    for part in (a, b):
        at = place[part.cells]
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
    """A summary from int64 sums [row, 4·label + (n, R1, R2, R3)], R_j = Σ floor(r^j·2^31 + ½), rows as `row_of_cell`."""
    count = (table[:, 0] + table[:, 4])[on.row_of_cell]
    cells = np.flatnonzero(count)
    held = table[on.row_of_cell[cells]].T
    sums = np.empty((2, len(INTEGER_SUMS), len(cells)), dtype=np.int64)
    for label in (0, 1):
        n, *powers = held[4 * label : 4 * label + 4]
        sums[label, 0] = n
        for j, power in enumerate(powers):
            sums[label, 2 * j + 1] = power >> NUMERATOR_BITS
            sums[label, 2 * j + 2] = power & (2**NUMERATOR_BITS - 1)
    return Summary(ruler=on, cells=cells, sums=sums.reshape(14, len(cells)), rows=count[cells], **facts)


def float_summary(rows: Ints, table: Floats, on: Ruler, **facts: Any) -> Summary:
    """A summary from float64 sums [column, cell], and the number of rows in each cell."""
    cells = np.flatnonzero(rows)
    return Summary(ruler=on, cells=cells, sums=table[:, cells], rows=rows[cells], **facts)


def empty_summary(on: Ruler | None = None) -> Summary:
    """A summary of no rows: what a reduction starts from."""
    none = np.zeros(0, dtype=np.int64)
    return Summary(ruler=on or ruler(), cells=none, sums=np.zeros((14, 0), dtype=np.int64), rows=none)
