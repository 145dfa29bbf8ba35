r"""By how much one predictor's error may exceed another's on the same rows.

Most metrics here are norms, T = sup E[v(f)·r] over functions |v| ≤ 1 of the score. With v the one that is best for the first
predictor, T_a = E[v(f_a)·r_a], and T_b ≥ E[u(f_b)·r_b] for any u that is allowed:

    T_a − T_b ≤ E[v(f_a)·r_a − u(f_b)·r_b]

v is not known, so the upper limit is the largest of all v, each with the variance of its own mean of rows. u may be chosen: the
sign of the second one's curve where that is clear, else v itself, so that what two predictors have in common cancels, or 0. Two
ways of choosing are tried, and the smaller of the two limits stands.
"""

from typing import NamedTuple, Protocol

import numpy as np

from trueness._types import Array, Floats
from trueness.data.pair import Pair

# Standard errors from which a curve's sign is taken as known. What is then left out makes up for those that only seem to be.
CLEAR, SURE = 2.5, 3.0
_NOTHING = 1e-9


class Lead(Protocol):
    """By how much the first predictor's error may exceed the second's."""

    def upper(self, z: float) -> float:
        """Upper limit, so many standard errors away."""

    @property
    def z(self) -> float:
        """Standard errors at which the upper limit is 0: above it the first is not off by more."""


class Bounds(NamedTuple):
    """Upper bounds [way of choosing u, candidate for v]: the smallest of the ways, the largest of the candidates."""

    centre: Array
    variance: Array
    skewness: Array

    def upper(self, z: float) -> float:
        """Upper limit, so many standard errors away."""
        return float(np.max(np.min(self.centre + reach(self.variance, self.skewness, z), axis=0)))

    @property
    def z(self) -> float:
        """Standard errors at which the upper limit is 0."""
        return float(np.min(np.max(standard_errors(self.centre, self.variance, self.skewness), axis=0)))

    def moved(self, shift: float) -> "Bounds":
        """The same about other values."""
        return self._replace(centre=self.centre + shift)


class Smallest(NamedTuple):
    """Several bounds for the same difference."""

    bounds: list[Bounds]

    def upper(self, z: float) -> float:
        """Upper limit, so many standard errors away."""
        return min(each.upper(z) for each in self.bounds)

    @property
    def z(self) -> float:
        """Standard errors at which the upper limit is 0."""
        return max(each.z for each in self.bounds)

    def moved(self, shift: float) -> "Smallest":
        """The same about other values."""
        return Smallest([each.moved(shift) for each in self.bounds])


def reach(variance: Array, skewness: Array, z: float) -> Array:
    """How far a mean may lie below what it estimates: z standard errors, and more where single outcomes make it up."""
    lean = skewness * z / 2
    return np.asarray(lean * z + z * np.sqrt(variance + lean**2))


def standard_errors(centre: Array, variance: Array, skewness: Array) -> Array:
    """The z at which `reach` is −centre; 0 where that is not positive."""
    below = np.maximum(-centre, 0.0)
    scale = np.sqrt(variance + skewness * below)
    return np.asarray(np.divide(below, scale, out=np.where(below > 0, np.inf, 0.0), where=scale > 0))


class Contrast(Protocol):
    """A metric of pairs of predictors, on their cells."""

    alone: bool  # whether its limits need no others beside them

    def lead(self, pair: Pair, values: tuple[float, float]) -> Lead:
        """For a pair and the metric's values of both."""


class Kernel(NamedTuple):
    """What ∫|g| is made of: masses at cells to values at nodes, a node's share of the integral included."""

    weights: Array  # [cell, node]
    bias: Array | None = None  # [cell, node], of the weight in a cell whatever its outcomes

    def curve(self, pair: Pair, which: int) -> Floats:
        """g at the nodes."""
        curve = pair.e[which] @ self.weights
        return np.asarray(curve if self.bias is None else curve + pair.weight[which] @ self.bias)

    def clear_sign(self, pair: Pair, which: int, curve: Floats, errors: float) -> Floats:
        """The sign of g where it is so many standard errors from 0, elsewhere 0."""
        variance = (pair.squares[which] @ self.weights**2).max(axis=0)
        return np.asarray(np.sign(curve) * (curve**2 > errors**2 * variance))


