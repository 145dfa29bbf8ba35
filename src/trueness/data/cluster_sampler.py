r"""Draws for rows that come in clusters: the residuals of a cluster keep together, and change their sign together.

.. math:: D^* = \sum_g \varepsilon_g\, c \sum_{i \in g} w_i r_i, \qquad c^2 = \max\Bigl(1,
          \frac{\sum w^2 v}{\sum w^2 r^2}\Bigr)

with independent signs ε of the clusters g and the variance v of an outcome: f(1 − f), or of a soft label what labels show. The
factor c takes for the variance of single rows what the predictions say where the residuals happen to say less: few events, of
which fewer were seen than expected, would look surer than they are.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from trueness._types import Floats, Ints
from trueness.data.binomials import COINS, Draws, random_bits

Generator = np.random.Generator

MOST = 1024  # clusters flipped apart; of more, some are put together, which leaves the variance of their sum
FEW = 40  # below which signs have six sizes, for there are few patterns of two
_WEBB = np.array([-math.sqrt(1.5), -1.0, -math.sqrt(0.5), math.sqrt(0.5), 1.0, math.sqrt(1.5)], dtype=np.float32)
_DENSE = 1 << 23  # numbers in a table that is held whole


def _table(row: Ints, column: Ints, values: Floats, shape: tuple[int, int]) -> Any:
    """Sums of values by row and column."""
    from scipy import sparse

    return sparse.coo_array((values, (row, column)), shape=shape).tocsr()


@dataclass(frozen=True, eq=False, kw_only=True)
class ClusterSampler:
    """Members, each a row or the rows of a cell, with their cluster and point."""

    cluster: Ints
    point: Ints
    e: Floats  # Σw(y − f)
    weight: Floats  # Σw
    count: int  # clusters
    points: int
    inflation: float  # c

    @property
    def flipped(self) -> int:
        """How many are flipped apart."""
        return min(self.count, MOST)

    @property
    def width(self) -> int:
        return self.flipped

    def _by_cluster(self, point: Ints, e: Floats, points: int) -> Any:
        """A row for each of those that are flipped, a column a point."""
        table = _table(self.cluster % self.flipped, point, e, (self.flipped, points))
        return table.toarray() if self.flipped * points <= _DENSE else table

    @cached_property
    def _sums(self) -> Any:
        return self._by_cluster(self.point, self.e * self.inflation, self.points).astype(np.float32)

    @cached_property
    def _centring(self) -> tuple[Floats, Floats]:
        """Each cluster's share of the weight, and the sums of all."""
        share = np.bincount(self.cluster % self.flipped, self.weight, minlength=self.flipped) / float(self.weight.sum())
        total = np.bincount(self.point, self.e * self.inflation, minlength=self.points).astype(np.float64)
        return share, total

    def _signs(self, rng: Generator, draws: int) -> Draws:
        if self.count < FEW:
            return _WEBB[rng.integers(0, len(_WEBB), size=(draws, self.flipped))]
        bits = random_bits(rng, draws, -(-self.flipped // COINS)).view(np.uint8)
        return np.unpackbits(bits, axis=1, count=self.flipped).astype(np.float32) * 2 - 1

    def null(self, rng: Generator, draws: int) -> Draws:
        """Sums of clusters with random signs."""
        return np.asarray(self._signs(rng, draws) @ self._sums, dtype=np.float32)

    def flips(self, rng: Generator, draws: int) -> Draws:
        """The same of what clusters differ from their share of the whole: what is off in all of them alike is no noise."""
        return self._centred(self._signs(rng, draws))

    def _centred(self, signs: Draws) -> Draws:
        share, total = self._centring
        leverage = signs / np.maximum(1 - share, 1 / MOST).astype(np.float32)  # a large cluster draws the whole to itself
        sums = np.asarray(leverage @ self._sums, dtype=np.float32)
        return np.asarray(sums - (leverage @ share)[:, None] * total, dtype=np.float32)

    def deviations(self) -> Draws:
        """What each of those that are flipped adds, less its share of the whole."""
        return self._centred(np.eye(self.flipped, dtype=np.float32))

    def squares(self, starts: Ints) -> float:
        """Σ(Σw(y − f))² over clusters and groups of points that begin at `starts`."""
        group = np.searchsorted(starts, self.point, side="right") - 1
        sums = _table(self.cluster, group, self.e, (self.count, len(starts)))
        return float((sums.data**2).sum())

    def merged(self, starts: Ints) -> "ClusterSampler":
        """The same for groups of neighbouring points."""
        point = np.searchsorted(starts, self.point, side="right") - 1
        return replace(self, point=point, points=len(starts))
