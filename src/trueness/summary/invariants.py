"""What is true of the sums of any rows: sums that come from elsewhere are held against it before they give a number."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._types import Floats, Ints
from trueness.summary.moments import FLOAT_SUMS, INTEGER_SUMS, NUMERATOR_BITS
from trueness.summary.ruler import Ruler
from trueness.summary.spans import from_cells
from trueness.summary.summary import MOST_ROWS, Summary

_FIXED = 2.0**-29  # a row: its powers are rounded to 2^-31
_FLOAT = 1e-8  # of a cell's weight: float64 sums over many rows, or made from integer ones
_TINY = 1e-300  # where squares of weights are no longer exact

Broken = NDArray[np.bool_]


def fault_of(summary: Summary) -> str | None:
    """Why these sums are of no rows; None where they may be."""
    scaled = summary.exponent != 0
    fault = fault_of_sums(summary.ruler, summary.cells, summary.rows, summary.sums, summary.soft, scaled)
    return fault or fault_of_counts(summary) or fault_of_extremes(summary)


def fault_of_counts(summary: Summary) -> str | None:
    """Why the rows left out, or the values clipped, cannot be so many; None where they may be."""
    if summary.clipped < 0 or min(summary.rejected.values(), default=0) < 0:
        return "a count below 0"
    if summary.clipped > 2 * summary.n:
        return "more values clipped than the rows have"
    return "more than 2^63 - 1 rows" if summary.rows_in > MOST_ROWS else None


def fault_of_sums(
    on: Ruler, cells: Ints, rows: Ints, sums: NDArray[Any], soft: bool | Broken, scaled: bool | Broken
) -> str | None:
    """The same of the cells of one summary or of many; `soft` and `scaled` (weights) may be given for each cell."""
    if len(cells) == 0:
        return None
    if cells.min() < 0 or cells.max() >= on.cells:
        return "there is no such cell"
    if rows.min() <= 0:
        return "a cell holds no rows"
    if _too_many(rows):
        return "more than 2^63 - 1 rows"
    k, u = on.k[cells], on.unit[cells]
    low, high = on.edges[cells] * u - k, on.edges[cells + 1] * u - k
    if sums.dtype == np.int64:
        if np.any(soft):
            return "soft labels in integer sums"
        return _integer_fault(rows, sums, low, high)
    if np.any((sums[0] == 0) & ~np.asarray(scaled)):  # but beside weights 1e300 times as large none vanishes
        return "a weight is 0"
    return _float_fault(rows, sums, low, high, k, u, np.broadcast_to(np.asarray(soft), rows.shape))


def _too_many(rows: Ints) -> bool:
    """Whether the rows together are more than an int64 counts."""
    return int((rows >> 32).sum()) * 2**32 + int((rows & (2**32 - 1)).sum()) > MOST_ROWS


def _integer_fault(rows: Ints, sums: NDArray[np.int64], low: Floats, high: Floats) -> str | None:
    if sums.min() < 0:
        return "a sum is below 0"
    if np.any(sums[0] + sums[7] != rows):
        return "the labels of a cell are not as many as its rows"
    width = len(INTEGER_SUMS)
    for label in (0, 1):
        n, *parts = sums[width * label : width * (label + 1)]
        if max(part.max() for part in parts[1::2]) >= 2**NUMERATOR_BITS:
            return "a numerator is 2^31 or more"
        first, second, third = (w + v * 2.0**-NUMERATOR_BITS for w, v in zip(parts[::2], parts[1::2], strict=True))
        slack = n * _FIXED
        if fault := _position_fault(n.astype(np.float64), first, second, low, high, slack):
            return fault
        if np.any((third < _square_over(second, first) - slack) | (third > (low + high) * second - low * high * first + slack)):
            return "the third power of the scores does not fit the others"
    return None


def _position_fault(w: Floats, first: Floats, second: Floats, low: Floats, high: Floats, slack: Floats) -> str | None:
    """Σwr and Σwr² of positions r between low and high."""
    if np.any((first < low * w - slack) | (first > high * w + slack)):
        return "a mean score lies outside its cell"
    if np.any((second < _square_over(first, w) - slack) | (second > (low + high) * first - low * high * w + slack)):
        return "the scores of a cell spread wider than it"
    return None


def _float_fault(
    rows: Ints, sums: NDArray[np.float64], low: Floats, high: Floats, k: Floats, u: Floats, soft: Broken
) -> str | None:
    if not np.isfinite(sums).all():
        return "a sum is not finite"
    c = dict(zip(FLOAT_SUMS, sums, strict=True))
    w, e, w2 = c["w"], c["we"], c["w2"]
    if min(w.min(), w2.min()) < 0:
        return "a weight is below 0"
    slack = w * _FLOAT + _TINY
    if fault := _position_fault(w, c["wr"], c["wr2"], low, high, slack):
        return fault
    y = (w * k + c["wr"]) / u + e  # Σwy
    squares = w2 * _FLOAT + _TINY
    positive, negative = c["we_positive"], c["we_positive"] - e
    least, most = (low + k) / u, (high + k) / u  # scores
    ends = least * (1 - least), most * (1 - most)  # f(1 − f) is smallest at an end, and largest there or at ½
    narrowest, widest = np.minimum(*ends), np.where((least <= 0.5) & (most >= 0.5), 0.25, np.maximum(*ends))
    size = np.maximum(most, 1 - least)  # of a residual
    broken: dict[str, Broken] = {
        "an outcome lies outside 0 to 1": (y < -slack) | (y > w + slack),
        "the squares of the outcomes do not fit their sum": (c["wy2"] > y + slack) | (c["wy2"] < _square_over(y, w) - slack),
        "outcomes between 0 and 1 where all are 0 or 1": ~soft & (np.abs(c["wy2"] - y) > slack),
        "a residual is larger than its weight": np.abs(e) > w + slack,
        "residuals above 0 do not fit their sum": np.minimum(positive, negative) < -slack,
        "residuals of one sign are larger than their weight": np.maximum(positive, negative) > w + slack,
        "residuals do not fit the scores": _beyond(c["wer"], positive, negative, low, high, slack)
        | _beyond(c["wer2"], positive, negative, low**2, high**2, slack),
        "residuals do not fit the outcomes": ~soft
        & (_outside(positive, c["wy2"], 1 - most, 1 - least, slack) | _outside(negative, w - c["wy2"], least, most, slack)),
        "the squares of the weights do not fit their sum": (w2 > w**2 + w**2 * _FLOAT + _TINY) | (w2 < w**2 / rows - squares),
        "a variance does not fit the weights": _outside(c["w2_binomial"], w2, narrowest, widest, squares),
        "the squares of the residuals do not fit the weights": c["w2e2"] > w2 * size**2 + squares,
        "the squares of the residuals do not fit their sum": c["w2e2"] < (positive + negative) ** 2 / rows - squares - slack**2,
    }
    return next((fault for fault, cells in broken.items() if cells.any()), None)


def _square_over(total: Floats, w: Floats) -> Floats:
    """(Σwx)²/Σw, the least that Σwx² can be; divided first, since the square of a small sum loses its digits."""
    return np.asarray(total * np.divide(total, w, out=np.zeros_like(total), where=w > 0))


def _outside(total: Floats, w: Floats, low: Floats, high: Floats, slack: Floats) -> Broken:
    """Whether Σwx is that of no x between low and high."""
    return np.asarray((total < low * w - slack) | (total > high * w + slack))


def _beyond(total: Floats, positive: Floats, negative: Floats, low: Floats, high: Floats, slack: Floats) -> Broken:
    """Whether Σwex is that of no x between low and high, given Σw·max(e, 0) and Σw·max(−e, 0)."""
    return np.asarray((total < low * positive - high * negative - slack) | (total > high * positive - low * negative + slack))


def fault_of_extremes(summary: Summary) -> str | None:
    """Why the extremes kept with these sums are not those of their rows; None where they may be."""
    if summary.extremes is None:
        return None
    numbers, extremes = summary.extremes.numbers, summary.extremes
    shares = np.abs(numbers)
    if not (np.isfinite(numbers).all() and shares.max() <= 1 + _FLOAT and numbers[[1, 2, 4, 5]].min() >= 0):
        return "the extremes of the cumulative differences are no shares and scores"
    if summary.n == 0 or summary.exponent:
        return "extremes of the cumulative differences where none can be known"
    edges, bounds = from_cells(summary)
    high = edges.highest.value - _FLOAT <= extremes.highest.value <= bounds.highest.value + _FLOAT
    low = bounds.lowest.value - _FLOAT <= extremes.lowest.value <= edges.lowest.value + _FLOAT
    return None if high and low else "the extremes of the cumulative differences lie outside what the sums allow"
