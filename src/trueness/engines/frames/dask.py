"""Dask data frames → Summary: every partition reduced where it is, the summaries added as a tree."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueness.engines.exact import Places, PlaceSums, ScoreSums, added, place_sums, score_sums
from trueness.engines.frames.memory import Reduced, added_by_group, read_columns, reduce_columns
from trueness.errors import InputError
from trueness.inputs.arguments import Columns, Reading
from trueness.inputs.columns import missing_column
from trueness.inputs.rows import Arrays
from trueness.summary.ruler import Ruler
from trueness.summary.summary import Summary

_BRANCHES = 8  # summaries added at a time


def reduce_partitions(frame: Any, columns: Columns, on: Ruler, reading: Reading) -> Reduced:
    """Groups and their summaries; only summaries travel."""
    import dask

    for name in columns.names:
        if name not in frame.columns:
            raise InputError(missing_column(name, list(frame.columns)))
    partitions = frame[columns.names].to_delayed()
    reduce = dask.delayed(_partition, pure=True)
    merge = dask.delayed(_merged, pure=True)
    parts = [reduce(part, number, columns, on, reading) for number, part in enumerate(partitions)]
    while len(parts) > 1:
        parts = [merge(parts[k : k + _BRANCHES]) for k in range(0, len(parts), _BRANCHES)]
    by_group = parts[0].compute() if parts else {}
    return by_group, PartitionRows(partitions, columns, on, reading)


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """Rows read once more, each partition where it is."""

    partitions: list[Any]
    columns: Columns
    on: Ruler
    reading: Reading

    def sums(self, among: Places, parts: int) -> PlaceSums:
        """Sums over the finer places within these; only they travel."""
        import dask

        tasks = [dask.delayed(_sums_in, pure=True)(*task, self.on, among, parts) for task in self._tasks()]
        return added(dask.compute(*tasks))

    def scores(self, among: Places) -> list[ScoreSums]:
        """Every score of these places."""
        import dask

        return list(dask.compute(*(dask.delayed(_scores_in, pure=True)(*task, self.on, among) for task in self._tasks())))

    def _tasks(self) -> list[tuple[Any, ...]]:
        return [(part, self.columns, self.reading) for part in self.partitions]


def _sums_in(*task: Any) -> PlaceSums:
    *which, on, among, parts = task
    return place_sums(_usable(*which), on, among, parts)


def _scores_in(*task: Any) -> ScoreSums:
    *which, on, among = task
    return score_sums(_usable(*which), on, among)


def _usable(part: Any, columns: Columns, reading: Reading) -> Arrays:
    if not len(part):
        none = np.zeros(0)
        return Arrays(f=none, y=none, w=None if columns.weight is None else none, soft=False, clipped=0, rejected={})
    return read_columns(part, replace(columns, by=(), cluster=None), reading, part=True).arrays(part=True)


def _partition(part: Any, number: int, columns: Columns, on: Ruler, reading: Reading) -> dict[Any, Summary]:
    try:
        return reduce_columns(part, columns, on, reading, part=True)[0]
    except InputError as error:
        raise error.within(f"partition {number}") from error


def _merged(parts: list[dict[Any, Summary]]) -> dict[Any, Summary]:
    return added_by_group(parts)
