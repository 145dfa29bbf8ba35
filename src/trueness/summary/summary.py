"""Summary: the sums per cell of the ruler from which every metric is computed; summaries add.

Only cells that hold rows are kept. Hard labels without weights are summed in integers, so that any chunking, thread count,
merge order, engine or machine gives the same bits; weights or soft labels are summed in float64.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trueness._frozen import FrozenMapping, frozen
from trueness._types import Floats, Ints
from trueness.errors import SummaryError
from trueness.options import check_path
from trueness.summary.extremes import Extremes
from trueness.summary.moments import FLOAT_SUMS, INTEGER_SUMS, NUMERATOR_BITS, FloatColumns, IntegerColumns, Moments
from trueness.summary.ruler import Ruler, ruler

if TYPE_CHECKING:
    from trueness.summary.record import Record

_CARRY = tuple((7 * label + 2 * j, 7 * label + 2 * j - 1) for label in (0, 1) for j in (1, 2, 3))

UNREMARKED_ROWS = 30
MOST_ROWS = 2**63 - 1  # that an int64 counts
_COARSE_LOGIT = 1 / 150  # spread of a cell's logits: a tenth of the bandwidth of LS-ECE
_MATTERS = 0.01
_TINIEST = 1e-10  # logits are clipped there


@dataclass(frozen=True, kw_only=True, eq=False)
class Summary:
    """Sums over the cells of the ruler: all that a metric needs to know of any number of rows.

    Make one with `summarize`; add with ``+`` or ``sum([...])``. Two summaries are equal when ruler, sums and extremes are;
    how the rows came (notes, rejected rows) does not enter. A summary is a value: it holds nothing of where its rows came
    from, its arrays cannot be written to, and equal ones give equal answers.
    """

    ruler: Ruler
    cells: Ints  # indices of the cells that hold rows, ascending
    sums: NDArray[Any]  # int64 (14, cells): INTEGER_SUMS of label 0, then of label 1; or float64 (11, cells): FLOAT_SUMS
    rows: Ints  # rows of positive weight in each cell
    soft: bool = False  # some outcome is strictly between 0 and 1
    exponent: int = 0  # weights were multiplied by 2^-exponent (extreme weights only)
    rejected: Mapping[str, int] = field(default_factory=dict)  # rows not used, by the reason
    clipped: int = 0
    source: tuple[str, ...] = ()
    extremes: Extremes | None = None  # of the cumulative differences, where a second pass over the rows told them

    def __post_init__(self) -> None:
        for name in ("cells", "sums", "rows"):
            object.__setattr__(self, name, frozen(getattr(self, name)))  # the caller's own array stays the caller's
        object.__setattr__(self, "rejected", FrozenMapping(self.rejected))

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
        """SHA-256 over ruler, sums and extremes."""
        import hashlib

        h = hashlib.sha256(repr((self.ruler.bins, self.exact, self.soft, self.exponent)).encode())
        h.update(np.array(self.ruler.starts, dtype="<i8").tobytes())
        for part in (self.cells, self.rows, self.sums):
            h.update(np.ascontiguousarray(part, dtype=part.dtype.newbyteorder("<")).tobytes())
        if self.extremes is not None:
            h.update(self.extremes.numbers.astype("<f8").tobytes())
        return h.hexdigest()

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Summary) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the fields, not what was worked out from them."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __repr__(self) -> str:
        kind = "integer sums" if self.exact else "float sums, " + ("soft labels" if self.soft else "weights")
        return f"<Summary of {self.n} rows in {len(self.cells)} of {self.ruler.cells} cells, {kind}>"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know: of the rows, and of what their sums cannot tell."""
        return (*self.notes_on_rows, *self.limits)

    @property
    def limits(self) -> tuple[str, ...]:
        """What the sums tell less well than the rows would."""
        m = self.moments
        # A score's residuals can change a smoothed error by no more than their sizes: those of few scores do not matter.
        size, slope = 2 * m.e_positive - m.e, 1 / np.maximum(m.mean * (1 - m.mean), _TINIEST)
        coarse = slope**2 * m.spread > _COARSE_LOGIT**2 * m.weight
        if self.ruler.starts or not size[coarse].sum() > _MATTERS * size.sum():  # merged cells have a note of their own
            return ()
        end = float(np.minimum(m.mean, 1 - m.mean)[coarse].max())
        return (
            f"{100 * size[coarse].sum() / size.sum():.0f} % of all |y - f| is at scores within {end:.1g} of 0 or 1, where the "
            "cells of a summary are coarse on the logit scale: LS-ECE, and SmoothECE on that scale, need the rows to be exact",
        )

    @property
    def notes_on_rows(self) -> tuple[str, ...]:
        """What a reader of the numbers should know of the rows."""
        notes = list(self.source)
        if self.clipped:
            notes.append(f"{self.clipped} values beyond 0 or 1 by at most 4 units in the last place were set to 0 or 1")
        notes += [f"{count} {'row' if count == 1 else 'rows'} not used: {reason}" for reason, count in self.rejected.items()]
        if self.ruler.starts and len(self.cells):
            width = float(np.diff(self.ruler.edges)[self.cells].max())
            notes.append(f"cells were merged, each to at least {int(self.rows.min())} rows; the widest is {width:.2g} wide")
        if self.n < UNREMARKED_ROWS:
            notes.append(f"too few rows: {self.n}")
        if self.n == 0:
            return tuple(notes)
        if not self.columns.wy2.any():
            notes.append("only one class: no outcome is 1")
        elif np.array_equal(self.columns.wy2, self.columns.w):
            notes.append("only one class: every outcome is 1")
        if self.soft and not self.columns.w2e2.any():
            notes.append("every outcome equals its prediction: was one column passed as both?")
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

    def of_cells(self, kept: NDArray[np.bool_]) -> "Summary":
        """The rows of some cells."""
        return replace(self, cells=self.cells[kept], rows=self.rows[kept], sums=self.sums[:, kept], extremes=None)

    def without_labels(self, zeros: NDArray[np.bool_], ones: NDArray[np.bool_]) -> "Summary":
        """Integer sums without the rows of label 0 in some cells, and of label 1 in others."""
        sums, width = self.sums.copy(), len(INTEGER_SUMS)
        sums[:width, zeros] = 0
        sums[width:, ones] = 0
        rows = sums[0] + sums[width]
        return replace(self, sums=sums, rows=rows, extremes=None).of_cells(rows > 0)

    def as_float(self) -> "Summary":
        """The same rows in a float summary."""
        return replace(self, sums=np.array([getattr(self.columns, name) for name in FLOAT_SUMS])) if self.exact else self

    def __add__(self, other: object) -> "Summary":
        if isinstance(other, int) and other == 0:  # sum([...]) starts from 0
            return self
        if not isinstance(other, Summary):
            return NotImplemented
        return added([self, other])

    __radd__ = __add__

    def coarsen(self, *, min_rows: int) -> "Summary":
        """The same rows in wider cells, none of which holds fewer rows than that: for summaries that leave the house.

        Neighbouring cells are merged, as few as will do; edges of 64 bins are given up first where they must be, then those
        of 100 and 10 bins, of ``bins=``, and of 15 last. Rows, outcomes and means stay what they were (a sum of scores to
        2·10⁻¹⁰ of its cell's width), and so do binned errors for bins whose edges are left; other bins raise an error. C is
        read at fewer edges, with a wider bracket, and smooth measures see a merged cell's rows by their mean and spread:
        good where it is narrow beside the bandwidth. Extremes, which tell scores of rows, are left out. Coarsened summaries
        add to those with the same cells alone: add first, then coarsen.

        Parameters
        ----------
        min_rows : int
            The fewest rows that a cell may hold.

        Examples
        --------
        >>> from trueness import summarize
        >>> summarize([0, 1, 1, 0], [0.2, 0.201, 0.7, 0.701]).coarsen(min_rows=2)
        <Summary of 4 rows in 2 of 48712 cells, integer sums>
        """
        from trueness.summary.coarse import coarser_ruler

        return self.moved(coarser_ruler(self.ruler, {None: (self.cells, self.rows)}, min_rows))

    def moved(self, to: Ruler) -> "Summary":
        """The same rows on a ruler that has some of the edges of this one's; extremes are left out."""
        from trueness.summary.coarse import CoarseRuler, moved

        if not isinstance(to, CoarseRuler) or to == self.ruler:
            return replace(self, extremes=None)
        if not len(self.cells):
            return replace(self, ruler=to)
        cells, rows, sums = moved(self.cells, self.rows, self.sums, self.ruler, to)
        return replace(self, ruler=to, cells=cells, rows=rows, sums=sums, extremes=None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the summary to a file that `Summary.load` reads; the file appears whole or not at all."""
        from trueness._atomic import write_atomically
        from trueness.summary.file import encode

        write_atomically(check_path("path", path), encode(self))

    @classmethod
    def from_frame(cls, frame: Any, *, nan: str = "raise") -> "Summary | Record":
        """What the query of `trueness.sql` has returned, as a summary, or as a record where it has groups.

        `nan` says whether rows with a missing value are refused or left out and counted, as for `summarize`.
        """
        from trueness.engines.sql.returned import from_frame

        return from_frame(frame, nan=nan)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Summary":
        """Read a summary; a file that is damaged or something else is an error, never a number."""
        from trueness.summary.file import decode

        path = check_path("path", path)
        with open(path, "rb") as file:
            return decode(file.read(), path)


def added(parts: Sequence[Summary]) -> Summary:
    """Summaries, one or more, on one ruler as one. Extremes are not known of the sum, only of its parts."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    for part in parts:
        if part.ruler is not first.ruler and part.ruler != first.ruler:
            raise SummaryError(
                f"summaries on different rulers do not add: {first.ruler.shown} and {part.ruler.shown}. "
                "Summarize both with the same bins=; add before coarsening."
            )
    if (n := sum(part.rows_in for part in parts)) > MOST_ROWS:
        raise SummaryError(f"the summaries were made from {n} rows together, more than 2^63 - 1. Keep them apart.")
    if (clipped := sum(part.clipped for part in parts)) > MOST_ROWS:
        raise SummaryError(f"the summaries hold {clipped} clipped values together, more than 2^63 - 1. Keep them apart.")
    if not all(part.exact for part in parts):
        parts = [part.as_float() for part in parts]
    return replace(
        first,
        **_added_sums(parts),
        soft=any(part.soft for part in parts),
        rejected=_added_counts([part.rejected for part in parts]),
        clipped=clipped,
        source=tuple(sorted(set().union(*(part.source for part in parts)))),
        extremes=None,
    )


def _added_counts(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in counts:
        for reason, rows in each.items():
            total[reason] = total.get(reason, 0) + rows
    return dict(sorted(total.items()))


def _added_sums(parts: Sequence[Summary]) -> dict[str, Any]:
    """Cells, rows, sums and exponent of summaries of one kind added."""
    filled = [part for part in parts if len(part.cells)]
    if len(filled) <= 1:
        part = (filled or parts)[0]
        return {"cells": part.cells, "rows": part.rows, "sums": part.sums, "exponent": part.exponent}
    exponent = max(part.exponent for part in filled)
    occupied = np.zeros(parts[0].ruler.cells, dtype=bool)
    for part in filled:
        occupied[part.cells] = True
    cells, place = np.flatnonzero(occupied), np.cumsum(occupied) - 1
    rows = np.zeros(len(cells), dtype=np.int64)
    sums = np.zeros((len(parts[0].sums), len(cells)), dtype=parts[0].sums.dtype)
    for part in filled:
        index = place[part.cells]
        rows[index] += part.rows
        sums[:, index] += scale_weights(part.sums, part.exponent - exponent)
    carry(sums)
    return {"cells": cells, "rows": rows, "sums": sums, "exponent": exponent}


def carry(sums: NDArray[Any]) -> None:
    """Bring every numerator of integer sums below 2^31 again, in place."""
    if sums.dtype != np.int64:
        return
    for numerator, units in _CARRY:
        sums[units] += sums[numerator] >> NUMERATOR_BITS
        sums[numerator] &= 2**NUMERATOR_BITS - 1


def scale_weights(sums: NDArray[Any], exponent: int) -> NDArray[Any]:
    """Float sums as if every weight had been multiplied by 2^exponent."""
    if exponent == 0:
        return sums
    power = np.where([name.startswith("w2") for name in FLOAT_SUMS], 2, 1)
    return np.asarray(np.ldexp(sums, exponent * power[:, None]))


def integer_summary(table: Ints, on: Ruler, **fields: Any) -> Summary:
    """A summary from int64 sums [row, 4·label + (n, R1, R2, R3)], R_j = Σ floor(r^j·2^31 + ½), rows as `row_of_cell`."""
    cells = np.flatnonzero((table[:, 0] + table[:, 4])[on.row_of_cell])
    return summary_of_cells(cells, table[on.row_of_cell[cells]].T, on, **fields)


def summary_of_cells(cells: Ints, by_sum: Ints, on: Ruler, **fields: Any) -> Summary:
    """The same from the sums [4·label + (n, R1, R2, R3), cell] of the cells that hold rows."""
    sums = np.empty((2, len(INTEGER_SUMS), len(cells)), dtype=np.int64)
    for label in (0, 1):
        n, *powers = by_sum[4 * label : 4 * label + 4]
        sums[label, 0] = n
        for j, power in enumerate(powers):
            sums[label, 2 * j + 1] = power >> NUMERATOR_BITS
            sums[label, 2 * j + 2] = power & (2**NUMERATOR_BITS - 1)
    return Summary(ruler=on, cells=cells, sums=sums.reshape(14, len(cells)), rows=by_sum[0] + by_sum[4], **fields)


def float_summary(rows: Ints, table: Floats, on: Ruler, **fields: Any) -> Summary:
    """A summary from float64 sums [column, cell], and the number of rows in each cell."""
    cells = np.flatnonzero(rows)
    return Summary(ruler=on, cells=cells, sums=table[:, cells], rows=rows[cells], **fields)


def empty_summary(on: Ruler | None = None) -> Summary:
    """A summary of no rows: what a reduction starts from."""
    none = np.zeros(0, dtype=np.int64)
    return Summary(ruler=on or ruler(), cells=none, sums=np.zeros((14, 0), dtype=np.int64), rows=none)
