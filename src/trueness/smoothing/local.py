r"""Local linear regression of residuals on scores, and a bandwidth for it.

At a score t with position x(t), and K the Gaussian kernel of the distance of positions,

    S_j = Σ w K (f − t)^j,    l(f) = K·(S₂ − S₁(f − t)) / (S₀S₂ − S₁²),    Σ w l = 1,  Σ w l (f − t) = 0

so that t + Σ l·w(y − f) reproduces straight lines: where predictions are right, the diagonal, whatever the bandwidth. Where all
scores in reach are about one, l = K/S₀. The kernel's widths live on positions, the lines on scores.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trueness._types import Array, Floats
from trueness.data.points import Points
from trueness.data.scales import LOGIT, PROBABILITY, Scale
from trueness.smoothing.cosine import REACH
from trueness.smoothing.smoothed import sigmoid

WIDEST = 4  # bandwidths in the range of most scores
_OCTAVES, _PER_OCTAVE = 5, 4  # of bandwidths below the widest that are tried
_TAIL = 0.005  # of the weight at either end that does not count for the range
_GROUPS = 384  # in the range, when bandwidths are tried
_MOST_GROUPS = 2048
_CROWD = 0.4  # from one half: a tenth from an end
_MOST_OWN = 0.99  # of a fit that a row has in itself: one that stands alone cannot be left out
_HELD = 0.95  # of the weight where the kernel must hold enough rows
_FAR = 600.0  # whose exponential is a float64 yet
_ALIKE = 1e-10  # of S₀S₂: less is one score


class LocalWeights(NamedTuple):
    """The weights l, [place, point], those of a row at the place itself, and how many rows the kernel holds there."""

    weights: Array
    own: Floats
    near: Floats  # (ΣwK)²/Σw²K²

    def variance(self, of_row: Floats) -> Floats:
        """Σl²v at each place, where v are variances of the points' sums."""
        return np.asarray((self.weights * self.weights) @ of_row)


def local_weights(t: Floats, points: Points, scale: Scale, bandwidth: float) -> LocalWeights:
    """l at each t."""
    distance = points.score - t[:, None]
    kernel = (scale.position(points.score) - scale.position(t)[:, None]) / bandwidth
    nearest = np.abs(kernel).min(axis=1, keepdims=True)
    exponent = 0.5 * (kernel * kernel - nearest * nearest)  # a factor a place, for places far from all scores
    kernel = np.exp(-exponent, out=np.zeros_like(exponent), where=exponent <= REACH**2 / 2)
    moment = kernel * distance
    s0, s1, s2 = kernel @ points.weight, moment @ points.weight, (moment * distance) @ points.weight
    determinant = s0 * s2 - s1 * s1
    line = determinant > _ALIKE * s0 * s2
    level = np.where(line, s2, 1.0) / np.where(line, determinant, s0)
    slope = np.where(line, s1, 0.0) / np.where(line, determinant, 1.0)
    weights = kernel * level[:, None] - moment * slope[:, None]
    own = level * np.exp(np.minimum(0.5 * nearest[:, 0] ** 2, _FAR))  # of a place far from all scores a row would be all
    return LocalWeights(weights, own, s0 * s0 / ((kernel * kernel) @ points.w2))


def scale_for(samples: Sequence[Points]) -> Scale:
    """The scale on which the kernel lives: logits where most scores crowd at the ends, else probabilities."""
    crowded = sum(float(points.weight[np.abs(points.score - 0.5) > _CROWD].sum()) / points.total for points in samples)
    return LOGIT if crowded > len(samples) / 2 else PROBABILITY


def most_scores(points: Points, scale: Scale) -> tuple[float, float]:
    """Positions between which all but a few thousandths of the weight lie; of all where that is a single one."""
    x, share = scale.position(points.score), np.cumsum(points.weight) / points.total
    low, high = (float(x[min(int(np.searchsorted(share, part)), len(x) - 1)]) for part in (_TAIL, 1 - _TAIL))
    return (low, high) if high > low else (float(x[0]), float(x[-1]))


