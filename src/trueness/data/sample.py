"""Sample: what a computation is given. Rows or their sums, behind one protocol.

A public function turns its arguments into a sample once (`as_sample`) and hands that on; nothing is read, checked or summed
a second time, and nobody asks which of the two it is.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from trueness._types import Array, Floats, Values
from trueness.data.extremes import SLACK, TIE, Extremes, from_cells, from_rows
from trueness.data.masses import CellMasses, Kind, Masses, RowMasses
from trueness.data.points import (
    FEW_EVENTS,
    FEW_SCORES,
    LARGE_JUMP,
    ROWS,
    Points,
    frequencies,
    has_unit_weights,
    points_of_rows,
    points_of_summary,
)
from trueness.data.scales import Scale
from trueness.engines.arrays.grid import Runs, collapse
from trueness.engines.arrays.summarize import nothing_odd, reduce_rows
from trueness.errors import InputError, NeedsRowsError
from trueness.inputs.rows import Arrays, Rows, read_rows
from trueness.summary.ruler import Ruler, ruler
from trueness.summary.summary import Summary

Names = tuple[str, str, str]
NAMES: Names = ("y_true", "y_prob", "sample_weight")

# Below this many rows a metric works from the rows themselves; above, from their summary as far as that is exact enough.
SMALL = 1 << 17


@dataclass(frozen=True, slots=True)
class Bracket:
    """Certain bounds, (low, high), for the exact cumulative errors of rows known only by their sums."""

    mad: tuple[float, float]
    range: tuple[float, float]


class Contradictions(NamedTuple):
    """How often something happened that was given probability 0: an outcome of 1 at score 0, of 0 at score 1."""

    happened: int
    failed: int

    @property
    def total(self) -> int:
        """Both."""
        return self.happened + self.failed


class Sample(Protocol):
    """Rows, or the sums of rows."""

    @property
    def n(self) -> int:
        """Rows of positive weight."""

    @property
    def soft(self) -> bool:
        """Whether some outcome lies strictly between 0 and 1."""

    @property
    def total(self) -> float:
        """W, the sum of the weights."""

    @property
    def has_rows(self) -> bool:
        """Whether the rows themselves are here."""

    @property
    def small(self) -> bool:
        """Whether the rows are here and so few that a summary would cost more."""

    def summary(self, bins: tuple[int, ...] = ()) -> Summary:
        """The sums, on a ruler that has these bins."""

    def rows(self, what: str, names: Names = NAMES) -> "RowSample":
        """The rows; where there are none an error that says `what` needs them."""

    def points(self, *, rows: bool = False, bins: tuple[int, ...] = (), frequency: bool = False) -> Points:
        """Points to draw from: runs of equal scores where rows are few or asked for, else cells."""

    def cells(self) -> Points:
        """Points for a picture: runs of equal scores of few rows, else cells, whatever the weights."""

    def masses(self, scale: Scale, kinds: tuple[Kind, ...], resolution: float = 0.0) -> Masses:
        """Masses along a scale."""

    @property
    def extremes(self) -> Extremes:
        """The extremes of the cumulative differences: exact where they can be known, else at the edges of cells."""

    @property
    def exact_extremes(self) -> Extremes | None:
        """Those of the rows; None where they are known at the edges of cells alone."""

    @property
    def bracket(self) -> Bracket | None:
        """Bounds for the exact cumulative errors; None where they are known."""

    @property
    def rounding(self) -> float:
        """A range of cumulative differences up to this is rounding."""

    @property
    def variance(self) -> float:
        """Σw²f(1 − f), for soft labels Σw²(y − f)²."""

    @property
    def squares(self) -> float:
        """Σw(y − f)²/W."""

    @property
    def contradictions(self) -> Contradictions:
        """Certain predictions that were wrong."""

    def without_contradictions(self) -> "Sample | None":
        """The other rows; None where none are left."""

    def residual_signs(self, *, frequency: bool = False) -> tuple[int, int]:
        """Residuals above and below 0, repeated rows as often as they count; from sums at least so many."""

    def lowest_score(self, low: float, high: float, *, closed: bool) -> float:
        """The smallest score in (low, high], with `closed` in [low, high]."""


class RowSample:
    """Rows; checked, summed and promoted to float64 only as far as needed."""

    has_rows = True
    bracket = None
    rounding = TIE

    def __init__(self, given: Rows) -> None:
        self.given = given
        self._summaries: dict[Ruler, Summary] = {}

    @property
    def n(self) -> int:
        return len(self.arrays.f)

    @property
    def soft(self) -> bool:
        return self.arrays.soft

    @property
    def small(self) -> bool:
        return len(self.given) <= SMALL

    def summary(self, bins: tuple[int, ...] = ()) -> Summary:
        on = ruler(bins)
        if on not in self._summaries:
            self._summaries[on] = reduce_rows(self.given, on)
        return self._summaries[on]

    @cached_property
    def arrays(self) -> Arrays:
        """Scores, outcomes and weights of the usable rows; scores and weights in float64."""
        n, seen = len(self.given), next(iter(self._summaries.values()), None)
        if self.small or self.given.w is not None:
            return self.given.arrays()
        # A summary has seen every row, or a quick look does: where nothing need change there is no second check.
        if (seen.clipped or seen.n != n) if seen else not nothing_odd(self.given):
            return self.given.arrays()
        f, y = np.asarray(self.given.f.chunk(0, n), dtype=np.float64), _number(self.given.y.chunk(0, n))
        return Arrays(f=f, y=y, w=None, soft=seen.soft if seen else _is_soft(y), clipped=0, rejected={})

    @cached_property
    def total(self) -> float:
        a = self.arrays
        return float(len(a.f)) if a.w is None else float(a.w.sum())

    def rows(self, what: str, names: Names = NAMES) -> "RowSample":
        return self

    @cached_property
    def runs(self) -> Runs:
        """Runs of equal scores."""
        a = self.arrays
        return collapse(a.f, a.y, a.w, soft=a.soft)

    def points(self, *, rows: bool = False, bins: tuple[int, ...] = (), frequency: bool = False) -> Points:
        if frequency and self.given.w is not None:
            frequencies(self.given.w.chunk(0, len(self.given)))
        if frequency or rows or self.n <= ROWS:
            return points_of_rows(self.arrays, frequency=frequency)
        cells = points_of_summary(self.summary(bins))
        # Weighted rows are drawn one by one unless there are many events, many scores and no row that decides alone.
        normal = cells.events >= FEW_EVENTS and cells.jump <= LARGE_JUMP and len(cells.score) >= FEW_SCORES
        return points_of_rows(self.arrays) if cells.weighted and not normal else cells

    def cells(self) -> Points:
        return points_of_rows(self.arrays) if self.n <= ROWS else points_of_summary(self.summary())

    def masses(self, scale: Scale, kinds: tuple[Kind, ...], resolution: float = 0.0) -> Masses:
        return RowMasses(self.arrays, self.total, scale, kinds)

    @cached_property
    def extremes(self) -> Extremes:
        return from_rows(self.arrays, self.total, None if self.small else self.summary())

    @property
    def exact_extremes(self) -> Extremes:
        return self.extremes

    @cached_property
    def variance(self) -> float:
        a = self.arrays
        spread = (a.y - a.f) ** 2 if a.soft else a.f * (1 - a.f)
        return float(np.sum(spread if a.w is None else a.w**2 * spread))

    @property
    def squares(self) -> float:
        a = self.arrays
        squares = (a.y - a.f) ** 2
        return float(squares.mean() if a.w is None else (a.w * squares).sum() / a.w.sum())

    @property
    def contradictions(self) -> Contradictions:
        happened, failed = self._contradicted
        return Contradictions(int(np.count_nonzero(happened)), int(np.count_nonzero(failed)))

    @property
    def _contradicted(self) -> tuple[Array, Array]:
        a = self.arrays
        return (a.f <= 0) & (a.y > 0), (a.f >= 1) & (a.y < 1)

    def without_contradictions(self) -> "Sample | None":
        happened, failed = self._contradicted
        kept = ~(happened | failed)
        return self.taken(kept) if kept.any() else None

    def taken(self, rows: Array) -> "RowSample":
        """Some of the usable rows, by a mask or by their places."""
        a = self.arrays
        return RowSample(read_rows(a.y[rows], a.f[rows], None if a.w is None else a.w[rows]))

    def residual_signs(self, *, frequency: bool = False) -> tuple[int, int]:
        a = self.arrays
        count = a.w if frequency and a.w is not None else np.ones(len(a.f))
        e = a.y - a.f
        return round(float(count[e > 0].sum())), round(float(count[e < 0].sum()))

    def lowest_score(self, low: float, high: float, *, closed: bool) -> float:
        scores = self.arrays.f
        inside = (scores >= low) if closed else (scores > low)
        return float(scores[inside].min(initial=high))


class SummarySample:
    """The sums of rows."""

    has_rows = False
    small = False
    rounding = SLACK

    def __init__(self, sums: Summary) -> None:
        self._sums = sums

    @property
    def n(self) -> int:
        return self._sums.n

    @property
    def soft(self) -> bool:
        return self._sums.soft

    @cached_property
    def total(self) -> float:
        return float(self._sums.moments.weight.sum())

    def summary(self, bins: tuple[int, ...] = ()) -> Summary:
        for count in bins:
            if not self._sums.ruler.has(count):
                raise InputError(
                    f"bins: {count} equal-width bins are not unions of this summary's cells. "
                    f"Summarize again with bins=({count},), or choose a divisor of {2**14}, 100 or 15."
                )
        return self._sums

    def rows(self, what: str, names: Names = NAMES) -> RowSample:
        raise NeedsRowsError(f"{what} needs the rows themselves; a summary does not hold them. Pass {names[0]} and {names[1]}.")

    def points(self, *, rows: bool = False, bins: tuple[int, ...] = (), frequency: bool = False) -> Points:
        if rows:
            self.rows("these options").points()
        if frequency and not has_unit_weights(self._sums):
            raise InputError(
                "weight_kind: a summary of weighted rows does not tell repeated rows from weights. "
                "Pass the rows, or summarize the repeated rows without weights."
            )
        return points_of_summary(self._sums)

    def cells(self) -> Points:
        return points_of_summary(self._sums)

    def masses(self, scale: Scale, kinds: tuple[Kind, ...], resolution: float = 0.0) -> Masses:
        return CellMasses(self._sums, scale, kinds, resolution)

    @cached_property
    def _at_edges(self) -> tuple[Extremes, Extremes]:
        return from_cells(self._sums)

    @property
    def extremes(self) -> Extremes:
        return self.exact_extremes or self._at_edges[0]

    @property
    def exact_extremes(self) -> Extremes | None:
        return None

    @property
    def bracket(self) -> Bracket | None:
        if self.exact_extremes is not None:
            return None
        edges, bounds = self._at_edges
        return Bracket((max(edges.mad - SLACK, 0.0), bounds.mad), (max(edges.range - 2 * SLACK, 0.0), bounds.range))

    @property
    def variance(self) -> float:
        m = self._sums.moments
        return max(m.residual_variance if self.soft else m.binomial_variance, 0.0)

    @property
    def squares(self) -> float:
        return float(self._sums.moments.brier / self.total)

    @cached_property
    def _contradicted(self) -> tuple[Array, Array]:
        """Cells where all scores are as good as 0 or 1 and something else happened."""
        m = self._sums.moments
        return (m.mean <= 0) & (m.e > 0), (m.mean >= 1) & (m.e < 0)

    @property
    def contradictions(self) -> Contradictions:
        e = self._sums.moments.e
        happened, failed = (float(np.abs(e[cells]).sum()) for cells in self._contradicted)
        return Contradictions(math.ceil(happened), math.ceil(failed))

    def without_contradictions(self) -> Sample | None:
        """Rows of these cells that were right add nothing to any sum, so the cells go as a whole."""
        happened, failed = self._contradicted
        kept = ~(happened | failed)
        return SummarySample(self._sums.of_cells(kept)) if kept.any() else None

    def residual_signs(self, *, frequency: bool = False) -> tuple[int, int]:
        """By Cauchy and Schwarz no fewer than (Σw·max(r, 0))²/Σw²r² residuals are above 0."""
        m = self._sums.moments
        above, squares = float(m.e_positive.sum()), float(np.maximum(self._sums.columns.w2e2, 0.0).sum())
        below = above - float(m.e.sum())
        return (int(above**2 / squares), int(below**2 / squares)) if squares > 0 else (0, 0)

    def lowest_score(self, low: float, high: float, *, closed: bool) -> float:
        edges, cells = self._sums.ruler.edges, self._sums.cells
        above = low if closed else np.nextafter(low, 2.0)
        reaching = cells[edges[cells + 1] > above]  # cells that may hold scores above `low`
        return float(min(max(edges[reaching[0]], low), high)) if len(reaching) else high


Given: TypeAlias = Values | Summary | Sample


def _is_soft(y: Array) -> bool:
    parts = (y[a : a + SMALL] for a in range(0, len(y), SMALL))
    return y.dtype.kind == "f" and any(bool(np.any((part > 0) & (part < 1))) for part in parts)


def _number(y: Array) -> Array:
    """Outcomes that give float64 differences with float64 scores, without a copy where they are whole numbers."""
    if y.dtype == np.bool_:
        return y.view(np.uint8)
    return y if y.dtype.kind in "iu" else y.astype(np.float64, copy=False)


def as_sample(y_true: Given, y_prob: Values | None = None, sample_weight: Values | None = None, names: Names = NAMES) -> Sample:
    """A function's arguments as a sample: a summary alone, outcomes and predictions, or a sample made before."""
    if isinstance(y_true, RowSample | SummarySample):
        return y_true
    if isinstance(y_true, Summary):
        if y_prob is not None or sample_weight is not None:
            raise InputError(f"{names[1]}, {names[2]}: a summary already holds these; pass the summary alone.")
        if y_true.n == 0:
            raise InputError("no rows: the summary is empty. Add a summary that holds rows first.")
        return SummarySample(y_true)
    if y_prob is None:
        raise InputError(f"{names[1]} is missing. Pass {names[0]} and {names[1]}, or a Summary alone.")
    return RowSample(read_rows(y_true, y_prob, sample_weight, names=names))


def row_sample(y_true: Any, y_prob: Any, sample_weight: Any, *, what: str, names: Names = NAMES) -> RowSample:
    """Rows for a computation that a summary cannot answer; `what` names it, `names` its arguments."""
    return as_sample(y_true, y_prob, sample_weight, names).rows(what, names)


def residuals(rows: Arrays, a: int, b: int) -> Floats:
    """w(y − f) of rows a…b."""
    e: Floats = rows.y[a:b] - rows.f[a:b]
    return e if rows.w is None else rows.w[a:b] * e
