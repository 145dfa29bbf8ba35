"""Weak calibration error and the distance to calibration it bounds."""

import heapq
import math

import numpy as np

from trueness._types import Floats, Values
from trueness.data.pair import Pair
from trueness.data.points import Points
from trueness.data.row_sample import RowSample
from trueness.data.sample import Given, as_sample
from trueness.metrics.contrast import Bounds
from trueness.metrics.drawing import Drawing, Norm, Options, Partition
from trueness.metrics.registry import Metric, register
from trueness.metrics.smooth import smooth_ece


def weak_calibration_error(y_true: Given, y_prob: Values | None = None, *, sample_weight: Values | None = None) -> float:
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
    return _weak(as_sample(y_true, y_prob, sample_weight).rows("weak_calibration_error"))


def distance_to_calibration(
    y_true: Given, y_prob: Values | None = None, *, sample_weight: Values | None = None
) -> tuple[float, float]:
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
    sample = as_sample(y_true, y_prob, sample_weight).rows("distance_to_calibration")
    weak, smooth = _weak(sample), smooth_ece(sample)
    by_score = float(np.abs(_score_sums(sample)[1]).sum())
    low = max(weak / 2, smooth**2 / (smooth + math.sqrt(2 / math.pi)))
    high = min(2 * weak, 2 * smooth, by_score)
    return low, max(low, high)  # equal bounds may cross by rounding


def _score_sums(sample: RowSample) -> tuple[Floats, Floats]:
    """Distinct scores in order, and c = Σw(f − y)/W of each."""
    return sample.runs.f, -sample.runs.e / sample.total


def _weak(sample: RowSample) -> float:
    scores, c = _score_sums(sample)
    return weak_error(np.diff(scores).tolist(), c.tolist())


def weak_error(steps: list[float], slopes: list[float]) -> float:
    """max Σ c_i v_i over |v_i| ≤ 1, |v_{i+1} − v_i| ≤ d_i, by its dual.

    With C the partial sums of c the dual is min Σ d_i |X_i + C_i| + Σ |X_{i+1} − X_i| from X_0 = 0 to X_n = −C_n: denoising
    by total variation. The best cost of a path that ends in X is convex and piecewise linear with slopes from −1 to 1; a
    further term adds one breakpoint, and cutting the slopes back to ±1 takes breakpoints away at either end. So every
    breakpoint comes and goes once: O(n log n) with two heaps over the same breakpoints.
    """
    position, jump = [0.0], [2.0]  # breakpoints, and how much the slope rises at each
    lowest, highest = [(0.0, 0)], [(0.0, 0)]
    intercept = 0.0  # far to the left the cost is intercept − X
    total = slopes[0]
    for i, d in enumerate(steps, start=1):
        intercept -= d * total
        position.append(-total)
        jump.append(2 * d)
        heapq.heappush(lowest, (-total, i))
        heapq.heappush(highest, (total, i))
        intercept -= _take(lowest, jump, d)
        _take(highest, jump, d)
        total += slopes[i]
    end = -total
    most = intercept - end + math.fsum(j * (end - p) for p, j in zip(position, jump, strict=True) if p < end)
    return max(most, 0.0)  # v = 0 is allowed; rounding may fall short of it


def _take(heap: list[tuple[float, int]], jump: list[float], amount: float) -> float:
    """Take `amount` of slope away from the breakpoints at one end; returns Σ jump·key of what was taken."""
    moment = 0.0
    while amount > 0.0 and heap:
        key, i = heap[0]
        taken = min(jump[i], amount)
        moment += taken * key
        jump[i] -= taken
        amount -= taken
        if jump[i] <= 0.0:
            heapq.heappop(heap)
    return moment


class WeakNorm(Norm):
    """The weak calibration error of each draw, on few groups of neighbours: every draw is a search of its own."""

    def __init__(self, points: Points, most: int = 128) -> None:
        super().__init__(points)
        count = len(points.score)
        self.starts = np.unique(np.arange(min(count, most)) * count // min(count, most))
        weight = np.add.reduceat(points.weight, self.starts)
        self.steps = np.diff(np.add.reduceat(points.weight * points.score, self.starts) / weight).tolist()

    def of(self, e: Floats) -> Floats:
        """The metric of each draw."""
        c = -np.add.reduceat(e, self.starts, axis=1) / self.points.total
        return np.array([weak_error(self.steps, row) for row in c.tolist()])

    noise = of

    def metric_of(self, norms: Floats) -> Floats:
        """The metric is its norm."""
        return norms


class WeakContrast:
    """The same function of the score for both predictors: what they have in common cancels.

    A row moves by |v(f_a)r_a − v(f_b)r_b| ≤ |r_a − r_b| + |r_b||v(f_a) − v(f_b)| ≤ 2|f_a − f_b|.
    """

    alone = False

    def __init__(self, score: Floats) -> None:
        self._steps = np.diff(score).tolist()

    def lead(self, pair: Pair, values: tuple[float, float]) -> Bounds:
        """No function of the score does more for the first than for the second beyond this."""
        most = max(weak_error(self._steps, (pair.e[1] - pair.e[0]).tolist()), values[0] - values[1])
        return Bounds(*(np.array([[each]]) for each in (most, 4 * pair.apart, 0.0)))


class WeakDrawing(Drawing):
    """Groups of neighbours stand for their rows."""

    on_cells = True

    def norm(self, points: Points, options: Options, partition: Partition | None) -> WeakNorm:
        """The error itself."""
        return WeakNorm(points)

    statistic = norm

    def contrast(self, score: Floats, options: Options) -> WeakContrast:
        """Limits beside those of the two intervals."""
        return WeakContrast(score)


register(
    Metric(
        name="weak_calibration_error",
        label="weak calibration error",
        meaning="The largest error that any smooth rule for adjusting the predictions could find.",
        function=weak_calibration_error,
        needs="rows",
        drawing=WeakDrawing(),
    )
)
register(
    Metric(
        name="distance_to_calibration",
        label="distance to calibration",
        function=distance_to_calibration,
        needs="rows",
    )
)
