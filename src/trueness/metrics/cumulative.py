"""Cumulative calibration errors, ECCE-MAD and ECCE-R (Arrieta-Ibarra et al. 2022)."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueness import brownian
from trueness._text import score_range
from trueness._types import Array, Floats, Values
from trueness.data.points import Points
from trueness.data.row_extremes import Bracket
from trueness.data.sample import Given, Sample, as_sample
from trueness.metrics.drawing import Drawing, LimitLaw, Noise, Norm, Options, Partition, Reach
from trueness.metrics.range_contrast import RangeContrast
from trueness.metrics.registry import Metric, register
from trueness.summary.extremes import Extremes


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstInterval:
    """The range of scores with the largest total miscalibration: scores in (low, high].

    A range that begins at the origin of the cumulative differences is closed: low is 0, and scores of exactly 0 belong to it.
    """

    low: float
    high: float
    share: float  # of the weight
    mean_gap: float  # mean outcome less mean prediction; negative means predictions too high
    closed: bool = False
    first: float = 0.0  # the smallest score in it
    to_end: bool = False  # whether no scores lie above it

    @property
    def ends(self) -> tuple[str, str]:
        """Its smallest and largest score, as words and figures name them."""
        return score_range(self.first, self.high, from_start=self.closed, to_end=self.to_end)

    @property
    def described(self) -> str:
        """The range as people are told of it, by the scores in it."""
        low, high = self.ends
        return f"scores {f'of {low}' if low == high else f'from {low} to {high}'}: {self._gap}"

    @property
    def span(self) -> str:
        """Its ends as a figure names them."""
        return "–".join(dict.fromkeys(self.ends))

    def __repr__(self) -> str:
        return f"scores in {'[' if self.closed else '('}{self.low:.4g}, {self.high:.4g}]: {self._gap}"

    @property
    def _gap(self) -> str:
        way = "too high" if self.mean_gap < 0 else "too low"
        return f"{abs(self.mean_gap):.4g} {way}, {self.share:.1%} of the weight"


@dataclass(frozen=True, slots=True, kw_only=True)
class CumulativeError:
    """Cumulative calibration errors with the scale of their noise and the place of the largest one."""

    mad: float
    range: float
    sigma: float
    n: int
    worst: WorstInterval | None
    bracket: Bracket | None = None

    def __repr__(self) -> str:
        where = repr(self.worst) if self.worst else "nothing off"
        return f"ECCE-MAD {self.mad:.4g}, ECCE-R {self.range:.4g} (sigma {self.sigma:.4g}, n = {self.n}); {where}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as nested dictionaries."""
        return asdict(self)


def ecce(y_true: Given, y_prob: Values | None = None, *, sample_weight: Values | None = None) -> CumulativeError:
    r"""Both cumulative calibration errors, their noise scale, and the range of scores that is off the most.

    .. math:: C_k = \frac1W \sum_{j \le k} w_j\,(y_j - f_j), \quad f_1 \le \dots \le f_n, \qquad
              \sigma_n^2 = \frac{1}{W^2} \sum_j w_j^2 f_j (1 - f_j)

    read at the end of each run of equal scores; for soft labels :math:`\sigma_n^2 = \sum_j w_j^2 (y_j - f_j)^2 / W^2`. The
    worst interval holds the scores between the two extremes of C: no other interval has a larger total miscalibration.
    Its ends are found from the same rows, so its gap is larger than the truth when there is little to find.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays. One made with ``exact=True`` keeps
        the extremes of C and gives the exact values. From any other, C is read at the edges of the ruler's cells, and
        ``bracket`` bounds the exact values.
    y_prob : array-like
        Predicted probabilities.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    CumulativeError
        With ``mad``, ``range``, ``sigma``, ``n``, ``worst`` (None when the range is 0) and ``bracket``.

    References
    ----------
    I. Arrieta-Ibarra, P. Gujral, J. Tannen, M. Tygert, C. Xu (2022). Metrics of calibration for probabilistic predictions.
    JMLR 23.

    Examples
    --------
    >>> result = ecce([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])
    >>> result.mad, result.range
    (0.125, 0.125)
    >>> result.worst
    scores in [0, 0.4]: 0.25 too high, 50.0% of the weight
    """
    sample = as_sample(y_true, y_prob, sample_weight)
    extremes = sample.extremes
    return CumulativeError(
        mad=extremes.mad,
        range=extremes.range,
        sigma=math.sqrt(sample.variance) / sample.total,
        n=sample.n,
        worst=_worst(extremes, sample),
        bracket=sample.bracket,
    )


