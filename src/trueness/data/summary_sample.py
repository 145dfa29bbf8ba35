"""The sums of rows as a sample."""

from functools import cached_property
from typing import NoReturn

import numpy as np

from trueness._types import Array
from trueness.data.certainties import Contradictions
from trueness.data.masses import CellMasses, Kind, Masses
from trueness.data.points import Points, has_unit_weights, points_of_summary
from trueness.data.row_extremes import Bracket
from trueness.data.scales import Scale
from trueness.errors import InputError, NeedsRowsError
from trueness.summary.extremes import Extremes
from trueness.summary.spans import SLACK, from_cells
from trueness.summary.summary import Summary


class SummarySample:
    """The sums of rows."""

    has_rows = False
    small = False
    rounding = SLACK

    def __init__(self, sums: Summary) -> None:
        self._sums = sums

    @property
    def clusters(self) -> int:
        return 0

    @property
    def independent(self) -> "SummarySample":
        return self

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
                remedy = f"Summarize again with bins=({count},), or choose a divisor of {2**14}, 100 or 15."
                if self._sums.ruler.starts:
                    remedy = "Some were merged: choose fewer bins, or coarsen less."
                raise InputError(f"bins: {count} equal-width bins are not unions of this summary's cells. {remedy}")
        return self._sums

    def has_bins(self, count: int) -> bool:
        return self._sums.ruler.has(count)

    def bin_sums(self, bins: int) -> None:
        return None

    def rows(self, what: str, names: tuple[str, str, str] | None = None) -> NoReturn:
        outcomes, predictions, _ = names or ("y_true", "y_prob", "")
        text = f"{what} needs the rows themselves; a summary does not hold them. Pass "
        raise NeedsRowsError(f"{text}{outcomes} and {predictions}.", shell=f"{text}files of rows.")  # noqa: S604 - words

    def points(self, *, rows: bool = False, bins: tuple[int, ...] = (), frequency: bool = False) -> Points:
        if rows:
            self.rows("these options")
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
        return self._sums.extremes

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

    def contradictions(self, *, frequency: bool = False) -> Contradictions:
        """Counted in integer sums; of weights or soft labels one for each such cell, at least."""
        e, exact = self._sums.moments.e, self._sums.exact
        happened, failed = (np.abs(e[cells]) if exact else np.ones(cells.sum()) for cells in self._contradicted)
        counts = round(float(happened.sum())), round(float(failed.sum()))
        return Contradictions(*counts, at_least=not exact and sum(counts) > 0)

    @cached_property
    def without_contradictions(self) -> "SummarySample | None":
        """Without the rows that contradict; where sums do not tell these from others of their cells, without the cells."""
        happened, failed = self._contradicted
        if not self._sums.exact:
            kept = ~(happened | failed)
            return SummarySample(self._sums.of_cells(kept)) if kept.any() else None
        rest = self._sums.without_labels(failed, happened)
        return SummarySample(rest) if rest.n else None

    def lowest_score(self, low: float, high: float, *, closed: bool) -> float:
        edges, cells = self._sums.ruler.edges, self._sums.cells
        above = low if closed else np.nextafter(low, 2.0)
        m, unit = self._sums.moments, self._sums.ruler.unit[cells]
        single = m.spread * unit**2 <= 1e-8 * m.weight  # all rows of the cell have one score
        reaching = edges[cells + 1] > above  # cells that may hold scores above `low`
        if not closed:
            reaching &= ~(single & (np.abs(m.mean - low) * unit <= 1e-8))
        places = np.flatnonzero(reaching)
        return float(min(max(edges[cells[places[0]]], low), high)) if len(places) else high
