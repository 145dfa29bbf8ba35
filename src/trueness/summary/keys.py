"""Keys of a record as JSON, typed: what comes back is of the type that was kept."""

import math
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from trueness._values import native
from trueness.errors import SummaryError

_MICROSECOND = timedelta(microseconds=1)
# In the order in which keys of different types are kept; of one type they are kept by value, or by their text.
_ORDER = (bool, int, float, Decimal, str, date, datetime, time, timedelta, type(None))


def encode_key(key: Any, axes: int) -> list[Any]:
    """The values of a key, one an axis, as JSON holds them."""
    values = [key] if axes == 1 else list(key)
    return [_encode(native(value), key) for value in values]


def decode_key(values: Any, axes: int) -> Any:
    """The key from its values; a ValueError where they are none."""
    if not isinstance(values, list) or len(values) != axes:
        raise ValueError(f"{values!r} is not a key of {axes} values")
    key = tuple(map(_decode, values))
    return key[0] if axes == 1 else key


def sorted_keys(keys: Sequence[Any], axes: int) -> list[Any]:
    """The keys in the one order in which they are kept, whatever order they came in."""
    return sorted(keys, key=lambda key: [_rank(native(value)) for value in ([key] if axes == 1 else key)])


def _kind(value: Any) -> type | None:
    if type(value) in _ORDER:
        return type(value)
    if isinstance(value, bool | datetime):  # which are whole numbers and dates as well
        return bool if isinstance(value, bool) else datetime
    return next((kind for kind in _ORDER if isinstance(value, kind)), None)


def _rank(value: Any) -> tuple[int, Any]:
    kind = _kind(value)
    if kind is None:
        return len(_ORDER), repr(value)
    shown = value.isoformat() if kind in (date, datetime, time) else 0 if value is None else value
    return _ORDER.index(kind), shown


def _encode(value: Any, key: Any) -> Any:
    kind = _kind(value)
    finer = getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0)  # pandas has these
    if kind is None or finer or value != value:
        what = "is finer than a microsecond" if finer else "is not a value" if kind else f"is a {type(value).__name__}"
        raise SummaryError(
            f"key {key!r}: {value!r} {what}, which a file does not keep. Make groups of text, numbers, truth values, dates or "
            "times; None for missing ones."
        )
    if kind is str:
        return _text(str(value), key)
    if value is None or kind is bool:
        return value
    if kind is int:
        return int(value)
    return {kind.__name__.lower(): _WRITTEN[kind](value)}


def _text(value: str, key: Any) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SummaryError(f"key {key!r}: is not valid Unicode, which a file does not keep. Rename the group.") from None
    return value


_WRITTEN: dict[type, Callable[[Any], Any]] = {
    float: lambda value: repr(float(value)),
    Decimal: str,
    date: lambda value: value.isoformat(),
    datetime: lambda value: value.isoformat(),
    time: lambda value: value.isoformat(),
    timedelta: lambda value: value // _MICROSECOND,
}


def _float(text: str) -> float:
    value = float(text)
    if math.isnan(value):
        raise ValueError("NaN is no key")
    return value


def _decimal(text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a decimal number") from None
    if value.is_nan():
        raise ValueError("NaN is no key")
    return value


_READ: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "float": (str, _float),
    "decimal": (str, _decimal),
    "date": (str, date.fromisoformat),
    "datetime": (str, datetime.fromisoformat),
    "time": (str, time.fromisoformat),
    "timedelta": (int, lambda microseconds: timedelta(microseconds=microseconds)),
}


def _decode(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        if isinstance(value, str):
            value.encode()  # a surrogate is no letter: a UnicodeError, which is a ValueError
        return value
    if isinstance(value, dict) and len(value) == 1:
        ((name, written),) = value.items()
        kind, read = _READ.get(name, (None, None))
        if kind is not None and read is not None and type(written) is kind:
            try:
                return read(written)
            except OverflowError as error:
                raise ValueError(f"{value!r} is beyond what a key may be") from error
    raise ValueError(f"{value!r} is not a value of a key")
