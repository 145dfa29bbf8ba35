"""Cumulative calibration errors, ECCE-MAD and ECCE-R (Arrieta-Ibarra et al. 2022)."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueness.data.extremes import from_rows
from trueness.data.sample import RowData, as_data
from trueness.summary.extremes import TIE, Extremes
from trueness.summary.spans import SLACK, from_cells
from trueness.summary.summary import Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstInterval:
    """The range of scores with the largest total miscalibration: scores in (low, high].

    A range that begins at the origin of the cumulative differences has low = 0 and holds scores of exactly 0 as well.
    """

    low: float
    high: float
    share: float  # of the weight
    mean_gap: float  # mean outcome less mean prediction; negative means predictions too high

    def __repr__(self) -> str:
        way = "too high" if self.mean_gap < 0 else "too low"
        return f"scores in ({self.low:.4g}, {self.high:.4g}]: {abs(self.mean_gap):.4g} {way}, {self.share:.1%} of the weight"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """Certain bounds, (low, high), for the exact values of data known only by their summary."""

    mad: tuple[float, float]
    range: tuple[float, float]


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


def ecce(y_true: Any, y_prob: Any = None, *, sample_weight: Any = None) -> CumulativeError:
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
    scores in (0, 0.4]: 0.25 too high, 50.0% of the weight
    """
    data = as_data(y_true, y_prob, sample_weight)
    found = _extremes(data)
    return CumulativeError(
        mad=found.mad,
        range=found.range,
        sigma=_sigma(data),
        n=data.n if isinstance(data, Summary) else len(data.arrays.f),
        worst=_worst(found, SLACK if isinstance(data, Summary) else TIE),
        bracket=_bracket(data) if isinstance(data, Summary) and data.extremes is None else None,
    )


def ecce_mad(y_true: Any, y_prob: Any = None, *, sample_weight: Any = None) -> float:
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
    return _extremes(as_data(y_true, y_prob, sample_weight)).mad


def ecce_r(y_true: Any, y_prob: Any = None, *, sample_weight: Any = None) -> float:
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
    return _extremes(as_data(y_true, y_prob, sample_weight)).range


def _extremes(data: RowData | Summary) -> Extremes:
    if isinstance(data, RowData):
        return from_rows(data)
    return data.extremes or from_cells(data)[0]


def exact_extremes(data: RowData | Summary) -> Extremes | None:
    """Those of the rows; None where only their summary is there and does not keep them."""
    return from_rows(data) if isinstance(data, RowData) else data.extremes


def _bracket(summary: Summary) -> Bracket:
    edges, bounds = from_cells(summary)
    return Bracket(mad=(max(edges.mad - SLACK, 0.0), bounds.mad), range=(max(edges.range - 2 * SLACK, 0.0), bounds.range))


def _sigma(data: RowData | Summary) -> float:
    if isinstance(data, Summary):
        m = data.moments
        variance = m.residual_variance if data.soft else m.binomial_variance
        return math.sqrt(max(variance, 0.0)) / float(m.weight.sum())
    rows = data.arrays
    spread = (rows.y - rows.f) ** 2 if rows.soft else rows.f * (1 - rows.f)
    return math.sqrt(float(np.sum(spread if rows.w is None else rows.w**2 * spread))) / data.total_weight


def _worst(found: Extremes, rounding: float) -> WorstInterval | None:
    if found.range <= rounding:
        return None
    first, last = sorted((found.highest, found.lowest), key=lambda point: point.weight)
    share = last.weight - first.weight
    return WorstInterval(low=first.score, high=last.score, share=share, mean_gap=(last.value - first.value) / share)
