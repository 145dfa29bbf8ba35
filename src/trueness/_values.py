"""One value: whether it is missing or a number, and how a message prints it."""

import numbers
import re
from decimal import Decimal

import numpy as np

__all__ = ["are", "is_chunk", "is_missing", "is_number", "is_unusable", "show", "stem"]


def is_chunk(item: object) -> bool:
    """Whether an item of an iterator is a piece of a column rather than one value."""
    ndim = getattr(item, "ndim", None)
    if isinstance(ndim, int):
        return ndim > 0
    return hasattr(item, "__len__") and not isinstance(item, (str, bytes))


def is_missing(value: object) -> bool:
    """None, NaN of any kind, pandas' NA and NaT, NumPy's masked."""
    if value is None or value is np.ma.masked:
        return True
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    return type(value).__name__ in ("NAType", "NaTType")


def is_unusable(value: object) -> bool:
    """Missing, or a number that is not finite."""
    if is_missing(value):
        return True
    if isinstance(value, Decimal):
        return value.is_infinite()
    return isinstance(value, (float, np.floating)) and not np.isfinite(value)


def is_number(value: object) -> bool:
    """A real number: Python's, NumPy's, Decimal or Fraction, or a truth value."""
    return isinstance(value, (numbers.Real, np.bool_, Decimal)) and not isinstance(value, np.timedelta64)


def show(value: object) -> str:
    """A value as a message prints it: short, on one line, and with control characters escaped."""
    try:
        plain = isinstance(value, (np.number, np.bool_, Decimal)) or is_missing(value)
        text = str(value) if plain else repr(value.item() if isinstance(value, (np.str_, np.bytes_)) else value)
    except Exception:  # integers beyond sys.get_int_max_str_digits(), and objects whose own __repr__ fails
        return f"an {type(value).__name__} too long to print" if isinstance(value, int) else f"a {type(value).__name__}"
    text = text if len(text) <= 60 else text[:57] + "..."
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def stem(name: str) -> str:
    """The argument's name without the chunk's number."""
    return re.sub(r", chunk \d+$", "", name)


def are(count: int, total: int, what: str) -> str:
    """How many of a column's values are something."""
    return f"{count} of {total} values {'is' if count == 1 else 'are'} {what}"
