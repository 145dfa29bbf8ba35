"""Numbers of successes, drawn for the same trials again and again."""

from functools import cached_property

import numpy as np

from trueness._types import Array, Floats, Ints

COINS = 32  # fair coins whose sum is counted in the bits of a random number; of more it is about normal
_NORMAL = 16.0  # variance from which a normal number, bent to the same skewness, stands for a count
_BITS = 10  # of a random number that mostly tell the count
_TABULATED = 1 << 12  # binomials that have a table
_FEW = 16  # trials on average that are drawn one by one where there is no table

Generator = np.random.Generator


def fair_signs(rng: Generator, count: Floats, draws: int) -> Floats:
    """Sums of so many random signs, a draw a row."""
    sums = np.empty((draws, len(count)))
    few = count <= COINS
    n = count[few].astype(np.uint64)
    mask = ((np.uint64(1) << n) - np.uint64(1)).astype(np.uint32)
    coins = rng.integers(0, 1 << 32, size=(draws, len(n)), dtype=np.uint32)
    sums[:, few] = 2.0 * np.bitwise_count(coins & mask) - n
    sums[:, ~few] = np.sqrt(count[~few]) * rng.standard_normal((draws, int((~few).sum())))
    return sums


def _one_by_one(rng: Generator, n: Ints, p: Floats, draws: int) -> Array:
    """Binomial counts trial by trial; where there are many trials as NumPy draws them."""
    trials = int(n.sum())
    if trials > _FEW * len(n):
        return rng.binomial(n, p, size=(draws, len(n)))
    happened = rng.random((draws, trials)) < np.repeat(p, n)
    return happened if trials == len(n) else np.add.reduceat(happened, np.cumsum(n) - n, axis=1, dtype=np.int32)


def numbers_of_draw(n: Floats) -> int:
    """Random numbers that one draw of these binomials may hold."""
    trials = float(n.sum())
    return int(trials) if len(n) > _TABULATED and trials <= _FEW * len(n) else len(n)


class Binomials:
    """Binomial(n, p) for several n and p at once.

    Small counts are exact: a table tells the count from the first bits of a random number, unless these leave it open; then all
    its bits do. Large ones are normal with the skewness of the binomial, rounded to whole numbers as all counts are: a draw may
    equal what was observed.
    """

    def __init__(self, n: Floats, p: Floats) -> None:
        self.n, self.p = n, p
        self.rare = np.minimum(p, 1 - p)  # of the rarer of the two outcomes, which is what is drawn
        self.variance = n * p * (1 - p)
        self.large = self.variance >= _NORMAL
        self.small = np.flatnonzero(~self.large)

    @cached_property
    def _chances(self) -> Floats:
        """P(count ≤ k) of each small one, [number, k], up to where nothing is left."""
        n, p = self.n[self.small], self.rare[self.small]
        most = int(np.max(n * p + 9 * np.sqrt(n * p * (1 - p)) + 9, initial=1.0))
        term = (1 - p) ** n
        odds = p / (1 - p)
        chances = np.empty((len(n), most + 1))
        total = np.zeros(len(n))
        for k in range(most + 1):
            total += term
            chances[:, k] = total
            term *= odds * np.maximum(n - k, 0.0) / (k + 1)
        return chances

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        """For each small one the count at the beginning of each stretch of [0, 1), and whether it changes within."""
        numbers, size = len(self.small), 1 << _BITS
        stretch = np.minimum((self._chances * size).astype(np.int64), size)
        begins = np.zeros((numbers, size + 1), dtype=np.int16)
        np.add.at(begins, (np.arange(numbers)[:, None], stretch), 1)
        changes = begins[:, :size] > 0
        return (np.cumsum(begins, axis=1, dtype=np.int16) - begins)[:, :size], changes

    def _exact(self, rng: Generator, draws: int) -> Array:
        numbers = len(self.small)
        if numbers > _TABULATED:
            return _one_by_one(rng, self.n[self.small].astype(np.int64), self.rare[self.small], draws)
        count, changes = self._table
        random = rng.integers(0, 1 << 32, size=(draws, numbers), dtype=np.uint32)
        place = (random >> np.uint32(32 - _BITS)).astype(np.int32)
        place += np.arange(numbers, dtype=np.int32) << _BITS
        counts = count.ravel()[place]
        draw, number = np.nonzero(changes.ravel()[place])
        u = (random[draw, number] + 0.5) / 2.0**32
        counts[draw, number] = (self._chances[number] < u[:, None]).sum(axis=1)
        return counts

    def drawn(self, rng: Generator, draws: int) -> Floats:
        """Counts, a draw a row."""
        counts = np.empty((draws, len(self.n)))
        large = self.large
        z = rng.standard_normal((draws, int(large.sum())))
        spread, mean = np.sqrt(self.variance[large] - 1 / 12), self.n[large] * self.rare[large]  # rounding adds a twelfth
        bend = (1 - 2 * self.rare[large]) / 6
        counts[:, large] = np.rint(mean - bend + z * (spread + bend * z))
        counts[:, self.small] = self._exact(rng, draws)
        often = self.p > 0.5
        counts[:, often] = self.n[often] - counts[:, often]
        return counts
