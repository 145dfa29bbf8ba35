"""How the sums of points are drawn: outcomes as if every prediction were right, or residuals with random signs.

What is known of the rows decides how: counts of hard labels, rows with weights or soft labels, or the sums of cells alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from trueness._types import Array, Floats, Generator, Ints
from trueness.data.binomials import Bent, Binomials, Draws, Signs, coin_sums, happened, single

FEW_POINTS = 512  # that are not put together, and whose counts are whole numbers in every draw
_PLENTY, _ENOUGH = 1000.0, 8.0  # rows of equal weight, say, whose sum is about normal by itself, and among many such sums


class Sampler(Protocol):
    """Draws of Σw(y − f) for each point; a draw is a row of the result."""

    @property
    def width(self) -> int:
        """Random numbers for one draw."""

    def null(self, rng: Generator, draws: int) -> Draws:
        """Outcomes as if every prediction were right."""

    def flips(self, rng: Generator, draws: int) -> Draws:
        """Residuals with random signs."""

    def merged(self, starts: Ints) -> "Sampler":
        """The same for groups of neighbouring points."""


def is_precise(points: int) -> bool:
    """Whether points are so few that each count is drawn as it is: draws may then equal what was observed."""
    return points <= FEW_POINTS


@dataclass(frozen=True, eq=False)
class CountSampler:
    """Hard labels without weights: rows with outcome 0 and 1, and the sums of their scores."""

    zeros: Floats
    ones: Floats
    score_of_zeros: Floats
    score_of_ones: Floats

    @property
    def width(self) -> int:
        return len(self.zeros)

    @cached_property
    def _events(self) -> Binomials:
        n = self.zeros + self.ones
        chance = np.clip((self.score_of_zeros + self.score_of_ones) / n, 0.0, 1.0)
        return Binomials(n, chance, precise=is_precise(len(n)))

    def null(self, rng: Generator, draws: int) -> Draws:
        return self._events.drawn(rng, draws)

    @cached_property
    def _signs(self) -> Signs:
        labels = ((self.ones, self.ones - self.score_of_ones), (self.zeros, self.score_of_zeros))
        residual = [np.divide(sums, count, out=np.zeros(len(count)), where=count > 0) for count, sums in labels]
        return Signs([count for count, _ in labels], residual, precise=is_precise(len(self.ones)))

    def flips(self, rng: Generator, draws: int) -> Draws:
        return self._signs.drawn(rng, draws)

    def merged(self, starts: Ints) -> "Sampler":
        columns = (self.zeros, self.ones, self.score_of_zeros, self.score_of_ones)
        return CountSampler(*(np.add.reduceat(column, starts) for column in columns))


@dataclass(frozen=True, eq=False)
class RowSampler:
    """Rows with weights or soft labels, in score order; a point is a stretch of them."""

    f: Floats
    w: Floats
    e: Floats  # w(y − f)
    starts: Ints

    @property
    def width(self) -> int:
        return max(len(self._outcomes.alone), len(self._signs.alone))

    @cached_property
    def _outcomes(self) -> "_Parts":
        variance = self.w**2 * self.f * (1 - self.f)
        return _parts(self.starts, variance, variance, (self.w * self.f, self.w))

    @cached_property
    def _signs(self) -> "_Parts":
        return _parts(self.starts, self.e**2, self.e**2)

    def null(self, rng: Generator, draws: int) -> Draws:
        f, w = self.f[self._outcomes.alone], single(self.w[self._outcomes.alone])
        return self._outcomes.drawn(rng, draws, lambda: (happened(rng, f, draws) - single(f)) * w)

    def flips(self, rng: Generator, draws: int) -> Draws:
        e = self.e[self._signs.alone]
        return self._signs.drawn(rng, draws, lambda: coin_sums(rng, np.ones(len(e), dtype=np.int64), e, draws))

    def merged(self, starts: Ints) -> "RowSampler":
        return replace(self, starts=self.starts[starts])


@dataclass(frozen=True, eq=False)
class LabelSampler:
    """Soft labels, in score order: some rows are drawn as events, of the others residuals get random signs."""

    whole: RowSampler
    as_events: RowSampler
    by_signs: RowSampler

    @classmethod
    def of(cls, whole: RowSampler, events: Floats) -> "LabelSampler":
        """Rows, and the share of f(1 − f) with which each is drawn as an event."""
        nothing = np.zeros(len(whole.f))
        as_events = replace(whole, w=whole.w * np.sqrt(events), e=nothing)
        return cls(whole, as_events, replace(whole, w=nothing, e=np.where(events > 0, 0.0, whole.e)))

    @property
    def width(self) -> int:
        return max(self.whole.width, self.as_events.width)

    def null(self, rng: Generator, draws: int) -> Draws:
        sums = self.as_events.null(rng, draws)
        sums += self.by_signs.flips(rng, draws)
        return sums

    def flips(self, rng: Generator, draws: int) -> Draws:
        return self.whole.flips(rng, draws)

    def merged(self, starts: Ints) -> "Sampler":
        return LabelSampler(*(part.merged(starts) for part in (self.whole, self.as_events, self.by_signs)))


class _Alike(NamedTuple):
    """Sums of outcomes that are alike: so many, each of this weight."""

    events: Binomials
    weight: Floats

    def drawn(self, rng: Generator, draws: int) -> Draws:
        return self.events.drawn(rng, draws) * single(self.weight)


class _Parts(NamedTuple):
    """Members of a point that stand out among its others are drawn one by one; the others together, by their moments."""

    alone: Ints
    starts: Ints  # of points among those that stand out
    points: Ints  # that have such
    rest: _Alike | Bent

    def drawn(self, rng: Generator, draws: int, one_by_one: Callable[[], Draws]) -> Draws:
        sums = self.rest.drawn(rng, draws)
        if len(self.alone):
            sums[:, self.points] += np.add.reduceat(one_by_one(), self.starts, axis=1)
        return sums


def _parts(starts: Ints, variance: Floats, of_a_row: Floats, sums: tuple[Floats, Floats] | None = None) -> _Parts:
    """By the variance of each member: one stands out while a row of it has more than an nth of that of all that do not.

    The rest is normal; with `sums`, Σwf and Σw of each member, it is outcomes alike.
    """
    precise = is_precise(len(starts))
    share = 1 / (_PLENTY if precise else _ENOUGH)
    point = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(variance))))
    alone = np.zeros(len(variance), dtype=bool)

    def rest_of(column: Floats) -> Floats:
        return np.asarray(np.add.reduceat(np.where(alone, 0.0, column), starts))

    while (more := ~alone & (of_a_row > rest_of(variance)[point] * share)).any():
        alone |= more
    members, left = np.flatnonzero(alone), rest_of(variance)
    points, first = np.unique(point[members], return_index=True)
    if sums is None:
        return _Parts(members, first, points, Bent(np.sqrt(left), np.zeros(len(left)), precise))
    return _Parts(members, first, points, _alike(left, rest_of(sums[0]), rest_of(sums[1]), precise=precise))


def _alike(variance: Floats, expected: Floats, weight: Floats, *, precise: bool) -> _Alike:
    """As many outcomes of equal weight as have this variance: n of weight Σw/n have p(1 − p)(Σw)²/n."""
    p = np.clip(np.divide(expected, weight, out=np.zeros(len(weight)), where=weight > 0), 0.0, 1.0)
    chance = np.where(variance > 0, p * (1 - p), 0.0)
    there = chance > 0
    n = np.rint(np.divide(weight * (weight * chance), variance, out=np.ones(len(p)), where=there)).clip(1.0)
    unit = np.sqrt(np.divide(variance, n * chance, out=np.zeros(len(p)), where=there))
    return _Alike(Binomials(n, np.where(there, p, 0.0), precise=precise), unit)


class GaussianSampler(NamedTuple):
    """Cells of a soft summary: sums of many rows, of which only the variance is known."""

    variance: Floats  # Σw²Var(y | f)
    squares: Floats  # Σw²(y − f)²

    @property
    def width(self) -> int:
        return len(self.squares)

    def _drawn(self, rng: Generator, draws: int, variance: Floats) -> Array:
        return Bent(np.sqrt(variance), np.zeros(self.width), is_precise(self.width)).drawn(rng, draws)

    def null(self, rng: Generator, draws: int) -> Draws:
        return self._drawn(rng, draws, self.variance)

    def flips(self, rng: Generator, draws: int) -> Draws:
        return self._drawn(rng, draws, self.squares)

    def merged(self, starts: Ints) -> "GaussianSampler":
        return GaussianSampler(*(np.add.reduceat(column, starts) for column in self))


@dataclass(frozen=True, eq=False)
class CellSampler:
    """Cells of a weighted summary: k rows of weight u and one of weight v < u, which have the sums that are known.

    One or two rows, and rows of equal weight, are drawn as they are. Mean and variance are right for any, and no mean outcome
    of few rows lies outside [0, 1], where a normal number would put that of a single row. A point is a stretch of cells.
    """

    binomial: Floats  # Σw²f(1 − f)
    weight: Floats
    expected: Floats  # Σwf
    count: Floats
    signs: GaussianSampler
    starts: Ints

    @cached_property
    def _effective(self) -> Floats:
        """W²/Σw² of each cell: about as many as rows at most."""
        f = np.clip(self.expected / self.weight, 0.0, 1.0)
        chance = f * (1 - f)
        likeness = np.divide(self.binomial / self.weight / self.weight, chance, out=np.ones(len(f)), where=chance > 0)
        return np.asarray(1 / np.clip(likeness, 0.5 / self.count, 1.0))

    @cached_property
    def _outcomes(self) -> _Parts:
        return _parts(self.starts, self.binomial, self.binomial / self._effective, (self.expected, self.weight))

    @cached_property
    def _likened(self) -> tuple[_Alike, Ints, Floats, Floats]:
        """Of the cells that are drawn by themselves: their rows of weight u, those that have a v, v and its chance."""
        effective, total, expected = (column[self._outcomes.alone] for column in (self._effective, self.weight, self.expected))
        f = np.clip(expected / total, 0.0, 1.0)
        k = np.floor(effective)
        u = total * (1 + np.sqrt(np.maximum((k + 1) / effective - 1, 0.0) / k)) / (k + 1)
        v = total - k * u
        uneven = np.flatnonzero(v > 1e-9 * u)
        return _Alike(Binomials(k, f, precise=is_precise(len(self.starts))), u), uneven, v[uneven], f[uneven]

    @property
    def width(self) -> int:
        return 2 * len(self._outcomes.alone)

    def _cells(self, rng: Generator, draws: int) -> Draws:
        alike, uneven, v, p = self._likened
        sums = alike.drawn(rng, draws)
        sums[:, uneven] += (happened(rng, p, draws) - single(p)) * single(v)
        return sums

    def null(self, rng: Generator, draws: int) -> Draws:
        return self._outcomes.drawn(rng, draws, lambda: self._cells(rng, draws))

    def flips(self, rng: Generator, draws: int) -> Draws:
        return self.signs.flips(rng, draws)

    def merged(self, starts: Ints) -> "Sampler":
        return replace(self, signs=self.signs.merged(starts), starts=self.starts[starts])
