"""Proper scores and their decomposition into miscalibration, discrimination and uncertainty."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from trueness._types import Array, Floats, Ints, Values
from trueness.data.points import Points
from trueness.data.row_sample import RowSample
from trueness.data.sample import Given, as_sample
from trueness.engines.arrays.grid import Ordered, in_order
from trueness.engines.arrays.workers import total_of
from trueness.inputs.rows import Arrays
from trueness.metrics.drawing import Drawing, Options, Partition, Statistic
from trueness.metrics.registry import Metric, register
from trueness.options import check_choice


def brier_score(y_true: Given, y_prob: Values | None = None, *, sample_weight: Values | None = None) -> float:
    r"""Mean squared difference between outcome and prediction.

    .. math:: \frac1W \sum_i w_i\,(y_i - f_i)^2

    Smaller is better; 0 needs certainty. It mixes calibration with sharpness, so a low value does not show calibration:
    see `decompose`.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays.
    y_prob : array-like
        Predicted probabilities.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    float

    References
    ----------
    G. W. Brier (1950). Verification of forecasts expressed in terms of probability. Monthly Weather Review 78.

    Examples
    --------
    >>> round(brier_score([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9]), 12)
    0.085
    """
    return as_sample(y_true, y_prob, sample_weight).squares


def log_loss(y_true: Given, y_prob: Values | None = None, *, sample_weight: Values | None = None) -> float:
    r"""Mean negative logarithm of the probability given to what happened.

    .. math:: -\frac1W \sum_i w_i\,[\,y_i \ln f_i + (1 - y_i) \ln(1 - f_i)\,], \qquad 0 \ln 0 = 0

    Smaller is better. A prediction of 0 or 1 that is contradicted costs infinity: nothing is clipped. Needs rows.

    Parameters
    ----------
    y_true : array-like
        Outcomes in {0, 1} or soft labels in [0, 1].
    y_prob : array-like
        Predicted probabilities.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    float

    References
    ----------
    I. J. Good (1952). Rational decisions. Journal of the Royal Statistical Society B 14.

    Examples
    --------
    >>> round(log_loss([0, 1], [0.25, 0.75]), 6)
    0.287682
    >>> log_loss([1, 1], [0.0, 0.9])
    inf
    """
    return _log_loss(as_sample(y_true, y_prob, sample_weight).rows("log_loss"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Decomposition:
    """A mean score split: score = miscalibration − discrimination + uncertainty."""

    kind: str
    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float

    def __repr__(self) -> str:
        return (
            f"{self.kind} score {self.score:.4g} = miscalibration {self.miscalibration:.4g} "
            f"- discrimination {self.discrimination:.4g} + uncertainty {self.uncertainty:.4g}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary."""
        return asdict(self)


def decompose(
    y_true: Given,
    y_prob: Values | None = None,
    *,
    score: Literal["brier", "log"] = "brier",
    sample_weight: Values | None = None,
) -> Decomposition:
    r"""Split a score into miscalibration, discrimination and uncertainty (CORP).

    .. math:: S(f) = \underbrace{S(f) - S(\hat y)}_{\text{miscalibration}}
              - \underbrace{(S(\bar y) - S(\hat y))}_{\text{discrimination}} + \underbrace{S(\bar y)}_{\text{uncertainty}}

    with :math:`\hat y` the isotonic regression of the outcomes on the scores and :math:`\bar y` their mean. No bins to
    choose. Miscalibration is never negative; on few rows the isotonic fit follows the noise and it is too large. Needs
    rows.

    Parameters
    ----------
    y_true : array-like
        Outcomes in {0, 1} or soft labels in [0, 1].
    y_prob : array-like
        Predicted probabilities.
    score : {"brier", "log"}
        Which score to split. The logarithmic score is infinite where 0 or 1 is contradicted.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    Decomposition

    References
    ----------
    T. Dimitriadis, T. Gneiting, A. I. Jordan (2021). Stable reliability diagrams for probabilistic classifiers. PNAS 118.

    Examples
    --------
    >>> decompose([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8])
    brier score 0.2 = miscalibration 0.075 - discrimination 0.125 + uncertainty 0.25
    """
    check_choice("score", score, ("brier", "log"))
    sample = as_sample(y_true, y_prob, sample_weight).rows("decompose")
    own = _log_loss(sample) if score == "log" else sample.squares
    rows = _counting(sample.arrays)
    ordered = in_order(rows.f, rows.y, rows.w, soft=rows.soft)
    # Blocks of scores that the isotonic fit pools, and all scores as one block.
    best, flat = (
        _pooled(ordered, first, score, soft=rows.soft) for first in (_isotonic_blocks(ordered), np.zeros(1, dtype=int))
    )
    # Neither part is ever negative; rounding may say so.
    return Decomposition(
        kind=score,
        score=own,
        miscalibration=max(own - best, 0.0),
        discrimination=max(flat - best, 0.0),
        uncertainty=flat,
    )


