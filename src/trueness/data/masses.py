"""Masses along a scale (score or logit), from rows or from the cells of a summary, smoothed and integrated."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from trueness._types import Floats
from trueness.data.sample import ORDERS, RowData, collapse, grid_moments
from trueness.errors import InputError
from trueness.smoothing.cosine import (
    CELLS_PER_BANDWIDTH,
    absolute_integral,
    cosine_coefficients,
    intervals_for,
    smoothed,
)
from trueness.summary.summary import Summary

MAX_CELLS = 1 << 22
MARGIN = 9.0  # bandwidths beyond which a Gaussian tail is below float64's resolution
LOGIT_CLIP = 1e-10
_BELOW_ONE = 1 - 2.0**-53
_LINK_SCALE = 0.5  # the sigmoid bends over a unit of logit; a wide kernel must not decide the steps alone

Kind = Literal["residual", "outcome", "counter"]  # w(y − f), wy, w(1 − y)
Link = Callable[[Floats], tuple[Floats, Floats, Floats, Floats]]  # ρ of the position, 1 − ρ, and ρ's first two derivatives


def logit(f: Floats) -> Floats:
    """ln(f/(1−f)), f clipped to [1e-10, 1 − 1e-10]."""
    clipped = np.clip(f, LOGIT_CLIP, 1 - LOGIT_CLIP)
    return np.log(clipped) - np.log1p(-clipped)


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


class Scale(NamedTuple):
    """A map from scores to positions; the probability scale reflects at its ends 0 and 1."""

    name: str
    position: Callable[[Floats], Floats]

    @property
    def reflects(self) -> bool:
        """Whether the kernel is reflected at 0 and 1."""
        return self.name == "probability"


PROBABILITY = Scale("probability", lambda f: f)
LOGIT = Scale("logit", logit)


class Window(NamedTuple):
    """An interval of positions, mapped to [0, 1] for the cosine basis."""

    low: float
    length: float

    def cells(self, bandwidth: float) -> int:
        """Grid cells that a bandwidth needs, a power of two."""
        wanted = CELLS_PER_BANDWIDTH * self.length / bandwidth
        if wanted > MAX_CELLS:
            raise InputError(
                f"bandwidth: {bandwidth:g} is too small for these data. "
                f"Pass at least {CELLS_PER_BANDWIDTH * self.length / MAX_CELLS:.2g}."
            )
        return 1 << max(8, int(np.ceil(np.log2(wanted))))


class Masses(Protocol):
    """Masses (each kind divided by the total weight) at positions on a scale."""

    @property
    def scale(self) -> Scale:
        """Where the positions lie."""

    @property
    def span(self) -> tuple[float, float]:
        """Smallest and largest position."""

    @property
    def rows(self) -> int:
        """How many rows there are."""

    def tables(self, window: Window, cells: int) -> list[Floats]:
        """For each kind the moments [p, cell] on a grid over the window."""

    def points(self) -> tuple[Floats, list[Floats]]:
        """Positions of the distinct scores in order, and the mass of each kind there."""


def window_for(masses: Masses, bandwidth: float) -> Window:
    """The window that holds all positions and, off the probability scale, the kernel's tails."""
    if masses.scale.reflects:
        return Window(0.0, 1.0)
    low, high = masses.span
    return Window(low - MARGIN * bandwidth, (high - low) + 2 * MARGIN * bandwidth)


class Smoothed:
    """Coefficients on one window, good for every bandwidth of at least `finest`."""

    def __init__(self, tables: list[Floats], window: Window, link: Link | None = None) -> None:
        self.window = window
        self.link = link
        self.coefficients = [cosine_coefficients(table) for table in tables]
        self.finest = CELLS_PER_BANDWIDTH * window.length / tables[0].shape[1]

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
        at = (x[start:stop] - low) / (high - low)
        tables = grid_moments(stop - start, _held(at, [kind[start:stop] for kind in kinds]), window.cells(bandwidth))
        total += Smoothed(tables, window, link).integral(bandwidth)
    return total


def _held(x: Floats, kinds: list[Floats]) -> Callable[[int, int], tuple[Floats, tuple[Floats, ...]]]:
    return lambda a, b: (x[a:b], tuple(kind[a:b] for kind in kinds))


