"""The highest and the lowest point of the cumulative differences C: values that a summary keeps where its rows told them."""

from typing import NamedTuple

import numpy as np

from trueness._types import Floats

TIE = 1e-15  # values of C closer than this are the same but for rounding


class Point(NamedTuple):
    """A value of C: all rows with scores up to `score`, which hold the share `weight` of the total."""

    value: float
    score: float
    weight: float


ORIGIN = Point(0.0, 0.0, 0.0)


class Extremes(NamedTuple):
    """The highest and lowest point of C, C_0 = 0 included; the first in score order on ties."""

    highest: Point = ORIGIN
    lowest: Point = ORIGIN

    @property
    def mad(self) -> float:
        """max |C|."""
        return max(self.highest.value, -self.lowest.value)

    @property
    def range(self) -> float:
        """max C − min C."""
        return self.highest.value - self.lowest.value

    @property
    def numbers(self) -> Floats:
        """Value, score and weight of the highest point, then of the lowest."""
        return np.array([*self.highest, *self.lowest], dtype=np.float64)

    @classmethod
    def of_numbers(cls, numbers: Floats) -> "Extremes":
        """The same from its six numbers."""
        six = [float(number) for number in numbers]
        return cls(Point(*six[:3]), Point(*six[3:]))

    def over(self, c: Floats, score: Floats, weight: Floats, tie: float = TIE) -> "Extremes":
        """Extremes of these and of further points, given in score order."""
        if len(c) == 0:
            return self
        i = int(np.argmax(c >= c.max() - tie))
        j = int(np.argmax(c <= c.min() + tie))
        return Extremes(
            highest=_better(self.highest, Point(float(c[i]), float(score[i]), float(weight[i])), 1.0, tie),
            lowest=_better(self.lowest, Point(float(c[j]), float(score[j]), float(weight[j])), -1.0, tie),
        )


def _better(old: Point, new: Point, sign: float, tie: float) -> Point:
    gain = sign * (new.value - old.value)
    if abs(gain) > tie:
        return new if gain > 0 else old
    return new if new.weight < old.weight else old
