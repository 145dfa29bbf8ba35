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

_SLOTS = 1 << 14
CELLS = 256  # that share the rows and the variance of their outcomes evenly, besides the edges of bins


class Cells(NamedTuple):
    """Cells of scores that several predictors share, each with rows of one of them at least."""

    score: Floats  # mean of each cell, over all predictors
    predictors: list["Residuals"]
    w: Floats | None
    total: float


class Residuals(NamedTuple):
    """One predictor's rows, the cell of each, and its sums over the cells."""

    cell: Ints
    score: Floats
    residual: Floats  # y − f
    outcome: Floats  # w²f(1 − f)
    weight: Floats  # Σw/W
    e: Floats  # Σw(y − f)/W
    squares: Floats  # Σw²(y − f)²/W²
    outcomes: Floats  # Σw²f(1 − f)/W²
    kappa: float  # skewness of the outcomes: near 1 where events are rare


def cells_of(samples: Sequence[RowSample], bins: Iterable[int]) -> Cells:
    """The rows of predictors of the same outcomes and weights, by cells that no edge of the bins divides."""
    edges = _edges([sample.points() for sample in samples], bins)
    w, total = samples[0].arrays.w, samples[0].total
    places = [_places(edges, sample.arrays.f) for sample in samples]
    weights, expected = (
        [_sums(place, _times(w, values), len(edges) + 1) for place, values in zip(places, columns, strict=True)]
        for columns in ([None] * len(samples), [sample.arrays.f for sample in samples])
    )
    weight = np.sum(weights, axis=0)
    there = weight > 0
    number = np.cumsum(there) - 1
    score: Floats = np.sum(expected, axis=0)[there] / weight[there]
    cells = [number[place] for place in places]
    predictors = [_residuals(cell, sample, len(score)) for cell, sample in zip(cells, samples, strict=True)]
    return Cells(score, predictors, w, total)


def _residuals(cell: Ints, sample: RowSample, cells: int) -> Residuals:
    w, total = sample.arrays.w, sample.total
    f = sample.arrays.f
    residual = np.asarray(sample.arrays.y - f, dtype=np.float64)
    outcome = _squared(w, f * (1 - f))
    variance = float(outcome.sum())
    return Residuals(
        cell=cell,
        score=f,
        residual=residual,
        outcome=outcome,
        weight=_sums(cell, w, cells) / total,
        e=_sums(cell, _times(w, residual), cells) / total,
        squares=_sums(cell, _squared(w, residual * residual), cells) / total**2,
        outcomes=_sums(cell, outcome, cells) / total**2,
        kappa=float(outcome @ np.abs(1 - 2 * f)) / variance if variance > 0 else 1.0,
    )


def _sums(cell: Ints, values: Floats | None, cells: int) -> Floats:
    return np.asarray(np.bincount(cell, values, minlength=cells), dtype=np.float64)


def _times(w: Floats | None, values: Floats | None) -> Floats | None:
    return values if w is None else w if values is None else w * values


def _squared(w: Floats | None, values: Floats) -> Floats:
    return values if w is None else w * w * values


def _places(edges: Floats, f: Floats) -> Ints:
    """How many edges lie at or below each score: from a table where a slot holds one at most, else by a search."""
    before = np.searchsorted(edges, np.arange(_SLOTS + 1) / _SLOTS, side="left")
    slot = np.minimum((f * _SLOTS).astype(np.int64), _SLOTS - 1)
    place: Ints = before[slot]
    place += f >= np.append(edges, np.inf)[place]
    several = (np.diff(before) > 1)[slot]
    place[several] = np.searchsorted(edges, f[several], side="right")
    return place


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
    a, b, w, count = cells.predictors[first], cells.predictors[second], cells.w, len(cells.score)
    unit = 1 / cells.total**2
    places = a.cell * count + b.cell
    apart = _squared(w, (a.score - b.score) ** 2)

    def crossed(values: Floats) -> Array:
        return (_sums(places, values, count * count) * unit).reshape(count, count)

    squares = [[a.squares], [b.squares]]
    products = [crossed(_squared(w, a.residual * b.residual))]
    outcomes, together = [np.zeros((1, count))] * 2, np.zeros((1, count, count))
    if as_events:
        together = np.stack([crossed(a.outcome), crossed(b.outcome)])
        outcomes = [
            np.stack([a.outcomes, _sums(a.cell, b.outcome, count) * unit]),
            np.stack([_sums(b.cell, a.outcome, count) * unit, b.outcomes]),
        ]
        squares[0] += [outcomes[0][0], outcomes[0][1] + _sums(a.cell, apart, count) * unit]
        squares[1] += [outcomes[1][0] + _sums(b.cell, apart, count) * unit, outcomes[1][1]]
        products += list(together)
    return Pair(
        weight=(a.weight, b.weight),
        e=(a.e, b.e),
        squares=(np.stack(squares[0]), np.stack(squares[1])),
        products=np.stack(products),
        outcomes=(outcomes[0], outcomes[1]),
        together=together,
        skew=max(a.kappa, b.kappa) * unit * (len(a.score) if w is None else float(w @ w)),
        apart=float(apart.sum()) * unit,
    )