@dataclass(frozen=True)
class RowMasses:
    """Masses of rows."""

    data: RowData
    scale: Scale
    kinds: tuple[Kind, ...]

    @cached_property
    def span(self) -> tuple[float, float]:
        """Smallest and largest position."""
        f = self.data.arrays.f
        low, high = self.scale.position(np.array([f.min(), f.max()]))
        return float(low), float(high)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.data.arrays.f)

    def _mass(self, kind: Kind, a: int, b: int) -> Floats:
        """Masses of rows a…b, not yet divided by the total weight."""
        rows = self.data.arrays
        if kind == "residual":
            return self.data.residuals(a, b)
        mass = rows.y[a:b] if kind == "outcome" else 1 - rows.y[a:b]
        return np.asarray(mass if rows.w is None else rows.w[a:b] * mass, dtype=np.float64)

    def tables(self, window: Window, cells: int) -> list[Floats]:
        """For each kind the moments [p, cell] on a grid over the window."""
        f = self.data.arrays.f

        def place(a: int, b: int) -> Floats:
            x = self.scale.position(f[a:b])
            return x if window.length == 1.0 and window.low == 0.0 else (x - window.low) / window.length

        def chunk(a: int, b: int) -> tuple[Floats, tuple[Floats, ...]]:
            return place(a, b), tuple(self._mass(kind, a, b) for kind in self.kinds)

        def by_label(a: int, b: int) -> tuple[Floats, tuple[Floats, ...]]:
            return (np.minimum(place(a, b), _BELOW_ONE) + rows.y[a:b]) / 2, (np.ones(b - a),)

        rows = self.data.arrays
        if self.kinds == ("outcome", "counter") and rows.w is None and not rows.soft:
            # Each row counts in one of the two tables: as one mass on a grid of twice the length.
            (both,) = grid_moments(len(f), by_label, 2 * cells)
            tables = [both[:, cells:], both[:, :cells]]
        else:
            tables = grid_moments(len(f), chunk, cells)
        return [table / self.data.total_weight for table in tables]

    def points(self) -> tuple[Floats, list[Floats]]:
        """Positions of the distinct scores in order, and the mass of each kind there."""
        data = self.data.arrays
        runs = collapse(data.f, data.y, data.w, soft=data.soft)
        total = self.data.total_weight
        ones = runs.weight * runs.f + runs.e
        kinds = {"residual": runs.e, "outcome": ones, "counter": runs.weight * (1 - runs.f) - runs.e}
        return self.scale.position(runs.f), [kinds[kind] / total for kind in self.kinds]


@dataclass(frozen=True)
class CellMasses:
    """Masses of a summary's cells: each cell stands for its rows at its mean score, with moments to second order."""

    summary: Summary
    scale: Scale
    kinds: tuple[Kind, ...]
    resolution: float = 0.0  # the bandwidth, where it is known to be larger than what a grid is made for

    @property
    def merged(self) -> bool:
        """Whether cells were merged, so that they may be wider than a bandwidth."""
        return bool(self.summary.ruler.starts)

    @cached_property
    def _positions(self) -> Floats:
        return self.scale.position(self.summary.moments.mean)

    @cached_property
    def span(self) -> tuple[float, float]:
        """Smallest and largest position."""
        return float(self._positions[0]), float(self._positions[-1])

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.summary.n

    def _central(self, kind: Kind) -> tuple[Floats, Floats, Floats]:
        """Σm, Σm(f − mean), Σm(f − mean)² of each cell."""
        m = self.summary.moments
        total = float(m.weight.sum())
        if kind == "residual":
            parts: tuple[Any, ...] = (m.e, m.e1, m.e2)
        elif kind == "outcome":  # wy = wf + w(y − f); the third central moment of the scores within a cell is left out
            parts = (m.weight * m.mean + m.e, m.spread + m.e1, m.mean * m.spread + m.e2)
        else:
            parts = (m.weight * (1 - m.mean) - m.e, -m.spread - m.e1, (1 - m.mean) * m.spread - m.e2)
        return parts[0] / total, parts[1] / total, parts[2] / total

    def tables(self, window: Window, cells: int) -> list[Floats]:
        """For each kind the moments [p, cell] on a grid over the window."""
        per_unit = cells / window.length
        t = (self._positions - window.low) * per_unit
        k = np.clip(t.astype(np.int64), 0, cells - 1)
        d = t - k - 0.5
        slope, bend = self._derivatives(max(window.length / cells * CELLS_PER_BANDWIDTH, self.resolution))
        tables = []
        for kind in self.kinds:
            m0, m1, m2 = self._central(kind)
            shift1 = (slope * m1 + 0.5 * bend * m2) * per_unit
            shift2 = slope * slope * m2 * per_unit**2
            table = np.empty((ORDERS, cells))
            mass, before, before2 = m0, np.zeros_like(m0), np.zeros_like(m0)  # m0·d^p, d^(p−1) and d^(p−2)
            for p in range(ORDERS):
                term = mass + p * before * shift1 + (p * (p - 1) / 2) * before2 * shift2
                table[p] = np.bincount(k, term, minlength=cells)
                mass, before, before2 = mass * d, before * d if p else np.ones_like(m0), before
            tables.append(table)
        return tables

    def _derivatives(self, bandwidth: float) -> tuple[Floats, Floats]:
        """First two derivatives of the position by the score; 0 (a point mass) where a cell is wider than the bandwidth."""
        f, unit = self.summary.moments.mean, self.summary.ruler.unit[self.summary.cells]
        if self.scale.reflects:
            # Cells of the whole ruler are always narrow enough; merged ones may not be.
            narrow = unit * bandwidth >= 1 if self.merged else np.ones(len(f), dtype=bool)
            return narrow.astype(np.float64), np.zeros_like(f)
        f = np.clip(f, LOGIT_CLIP, 1 - LOGIT_CLIP)
        slope = 1 / (f * (1 - f))
        narrow = slope <= unit * bandwidth
        return np.where(narrow, slope, 0), np.where(narrow, (2 * f - 1) * slope**2, 0)

    def points(self) -> tuple[Floats, list[Floats]]:
        """Mean positions of the cells, and the mass of each kind there."""
        return self._positions, [self._central(kind)[0] for kind in self.kinds]
