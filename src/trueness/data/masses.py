"""Masses along a scale (score or logit), from rows or from the cells of a summary: moments on a grid, or points."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Protocol, Self

import numpy as np

from trueness._types import Floats
from trueness.data.scales import LOGIT_CLIP, UNIT, Scale, Window
from trueness.engines.arrays.grid import ORDERS, collapse, grid_moments
from trueness.inputs.rows import Arrays
from trueness.summary.summary import Summary

_BELOW_ONE = 1 - 2.0**-53

Kind = Literal["residual", "outcome", "counter"]  # w(y − f), wy, w(1 − y)


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

    def tables(self, window: Window, cells: int, finest: float) -> list[Floats]:
        """For each kind the moments [p, cell] on a grid over the window, for kernels of at least the `finest` width."""

    def points(self) -> tuple[Floats, list[Floats]]:
        """Positions of the distinct scores in order, and the mass of each kind there."""

    @property
    def pointwise(self) -> bool:
        """Whether `points` tells everything: positions of rows, not means of cells."""

    def at_resolution(self, bandwidth: float) -> Self:
        """The same where a kernel's width is known to be no less than this."""


class RowSource(Protocol):
    """Rows whose masses are wanted."""

    @property
    def arrays(self) -> Arrays:
        """The usable rows."""

    @property
    def n(self) -> int:
        """How many these are."""

    @property
    def total(self) -> float:
        """W, the sum of the weights."""

    def residual_moments(self, cells: int) -> Floats | None:
        """Moments [p, cell] of y − f on so many cells of [0, 1], where no row need be looked at before; else None."""


@dataclass(frozen=True)
class RowMasses:
    """Masses of rows."""

    source: RowSource
    scale: Scale
    kinds: tuple[Kind, ...]
    pointwise = True

    @property
    def arrays(self) -> Arrays:
        """The rows, checked."""
        return self.source.arrays

    def at_resolution(self, bandwidth: float) -> Self:
        """Rows are as fine as can be."""
        return self

    @cached_property
    def span(self) -> tuple[float, float]:
        """Smallest and largest position."""
        f = self.arrays.f
        low, high = self.scale.position(np.array([f.min(), f.max()]))
        return float(low), float(high)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.source.n

    def _mass(self, kind: Kind, a: int, b: int) -> Floats:
        """Masses of rows a…b, not yet divided by the total weight."""
        rows = self.arrays
        if kind == "residual":
            e: Floats = rows.y[a:b] - rows.f[a:b]
            return e if rows.w is None else rows.w[a:b] * e
        mass = rows.y[a:b] if kind == "outcome" else 1 - rows.y[a:b]
        return np.asarray(mass if rows.w is None else rows.w[a:b] * mass, dtype=np.float64)

    def tables(self, window: Window, cells: int, finest: float) -> list[Floats]:
        """For each kind the moments [p, cell] on a grid over the window."""
        total = self.source.total
        if self.kinds == ("residual",) and self.scale.reflects and window == UNIT:
            moments = self.source.residual_moments(cells)
            if moments is not None:
                return [moments / total]
        f = self.arrays.f

        def place(a: int, b: int) -> Floats:
            x = self.scale.position(f[a:b])
            return x if window == UNIT else (x - window.low) / window.length

        def chunk(a: int, b: int) -> tuple[Floats, tuple[Floats, ...]]:
            return place(a, b), tuple(self._mass(kind, a, b) for kind in self.kinds)

        def by_label(a: int, b: int) -> tuple[Floats, tuple[Floats, ...]]:
            return (np.minimum(place(a, b), _BELOW_ONE) + rows.y[a:b]) / 2, (np.ones(b - a),)

        rows = self.arrays
        if self.kinds == ("outcome", "counter") and rows.w is None and not rows.soft:
            # Each row counts in one of the two tables: as one mass on a grid of twice the length.
            (both,) = grid_moments(len(f), by_label, 2 * cells)
            tables = [both[:, cells:], both[:, :cells]]
        else:
            tables = grid_moments(len(f), chunk, cells)
        return [table / total for table in tables]

    def points(self) -> tuple[Floats, list[Floats]]:
        """Positions of the distinct scores in order, and the mass of each kind there."""
        data = self.arrays
        runs = collapse(data.f, data.y, data.w, soft=data.soft)
        total = self.source.total
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
    pointwise = False

    def at_resolution(self, bandwidth: float) -> Self:
        """Once the bandwidth is known, cells up to that width count with their moments, not as points."""
        return self if self.scale.reflects and not self.merged else replace(self, resolution=bandwidth)

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
            parts: tuple[Floats, ...] = (m.e, m.e1, m.e2)
        elif kind == "outcome":  # wy = wf + w(y − f); the third central moment of the scores within a cell is left out
            parts = (m.weight * m.mean + m.e, m.spread + m.e1, m.mean * m.spread + m.e2)
        else:
            parts = (m.weight * (1 - m.mean) - m.e, -m.spread - m.e1, (1 - m.mean) * m.spread - m.e2)
        return parts[0] / total, parts[1] / total, parts[2] / total

    def tables(self, window: Window, cells: int, finest: float) -> list[Floats]:
        """For each kind the moments [p, cell] on a grid over the window."""
        per_unit = cells / window.length
        t = (self._positions - window.low) * per_unit
        k = np.clip(t.astype(np.int64), 0, cells - 1)
        d = t - k - 0.5
        slope, bend = self._derivatives(max(finest, self.resolution))
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
