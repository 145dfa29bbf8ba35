"""Sums of random outcomes and of random signs, drawn for the same rows again and again."""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness._types import Array, Floats, Generator, Ints

COINS = 32  # fair coins counted in the bits of one random number
_FULL = 1 << COINS
_NORMAL, _ABOUT_NORMAL = 16.0, 4.0  # variance from which a normal number, bent to the same skewness, stands for a count
_BITS = 10  # of a random number that mostly tell the count
_TABULATED = 1 << 12  # binomials that have a table
_FEW = 16  # trials on average that are drawn one by one where there is no table

Draws: TypeAlias = NDArray[np.float32]  # a draw a row: what single precision leaves out is far below what chance leaves open


def single(values: Array) -> Draws:
    """In single precision."""
    return values.astype(np.float32, copy=False)


def random_bits(rng: Generator, draws: int, numbers: int) -> Array:
    """So many times 32 random bits, a draw a row."""
    return rng.integers(0, _FULL, size=(draws, numbers), dtype=np.uint32)


def coin_sums(rng: Generator, coins: Array, scale: Floats, draws: int) -> Draws:
    """Sums of so many random signs, at most 32, times a scale; a draw a row."""
    mask = ((np.uint64(1) << coins.astype(np.uint64)) - np.uint64(1)).astype(np.uint32)
    bits = random_bits(rng, draws, len(coins))
    sums = np.multiply(np.bitwise_count(np.bitwise_and(bits, mask, out=bits)), single(2 * scale))
    sums -= single(coins * scale)
    return sums


def happened(rng: Generator, p: Floats, draws: int) -> Array:
    """Whether each event of this chance happens, a draw a row."""
    return np.asarray(random_bits(rng, draws, len(p)) < np.minimum(np.rint(p * _FULL), _FULL - 1).astype(np.uint32))


@dataclass(frozen=True, eq=False)
class Bent:
    """Sums of many small parts: normal numbers bent to their skewness.

    Among many others, of which several are put together again, a sum of 32 coins serves as a normal number; where `precise`,
    the number is normal itself.
    """

    spread: Floats
    skewness: Floats
    precise: bool

    def drawn(self, rng: Generator, draws: int) -> Draws:
        """Deviations from the mean."""
        if self.precise:
            z = rng.standard_normal((draws, len(self.spread)), dtype=np.float32)
        else:
            z = coin_sums(rng, np.full(len(self.spread), COINS), np.full(len(self.spread), COINS**-0.5), draws)
        if not self.skewness.any():
            return z * single(self.spread)
        narrowed = self.spread / np.sqrt(1 + self.skewness**2 / 18)  # γ/6·(z² − 1) adds γ²/18 to the variance
        return (single(self.skewness / 6) * (z * z - 1) + z) * single(narrowed)


