"""Where a falling curve equals its argument."""

import math
from collections.abc import Callable


def fixed_point(curve: Callable[[float], float], guess: float, finest: float, tolerance: float = 1e-13) -> float | None:
    """The σ with curve(σ) = σ for a non-increasing curve; None when it lies below `finest`.

    Each evaluation bounds the root from both sides: it lies between σ and curve(σ). Curves are close to powers of σ, so
    the secant is taken between logarithms.
    """
    previous: tuple[float, float] | None = None
    low, high = 0.0, math.inf
    x = max(guess, finest)
    for _ in range(100):
        value = curve(x)
        low, high = max(low, min(x, value)), min(high, max(x, value))
        if high < finest or (x == finest and value < x):
            return None
        if high - low <= tolerance * high or value <= 0:
            return low
        gap = math.log(value / x)
        step = math.log(x) + gap  # where a flat curve would have its fixed point
        if previous is not None and gap != previous[1]:
            step = math.log(x) - gap * (math.log(x) - previous[0]) / (gap - previous[1])
        previous = (math.log(x), gap)
        guess = math.exp(min(step, math.log(high)))
        x = max(guess if low <= guess <= high else math.sqrt(low * high) or high / 2, finest)
    return (low + high) / 2
