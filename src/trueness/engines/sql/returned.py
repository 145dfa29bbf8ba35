"""What the query of `trueness.sql` has returned → Summary."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from trueness._values import is_number, lists, show
from trueness.engines.exact import summary_or_record
from trueness.engines.expressions import Plan, SoftLabelsMet, summaries
from trueness.errors import InputError
from trueness.inputs.faults import FAULTS
from trueness.inputs.frames import unwrapped
from trueness.inputs.tables import column_of, computes_elsewhere
from trueness.options import check_options
from trueness.summary.invariants import fault_of
from trueness.summary.moments import FLOAT_SUMS
from trueness.summary.record import Record
from trueness.summary.ruler import SLOTS, ruler, slot_edges, uniform_edges
from trueness.summary.summary import MOST_ROWS, Summary


def from_frame(frame: Any, *, nan: str = "raise") -> Summary | Record:
    """The summary, or the record by by_0, by_1, …, that the query of `sql` has returned as a frame."""
    check_options(nan)
    if computes_elsewhere(frame):
        raise InputError(f"a {type(frame).__name__} holds no rows yet. Collect it first, as an Arrow table or a data frame.")
    table = {str(name): list(_iterable(frame, name)) for name in _columns(frame)}
    for name in table:
        if sum(other.lower() == name.lower() for other in table) > 1:
            raise InputError(f"the frame has the column {show(name.lower())} more than once. Pass what the query returned.")
    table = {name.lower(): [_item(value) for value in column] for name, column in table.items()}
    grids = [int(name.removeprefix("at_")) for name in table if name.startswith("at_") and name[3:].isdecimal()]
    by = sum(name.startswith("by_") for name in table)
    plan = Plan(on=ruler([m for m in grids if m not in (100, 15)]), weighted=True, floats="w2" in table, by=by)
    absent = [name for name in [*plan.keys, *plan.sums] if name not in table]
    if absent or not {100, 15} <= set(grids):
        lacking = (absent or ["at_100"])[0]
        raise InputError(f"the frame lacks the column {lacking!r}. Pass what the query of trueness.sql returns.")
    _require_sums(table, plan)
    try:
        by_group = summaries(table, plan, nan=nan, names={fault.role: fault.role for fault in FAULTS.values()})
    except SoftLabelsMet:
        raise InputError("some outcomes lie strictly between 0 and 1. Make the query again with sql(..., soft=True).") from None
    for summary in by_group.values():
        if fault := fault_of(summary):
            raise InputError(f"the sums in the frame do not fit together: {fault}. Pass what the query returned.")
    return summary_or_record(by_group, plan.keys[:by], None)


def _iterable(frame: Any, name: Any) -> Iterable[Any]:
    column = column_of(frame, name)
    if not lists(column):
        raise InputError(f"the frame's column {show(name)} is {show(column)}, not a column. Pass what the query returned.")
    return column


def _require_sums(table: Mapping[str, list[Any]], plan: Plan) -> None:
    """What the query of `sql` returns: whole numbers where it counts, values that it can give, and every group once."""
    for name in [*plan.keys, *plan.sums]:
        if (rows := len(table[name])) != (n := len(table["n"])):
            raise InputError(f"the frame's column {name!r} has {rows} rows, 'n' {n}. Pass what the query returned.")
    if not table["n"]:
        raise InputError("the frame has no rows. Run the query on a table that has some.")
    counted = [name for name in [*plan.keys[plan.by :], *plan.sums] if name not in FLOAT_SUMS]
    for name in counted:
        for row, value in enumerate(table[name]):
            _require_whole(name, row, value)
    for name in plan.sums:
        if name not in counted:
            _require(name, table[name], is_number, "is not a number")
    _require("code", table["code"], lambda value: value in (0, *FAULTS), "is a code that means nothing")
    _require("n", table["n"], lambda value: value >= 1, "is below 1: a group has rows")
    bounds = {"slot": SLOTS, **{f"at_{m}": m for m in plan.grids}} | ({} if plan.floats else {"label": 2})
    for name, limit in bounds.items():
        _require(name, table[name], _below(limit), f"lies outside 0 to {limit - 1}")
    for name in ("clipped", "r1", "r2", "r3", "soft"):
        _require(name, table.get(name, []), lambda value: value >= 0, "is below 0")
        _require(name, table.get(name, []), lambda value: value <= MOST_ROWS, "is beyond 2^63 - 1")
    if (n := sum(map(int, table["n"]))) > MOST_ROWS:
        raise InputError(f"the frame's column 'n' counts {n} rows in all, more than 2^63 - 1. Pass what the query returned.")
    _require_groups(table, plan)


def _below(limit: int) -> Callable[[Any], bool]:
    return lambda value: bool(0 <= value < limit)


def _require_whole(name: str, row: int, value: Any) -> None:
    if not is_number(value) or not math.isfinite(value) or value != int(value):
        raise _refused(name, row, value, "is not a whole number")
    if isinstance(value, float) and abs(value) >= 2**53:
        raise InputError(
            f"the frame's column {name!r} came as floats and lost digits (row {row}). Fetch the result as an Arrow table."
        )


def _require(name: str, values: Sequence[Any], holds: Callable[[Any], bool], why: str) -> None:
    for row, value in enumerate(values):
        if not holds(value):
            raise _refused(name, row, value, why)


def _refused(name: str, row: int, value: Any, why: str) -> InputError:
    return InputError(f"the frame's column {name!r}: row {row}, value {show(value)}, {why}. Pass what the query returned.")


def _require_groups(table: Mapping[str, list[Any]], plan: Plan) -> None:
    """Every group of the GROUP BY once, and of a slot only the bins that meet it."""
    known: dict[Any, int] = {}
    for row, group in enumerate(zip(*(table[name] for name in plan.keys), strict=True)):
        try:
            first = known.setdefault(group, row)
        except TypeError:
            raise InputError(
                f"the frame's row {row}: {show(group[: plan.by])} cannot be a group. Make groups of text or numbers."
            ) from None
        if first != row:
            raise InputError(f"the frame's rows {first} and {row} are of one group, which a query returns once. Pass it once.")
    slots = np.array(table["slot"], dtype=np.int64)
    low, high = (slot_edges()[slots + of] for of in (0, 1))
    for m in plan.grids:
        edges, bins = uniform_edges(m), np.array(table[f"at_{m}"], dtype=np.int64)
        low, high = np.maximum(low, edges[bins]), np.minimum(high, edges[bins + 1])
    for row in np.flatnonzero(low >= high)[:1]:
        raise InputError(
            f"the frame's row {row}: slot {slots[row]} and its bins have no score in common. Pass what the query returned."
        )


def _columns(frame: Any) -> Iterator[Any]:
    frame = unwrapped(frame)
    known: Any = getattr(frame, "column_names", getattr(frame, "columns", None))
    yield from (frame if known is None and isinstance(frame, Mapping) else () if known is None else known)


def _item(value: Any) -> Any:
    plain: Callable[[], Any] | None = getattr(value, "as_py", None) or getattr(value, "item", None)
    return value if plain is None else plain()
