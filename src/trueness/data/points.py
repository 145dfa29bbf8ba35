"""Scores with what a resampling of their outcomes needs: points in score order, and the two kinds of draws.

A point is a run of equal scores, a cell of a summary, or a group of neighbours. Drawn are sums Σw(y* − f) a point: outcomes
under calibration (y* ~ Bernoulli(f)), or residuals with random signs.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from trueness._types import Array, Floats, Ints
from trueness.data.binomials import Bent, Binomials, Draws, Signs, coin_sums, happened, single
from trueness.errors import InputError
from trueness.inputs.rows import Arrays
from trueness.summary.ruler import uniform_edges
from trueness.summary.summary import Summary

Generator = np.random.Generator

ROWS = 100_000  # up to here points are runs of equal scores, beyond it the cells of a summary
LARGE_JUMP = 0.3  # noise scales that one row may move the whole by; hard labels without weights stay below 0.15
FEW_SCORES = 100
FEW_EVENTS = 50  # below this the limit laws are not trusted
_GROUPS = 2048  # at least so many groups stand for more points than that
_MOST_GROUPS = 1 << 14
FEW_POINTS = 512  # that are not put together, and whose counts are whole numbers in every draw
_FEW_TO_TIE = 64
_PLENTY, _ENOUGH = 1000.0, 8.0  # rows of equal weight, say, whose sum is about normal by itself, and among many such sums
_ANGLES = 160  # groups a unit of arcsin √f: scores of one differ by 0.6 % of a row's standard deviation


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
class _Counts:
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
        return _Counts(*(np.add.reduceat(column, starts) for column in columns))


@dataclass(frozen=True, eq=False)
class _Rows:
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

    def merged(self, starts: Ints) -> "Sampler":
        return replace(self, starts=self.starts[starts])


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


class _Gaussian(NamedTuple):
    """Cells of a soft summary: sums of many rows, of which only the variance is known."""

    binomial: Floats  # Σw²f(1 − f)
    squares: Floats  # Σw²(y − f)²

    @property
    def width(self) -> int:
        return len(self.squares)

    def _drawn(self, rng: Generator, draws: int, variance: Floats) -> Array:
        return Bent(np.sqrt(variance), np.zeros(self.width), is_precise(self.width)).drawn(rng, draws)

    def null(self, rng: Generator, draws: int) -> Draws:
        return self._drawn(rng, draws, self.binomial)

    def flips(self, rng: Generator, draws: int) -> Draws:
        return self._drawn(rng, draws, self.squares)

    def merged(self, starts: Ints) -> "_Gaussian":
        return _Gaussian(*(np.add.reduceat(column, starts) for column in self))


@dataclass(frozen=True, eq=False)
class _Weighted:
    """Cells of a weighted summary: k rows of weight u and one of weight v < u, which have the sums that are known.

    One or two rows, and rows of equal weight, are drawn as they are. Mean and variance are right for any, and no mean outcome
    of few rows lies outside [0, 1], where a normal number would put that of a single row. A point is a stretch of cells.
    """

    binomial: Floats  # Σw²f(1 − f)
    weight: Floats
    expected: Floats  # Σwf
    count: Floats
    signs: _Gaussian
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Sums of each point, and its draws."""

    score: Floats  # mean, ascending
    weight: Floats  # Σw
    e: Floats  # Σw(y − f)
    binomial: Floats  # Σw²f(1 − f)
    squares: Floats  # Σw²(y − f)²
    w2: Floats  # Σw²
    w2e: Floats  # Σw²(y − f); from weighted cells as if the weights of a cell were alike
    count: Floats  # rows
    n: int  # rows
    soft: bool
    weighted: bool
    kind: str  # what a point is: "rows" or "cells"
    sampler: Sampler
    bin_of: Callable[[int], Ints]  # the equal-width bin of each point

    @property
    def may_tie(self) -> bool:
        """Whether scores are so few that a draw may well equal what was observed."""
        return len(self.score) <= _FEW_TO_TIE

    @property
    def total(self) -> float:
        """W."""
        return float(self.weight.sum())

    @property
    def effective(self) -> float:
        """W²/Σw²: how many rows of equal weight would tell as much."""
        return self.total**2 / float(self.w2.sum())

    @property
    def unit(self) -> Floats:
        """Σw²/Σw of each point: what turns Σw into Σw² where weights of neighbours are alike."""
        return np.divide(self.w2, self.weight, out=np.ones(len(self.weight)), where=self.weight > 0)

    @property
    def events(self) -> float:
        """V = (Σwf(1−f))²/Σw²f(1−f): without weights the variance of the number of events."""
        expected, variance = float((self.weight * self.score * (1 - self.score)).sum()), float(self.binomial.sum())
        return expected**2 / variance if variance > 0 else 0.0

    @property
    def jump(self) -> float:
        """The largest weight in units of the noise of the whole: what a single row can do."""
        variance = float(self.binomial.sum())
        return float(self.unit.max()) / variance**0.5 if variance > 0 else 0.0

    def merged(self, starts: Ints) -> "Points":
        """Groups of neighbouring points, each from one start to the next."""
        if len(starts) == len(self.score):
            return self
        weight, e, binomial, squares, w2, w2e, count = (
            np.add.reduceat(column, starts)
            for column in (self.weight, self.e, self.binomial, self.squares, self.w2, self.w2e, self.count)
        )
        bin_of = self.bin_of
        return Points(
            score=np.add.reduceat(self.weight * self.score, starts) / weight,
            weight=weight,
            e=e,
            binomial=binomial,
            squares=squares,
            w2=w2,
            w2e=w2e,
            count=count,
            n=self.n,
            soft=self.soft,
            weighted=self.weighted,
            kind=self.kind,
            sampler=self.sampler.merged(starts),
            bin_of=lambda bins: bin_of(bins)[starts],
        )

    def groups(self, cuts: list[Ints], *, even: bool = True, least: int = _GROUPS) -> Ints:
        """Starts of groups that no cut divides, a cut being where a label changes.

        `even` ones have about equal variance; there are at least so many of them, or each point is one.
        """
        change = np.zeros(len(self.score), dtype=bool)
        change[0] = True
        for cut in [*cuts, self._even(least) if even else self._narrow()]:
            change[1:] |= cut[1:] != cut[:-1]
        return np.flatnonzero(change)

    def _narrow(self) -> Ints:
        """Labels of groups whose common score gives outcomes the variance that they have; few points stay by themselves."""
        if len(self.score) <= FEW_POINTS:
            return np.arange(len(self.score))
        return np.asarray(np.arcsin(np.sqrt(np.clip(self.score, 0.0, 1.0))) * _ANGLES).astype(np.int64)

    def _even(self, least: int) -> Ints:
        """Labels of a few thousand groups; of each point where there are no more."""
        count = min(max(least, int(_GROUPS * (self.n / 1e7) ** (1 / 3))), _MOST_GROUPS)
        if len(self.score) <= count:
            return np.arange(len(self.score))
        share = self.weight / self.total
        noise = self.squares if self.soft else self.binomial
        if noise.sum() > 0:
            share = (share + noise / noise.sum()) / 2
        return np.minimum(((np.cumsum(share) - share / 2) * count).astype(np.int64), count - 1)


