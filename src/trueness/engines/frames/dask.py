"""Dask data frames → Summary: every partition reduced where it is, the summaries added as a tree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueness._again import Places, PlaceSums, ScoreSums
from trueness.engines.again import added, place_sums, score_sums, with_rows_again
from trueness.errors import InputError
from trueness.inputs.columns import missing_column
from trueness.inputs.rows import Arrays
from trueness.summary.ruler import Ruler
from trueness.summary.summary import Summary

_BRANCHES = 8  # summaries added at a time


def reduce_partitions(
    frame: Any, names: Mapping[str, str | None], groups: Sequence[str], on: Ruler, settings: Mapping[str, Any]
) -> dict[Any, Summary]:
    """Groups and their summaries; only summaries travel."""
    import dask

    wanted = [name for name in names.values() if name is not None]
    for name in [*wanted, *groups]:
        if name not in frame.columns:
            raise InputError(missing_column(name, list(frame.columns)))
    parts = frame[list(dict.fromkeys([*wanted, *groups]))].to_delayed()
    reduce = dask.delayed(_partition, pure=True)
    merge = dask.delayed(_merged, pure=True)
    found = [reduce(part, number, dict(names), tuple(groups), on, dict(settings)) for number, part in enumerate(parts)]
    while len(found) > 1:
        found = [merge(found[k : k + _BRANCHES]) for k in range(0, len(found), _BRANCHES)]
    whole = found[0].compute() if found else {}

    def again(groups: Sequence[str], group: Any) -> PartitionRows:
        return PartitionRows(parts, dict(names), tuple(groups), group, on, dict(settings))

    return with_rows_again(whole, lambda group: again(groups, group), again((), None))


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """Rows of a group read again, each partition where it is."""

    parts: list[Any]
    names: dict[str, str | None]
    groups: tuple[str, ...]
    group: Any
    on: Ruler
    settings: dict[str, Any]
    lasting: bool = True

    def sums(self, among: Places, parts: int) -> PlaceSums:
        """Sums over the finer places within these; only they travel."""
        import dask

        found = [dask.delayed(_sums_in, pure=True)(*task, self.on, among, parts) for task in self._tasks()]
        return added(dask.compute(*found))

    def scores(self, among: Places) -> list[ScoreSums]:
        """Every score of these places."""
        import dask

        return list(dask.compute(*(dask.delayed(_scores_in, pure=True)(*task, self.on, among) for task in self._tasks())))

    def _tasks(self) -> list[tuple[Any, ...]]:
        return [(part, self.names, self.groups, self.group, self.settings) for part in self.parts]


def _sums_in(*task: Any) -> PlaceSums:
    *which, on, among, parts = task
    return place_sums(_usable(*which), on, among, parts)


def _scores_in(*task: Any) -> ScoreSums:
    *which, on, among = task
    return score_sums(_usable(*which), on, among)


def _usable(part: Any, names: dict[str, str | None], groups: tuple[str, ...], group: Any, settings: dict[str, Any]) -> Arrays:
    from trueness.engines.frames.memory import rows_of_group

    if not len(part):
        none = np.zeros(0)
        return Arrays(f=none, y=none, w=None if names["weight"] is None else none, soft=False, clipped=0, rejected={})
    return rows_of_group(part, names, groups, group, settings).arrays(whole=False)


def _partition(
    part: Any, number: int, names: dict[str, str | None], groups: tuple[str, ...], on: Ruler, settings: dict[str, Any]
) -> dict[Any, Summary]:
    from trueness.engines.frames.memory import reduce_columns

    try:
        return reduce_columns(part, names, groups, on, settings)
    except InputError as error:
        raise error.within(f"partition {number}") from error


def _merged(parts: list[dict[Any, Summary]]) -> dict[Any, Summary]:
    from trueness.engines.frames.dispatch import added_by_group

    return added_by_group(parts)
