"""Binned calibration errors: ECE in its variants, and SMECE for soft labels."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._types import Floats, Ints
from trueness.data.sample import RowData, as_rows, as_summary
from trueness.errors import InputError
from trueness.options import check_bins, check_choice
from trueness.summary.ruler import uniform_edges
from trueness.summary.summary import Summary

Array = NDArray[Any]

# A quantile boundary is reached at jW/B up to rounding, so that weights times a constant give the same bins.
_REACHED = 1 - 1e-9


def binned_ece(
    y_true: Any,
    y_prob: Any = None,
    *,
    bins: int = 15,
    strategy: Literal["uniform", "quantile"] = "uniform",
    norm: Literal["l1", "l2", "max"] = "l1",
    weighting: Literal["mass", "width"] = "mass",
    closed: Literal["left", "right"] = "left",
    debias: bool = False,
    sample_weight: Any = None,
) -> float:
    r"""Expected calibration error over bins of the score.

    .. math:: \mathrm{ECE} = \sum_b \frac{W_b}{W}\,|\bar y_b - \bar f_b|, \qquad
              \text{"l2"} = \sqrt{\textstyle\sum_b \frac{W_b}{W}(\bar y_b - \bar f_b)^2}, \qquad
              \text{"max"} = \max_b |\bar y_b - \bar f_b|

    Zero is best. The value depends on the bins: too few hide errors that cancel within a bin, too many add noise, and it
    jumps when scores cross an edge. A calibrated model has a positive value that grows with the number of bins.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays.
    y_prob : array-like
        Predicted probabilities.
    bins : int
        Number of bins, 1 to 16384.
    strategy : {"uniform", "quantile"}
        Bins of equal width, or of equal weight (rows with the same score stay together; needs rows).
    norm : {"l1", "l2", "max"}
        How the gaps of the bins are combined.
    weighting : {"mass", "width"}
        Weigh a bin by its share of the rows or by its width (the Riemann sums of the cumulative paper).
    closed : {"left", "right"}
        Bins [a, b) with the last one closed, or (a, b] with the first one closed (needs rows).
    debias : bool
        Subtract the sampling variance of each bin's squared gap ("l2", "mass", hard labels without weights).
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    float

    References
    ----------
    M. P. Naeini, G. Cooper, M. Hauskrecht (2015). Obtaining well calibrated probabilities using Bayesian binning. AAAI.

    A. Kumar, P. Liang, T. Ma (2019). Verified uncertainty calibration. NeurIPS. (debias)

    I. Arrieta-Ibarra, P. Gujral, J. Tannen, M. Tygert, C. Xu (2022). Metrics of calibration for probabilistic predictions.
    JMLR 23. (width)

    Examples
    --------
    >>> round(binned_ece([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], bins=10), 12)
    0.25
    >>> round(binned_ece([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], bins=1), 12)
    0.0
    """
    bins = check_bins(bins)
    check_choice("strategy", strategy, ("uniform", "quantile"))
    check_choice("norm", norm, ("l1", "l2", "max"))
    check_choice("weighting", weighting, ("mass", "width"))
    check_choice("closed", closed, ("left", "right"))
    if not isinstance(debias, bool | np.bool_):
        raise InputError(f"debias: {debias!r} is not True or False.")
    if strategy == "quantile" and closed == "right":
        raise InputError('closed: quantile bins end where a run of equal scores ends. Leave closed="left" with them.')
    if strategy == "quantile":
        table = _quantile_bins(as_rows(y_true, y_prob, sample_weight, what='strategy="quantile"'), bins)
    elif closed == "right":
        table = _right_closed_bins(as_rows(y_true, y_prob, sample_weight, what='closed="right"'), bins)
    else:
        table = _cell_bins(as_summary(y_true, y_prob, sample_weight, bins=bins), bins)
    if debias and (norm != "l2" or weighting != "mass" or not table.counts):
        raise InputError(
            'debias: the correction is for norm="l2", weighting="mass", outcomes 0 or 1 and no sample_weight. '
            "Change what differs, or leave debias=False."
        )
    return _combine(table, norm, weighting, bool(debias))


def soft_mean_ece(y_true: Any, y_prob: Any = None, *, bins: int = 10, sample_weight: Any = None) -> float:
    r"""Soft mean expected calibration error: binned error against probabilistic labels.

    .. math:: \mathrm{SMECE} = \sum_b \frac{W_b}{W}\,|\bar f_b - \bar y_b|

    with :math:`\bar y_b` the mean of the soft labels in the bin. Zero is best, and exact: predictions equal to their
    labels give 0.0. With labels in {0, 1} it is `binned_ece` with the same bins, and misleads in the same ways.
    The last bin is closed here; the paper's equation 4 leaves predictions of exactly 1 in no bin.

    Parameters
    ----------
    y_true : array-like or Summary
        Soft labels in [0, 1], or a summary in place of both arrays.
    y_prob : array-like
        Predicted probabilities.
    bins : int
        Number of equal-width bins.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    float

    References
    ----------
    M. Leznik (2026). Soft mean expected calibration error (SMECE): a calibration metric for probabilistic labels.

    Examples
    --------
    >>> soft_mean_ece([0.2, 0.7], [0.2, 0.7])
    0.0
    >>> round(soft_mean_ece([0.2, 0.7], [0.3, 0.6]), 12)
    0.1
    """
    return _combine(_cell_bins(as_summary(y_true, y_prob, sample_weight, bins=check_bins(bins)), bins), "l1", "mass", False)


class _Bins(NamedTuple):
    """Sums of the bins that hold rows."""

    weight: Array
    gap: Array  # Σw(y − f)
    width: Floats
    outcomes: Array  # Σwy
    counts: bool  # weights are counts of rows with hard labels


def _combine(table: _Bins, norm: str, weighting: str, debias: bool) -> float:
    gap = np.abs(table.gap) / table.weight
    if norm == "max":
        return float(gap.max())
    share = table.weight / table.weight.sum() if weighting == "mass" else table.width
    if norm == "l1":
        # mass: Σ|Σw(y−f)|/W without the detour over means
        return float(np.abs(table.gap).sum() / table.weight.sum() if weighting == "mass" else (share * gap).sum())
    squares = gap**2
    if debias:
        mean = table.outcomes / table.weight
        others = np.maximum(table.weight - 1, 1)
        squares = np.where(table.weight > 1, squares - mean * (1 - mean) / others, 0)
    return float(np.sqrt(max(float((share * squares).sum()), 0.0)))


def _cell_bins(summary: Summary, bins: int) -> _Bins:
    m = summary.moments
    at = summary.ruler.bin_of_cell(bins)[summary.cells]
    outcomes = summary.columns.wy2 if summary.exact else m.weight * m.mean + m.e
    return _held(at, bins, m.weight, m.e, outcomes, np.full(bins, 1 / bins), summary.exact)


def _held(at: Ints, bins: int, weight: Floats, gap: Floats, outcomes: Floats, width: Floats, counts: bool) -> _Bins:
    """Sums by bin, of the bins that hold weight."""
    total, error, positive = (np.bincount(at, x, minlength=bins) for x in (weight, gap, outcomes))
    held = total > 0
    return _Bins(total[held], error[held], width[held], positive[held], counts)


def _row_bins(data: RowData, at: Ints, bins: int, width: Floats) -> _Bins:
    rows = data.arrays
    n = len(rows.f)
    weight = np.ones(n) if rows.w is None else rows.w
    return _held(at, bins, weight, data.residuals(0, n), weight * rows.y, width, rows.w is None and not rows.soft)


def _right_closed_bins(data: RowData, bins: int) -> _Bins:
    at = np.searchsorted(uniform_edges(bins)[1:-1], data.arrays.f, side="left")
    return _row_bins(data, at, bins, np.full(bins, 1 / bins))


def quantile_bins(scores: Floats, weight: Floats, bins: int) -> tuple[Ints, Floats]:
    """The bin of each distinct score, and the width of each bin (0 for empty ones)."""
    reached = np.cumsum(weight)
    goals = np.arange(1, bins) * (reached[-1] / bins) * _REACHED
    # Boundary j ends the run of equal scores at which the cumulative weight first reaches its goal.
    last = np.searchsorted(reached, goals, side="left")
    bin_of_score = np.searchsorted(last, np.arange(len(scores)), side="left")
    held, first = np.unique(bin_of_score, return_index=True)
    width = np.zeros(bins)
    width[held] = np.diff(np.append(scores[first], 1.0))
    return bin_of_score, width


def _quantile_bins(data: RowData, bins: int) -> _Bins:
    rows = data.arrays
    scores, at = np.unique(rows.f, return_inverse=True)
    bin_of_score, width = quantile_bins(scores, np.bincount(at, rows.w, minlength=len(scores)).astype(np.float64), bins)
    return _row_bins(data, bin_of_score[at], bins, width)
