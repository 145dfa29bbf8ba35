"""Dask data frames → Summary: every partition reduced where it is, the summaries added as a tree."""

from collections.abc import Mapping, Sequence
from typing import Any

from trueness.errors import InputError
from trueness.inputs import missing_column
from trueness.ruler import Ruler
from trueness.summary import Summary

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
    return found[0].compute() if found else {}


def _partition(
    part: Any, number: int, names: dict[str, str | None], groups: tuple[str, ...], on: Ruler, settings: dict[str, Any]
) -> dict[Any, Summary]:
    from trueness.engines.frames import reduce_columns

    try:
        return reduce_columns(part, names, groups, on, settings)
    except InputError as error:
        raise InputError(f"partition {number}: {error}") from error


def _merged(parts: list[dict[Any, Summary]]) -> dict[Any, Summary]:
    from trueness.engines.frames import merged

    return merged(parts)
