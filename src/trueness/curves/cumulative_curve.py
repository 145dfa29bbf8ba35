"""The cumulative curve: C against the share of rows, whose slope is the miscalibration."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trueness._types import Floats, Ints, Values
from trueness.curves.curve import Curve
from trueness.data.sample import Given, as_sample
from trueness.metrics.cumulative import CumulativeError, ecce
from trueness.summary.extremes import Extremes

POINTS = 2000  # drawn at most, extremes always among them


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CumulativeCurve(Curve):
    """C at the end of runs of equal scores (cells of a summary), thinned for drawing without losing the extremes."""

    share: Floats  # of the weight, with scores up to `score`
    score: Floats
    difference: Floats  # C
    sigma: float  # the scale of its noise: a triangle of height 2σ at the origin shows it
    ecce: CumulativeError
    n: int
    soft: bool

    columns = ("share", "score", "difference")

    @property
    def worst_shares(self) -> tuple[float, float]:
        """Where the worst interval lies on the axis of shares: between the two extremes of C."""
        ends = sorted((int(self.difference.argmax()), int(self.difference.argmin())))
        return float(self.share[ends[0]]), float(self.share[ends[1]])


def cumulative_curve(y_true: Given, y_prob: Values | None = None, *, sample_weight: Values | None = None) -> CumulativeCurve:
    r"""Cumulative differences between outcomes and predictions, in the order of the scores.

    .. math:: C_k = \frac1W \sum_{j \le k} w_j\,(y_j - f_j), \quad f_1 \le \dots \le f_n

    against the share of the weight. A stretch that rises has outcomes above predictions, and its slope is their mean
    difference there; a flat curve is a calibrated one. Noise moves the curve by a few σ_n.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays (C at its cells' edges).
    y_prob : array-like
        Predicted probabilities.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    CumulativeCurve

    References
    ----------
    I. Arrieta-Ibarra, P. Gujral, J. Tannen, M. Tygert, C. Xu (2022). Metrics of calibration for probabilistic predictions.
    JMLR 23.
    """
    sample = as_sample(y_true, y_prob, sample_weight)
    points = sample.cells()
    error = ecce(sample)
    difference = np.append(0.0, np.cumsum(points.e)) / points.total
    share = np.append(0.0, np.cumsum(points.weight)) / points.total
    score = np.append(0.0, points.score)
    if points.kind == "cells" and (extremes := sample.exact_extremes) is not None:
        share, score, difference = _with_extremes(extremes, share, score, difference)
    kept = thinned(difference)
    return CumulativeCurve(
        share=share[kept],
        score=score[kept],
        difference=difference[kept],
        sigma=error.sigma,
        ecce=error,
        n=points.n,
        soft=points.soft,
    )


def _with_extremes(exact: Extremes, share: Floats, score: Floats, difference: Floats) -> tuple[Floats, Floats, Floats]:
    """The exact extremes of many rows lie inside cells: put in where they are."""
    points = sorted((point for point in exact if point.weight > 0), key=lambda point: point.weight)
    place = np.searchsorted(share, [point.weight for point in points])
    return (
        np.insert(share, place, [point.weight for point in points]),
        np.maximum.accumulate(np.insert(score, place, [point.score for point in points])),  # a cell's own score is its mean
        np.insert(difference, place, [point.value for point in points]),
    )


def thinned(values: Floats, most: int = POINTS) -> Ints:
    """Places to keep: ends, and the lowest and highest of each stretch, so that a drawing looks the same."""
    n = len(values)
    if n <= most:
        return np.arange(n)
    kept = {0, n - 1, int(values.argmax()), int(values.argmin())}
    cuts = np.linspace(0, n, most // 2 - 1).astype(np.int64)
    for a, b in pairwise(cuts):
        kept |= {int(a + values[a:b].argmin()), int(a + values[a:b].argmax())}
    return np.array(sorted(kept))
