"""What can be wrong with a row: one table of codes, whether such rows may be left out, and what is said of them.

Engines count codes. Whether the counts are allowed is decided here, and the error is worded here: with the first row where
rows have an order, without one where they have none.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trueness._types import Array, Floats
from trueness._values import are
from trueness.inputs.arguments import Role
from trueness.inputs.columns import CHUNK, Column
from trueness.inputs.labels import Observed, how_to_map
from trueness.inputs.remedies import Words, lines, option

__all__ = [
    "FAULTS",
    "OUTCOME",
    "PREDICTION",
    "SOFT",
    "WEIGHT",
    "ZERO",
    "Fault",
    "by_reason",
    "check_fraction",
    "check_weight",
    "count_codes",
    "problems",
    "raise_refused",
    "refused",
]

# Codes of a column's values: missing or not finite, and not allowed. A row has the code of the first column with a fault.
PREDICTION, OUTCOME, WEIGHT = (-1, -2), (-3, -4), (-6, -5)
SOFT = 1  # an outcome that integer sums cannot hold; no fault where sums are float64
ZERO = 2  # a weight of zero: the row counts as absent

_FILL = "Fill or remove them first, or pass "
_DROP = _FILL + Words(
    "nan='drop' to summarize, assess or compare, which count what they drop.", "--nan drop, which counts what it drops."
)
_DROP_HERE = _FILL + Words("nan='drop'", "--nan drop") + ", which counts what it drops."
_CONVERT = Words.plain("If these are logits, pass them through a sigmoid first; if percentages, divide by 100.")
_NAME_EVENT = "Name the event among other labels with " + option("pos_label") + "."
_NOT_NEGATIVE = Words.plain("A weight says how much its row counts: pass zero or more.")
_SOME_POSITIVE = Words.plain("Give at least one row a positive weight.")
_ALLOW_SOFT = Words.plain("Pass soft=True to allow soft labels.")


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a row is not summed, and what can be done about it."""

    code: int
    role: Role  # the column to blame
    reason: str  # under which such rows are counted
    dropped: Literal["never", "if asked", "always"]
    remedy: Words

    @property
    def problem(self) -> str:
        """What a message says of the column's values."""
        return self.reason.removeprefix(f"{self.role} ")

    def message(self, name: str, count: int, total: int, *, first: str = "", remedy: Words | None = None) -> Words:
        """How many values of a column have this fault, the first where there is one, and what to do."""
        where = f" {first}" if first else ""
        return f"{name}: {are(count, total, self.problem)}{where}. " + (remedy or self.remedy)


_TABLE = (  # in the order in which messages tell them
    Fault(PREDICTION[0], "prediction", "prediction missing or not finite", "if asked", _DROP),
    Fault(PREDICTION[1], "prediction", "prediction outside [0, 1]", "never", _CONVERT),
    Fault(OUTCOME[0], "outcome", "outcome missing or not finite", "if asked", _DROP),
    Fault(OUTCOME[1], "outcome", "outcome not 0, 1 or a probability between them", "never", _NAME_EVENT),
    Fault(WEIGHT[1], "weight", "weight negative", "never", _NOT_NEGATIVE),
    Fault(WEIGHT[0], "weight", "weight missing or not finite", "if asked", _DROP),
    Fault(ZERO, "weight", "zero weight", "always", _SOME_POSITIVE),
    Fault(SOFT, "outcome", "outcome strictly between 0 and 1", "never", _ALLOW_SOFT),
)
FAULTS: dict[int, Fault] = {fault.code: fault for fault in _TABLE}


def count_codes(codes: NDArray[np.int8]) -> Counter[int]:
    """How many rows have each code but 0."""
    if not codes.any():
        return Counter()
    return Counter({code: count for code in FAULTS if (count := int(np.count_nonzero(codes == code)))})


def refused(counts: Mapping[int, int], nan: str) -> list[int]:
    """Codes of the rows that may not be left out, in the order in which they are told."""
    allowed = ("always", "if asked") if nan == "drop" else ("always",)
    return [code for code, fault in FAULTS.items() if counts.get(code) and fault.dropped not in allowed]


