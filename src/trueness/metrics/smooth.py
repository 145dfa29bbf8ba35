"""SmoothECE: calibration error of the outcomes smoothed by a Gaussian kernel (Błasiok & Nakkiran 2024)."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from trueness._types import Floats, Ints, Values
from trueness.data.masses import Masses
from trueness.data.points import Points
from trueness.data.sample import Given, Sample, as_sample
from trueness.data.scales import LOGIT, PROBABILITY, UNIT, Scale
from trueness.errors import InputError, NeedsRowsError
from trueness.metrics.drawing import Drawing, Options, Partition
from trueness.metrics.registry import Metric, register
from trueness.metrics.smooth_contrast import SmoothContrast
from trueness.metrics.smooth_norm import SmoothNorm
from trueness.options import check_bandwidth, check_choice
from trueness.smoothing.cosine import CELLS_PER_BANDWIDTH
from trueness.smoothing.draws import STEPS
from trueness.smoothing.fixed_point import fixed_point
from trueness.smoothing.smoothed import grid_cells, identity_link, scattered_integral, smoothed_masses, window_for

ScaleOption = Literal["probability", "logit"] | Callable[[Any], Any]

_LADDER = (1 << 14, 1 << 17, 1 << 20)  # grids tried in turn until the bandwidth is resolved
_SHORT = 1 << 12  # tried first where rows are few, and the bandwidth is hardly small
_FEW = 1 << 15  # rows whose distinct scores are faster looked at than a fine grid is filled
_FEW_SCORES = 64
_NOTHING = 1e-15
_FURTHEST = 1e9
_MOST_GROUPS = 8192
_NARROW = 5e-4  # a bandwidth of about ten cells
_WANTED = "Pass a function that maps an array of scores to finite values that increase with the score."


def smooth_ece(
    y_true: Given,
    y_prob: Values | None = None,
    *,
    bandwidth: float | None = None,
    scale: ScaleOption = "probability",
    sample_weight: Values | None = None,
) -> float:
    r"""Calibration error of the outcomes smoothed over neighbouring scores.

    .. math:: \mathrm{smECE}_\sigma = \int_0^1 \Bigl|\frac1W \sum_i w_i\,\tilde K_\sigma(t, f_i)\,(y_i - f_i)\Bigr|\,dt,
              \qquad \mathrm{smECE} = \text{the } \sigma^* \text{ with } \mathrm{smECE}_{\sigma^*} = \sigma^*

    with the Gaussian kernel reflected at 0 and 1. Zero is best. There are no bins and, with ``bandwidth=None``, nothing to
    choose; the value is a consistent measure of the distance to calibration. On calibrated data it is not 0 but shrinks
    with n: compare it with its noise floor.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays. From a summary the value is good
        to 1e-6 of itself while the bandwidth spans 10 cells (0.0006 in the middle, 0.00001 within 1/64 of either end); on
        the logit scale to 2e-4, less where scores below 0.001 meet a bandwidth of a few thousandths: see the summary's notes.
    y_prob : array-like
        Predicted probabilities.
    bandwidth : float, optional
        Use this σ instead of the fixed point.
    scale : {"probability", "logit"} or callable
        Where the kernel lives. "logit" smooths in ln(f/(1−f)) with a plain Gaussian (scores clipped to
        [1e-10, 1 − 1e-10]); an increasing function of the score smooths on its values (rows only).
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    float

    References
    ----------
    J. Błasiok, P. Nakkiran (2024). Smooth ECE: principled reliability diagrams via kernel smoothing. ICLR.

    Examples
    --------
    >>> round(smooth_ece([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9]), 6)
    0.14913
    >>> smooth_ece([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0])
    0.0
    """
    sample = as_sample(y_true, y_prob, sample_weight)
    return _smooth(sample, _scale(scale, sample), None if bandwidth is None else check_bandwidth(bandwidth))


def smooth_ece_area(
    y_true: Given, y_prob: Values | None = None, *, bandwidth: float | None = None, sample_weight: Values | None = None
) -> float:
    r"""Area between the smooth reliability curve and the diagonal, weighted by the density of the scores.

    .. math:: \int_0^1 |\hat y_\sigma(t) - t|\,\delta_\sigma(t)\,dt

    the number a reader of the smooth reliability diagram sees, within :math:`0.8\,\sigma` of :math:`\mathrm{smECE}_\sigma`
    (eq. 7 of the paper). Zero is best. The smoothing bends the curve towards the mean, so a calibrated model has a positive
    area at any fixed bandwidth; use `smooth_ece` as the measure.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays. From a summary the value is good
        to 1e-6 of itself while the bandwidth spans 10 cells (0.0006 in the middle, 0.00001 within 1/64 of either end).
    y_prob : array-like
        Predicted probabilities.
    bandwidth : float, optional
        σ; by default the fixed point of `smooth_ece`.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    float

    References
    ----------
    J. Błasiok, P. Nakkiran (2024). Smooth ECE: principled reliability diagrams via kernel smoothing. ICLR.

    Examples
    --------
    >>> round(smooth_ece_area([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], bandwidth=0.1), 6)
    0.170657
    """
    sample = as_sample(y_true, y_prob, sample_weight)
    sigma = _smooth(sample, PROBABILITY, None) if bandwidth is None else check_bandwidth(bandwidth)
    if sigma < _NOTHING:
        return 0.0
    masses = sample.masses(PROBABILITY, ("outcome", "counter"))
    if sigma < CELLS_PER_BANDWIDTH / _LADDER[-1]:
        return scattered_integral(masses, sigma, identity_link)
    return smoothed_masses(masses, UNIT, grid_cells(UNIT, sigma), identity_link).integral(sigma)


def _scale(scale: ScaleOption, sample: Sample) -> Scale:
    if not callable(scale):
        check_choice("scale", scale, ("probability", "logit"))
        return _SCALES[scale]
    if not sample.has_rows:
        raise NeedsRowsError("scale: a function of the score needs the rows themselves. Pass y_true and y_prob.")
    return scale_of(scale, sample.rows("scale").arrays.f)


_SCALES = {"probability": PROBABILITY, "logit": LOGIT}


def scale_of(scale: Callable[[Any], Any], scores: Floats) -> Scale:
    """A scale from a function of the score, checked at these scores and along [0, 1]."""

    def position(f: Floats) -> Floats:
        try:
            with np.errstate(all="ignore"):  # what is not finite is refused below
                return np.asarray(scale(f.copy()), dtype=np.float64)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise InputError(f"scale: the function failed on an array of scores ({error}). {_WANTED}") from error

    scores = np.unique(np.concatenate([scores + 0.0, np.linspace(0, 1, 1025)]))
    x = position(scores)
    if x.shape != scores.shape or not np.all(np.abs(x) <= _FURTHEST):
        raise InputError(f"scale: the function's values are not finite numbers up to {_FURTHEST:g}, one a score. {_WANTED}")
    # Values of neighbouring floats may round to the same.
    rises = (np.diff(x) > 0) | ((np.diff(x) == 0) & (np.diff(scores) < 1e-12))
    if not rises.all():
        place = int(np.argmin(rises))
        between = f"score {scores[place]} to {scores[place + 1]}"
        raise InputError(f"scale: the function does not increase from {between}. {_WANTED}")
    return Scale("function", position)


def _smooth(sample: Sample, scale: Scale, bandwidth: float | None) -> float:
    masses = sample.masses(scale, ("residual",))
    if bandwidth is not None:
        return min(_with_bandwidth(masses, bandwidth), 1.0)  # no residual exceeds 1; rounding may
    value = _fixed_point(masses)
    finer = masses.at_resolution(value)
    return value if finer is masses else _fixed_point(finer)


def _with_bandwidth(masses: Masses, bandwidth: float) -> float:
    window = window_for(masses, bandwidth)
    if bandwidth < CELLS_PER_BANDWIDTH * window.length / _LADDER[-1]:
        return scattered_integral(masses, bandwidth)
    return smoothed_masses(masses, window, grid_cells(window, bandwidth)).integral(bandwidth)


def _fixed_point(masses: Masses) -> float:
    window = window_for(masses, 1.0)  # no residual exceeds 1, and neither does the bandwidth
    few = masses.rows <= _FEW
    for cells in (_SHORT, *_LADDER) if few else _LADDER:
        curve = smoothed_masses(masses, window, cells)
        if not curve.any:
            return 0.0
        # Calibrated rows give about this much, others at least the net error.
        guess = max((0.03 / masses.rows) ** (1 / 3), abs(float(curve.coefficients[0][0])))
        root = fixed_point(curve.integral, guess, curve.finest, rough=curve.rough_integral)
        if root is not None:
            return root
        if few and masses.pointwise and _by_scores(sums := masses.points()[1][0]):
            return _scattered_fixed_point(masses, sums)
    return _scattered_fixed_point(masses, masses.points()[1][0])


def _by_scores(sums: Floats) -> bool:
    """Whether the scores' own sums lead to the fixed point faster than a finer grid."""
    high = float(np.abs(sums).sum())
    return len(sums) <= _FEW_SCORES or high - abs(float(sums.sum())) <= _NOTHING


