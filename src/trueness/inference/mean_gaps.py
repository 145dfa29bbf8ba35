"""Differences of scores, which are means over rows: Brier score and log loss.

Where predictors differ on few rows the sample does not show the variance of their gap: outcomes that matter most may not have
happened yet. So each outcome must have counted in some rows, and the variance is no less than if either predictor were right.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from trueness._types import Floats
from trueness.data.row_sample import RowSample
from trueness.metrics.contrast import Bounds

_FEWEST = 10  # rows of either outcome, equally important ones, from which a mean gap is about normal
SURE_ARE_RIGHT = "sure predictions are taken to be right"

Loss = Callable[[Floats, Floats], Floats]  # of outcomes and predictions


class Losses:
    """One predictor's losses: as its rows turned out, and were every outcome 0, or 1."""

    def __init__(self, losses: Loss, sample: RowSample) -> None:
        self._losses, self.score = losses, sample.arrays.f
        self.y, self.w, self.soft = sample.arrays.y.astype(np.float64), sample.arrays.w, sample.arrays.soft
        self.total = sample.total

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """Were every outcome 0, and 1."""
        return self._losses(np.zeros(1), self.score), self._losses(np.ones(1), self.score)

    @cached_property
    def own(self) -> Floats:
        """As they turned out."""
        return self._losses(self.y, self.score) if self.soft else np.where(self.y > 0, self.ends[1], self.ends[0])

    @cached_property
    def mean(self) -> float:
        """The score."""
        return float((self.own if self.w is None else self.w * self.own).sum()) / self.total


class MeanGap:
    """The mean gap of two predictors' losses on the same rows."""

    def __init__(self, a: Losses, b: Losses) -> None:
        self._a, self._b = a, b
        self.values = (a.mean, b.mean)
        with np.errstate(invalid="ignore"):
            self._gap = a.own - b.own

    @property
    def value(self) -> float:
        """The gap; infinite where one is, not a number where both are."""
        return self.values[0] - self.values[1]

    @property
    def same(self) -> bool:
        """Whether the predictions are."""
        return np.array_equal(self._a.score, self._b.score)

    @property
    def refusal(self) -> str | None:
        """Why there is no interval."""
        size = np.abs(self._gap if self._a.w is None else self._a.w * self._gap)
        square, y = size * size, self._a.y
        sums = {"rows": (float(size.sum()), float(square.sum()))}
        if not self._a.soft:
            (all_of_it, all_squares), happened, squares = sums["rows"], float(size @ y), float(square @ y)
            sums = {"events": (happened, squares), "rows without event": (all_of_it - happened, all_squares - squares)}
        for name, (each, squares) in sums.items():
            count = each**2 / squares if squares > 0 else 0.0
            if count < _FEWEST:
                return f"too few {name} where they differ: {count:.2g}"
        return None

    @cached_property
    def _stakes(self) -> tuple[Floats, Floats, bool]:
        """The gap were the outcome 0, how much more it were at 1, and whether that has a bound; where not, it is left out."""
        with np.errstate(invalid="ignore"):
            without, with_event = (a - b for a, b in zip(self._a.ends, self._b.ends, strict=True))
        bounded = np.isfinite(without) & np.isfinite(with_event)
        if bounded.all():
            return without, with_event - without, True
        without, with_event = (np.where(bounded, each, self._gap) for each in (without, with_event))
        return without, with_event - without, False

    @property
    def method(self) -> str:
        """What the interval rests on: what a sure prediction would lose if it were wrong has no bound."""
        return "paired rows" if self._a.soft or self._stakes[2] else f"paired rows, {SURE_ARE_RIGHT}"

    def bounds(self) -> tuple[Bounds, Bounds]:
        """Upper bounds of the gap and of its negative: the largest variance, and the skewness of outcomes."""
        w, total = self._a.w, self._a.total
        square = None if w is None else w * w

        def summed(values: Floats, weight: Floats | None) -> float:
            return float(values.sum() if weight is None else weight @ values)

        variance, third = summed((self._gap - self.value) ** 2, square) / total**2, 0.0
        for p in () if self._a.soft else (self._a.score, self._b.score):
            without, stake, _ = self._stakes
            outcome, lean = p * (1 - p), 1 - 2 * p
            outcome *= stake
            outcome *= stake
            lean *= stake
            expected = p * stake
            expected += without
            expected -= summed(expected, w) / total
            expected *= expected
            expected += outcome
            variance = max(variance, summed(expected, square) / total**2)
            outcome *= np.abs(lean, out=lean)
            third = max(third, summed(outcome, None if square is None or w is None else square * w) / total**3)
        skewness = third / variance if variance > 0 else 0.0
        one, other = (Bounds(*(np.array([[each]]) for each in (sign * self.value, variance, skewness))) for sign in (1, -1))
        return one, other
