"""Masses smoothed by a Gaussian kernel at any bandwidth, and the integral of what comes out."""

from collections.abc import Callable

import numpy as np

from trueness._types import Floats
from trueness.data.masses import Masses
from trueness.data.scales import UNIT, Window
from trueness.engines.arrays.grid import grid_moments
from trueness.errors import InputError
from trueness.smoothing.cosine import CELLS_PER_BANDWIDTH, cosine_coefficients, intervals_for, rough_size, smoothed
from trueness.smoothing.integral import absolute_integral

MAX_CELLS = 1 << 22
MARGIN = 9.0  # bandwidths beyond which a Gaussian tail is below float64's resolution
_LINK_SCALE = 0.5  # the sigmoid bends over a unit of logit; a wide kernel must not decide the steps alone

Link = Callable[[Floats], tuple[Floats, Floats, Floats, Floats]]  # ρ of the position, 1 − ρ, and ρ's first two derivatives


def sigmoid(u: Floats) -> Floats:
    """ρ(u) = 1/(1 + exp(−u)), with full relative accuracy at either end."""
    small = np.exp(-np.abs(u))
    p: Floats = np.where(u < 0, small, 1.0) / (1 + small)
    return p


def sigmoid_link(u: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The sigmoid, for `Smoothed`."""
    p, rest = sigmoid(u), sigmoid(-u)
    slope = p * rest
    return p, rest, slope, slope * (rest - p)


def identity_link(t: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The position itself, for `Smoothed`."""
    return t, 1 - t, np.ones_like(t), np.zeros_like(t)


def grid_cells(window: Window, bandwidth: float) -> int:
    """Grid cells that a bandwidth needs on a window, a power of two."""
    cells = CELLS_PER_BANDWIDTH * window.length / bandwidth
    if cells > MAX_CELLS:
        raise InputError(
            f"bandwidth: {bandwidth:g} is too small for these data. "
            f"Pass at least {CELLS_PER_BANDWIDTH * window.length / MAX_CELLS:.2g}."
        )
    return 1 << max(8, int(np.ceil(np.log2(cells))))


def window_for(masses: Masses, bandwidth: float) -> Window:
    """The window that holds all positions and, off the probability scale, the kernel's tails."""
    if masses.scale.reflects:
        return UNIT
    low, high = masses.span
    return Window(low - MARGIN * bandwidth, (high - low) + 2 * MARGIN * bandwidth)


def smoothed_masses(masses: Masses, window: Window, cells: int, link: Link | None = None) -> "Smoothed":
    """Masses on a grid over the window, ready to be smoothed."""
    return Smoothed(masses.tables(window, cells, CELLS_PER_BANDWIDTH * window.length / cells), window, link)


class Smoothed:
    """Coefficients on one window, good for every bandwidth of at least `finest`."""

    def __init__(self, tables: list[Floats], window: Window, link: Link | None = None) -> None:
        self.window = window
        self.link = link
        self.coefficients = [cosine_coefficients(table) for table in tables]
        self.finest = CELLS_PER_BANDWIDTH * window.length / tables[0].shape[1]

    @property
    def any(self) -> bool:
        """Whether the first kind is not nil everywhere."""
        return bool(self.coefficients[0].any())

    def integral(self, bandwidth: float) -> float:
        """∫|A| of the smoothed first kind A; with a link ρ, ∫|(1 − ρ)A − ρB| with B the smoothed second kind.

        With outcomes and counter-outcomes that is ∫|Σ w(y − ρ)K|, without the cancellation where ρ is close to 1.
        """
        length = self.window.length
        sigma = bandwidth / length
        # What a link is for is promised to 1e-6, the plain integral to 1e-8.
        intervals = intervals_for(sigma) if self.link is None else intervals_for(min(sigma, _LINK_SCALE / length), nodes=8)
        step = 1 / intervals
        q, q1, q2 = smoothed(self.coefficients[0], sigma, intervals)
        if self.link is not None:
            b, b1, b2 = smoothed(self.coefficients[1], sigma, intervals)
            r, rest, r1, r2 = self.link(np.asarray(self.window.low + length * step * np.arange(len(q)), dtype=np.float64))
            r1, r2 = r1 * length, r2 * length**2
            q2 = rest * q2 - r * b2 - 2 * r1 * (q1 + b1) - r2 * (q + b)
            q1 = rest * q1 - r * b1 - r1 * (q + b)
            q = rest * q - r * b
        return absolute_integral(q, q1, q2, step)

    def rough_integral(self, bandwidth: float) -> float:
        """∫|A| of the smoothed first kind to some thousandths, at a few nodes a bandwidth."""
        sigma = bandwidth / self.window.length
        return rough_size(self.coefficients[0], sigma, intervals_for(sigma, nodes=3))


def scattered_integral(masses: Masses, bandwidth: float, link: Link | None = None) -> float:
    """The integral at a bandwidth far below the distance of most scores, cluster by cluster.

    Scores further apart than two margins do not meet; each cluster has a short window of its own.
    """
    x, kinds = masses.points()
    cuts = np.flatnonzero(np.diff(x) > 2 * MARGIN * bandwidth) + 1
    starts, stops = np.concatenate([[0], cuts]), np.concatenate([cuts, [len(x)]])
    alone = (stops - starts == 1) if link is None else np.zeros(len(starts), dtype=bool)
    total = float(np.abs(kinds[0][starts[alone]]).sum())
    for start, stop in zip(starts[~alone], stops[~alone], strict=True):
        low, high = x[start] - MARGIN * bandwidth, x[stop - 1] + MARGIN * bandwidth
        if masses.scale.reflects:
            low, high = max(low, 0.0), min(high, 1.0)
        window = Window(low, high - low)
        place = (x[start:stop] - low) / (high - low)
        tables = grid_moments(stop - start, _chunks(place, [kind[start:stop] for kind in kinds]), grid_cells(window, bandwidth))
        total += Smoothed(tables, window, link).integral(bandwidth)
    return total


def _chunks(x: Floats, kinds: list[Floats]) -> Callable[[int, int], tuple[Floats, tuple[Floats, ...]]]:
    return lambda a, b: (x[a:b], tuple(kind[a:b] for kind in kinds))
