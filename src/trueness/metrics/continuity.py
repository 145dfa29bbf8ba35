"""Where the expected calibration error jumps: the continuity gap of a predictor against a known truth."""

import numpy as np

from trueness._types import Values
from trueness.data.sample import row_sample
from trueness.engines.arrays.grid import collapse


def ece_continuity_gap(truth: Values, y_prob: Values, *, mass: Values | None = None) -> float:
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
    sample = row_sample(truth, y_prob, mass, what="ece_continuity_gap", names=("truth", "y_prob", "mass"))
    rows = sample.arrays
    runs = collapse(rows.f, rows.y, rows.w, soft=True)
    # Per score Σ|e| − |Σe| is twice the smaller of the positive and the negative part: 0 where all rows err one way.
    return float(2 * np.minimum(runs.positive, np.maximum(runs.positive - runs.e, 0.0)).sum() / sample.total)
