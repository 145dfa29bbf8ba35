"""The logistic line that outcomes follow along predictions: what Cox's test looks for, as a slope and an intercept."""

from typing import NamedTuple

import numpy as np

from trueness._types import Floats
from trueness.data.points import Points
from trueness.data.scales import logit as log_odds

_STEPS = 40  # of Newton's method
_CLOSE = 1e-9  # a step this small is the last
_STEEPEST = 50.0  # from here on outcomes are parted, not fitted


class Line(NamedTuple):
    """logit P(y = 1) = intercept + slope · logit f."""

    intercept: float
    slope: float


def fitted_line(points: Points) -> Line | None:
    """The line of largest likelihood; None where scores are alike, or outcomes parted so well that none is the best."""
    x = np.stack([np.ones(len(points.score)), log_odds(points.score)], axis=1)
    events = points.e + points.weight * points.score
    line = np.array([0.0, 1.0])
    for _ in range(_STEPS):
        logit = x @ line
        p = 1 / (1 + np.exp(-np.clip(logit, -700, 700)))
        information = (x * (points.weight * p * (1 - p))[:, None]).T @ x
        if np.linalg.cond(information) > 1e12:
            return None
        step = np.linalg.solve(information, x.T @ (events - points.weight * p))
        likelihood = _log_likelihood(logit, events, points.weight)
        while np.abs(step).max() > _CLOSE and _log_likelihood(x @ (line + step), events, points.weight) < likelihood:
            step = step / 2
        line = line + step
        if not np.isfinite(line).all() or abs(line[1]) > _STEEPEST:
            return None
        if np.abs(step).max() <= _CLOSE * (1 + np.abs(line).max()):
            return Line(float(line[0]), float(line[1]))
    return None


def _log_likelihood(logit: Floats, events: Floats, weight: Floats) -> float:
    return float((events * logit - weight * np.logaddexp(0.0, logit)).sum())
