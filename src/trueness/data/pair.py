"""Two predictors on the same rows: residual sums over cells of scores that both share, and how the residuals go together.

What a difference of two calibration errors needs is the variance of Σw(v(f_a)·r_a − u(f_b)·r_b)/W for functions v and u of the
score. From sums over pairs of cells it takes a quadratic form, whatever the number of rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from trueness._types import Array, Floats, Ints
from trueness.data.points import Points
from trueness.data.row_sample import RowSample
from trueness.summary.ruler import uniform_edges

CELLS = 256  # that share the rows and the variance of their outcomes evenly, besides the edges of bins


class Residuals(NamedTuple):
    """One predictor's rows, and the cell of each."""

    cell: Ints
    score: Floats
    residual: Floats  # y − f
    outcome: Floats  # f(1 − f)


class Cells(NamedTuple):
    """Cells of scores that several predictors share, each with rows of one of them at least."""

    score: Floats  # mean of each cell, over all predictors
    predictors: list[Residuals]
    w: Floats | None


def cells_of(samples: Sequence[RowSample], bins: Iterable[int]) -> Cells:
    """The rows of predictors of the same outcomes and weights, by cells that no edge of the bins divides."""
    edges = _edges([sample.points() for sample in samples], bins)
    w = samples[0].arrays.w
    places = [np.searchsorted(edges, sample.arrays.f, side="right") for sample in samples]
    columns = [np.bincount(place, w, minlength=len(edges) + 1) for place in places]
    expected = [
        np.bincount(place, sample.arrays.f if w is None else w * sample.arrays.f, minlength=len(edges) + 1)
        for place, sample in zip(places, samples, strict=True)
    ]
    weight: Floats = np.asarray(np.sum(columns, axis=0, dtype=np.float64))
    there = weight > 0
    number = np.cumsum(there) - 1
    predictors = []
    for place, sample in zip(places, samples, strict=True):
        y, f = sample.arrays.y, sample.arrays.f
        predictors.append(Residuals(number[place], f, y - f, f * (1 - f)))
    return Cells(np.asarray(np.sum(expected, axis=0))[there] / weight[there], predictors, w)


def _edges(predictors: Sequence[Points], bins: Iterable[int]) -> Floats:
    """Edges between cells that hold about equal shares of all predictors' rows; few distinct scores have a cell each."""
    score = np.concatenate([each.score for each in predictors])
    order = np.argsort(score, kind="stable")
    share = np.concatenate([_share(each) for each in predictors])[order]
    distinct, first = np.unique(score[order], return_index=True)
    if len(distinct) > CELLS:
        before = np.cumsum(np.add.reduceat(share, first))
        place = np.searchsorted(before, before[-1] * np.arange(1, CELLS) / CELLS)
        distinct = np.unique(distinct[np.minimum(place, len(distinct) - 1)])
    return np.unique(np.concatenate([distinct, *(uniform_edges(count)[1:-1] for count in bins)]))


def _share(points: Points) -> Floats:
    """Of the rows and of the variance of their outcomes: rare events matter where they are, not where most rows are."""
    share, noise = points.weight / points.total, points.binomial
    return (share + noise / noise.sum()) / 2 if noise.sum() > 0 else share


