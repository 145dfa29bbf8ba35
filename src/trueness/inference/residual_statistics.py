"""Test statistics that are made of residual sums: what each looks for, its value on many draws at once, its tail if it has one.

All but ECCE-R are linear or quadratic in the residuals: draws of Σw(y − f), one row each, times a fixed matrix of features.
"""

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from trueness import brownian
from trueness._types import Array, Floats
from trueness.data.points import Points
from trueness.data.scales import logit
from trueness.metrics.cumulative import CumulativeNorm
from trueness.metrics.drawing import Statistic

_COSINES = 17  # of Neyman's test, the constant among them
_MOST_GROUPS = 64  # of the finest binning
_BANDWIDTH = 0.03  # of the kernel
_ALIKE = 1e-12  # share of its square below which the spread of a feature is rounding
_FAR = 1e150  # standard errors beyond which sums are equal, for their squares must be numbers


def _log_two_sided(z: float) -> float:
    """ln P(|Z| > z)."""
    from scipy.special import erfcx

    return math.log(float(erfcx(z / math.sqrt(2)))) - z * z / 2


def _bounded(z: Array) -> Floats:
    """Standardized sums, no further from 0 than can be squared."""
    return np.clip(np.asarray(z, dtype=np.float64), -_FAR, _FAR)


def _over(values: Floats, scale: Floats) -> Floats:
    """Quotients, 0 where nothing can vary."""
    return np.divide(values, scale, out=np.zeros_like(values), where=scale > 0)


class Spread(Statistic):
    """ECCE-R in units of its noise scale."""

    def __init__(self, points: Points) -> None:
        super().__init__(points)
        self._norm = CumulativeNorm(points, spread=True)
        self._sigma = math.sqrt(float(points.binomial.sum())) / points.total

    def of(self, e: Array) -> Floats:
        """The statistic of each draw."""
        return self._norm.noise(e) / self._sigma

    def log_tail(self, value: float) -> float:
        """ln P(T > value)."""
        return float(brownian.range.logsf(value))


class Cox(Statistic):
    r"""Cox's score test of E[y|f] = f against expit(a + b·logit f): :math:`X^2 = U^T I^{-1} U`, :math:`U = \sum w r (1, l)`.

    U is parted into the total Σwr and what Σwr·l holds beside it, which are uncorrelated: X² = z₀² + z₁².
    """

    @cached_property
    def _features(self) -> Floats:
        """A column for each of z₀ and z₁; no z₁ where all scores are alike."""
        x, v = logit(self.points.score), self.points.binomial
        total = float(v.sum())
        mean = float((v * x).sum()) / total
        beside = x - mean
        spread = float((v * beside**2).sum())
        columns = [np.full(len(v), total**-0.5)]
        if spread > _ALIKE * float((v * x**2).sum()) and spread > _ALIKE * total:
            columns.append(beside / math.sqrt(spread))
        return np.stack(columns, axis=1)

    def components(self, e: Array) -> Floats:
        """z₀ and, where scores differ, z₁ of each draw."""
        return _bounded(e @ self._features)

    def of(self, e: Array) -> Floats:
        """X² of each draw."""
        return np.asarray((self.components(e) ** 2).sum(axis=1))

    def log_tail(self, value: float) -> float:
        """ln P(X² > value): chi-square with two degrees of freedom, one where all scores are alike."""
        return -value / 2 if self._features.shape[1] == 2 else _log_two_sided(math.sqrt(value))


class Spiegelhalter(Statistic):
    r"""Spiegelhalter's :math:`|z| = |\sum w r (1 - 2f)| / \sqrt{\sum w^2 f (1 - f)(1 - 2f)^2}`; 0 where every score is ½."""

    @cached_property
    def _feature(self) -> Floats:
        weight = 1 - 2 * self.points.score
        variance = float((self.points.binomial * weight**2).sum())
        return weight / math.sqrt(variance) if variance > 0 else np.zeros(len(weight))

    def of(self, e: Array) -> Floats:
        """|z| of each draw."""
        return np.abs(np.asarray(e @ self._feature, dtype=np.float64))

    def log_tail(self, value: float) -> float:
        """ln P(|Z| > value)."""
        return _log_two_sided(value)


