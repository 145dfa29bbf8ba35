"""Cumulative errors of two predictors: every range of scores between cells is a candidate for the worst of the first."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from trueness._types import Array, Floats, Ints
from trueness.data.pair import Pair
from trueness.metrics.contrast import Bounds

_CLEAR = 3.0  # noise scales from which the second predictor's worst range is taken as known


class _Ranges(NamedTuple):
    """Ranges of cells, from one edge to another."""

    first: Ints
    last: Ints

    def sums(self, columns: Array) -> Array:
        """Of each column over each range."""
        before = np.zeros((*columns.shape[:-1], columns.shape[-1] + 1))
        np.cumsum(columns, axis=-1, out=before[..., 1:])
        return np.asarray(before[..., self.last] - before[..., self.first])

    def squares(self, table: Array) -> Array:
        """Of tables over each range times itself."""
        before = np.zeros((len(table), table.shape[1] + 1, table.shape[2] + 1))
        before[:, 1:, 1:] = table.cumsum(axis=1).cumsum(axis=2)
        a, b = self.first, self.last
        return np.asarray(before[:, b, b] - before[:, a, b] - before[:, b, a] + before[:, a, a])


class RangeContrast:
    """max |C(I)| over ranges I of scores; ECCE-MAD's begin at the lowest."""

    alone = True

    def __init__(self, cells: int, *, spread: bool) -> None:
        pairs = np.triu_indices(cells + 1, 1) if spread else (np.zeros(cells, dtype=np.int64), np.arange(1, cells + 1))
        self._ranges = _Ranges(*pairs)

    def lead(self, pair: Pair, values: tuple[float, float]) -> Bounds:
        """Candidates are ranges, with either sign; u is the same range, or the second's worst where that is clear, or none."""
        a, b = (self._ranges.sums(each) for each in pair.e)
        shift = values[0] - values[1] - float(np.abs(a).max() - np.abs(b).max())
        squares, outcomes = ([self._ranges.sums(each) for each in both] for both in (pair.squares, pair.outcomes))
        same = self._ways(pair, squares, outcomes, self._ranges.squares(pair.products), self._ranges.squares(pair.together))
        sides = []
        for sign, centre, spread in self._others(pair, a, b, squares, outcomes):
            sides.append(_bounds([(sign * (a - b), *same), (centre, *spread)], shift))
        return Bounds(*(np.concatenate(columns, axis=1) for columns in zip(*sides, strict=True)))

    def _others(
        self, pair: Pair, a: Floats, b: Floats, squares: list[Array], outcomes: list[Array]
    ) -> Iterator[tuple[float, Floats, tuple[Floats, Floats]]]:
        """For either sign of the first's range: the mean with the second's worst range, or none, and its spread."""
        worst = int(np.argmax(np.abs(b)))
        if abs(b[worst]) <= _CLEAR * np.sqrt(pair.squares[1].sum(axis=1).max()):
            variance = squares[0].max(axis=0)
            spread = variance, pair.skewness(variance, outcomes[0].max(axis=0), 1.0)
            yield from ((sign, sign * a, spread) for sign in (1.0, -1.0))
            return
        inside = slice(self._ranges.first[worst], self._ranges.last[worst])
        at_worst = [[own, other[:, [worst]]] for own, other in (squares, outcomes)]
        crossed = [self._ranges.sums(table[:, :, inside].sum(axis=2)) for table in (pair.products, pair.together)]
        for sign in (1.0, -1.0):
            turned = sign * np.sign(b[worst])
            spread = self._ways(pair, at_worst[0], at_worst[1], turned * crossed[0], turned * crossed[1])
            yield sign, sign * a - abs(b[worst]), spread

    @staticmethod
    def _ways(
        pair: Pair, squares: list[Array], outcomes: list[Array], products: Array, together: Array
    ) -> tuple[Floats, Floats]:
        """Variance of C_a(I) − C_b(J), and its skewness."""
        variance = np.maximum((squares[0] + squares[1] - 2 * products).max(axis=0), 0.0)
        outcome = (outcomes[0] + outcomes[1] - 2 * together).max(axis=0)
        return variance, pair.skewness(variance, outcome, 2.0)


def _bounds(ways: list[tuple[Floats, Floats, Floats]], shift: float) -> Bounds:
    centre, variance, skewness = (np.stack(column) for column in zip(*ways, strict=True))
    return Bounds(centre + shift, variance, skewness)
