"""Checks of metric options."""

import math
from typing import Any

import numpy as np

from trueness.errors import InputError


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """An option that must be one of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name}: {value!r} is not one of {', '.join(map(repr, choices))}.")


def check_bandwidth(value: Any, *, optional: bool = False) -> float | None:
    """A positive finite number, or None where the metric finds its own."""
    if value is None and optional:
        return None
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:
        raise InputError(f"bandwidth: {value!r} is not a positive number. Pass the kernel's width, for example 0.05.")
    return float(value)


def check_draws(value: Any) -> int:
    """A positive whole number."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise InputError(f"draws: {value!r} is not a positive whole number.")
    return int(value)
