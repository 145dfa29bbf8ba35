"""Scores with what a resampling of their outcomes needs: points in score order, and the two kinds of draws.

A point is a run of equal scores, a cell of a summary, or a group of neighbours. Drawn are sums Σw(y* − f) a point: outcomes
under calibration (y* ~ Bernoulli(f)), or residuals with random signs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from trueness._types import Array, Floats, Ints
from trueness.data.binomials import COINS, Binomials, fair_signs, numbers_of_draw
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
_BY_THEMSELVES = 512  # points that are not put together
_ANGLES = 160  # groups a unit of arcsin √f: scores of one differ by 0.6 % of a row's standard deviation


class Sampler(Protocol):
    """Draws of Σw(y − f) for each point; a draw is a row of the result."""

    @property
    def width(self) -> int:
        """Random numbers for one draw."""

    def null(self, rng: Generator, draws: int) -> Floats:
        """Outcomes as if every prediction were right."""

    def flips(self, rng: Generator, draws: int) -> Floats:
        """Residuals with random signs."""

    def merged(self, starts: Ints) -> "Sampler":
        """The same for groups of neighbouring points."""


@dataclass(frozen=True, eq=False)
class _Counts:
    """Hard labels without weights: rows with outcome 0 and 1, and the sums of their scores."""

    zeros: Floats
    ones: Floats
    score_of_zeros: Floats
    score_of_ones: Floats

    @property
    def width(self) -> int:
        return numbers_of_draw(self.zeros + self.ones)

    @cached_property
    def _expected(self) -> Floats:
        return self.score_of_zeros + self.score_of_ones

    @cached_property
    def _events(self) -> Binomials:
        n = self.zeros + self.ones
        return Binomials(n, np.clip(self._expected / n, 0.0, 1.0))

    def null(self, rng: Generator, draws: int) -> Floats:
        return self._events.drawn(rng, draws) - self._expected

    def flips(self, rng: Generator, draws: int) -> Floats:
        labels = ((self.ones, self.ones - self.score_of_ones), (self.zeros, -self.score_of_zeros))
        many = (self.ones > COINS) & (self.zeros > COINS)
        total = np.zeros((draws, len(self.ones)))
        spread = np.sqrt(np.sum([sums[many] ** 2 / count[many] for count, sums in labels], axis=0))
        total[:, many] = rng.standard_normal((draws, int(many.sum()))) * spread
        for count, sums in labels:
            few = np.flatnonzero((count > 0) & ~many)
            total[:, few] += sums[few] / count[few] * fair_signs(rng, count[few], draws)
        return total

    def merged(self, starts: Ints) -> "Sampler":
        columns = (self.zeros, self.ones, self.score_of_zeros, self.score_of_ones)
        return _Counts(*(np.add.reduceat(column, starts) for column in columns))


class _Rows(NamedTuple):
    """Rows with weights or soft labels, in score order; a point is a stretch of them."""

    f: Floats
    w: Floats
    e: Floats  # w(y − f)
    starts: Ints

    @property
    def width(self) -> int:
        return len(self.f)

    def null(self, rng: Generator, draws: int) -> Floats:
        drawn = ((rng.random((draws, len(self.f))) < self.f) - self.f) * self.w
        return np.asarray(np.add.reduceat(drawn, self.starts, axis=1))

    def flips(self, rng: Generator, draws: int) -> Floats:
        signs = 2.0 * rng.integers(0, 2, size=(draws, len(self.f)), dtype=np.int8) - 1.0
        return np.asarray(np.add.reduceat(signs * self.e, self.starts, axis=1))

    def merged(self, starts: Ints) -> "Sampler":
        return self._replace(starts=self.starts[starts])


class _Gaussian(NamedTuple):
    """Cells of a soft summary: sums of many rows, of which only the variance is known."""

    binomial: Floats  # Σw²f(1 − f)
    squares: Floats  # Σw²(y − f)²

    @property
    def width(self) -> int:
        return len(self.squares)

    def null(self, rng: Generator, draws: int) -> Floats:
        return np.asarray(rng.standard_normal((draws, self.width)) * np.sqrt(self.binomial))

    def flips(self, rng: Generator, draws: int) -> Floats:
        return np.asarray(rng.standard_normal((draws, self.width)) * np.sqrt(self.squares))

    def merged(self, starts: Ints) -> "_Gaussian":
        return _Gaussian(*(np.add.reduceat(column, starts) for column in self))


@dataclass(frozen=True, eq=False)
class _Weighted:
    """Cells of a weighted summary: k rows of weight u and one of weight v < u, which have the sums that are known.

    One or two rows, and rows of equal weight, are drawn as they are. Mean and variance are right for any, and no mean outcome
    lies outside [0, 1], where a normal number would put that of a single row.
    """

    gaussian: _Gaussian
    weight: Floats
    expected: Floats  # Σwf
    count: Floats

    @cached_property
    def _parts(self) -> tuple[Binomials, Floats, Ints, Floats]:
        """How many of weight u, u, the cells that have a v, and v."""
        total = self.weight
        f = np.clip(self.expected / total, 0.0, 1.0)
        chance = f * (1 - f)
        likeness = np.divide(self.gaussian.binomial, chance * total**2, out=np.ones(len(f)), where=chance > 0)  # Σw²/W²
        effective = 1 / np.clip(likeness, 0.5 / self.count, 1.0)  # about as many as rows at most
        k = np.floor(effective)
        u = total * (1 + np.sqrt(np.maximum((k + 1) / effective - 1, 0.0) / k)) / (k + 1)
        v = total - k * u
        uneven = np.flatnonzero(v > 1e-9 * u)
        return Binomials(k, f), u, uneven, v[uneven]

    @property
    def width(self) -> int:
        return numbers_of_draw(self._parts[0].n) + len(self._parts[2])

    def null(self, rng: Generator, draws: int) -> Floats:
        alike, u, uneven, v = self._parts
        events = alike.drawn(rng, draws) * u
        events[:, uneven] += (rng.random((draws, len(uneven))) < alike.p[uneven]) * v
        return np.asarray(events - self.expected)

    def flips(self, rng: Generator, draws: int) -> Floats:
        return self.gaussian.flips(rng, draws)

    def merged(self, starts: Ints) -> "Sampler":
        columns = (np.add.reduceat(column, starts) for column in (self.weight, self.expected, self.count))
        return _Weighted(self.gaussian.merged(starts), *columns)


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

    def groups(self, cuts: list[Ints], *, even: bool = True) -> Ints:
        """Starts of groups that no cut divides, a cut being where a label changes; `even` ones have about equal variance."""
        change = np.zeros(len(self.score), dtype=bool)
        change[0] = True
        for cut in [*cuts, self._even() if even else self._narrow()]:
            change[1:] |= cut[1:] != cut[:-1]
        return np.flatnonzero(change)

    def _narrow(self) -> Ints:
        """Labels of groups whose common score gives outcomes the variance that they have; few points stay by themselves."""
        if len(self.score) <= _BY_THEMSELVES:
            return np.arange(len(self.score))
        return np.asarray(np.arcsin(np.sqrt(np.clip(self.score, 0.0, 1.0))) * _ANGLES).astype(np.int64)

    def _even(self) -> Ints:
        """Labels of a few thousand groups; of each point where there are no more."""
        count = min(max(_GROUPS, int(_GROUPS * (self.n / 1e7) ** (1 / 3))), _MOST_GROUPS)
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
    binomial, squares = np.maximum(c.w2_binomial, 0.0), np.maximum(c.w2e2, 0.0)
    rows, gaussian = summary.rows.astype(np.float64), _Gaussian(binomial, squares)
    sampler: Sampler = gaussian if summary.soft else _Weighted(gaussian, m.weight, m.weight * m.mean, rows)
    if counts:
        ones, score_of_ones = c.wy2, np.clip(c.wy2 - c.we_positive, 0.0, c.wy2)
        sampler = _Counts(c.w - ones, ones, np.clip(m.weight * m.mean - score_of_ones, 0.0, c.w - ones), score_of_ones)
    return Points(
        score=m.mean,
        weight=m.weight,
        e=m.e,
        binomial=binomial,
        squares=squares,
        w2=c.w2,
        w2e=m.e * (c.w2 / c.w),
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
