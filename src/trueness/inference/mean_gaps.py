"""Differences of scores, which are means over rows: Brier score and log loss.

Where predictors differ on few rows the sample does not show the variance of their gap: outcomes that matter most may not have
happened yet. So each outcome must have counted in some rows, and the variance is no less than if either predictor were right.
"""

from collections.abc import Callable

import numpy as np

from trueness._types import Floats
from trueness.data.row_sample import RowSample
from trueness.metrics.contrast import Bounds

_FEWEST = 10  # rows of either outcome, equally important ones, from which a mean gap is about normal
SURE_ARE_RIGHT = "sure predictions are taken to be right"

Losses = Callable[[Floats, Floats], Floats]  # of outcomes and predictions


class MeanGap:
    """The mean gap of two predictors' losses on the same rows."""

    def __init__(self, losses: Losses, a: RowSample, b: RowSample) -> None:
        self._losses, self._scores = losses, (a.arrays.f, b.arrays.f)
        self._y, self._soft = a.arrays.y.astype(np.float64), a.arrays.soft
        w = np.ones(len(self._y)) if a.arrays.w is None else a.arrays.w
        self._share = w / float(w.sum())
        own, other = (losses(self._y, f) for f in self._scores)
        self.values = (float(self._share @ own), float(self._share @ other))
        with np.errstate(invalid="ignore"):
            self._gap = own - other

    @property
    def value(self) -> float:
        """The gap; infinite where one is, not a number where both are."""
        return self.values[0] - self.values[1]

    @property
    def same(self) -> bool:
        """Whether the predictions are."""
        return np.array_equal(*self._scores)

    @property
    def refusal(self) -> str | None:
        """Why there is no interval."""
        for name, rows in self._outcomes():
            size = self._share[rows] * np.abs(self._gap[rows])
            squares = float((size**2).sum())
            count = float(size.sum()) ** 2 / squares if squares > 0 else 0.0
            if count < _FEWEST:
                return f"too few {name} where they differ: {count:.2g}"
        return None

    @property
    def method(self) -> str:
        """What the interval rests on: what a sure prediction would lose if it were wrong has no bound."""
        without, with_event = self._by_outcome
        bounded = bool(np.isfinite(without).all() and np.isfinite(with_event).all())
        return "paired rows" if bounded else f"paired rows, {SURE_ARE_RIGHT}"

    def _outcomes(self) -> list[tuple[str, Floats]]:
        if self._soft:
            return [("rows", np.ones(len(self._y), dtype=bool))]
        return [("events", self._y > 0), ("rows without event", self._y == 0)]

    @property
    def _by_outcome(self) -> tuple[Floats, Floats]:
        """The gap of each row were its outcome 0, and were it 1."""
        if self._soft:
            return self._gap, self._gap
        ends = (np.zeros(len(self._y)), np.ones(len(self._y)))
        with np.errstate(invalid="ignore"):
            without, with_event = (self._losses(end, self._scores[0]) - self._losses(end, self._scores[1]) for end in ends)
        return without, with_event

    def bounds(self) -> tuple[Bounds, Bounds]:
        """Upper bounds of the gap and of its negative: the largest variance, and the skewness of outcomes."""
        square = self._share**2
        variance, third = float((square * (self._gap - self.value) ** 2).sum()), 0.0
        without, with_event = self._by_outcome
        bounded = np.isfinite(without) & np.isfinite(with_event)
        without, with_event = (np.where(bounded, each, self._gap) for each in (without, with_event))
        stake = with_event - without
        for p in () if self._soft else self._scores:
            outcome = p * (1 - p)
            expected = without + p * stake
            expected -= float(self._share @ expected)
            variance = max(variance, float((square * (expected**2 + stake**2 * outcome)).sum()))
            third = max(third, float((self._share**3 * np.abs(stake) ** 3 * outcome * np.abs(1 - 2 * p)).sum()))
        skewness = third / variance if variance > 0 else 0.0
        one, other = (Bounds(*(np.array([[each]]) for each in (sign * self.value, variance, skewness))) for sign in (1, -1))
        return one, other