class Binomials:
    """Binomial(n, p) − np for several n and p at once.

    Small counts are exact: a table tells the count from the first bits of a random number, unless these leave it open; then all
    its bits do. Large ones are normal with the skewness of the binomial; where `precise` they are rounded to whole numbers, as
    all counts are: a draw may equal what was observed.
    """

    def __init__(self, n: Floats, p: Floats, *, precise: bool = True) -> None:
        self.n, self.p, self.precise = n, p, precise
        self.rare = np.minimum(p, 1 - p)  # of the rarer of the two outcomes, which is what is drawn
        self.variance = n * p * (1 - p)
        large = self.variance >= (_NORMAL if precise else _ABOUT_NORMAL)
        self.large = np.flatnonzero(large)
        self.single = np.flatnonzero((n == 1) & (self.rare > 0))
        self.small = np.flatnonzero(~large & (n != 1) & (self.rare > 0))
        self._sign = np.where(p > 0.5, -1.0, 1.0)

    @cached_property
    def _chances(self) -> Floats:
        """P(count ≤ k) of each small one, [number, k], up to where nothing is left."""
        n, p = self.n[self.small], self.rare[self.small]
        most = int(np.max(n * p + 9 * np.sqrt(n * p * (1 - p)) + 9, initial=1.0))
        term = np.exp(n * np.log1p(-p))
        odds = p / (1 - p)
        chances = np.empty((len(n), most + 1))
        total = np.zeros(len(n))
        for k in range(most + 1):
            total += term
            chances[:, k] = total
            term *= odds * np.maximum(n - k, 0.0) / (k + 1)
        return chances

    @cached_property
    def _table(self) -> Array:
        """For each small one the count of each stretch of [0, 1); less than 0 where it changes within."""
        numbers, size = len(self.small), 1 << _BITS
        stretch = np.minimum((self._chances * size).astype(np.int64), size)
        begins = np.zeros((numbers, size + 1), dtype=np.int16)
        np.add.at(begins, (np.arange(numbers)[:, None], stretch), 1)
        counts = (np.cumsum(begins, axis=1, dtype=np.int16) - begins)[:, :size]
        counts[begins[:, :size] > 0] = -1
        return counts.ravel()

    def _from_table(self, rng: Generator, draws: int) -> Array:
        bits = random_bits(rng, draws, len(self.small))
        place = (bits >> np.uint32(32 - _BITS)).astype(np.int64)
        place += np.arange(len(self.small)) << _BITS
        counts = self._table.take(place)
        draw, number = np.nonzero(counts < 0)
        u = (bits[draw, number] + 0.5) / _FULL
        counts[draw, number] = (self._chances[number] < u[:, None]).sum(axis=1)
        return counts

    def _one_by_one(self, rng: Generator, draws: int) -> Array:
        """Trial by trial; where there are many trials as NumPy draws them."""
        n, p = self.n[self.small].astype(np.int64), self.rare[self.small]
        if n.sum() > _FEW * len(n):
            return rng.binomial(n, p, size=(draws, len(n)))
        return np.asarray(np.add.reduceat(happened(rng, np.repeat(p, n), draws), np.cumsum(n) - n, axis=1, dtype=np.int32))

    @cached_property
    def _bent(self) -> Bent:
        variance, rare = self.variance[self.large], self.rare[self.large]
        rounded = 1 / 12 if self.precise else 0.0  # what rounding adds
        return Bent(np.sqrt(variance - rounded), (1 - 2 * rare) / np.sqrt(variance), self.precise)

    def drawn(self, rng: Generator, draws: int) -> Draws:
        """Deviations from the mean."""
        deviations = np.zeros((draws, len(self.n)), dtype=np.float32)
        if len(self.single):
            self._put(deviations, self.single, happened(rng, self.rare[self.single], draws))
        if len(self.small):
            exact = self._from_table if len(self.small) <= _TABULATED else self._one_by_one
            self._put(deviations, self.small, exact(rng, draws))
        if len(self.large):
            large = self._bent.drawn(rng, draws)
            if self.precise:
                self._put(deviations, self.large, np.rint(large + (self.n * self.rare)[self.large]))
            else:
                _assign(deviations, self.large, large * single(self._sign[self.large]))
        return deviations

    def _put(self, deviations: Draws, places: Ints, counts: Array) -> None:
        """Counts of the rarer outcome as deviations from their mean."""
        sign, mean = self._sign[places], (self.n * self.rare)[places]
        if counts.dtype == np.float64:  # perhaps large numbers
            _assign(deviations, places, sign * (counts - mean))
        else:
            _assign(deviations, places, single(sign) * (counts - single(mean)))


class Signs:
    """Sums of residuals with random signs, a few kinds of rows a point: `counts` rows of a kind with this residual each.

    Where `precise` every kind is drawn, in coins, or as a normal number if there are more than 32; else one sum of as many
    coins as have the kurtosis of the whole.
    """

    def __init__(self, counts: list[Floats], residuals: list[Floats], *, precise: bool) -> None:
        self.counts, self.residuals, self.precise = counts, residuals, precise
        squares, fourths = (sum(n * r**power for n, r in zip(counts, residuals, strict=True)) for power in (2, 4))
        with np.errstate(divide="ignore", invalid="ignore"):
            coins = np.where(fourths > 0, squares**2 / fourths, 1.0)
        self._coins = np.clip(np.rint(coins), 1, COINS).astype(np.int64)
        self._scale = np.sqrt(squares / self._coins)

    def drawn(self, rng: Generator, draws: int) -> Draws:
        """The sums."""
        if not self.precise:
            return coin_sums(rng, self._coins, self._scale, draws)
        total = np.zeros((draws, len(self._coins)), dtype=np.float32)
        for count, residual in zip(self.counts, self.residuals, strict=True):
            few, many = np.flatnonzero((count > 0) & (count <= COINS)), np.flatnonzero(count > COINS)
            total[:, few] += coin_sums(rng, count[few].astype(np.int64), residual[few], draws)
            spread = np.sqrt(count[many]) * np.abs(residual[many])
            total[:, many] += Bent(spread, np.zeros(len(many)), precise=True).drawn(rng, draws)
        return total


def _assign(columns: Array, places: Ints, values: Array) -> None:
    """Values of some columns; of all in one go."""
    columns[:, slice(None) if len(places) == columns.shape[1] else places] = values
