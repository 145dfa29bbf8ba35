"""SmoothECE of many draws at once, and limits for its true value."""

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from trueness._types import Array, Floats, Ints
from trueness.data.points import Points
from trueness.data.scales import Scale, Window
from trueness.errors import InputError
from trueness.metrics.drawing import IntegralNorm, Noise, Reach, Typical, order_statistic, raised
from trueness.smoothing.cosine import smoothed_variance
from trueness.smoothing.draws import MANY_NODES, MIRRORED_ROWS, MOST_STEPS, STEPS, DrawGrid, Rung, by_point, middles

# Of draws: bandwidths of the ladder, where it begins in terms of what draws have on average (few rows have less more often),
# bandwidths looked at between two, kernel widths beyond which a kernel is below 1e-6, cells of a first look and halvings of
# its range.
BANDWIDTHS = 24
_BEGINS, _BEGINS_FEW = 0.7, 0.5
_BETWEEN = 8
_MARGIN = 5.3
_CELLS, _HALVINGS = 4096, 14
_BEYOND_DOUBT = 4.5  # standard errors from which the smoothed residuals keep their sign, at any of many places


class Look(NamedTuple):
    """How closely smoothed draws are looked at: nodes a bandwidth, and frequencies up to `reach` over π bandwidths."""

    nodes: int
    reach: float


CLOSE = Look(MANY_NODES, _MARGIN)
FAIR = Look(4, _MARGIN)
# Noise of many points has a hundred thousandth of its power above π. A node a bandwidth then tells ∫|g| to some thousandths,
# right on average: far below what draws differ by.
ROUGH = Look(1, 3.2)


class _Band(NamedTuple):
    """Bandwidths that share one window, and the points there."""

    grid: DrawGrid
    rungs: list[Rung]
    window: Window
    sigmas: list[float]  # in terms of the window


class _Certain(NamedTuple):
    """Nodes where the sign of the truth is beyond doubt, and the sign."""

    node: Ints
    sign: Array


class SmoothedDraws:
    """Draws smoothed at ascending bandwidths."""

    def __init__(self, points: Points, scale: Scale, bandwidths: Floats, look: Look) -> None:
        x = scale.position(points.score)
        self._points, self._x = points, x
        self.bandwidths = bandwidths
        self._bands = list(_bands(x, points.total, scale, bandwidths, look))

    def norms(self, e: Array) -> Floats:
        """∫|g_σ| of each draw for every bandwidth."""
        masses = by_point(e)
        norms, place = np.empty((len(e), len(self.bandwidths))), 0
        for band in self._bands:
            a = band.grid.coefficients(masses)
            for rung in band.rungs:
                norms[:, place] = rung.norms(a)
                place += 1
        return norms

    def norms_and_signed(self, e: Array) -> Floats:
        """Beside them, for every bandwidth, the same where the smoothed draw keeps its sign wherever that is beyond doubt."""
        masses, count, place = by_point(e), len(self.bandwidths), 0
        norms = np.empty((len(e), 2 * count))
        for band in self._bands:
            a = band.grid.coefficients(masses)
            for rung in band.rungs:
                certain = self._certain[place]
                norms[:, place], norms[:, count + place] = rung.norms_and_signed(a, certain.node, certain.sign)
                place += 1
        return norms

    @cached_property
    def _certain(self) -> list[_Certain]:
        """At every bandwidth; nowhere where rows come in clusters, of which few may lie at a place."""
        found, points = [], self._points
        if points.clustered is not None:
            nowhere = np.zeros(0, dtype=np.int64)
            return [_Certain(nowhere, np.zeros(0))] * len(self.bandwidths)
        variance = np.maximum(points.squares, points.variance)
        for band in self._bands:
            a = band.grid.coefficients(by_point(points.e[None, :]))
            position = np.clip((self._x - band.window.low) / band.window.length, 0.0, 1.0)
            for rung, sigma in zip(band.rungs, band.sigmas, strict=True):
                g = rung.smoothed(a)[0]
                cells = max(_CELLS, int(np.ceil(8 / sigma)))
                mass = np.bincount(np.minimum((position * cells).astype(np.int64), cells - 1), variance, minlength=cells)
                error = np.sqrt(np.interp(middles(rung.cells), middles(cells), smoothed_variance(mass, points.total**2, sigma)))
                node = np.flatnonzero(np.abs(g) > _BEYOND_DOUBT * error)
                found.append(_Certain(node, np.sign(g[node])))
        return found


