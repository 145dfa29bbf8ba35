"""Dask data frames → Summary: every partition reduced where it is, the summaries added as a tree."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueness.errors import InputError
from trueness.inputs import Arrays, missing_column
from trueness.ruler import Ints, Ruler
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


def rows_again(
    frame: Any, names: Mapping[str, str | None], on: Ruler, settings: Mapping[str, Any], slots: Ints
) -> list[Arrays]:
    """Usable rows of these dyadic slots, from each partition."""
    import dask

    take = dask.delayed(_rows_in, pure=True)
    parts = frame[list(dict.fromkeys(name for name in names.values() if name is not None))].to_delayed()
    return list(dask.compute(*(take(part, dict(names), on, dict(settings), slots) for part in parts)))


def _rows_in(part: Any, names: dict[str, str | None], on: Ruler, settings: dict[str, Any], slots: Ints) -> Arrays:
    from trueness.engines.frames import read_columns
    from trueness.engines.grid import rows_in_slots

    if not len(part):
        none = np.zeros(0)
        return Arrays(f=none, y=none, w=None if names["weight"] is None else none, soft=False, clipped=0, rejected={})
    rows = read_columns(part, names, {**settings, "whole": False}).arrays(whole=False)
    at = rows_in_slots(rows.f, on, slots)
    return replace(rows, f=rows.f[at], y=rows.y[at], w=None if rows.w is None else rows.w[at], kept=None)


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