def ecce_mad(y_true: Given, y_prob: Values | None = None, *, sample_weight: Values | None = None) -> float:
    r"""Largest total miscalibration below any score.

    .. math:: \max_k |C_k|, \qquad C_k = \frac1W \sum_{j \le k} w_j\,(y_j - f_j), \quad f_1 \le \dots \le f_n

    read at the end of each run of equal scores. Zero is best. Needs no bins and no bandwidth; over- and under-prediction in
    neighbouring ranges cancel, so look at the curve as well.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays: exact where it was made with
        ``exact=True``, else C is read at its cells' edges.
    y_prob : array-like
        Predicted probabilities.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    float

    References
    ----------
    I. Arrieta-Ibarra, P. Gujral, J. Tannen, M. Tygert, C. Xu (2022). Metrics of calibration for probabilistic predictions.
    JMLR 23.

    Examples
    --------
    >>> ecce_mad([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])
    0.125
    """
    return as_sample(y_true, y_prob, sample_weight).extremes.mad


def ecce_r(y_true: Given, y_prob: Values | None = None, *, sample_weight: Values | None = None) -> float:
    r"""Largest total miscalibration over any interval of scores.

    .. math:: \max_k C_k - \min_k C_k, \qquad C_0 = 0, \quad C_k = \frac1W \sum_{j \le k} w_j\,(y_j - f_j)

    read at the end of each run of equal scores. Zero is best. Needs no bins and no bandwidth; errors that alternate in sign
    over short ranges of the score cancel.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays: exact where it was made with
        ``exact=True``, else C is read at its cells' edges.
    y_prob : array-like
        Predicted probabilities.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    float

    References
    ----------
    I. Arrieta-Ibarra, P. Gujral, J. Tannen, M. Tygert, C. Xu (2022). Metrics of calibration for probabilistic predictions.
    JMLR 23.

    Examples
    --------
    >>> ecce_r([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])
    0.125
    """
    return as_sample(y_true, y_prob, sample_weight).extremes.range


def _worst(extremes: Extremes, sample: Sample) -> WorstInterval | None:
    if extremes.range <= sample.rounding:
        return None
    first, last = sorted((extremes.highest, extremes.lowest), key=lambda point: point.weight)
    share, closed = last.weight - first.weight, first.weight == 0
    return WorstInterval(
        low=first.score,
        high=last.score,
        share=share,
        mean_gap=(last.value - first.value) / share,
        closed=closed,
        first=sample.lowest_score(first.score, last.score, closed=closed),
        to_end=last.weight > 1 - 1e-12,
    )


_BLOCKS = 256  # of positions in which ranges begin and end


