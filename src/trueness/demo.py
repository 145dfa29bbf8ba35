"""A data set whose miscalibration is known, because it was planted."""

import numpy as np
from numpy.typing import NDArray

LOW, HIGH = 0.60, 0.90
TOO_HIGH, TOO_LOW = 0.10, 0.03
# Outside the range the truth is f + 0.03, but no more than 1: the last term is what that takes off above 0.97.
TRUE_ERROR = (HIGH - LOW) * TOO_HIGH + (1 - (HIGH - LOW)) * TOO_LOW - TOO_LOW**2 / 2

PLANTED = (
    f"Predictions between {LOW:.2f} and {HIGH:.2f} are {100 * TOO_HIGH:.0f} points too high, all others "
    f"{100 * TOO_LOW:.0f} points too low. The true calibration error is {TRUE_ERROR:.3f}; "
    "SmoothECE, which evens out the edges of such steps, tends to a smaller value of its own."
)


def true_probability(y_prob: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""How often the outcome really happens at a given prediction of the demonstration.

    .. math:: q(f) = f - 0.10 \text{ for } 0.60 \le f \le 0.90, \qquad q(f) = \min(f + 0.03, 1) \text{ elsewhere}

    Examples
    --------
    >>> import numpy as np
    >>> true_probability(np.array([0.5, 0.7, 0.98])).round(12)
    array([0.53, 0.6 , 1.  ])
    """
    over = (y_prob >= LOW) & (y_prob <= HIGH)
    return np.where(over, y_prob - TOO_HIGH, np.minimum(y_prob + TOO_LOW, 1.0))


def make_demo(n: int = 20_000, seed: int = 0) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.float64]]:
    r"""Outcomes, over-confident predictions, and the probability each outcome really had.

    Predictions f are uniform on [0, 1]; each outcome is 1 with probability :func:`true_probability`. Between 0.60 and
    0.90 predictions are 10 points too high, elsewhere 3 points too low, so the error of the whole population is

    .. math:: \int_0^1 |f - q(f)|\,df = 0.30 \times 0.10 + 0.70 \times 0.03 - 0.03^2 / 2 = 0.05055.

    Parameters
    ----------
    n : int
        How many rows.
    seed : int
        The same seed gives the same rows.

    Returns
    -------
    y_true : ndarray of int8
        What happened, 0 or 1.
    y_prob : ndarray of float64
        What was predicted.
    truth : ndarray of float64
        The probability with which each outcome was drawn.

    Examples
    --------
    >>> y_true, y_prob, truth = make_demo()
    >>> float((y_prob - truth).max().round(3)), float((y_prob - truth).min().round(3))
    (0.1, -0.03)
    """
    rng = np.random.default_rng(seed)
    y_prob = rng.random(n)
    truth = true_probability(y_prob)
    y_true = (rng.random(n) < truth).astype(np.int8)
    return y_true, y_prob, truth
