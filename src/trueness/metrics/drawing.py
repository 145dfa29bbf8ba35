"""How a metric is drawn: the points it needs, its value on many draws at once, and what an interval makes of their noise.

A draw is a row of residual sums Σw(y − f) over the same points.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from trueness._types import Array, Floats, Generator, Ints
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


class Reach(NamedTuple):
    """How far the mean of v(f)·r, |v| ≤ 1, may fall short of its expectation: κz²/(2n_e) + z·√(variance + (κz/2n_e)²)."""

    z: float
    variance: Any  # a number or an array
    skew: Any  # κz/2n_e

    def of(self, share: Any = 1.0) -> Any:
        """With a share of the variance."""
        return self.skew * self.z + self.z * np.sqrt(self.variance * share + self.skew**2)


class Noise(NamedTuple):
    """Norms of noise, [draw] or [draw, …]: of outcomes drawn as predicted, and of residuals with random signs."""

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

    def limiting_noise(self, e: Array, rng: Generator) -> Floats:
        """The norm of each draw as limits read it, `rng` for what varies besides."""
        return self.noise(e)

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

    def highest(self, value: float, reach: Reach, noise: Noise | None) -> float:
        """The upper limit for the true value: the best v of the truth bounds the value from below."""
        return value + float(reach.of())

    def lowest(self, value: float, noise: Noise, alpha: float) -> float:
        """The lower limit for the true value: the value less its noise."""
        return value - max(order_statistic(norms.reshape(len(norms)), alpha / 2) for norms in noise.kinds)


class Typical(NamedTuple):
    """The norm that noise alone has: mean and variance, the smaller mean and the larger variance of both kinds."""

    mean: float
    variance: float

    @classmethod
    def of(cls, kinds: Sequence[Floats]) -> "Typical":
        """From draws of each kind."""
        return cls(min(float(norms.mean()) for norms in kinds), max(float(norms.var()) for norms in kinds))


class IntegralNorm(Norm):
    """An integral of absolute values: what noise adds to it need not be in the upper limit.

    With g the truth and s the standard deviation of its noise at a place, E|g + noise| is s·ψ(|g|/s) there, with
    ψ(x) = E|x + Z| of a standard normal Z. ψ is convex: of all g with the same ∫|g|, that with |g| = x·s everywhere adds least
    to it, ψ(x) − x in units of ∫s. There |x + Z| is ψ(x) + ψ′(x)·Z and a rest of variance 1 + x² − ψ² − ψ′², 1 − 2/π at x = 0.
    So the integral has ψ′² of the variance that it has where signs are certain, and of the rest as much as noise alone has.
    """

    def typical_noise(self, noise: Noise) -> Typical:
        """What noise alone has."""
        return Typical.of(noise.kinds)

    def highest(self, value: float, reach: Reach, noise: Noise | None) -> float:
        """The upper limit: the largest ∫|g| whose least addition and noise leave the value possible."""
        return super().highest(value, reach, noise) if noise is None else raised(value, reach, self.typical_noise(noise))


_PLACES = np.linspace(0.0, 6.0, 1201)  # beyond, noise adds nothing


@cache
def _folded() -> tuple[Floats, Floats, Floats]:
    """ψ(x) = E|x + Z|, ψ′², and the rest of the variance as a share of that at 0."""
    from scipy.special import erf

    slope = erf(_PLACES / math.sqrt(2))
    mean = _PLACES * slope + math.sqrt(2 / math.pi) * np.exp(-0.5 * _PLACES**2)
    rest = (1 + _PLACES**2 - mean**2 - slope**2) / (1 - 2 / math.pi)
    return mean, slope**2, np.maximum(rest, 0.0)


def raised(value: float, reach: Reach, noise: Typical) -> float:
    """The largest ∫|g| that may well give this value."""
    most, deviation = value + float(reach.of()), noise.mean * math.sqrt(math.pi / 2)  # ψ(0) = √(2/π)
    if deviation <= 0 or most >= _PLACES[-1] * deviation:
        return most
    mean, straight, rest = _folded()
    share = straight + rest * (noise.variance / reach.variance if reach.variance > 0 else 0.0)
    possible = np.flatnonzero(mean * deviation - reach.of(np.minimum(share, 1.0)) <= value)
    place = _PLACES[min(possible[-1] + 1, len(_PLACES) - 1)] if len(possible) else 0.0
    return float(min(max(place * deviation, value), most))


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
