"""SmoothECE: calibration error of the outcomes smoothed by a Gaussian kernel (Błasiok & Nakkiran 2024)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from trueness.errors import InputError, NeedsRowsError
from trueness.metrics._data import RowData, as_data
from trueness.metrics._masses import (
    LOGIT,
    PROBABILITY,
    CellMasses,
    Masses,
    RowMasses,
    Scale,
    Smoothed,
    Window,
    identity_link,
    scattered_integral,
    window_for,
)
from trueness.metrics._smoothing import CELLS_PER_BANDWIDTH, fixed_point
from trueness.metrics.options import check_bandwidth, check_choice
from trueness.ruler import COARSE
from trueness.summary import Summary

ScaleOption = Literal["probability", "logit"] | Callable[[Any], Any]

_LADDER = (1 << 14, 1 << 17, 1 << 20)  # grids tried in turn until the bandwidth is resolved
_SHORT = 1 << 12  # tried first where rows are few, and the bandwidth is hardly small
_FAITHFUL_CELLS = 90  # bandwidth, in cells, from which a summary gives the value of its rows to 1e-8
_FAITHFUL = _FAITHFUL_CELLS / COARSE
_NOTHING = 1e-15


def smooth_ece(
    y_true: Any,
    y_prob: Any = None,
    *,
    bandwidth: float | None = None,
    scale: ScaleOption = "probability",
    sample_weight: Any = None,
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
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays.
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
    data = as_data(y_true, y_prob, sample_weight)
    return _smooth(data, _scale(scale, data), check_bandwidth(bandwidth, optional=True))


def smooth_ece_of(data: RowData | Summary) -> float:
    """`smooth_ece` with its defaults, of data already read."""
    return _smooth(data, PROBABILITY, None)


def smooth_ece_area(y_true: Any, y_prob: Any = None, *, bandwidth: float | None = None, sample_weight: Any = None) -> float:
    r"""Area between the smooth reliability curve and the diagonal, weighted by the density of the scores.

    .. math:: \int_0^1 |\hat y_\sigma(t) - t|\,\delta_\sigma(t)\,dt

    the number a reader of the smooth reliability diagram sees, within :math:`0.8\,\sigma` of :math:`\mathrm{smECE}_\sigma`
    (eq. 7 of the paper). Zero is best. The smoothing bends the curve towards the mean, so a calibrated model has a positive
    area at any fixed bandwidth; use `smooth_ece` as the measure.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays.
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
    data = as_data(y_true, y_prob, sample_weight)
    sigma = check_bandwidth(bandwidth, optional=True)
    if sigma is None:
        sigma = _smooth(data, PROBABILITY, None)
    if sigma < _NOTHING:
        return 0.0
    masses = _masses(data, PROBABILITY, ("outcome", "counter"), faithful=sigma >= _FAITHFUL)
    if sigma < CELLS_PER_BANDWIDTH / _LADDER[-1]:
        return scattered_integral(masses, sigma, identity_link)
    window = Window(0.0, 1.0)
    return Smoothed(masses.tables(window, window.cells(sigma)), window, identity_link).integral(sigma)


def _scale(scale: ScaleOption, data: RowData | Summary) -> Scale:
    if not callable(scale):
        check_choice("scale", scale, ("probability", "logit"))
        return PROBABILITY if scale == "probability" else LOGIT
    if isinstance(data, Summary):
        raise NeedsRowsError("scale: a function of the score needs the rows themselves. Pass y_true and y_prob.")
    probe = np.asarray(scale(np.linspace(0, 1, 1025)), dtype=np.float64)
    if probe.shape != (1025,) or not np.all(np.isfinite(probe)) or not np.all(np.diff(probe) > 0):
        raise InputError(
            "scale: the function must map an array of scores in [0, 1] to finite, increasing values of the same shape."
        )
    return Scale("function", lambda f: np.asarray(scale(f), dtype=np.float64))


def _masses(data: RowData | Summary, scale: Scale, kinds: Any, *, faithful: bool) -> Masses:
    """Masses from the summary where it is given or `faithful`, else from the rows."""
    if isinstance(data, Summary):
        return CellMasses(data, scale, kinds)
    if faithful and scale is PROBABILITY and not data.small:
        return CellMasses(data.summary(), scale, kinds)
    return RowMasses(data, scale, kinds)


def _smooth(data: RowData | Summary, scale: Scale, bandwidth: float | None) -> float:
    if bandwidth is not None:
        return _at(_masses(data, scale, ("residual",), faithful=bandwidth >= _FAITHFUL), bandwidth)
    if isinstance(data, Summary):
        cells = CellMasses(data, scale, ("residual",))
        value = _fixed_point(cells, _LADDER)
        # Once the bandwidth is known, cells up to that width count with their moments, not as points.
        return value if scale.reflects else _fixed_point(replace(cells, resolution=value), _LADDER)
    rows = RowMasses(data, scale, ("residual",))
    if data.small or not scale.reflects:
        return _fixed_point(rows, (_SHORT, *_LADDER) if data.small else _LADDER)
    summary = data.summary()
    masses = CellMasses(summary, scale, ("residual",))
    value = _fixed_point(masses, _LADDER, tolerance=1e-3)
    if value >= 1.01 * _FAITHFUL_CELLS / float(summary.ruler.unit[summary.cells].min()):
        return _fixed_point(masses, _LADDER)
    # The rows' value is as a rule close to that of the cells: one grid and a short search find it.
    window, low, high = Window(0.0, 1.0), value / 1.5, value * 1.5
    if low >= CELLS_PER_BANDWIDTH / _LADDER[-1]:
        fine = Smoothed(rows.tables(window, window.cells(low)), window)
        found = fixed_point(fine.integral, low, high, fine.finest)
        if found is not None and low < found < high:
            return found
    return _fixed_point(rows, _LADDER)


def _at(masses: Masses, bandwidth: float) -> float:
    window = window_for(masses, bandwidth)
    if masses.gross < _NOTHING:
        return 0.0
    if bandwidth < CELLS_PER_BANDWIDTH * window.length / _LADDER[-1]:
        return scattered_integral(masses, bandwidth)
    return Smoothed(masses.tables(window, window.cells(bandwidth)), window).integral(bandwidth)


def _fixed_point(masses: Masses, ladder: tuple[int, ...], tolerance: float = 1e-13) -> float:
    low, high = abs(masses.net), masses.gross
    if high < _NOTHING:
        return 0.0
    window = window_for(masses, high)
    for cells in ladder:
        curve = Smoothed(masses.tables(window, cells), window)
        found = fixed_point(curve.integral, low, high, curve.finest, tolerance)
        if found is not None:
            return found
    # Below every grid: few distinct scores, or hardly any error. The bound by scores decides or brackets the rest.
    high = float(np.abs(masses.points()[1][0]).sum())
    if high < _NOTHING:
        return 0.0
    if high - low <= _NOTHING:
        return low
    return fixed_point(lambda sigma: scattered_integral(masses, sigma), low, high, 0.0) or high