@dataclass(frozen=True, eq=False)
class Pair:
    """Sums of two predictors, the first and the second, over their cells.

    Variances come under several suppositions, the first axis: as the residuals show, and as if the first were right, as if the
    second were. E[y] = f makes E r_a² = f(1 − f), and the other's residual is its own less the difference of the scores.
    """

    weight: tuple[Floats, Floats]  # Σw/W of each cell
    e: tuple[Floats, Floats]  # Σwr/W of each cell
    squares: tuple[Array, Array]  # Σw²r²/W² [supposition, cell]
    products: Array  # Σw²r_a·r_b/W² [supposition, cell of the first, cell of the second]
    outcomes: tuple[Array, Array]  # Σw²p(1 − p)/W² [as if which were right, cell]
    together: Array  # the same [as if which were right, cell of the first, cell of the second]
    skew: float  # Σw²/W² times the skewness κ of the outcomes, near 1 where events are rare
    apart: float  # Σw²(f_a − f_b)²/W²

    @property
    def swapped(self) -> "Pair":
        """The second before the first."""
        return replace(
            self,
            weight=self.weight[::-1],
            e=self.e[::-1],
            squares=self.squares[::-1],
            products=self.products.transpose(0, 2, 1),
            outcomes=self.outcomes[::-1],
            together=self.together.transpose(0, 2, 1),
        )

    def spread(self, v: Floats, u: Floats) -> tuple[Floats, Floats]:
        """Variance of Σw(v·r_a − u·r_b)/W for values v and u of each cell, and how much of it outcomes make."""
        variance = self.squares[0] @ v**2 + self.squares[1] @ u**2 - 2 * (self.products @ u) @ v
        outcome = self.outcomes[0] @ v**2 + self.outcomes[1] @ u**2 - 2 * (self.together @ u) @ v
        return np.maximum(variance, 0.0), np.maximum(outcome, 0.0)

    def skewness(self, variance: Floats, outcome: Floats, reach: float) -> Floats:
        """κ times the largest factor of an outcome, as far as outcomes make the variance and not the scores themselves."""
        share = np.divide(outcome, variance, out=np.zeros_like(variance), where=variance > 0)
        return self.skew * reach * np.clip(share, 0.0, 1.0)


def pair_of(cells: Cells, first: int, second: int, *, as_events: bool) -> Pair:
    """Two of the predictors; `as_events`: outcomes may vary as predicted, while enough soft labels show how they vary."""
    return _pair(cells.predictors[first], cells.predictors[second], cells.w, len(cells.score), as_events=as_events)


def _pair(first: Residuals, second: Residuals, w: Floats | None, cells: int, *, as_events: bool) -> Pair:
    one = np.ones(len(first.score)) if w is None else w
    total = float(one.sum())
    square = (one / total) ** 2
    apart = square * (first.score - second.score) ** 2
    a, b = square * first.outcome, square * second.outcome
    places = first.cell * cells + second.cell

    def by(cell: Ints, values: Floats) -> Floats:
        return np.asarray(np.bincount(cell, values, minlength=cells), dtype=np.float64)

    def crossed(values: Floats) -> Array:
        return np.bincount(places, values, minlength=cells * cells).reshape(cells, cells)

    squares = [[by(each.cell, square * each.residual**2)] for each in (first, second)]
    products = [crossed(square * first.residual * second.residual)]
    outcomes, together = [np.zeros((1, cells))] * 2, np.zeros((1, cells, cells))
    if as_events:
        together = np.stack([crossed(a), crossed(b)])
        outcomes = [np.stack([by(each.cell, a), by(each.cell, b)]) for each in (first, second)]
        squares[0] += [outcomes[0][0], outcomes[0][1] + by(first.cell, apart)]
        squares[1] += [outcomes[1][0] + by(second.cell, apart), outcomes[1][1]]
        products += list(together)
    weight = [by(each.cell, one / total) for each in (first, second)]
    kappa = max(_kappa(each, square) for each in (first, second))
    return Pair(
        weight=(weight[0], weight[1]),
        e=(by(first.cell, one / total * first.residual), by(second.cell, one / total * second.residual)),
        squares=(np.stack(squares[0]), np.stack(squares[1])),
        products=np.stack(products),
        outcomes=(outcomes[0], outcomes[1]),
        together=together,
        skew=kappa * float(square.sum()),
        apart=float(apart.sum()),
    )


def _kappa(predictor: Residuals, square: Floats) -> float:
    """Σw²f(1−f)|1−2f| / Σw²f(1−f); 1 where every prediction is 0 or 1."""
    variance = square * predictor.outcome
    total = float(variance.sum())
    return float((variance * np.abs(1 - 2 * predictor.score)).sum()) / total if total > 0 else 1.0