def _scattered_fixed_point(masses: Masses, sums: Floats) -> float:
    """The fixed point below the grids, from the sums of each score: few distinct scores, or hardly any error."""
    low, high = abs(float(sums.sum())), float(np.abs(sums).sum())
    if high < _NOTHING:
        return 0.0
    if high - low <= _NOTHING:
        return low
    root = fixed_point(lambda sigma: scattered_integral(masses, sigma), high, 0.0)
    return high if root is None else root


class SmoothDrawing(Drawing):
    """A kernel: groups of points a good deal shorter than the narrowest one."""

    by_cuts = True
    is_smooth = True

    def cuts(self, points: Points, options: Options) -> list[Ints]:
        """Stretches of a step of the grid on which draws are smoothed."""
        norm = self.norm(points, options, None)
        label = np.floor(norm.x * (STEPS / norm.ladder[0])).astype(np.int64)
        while np.count_nonzero(np.diff(label)) >= _MOST_GROUPS:
            label //= 2
        return [label]

    def is_fine(self, options: Options) -> bool:
        """A bandwidth of less than about ten cells, or another scale."""
        return (options["bandwidth"] or 1.0) < _NARROW or options["scale"] != "probability"

    def norm(self, points: Points, options: Options, partition: Partition | None) -> SmoothNorm:
        """The smoothed residuals."""
        scale = options["scale"]
        return SmoothNorm(points, scale_of(scale, points.score) if callable(scale) else _SCALES[scale], options["bandwidth"])

    statistic = norm

    def contrast(self, score: Floats, options: Options) -> SmoothContrast | None:
        """The fixed point on the probability scale."""
        plain = options["bandwidth"] is None and options["scale"] == "probability"
        return SmoothContrast(score) if plain else None


register(
    Metric(
        name="smooth_ece",
        label="SmoothECE",
        meaning="How far predictions are from what happened, averaged over neighbouring scores by a kernel whose width "
        "chooses itself. Zero is best. A finite sample of a perfect model gets about the noise floor.",
        function=smooth_ece,
        drawing=SmoothDrawing(),
        variants=({}, {"bandwidth": 0.05}, {"scale": "logit"}),
    )
)
register(
    Metric(
        name="smooth_ece_area",
        label="area of the smooth diagram",
        function=smooth_ece_area,
        variants=({}, {"bandwidth": 0.05}),
    )
)
