"""Weak calibration error and the distance to calibration it bounds."""

import heapq
import math
from typing import Any

import numpy as np

from trueness.metrics._data import RowData, as_rows, collapse
from trueness.metrics.smooth import smooth_ece_of
from trueness.ruler import Floats


def weak_calibration_error(y_true: Any, y_prob: Any = None, *, sample_weight: Any = None) -> float:
    r"""Largest correlation of the residual with a bounded, slowly varying function of the score.

    .. math:: \sup_v \sum_i c_i\,v(s_i), \qquad |v| \le 1, \quad |v(s) - v(t)| \le |s - t|, \qquad
              c_i = \frac1W \sum_{j:\,f_j = s_i} w_j\,(f_j - y_j)

    over the distinct scores s. Zero is best. Exact, in O(n log n). It is within a factor of two of the distance to
    calibration (`distance_to_calibration`); on calibrated data it shrinks like :math:`n^{-1/2}`. Needs rows.

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
    S. M. Kakade, D. P. Foster (2008). Deterministic calibration and Nash equilibrium. Journal of Computer and System
    Sciences 74.

    J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from calibration. STOC.

    Examples
    --------
    >>> round(weak_calibration_error([0, 1, 0, 1], [0.4, 0.4, 0.6, 0.6]), 12)
    0.01
    """
    return _weak(as_rows(y_true, y_prob, sample_weight, what="weak_calibration_error"))


def distance_to_calibration(y_true: Any, y_prob: Any = None, *, sample_weight: Any = None) -> tuple[float, float]:
    r"""Bounds for how far predictions must move to become calibrated.

    .. math:: \max\Bigl(\tfrac12 \mathrm{wCE},\; \frac{s^2}{s + \sqrt{2/\pi}}\Bigr) \;\le\; \mathrm{dCE} \;\le\;
              \min\Bigl(2\,\mathrm{wCE},\; 2s,\; \frac1W \sum_{\text{scores}} \Bigl|\sum w_j (y_j - f_j)\Bigr|\Bigr)

    with s = `smooth_ece` and wCE = `weak_calibration_error`; dCE is the mean distance from the predictions to the nearest
    calibrated ones. Both bounds hold for the distribution of the rows given, not for the one they were drawn from. Needs
    rows.

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
    (float, float)
        Lower and upper bound.

    References
    ----------
    J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from calibration. STOC.

    J. Błasiok, P. Nakkiran (2024). Smooth ECE: principled reliability diagrams via kernel smoothing. ICLR.

    Examples
    --------
    >>> low, high = distance_to_calibration([0, 1, 0, 1], [0.4, 0.4, 0.6, 0.6])
    >>> round(low, 6), round(high, 6)
    (0.007166, 0.02)
    """
    data = as_rows(y_true, y_prob, sample_weight, what="distance_to_calibration")
    weak, smooth = _weak(data), smooth_ece_of(data)
    by_score = float(np.abs(_score_sums(data)[1]).sum())
    low = max(weak / 2, smooth**2 / (smooth + math.sqrt(2 / math.pi)))
    high = min(2 * weak, 2 * smooth, by_score)
    return low, max(low, high)  # equal bounds may cross by rounding


def _score_sums(data: RowData) -> tuple[Floats, Floats]:
    """Distinct scores in order, and c = Σw(f − y)/W of each."""
    rows = data.arrays
    runs = collapse(rows.f, rows.y, rows.w, soft=rows.soft)
    return runs.f, -runs.e / data.total_weight


def _weak(data: RowData) -> float:
    scores, c = _score_sums(data)
    return max(_maximum(np.diff(scores, prepend=scores[0]).tolist(), c.tolist()), 0.0)


def _maximum(steps: list[float], slopes: list[float]) -> float:
    """max Σ c_i v_i over |v_i| ≤ 1, |v_i − v_{i−1}| ≤ d_i, by the slope trick.

    F_i(v), the best sum of the first i terms that ends in v, is concave and piecewise linear. Its breakpoints, with the
    drop of slope at each, lie in two heaps: those left of the maximum and those right of it, the nearest first. A step of
    length d moves the left ones by −d and the right ones by +d, out to the walls at ±1; adding c·v moves the maximum past
    breakpoints of total drop |c|.
    """
    sides: tuple[list[tuple[float, float]], ...] = ([], [])  # left (positions negated), right
    shift = 0.0  # both sides have moved outwards by this much
    best = 0.0
    for d, c in zip(steps, slopes, strict=True):
        shift += d
        if c == 0.0:
            continue
        # Mirrored for c < 0, so that the maximum always moves to the right.
        ahead, behind = (sides[1], sides[0]) if c > 0 else (sides[0], sides[1])
        left = abs(c)
        position = None
        while True:
            here, drop = (ahead[0][0] + shift, ahead[0][1]) if ahead else (1.0, math.inf)
            if here >= 1.0:
                ahead.clear()
                here, drop = 1.0, math.inf
            best += left * (here if position is None else here - position)
            position = here
            passed = min(left, drop)
            heapq.heappush(behind, (-here - shift, passed))
            if ahead:
                heapq.heappop(ahead)
            if drop > left:
                if math.isfinite(drop):
                    heapq.heappush(ahead, (here - shift, drop - left))
                break
            left -= drop
            if left <= 0.0:
                break
    return best
