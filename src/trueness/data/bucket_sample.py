"""The sums of rows whose clusters are hashed into buckets, as a sample: a record with an axis of that name."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from trueness.data.clustered import clusters_of_buckets
from trueness.data.points import Points
from trueness.data.summary_sample import SummarySample
from trueness.inputs.arguments import BUCKET
from trueness.summary.record import Record, total_of
from trueness.summary.summary import Summary


class BucketSample(SummarySample):
    """The sums of rows in buckets of clusters."""

    def __init__(self, buckets: Mapping[int, Summary]) -> None:
        super().__init__(total_of(buckets))
        self._buckets = {key: summary for key, summary in buckets.items() if summary.n}

    @property
    def clusters(self) -> int:
        """How many buckets hold rows."""
        return len(self._buckets)

    @cached_property
    def independent(self) -> SummarySample:
        """The same sums as if every row were its own."""
        return SummarySample(self._sums)

    def points(self, *, rows: bool = False, bins: tuple[int, ...] = (), frequency: bool = False) -> Points:
        points = super().points(rows=rows, bins=bins, frequency=frequency)
        return clusters_of_buckets(points, self._sums, self._buckets)

    @cached_property
    def without_contradictions(self) -> "BucketSample | None":
        parts = {key: SummarySample(each).without_contradictions for key, each in self._buckets.items()}
        kept = {key: part.summary() for key, part in parts.items() if part is not None}
        return BucketSample(kept) if kept else None


def has_buckets(value: object) -> bool:
    """Whether a record's rows are told apart by buckets of clusters."""
    return isinstance(value, Record) and BUCKET in value.axes


def whole(record: Record) -> BucketSample:
    """All rows of a record, by bucket."""
    part: Any = record
    for axis in record.axes:
        part = part if axis == BUCKET else part.over(axis)
    return BucketSample(part)


def by_group(record: Record) -> dict[Any, BucketSample]:
    """The rows of every group of a record that has other axes beside that of the buckets."""
    place = record.axes.index(BUCKET)
    groups: dict[Any, dict[int, Summary]] = {}
    for key, summary in record.items():
        rest = key[:place] + key[place + 1 :]
        groups.setdefault(rest if len(rest) > 1 else rest[0], {})[key[place]] = summary
    return {group: BucketSample(buckets) for group, buckets in groups.items()}