def integral_bounds(pair: Pair, first: Kernel, second: Kernel) -> tuple[Smallest, float]:
    """Bounds for ∫|g_a| − ∫|g_b| and its value.

    Where u and v are otherwise the same, little noise is left, and a sign must be the clearer to be taken as known.
    """
    a, b = first.curve(pair, 0), second.curve(pair, 1)
    likely_b = second.clear_sign(pair, 1, b, CLEAR)
    sure_a, sure_b = first.clear_sign(pair, 0, a, SURE), second.clear_sign(pair, 1, b, SURE)
    rest = np.where(sure_b != 0, a, a - b)  # what v multiplies where u is v elsewhere
    alike, same = (np.where(sure_a != 0, sure_a, np.sign(each)) for each in (rest, a - b))
    ways = [
        _turned(pair, first, second, v=np.sign(a), u=likely_b, known=(first.clear_sign(pair, 0, a, CLEAR), likely_b)),
        _turned(pair, first, second, v=alike, u=np.where(sure_b != 0, sure_b, alike), known=(sure_a, sure_b)),
        _turned(pair, first, second, v=same, u=same, known=(sure_a, np.zeros(len(b)))),
    ]
    return Smallest(ways), float(np.abs(a).sum() - np.abs(b).sum())


def _turned(pair: Pair, first: Kernel, second: Kernel, *, v: Floats, u: Floats, known: tuple[Floats, Floats]) -> Bounds:
    """Candidates for v: the largest mean, and signs turned one after the other where that adds most variance for its cost.

    Where a sign is not known, the one that the rows happen to show may be the one that hides how uncertain the difference is.
    """
    a, b = first.curve(pair, 0), second.curve(pair, 1)
    variance, outcome = pair.spread(first.weights @ v, second.weights @ u)
    crossed = (pair.products @ (second.weights @ known[1])) @ first.weights  # [supposition, node]
    gain = np.where(known[0] == 0, 4 * np.maximum(v * crossed, 0.0), 0.0)
    cost = 2 * np.abs(np.where(u == v, np.where(known[1] != 0, a, a - b), a))
    most = gain.max(axis=0)
    turned = np.flatnonzero(most > _NOTHING * max(float(variance.max()), float(most.max())))
    turned = turned[np.argsort(cost[turned] / most[turned], kind="stable")]
    added = np.concatenate([np.zeros((len(gain), 1)), np.cumsum(gain[:, turned], axis=1)], axis=1)
    variances = (variance[:, None] + added).max(axis=0)
    outcomes = (outcome[:, None] + added[len(added) - len(outcome) :]).max(axis=0) if len(added) > 1 else 0 * variances
    centre = float((v * a).sum() - (u * b).sum())
    centres = centre - np.concatenate([[0.0], np.cumsum(cost[turned])])
    return Bounds(centres[None, :], variances[None, :], pair.skewness(variances, outcomes, 2.0)[None, :])


class IntegralContrast:
    """∫|g| with one kernel for both: bins, or smoothing of one bandwidth."""

    alone = True

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def lead(self, pair: Pair, values: tuple[float, float]) -> Smallest:
        """About the values of the rows; cells tell how far noise may carry them."""
        bounds, value = integral_bounds(pair, self._kernel, self._kernel)
        return bounds.moved(values[0] - values[1] - value)


def bins_kernel(bin_of_cell: Array, bins: int) -> Kernel:
    """The sums of bins."""
    return Kernel((np.asarray(bin_of_cell)[:, None] == np.arange(bins)).astype(np.float64))