def _window(x: Floats, scale: Scale, bandwidth: float) -> Window:
    low, high = float(x[0]) - _MARGIN * bandwidth, float(x[-1]) + _MARGIN * bandwidth
    if scale.reflects:
        low, high = max(low, 0.0), min(high, 1.0)
        return Window(low, high - low if high > low else 1.0)
    return Window(low, max(high - low, 1e-300))


def _bands(x: Floats, total: float, scale: Scale, bandwidths: Floats, look: Look) -> Iterator[_Band]:
    """Few windows for many bandwidths: scores near 0, say, need the whole scale for wide kernels only."""
    lengths = [_window(x, scale, float(bandwidth)).length for bandwidth in bandwidths]
    first = 0
    for last in range(1, len(bandwidths) + 1):
        if last < len(bandwidths) and lengths[last] <= 1.6 * lengths[first]:
            continue
        window = _window(x, scale, float(bandwidths[last - 1]))
        place = np.clip((x - window.low) / window.length, 0.0, 1.0)
        sigmas = [float(bandwidth) / window.length for bandwidth in bandwidths[first:last]]
        grid = DrawGrid(place, sigmas[0], total, look.reach)
        yield _Band(grid, [grid.rung(sigma, look.nodes) for sigma in sigmas], window, sigmas)
        first = last


