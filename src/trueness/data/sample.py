"""What a metric is given: a summary, or rows that can be summarized. The only place where metrics meet an engine."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness.engines.arrays.grid import ORDERS, Runs, collapse, grid_moments, lone_scores, refine_cells, rows_in_slots
from trueness.engines.arrays.summarize import nothing_odd, reduce_rows
from trueness.errors import InputError, NeedsRowsError
from trueness.inputs.rows import Arrays, Rows, read_rows
from trueness.summary.ruler import Ruler, ruler
from trueness.summary.summary import Summary

__all__ = [
    "ORDERS",
    "RowData",
    "Runs",
    "as_data",
    "as_rows",
    "as_summary",
    "collapse",
    "grid_moments",
    "lone_scores",
    "refine_cells",
    "rows_in_slots",
]

Names = tuple[str, str, str]
NAMES: Names = ("y_true", "y_prob", "sample_weight")

# Below this many rows a metric works from the rows themselves; above, from their summary as far as that is exact enough.
SMALL = 1 << 17


class RowData:
    """Rows given to a metric; checked, summarized and promoted to float64 only as far as needed."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._summaries: dict[Ruler, Summary] = {}

    @property
    def small(self) -> bool:
        """Whether working from the rows costs less than a summary."""
        return len(self.rows) <= SMALL

    def summary(self, bins: tuple[int, ...] = ()) -> Summary:
        """The rows' summary on a ruler that has these bins."""
        on = ruler(bins)
        if on not in self._summaries:
            self._summaries[on] = reduce_rows(self.rows, on)
        return self._summaries[on]

    @cached_property
    def arrays(self) -> Arrays:
        """Scores, outcomes and weights of the usable rows; scores and weights in float64."""
        n, seen = len(self.rows), next(iter(self._summaries.values()), None)
        if self.small or self.rows.w is not None:
            return self.rows.arrays()
        # A summary has seen every row, or a quick look does: where nothing need change there is no second check.
        if (seen.clipped or seen.n != n) if seen else not nothing_odd(self.rows):
            return self.rows.arrays()
        f, y = np.asarray(self.rows.f.chunk(0, n), dtype=np.float64), _number(self.rows.y.chunk(0, n))
        return Arrays(f=f, y=y, w=None, soft=seen.soft if seen else _is_soft(y), clipped=0, rejected={})

    @cached_property
    def total_weight(self) -> float:
        """W."""
        a = self.arrays
        return float(len(a.f)) if a.w is None else float(a.w.sum())

    def residuals(self, a: int, b: int) -> NDArray[np.float64]:
        """w(y − f) of rows a…b."""
        x = self.arrays
        e: NDArray[np.float64] = x.y[a:b] - x.f[a:b]
        return e if x.w is None else x.w[a:b] * e


def _is_soft(y: NDArray[Any]) -> bool:
    parts = (y[a : a + SMALL] for a in range(0, len(y), SMALL))
    return y.dtype.kind == "f" and any(bool(np.any((part > 0) & (part < 1))) for part in parts)


def _number(y: NDArray[Any]) -> NDArray[Any]:
    """Outcomes that give float64 differences with float64 scores, without a copy where they are whole numbers."""
    if y.dtype == np.bool_:
        return y.view(np.uint8)
    return y if y.dtype.kind in "iu" else y.astype(np.float64, copy=False)


def as_data(y_true: Any, y_prob: Any = None, sample_weight: Any = None, names: Names = NAMES) -> RowData | Summary:
    """A metric's arguments: a summary alone, outcomes and predictions, or rows that were read before."""
    if isinstance(y_true, RowData):
        return y_true
    if isinstance(y_true, Summary):
        if y_prob is not None or sample_weight is not None:
            raise InputError(f"{names[1]}, {names[2]}: a summary already holds these; pass the summary alone.")
        if y_true.n == 0:
            raise InputError("no rows: the summary is empty. Add a summary that holds rows first.")
        return y_true
    if y_prob is None:
        raise InputError(f"{names[1]} is missing. Pass {names[0]} and {names[1]}, or a Summary alone.")
    return RowData(read_rows(y_true, y_prob, sample_weight, names=names))


def as_rows(y_true: Any, y_prob: Any, sample_weight: Any, *, what: str, names: Names = NAMES) -> RowData:
    """Rows for a metric that a summary cannot answer; `what` names it, `names` its arguments."""
    data = as_data(y_true, y_prob, sample_weight, names)
    if isinstance(data, Summary):
        raise NeedsRowsError(f"{what} needs the rows themselves; a summary does not hold them. Pass {names[0]} and {names[1]}.")
    return data


def as_summary(y_true: Any, y_prob: Any, sample_weight: Any, *, bins: int) -> Summary:
    """A summary whose ruler has these bins."""
    data = as_data(y_true, y_prob, sample_weight)
    if isinstance(data, RowData):
        return data.summary((bins,))
    if not data.ruler.has(bins):
        remedy = f"Summarize again with bins=({bins},), or choose a divisor of {2**14}, 100 or 15."
        if data.ruler.starts:
            remedy = "Some were merged: choose fewer bins, or coarsen less."
        raise InputError(f"bins: {bins} equal-width bins are not unions of this summary's cells. {remedy}")
    return data
