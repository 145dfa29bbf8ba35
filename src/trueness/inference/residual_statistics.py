"""Test statistics that are made of residual sums: what each looks for, its value on many draws at once, its tail if it has one.

All but ECCE-R are read from draws of Σw(y − f), a draw a row, times a fixed matrix of features: one product serves them all.
"""

import math
from collections.abc import Callable, Sequence
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
_STEPS = 2.0  # nodes of the kernel a bandwidth: its sum over them is its integral to nine digits
_REACH = 3.0  # bandwidths beyond the outermost scores after which the kernel is nothing
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


class Linear(Statistic):
    """A statistic of a few sums over the points, each of residuals times a feature of the score."""

    @cached_property
    def features(self) -> Floats:
        """A column for each sum."""
        raise NotImplementedError

    def of_sums(self, sums: Floats) -> Floats:
        """The statistic of each draw, from a row of its sums."""
        raise NotImplementedError

    def of(self, e: Array) -> Floats:
        """The statistic of each draw."""
        return self.of_sums(np.asarray(e @ self.features, dtype=np.float64))

    @cached_property
    def observed(self) -> Floats:
        """The sums of what was observed."""
        return np.asarray(self.points.e @ self.features, dtype=np.float64)


class Cox(Linear):
    r"""Cox's score test of E[y|f] = f against expit(a + b·logit f): :math:`X^2 = U^T I^{-1} U`, :math:`U = \sum w r (1, l)`.

    U is parted into the total Σwr and what Σwr·l holds beside it, which are uncorrelated: X² = z₀² + z₁².
    """

    @cached_property
    def features(self) -> Floats:
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

    def of_sums(self, sums: Floats) -> Floats:
        """X² of each draw."""
        return np.asarray((_bounded(sums) ** 2).sum(axis=1))

    def log_tail(self, value: float) -> float:
        """ln P(X² > value): chi-square with two degrees of freedom, one where all scores are alike."""
        return -value / 2 if self.features.shape[1] == 2 else _log_two_sided(math.sqrt(value))


class Spiegelhalter(Linear):
    r"""Spiegelhalter's :math:`|z| = |\sum w r (1 - 2f)| / \sqrt{\sum w^2 f (1 - f)(1 - 2f)^2}`; 0 where every score is ½."""

    @cached_property
    def features(self) -> Floats:
        """The column of z."""
        weight = 1 - 2 * self.points.score
        variance = float((self.points.binomial * weight**2).sum())
        return (weight / math.sqrt(variance) if variance > 0 else np.zeros(len(weight)))[:, None]

    def of_sums(self, sums: Floats) -> Floats:
        """|z| of each draw."""
        return np.abs(sums[:, 0])

    def log_tail(self, value: float) -> float:
        """ln P(|Z| > value)."""
        return _log_two_sided(value)


class Neyman(Linear):
    r"""Adaptive Neyman test (Fan 1996): :math:`\max_m \sum_{k<m} (z_k^2 - 1)/\sqrt{2m}` of up to 17 cosines.

    :math:`z_k = \sum w r \cos(\pi k u) / \sqrt{\sum w^2 f(1-f) \cos^2(\pi k u)}`, u the share of the variance below a score.
    """

    @cached_property
    def features(self) -> Floats:
        """A column for each z."""
        v = self.points.binomial
        u = (np.cumsum(v) - v / 2) / float(v.sum())
        cosines = np.cos(np.pi * np.outer(u, np.arange(_COSINES)))
        return np.asarray(cosines / np.sqrt(np.maximum(v @ cosines**2, np.finfo(float).tiny)))

    def of_sums(self, sums: Floats) -> Floats:
        """The statistic of each draw."""
        return np.asarray(self._by_number(sums).max(axis=1))

    def _by_number(self, sums: Floats) -> Floats:
        steps = np.arange(1, _COSINES + 1)
        return np.asarray(np.cumsum(_bounded(sums) ** 2 - 1, axis=1) / np.sqrt(2 * steps))

    @property
    def cosines(self) -> int:
        """How many cosines the observed value is of."""
        return int(self._by_number(self.observed[None, :])[0].argmax()) + 1


