"""One value: whether it is missing or a number, and how a message prints it."""

import numbers
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, TypeGuard

import numpy as np

from trueness._text import printable

__all__ = [
    "BELOW_MICROSECONDS",
    "are",
    "is_chunk",
    "is_hashable",
    "is_missing",
    "is_number",
    "is_unusable",
    "lists",
    "native",
    "show",
    "stem",
]


BELOW_MICROSECONDS = ("ns", "ps", "fs", "as")  # units of NumPy's moments below a microsecond


def is_chunk(item: object) -> bool:
    """Whether an item of an iterator is a piece of a column rather than one value."""
    ndim = getattr(item, "ndim", None)
    if isinstance(ndim, int):
        return ndim > 0
    return hasattr(item, "__len__") and not isinstance(item, (str, bytes))


def lists(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether a value holds others, one after the other; a text is one value, and so is an array of no dimension."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes) and getattr(value, "ndim", 1) != 0


def is_missing(value: object) -> bool:
    """None, NaN of any kind, pandas' NA and NaT, NumPy's masked."""
    if value is None or value is np.ma.masked:
        return True
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
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


def is_hashable(value: object) -> bool:
    """Whether a value can be told from others by a dictionary; a list cannot, nor a tuple that holds one."""
    try:
        hash(value)
    except Exception:  # whatever an object's own __hash__ raises
        return False
    return True


def native(value: Any) -> Any:
    """NumPy's scalars as Python's own values, as far as these are as fine: its moments end at microseconds."""
    if not isinstance(value, (np.datetime64, np.timedelta64)):
        return value.item() if isinstance(value, np.generic) else value
    coarse = value.astype(f"{value.dtype.kind}8[us]") if np.datetime_data(value.dtype)[0] in BELOW_MICROSECONDS else value
    own = coarse.item() if coarse == value else value
    return value if isinstance(own, int) else own  # an integer is what lies beyond the range of Python's


def show(value: object) -> str:
    """A value as a message prints it: short, on one line, and with control characters escaped."""
    try:
        plain = isinstance(value, (np.number, np.bool_, Decimal)) or is_missing(value)
        text = str(value) if plain else repr(value.item() if isinstance(value, (np.str_, np.bytes_)) else value)
    except Exception:  # integers beyond sys.get_int_max_str_digits(), and objects whose own __repr__ fails
        return f"an {type(value).__name__} too long to print" if isinstance(value, int) else f"a {type(value).__name__}"
    return printable(text if len(text) <= 60 else text[:57] + "...")


def stem(name: str) -> str:
    """The argument's name without the chunk's number."""
    return re.sub(r", chunk \d+$", "", name)


def are(count: int, total: int, what: str) -> str:
    """How many of a column's values are something."""
    return f"{count} of {total} values {'is' if count == 1 else 'are'} {what}"
