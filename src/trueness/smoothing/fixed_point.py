"""Where a falling curve equals its argument."""

import math
from collections.abc import Callable

Curve = Callable[[float], float]

_ROUGHLY = 1e-2  # as near as a rough look at the curve is asked to come


def fixed_point(
    curve: Curve, guess: float, finest: float, *, rough: Curve | None = None, tolerance: float = 1e-13
) -> float | None:
    """The σ with curve(σ) = σ for a non-increasing curve; None when it lies below `finest`.

    Each evaluation bounds the root from both sides: it lies between σ and curve(σ). Curves are close to powers of σ, so
    the secant is taken between logarithms; where two of its gaps multiply to less than the tolerance, it has arrived.
    `rough` is a quick look at the same curve, which says where to begin and how steep it is there.
    """
    x, slope = max(guess, finest), -1.0  # of the gap, as a flat curve has it
    if rough is not None:
        x, slope = _nearby(rough, x, finest)
    low, high = 0.0, math.inf
    previous: tuple[float, float] | None = None
    for _ in range(100):
        value = curve(x)
        low, high = max(low, min(x, value)), min(high, max(x, value))
        if high < finest or (x == finest and value < x):
            return None
        if high - low <= tolerance * high or value <= 0:
            return low
        place, gap = math.log(x), math.log(value / x)
        if previous is not None and gap != previous[1]:
            slope = (gap - previous[1]) / (place - previous[0])
        step = math.exp(min(place - gap / slope, math.log(high)))
        inside = low <= step <= high
        if inside and step >= finest and previous is not None and abs(gap * previous[1]) <= tolerance:
            return step
        previous = (place, gap)
        x = max(step if inside else math.sqrt(low * high) or high / 2, finest)
    return (low + high) / 2


def _nearby(rough: Curve, x: float, finest: float) -> tuple[float, float]:
    """About the fixed point of a rough curve, and the slope of the gap there."""
    slope, previous = -1.0, None
    for _ in range(8):
        value = rough(x)
        if value <= 0:
            break
        place, gap = math.log(x), math.log(value / x)
        if previous is not None and place != previous[0]:
            slope = min((gap - previous[1]) / (place - previous[0]), -1.0)
        previous = (place, gap)
        x = max(math.exp(place - gap / slope), finest)
        if abs(gap) <= _ROUGHLY:
            break
    return x, slope
