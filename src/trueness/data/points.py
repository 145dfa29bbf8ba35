"""Scores with what a resampling of their outcomes needs: points in score order, and the two kinds of draws.

A point is a run of equal scores, a cell of a summary, or a group of neighbours. Drawn are sums Σw(y* − f) a point: outcomes
under calibration (y* ~ Bernoulli(f)), or residuals with random signs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueness._types import Array, Floats, Ints
from trueness.data.cluster_sampler import ClusterSampler
from trueness.data.samplers import FEW_POINTS, CellSampler, CountSampler, GaussianSampler, LabelSampler, RowSampler, Sampler
from trueness.data.soft_labels import LabelNoise, LabelSums, label_noise
from trueness.errors import InputError
from trueness.inputs.rows import Arrays
from trueness.summary.ruler import uniform_edges
from trueness.summary.summary import Summary

ROWS = 100_000  # up to here points are runs of equal scores, beyond it the cells of a summary
LARGE_JUMP = 0.3  # noise scales that one row may move the whole by; hard labels without weights stay below 0.15
FEW_SCORES = 100
FEW_EQUAL = 50  # scores of equal variance that would tell as much: nearly all of it may lie on a few of many
FEW_EVENTS = 50  # below this the limit laws are not trusted
_GROUPS = 2048  # at least so many groups stand for more points than that
_MOST_GROUPS = 1 << 14
_FEW_TO_TIE = 64
_HARD = 1e-12  # Σwy(1 − y) up to this share of the weight is rounding
_CELL = 2.0**-13  # |1 − 2f| varies less within a cell
_ANGLES = 160  # groups a unit of arcsin √f: scores of one differ by 0.6 % of a row's standard deviation


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Sums of each point, and its draws."""

    score: Floats  # mean, ascending
    weight: Floats  # Σw
    e: Floats  # Σw(y − f)
    binomial: Floats  # Σw²f(1 − f)
    squares: Floats  # Σw²(y − f)²
    variance: Floats  # Σw² times the variance of an outcome: f(1 − f), of soft labels what they show
    w2: Floats  # Σw²
    w2e: Floats  # Σw²(y − f); from weighted cells as if the weights of a cell were alike
    count: Floats  # rows
    n: int  # rows
    soft: bool
    weighted: bool
    kind: str  # what a point is: "rows" or "cells"
    sampler: Sampler
    bin_of: Callable[[int], Ints]  # the equal-width bin of each point
    labels: LabelNoise | None = None  # of soft labels, by row or cell

    @property
    def clustered(self) -> ClusterSampler | None:
        """The sampler that flips clusters; None where rows are independent."""
        return self.sampler if isinstance(self.sampler, ClusterSampler) else None

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
    def spread(self) -> float:
        """(Σv)²/Σv² over the points, v their variance: as many points of equal variance would tell as much."""
        most = float(self.variance.max(initial=0.0))
        share = self.variance / most if most > 0 else self.variance
        return float(share.sum()) ** 2 / float((share**2).sum()) if most > 0 else 0.0

    @property
    def jump(self) -> float:
        """The largest weight in units of the noise of the whole: what a single row can do."""
        variance = float(self.binomial.sum())
        return float(self.unit.max()) / variance**0.5 if variance > 0 else 0.0

    def merged(self, starts: Ints) -> "Points":
        """Groups of neighbouring points, each from one start to the next."""
        if len(starts) == len(self.score):
            return self
        weight, e, binomial, squares, variance, w2, w2e, count = (
            np.add.reduceat(column, starts)
            for column in (self.weight, self.e, self.binomial, self.squares, self.variance, self.w2, self.w2e, self.count)
        )
        bin_of = self.bin_of
        return Points(
            score=np.add.reduceat(self.weight * self.score, starts) / weight,
            weight=weight,
            e=e,
            binomial=binomial,
            squares=squares,
            variance=variance,
            w2=w2,
            w2e=w2e,
            count=count,
            n=self.n,
            soft=self.soft,
            weighted=self.weighted,
            kind=self.kind,
            sampler=self.sampler.merged(starts),
            bin_of=lambda bins: bin_of(bins)[starts],
            labels=self.labels,
        )

    def groups(self, cuts: list[Ints], *, even: bool = True, least: int = _GROUPS, most: int = _MOST_GROUPS) -> Ints:
        """Starts of groups that no cut divides, a cut being where a label changes.

        `even` ones have about equal variance; there are at least so many of them, more of many rows, or each point is one.
        """
        change = np.zeros(len(self.score), dtype=bool)
        change[0] = True
        for cut in [*cuts, self._even(least, most) if even else self._narrow()]:
            change[1:] |= cut[1:] != cut[:-1]
        return np.flatnonzero(change)

    def _narrow(self) -> Ints:
        """Labels of groups whose common score gives outcomes the variance that they have; few points stay by themselves."""
        if len(self.score) <= FEW_POINTS:
            return np.arange(len(self.score))
        return np.asarray(np.arcsin(np.sqrt(np.clip(self.score, 0.0, 1.0))) * _ANGLES).astype(np.int64)

    def _even(self, least: int, most: int) -> Ints:
        """Labels of a few thousand groups; of each point where there are no more."""
        count = min(max(least, int(_GROUPS * (self.n / 1e7) ** (1 / 3))), most)
        if len(self.score) <= count:
            return np.arange(len(self.score))
        share = self.weight / self.total
        if self.variance.sum() > 0:
            share = (share + self.variance / self.variance.sum()) / 2
        return np.minimum(((np.cumsum(share) - share / 2) * count).astype(np.int64), count - 1)