class SmoothNorm(IntegralNorm):
    """SmoothECE of draws at a bandwidth, or its fixed point from a ladder of bandwidths that depends on the scores alone."""

    def __init__(self, points: Points, scale: Scale, bandwidth: float | None) -> None:
        super().__init__(points)
        self.scale = scale
        self.x = scale.position(points.score)
        self.bandwidth = bandwidth
        self._finest = STEPS * _window(self.x, scale, 0.0).length / MOST_STEPS
        if bandwidth is not None and bandwidth < self._finest:
            raise InputError(
                f"bandwidth: {bandwidth:g} is too small to be simulated on these data. Pass at least {self._finest:.2g}."
            )

    @cached_property
    def ladder(self) -> Floats:
        """The bandwidths, ascending."""
        if self.bandwidth is not None:
            return np.array([self.bandwidth])
        begins = self._of_noise * (_BEGINS_FEW if self.points.n <= MIRRORED_ROWS else _BEGINS)
        return np.geomspace(min(max(begins, self._finest), 0.5), 1.0, BANDWIDTHS)

    @cached_property
    def _of_noise(self) -> float:
        """The bandwidth that equals what noise has there."""
        return self._typical(self.points.variance)

    @cached_property
    def _draws(self) -> SmoothedDraws:
        look = CLOSE if self.points.n <= MIRRORED_ROWS else FAIR if self.base.may_tie else ROUGH
        return SmoothedDraws(self.points, self.scale, self.ladder, look)

    def _curve(self, bandwidths: Floats) -> Floats:
        """∫|g_σ| of the residuals themselves at these bandwidths."""
        return np.asarray(SmoothedDraws(self.base, self.scale, bandwidths, CLOSE).norms(self.base.e[None, :])[0])

    def _typical(self, variance: Floats) -> float:
        """Where √(2/π)·∫ of the standard deviation of the smoothed noise equals its bandwidth."""
        if not variance.any():
            return 1.0
        low, high = 1e-7, 1.0
        before = np.append(0.0, np.cumsum(variance))
        for _ in range(_HALVINGS):
            sigma = float(np.sqrt(low * high))
            window = _window(self.x, self.scale, sigma)
            edges = window.low + window.length * np.arange(1, _CELLS) / _CELLS
            mass = np.diff(before[np.concatenate([[0], np.searchsorted(self.x, edges), [len(self.x)]])])
            g = smoothed_variance(mass, self.points.total**2, sigma / window.length)
            if np.sqrt(2 / np.pi) * float(np.sqrt(g).mean()) > sigma:
                low = sigma
            else:
                high = sigma
        return float(np.sqrt(low * high))

    def noise(self, e: Array) -> Floats:
        """∫|g_σ| of each draw for every bandwidth of the ladder, and the same with signs kept where they are certain."""
        return self._draws.norms_and_signed(e)

    def metric_of(self, norms: Floats) -> Floats:
        """The metric from what `noise` gave: where a curve equals the bandwidth. Between rungs a curve is nearly a power."""
        if self.bandwidth is not None:
            return norms[:, 0]
        norms = norms[:, : len(self.ladder)]
        below = norms <= self.ladder  # from some rung on: norms fall and the ladder rises
        j = np.argmax(below, axis=1)
        i = np.maximum(j - 1, 0)
        rows = np.arange(len(norms))
        with np.errstate(divide="ignore", invalid="ignore"):
            gap0, gap1 = (np.log(norms[rows, rung] / self.ladder[rung]) for rung in (i, j))
            share = gap0 / (gap0 - gap1)
            between = self.ladder[i] * (self.ladder[j] / self.ladder[i]) ** share
            slope = np.log(norms[:, 1] / norms[:, 0]) / np.log(self.ladder[1] / self.ladder[0])
            below_all = self.ladder[0] * (norms[:, 0] / self.ladder[0]) ** (1 / (1 - slope))  # it goes on as a power
        # At the ladder's end no curve exceeds 1.
        return np.where(
            j == 0, np.where(norms[:, 0] > 0, below_all, 0.0), np.where(np.isfinite(between), between, self.ladder[i])
        )

    def near(self, norms: Floats, value: float) -> Floats:
        """Those at the bandwidth nearest to the value, which is its own bandwidth."""
        return norms[:, int(np.argmin(np.abs(np.log(self.ladder / max(value, self.ladder[0])))))]

    def typical_noise(self, noise: Noise) -> Typical:
        """What noise alone has at the bandwidth."""
        return self._typical_at(noise, 0)

    def _typical_at(self, noise: Noise, rung: int) -> Typical:
        return Typical.of([norms[:, rung] for norms in noise.kinds])

    def highest(self, value: float, reach: Reach, noise: Noise | None) -> float:
        """The upper limit: the largest bandwidth σ that what is seen at σ leaves possible for ∫|g_σ| of the truth, its own."""
        if self.bandwidth is not None or noise is None:
            return super().highest(value, reach, noise)
        ladder = self.ladder
        for last in reversed(range(len(ladder))):
            if raised(float(self._seen[last]), reach, self._typical_at(noise, last)) >= ladder[last]:
                break
        else:
            return max(value, min(value + float(reach.of()), float(ladder[0])))
        if last == len(ladder) - 1:
            return 1.0
        # Noise falls with the bandwidth: that of the next rung adds no more than that in between.
        between = np.geomspace(ladder[last], ladder[last + 1], _BETWEEN + 1)
        limits = [raised(float(seen), reach, self._typical_at(noise, last + 1)) for seen in self._curve(between)[:-1]]
        possible = [min(float(b), limit) for a, b, limit in zip(between[:-1], between[1:], limits, strict=True) if limit >= a]
        return max([value, float(ladder[last]), *possible])

    def lowest(self, value: float, noise: Noise, alpha: float) -> float:
        """The lower limit is the best of all bandwidths, each bounded by what is left there and by itself.

        Bandwidths below the one that noise has by itself are left out: they tell less and would widen the bound for all.
        """
        count = len(self.ladder)
        if self.bandwidth is not None:
            return value - max(order_statistic(norms[:, -1], alpha / 2) for norms in noise.kinds)
        first = min(int(np.searchsorted(self.ladder, self._of_noise)), count - 1)
        ladder = self.ladder[first:]
        bound = np.max([_simultaneous(norms[:, count + first :], alpha / 2) for norms in noise.kinds], axis=0)
        left = self._seen[first:] - bound
        best = float(np.max(np.minimum(ladder, left)))
        # Between two rungs noise and curve are no more than at the lower one, since norms fall with the bandwidth.
        for j, (a, b) in enumerate(pairwise(ladder)):
            if min(b, left[j]) > best:
                between = np.geomspace(a, b, _BETWEEN + 1)[1:-1]
                best = max(best, float(np.max(np.minimum(between, self._curve(between) - bound[j]))))
        return min(best, value)

    @cached_property
    def _seen(self) -> Floats:
        """∫|g_σ| of the residuals themselves at every bandwidth of the ladder."""
        return self._curve(self.ladder)


def _simultaneous(curves: Floats, tail: float) -> Floats:
    """A bound on the noise at every bandwidth that holds for all of them together."""
    mean, spread = curves.mean(axis=0), curves.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    bound: Floats = mean + order_statistic(((curves - mean) / spread).max(axis=1), tail) * spread
    return bound