def has_unit_weights(summary: Summary) -> bool:
    """Whether every row counts once; weights that are 1 on average do not."""
    c = summary.columns
    return summary.exact or (np.array_equal(c.w, summary.rows) and np.array_equal(c.w2, summary.rows))


def points_of_summary(summary: Summary) -> Points:
    """The non-empty cells of a summary."""
    m, c = summary.moments, summary.columns
    counts = not summary.soft and has_unit_weights(summary)

    def bin_of(bins: int) -> Ints:
        return summary.ruler.bin_of_cell(bins)[summary.cells]

    if not (c.w > 0).all():  # a weight has vanished beside one 1e300 times as large
        return points_of_summary(summary.of_cells(c.w > 0))
    unit = 1.0 if has_unit_weights(summary) else summary.n / float(c.w.sum())  # weights may be as large as floats are
    weight, e = m.weight * unit, m.e * unit
    binomial, squares, w2 = (np.maximum(column, 0.0) * unit * unit for column in (c.w2_binomial, c.w2e2, c.w2))
    rows, gaussian = summary.rows.astype(np.float64), _Gaussian(binomial, squares)
    cells = np.arange(len(weight))
    sampler: Sampler = gaussian if summary.soft else _Weighted(binomial, weight, weight * m.mean, rows, gaussian, cells)
    if counts:
        ones, score_of_ones = c.wy2, np.clip(c.wy2 - c.we_positive, 0.0, c.wy2)
        sampler = _Counts(c.w - ones, ones, np.clip(m.weight * m.mean - score_of_ones, 0.0, c.w - ones), score_of_ones)
    return Points(
        score=m.mean,
        weight=weight,
        e=e,
        binomial=binomial,
        squares=squares,
        w2=w2,
        w2e=e * (w2 / (c.w * unit)),
        count=rows,
        n=summary.n,
        soft=summary.soft,
        weighted=not has_unit_weights(summary),
        kind="cells",
        sampler=sampler,
        bin_of=bin_of,
    )