class ManyBins(Linear):
    r"""Hosmer and Lemeshow's chi-square over B = 64, 32, …, 1 groups by rank: the largest of all B.

    .. math:: \bigl(\textstyle\sum_g S_g^2/V_g - B\bigr) / \sqrt{2B}
    """

    @cached_property
    def features(self) -> Floats:
        """A column for each of the finest groups."""
        w = self.points.weight
        middle = (np.cumsum(w) - w / 2) / float(w.sum())
        group = np.minimum((middle * _MOST_GROUPS).astype(np.int64), _MOST_GROUPS - 1)
        return np.asarray(group[:, None] == np.arange(_MOST_GROUPS), dtype=np.float64)

    @cached_property
    def _deviations(self) -> list[Floats]:
        """The standard deviation of the sum of each group, of 64 groups, of 32, …, of 1."""
        v = self.points.binomial @ self.features
        halved = [v]
        while len(halved[-1]) > 1:
            halved.append(halved[-1][::2] + halved[-1][1::2])
        return [np.sqrt(each) for each in halved]

    def of_sums(self, sums: Floats) -> Floats:
        """The statistic of each draw."""
        return np.asarray(np.max(self._by_number(sums), axis=0))

    def _by_number(self, sums: Floats) -> list[Floats]:
        found: list[Floats] = []
        for deviation in self._deviations:
            if len(found):
                sums = sums[:, ::2] + sums[:, 1::2]
            filled = np.flatnonzero(deviation > 0)
            z = _bounded(sums[:, filled] / deviation[filled])
            found.append((np.einsum("dg,dg->d", z, z) - len(filled)) / math.sqrt(2 * len(filled)))
        return found

    @property
    def groups(self) -> int:
        """Of how many groups the observed value is."""
        found = self._by_number(self.observed[None, :])
        return len(self._deviations[int(np.argmax([each[0] for each in found]))])


class Kernel(Linear):
    r"""Kernel calibration error with h = 0.03, its diagonal included.

    .. math:: \sum_{ij} w_i r_i w_j r_j\, e^{-(f_i - f_j)^2/(2h^2)} / W^2

    The kernel is an integral over t of :math:`e^{-(f_i - t)^2/h^2} e^{-(f_j - t)^2/h^2}`, so the sum is of squares.
    """

    @cached_property
    def nodes(self) -> Floats:
        """Values of t."""
        f, step = self.points.score, _BANDWIDTH / _STEPS
        first, last = math.floor(f[0] / step - _REACH * _STEPS), math.ceil(f[-1] / step + _REACH * _STEPS)
        return np.arange(first, last + 1) * step

    @cached_property
    def features(self) -> Floats:
        """A column for each node."""
        bell = np.exp(-(((self.points.score[:, None] - self.nodes) / _BANDWIDTH) ** 2))
        return np.asarray(bell * ((_STEPS * math.sqrt(math.pi / 2)) ** -0.5 / self.points.total))

    def of_sums(self, sums: Floats) -> Floats:
        """The statistic of each draw."""
        return np.asarray(np.einsum("dt,dt->d", sums, sums))

    @property
    def peak(self) -> tuple[float, float]:
        """Where the observed residuals nearby add up to most, and their sum."""
        sums = self.observed
        place = int(np.abs(sums).argmax())
        return float(np.clip(self.nodes[place], self.points.score[0], self.points.score[-1])), float(sums[place])


def together(statistics: Sequence[Statistic]) -> Callable[[Array], list[Floats]]:
    """All the statistics of draws at once: one product for those that are linear."""
    linear = [each for each in statistics if isinstance(each, Linear)]
    features = np.hstack([each.features for each in linear]) if linear else np.zeros((0, 0))
    ends = np.cumsum([each.features.shape[1] for each in linear])[:-1]

    def of(e: Array) -> list[Floats]:
        sums = iter(np.hsplit(np.asarray(e, dtype=np.float64) @ features, ends) if linear else ())
        return [each.of_sums(next(sums)) if isinstance(each, Linear) else each.of(e) for each in statistics]

    return of


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
