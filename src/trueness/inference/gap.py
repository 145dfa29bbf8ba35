"""What may be claimed of the range that is off the most: chosen because it looks bad, it looks worse than it is."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from trueness._types import Floats
from trueness.brownian import range as law
from trueness.data.points import Points
from trueness.inference.combined import likeness, neighbours
from trueness.inference.residual_statistics import Spread, together
from trueness.inference.significance import residual_variance
from trueness.inference.simulation import Resampling, null_draws, settled
from trueness.metrics.cumulative import WorstInterval
from trueness.metrics.drawing import order_statistic

_MEAN = math.sqrt(8 / math.pi)  # of the law of ECCE-R


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstGap:
    """The gap between predictions and outcomes in the range that is off the most, without its sign.

    With R = ECCE-R, σ the scale of its noise, and q a quantile of noise over all ranges at once:

        at_least    (R − q·σ)/share, q at (1 + level)/2: holds whatever range was chosen, as it holds for all
        estimated   (R − m·q·σ²/R)/share, q at `level`, m the mean of the noise: at the threshold of significance, R = q·σ, the
                    noise floor m·σ is taken off, further out in inverse proportion less
    """

    observed: float
    estimated: float
    at_least: float  # 0 where nothing is certain

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary."""
        return asdict(self)


def worst_gap(worst: WorstInterval, resampling: Resampling, alpha: float, draws: int, seed: int) -> WorstGap:
    """Of the worst range of the data of ECCE-R's resampling."""
    value = abs(worst.mean_gap) * worst.share
    groups = neighbours(resampling.base)
    sigma = math.sqrt(residual_variance(resampling.base) * likeness(groups)) / resampling.base.total
    null = _null(resampling, groups, draws, seed)
    highest, usual, mean = (sigma * of(null) for of in (_quantile(alpha / 2), _quantile(alpha), _mean))
    at_least = max(value - highest, 0.0)
    estimated = max(value - mean * min(usual / value, 1.0), at_least)
    return WorstGap(
        observed=abs(worst.mean_gap), estimated=settled(estimated / worst.share), at_least=settled(at_least / worst.share)
    )


def _null(resampling: Resampling, groups: Points, draws: int, seed: int) -> Floats | None:
    """The draws of ECCE-R in units of its noise from which its p was told; None where its law tells as much."""
    points = resampling.base
    drawn = not points.soft and points.binomial.sum() > 0
    if resampling.regime.asymptotic or not drawn:
        return None
    return null_draws(groups, together([Spread(groups)]), seed, draws)[0][1:]


def _quantile(tail: float) -> Callable[[Floats | None], float]:
    """Of the draws no less than of the law: those on groups see a little less than all scores would."""

    def of(null: Floats | None) -> float:
        return _by_law(tail) if null is None else max(order_statistic(null, tail), _by_law(tail))

    return of


@cache
def _by_law(tail: float) -> float:
    return float(law.isf(tail))


def _mean(null: Floats | None) -> float:
    return _MEAN if null is None else float(np.mean(null))