def points_of_rows(rows: Arrays, *, frequency: bool = False) -> Points:
    """Runs of equal scores; with `frequency` a weight is a number of equal rows."""
    # Rows of equal score in an order of their own, so that draws do not depend on the order given.
    order = np.argsort(rows.f, kind="stable") if rows.w is None and not rows.soft else _order(rows)
    f, y = rows.f[order] + 0.0, rows.y[order].astype(np.float64)
    w = np.ones(len(f)) if rows.w is None else rows.w[order]
    if rows.w is not None and not frequency:
        w = w / w.mean()  # they may be as large as floats are
    starts = np.flatnonzero(np.append(True, f[1:] != f[:-1]))
    score, weight = f[starts], np.add.reduceat(w, starts)
    edges = uniform_edges
    fields: dict[str, Any] = {
        "score": score,
        "weight": weight,
        "soft": rows.soft,
        "kind": "rows",
        "bin_of": lambda bins: np.searchsorted(edges(bins)[1:-1], score, side="right"),
    }
    if not rows.soft and (rows.w is None or frequency):
        ones = np.add.reduceat(w * y, starts)
        zeros = weight - ones
        return Points(
            **fields,
            e=ones - weight * score,
            w2e=ones - weight * score,
            binomial=weight * score * (1 - score),
            squares=ones * (1 - score) ** 2 + zeros * score**2,
            w2=weight,
            count=weight,
            n=round(float(weight.sum())),
            weighted=False,
            sampler=_Counts(zeros, ones, zeros * score, ones * score),
        )
    unit = w if not frequency else np.sqrt(w)  # a repeated row adds its variance, not its weight squared
    e = y - f
    return Points(
        **fields,
        e=np.add.reduceat(w * e, starts),
        binomial=np.add.reduceat(unit**2 * f * (1 - f), starts),
        squares=np.add.reduceat((unit * e) ** 2, starts),
        w2=np.add.reduceat(unit**2, starts),
        w2e=np.add.reduceat(unit**2 * e, starts),
        count=np.add.reduceat(w if frequency else np.ones(len(f)), starts),
        n=round(float(w.sum())) if frequency else len(f),
        weighted=rows.w is not None and not frequency,
        sampler=_Rows(f, w, w * e, starts),
    )


def _order(rows: Arrays) -> Ints:
    order = np.lexsort((rows.y, rows.f) if rows.w is None else (rows.y, rows.w, rows.f))
    return order if rows.w is None else order[rows.w[order] > 0]  # a weight may have vanished beside one 1e300 times as large


def frequencies(w: Array) -> None:
    """Weights that count repeated rows are whole numbers."""
    w = w.astype(np.float64)
    fractions = w[w != np.floor(w)]
    if len(fractions):
        raise InputError(
            f'sample_weight: {float(fractions[0])!r} is not a whole number, and weight_kind="frequency" counts repeated rows. '
            'Pass whole numbers, or weight_kind="importance".'
        )
    if w.sum() >= 2**53:
        raise InputError("sample_weight: more than 2^53 rows in all. Pass smaller counts.")