def by_reason(counts: Mapping[int, int]) -> dict[str, int]:
    """Rows that are not used, as a summary keeps them."""
    return {fault.reason: counts[code] for code, fault in FAULTS.items() if counts.get(code)}


def raise_refused(
    counts: Mapping[int, int], total: int, nan: str, names: Mapping[Role, str], remedies: Mapping[int, Words] | None = None
) -> None:
    """Every kind of row that may not be left out in one error, where rows have no order and so none is the first.

    `remedies` are those of a caller that has options of its own.
    """
    messages = []
    for code in refused(counts, nan):
        fault = FAULTS[code]
        remedy = (remedies or {}).get(code) or (_DROP_HERE if fault.dropped == "if asked" else None)
        messages.append(fault.message(names[fault.role], counts[code], total, remedy=remedy))
    if messages:
        raise lines(messages).error()


def check_fraction(
    values: Array, tolerance: float, codes: tuple[int, int]
) -> tuple[Floats, NDArray[np.int8] | None, NDArray[np.bool_] | None]:
    """Values in float64, clipped within rounding; their codes and which were clipped, None where all are fine."""
    values = values.astype(np.float64, copy=False)
    if not values.size or (values.min() >= 0.0 and values.max() <= 1.0):  # NaN fails both
        return values, None, None
    missing, outside = map(np.int8, codes)
    beyond = (values < -tolerance) | (values > 1.0 + tolerance)
    judged = np.where(np.isfinite(values), np.where(beyond, outside, np.int8(0)), missing)
    moved = (judged == 0) & ((values < 0.0) | (values > 1.0))
    if moved.any():
        values = np.where(moved, np.clip(values, 0.0, 1.0), values)
    return values, judged, moved


def check_weight(values: Array) -> tuple[Floats, NDArray[np.int8] | None]:
    """Weights in float64 and their codes, None where all are fine."""
    values = values.astype(np.float64, copy=False)
    if not values.size or (values.min() >= 0.0 and values.max() < math.inf):
        return values, None
    missing, negative = map(np.int8, WEIGHT)
    return values, np.where(np.isfinite(values), np.where(values < 0.0, negative, np.int8(0)), missing)


def problems(column: Column | None, codes: tuple[int, int], nan: str) -> list[Words]:
    """A line for each kind of value in a column that may not be left out: how many, the first, and what to do."""
    if column is None:
        return []
    counts, first = Counter[int](), dict[int, int]()
    low, high = math.inf, -math.inf
    for start in range(0, column.length, CHUNK):
        part = column.chunk(start, start + CHUNK)
        with np.errstate(invalid="ignore"):
            values, judged, *_ = check_weight(part) if codes == WEIGHT else check_fraction(part, column.tolerance, codes)
        finite = values[np.isfinite(values)]
        low, high = min(low, finite.min(initial=math.inf)), max(high, finite.max(initial=-math.inf))
        for code in codes if judged is not None else ():
            rows = np.flatnonzero(judged == code)
            counts[code] += rows.size
            if rows.size:
                first.setdefault(code, start + int(rows[0]))
    return [
        FAULTS[code].message(
            column.name,
            counts[code],
            column.length,
            first=column.first(first[code]),
            remedy=_remedy(column, code, low, high),
        )
        for code in refused(counts, nan)
    ]


def _remedy(column: Column, code: int, low: float, high: float) -> Words | None:
    """What the values themselves suggest, where they suggest something."""
    if code == OUTCOME[1]:
        return how_to_map(column, Observed().add(column))
    if code != PREDICTION[1]:
        return None
    if low < 0.0 and high > 1.0:
        return Words.plain("If these are logits, pass them through a sigmoid first.")
    if high <= 0.0:
        return Words.plain("If these are log-probabilities, pass them through exp first; if logits, through a sigmoid.")
    if low >= 0.0 and 2.0 < high <= 100.0:
        return Words.plain("If these are percentages, divide by 100.")
    return None
