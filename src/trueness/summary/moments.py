"""What metrics read off a summary's sums: float64 columns per cell, each made when it is first asked for."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._frozen import column
from trueness._types import Floats

# Integer sums per cell, for label 0 and then for label 1. R_j = Σ floor(r^j·2^31 + ½) / 2^31 is kept as a whole part and a
# numerator below 2^31: a single int64 would overflow beyond 2^32 rows in a cell.
INTEGER_SUMS = ("n", "R1", "R1_numerator", "R2", "R2_numerator", "R3", "R3_numerator")
NUMERATOR_BITS = 31
SEGMENT = 1 << 31  # rows whose int64 sums cannot overflow

# Float sums per cell; r is the position in the dyadic slot, e = y − f formed row by row so that f = y gives exactly 0.
FLOAT_SUMS = ("w", "wr", "wr2", "we", "wer", "wer2", "wy2", "we_positive", "w2", "w2_binomial", "w2e2")


class FloatColumns:
    """The columns of FLOAT_SUMS as they are kept for weights or soft labels."""

    def __init__(self, sums: NDArray[Any], k: Floats, u: Floats) -> None:
        for name, total in zip(FLOAT_SUMS, sums, strict=True):
            setattr(self, name, total)

    w: Floats
    wr: Floats
    wr2: Floats
    we: Floats
    wer: Floats
    wer2: Floats
    wy2: Floats
    we_positive: Floats
    w2: Floats
    w2_binomial: Floats  # Σw²f(1 − f)
    w2e2: Floats


class IntegerColumns:
    """The same columns from integer sums: weights of one, labels 0 and 1."""

    def __init__(self, sums: NDArray[Any], k: Floats, u: Floats) -> None:
        self._sums = sums
        self._k = k
        self._u = u
        self._unit = 1 / u  # exact: u is a power of two

    def _power(self, label: int, j: int) -> Floats:
        units, numerator = self._sums[7 * label + 2 * j - 1], self._sums[7 * label + 2 * j]
        return np.asarray(units + numerator * 2.0**-NUMERATOR_BITS)

    @column
    def wy2(self) -> Floats:
        """Rows with label 1."""
        return np.asarray(self._sums[7], dtype=np.float64)

    @column
    def w(self) -> Floats:
        """Rows."""
        return np.asarray(self._sums[0] + self.wy2)

    @property
    def w2(self) -> Floats:
        """Rows."""
        return self.w

    @column
    def _one_r(self) -> Floats:
        return self._power(1, 1)

    @column
    def _one_r2(self) -> Floats:
        return self._power(1, 2)

    @column
    def wr(self) -> Floats:
        """Σr."""
        return self._power(0, 1) + self._one_r

    @column
    def wr2(self) -> Floats:
        """Σr²."""
        return self._power(0, 2) + self._one_r2

    @column
    def we(self) -> Floats:
        """Σ(y − f); the integers are combined before they are divided."""
        return (self.wy2 * self._u - self.w * self._k - self.wr) * self._unit

    @column
    def wer(self) -> Floats:
        """Σ(y − f)r, as Σf r = (k·R_1 + R_2)/u."""
        return self._one_r - (self._k * self.wr + self.wr2) * self._unit

    @column
    def wer2(self) -> Floats:
        """Σ(y − f)r², as Σf r² = (k·R_2 + R_3)/u."""
        cubes = self._power(0, 3) + self._power(1, 3)
        return self._one_r2 - (self._k * self.wr2 + cubes) * self._unit

    @column
    def we_positive(self) -> Floats:
        """Σ(1 − f) of the rows with label 1."""
        return self.wy2 - (self.wy2 * self._k + self._one_r) * self._unit

    @column
    def _squares(self) -> Floats:
        """Σf²."""
        return ((self.w * self._k + 2 * self.wr) * self._k + self.wr2) * self._unit**2

    @column
    def w2_binomial(self) -> Floats:
        """Σf − Σf²."""
        return (self.w * self._k + self.wr) * self._unit - self._squares

    @column
    def w2e2(self) -> Floats:
        """Σ(y − f)² = Σy − 2Σyf + Σf²."""
        return 2 * self.we_positive - self.wy2 + self._squares


class Moments:
    """Sums of each non-empty cell around its mean score."""

    def __init__(self, columns: FloatColumns | IntegerColumns, k: Floats, u: Floats) -> None:
        self._columns = columns
        self._k = k
        self._u = u

    @property
    def weight(self) -> Floats:
        """Σw."""
        return self._columns.w

    @property
    def e(self) -> Floats:
        """Σw(y − f)."""
        return self._columns.we

    @property
    def e_positive(self) -> Floats:
        """Σw·max(y − f, 0)."""
        return self._columns.we_positive

    @column
    def _r(self) -> Floats:
        """Mean position in the slot; 0 where a weight has vanished beside one 1e300 times as large."""
        w = self._columns.w
        return np.divide(self._columns.wr, w, out=np.zeros_like(w), where=w > 0)

    @column
    def mean(self) -> Floats:
        """Mean score."""
        return (self._k + self._r) / self._u

    @column
    def spread(self) -> Floats:
        """Σw(f − mean)²."""
        return np.maximum(self._columns.wr2 - self._columns.wr * self._r, 0) / self._u**2

    @property
    def mixed(self) -> NDArray[np.bool_]:
        """Cells in which scores differ, by more than the rounding of r and r² to 2^-31 could feign."""
        return np.asarray(self.spread * self._u**2 > 2.0 ** (1 - NUMERATOR_BITS) * self.weight)

    @column
    def e1(self) -> Floats:
        """Σw(y − f)(f − mean)."""
        return (self._columns.wer - self.e * self._r) / self._u

    @column
    def e2(self) -> Floats:
        """Σw(y − f)(f − mean)²."""
        return (self._columns.wer2 - 2 * self._r * self._columns.wer + self.e * self._r**2) / self._u**2

    @cached_property
    def brier(self) -> float:
        """Σw(y − f)² over all cells."""
        c = self._columns
        if isinstance(c, IntegerColumns):  # weights of one: Σw²(y − f)² is at hand
            return max(self.residual_variance, 0.0)
        squares = self.weight * self.mean**2 + self.spread
        return max(float((c.wy2 - squares - 2 * (self.e * self.mean + self.e1)).sum()), 0.0)

    @cached_property
    def binomial_variance(self) -> float:
        """Σw²f(1 − f) over all cells."""
        return float(self._columns.w2_binomial.sum())

    @cached_property
    def residual_variance(self) -> float:
        """Σw²(y − f)² over all cells."""
        return float(self._columns.w2e2.sum())
