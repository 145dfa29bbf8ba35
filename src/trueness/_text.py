"""Numbers, p-values, names, ranges and tables as people read them."""

import math
from collections.abc import Sequence

WIDTH = 100  # columns of a printed page
MISSING = "(missing)"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned to the left, a rule under the head.

    Examples
    --------
    >>> print(table(("metric", "value"), [("ecce_r", "0.024")]))
    metric  value
    ------  -----
    ecce_r  0.024
    """
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)


def printable(text: str) -> str:
    """Text from elsewhere with control characters as escapes."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def clean(text: str, most: int = 40) -> str:
    """A name from data on one line: control characters as escapes, the middle left out where it is long."""
    text = printable(text)
    tail = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - tail]}…{text[-tail:]}"


def group_name(group: object, most: int = 40) -> str:
    """A group's name on one line; rows without one are a group of their own."""
    return clean(MISSING if group is None else str(group), most)


def number(x: float) -> str:
    """A calibration error: three digits, without exponents where they can be avoided."""
    return f"{x:.4f}" if x == 0 or x >= 0.00095 else f"{x:.2e}"


def show_points(gap: float) -> str:
    """A gap between predictions and outcomes in percentage points, without its sign.

    Examples
    --------
    >>> show_points(-0.0916), show_points(0.0123), show_points(1)
    ('9.2', '1.2', '100')
    """
    points = 100 * abs(gap)
    return f"{points:.0f}" if points >= 99.5 else f"{points:.2g}"


def unlike_one(slope: float) -> str:
    """A slope with two digits, or as many more as tell it from 1.

    Examples
    --------
    >>> unlike_one(0.7136), unlike_one(0.99953)
    ('0.71', '0.9995')
    """
    for digits in range(2, 16):
        text = f"{slope:.{digits}f}"
        if slope == 1 or float(text) != 1:
            return text
    return repr(slope)


def percent(level: float) -> str:
    """A level as people say it.

    Examples
    --------
    >>> percent(0.95)
    '95 %'
    """
    return f"{100 * level:.4g} %"


def show_pvalue(pvalue: float, log10_pvalue: float) -> str:
    """A p-value in two digits, from its logarithm where a float cannot hold it."""
    if 0 < pvalue < 1e-300:
        exponent = math.floor(log10_pvalue)
        return f"{10 ** (log10_pvalue - exponent):.1f}e{exponent}"
    return f"{pvalue:.2g}"


def score_range(low: float, high: float, *, from_start: bool = False, to_end: bool = False) -> tuple[str, str]:
    """The ends of a range of scores, with as many digits as tell them apart.

    An end is called 0 or 1 only where it is, or where no scores lie beyond it: `from_start` below, `to_end` above.

    Examples
    --------
    >>> score_range(0.6, 0.9), score_range(0.0012, 0.0034), score_range(0.5, 0.9999)
    (('0.60', '0.90'), ('0.0012', '0.0034'), ('0.50', '0.9999'))
    >>> score_range(0.3000001, 0.3000004)
    ('0.3000001', '0.3000004')
    >>> score_range(0.0012, 0.9999, from_start=True, to_end=True)
    ('0.00', '1.00')
    """
    digits = 2 if high - low >= 0.1 or high == low == round(low, 2) else 4
    for more in range(digits, 17):
        ends = _end(low, more, 0.0 if from_start else None), _end(high, more, 1.0 if to_end else None)
        if low == high or ends[0] != ends[1]:
            return ends
    return repr(low), repr(high)


def _end(value: float, digits: int, allowed: float | None) -> str:
    for more in range(digits, 17):
        text = f"{value:.{more}f}"
        if float(text) in (value, allowed) or float(text) not in (0.0, 1.0):
            return text
    return repr(value)


def even_ticks(low: float, high: float) -> list[float]:
    """About five round numbers from low to high.

    Examples
    --------
    >>> even_ticks(0.0, 0.031)
    [0.0, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03]
    """
    if high <= low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / 5))
    step = power * min((1, 2, 5, 10), key=lambda k: abs(k * power - (high - low) / 5))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def told_apart(values: Sequence[float]) -> list[str]:
    """Numbers with as many decimals, two at least, as tell those that differ apart.

    Examples
    --------
    >>> told_apart([0.0, 0.0012, 0.0049])
    ['0.000', '0.001', '0.005']
    """
    different = len(set(values))
    for decimals in range(2, 7):
        texts = [f"{value:.{decimals}f}" for value in values]
        if len(set(texts)) == different:
            return texts
    return [f"{value:.2g}" for value in values]
