"""The binned reliability curve: mean outcome against mean prediction, bin by bin."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trueness._types import Floats
from trueness.curves.curve import Curve
from trueness.data.points import Points, points_of
from trueness.data.sample import RowData, as_data, as_summary
from trueness.errors import NeedsRowsError
from trueness.metrics.binned import binned_ece, quantile_bins
from trueness.options import check_bins, check_choice, check_level
from trueness.summary.ruler import uniform_edges
from trueness.summary.summary import Summary


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinnedCurve(Curve):
    """Every bin, empty ones too: how many rows, what was predicted, what happened, and how sure that is."""

    left: Floats  # edges; quantile bins end where the next begins
    right: Floats
    rows: Floats
    weight: Floats
    prediction: Floats  # NaN where a bin is empty
    outcome: Floats
    low: Floats  # Clopper–Pearson for hard labels without weights, else normal, and NaN for bins of one row
    high: Floats
    bins: int
    strategy: str
    binned_ece: float
    level: float
    n: int
    soft: bool

    columns = ("left", "right", "rows", "weight", "prediction", "outcome", "low", "high")


def binned_curve(
    y_true: Any,
    y_prob: Any = None,
    *,
    bins: int = 15,
    strategy: Literal["uniform", "quantile"] = "uniform",
    level: float = 0.95,
    sample_weight: Any = None,
) -> BinnedCurve:
    """Mean prediction and mean outcome of every bin, with an interval for the mean outcome.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays (equal-width bins).
    y_prob : array-like
        Predicted probabilities.
    bins : int
        How many bins.
    strategy : {"uniform", "quantile"}
        Bins of equal width, or of equal weight (needs rows).
    level : float
        Level of the intervals, a fraction. They are exact binomial intervals for hard labels without weights, which treat
        the outcomes of a bin as equally likely; for the rest normal ones.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    BinnedCurve
    """
    bins, alpha = check_bins(bins), 1 - check_level(level)
    check_choice("strategy", strategy, ("uniform", "quantile"))
    if strategy == "quantile":
        data = as_data(y_true, y_prob, sample_weight)
        if isinstance(data, Summary):
            raise NeedsRowsError(
                'strategy="quantile" needs the rows themselves; a summary does not hold them. Pass y_true and y_prob.'
            )
        points = points_of(data, rows=True)
        at, _ = quantile_bins(points.score, points.weight, bins)
        left, right = _quantile_edges(points, at, bins)
    else:
        points = points_of(_with_bins(y_true, y_prob, sample_weight, bins), bins=(bins,))
        at = points.bin_of(bins)
        left, right = uniform_edges(bins)[:-1], uniform_edges(bins)[1:]
    rows, weight, predicted, e, squares = (
        np.bincount(at, column, minlength=bins).astype(np.float64)
        for column in (points.count, points.weight, points.weight * points.score, points.e, points.squares)
    )
    held = weight > 0
    prediction, gap = (np.divide(x, weight, out=np.full(bins, np.nan), where=held) for x in (predicted, e))
    outcome = prediction + gap
    if points.soft or points.weighted:
        low, high = _normal(outcome, gap, weight, squares, np.bincount(at, points.w2, minlength=bins).astype(np.float64), alpha)
        low, high = (np.where(rows > 1, end, np.nan) for end in (low, high))  # one row says nothing of its own spread
    else:
        low, high = _exact(rows, np.rint(np.where(held, outcome, 0.0) * rows), alpha)
    return BinnedCurve(
        left=left,
        right=right,
        rows=rows,
        weight=weight,
        prediction=prediction,
        outcome=outcome,
        low=low,
        high=high,
        bins=bins,
        strategy=strategy,
        binned_ece=binned_ece(y_true, y_prob, bins=bins, strategy=strategy, sample_weight=sample_weight),
        level=1 - alpha,
        n=points.n,
        soft=points.soft,
    )


def _with_bins(y_true: Any, y_prob: Any, sample_weight: Any, bins: int) -> RowData | Summary:
    data = as_data(y_true, y_prob, sample_weight)
    return as_summary(data, None, None, bins=bins) if isinstance(data, Summary) else data


def _quantile_edges(points: Points, at: Any, bins: int) -> tuple[Floats, Floats]:
    """Where each bin begins and ends: at the smallest scores of the bins that hold rows; empty ones have no width."""
    held, first = np.unique(at, return_index=True)
    left = np.full(bins, np.nan)
    left[held] = points.score[first]
    left[0] = 0.0
    right = np.append(left[1:], 1.0)
    for b in range(bins - 1, -1, -1):  # an empty bin begins and ends where the next one begins
        if np.isnan(left[b]):
            left[b] = right[b]
        if b > 0 and np.isnan(right[b - 1]):
            right[b - 1] = left[b]
    return left, right


def _exact(n: Floats, ones: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Clopper–Pearson; NaN for an empty bin."""
    from scipy.special import betaincinv

    with np.errstate(invalid="ignore"):
        low = np.where(ones > 0, betaincinv(np.maximum(ones, 1), n - ones + 1, alpha / 2), 0.0)
        high = np.where(ones < n, betaincinv(ones + 1, np.maximum(n - ones, 1), 1 - alpha / 2), 1.0)
    return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)


def _normal(outcome: Floats, gap: Floats, weight: Floats, squares: Floats, w2: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Mean ± z standard errors of the residual about its mean; NaN for an empty bin."""
    from scipy.special import ndtri

    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.maximum(squares - gap**2 * w2, 0.0) / weight**2
    reach = -float(ndtri(alpha / 2)) * np.sqrt(variance)
    return np.clip(outcome - reach, 0, 1), np.clip(outcome + reach, 0, 1)
