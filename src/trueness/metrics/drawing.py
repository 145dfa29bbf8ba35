"""How a metric is drawn: the points it needs, its value on many draws at once, and what an interval makes of their noise.

A draw is a row of residual sums Σw(y − f) over the same points.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from trueness._types import Array, Floats, Ints
from trueness.brownian import BrownianLaw
from trueness.data.points import Points
from trueness.data.row_extremes import Bracket
from trueness.metrics.contrast import Contrast

Options = Mapping[str, Any]


class Partition(NamedTuple):
    """Bins of points: the bin of each point, and the width of each bin."""

    bin: Ints
    width: Floats

    def restricted(self, starts: Ints) -> "Partition":
        """The same for groups of neighbouring points that lie within bins."""
        return Partition(self.bin[starts], self.width)


class LimitLaw(NamedTuple):
    """The law of a metric over its noise scale as rows grow in number."""

    law: BrownianLaw
    mean: float
    bounds: Callable[[Bracket], tuple[float, float]]  # for the exact value, where only a summary is known


class Statistic:
    """A metric of draws."""

    def __init__(self, points: Points) -> None:
        self.points = points

    def of(self, e: Array) -> Floats:
        """The metric of each draw."""
        raise NotImplementedError


class Noise(NamedTuple):
    """Norms of noise, [draw] or [draw, bandwidth]: of outcomes drawn as predicted, and of residuals with random signs."""

    null: Floats  # none where they were not asked for
    flips: Floats

    @property
    def kinds(self) -> list[Floats]:
        """Those that were drawn."""
        return [norms for norms in (self.flips, self.null) if len(norms)]


class Norm(Statistic):
    """The norm behind a metric, sup E[v(f)·r] over some functions |v| ≤ 1 of the score, and limits for its true value."""

    suffix = ""  # what the interval's method says of it
    base: Points  # before they were put together
    gives_metric = True  # whether the metric of draws follows from their norms

    def __init__(self, points: Points) -> None:
        super().__init__(points)
        self.base = points

    def noise(self, e: Array) -> Floats:
        """The norm of each draw."""
        raise NotImplementedError

    def metric_of(self, norms: Floats) -> Floats:
        """The metric of draws from their norms, which mostly it is."""
        return norms

    def of(self, e: Array) -> Floats:
        """The metric of each draw."""
        return self.metric_of(self.noise(e))

    def near(self, norms: Floats, value: float) -> Floats:
        """Norms of draws as functions of the witness at hand, that of a metric of this value."""
        return norms

    def squares(self) -> Floats:
        """Σw²r² of each point, r the residual that the norm is of."""
        return self.points.squares

    def limits(self, value: float, high: float, noise: Noise, alpha: float) -> tuple[float, float]:
        """Limits for the true value: the value less its noise, and `high`, by which the best v of the truth bounds it."""
        return value - max(order_statistic(norms.reshape(len(norms)), alpha / 2) for norms in noise.kinds), high


def normal_quantile(tail: float) -> float:
    """What a standard normal number exceeds with this probability."""
    from scipy.special import ndtri

    return float(-ndtri(tail))


def student_quantile(tail: float, freedom: int) -> float:
    """What a number by Student's law exceeds with this probability."""
    from scipy.special import stdtrit

    return float(-stdtrit(freedom, tail))


def order_statistic(values: Floats, tail: float) -> float:
    """The smallest value that all but a share `tail` of further draws stay below."""
    place = math.ceil((len(values) + 1) * (1 - tail))
    return float(np.sort(values)[min(place, len(values)) - 1])


class AnyStatistic(Statistic):
    """Any metric, one draw after the other: a point is two rows, its weight parted between the outcomes 1 and 0."""

    def __init__(self, points: Points, function: Callable[..., Any], options: Options) -> None:
        super().__init__(points)
        self.function = function
        self.options = options

    def of(self, e: Array) -> Floats:
        """The metric of each draw."""
        score, weight = self.points.score, self.points.weight
        events = weight * np.clip(score + e / weight, 0.0, 1.0)
        y, f = np.repeat([1.0, 0.0], len(score)), np.tile(score, 2)
        parted = (np.concatenate([ones, weight - ones]) for ones in events)
        return np.array([float(self.function(y, f, sample_weight=w, **self.options)) for w in parted])


class Drawing:
    """What a metric says of its draws; these defaults hold for any metric. Options are complete, defaults included."""

    law: LimitLaw | None = None  # with one, draws keep the order of all scores
    needs_flips = True  # whether its interval reads residuals with random signs
    by_cuts = False  # whether the groups that its cuts leave are fine enough
    is_smooth = False  # whether draws on groups of neighbours have the law of the value itself
    on_cells = False  # whether draws may be made on groups of neighbours although the value needs rows

    def partition(self, points: Points, options: Options) -> Partition | None:
        """The metric's bins."""
        return None

    def cuts(self, points: Points, options: Options) -> list[Ints]:
        """Labels that no group of points may cross."""
        return []

    def read_on(self, points: Points, base: Points, options: Options) -> Points:
        """Where what was observed is read: on the points of the draws, or as they were before neighbours were put together."""
        return points

    def is_fine(self, options: Options) -> bool:
        """Whether a cell of a summary may be too wide, so that rows are better where there are any."""
        return False

    def statistic(self, points: Points, options: Options, partition: Partition | None) -> Statistic | None:
        """The metric on these points; None where only the metric itself can tell."""
        return None

    def norm(self, points: Points, options: Options, partition: Partition | None) -> Norm | None:
        """What its interval is made of; None where no interval is known to cover."""
        return None

    def contrast(self, score: Floats, options: Options) -> Contrast | None:
        """What bounds its differences between predictors on cells of these scores; None: its intervals alone."""
        return None

    def refusal(self, options: Options) -> str | None:
        """Why there is no interval with these options, though there is one with others."""
        return None

    def undrawable(self, options: Options) -> str | None:
        """Why nothing can be drawn with these options."""
        return None
