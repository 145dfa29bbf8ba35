"""Checks of metric options."""

import math
import sys
from typing import Any

import numpy as np

from trueness.errors import InputError


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """An option that must be one of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name}: {value!r} is not one of {', '.join(map(repr, choices))}.")


def check_bandwidth(value: Any, smallest: float = 0.0, largest: float = math.inf) -> float:
    """A positive finite number, within limits where a metric has some."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf or not smallest <= value <= min(largest, sys.float_info.max):
        limit = f" from {smallest:g} to {largest:g}" if largest < math.inf else ""
        raise InputError(f"bandwidth: {value!r} is not a positive number{limit}. Pass the kernel's width, for example 0.05.")
    return float(value)


def check_rng(value: Any) -> np.random.Generator:
    """A generator, made from None, a seed or itself."""
    seed = isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 0
    if value is not None and not seed and not isinstance(value, np.random.Generator):
        raise InputError(f"rng: {value!r} is not None, a whole number from 0 on, or a numpy.random.Generator.")
    return np.random.default_rng(value)


def check_draws(value: Any) -> int:
    """A positive whole number."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise InputError(f"draws: {value!r} is not a positive whole number.")
    return int(value)