class CumulativeNorm(Norm):
    """ECCE of draws, at the end of every point."""

    def __init__(self, points: Points, *, spread: bool) -> None:
        super().__init__(points)
        self.total = points.total
        self.spread = spread

    def noise(self, e: Array) -> Floats:
        """The norm of each draw."""
        c = np.cumsum(e, axis=1, dtype=np.float64)
        high, low = np.maximum(c.max(axis=1), 0.0), np.minimum(c.min(axis=1), 0.0)
        return np.asarray(high - low if self.spread else np.maximum(high, -low), dtype=np.float64) / self.total

    def highest(self, value: float, reach: Reach, noise: Noise | None) -> float:
        """The upper limit: max over ranges I of |C(I)| + z·s(I), s the standard error of what lies in I; never above the value
        + z·s of all.

        |C(I)| of the range that is the worst in truth falls short of its expectation by z·s(I) at most. Ranges are looked at by
        the blocks of positions in which they begin and end: no less than the maximum, and little more.
        """
        points = self.points
        if points.clustered is not None:  # what clusters add to a range is known less well than to the worst one
            return super().highest(value, reach, noise)
        c = np.append(0.0, np.cumsum(points.e)) / self.total
        skewness = points.w2 * np.abs(1 - 2 * points.score)
        squares, variance, w2, w2e, skew = (
            np.append(0.0, np.cumsum(column)) / self.total**2
            for column in (points.squares, points.variance, points.w2, points.w2e, skewness)
        )
        share = variance / variance[-1] if variance[-1] > 0 else w2 / w2[-1]
        first = np.unique(np.searchsorted(share, np.arange(_BLOCKS) / _BLOCKS))
        last = np.append(first[1:], len(c)) - 1
        top, bottom = np.maximum.reduceat(c, first), np.minimum.reduceat(c, first)
        begin = np.arange(len(first) if self.spread else 1)[:, None]
        end = np.arange(len(first))[None, :]

        def within(column: Floats) -> Floats:
            return np.asarray(column[last][end] - column[first][begin])

        spread, count = np.maximum(np.maximum(within(squares), within(variance)), 0.0), within(w2)
        kappa = np.divide(within(skew), count, out=np.ones(count.shape), where=count > 0)
        low, high = (top[begin], bottom[begin]) if self.spread else (np.zeros(1), np.zeros(1))
        most = -np.inf
        for sign, size in ((1.0, top[end] - high), (-1.0, low - bottom[end])):
            # A row's share is w(v·r − T), v the range's indicator with its sign: weights that vary move the value, too.
            shift = size * (size * w2[-1] - 2 * sign * within(w2e))
            each = Reach(reach.z, spread + np.maximum(shift, 0.0), np.clip(kappa, 0.0, 1.0) * w2[-1] * reach.z / 2)
            most = max(most, float((size + each.of())[begin <= end].max()))
        seen = float(self.noise(points.e[None, :])[0])  # where only a summary is known the value may be one of rows
        return max(value, min(value + most - seen, value + float(reach.of())))


class CumulativeDrawing(Drawing):
    """The order of the scores is what ECCE reads; its limit is a law of Brownian motion."""

    needs_flips = False  # the law bounds them

    def __init__(self, law: LimitLaw, *, spread: bool) -> None:
        self.law = law
        self.spread = spread

    def norm(self, points: Points, options: Options, partition: Partition | None) -> CumulativeNorm:
        """ECCE itself."""
        return CumulativeNorm(points, spread=self.spread)

    statistic = norm

    def contrast(self, score: Floats, options: Options) -> RangeContrast:
        """Ranges between the edges of cells."""
        return RangeContrast(len(score), spread=self.spread)


register(
    Metric(
        name="ecce_mad",
        label="ECCE-MAD",
        meaning="The largest total error of all predictions up to some score. Needs no bins; errors of opposite sign in "
        "neighbouring ranges cancel.",
        function=ecce_mad,
        drawing=CumulativeDrawing(
            LimitLaw(brownian.max_abs, math.sqrt(math.pi / 2), lambda bracket: bracket.mad), spread=False
        ),
    )
)
register(
    Metric(
        name="ecce_r",
        label="ECCE-R",
        meaning="The largest total error over any range of scores: how much is off there times how many rows are there. The "
        "range is named in the verdict.",
        function=ecce_r,
        drawing=CumulativeDrawing(LimitLaw(brownian.range, math.sqrt(8 / math.pi), lambda bracket: bracket.range), spread=True),
    )
)
