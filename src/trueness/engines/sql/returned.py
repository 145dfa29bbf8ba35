"""What the query of `trueness.sql` has returned → Summary."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trueness.engines.exact import summary_or_record
from trueness.engines.expressions import SOFT, ZERO, Plan, SoftLabelsMet, summaries
from trueness.engines.frames.dispatch import computes_elsewhere
from trueness.engines.frames.memory import column_of
from trueness.errors import InputError
from trueness.inputs.faults import REASONS
from trueness.inputs.frames import unwrapped
from trueness.inputs.rows import check_options
from trueness.summary.columns import FLOAT_SUMS
from trueness.summary.invariants import fault_of
from trueness.summary.record import Record
from trueness.summary.ruler import SLOTS, ruler
from trueness.summary.summary import Summary


def from_frame(frame: Any, *, nan: str = "raise") -> Summary | Record:
    """The summary, or the record by by_0, by_1, …, that the query of `sql` has returned as a frame."""
    check_options(nan)
    if computes_elsewhere(frame):
        raise InputError(f"a {type(frame).__name__} holds no rows yet. Collect it first, as an Arrow table or a data frame.")
    table = {str(name): list(column_of(frame, name)) for name in _columns(frame)}
    table = {name.lower(): [_item(value) for value in column] for name, column in table.items()}
    grids = [int(name.removeprefix("at_")) for name in table if name.startswith("at_")]
    by = sum(name.startswith("by_") for name in table)
    plan = Plan(on=ruler([m for m in grids if m not in (100, 15)]), weighted=True, floats="w2" in table, by=by)
    absent = [name for name in [*plan.keys, *plan.sums] if name not in table]
    if absent or not {100, 15} <= set(grids):
        lacking = (absent or ["at_100"])[0]
        raise InputError(f"the frame lacks the column {lacking!r}. Pass what the query of trueness.sql returns.")
    _require_sums(table, plan)
    try:
        by_group = summaries(table, plan, nan=nan, names={role: role for role in ("outcome", "prediction", "weight")})
    except SoftLabelsMet:
        raise InputError("some outcomes lie strictly between 0 and 1. Make the query again with sql(..., soft=True).") from None
    for summary in by_group.values():
        if fault := fault_of(summary):
            raise InputError(f"the sums in the frame do not fit together: {fault}. Pass what the query returned.")
    return summary_or_record(by_group, plan.keys[:by], None)


def _require_sums(table: Mapping[str, list[Any]], plan: Plan) -> None:
    """What the query of `sql` returns holds whole numbers where it counts, known codes, and at least a row."""
    if not table["n"]:
        raise InputError("the frame has no rows. Run the query on a table that has some.")
    counted = [name for name in [*plan.keys[plan.by :], *plan.sums] if name not in FLOAT_SUMS]
    for name in counted:
        for value in table[name]:
            if value is None or value != value or value != int(value):
                raise InputError(
                    f"the frame's column {name!r} holds {value!r}, not a whole number. Pass what the query returned."
                )
            if isinstance(value, float) and abs(value) >= 2**53:
                raise InputError(
                    f"the frame's column {name!r} came as floats and lost digits. Fetch the result as an Arrow table."
                )
    if min(table["n"]) < 0 or not set(map(int, table["code"])) <= {0, SOFT, ZERO, *REASONS}:
        raise InputError("the frame holds counts below 0, or codes that mean nothing. Pass what the query returned.")
    limits = {"slot": SLOTS, **{f"at_{m}": m for m in plan.grids}}
    for name, limit in limits.items():
        if not all(0 <= value < limit for value in table[name]):
            raise InputError(
                f"the frame's column {name!r} holds a value outside 0 to {limit - 1}. Pass what the query returned."
            )


def _columns(frame: Any) -> Iterator[Any]:
    frame = unwrapped(frame)
    known: Any = getattr(frame, "column_names", getattr(frame, "columns", None))
    yield from (frame if known is None and isinstance(frame, Mapping) else () if known is None else known)


def _item(value: Any) -> Any:
    plain: Callable[[], Any] | None = getattr(value, "as_py", None) or getattr(value, "item", None)
    return value if plain is None else plain()
