"""The values of one column: a code for each that cannot be used, and what to say of them."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from trueness.inputs.columns import CHUNK, Column
from trueness.inputs.labels import Observed, how_to_map
from trueness.inputs.values import are

__all__ = ["DROPPABLE", "REASONS", "check_fraction", "check_weight", "problems"]

REASONS: dict[int, str] = {
    -1: "prediction missing or not finite",
    -2: "prediction outside [0, 1]",
    -3: "outcome missing or not finite",
    -4: "outcome not allowed",
    -5: "weight not allowed",
    -6: "weight missing or not finite",
}
DROPPABLE = (-1, -3, -6)
_WHY = {
    -1: "missing or not finite",
    -2: "outside [0, 1]",
    -3: "missing or not finite",
    -4: "not 0, 1 or a probability between them",
    -5: "negative",
    -6: "missing or not finite",
}


def check_fraction(
    values: np.ndarray, tolerance: float, missing: int, outside: int
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Values in float64, clipped within rounding; their codes and which were clipped, None where all are fine."""
    values = values.astype(np.float64, copy=False)
    if not values.size or (values.min() >= 0.0 and values.max() <= 1.0):  # NaN fails both
        return values, None, None
    finite = np.isfinite(values)
    beyond = (values < -tolerance) | (values > 1.0 + tolerance)
    codes = np.where(finite, np.where(beyond, np.int8(outside), np.int8(0)), np.int8(missing))
    moved = (codes == 0) & ((values < 0.0) | (values > 1.0))
    if moved.any():
        values = np.where(moved, np.clip(values, 0.0, 1.0), values)
    return values, codes, moved


def check_weight(values: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Weights in float64 and their codes, None where all are fine."""
    values = values.astype(np.float64, copy=False)
    if not values.size or (values.min() >= 0.0 and values.max() < math.inf):
        return values, None
    return values, np.where(np.isfinite(values), np.where(values < 0.0, np.int8(-5), np.int8(0)), np.int8(-6))


def problems(column: Column | None, kinds: tuple[int, int], nan: str) -> list[str]:
    """A line for each kind of unusable value in a column: how many, the first, and what to do."""
    if column is None:
        return []
    counts, first = Counter[int](), dict[int, int]()
    low, high = math.inf, -math.inf
    for start in range(0, column.length, CHUNK):
        part = column.chunk(start, start + CHUNK)
        with np.errstate(invalid="ignore"):
            if -5 in kinds:
                part, found = check_weight(part)
            else:
                part, found, _ = check_fraction(part, column.tolerance, *kinds)
        finite = part[np.isfinite(part)]
        low, high = min(low, finite.min(initial=math.inf)), max(high, finite.max(initial=-math.inf))
        for code in kinds if found is not None else ():
            here = np.flatnonzero(found == code)
            counts[code] += here.size
            if here.size:
                first.setdefault(code, start + int(here[0]))
    return [
        f"{column.name}: {are(counts[code], column.length, _WHY[code])} "
        f"{column.first(first[code])}. {_remedy(column, code, low, high)}"
        for code in kinds
        if counts[code] and (nan == "raise" or code not in DROPPABLE)
    ]


def _remedy(column: Column, code: int, low: float, high: float) -> str:
    if code in DROPPABLE:
        return "Fill or remove them first, or pass nan='drop' to summarize, assess or compare, which count what they drop."
    if code == -5:
        return "A weight says how much its row counts: pass zero or more."
    if code == -4:
        return how_to_map(column, Observed().add(column))
    if low < 0.0 and high > 1.0:
        return "If these are logits, pass them through a sigmoid first."
    if high <= 0.0:
        return "If these are log-probabilities, pass them through exp first; if logits, through a sigmoid."
    if low >= 0.0 and 2.0 < high <= 100.0:
        return "If these are percentages, divide by 100."
    return "If these are logits, pass them through a sigmoid first; if percentages, divide by 100."
