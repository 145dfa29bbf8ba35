"""Metrics as functions of many draws at once: rows of residual sums Σw(y − f) over the same points.

`of` gives the metric of every draw; `noise` the norm of the draw alone, which an interval needs: the same but where the metric
is not 0 at residuals of 0 (LS-ECE), and for SmoothECE one value a bandwidth.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from trueness._types import Floats, Ints
from trueness.data.masses import Scale, logit, sigmoid
from trueness.data.points import Points
from trueness.errors import InputError
from trueness.metrics.distance import weak_error

BANDWIDTHS = 24
_COSINES, _TABLE = 1 << 14, 1 << 26  # cosines at most, and in all for all points
_NODES = 4  # a bandwidth
_REACH = 5.3  # kernel widths (and the same in frequency) beyond which a kernel is below 1e-6
NARROW_LOGIT = 0.02  # bandwidths up to this are drawn more finely
WIDEST_LINK = 4.0  # wider noise than this bends the sigmoid within one step of the lattice

Options = Mapping[str, Any]


class Statistic(Protocol):
    """A metric of draws."""

    def of(self, e: Floats) -> Floats:
        """The metric of each draw."""

    def noise(self, e: Floats) -> Floats:
        """The norm of each draw."""


def absolute_integral(g: Floats, step: float, breaks: Floats | None = None) -> Floats:
    """∫|g| of each row at equal steps, exact where g is linear: a trapezoid rule, less what it adds at a change of sign."""
    size = np.abs(g)
    both = size[:, :-1] + size[:, 1:]
    crossing = g[:, :-1] * g[:, 1:] < 0
    lost = np.divide(size[:, :-1] * size[:, 1:], both, out=np.zeros_like(both), where=crossing)
    pieces = both / 2 - lost
    return np.asarray((pieces if breaks is None else pieces * breaks).sum(axis=1) * step)


class BinnedStatistic:
    """Gaps of bins; `at` is the bin of each point and `width` that of each bin."""

    def __init__(self, points: Points, at: Ints, width: Floats, *, norm: str, weighting: str, debias: bool) -> None:
        self.starts = np.flatnonzero(np.append(True, at[1:] != at[:-1]))
        self.weight = np.add.reduceat(points.weight, self.starts)
        self.score = np.add.reduceat(points.weight * points.score, self.starts) / self.weight
        self.norm = norm
        self.share = self.weight / points.total if weighting == "mass" else width[at[self.starts]]
        self.debias = debias

    def gaps(self, e: Floats) -> Floats:
        """ȳ − f̄ of each bin that holds rows."""
        return np.asarray(np.add.reduceat(e, self.starts, axis=1) / self.weight)

    def direction_variance(self, points: Points, z: float) -> float:
        """Variance of T_n away from 0, in the worst direction the data allow: √share·(ȳ − f̄) of any one bin as far as z
        standard errors go, and no less than what the gaps seen say, shares of the bins counted as random."""
        gap = self.gaps(points.e[None, :])[0]
        mean = gap + self.score
        w2, binomial, squares = (
            np.add.reduceat(column, self.starts) for column in (points.w2, points.binomial, points.squares)
        )
        n = self.weight**2 / w2
        middle = (n * mean + z * z / 2) / (n + z * z)
        reach = z * np.sqrt(n * np.maximum(mean * (1 - mean), 0.0) + z * z / 4) / (n + z * z)
        nearest = np.clip(0.5, middle - reach, middle + reach)  # Wilson's interval: the mean outcome closest to one half
        outcome = np.maximum(nearest * (1 - nearest), binomial / w2)  # of a row, whichever way it is judged
        worst = float(np.max(outcome * w2 / self.weight) / points.total)
        size = float(np.sqrt((self.share * gap**2).sum()))
        if size == 0:
            return worst
        u = gap / size  # a row adds u·r − T·u²/2 − T/2 to T_n
        centre = size * (u**2 + 1) / 2
        own = (u**2 * squares - 2 * u * centre * gap * w2 + centre**2 * w2).sum() / points.total**2
        return max(worst, float(own))

    def of(self, e: Floats) -> Floats:
        """The metric of each draw."""
        gap = self.gaps(e)
        if self.norm == "max":
            return np.asarray(np.abs(gap).max(axis=1))
        if self.norm == "l1":
            return np.asarray(np.abs(gap) @ self.share)
        squares = gap**2
        if self.debias:
            mean = gap + self.score
            others = np.maximum(self.weight - 1, 1)
            squares = np.where(self.weight > 1, squares - mean * (1 - mean) / others, 0)
        return np.sqrt(np.maximum(squares @ self.share, 0.0))

    noise = of


class CumulativeStatistic:
    """ECCE at the end of every point."""

    def __init__(self, points: Points, *, spread: bool) -> None:
        self.total = points.total
        self.spread = spread

    def of(self, e: Floats) -> Floats:
        """The metric of each draw."""
        c = np.cumsum(e, axis=1)
        high, low = np.maximum(c.max(axis=1), 0.0), np.minimum(c.min(axis=1), 0.0)
        return np.asarray((high - low if self.spread else np.maximum(high, -low)) / self.total)

    noise = of


class _Window(NamedTuple):
    """A stretch of the scale that holds all points and their kernels; reflections at its ends are real or negligible."""

    low: float
    length: float


class _Band(NamedTuple):
    """Bandwidths that share one window, and the cosines of the points there."""

    window: _Window
    places: range  # in the ladder
    frequency: Floats
    cosines: Floats


class SmoothStatistic:
    """SmoothECE at a bandwidth, or its fixed point from a ladder of bandwidths that depends on the scores alone."""

    def __init__(self, points: Points, scale: Scale, bandwidth: float | None, ladder: Floats | None = None) -> None:
        self.scale = scale
        self.x = scale.position(points.score)
        self.reflects = scale.reflects
        self.total = points.total
        self.fixed = bandwidth is not None
        if ladder is not None:
            self.ladder = ladder
        elif bandwidth is None:
            smallest = self._typical(points.squares if points.soft else points.binomial) / 2
            self.ladder = np.geomspace(min(smallest, 0.5), 1.0, BANDWIDTHS)
        else:
            self.ladder = np.array([bandwidth])
        finest = _REACH * self._window(0.0).length / (np.pi * min(_COSINES, _TABLE // len(self.x)))
        self.clipped = bool(self.ladder[0] < finest)
        if self.clipped and bandwidth is not None:
            raise InputError(
                f"bandwidth: {bandwidth:g} is too small to be simulated on these data. Pass at least {finest:.2g}."
            )
        if self.clipped:
            self.ladder = np.geomspace(min(finest, 0.5), 1.0, BANDWIDTHS)

    @cached_property
    def bands(self) -> list[_Band]:
        """Windows and cosines, made when first drawn."""
        return list(self._bands())

    def _window(self, bandwidth: float) -> _Window:
        low, high = float(self.x[0]) - _REACH * bandwidth, float(self.x[-1]) + _REACH * bandwidth
        if self.reflects:
            low, high = max(low, 0.0), min(high, 1.0)
            return _Window(low, high - low if high > low else 1.0)
        return _Window(low, max(high - low, 1e-300))

    def _bands(self) -> Iterator[_Band]:
        """Few windows for many bandwidths: scores near 0, say, need the whole scale for wide kernels only."""
        first = 0
        for last in range(1, len(self.ladder) + 1):
            if (
                last < len(self.ladder)
                and self._window(self.ladder[last]).length <= 1.6 * self._window(self.ladder[first]).length
            ):
                continue
            window = self._window(self.ladder[last - 1])
            count = int(_REACH * window.length / (np.pi * self.ladder[first])) + 1
            frequency = np.pi * np.arange(count + 1, dtype=np.float64)
            cosines = np.cos(np.outer((self.x - window.low) / window.length, frequency))
            yield _Band(window, range(first, last), frequency, cosines)
            first = last

    def _typical(self, variance: Floats) -> float:
        """Where √(2/π)·∫ of the standard deviation of the smoothed noise equals its bandwidth."""
        from scipy.fft import dct

        if not variance.any():
            return 1.0
        cells = 4096
        low, high = 1e-7, 1.0
        for _ in range(40):
            sigma = float(np.sqrt(low * high))
            window = self._window(sigma)
            place = (self.x - window.low) / window.length * cells
            mass = np.bincount(np.clip(place.astype(np.int64), 0, cells - 1), variance, minlength=cells)
            s = sigma / window.length
            # The kernel squared is a kernel of width σ/√2 over 2√π·σ, reflections that overlap left out.
            damped = dct(mass, type=2) / (2 * self.total**2) * np.exp(-0.25 * (s * np.pi * np.arange(cells)) ** 2)
            g = np.maximum(dct(damped, type=3), 0.0) / (2 * np.sqrt(np.pi) * s)
            if np.sqrt(2 / np.pi) * float(np.sqrt(g).mean()) > sigma:
                low = sigma
            else:
                high = sigma
        return float(np.sqrt(low * high))

    def noise(self, e: Floats, nodes: int = _NODES) -> Floats:
        """∫|g_σ| of each draw for every bandwidth of the ladder, looked at on so many nodes a bandwidth."""
        from scipy.fft import dct, next_fast_len

        values = np.empty((len(e), len(self.ladder)))
        for band in self.bands:
            a = e @ band.cosines / self.total
            for j in band.places:
                sigma = self.ladder[j] / band.window.length
                last = min(int(_REACH / (np.pi * sigma)) + 1, len(band.frequency) - 1)
                intervals = next_fast_len(max(16, last + 1, int(np.ceil(nodes / sigma))))
                padded = np.zeros((len(e), intervals + 1))
                padded[:, : last + 1] = a[:, : last + 1] * np.exp(-0.5 * (sigma * band.frequency[: last + 1]) ** 2)
                values[:, j] = absolute_integral(dct(padded, type=1), 1 / intervals)
        return values

    def of(self, e: Floats) -> Floats:
        """The metric of each draw."""
        return self.from_norms(self.noise(e))

    def from_norms(self, curve: Floats) -> Floats:
        """The metric from what `noise` gave: where a curve equals the bandwidth. Between rungs a curve is nearly a power."""
        if self.fixed:
            return curve[:, 0]
        below = curve <= self.ladder  # from some rung on: curves fall and the ladder rises
        j = np.argmax(below, axis=1)
        i = np.maximum(j - 1, 0)
        rows = np.arange(len(curve))
        with np.errstate(divide="ignore", invalid="ignore"):
            gap0, gap1 = (np.log(curve[rows, at] / self.ladder[at]) for at in (i, j))
            share = gap0 / (gap0 - gap1)
            found = self.ladder[i] * (self.ladder[j] / self.ladder[i]) ** share
            # Below the ladder the curve hardly moves, unless the ladder had to end too early: then it goes on as a power.
            slope = np.log(curve[:, 1] / curve[:, 0]) / np.log(self.ladder[1] / self.ladder[0])
            below_all = self.ladder[0] * (curve[:, 0] / self.ladder[0]) ** (1 / (1 - slope)) if self.clipped else curve[:, 0]
        # At the ladder's end no curve exceeds 1.
        return np.where(j == 0, np.where(curve[:, 0] > 0, below_all, 0.0), np.where(np.isfinite(found), found, self.ladder[i]))


class LogitSmoothedStatistic:
    """LS-ECE with Gaussian noise, on a fine lattice of logits where any kernel reaches."""

    def __init__(self, points: Points, bandwidth: float) -> None:
        from scipy.sparse import csr_array

        h = logit(points.score)
        # Many narrow kernels average out: what is left of the noise is small, and so must be the error.
        nodes = _NODES if bandwidth > NARROW_LOGIT else 2 * _NODES
        self.step = min(bandwidth, 1.0 if bandwidth <= WIDEST_LINK else bandwidth) / nodes
        reach = int(_REACH * bandwidth / self.step) + 1
        node = np.rint(h / self.step).astype(np.int64)[:, None] + np.arange(-reach, reach + 1)
        nodes, column = np.unique(node, return_inverse=True)
        u = nodes * self.step
        z = (u[column.reshape(node.shape)] - h[:, None]) / bandwidth
        kernel = np.exp(-0.5 * z * z) / (bandwidth * np.sqrt(2 * np.pi) * points.total)
        place = np.repeat(np.arange(len(h)), node.shape[1])
        self.kernel = csr_array((kernel.ravel(), (column.ravel(), place)), shape=(len(nodes), len(h)))
        self.next_to = np.diff(nodes) == 1
        # What the noise on the logits alone adds: Σw(f − ρ(u))p(u − h)/W.
        self.bias = self.kernel @ (points.weight * points.score) - sigmoid(u) * (self.kernel @ points.weight)

    def _integral(self, e: Floats, offset: Floats | float) -> Floats:
        smoothed: Floats = (self.kernel @ e.T).T + offset
        return absolute_integral(smoothed, self.step, self.next_to)

    def of(self, e: Floats) -> Floats:
        """The metric of each draw."""
        return self._integral(e, self.bias)

    def noise(self, e: Floats) -> Floats:
        """The norm of each draw."""
        return self._integral(e, 0.0)


class UniformNoiseStatistic:
    """The norm behind LS-ECE with uniform noise: the smoothed draw is constant between h ± σ/2."""

    def __init__(self, points: Points, bandwidth: float) -> None:
        h = logit(points.score)
        cuts = np.concatenate([h - bandwidth / 2, h + bandwidth / 2])
        self.order = np.argsort(cuts, kind="stable")
        self.lengths = np.diff(cuts[self.order]) / (bandwidth * points.total)

    def noise(self, e: Floats) -> Floats:
        """The norm of each draw."""
        both = np.concatenate([e, -e], axis=1)[:, self.order]
        return np.asarray(np.abs(np.cumsum(both, axis=1)[:, :-1]) @ self.lengths)


class WeakStatistic:
    """The weak calibration error of each draw, on few groups of neighbours: every draw is a search of its own."""

    def __init__(self, points: Points, most: int = 128) -> None:
        count = len(points.score)
        self.starts = np.unique(np.arange(min(count, most)) * count // min(count, most))
        weight = np.add.reduceat(points.weight, self.starts)
        self.steps = np.diff(np.add.reduceat(points.weight * points.score, self.starts) / weight).tolist()
        self.total = points.total

    def of(self, e: Floats) -> Floats:
        """The metric of each draw."""
        c = -np.add.reduceat(e, self.starts, axis=1) / self.total
        return np.array([weak_error(self.steps, row) for row in c.tolist()])

    noise = of


class BrierStatistic:
    """(y − f)² of a hard label is f(1 − f) + (y − f)(1 − 2f), linear in the residual."""

    def __init__(self, points: Points) -> None:
        self.slope = (1 - 2 * points.score) / points.total
        self.expected = float((points.weight * points.score * (1 - points.score)).sum()) / points.total

    def of(self, e: Floats) -> Floats:
        """The metric of each draw."""
        return self.expected + e @ self.slope


class AnyStatistic:
    """Any other metric, one draw after the other: a point counts as one row with its mean outcome and its weight."""

    def __init__(self, points: Points, function: Callable[..., Any], options: Options) -> None:
        self.points = points
        self.function = function
        self.options = options

    def of(self, e: Floats) -> Floats:
        """The metric of each draw."""
        f, w = self.points.score, self.points.weight
        means = np.clip(f + e / w, 0.0, 1.0)
        return np.array([float(self.function(y, f, sample_weight=w, **self.options)) for y in means])
