"""Sample: what a computation is given. Rows or their sums, behind one protocol.

A public function turns its arguments into a sample once (`as_sample`) and hands that on; nothing is read, checked or summed
a second time, and nobody asks which of the two it is.
"""

from collections.abc import Iterator
from itertools import tee
from typing import Any, Protocol, TypeAlias, cast

from trueness._types import Values
from trueness.data.bucket_sample import has_buckets, whole
from trueness.data.certainties import Contradictions
from trueness.data.masses import Kind, Masses
from trueness.data.points import Points
from trueness.data.row_extremes import Bracket
from trueness.data.row_sample import RowSample
from trueness.data.scales import Scale
from trueness.data.summary_sample import SummarySample
from trueness.engines.arrays.bins import BinSums
from trueness.errors import InputError
from trueness.inputs.rows import NAMES, Names, read_rows
from trueness.summary.extremes import Extremes
from trueness.summary.record import Record
from trueness.summary.summary import Summary


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

    @property
    def clusters(self) -> int:
        """How many clusters, or buckets of clusters, the rows come in; 0 where every row is its own."""

    @property
    def independent(self) -> "Sample":
        """The same as if every row were its own."""

    def summary(self, bins: tuple[int, ...] = ()) -> Summary:
        """The sums, on a ruler that has these bins."""

    def has_bins(self, count: int) -> bool:
        """Whether so many equal-width bins can be told."""

    def bin_sums(self, bins: int) -> BinSums | None:
        """Sums over so many equal-width bins, where rows give them sooner than a summary does; else None."""

    def rows(self, what: str, names: Names | None = None) -> RowSample:
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

    def contradictions(self, *, frequency: bool = False) -> Contradictions:
        """Certain predictions that were wrong, repeated rows as often as they count."""

    @property
    def without_contradictions(self) -> "Sample | None":
        """The other rows; None where none are left."""

    def lowest_score(self, low: float, high: float, *, closed: bool) -> float:
        """The smallest score in (low, high], with `closed` in [low, high]."""


Given: TypeAlias = Values | Summary | Record | Sample


def as_sample(
    y_true: Given,
    y_prob: Values | None = None,
    sample_weight: Values | None = None,
    names: Names = NAMES,
    *,
    by: Values | None = None,
    cluster: Values | None = None,
) -> Sample:
    """A function's arguments as a sample: a summary alone, outcomes and predictions, or a sample made before.

    Also a record of buckets of clusters.
    """
    if cluster is not None and isinstance(y_true, RowSample | SummarySample | Summary | Record):
        raise InputError("cluster: a summary does not tell rows apart. Summarize with cluster=, and pass the record alone.")
    if isinstance(y_true, Record) and y_prob is None and sample_weight is None and has_buckets(y_true):
        if len(y_true.axes) > 1:
            raise InputError(f"a record by {' and '.join(y_true.axes)}: merge all axes but 'bucket' with over() first.")
        return whole(y_true)
    if isinstance(y_true, RowSample | SummarySample | Summary) and (y_prob is not None or sample_weight is not None):
        raise InputError(f"{names[1]}, {names[2]}: a summary already holds these; pass the summary alone.")
    if isinstance(y_true, RowSample | SummarySample):
        return y_true
    if isinstance(y_true, Summary):
        if y_true.n == 0:
            raise InputError("no rows: the summary is empty. Add a summary that holds rows first.")
        return SummarySample(y_true)
    if y_prob is None:
        raise InputError(f"{names[1]} is missing. Pass {names[0]} and {names[1]}, or a Summary alone.")
    groups = () if by is None else (("by", by),)
    clusters = None if cluster is None else ("cluster", cluster)
    return RowSample(read_rows(cast(Values, y_true), y_prob, sample_weight, by=groups, cluster=clusters, names=names))


def copies(values: Any, times: int) -> list[Any]:
    """A column for each of so many readers: an iterator can be read only once."""
    return list(tee(values, times)) if isinstance(values, Iterator) else [values] * times


def row_sample(y_true: Any, y_prob: Any, sample_weight: Any, *, what: str, names: Names = NAMES) -> RowSample:
    """Rows for a computation that a summary cannot answer; `what` names it, `names` its arguments."""
    return as_sample(y_true, y_prob, sample_weight, names).rows(what, names)