def has_unit_weights(summary: Summary) -> bool:
    """Whether every row counts once; weights that are 1 on average do not."""
    c = summary.columns
    return summary.exact or (np.array_equal(c.w, summary.rows) and np.array_equal(c.w2, summary.rows))


def weight_unit(summary: Summary) -> float:
    """What makes the mean weight of a row 1: weights may be as large as floats are."""
    return 1.0 if has_unit_weights(summary) else summary.n / float(summary.columns.w.sum())


def points_of_summary(summary: Summary) -> Points:
    """The non-empty cells of a summary."""
    m, c = summary.moments, summary.columns
    counts = not summary.soft and has_unit_weights(summary)

    def bin_of(bins: int) -> Ints:
        return summary.ruler.bin_of_cell(bins)[summary.cells]

    if not (c.w > 0).all():  # a weight has vanished beside one 1e300 times as large
        return points_of_summary(summary.of_cells(c.w > 0))
    unit = weight_unit(summary)
    weight, e = m.weight * unit, m.e * unit
    binomial, squares, w2 = (np.maximum(column, 0.0) * unit * unit for column in (c.w2_binomial, c.w2e2, c.w2))
    rows, cells = summary.rows.astype(np.float64), np.arange(len(weight))
    labels = _labels_of_cells(summary, unit, binomial, squares, w2) if summary.soft else None
    variance = binomial if labels is None else labels.variance
    gaussian = GaussianSampler(variance, squares)
    sampler: Sampler = gaussian if summary.soft else CellSampler(binomial, weight, weight * m.mean, rows, gaussian, cells)
    if counts:
        ones, score_of_ones = c.wy2, np.clip(c.wy2 - c.we_positive, 0.0, c.wy2)
        sampler = CountSampler(c.w - ones, ones, np.clip(m.weight * m.mean - score_of_ones, 0.0, c.w - ones), score_of_ones)
    return Points(
        score=m.mean,
        weight=weight,
        e=e,
        binomial=binomial,
        squares=squares,
        variance=variance,
        w2=w2,
        w2e=e * (w2 / (c.w * unit)),
        count=rows,
        n=summary.n,
        soft=summary.soft,
        weighted=not has_unit_weights(summary),
        kind="cells",
        sampler=sampler,
        bin_of=bin_of,
        labels=labels,
    )


def _labels_of_cells(summary: Summary, unit: float, binomial: Floats, squares: Floats, w2: Floats) -> LabelNoise:
    """Soft labels of the cells of a summary: a cell without Σwy(1 − y) has events alone."""
    m, c = summary.moments, summary.columns
    weight, e = m.weight * unit, m.e * unit
    softness = np.maximum(weight * m.mean + e - c.wy2 * unit, 0.0)
    slope = np.abs(1 - 2 * m.mean) + _CELL  # |1 − 2f| within the cell
    towards = np.where(m.mean < 0.5, m.e_positive * unit - e, m.e_positive * unit)  # Σw|y − f| of labels nearer to their end
    # Weights of a cell need not be alike: Σw²|y − f| is at most √(Σw²·Σw²(y − f)²).
    excess = towards if has_unit_weights(summary) else np.sqrt(w2 * squares)
    return label_noise(
        LabelSums(
            residual=e,
            squares=squares,
            binomial=binomial,
            softness=softness * (w2 / weight),
            wobble=binomial * (w2 / weight * (1 - 2 * m.mean)) ** 2,
            hard=softness <= _HARD * weight,
            alone=summary.rows == 1,
            excess=slope * np.maximum(excess, 0.0),
        )
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
            variance=weight * score * (1 - score),
            squares=ones * (1 - score) ** 2 + zeros * score**2,
            w2=weight,
            count=weight,
            n=round(float(weight.sum())),
            weighted=False,
            sampler=CountSampler(zeros, ones, zeros * score, ones * score),
        )
    unit = w if not frequency else np.sqrt(w)  # a repeated row adds its variance, not its weight squared
    e, binomial = y - f, unit**2 * f * (1 - f)
    wobble = binomial * (1 - 2 * f) ** 2 * (1 if frequency else w**2)
    labels = _labels_of_rows(w * e, (unit * e) ** 2, binomial, unit**2 * y * (1 - y), wobble) if rows.soft else None
    whole = RowSampler(f, w, w * e, starts)
    return Points(
        **fields,
        e=np.add.reduceat(w * e, starts),
        binomial=np.add.reduceat(binomial, starts),
        squares=np.add.reduceat((unit * e) ** 2, starts),
        variance=np.add.reduceat(binomial if labels is None else labels.variance, starts),
        w2=np.add.reduceat(unit**2, starts),
        w2e=np.add.reduceat(unit**2 * e, starts),
        count=np.add.reduceat(w if frequency else np.ones(len(f)), starts),
        n=round(float(w.sum())) if frequency else len(f),
        weighted=rows.w is not None and not frequency,
        sampler=whole if labels is None else LabelSampler.of(whole, labels.events),
        labels=labels,
    )


def _labels_of_rows(residual: Floats, squares: Floats, binomial: Floats, softness: Floats, wobble: Floats) -> LabelNoise:
    hard = softness == 0
    every = np.ones(len(hard), dtype=bool)
    excess = np.maximum(binomial - softness - squares, 0.0)
    return label_noise(LabelSums(residual, squares, binomial, softness, wobble, hard, every, excess))


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
