"""The binned reliability curve: mean outcome against mean prediction, bin by bin."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trueness._types import Floats, Ints, Values
from trueness.curves.curve import Curve
from trueness.curves.limits import clopper_pearson
from trueness.data.points import Points
from trueness.data.sample import Given, Sample, as_sample
from trueness.metrics.binned import binned_ece, quantile_bins
from trueness.options import check_bins, check_choice, check_level
from trueness.summary.ruler import uniform_edges


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinnedCurve(Curve):
    """Every bin, empty ones too: how many rows, what was predicted, what happened, and how sure that is."""

    left: Floats  # edges; quantile bins end where the next begins
    right: Floats
    rows: Floats
    weight: Floats
    prediction: Floats  # NaN where a bin is empty
    outcome: Floats
    low: Floats  # Clopper–Pearson, of weighted rows at their effective number
    high: Floats
    bins: int
    strategy: str
    binned_ece: float
    level: float
    n: int
    soft: bool

    columns = ("left", "right", "rows", "weight", "prediction", "outcome", "low", "high")


def binned_curve(
    y_true: Given,
    y_prob: Values | None = None,
    *,
    bins: int = 15,
    strategy: Literal["uniform", "quantile"] = "uniform",
    level: float = 0.95,
    sample_weight: Values | None = None,
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
        Level of the intervals, a fraction. They are binomial ones (Clopper and Pearson), which treat the outcomes of a bin as
        equally likely; with weights at the effective number of rows, W²/Σw² (Korn and Graubard). For soft labels they are
        wide: labels vary less than outcomes.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    BinnedCurve
    """
    bins, alpha = check_bins(bins), 1 - check_level(level)
    check_choice("strategy", strategy, ("uniform", "quantile"))
    sample = as_sample(y_true, y_prob, sample_weight)
    points, bin_of, left, right = _partition(sample, bins, strategy)
    rows, weight, predicted, e, w2 = (
        np.bincount(bin_of, column, minlength=bins).astype(np.float64)
        for column in (points.count, points.weight, points.weight * points.score, points.e, points.w2)
    )
    filled = weight > 0
    prediction, gap = (np.divide(x, weight, out=np.full(bins, np.nan), where=filled) for x in (predicted, e))
    outcome = prediction + gap
    if points.soft or points.weighted:
        effective = np.divide(weight**2, w2, out=np.zeros(bins), where=w2 > 0)
        low, high = clopper_pearson(outcome, effective, alpha)
    else:
        ones = np.rint(np.where(filled, outcome, 0.0) * rows)
        low, high = clopper_pearson(np.divide(ones, rows, out=np.zeros(bins), where=filled), rows, alpha)
    return BinnedCurve(
        left=left,
        right=right,
        rows=rows,
        weight=weight * (sample.total / points.total),  # points weigh 1 on average
        prediction=prediction,
        outcome=outcome,
        low=low,
        high=high,
        bins=bins,
        strategy=strategy,
        binned_ece=binned_ece(sample, bins=bins, strategy=strategy),
        level=1 - alpha,
        n=points.n,
        soft=points.soft,
    )


def _partition(sample: Sample, bins: int, strategy: str) -> tuple[Points, Ints, Floats, Floats]:
    """The points, the bin of each, and where the bins begin and end."""
    if strategy == "quantile":
        points = sample.rows('strategy="quantile"').points(rows=True)
        bin_of, _ = quantile_bins(points.score, points.weight, bins)
        return points, bin_of, *_quantile_edges(points, bin_of, bins)
    sample.summary((bins,))  # a summary's ruler must have the bins
    points, edges = sample.points(bins=(bins,)), uniform_edges(bins)
    return points, points.bin_of(bins), edges[:-1], edges[1:]


def _quantile_edges(points: Points, bin_of: Ints, bins: int) -> tuple[Floats, Floats]:
    """Where each bin begins and ends: at the smallest scores of the bins that hold rows; empty ones have no width."""
    filled, first = np.unique(bin_of, return_index=True)
    left = np.full(bins, np.nan)
    left[filled] = points.score[first]
    left[0] = 0.0
    right = np.append(left[1:], 1.0)
    for b in range(bins - 1, -1, -1):  # an empty bin begins and ends where the next one begins
        if np.isnan(left[b]):
            left[b] = right[b]
        if b > 0 and np.isnan(right[b - 1]):
            right[b - 1] = left[b]
    return left, right
