"""The far tail of a limit law where events are few."""

import math
from typing import NamedTuple

import numpy as np

from trueness.brownian import BrownianLaw
from trueness.data.points import Points

TAIL_EVENTS = 200  # variance of events from which the laws are trusted further out than draws reach
_FAR = math.log(1e-4)


class FewEvents(NamedTuple):
    """A limit law whose far tail allows for events that are few: their sums are skewed.

    A sum of variance V and skewness γ passes x + γ(x² − 1)/6 standard deviations on one side, x − γ(x² − 1)/6 on the other, as
    often as a normal one passes x (Cornish and Fisher). Half of the law's tail is taken to be of either side. Below 1e-4 alone:
    with V = 52 the law is right above, and 1.3 times too small at 3e-5.
    """

    law: BrownianLaw
    skewness: float

    @classmethod
    def of(cls, law: BrownianLaw, points: Points) -> "FewEvents":
        """That of these points."""
        lean = float((points.binomial * np.abs(1 - 2 * points.score)).sum()) / float(points.binomial.sum())
        return cls(law, lean / math.sqrt(points.events))

    def sf(self, x: float) -> float:
        """P(X > x)."""
        return math.exp(self.logsf(x))

    def logsf(self, x: float) -> float:
        """ln P(X > x)."""
        by_law, k = float(self.law.logsf(x)), self.skewness / 6
        if by_law >= _FAR or k <= 0:
            return by_law
        heavy = (math.sqrt(1 + 4 * k * (x + k)) - 1) / (2 * k)
        left = 1 - 4 * k * (x - k)
        light = float(self.law.logsf((1 - math.sqrt(left)) / (2 * k))) if left > 0 else -math.inf
        return float(min(np.logaddexp(self.law.logsf(heavy), light) - math.log(2), _FAR))


def tail_law(law: BrownianLaw, points: Points) -> BrownianLaw | FewEvents:
    """The law, or what stands for it where events are few."""
    return FewEvents.of(law, points) if points.events < TAIL_EVENTS else law