def _counting(rows: Arrays) -> Arrays:
    """Without rows whose weight has vanished beside others."""
    if rows.w is None or rows.w.all():
        return rows
    kept = rows.w > 0
    return replace(rows, f=rows.f[kept], y=rows.y[kept], w=rows.w[kept], kept=None)


def _isotonic_blocks(rows: Ordered) -> Ints:
    """First row of each block that isotonic regression pools."""
    from scipy.optimize import isotonic_regression

    ones, zeros = _outcomes(rows, rows.starts)
    fit = isotonic_regression(ones / (ones + zeros), weights=ones + zeros)
    return np.asarray(rows.starts[fit.blocks[:-1]])


def _outcomes(rows: Ordered, first: Ints) -> tuple[Floats, Floats]:
    """Σwy and Σw(1 − y) of each block, formed apart: a mean may round to 1 and contradict a row of small weight."""
    y = rows.y
    if rows.w is None and y.dtype.kind != "f":  # counts
        ones = np.add.reduceat(y, first, dtype=np.int64)
        return ones.astype(np.float64), (np.diff(first, append=len(y)) - ones).astype(np.float64)
    weight = 1.0 if rows.w is None else rows.w
    return np.add.reduceat(weight * y, first), np.add.reduceat(weight * (1 - y), first)


def _pooled(rows: Ordered, first: Ints, score: str, *, soft: bool) -> float:
    """Mean score of predicting each block's mean outcome."""
    ones, zeros = _outcomes(rows, first)
    total = ones + zeros
    if score == "log":
        from scipy.special import xlogy

        return float(0.0 - (xlogy(ones, ones / total) + xlogy(zeros, zeros / total)).sum() / total.sum())
    if not soft:  # Σwy·(1 − ȳ)² + Σw(1 − y)·ȳ²
        return float((ones * (zeros / total)).sum() / total.sum())
    mean = np.repeat(ones / total, np.diff(first, append=len(rows.y)))
    return _mean(square_losses(rows.y, mean), rows.w)


def square_losses(y: Array, f: Floats) -> Floats:
    """(y − f)² of each row."""
    return np.asarray((y - f) ** 2)


def _mean(values: Array, w: Floats | None) -> float:
    return float(values.mean() if w is None else (w * values).sum() / w.sum())


def _log_loss(sample: RowSample) -> float:
    rows = sample.arrays

    def losses(first: int, last: int) -> float:
        y, f, part = rows.y[first:last], rows.f[first:last], slice(first, last)
        if rows.w is not None or rows.soft:
            loss = log_losses(y, f)
            if np.isinf(loss).any():  # also where its weight has vanished beside others
                return math.inf
            return float(np.sum(loss if rows.w is None else rows.w[part] * loss))
        ones = y != 0  # a logarithm for each row, not two
        with np.errstate(divide="ignore"):
            return float(0.0 - (np.log(f[ones]).sum() + np.log1p(-f[~ones]).sum()))

    return total_of(sample.n, losses) / sample.total


def log_losses(y: Array, f: Floats) -> Floats:
    """−y ln f − (1 − y) ln(1 − f) of each row, 0·ln 0 = 0."""
    from scipy.special import xlog1py, xlogy

    return np.asarray(-(xlogy(y, f) + xlog1py(1 - y, -f)))


class BrierStatistic(Statistic):
    """(y − f)² of a hard label is f(1 − f) + (y − f)(1 − 2f), linear in the residual."""

    def __init__(self, points: Points) -> None:
        super().__init__(points)
        self.slope = (1 - 2 * points.score) / points.total
        self.expected = float((points.weight * points.score * (1 - points.score)).sum()) / points.total

    def of(self, e: Array) -> Floats:
        """The metric of each draw."""
        return np.asarray(self.expected + e @ self.slope)


class BrierDrawing(Drawing):
    """A mean, linear in the residuals."""

    def statistic(self, points: Points, options: Options, partition: Partition | None) -> BrierStatistic:
        """The mean."""
        return BrierStatistic(points)


_INFINITE = float("inf")

register(Metric(name="brier_score", label="Brier score", function=brier_score, drawing=BrierDrawing()))
register(Metric(name="log_loss", label="log loss", function=log_loss, bounds=(0, _INFINITE), needs="rows"))
register(
    Metric(
        name="decompose",
        label="score decomposition",
        function=decompose,
        bounds=(0, _INFINITE),
        needs="rows",
        variants=({}, {"score": "log"}),
    )
)
