"""SmoothECE of two predictors: each is the bandwidth at which its own curve of ∫|g_σ| meets the diagonal."""

from functools import cached_property

import numpy as np

from trueness._types import Floats
from trueness.data.pair import Pair
from trueness.metrics.contrast import Kernel, Smallest, integral_bounds
from trueness.smoothing.kernel import gaussian

_NODES, _FEWEST, _MOST = 2.0, 64, 2048  # a bandwidth, and in all
_REACH = 4.5  # bandwidths beyond which a kernel is below 1e-4


class SmoothContrast:
    """SmoothECE on the probability scale."""

    alone = True

    def __init__(self, score: Floats) -> None:
        self._score = score

    def lead(self, pair: Pair, values: tuple[float, float]) -> "SmoothLead":
        """About the values of the rows."""
        return SmoothLead(self._score, pair, values)


class SmoothLead:
    """T_a ≤ T_b + d where ∫|g_a| at the bandwidth T_b + d is at most d more than ∫|g_b| at T_b: it falls with the bandwidth.

    At d = 0 it is a comparison at one bandwidth, which alone decides whether one of the two is off by less.
    """

    def __init__(self, score: Floats, pair: Pair, values: tuple[float, float]) -> None:
        self._score, self._pair, self._values = score, pair, values
        self._finest = max(float(np.ptp(score)) * _NODES / _MOST, 1e-9)

    def _at(self, apart: float) -> tuple[Smallest, float]:
        """Bounds for the difference at bandwidths that lie so far apart, and its value."""
        second = max(self._values[1], self._finest)
        first = max(self._values[1] + apart, self._finest)
        narrow, wide = sorted((first, second))
        low, high = max(self._score[0] - _REACH * wide, 0.0), min(self._score[-1] + _REACH * wide, 1.0)
        count = int(np.clip(np.ceil(_NODES * (high - low) / narrow), _FEWEST, _MOST))
        nodes = low + (high - low) * (np.arange(count) + 0.5) / count
        kernels = [smooth_kernel(self._score, nodes, sigma, (high - low) / count) for sigma in dict.fromkeys((first, second))]
        return integral_bounds(self._pair, kernels[0], kernels[-1])

    @cached_property
    def _apart(self) -> tuple[Smallest, float]:
        """At both values, and by how much cells fall short of the rows."""
        value = self._values[0] - self._values[1]
        bounds, seen = self._at(value)
        return bounds.moved(value - seen), value - seen

    @cached_property
    def _together(self) -> Smallest:
        return self._at(0.0)[0].moved(self._apart[1])

    @property
    def z(self) -> float:
        """Standard errors at which the upper limit is 0."""
        return self._together.z

    def upper(self, z: float) -> float:
        """Upper limit: where the bound meets the difference, between places at which both are known."""
        value = self._values[0] - self._values[1]
        first = self._apart[0].upper(z)
        bounds, shift = self._at(first)[0], self._apart[1]
        known = sorted([(value, first), (0.0, self._together.upper(z)), (first, bounds.moved(shift).upper(z))])
        place, excess = np.array([x for x, _ in known]), np.array([bound - x for x, bound in known])
        above = np.flatnonzero(excess > 0)
        if len(above) == 0:
            return float(place[0])
        i = int(above[-1])
        if i + 1 == len(place):
            return float(place[i] + excess[i])
        return float(place[i] + excess[i] * (place[i + 1] - place[i]) / (excess[i] - excess[i + 1]))


def smooth_kernel(score: Floats, nodes: Floats, bandwidth: float, step: float) -> Kernel:
    """The Gaussian kernel reflected at 0 and 1."""
    weights = np.zeros((len(score), len(nodes)))
    reach, images = _REACH * bandwidth, int(_REACH * bandwidth / 2) + 1
    for k in range(-images, images + 1):
        for centre in (score - 2 * k, -score - 2 * k):
            if centre.max() > nodes[0] - reach and centre.min() < nodes[-1] + reach:
                weights += gaussian(nodes - centre[:, None], bandwidth)
    return Kernel(step * weights)
