"""SmoothECE of many draws at once, and limits for its true value."""

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from trueness._types import Floats
from trueness.data.points import Points
from trueness.data.scales import Scale, Window
from trueness.errors import InputError
from trueness.metrics.drawing import Noise, Norm, order_statistic
from trueness.smoothing.cosine import smoothed_variance
from trueness.smoothing.draws import MANY_NODES, MOST_STEPS, STEPS, DrawGrid, nodes_for

# Of draws: bandwidths of the ladder, kernel widths (and the same in frequency) beyond which a kernel is below 1e-6, rungs
# looked at between two, cells of a first look and halvings of its range.
BANDWIDTHS = 24
_REACH = 5.3
_BETWEEN = 8
_CELLS, _HALVINGS = 4096, 14


class _Band(NamedTuple):
    """Bandwidths that share one window, and the points there."""

    window: Window
    places: range  # in the ladder
    grid: DrawGrid


class SmoothNorm(Norm):
    """SmoothECE of draws at a bandwidth, or its fixed point from a ladder of bandwidths that depends on the scores alone."""

    def __init__(self, points: Points, scale: Scale, bandwidth: float | None, ladder: Floats | None = None) -> None:
        super().__init__(points)
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
        finest = STEPS * self._window(0.0).length / MOST_STEPS
        self.clipped = bool(self.ladder[0] < finest)
        if self.clipped and bandwidth is not None:
            raise InputError(
                f"bandwidth: {bandwidth:g} is too small to be simulated on these data. Pass at least {finest:.2g}."
            )
        if self.clipped:
            self.ladder = np.geomspace(min(finest, 0.5), 1.0, BANDWIDTHS)

    @cached_property
    def bands(self) -> list[_Band]:
        """Windows and grids, made when first drawn."""
        return list(self._bands())

    def _window(self, bandwidth: float) -> Window:
        low, high = float(self.x[0]) - _REACH * bandwidth, float(self.x[-1]) + _REACH * bandwidth
        if self.reflects:
            low, high = max(low, 0.0), min(high, 1.0)
            return Window(low, high - low if high > low else 1.0)
        return Window(low, max(high - low, 1e-300))

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
            place = np.clip((self.x - window.low) / window.length, 0.0, 1.0)
            grid = DrawGrid(place, float(self.ladder[first]) / window.length, self.total, _REACH)
            yield _Band(window, range(first, last), grid)
            first = last

    def _typical(self, variance: Floats) -> float:
        """Where √(2/π)·∫ of the standard deviation of the smoothed noise equals its bandwidth."""
        if not variance.any():
            return 1.0
        low, high = 1e-7, 1.0
        before = np.append(0.0, np.cumsum(variance))
        for _ in range(_HALVINGS):
            sigma = float(np.sqrt(low * high))
            window = self._window(sigma)
            edges = window.low + window.length * np.arange(1, _CELLS) / _CELLS
            mass = np.diff(before[np.concatenate([[0], np.searchsorted(self.x, edges), [len(self.x)]])])
            g = smoothed_variance(mass, self.total**2, sigma / window.length)
            if np.sqrt(2 / np.pi) * float(np.sqrt(g).mean()) > sigma:
                low = sigma
            else:
                high = sigma
        return float(np.sqrt(low * high))

    def noise(self, e: Floats, nodes: int | None = None) -> Floats:
        """∫|g_σ| of each draw for every bandwidth of the ladder, looked at on so many nodes a bandwidth."""
        nodes = nodes_for(self.points.n) if nodes is None else nodes
        norms = np.empty((len(e), len(self.ladder)))
        for band in self.bands:
            a = band.grid.coefficients(e)
            for place in band.places:
                norms[:, place] = band.grid.norms(a, float(self.ladder[place]) / band.window.length, nodes)
        return norms

    def of(self, e: Floats) -> Floats:
        """The metric of each draw."""
        return self.metric_of(self.noise(e))

    def metric_of(self, norms: Floats) -> Floats:
        """The metric from what `noise` gave: where a curve equals the bandwidth. Between rungs a curve is nearly a power."""
        if self.fixed:
            return norms[:, 0]
        below = norms <= self.ladder  # from some rung on: normss fall and the ladder rises
        j = np.argmax(below, axis=1)
        i = np.maximum(j - 1, 0)
        rows = np.arange(len(norms))
        with np.errstate(divide="ignore", invalid="ignore"):
            gap0, gap1 = (np.log(norms[rows, rung] / self.ladder[rung]) for rung in (i, j))
            share = gap0 / (gap0 - gap1)
            between = self.ladder[i] * (self.ladder[j] / self.ladder[i]) ** share
            # Below the ladder the curve hardly moves, unless the ladder had to end too early: then it goes on as a power.
            slope = np.log(norms[:, 1] / norms[:, 0]) / np.log(self.ladder[1] / self.ladder[0])
            below_all = self.ladder[0] * (norms[:, 0] / self.ladder[0]) ** (1 / (1 - slope)) if self.clipped else norms[:, 0]
        # At the ladder's end no curve exceeds 1.
        return np.where(
            j == 0, np.where(norms[:, 0] > 0, below_all, 0.0), np.where(np.isfinite(between), between, self.ladder[i])
        )

    def limits(self, value: float, high: float, noise: Noise, alpha: float) -> tuple[float, float]:
        """The lower limit is the best of all bandwidths, each bounded by what is left there and by itself."""
        if self.fixed:
            return super().limits(value, high, noise, alpha)
        bound = np.max([_simultaneous(curves, alpha / 2) for curves in noise.kinds], axis=0)
        # Between two rungs the noise is no more than at the lower one, since norms fall with the bandwidth.
        fine = np.unique(np.concatenate([np.geomspace(a, b, _BETWEEN + 1) for a, b in pairwise(self.ladder)]))
        curve = SmoothNorm(self.points, self.scale, None, ladder=fine).noise(self.points.e[None, :], nodes=MANY_NODES)[0]
        rung = np.searchsorted(self.ladder, fine * (1 + 1e-12), side="right") - 1
        return float(min(np.max(np.minimum(fine, curve - bound[rung])), value)), high


def _simultaneous(curves: Floats, tail: float) -> Floats:
    """A bound on the noise at every bandwidth that holds for all of them together."""
    mean, spread = curves.mean(axis=0), curves.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    bound: Floats = mean + order_statistic(((curves - mean) / spread).max(axis=1), tail) * spread
    return bound