class Neyman(Statistic):
    r"""Adaptive Neyman test (Fan 1996): :math:`\max_m \sum_{k<m} (z_k^2 - 1)/\sqrt{2m}` of up to 17 cosines.

    :math:`z_k = \sum w r \cos(\pi k u) / \sqrt{\sum w^2 f(1-f) \cos^2(\pi k u)}`, u the share of the variance below a score.
    """

    @cached_property
    def _features(self) -> Floats:
        v = self.points.binomial
        u = (np.cumsum(v) - v / 2) / float(v.sum())
        cosines = np.cos(np.pi * np.outer(u, np.arange(_COSINES)))
        return np.asarray(cosines / np.sqrt(np.maximum(v @ cosines**2, np.finfo(float).tiny)))

    def of(self, e: Array) -> Floats:
        """The statistic of each draw."""
        z = _bounded(e @ self._features)
        steps = np.arange(1, _COSINES + 1)
        return np.asarray((np.cumsum(z**2 - 1, axis=1) / np.sqrt(2 * steps)).max(axis=1))


class ManyBins(Statistic):
    r"""Hosmer and Lemeshow's chi-square over B = 64, 32, …, 1 groups by rank: the largest of all B.

    .. math:: \bigl(\textstyle\sum_g S_g^2/V_g - B\bigr) / \sqrt{2B}
    """

    @cached_property
    def _group(self) -> Array:
        w = self.points.weight
        return np.asarray(
            np.minimum(((np.cumsum(w) - w / 2) / float(w.sum()) * _MOST_GROUPS).astype(np.int64), _MOST_GROUPS - 1)
        )

    @cached_property
    def _features(self) -> Floats:
        return np.asarray(self._group[:, None] == np.arange(_MOST_GROUPS), dtype=np.float64)

    def of(self, e: Array) -> Floats:
        """The statistic of each draw."""
        sums, v = np.asarray(e @ self._features, dtype=np.float64), self.points.binomial @ self._features
        best = np.full(len(sums), -np.inf)
        while True:
            filled = int(np.count_nonzero(v > 0))
            chi_square = (_bounded(_over(sums, np.broadcast_to(np.sqrt(v), sums.shape))) ** 2).sum(axis=1)
            best = np.maximum(best, (chi_square - filled) / math.sqrt(2 * filled))
            if len(v) == 1:
                return np.asarray(best)
            sums, v = sums[:, ::2] + sums[:, 1::2], v[::2] + v[1::2]


class Kernel(Statistic):
    r"""Kernel calibration error with h = 0.03, its diagonal included.

    .. math:: \sum_{ij} w_i r_i w_j r_j\, e^{-(f_i - f_j)^2/(2h^2)} / W^2
    """

    @cached_property
    def _kernel(self) -> Floats:
        f = self.points.score
        return np.asarray(np.exp(-(((f[:, None] - f) / _BANDWIDTH) ** 2) / 2) / self.points.total**2)

    def of(self, e: Array) -> Floats:
        """The statistic of each draw."""
        return np.asarray(np.einsum("di,di->d", e @ self._kernel, e), dtype=np.float64)


Tail = Callable[[float], float]

STATISTICS: dict[str, type[Statistic]] = {
    "cox": Cox,
    "spiegelhalter": Spiegelhalter,
    "neyman": Neyman,
    "hosmer_lemeshow": ManyBins,
    "kernel": Kernel,
}
PARTS: dict[str, type[Statistic]] = {"ecce_r": Spread, **STATISTICS}
COMBINED = ("ecce_r", "cox", "neyman", "hosmer_lemeshow", "kernel")  # chosen by studies/omnibus.py


def tail_of(statistic: Statistic) -> Tail | None:
    """ln of a statistic's tail probability; None where its law is not known."""
    return getattr(statistic, "log_tail", None)
