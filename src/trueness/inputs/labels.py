"""Labels instead of numbers: which one is the event, which occur, and what to say where none has been named."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from trueness._types import Array
from trueness._values import are, is_chunk, is_hashable, is_number, native, show, stem
from trueness.inputs.columns import CHUNK, Column
from trueness.inputs.remedies import Words, as_option, option

__all__ = [
    "EXACT_FLOAT32",
    "Observed",
    "how_to_map",
    "is_number_text",
    "mapped",
    "not_numbers",
    "occurs",
    "require_label",
    "text_problem",
]

EXACT_FLOAT32 = 2.0**24  # below it float32 tells whole numbers apart
_LISTED = 10  # observed values a message lists
_COUNTED = 10_000  # distinct values counted before giving up on a complete list


def mapped(y: Column, pos_label: object) -> Column:
    """Outcomes from labels: 1 where the label is `pos_label`, 0 elsewhere, NaN where missing."""

    def from_labels(start: int, stop: int) -> Array:
        labels = y.labels(start, stop) if y.labels is not None else []
        equal = _equal_labels(labels, pos_label)
        if type(None) not in set(map(type, labels)):
            return equal
        return np.where([label is None for label in labels], np.nan, equal)

    def from_numbers(start: int, stop: int) -> Array:
        part = y.chunk(start, stop)
        equal = _equal_numbers(part, pos_label)
        if equal.any() and _is_coarse(part, pos_label):
            rows = np.flatnonzero(equal)
            equal[rows] = _equal_labels([y.item(start + int(row)) for row in rows], pos_label)
        if part.dtype.kind != "f" or (finite := np.isfinite(part)).all():
            return equal
        return np.where(finite, equal, part.astype(np.float64))

    return replace(y, tolerance=0.0, fetch=from_numbers if y.labels is None else from_labels, value=y.item, labels=None)


def _equal_labels(labels: list[object], pos_label: object) -> Array:
    if is_number(pos_label):  # NumPy's own compare whole numbers as floats
        labels, pos_label = list(map(native, labels)), native(pos_label)
    try:
        return np.fromiter((label == pos_label for label in labels), dtype=bool, count=len(labels))
    except Exception:  # some label's == fails, or answers with an array
        return np.array([_is_equal(label, pos_label) for label in labels], dtype=bool)


def _is_equal(label: object, pos_label: object) -> bool:
    try:
        return bool(label == pos_label)
    except Exception:
        return False


def _equal_numbers(part: Array, pos_label: Any) -> Array:
    """Which numbers may be the label: those that are, and what a float does not tell from it."""
    if not is_number(pos_label):
        return np.zeros(len(part), dtype=bool)
    try:
        with np.errstate(over="ignore"):
            return np.asarray(part == (pos_label if _is_machine(pos_label) else float(pos_label)), dtype=bool)
    except OverflowError:  # a number beyond float64
        return np.zeros(len(part), dtype=bool)


def _is_machine(number: object) -> bool:
    """Whether arrays hold such numbers, which Decimal and Fraction are not."""
    return isinstance(number, (int, float, np.number, np.bool_))


def _is_coarse(part: Array, pos_label: Any) -> bool:
    """Whether the comparison was made in a float that does not tell the label from its neighbours."""
    if not _is_machine(pos_label):
        return True
    floats = part.dtype.kind == "f"
    exact = not floats and isinstance(pos_label, (int, np.integer))
    limit = 2.0 ** (np.finfo(part.dtype).nmant + 1) if floats else 2.0**53
    return not exact and not -limit < pos_label < limit


def occurs(column: Column, pos_label: object) -> bool:
    """Whether any row has this label."""
    events = mapped(column, pos_label)
    return any((events.chunk(start, start + CHUNK) == 1.0).any() for start in range(0, column.length, CHUNK))


class _Unhashable(str):
    """How a label that cannot be counted itself is shown."""


@dataclass(slots=True)
class Observed:
    """How often each value occurs, up to a bound on how many are told apart."""

    counts: Counter[Any] = field(default_factory=Counter)
    total: int = 0

    def add(self, column: Column) -> Self:
        """Count the values of one more column, the missing ones left out."""
        for start in range(0, column.length, CHUNK):
            for value, size in _sizes(column, start, start + CHUNK):
                self.total += size
                if value in self.counts or len(self.counts) < _COUNTED:
                    self.counts[value] += size
        return self

    def __str__(self) -> str:
        listed = ", ".join(f"{show(value)} ({count} rows)" for value, count in self.counts.most_common(_LISTED))
        more = len(self.counts) - _LISTED
        if more <= 0:
            return f"Observed values: {listed}."
        return f"Observed values: {listed} and {'at least ' if len(self.counts) >= _COUNTED else ''}{more} more."


def _sizes(column: Column, start: int, stop: int) -> Iterable[tuple[object, int]]:
    if column.labels is not None:
        return Counter(_key(label) for label in column.labels(start, stop) if label is not None).items()
    part = column.chunk(start, stop)
    values, sizes = np.unique(part[np.isfinite(part)], return_counts=True)
    integral = column.tolerance == 0.0
    return [(int(value) if integral else value, int(size)) for value, size in zip(values, sizes, strict=True)]


def _key(label: object) -> object:
    return label if is_hashable(label) else _Unhashable(show(label))


def require_label(name: str, observed: Observed, pos_label: object) -> None:
    """A label that never occurs is a mistake unless one class alone, of its own kind, was observed."""
    counts = observed.counts
    if len(counts) >= 2 or (counts and not any(_alike(value, pos_label) for value in counts)):
        given = option("pos_label", show(pos_label))
        remedy = f"{observed} Pass the one that means the event " + as_option("pos_label") + "."
        kind = f" of type {type(pos_label).__name__}. "
        raise (f"{name}: 0 of {observed.total} values equal " + given + kind + remedy).error()


def _alike(value: object, pos_label: object) -> bool:
    """Whether two labels could be classes of one column."""
    if isinstance(value, _Unhashable):
        return False
    if is_number(value) or is_number(pos_label):
        return is_number(value) and is_number(pos_label)
    return isinstance(value, type(pos_label)) or isinstance(pos_label, type(value))


def how_to_map(column: Column, observed: Observed) -> Words:
    """The values that occur, and how to name one of them as the event."""
    usable = [value for value in observed.counts if not isinstance(value, _Unhashable) and not is_chunk(value)]
    if not usable:
        return Words.plain(f"{observed} Give each row one label, such as a number or a text.")
    event = max(usable, key=lambda value: (isinstance(value, str), value if is_number(value) else 0, show(value)))
    by_hand = Words(f" on summarize, assess or compare, or pass {stem(column.name)} == {show(event)}", "")
    return f"{observed} Say which value means the event: " + option("pos_label", show(event)) + by_hand + "."


def not_numbers(column: Column, *, outcome: bool) -> Words:
    """What to say of a column that holds something other than numbers."""
    counts, rows = Counter[bool](), dict[bool, int]()
    for start in range(0, column.length, CHUNK):
        for row, label in enumerate(column.labels(start, start + CHUNK) if column.labels is not None else [], start):
            if label is not None:
                counts[is_number(label)] += 1
                rows.setdefault(is_number(label), row)
    if not rows:
        missing = are(column.length, column.length, f"missing in a column of dtype {column.dtype}")
        first = f"(first: row 0, value {show(column.item(0))})"
        return Words.plain(f"{column.name}: {missing} {first}. Pass a column that holds values.")
    number = False not in rows  # numbers kept as categories
    value = column.item(rows[number])
    what = f"of type {type(value).__name__} in a column of dtype {column.dtype}, not numbers"
    told = f"{column.name}: {are(counts[number], column.length, what)} (first: row {rows[number]}, value {show(value)}). "
    return told + (
        how_to_map(column, Observed().add(column)) if outcome else Words.plain("Convert the column to numbers first.")
    )


def is_number_text(text: str) -> bool:
    """Whether a text is a number as files write it."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def text_problem(name: str, total: int, count: int, place: str, first: str, observed: Observed | None) -> Words:
    """What to say of text in a file that is not a number; `observed` lists an outcome's labels."""
    told = f"{name}: {are(count, total, 'text, not numbers')} (first: {place}, value {show(first)}). "
    if observed is None:
        truth = "Write 1 for true and 0 for false." if first.lower() in ("true", "false") else "Write plain numbers."
        return Words.plain(told + ("Write plain numbers, with a decimal point." if "," in first else truth))
    event = option("pos_label", show(max(observed.counts, key=str)))
    return f"{told}{observed} Say which value means the event, for example " + event + "."