def grouped(points: Points, scale: Scale, step: float = 0.0, window: tuple[float, float] | None = None) -> Points:
    """Points within a step of positions, at least a 2048th of their range, put together; outside a window all at a side."""
    x = scale.position(points.score)
    low, high = (float(x[0]), float(x[-1])) if window is None else window
    step = max(step, (high - low) / _MOST_GROUPS)
    if step <= 0:
        return points.merged(np.zeros(1, dtype=np.int64))
    label = np.floor((np.clip(x, low, high) - low) / step).astype(np.int64)
    return points.merged(np.flatnonzero(np.append(True, label[1:] != label[:-1])))


class Bandwidths(NamedTuple):
    """The widest that is as good as the best as far as the rows can tell, and the best."""

    steady: float
    best: float


def chosen_bandwidths(samples: Sequence[Points], scale: Scale, enough: float) -> Bandwidths:
    """One bandwidth for all samples, by leave-one-out cross-validation: the widest within a standard error of the best.

    The best alone wanders from sample to sample, and where it is too narrow the curve shows waves that are noise. Those whose
    kernel holds enough rows almost nowhere are left out, but for the widest.
    """
    ends = [most_scores(points, scale) for points in samples]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    reach = high - low
    widths = reach / WIDEST * 2.0 ** (-np.arange(_OCTAVES * _PER_OCTAVE + 1) / _PER_OCTAVE)
    window = (low - reach / 2, high + reach / 2)
    groups = [grouped(points, scale, reach / _GROUPS, window) for points in samples]
    fits = [_left_out(points, scale, widths) for points in groups]
    held = np.min([fit.held(points, enough) for fit, points in zip(fits, groups, strict=True)], axis=0) >= _HELD
    held[0] = True
    loss = np.where(held, sum(fit.loss for fit in fits), np.inf)
    best = int(np.argmin(loss))
    error = np.sqrt(sum(fit.squared_errors(points, best) for fit, points in zip(fits, groups, strict=True)))
    return Bandwidths(float(widths[np.flatnonzero(loss <= loss[best] + error)[0]]), float(widths[best]))


class _LeftOut(NamedTuple):
    """For each bandwidth the mean squared error of rows left out, the fit at each point, less its score, and rows near it."""

    loss: Floats
    gap: Array  # [bandwidth, point]
    near: Array

    def held(self, points: Points, enough: float) -> Floats:
        """The share of the weight where the kernel holds enough rows."""
        return np.asarray((self.near >= enough) @ points.weight / points.total)

    def squared_errors(self, points: Points, best: int) -> Floats:
        """Of each bandwidth's loss over that of the best: (y − a)² − (y − b)² = (a − b)² − 2(y − b)(a − b)."""
        gap = self.gap[best]
        spread = np.maximum(points.squares - 2 * gap * points.w2e + gap * gap * points.w2, 0.0)
        return np.asarray(4 * ((self.gap - gap) ** 2 @ spread) / points.total**2)


def _left_out(points: Points, scale: Scale, widths: Floats) -> _LeftOut:
    unit = points.unit
    losses, gaps, nears = [], [], []
    squares = np.divide(points.squares, unit, out=np.zeros(len(unit)), where=unit > 0)
    for width in widths:
        local = local_weights(points.score, points, scale, float(width))
        gap = local.weights @ points.e
        left = 1 - np.minimum(local.own * unit, _MOST_OWN)
        losses.append(float(((squares - 2 * gap * points.e + gap * gap * points.weight) / left**2).sum()))
        gaps.append(gap)
        nears.append(local.near)
    return _LeftOut(np.array(losses) / points.total, np.array(gaps), np.array(nears))


def even_scores(points: Points, scale: Scale, steps: int) -> Floats:
    """Scores at equal steps of positions, from the lowest to the highest."""
    low, high = float(points.score[0]), float(points.score[-1])
    a, b = (float(end) for end in scale.position(np.array([low, high])))
    position = a + (b - a) * np.arange(steps + 1) / steps
    return np.asarray(np.clip(sigmoid(position) if scale == LOGIT else position, low, high))
