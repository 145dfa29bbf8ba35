"""Where the expected calibration error jumps: the continuity gap of a predictor against a known truth."""

from typing import Any

import numpy as np

from trueness.metrics._data import as_rows


def ece_continuity_gap(truth: Any, y_prob: Any, *, mass: Any = None) -> float:
    r"""How far the true ECE can jump under an arbitrarily small change of the predictions.

    .. math:: \lVert g^* - g \rVert_1 - \mathrm{ECE}(g) \ge 0, \qquad
              \mathrm{ECE}(g) = \sum_s \Bigl|\sum_{x:\,g(x) = s} m_x\,(g^*(x) - g(x))\Bigr|

    for a finite distribution with masses m, predictions g and true probabilities g*, equal predictions grouped. ECE is
    continuous at g exactly when the gap is 0. The truth must be known (or soft labels taken as such): with hard labels
    the gap says nothing about the predictor.

    Parameters
    ----------
    truth : array-like
        True probabilities g*(x), or soft labels.
    y_prob : array-like
        Predictions g(x).
    mass : array-like, optional
        Probability masses; equal ones when not given. They need not add to 1.

    Returns
    -------
    float

    References
    ----------
    M. Chidambaram, H. Lee, C. McSwiggen, S. Rezchikov (2024). How flawed is ECE? An analysis via logit smoothing. ICML.

    Examples
    --------
    >>> ece_continuity_gap([0, 1], [0.5, 0.5])
    0.5
    >>> ece_continuity_gap([0.2, 0.9], [0.3, 0.7])
    0.0
    """
    data = as_rows(truth, y_prob, mass, what="ece_continuity_gap", names=("truth", "y_prob", "mass"))
    rows = data.arrays
    _, at = np.unique(rows.f, return_inverse=True)
    e = data.residuals(0, len(rows.f))
    # Per score |Σe| ≤ Σ|e|; the difference is formed there, so that a lone score gives exactly 0.
    gap = np.bincount(at, np.abs(e)) - np.abs(np.bincount(at, e))
    return float(max(gap.sum() / data.total_weight, 0.0))
