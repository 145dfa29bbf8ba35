"""Resampling outcomes as if every prediction were right: simulated p-values and the noise floor, for many metrics at once."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from trueness._types import Array, Floats, Generator, Seeds
from trueness.data.points import FEW_EQUAL, FEW_EVENTS, FEW_SCORES, LARGE_JUMP, Points
from trueness.data.sample import Sample
from trueness.engines.arrays.workers import in_order
from trueness.errors import InputError
from trueness.metrics.drawing import Noise, Norm, Partition
from trueness.metrics.registry import BoundMetric

Progress = Callable[[int, int], None]  # draws done, draws in all

FEW_ROWS = 1000
FEW_CLUSTERS = 20  # below this p is approximate
_BLOCK = 1 << 19  # random numbers held at a time by a thread
_NODES = 512  # at which even few points may be looked at
_MANY_EVENTS = 500  # below this the law's mean is more than about 1 % off
_FINE = 4096  # points at which reading C there or everywhere differs by less than the noise floor's 2 %
# Of the draws' spread, and of the value: what falls short of it by so little has reached it.
_SAME, ROUNDING = 1e-5, 2e-6

_NOTHING: Floats = np.zeros(0)

SOFT = (
    "soft labels are probabilities, not events: outcomes cannot be drawn from the predictions. "
    "Test with statistic 'ecce_r' or 'ecce_mad'."
)


class Regime(NamedTuple):
    """Whether the limit laws hold well enough, and why or why not."""

    asymptotic: bool
    reason: str


def regime(points: Points) -> Regime:
    """The rule by which a test chooses its method."""
    if points.clustered is not None:
        return Regime(False, flipped(points, points.clustered.count))
    what = "distinct scores" if points.kind == "rows" else "cells with rows"
    if points.events < FEW_EVENTS:
        return Regime(False, f"few events: their variance is {points.events:.3g}, below {FEW_EVENTS}")
    if points.n < FEW_ROWS:
        return Regime(False, f"few rows: {points.n}, below {FEW_ROWS}")
    if len(points.score) < FEW_SCORES:
        return Regime(False, f"few {what}: {len(points.score)}, below {FEW_SCORES}")
    if points.spread < FEW_EQUAL:
        return Regime(False, f"few {what} that matter: as good as {points.spread:.3g} of equal variance, below {FEW_EQUAL}")
    if points.jump > LARGE_JUMP:
        return Regime(False, f"one row may move the whole by {points.jump:.2g} of its noise, above {LARGE_JUMP}")
    return Regime(True, f"{points.n} rows, {len(points.score)} {what}, variance of events {points.events:.3g}")


def flipped(points: Points, clusters: int) -> str:
    """What changes sign in a draw, in words."""
    what = "clusters" if points.kind == "rows" else "buckets of clusters"
    few = "" if clusters >= FEW_CLUSTERS else f", below {FEW_CLUSTERS}: approximate"
    return f"{clusters} {what} flipped whole{few}"


class Needs(NamedTuple):
    """Kinds of draws: the metric under calibration; for intervals norms of the same draws, and of flipped residuals."""

    null: bool = True
    norms: bool = False
    flips: bool = False

    @property
    def outcomes(self) -> bool:
        """Whether outcomes are drawn as predicted."""
        return self.null or self.norms


class Drawn(NamedTuple):
    """Draws of one metric on the points they were made from; empty where none were asked for."""

    points: Points
    observed: float  # the metric by the same functional as the draws, or where it is smooth the value itself
    null: Floats  # the metric under calibration
    noise: Noise
    norm: Norm | None  # the norm behind the noise
    perfect: Floats  # the metric behind the noise floor: with clusters nothing that is off in all of them is in it

    def pvalue(self) -> float:
        """Share of draws that reach the observed value, itself counted."""
        if math.isnan(self.observed) or np.isnan(self.null).any():
            raise RuntimeError("a draw or the observed value is not a number")
        reached = self.observed - max(_SAME * float(self.null.std()), ROUNDING * abs(self.observed))
        return (1 + int(np.count_nonzero(self.null >= reached))) / (1 + len(self.null))


class _Part(NamedTuple):
    """What is kept of a batch of draws of one metric."""

    null: Floats
    norms: Floats
    flips: Floats
    perfect: Floats


class _Tally:
    """What is kept of the draws of one metric."""

    def __init__(
        self, bound: BoundMetric, value: float, base: Points, points: Points, partition: Partition | None, needs: Needs
    ) -> None:
        self.needs = needs
        self._points = points
        self._norm = bound.norm(points, partition) if needs.norms or needs.flips else None
        if self._norm is not None:
            self._norm.base = base
        follows = self._norm is not None and self._norm.gives_metric
        self._statistic = None if not needs.null else self._norm if follows else bound.statistic(points, partition)
        self._observed, smooth = value, bound.metric.drawing.is_smooth
        if self._statistic is not None and (base.may_tie or not smooth):
            seen = bound.read_on(points, base)
            statistic = self._statistic if seen is points else bound.statistic(seen, None)
            observed = float(statistic.of(seen.e[None, :])[0])
            # Draws of a smooth metric are read a little too high where a curve turns flat: a draw that ties must reach it.
            self._observed = min(value, observed) if smooth else observed
        once = np.random.default_rng(0)
        self.part(points.e[None, :], points.e[None, :], once)  # what draws share is made once, before there are threads

    def part(self, outcomes: Array | None, flips: Array | None, rng: Generator) -> _Part:
        """Draws under calibration and with random signs; norms from which the metric follows are not worked out twice."""
        norms = null = flipped = _NOTHING
        if self._norm is not None and self.needs.norms and outcomes is not None:
            norms = self._norm.limiting_noise(outcomes, rng)
            null = self._norm.metric_of(norms) if self._statistic is self._norm else _NOTHING
        if self._statistic is not None and outcomes is not None and not len(null):
            null = self._statistic.of(outcomes)
        if self._norm is not None and self.needs.flips and flips is not None:
            flipped = self._norm.limiting_noise(flips, rng)
        perfect = null
        if self._points.clustered is not None and self._statistic is not None and flips is not None:
            perfect = self._statistic.of(flips)
        return _Part(null, norms, flipped, perfect)

    def drawn(self, parts: Sequence[_Part]) -> Drawn:
        """All of them."""
        null, norms, flips, perfect = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Drawn(self._points, self._observed, null, Noise(norms, flips), self._norm, perfect)


def _batches_of(points: Points, draws: int) -> list[int]:
    """How many draws are made at a time: as many as a thread holds, whatever the number of threads."""
    size = max(1, _BLOCK // max(points.sampler.width, len(points.score), _NODES))
    return [min(size, draws - start) for start in range(0, draws, size)]


class _Batches:
    """Draws of the metrics that share their points, some at a time; a batch has a seed of its own."""

    def __init__(self, points: Points, tallies: list[_Tally], stream: Seeds, draws: int) -> None:
        self._sizes = _batches_of(points, draws)
        self._seeds = stream.spawn(len(self._sizes))
        self._sampler, self._tallies = points.sampler, tallies
        self._outcomes = any(tally.needs.outcomes for tally in tallies)
        self._flips = any(tally.needs.flips or (points.clustered is not None and tally.needs.null) for tally in tallies)

    def drawn(self, told: Callable[[int], None] | None) -> list[Drawn]:
        """The draws of each metric; `told` is told how many are done."""
        batches, done = [], 0
        for batch, size in zip(in_order(self._batch, len(self._sizes)), self._sizes, strict=True):
            batches.append(batch)
            done += size
            if told is not None:
                told(done)
        return [tally.drawn(parts) for tally, parts in zip(self._tallies, zip(*batches, strict=True), strict=True)]

    def _batch(self, number: int) -> list[_Part]:
        for_outcomes, for_flips, besides = (np.random.default_rng(child) for child in self._seeds[number].spawn(3))
        outcomes = self._sampler.null(for_outcomes, self._sizes[number]) if self._outcomes else None
        flips = self._sampler.flips(for_flips, self._sizes[number]) if self._flips else None
        return [tally.part(outcomes, flips, besides) for tally in self._tallies]


class Resampling:
    """Draws of several metrics in one pass: ECCE on some thousand groups of neighbours, all else on as few as will do."""

    def __init__(self, sample: Sample, metrics: Sequence[BoundMetric], *, frequency: bool = False) -> None:
        self.sample = sample
        self.frequency = frequency
        self.metrics = list(metrics)
        self.values = [each.value(sample) for each in metrics]
        rows = any(each.needs_rows or (each.is_fine and sample.has_rows) for each in metrics)
        bins = tuple(sorted({each.bins for each in metrics if each.bins is not None and not each.needs_rows}))
        self.base = sample.points(rows=rows, bins=bins, frequency=frequency)
        self.regime = regime(self.base)
        self._partitions = [each.partition(self.base) for each in metrics]
        kernels = [each for each in metrics if each.law is None]
        even = not all(each.metric.drawing.by_cuts for each in kernels)
        self._groups = self.base.groups([cut for each in kernels for cut in each.cuts(self.base)], even=even)

    @cached_property
    def _coarse(self) -> Points:
        """Groups of neighbours, as fine as the metrics need that have no law."""
        return self.base.merged(self._groups)

    @cached_property
    def _fine(self) -> Points:
        """Points that keep the order of scores: some thousand groups at most."""
        return self.base.merged(self.base.groups([], least=_FINE))

    def draw(self, seed: int, draws: int, needs: Sequence[Needs | None], progress: Progress | None = None) -> dict[int, Drawn]:
        """Draws of each metric, by its place, of the kinds it needs; None: no draws."""
        places = [i for i, each in enumerate(needs) if each is not None]
        ordered = [i for i in places if self.metrics[i].law is not None]
        others = [i for i in places if self.metrics[i].law is None]
        streams = np.random.SeedSequence(seed).spawn(2)
        parts = [(part, stream) for part, stream in zip((ordered, others), streams, strict=True) if part]
        results: dict[int, Drawn] = {}
        for number, (part, stream) in enumerate(parts):
            points = self._fine if part is ordered else self._coarse
            tallies = [self._tally(i, points, needs[i] or Needs()) for i in part]
            batches = _Batches(points, tallies, stream, draws)
            told = None if progress is None else partial(_tell, progress, number * draws, len(parts) * draws)
            results |= dict(zip(part, batches.drawn(told), strict=True))
        return results

    def _tally(self, place: int, points: Points, needs: Needs) -> _Tally:
        partition = self._partitions[place]
        if partition is not None and points is not self.base:
            partition = partition.restricted(self._groups)
        return _Tally(self.metrics[place], self.values[place], self.base, points, partition, needs)

    def uses_law(self, bound: BoundMetric) -> bool:
        """Whether a metric's limit law stands for its draws."""
        many = len(self.base.score) > _FINE and self.base.events > _MANY_EVENTS
        return bound.law is not None and self.regime.asymptotic and many


def null_draws(
    points: Points, statistics: Callable[[Array], list[Floats]], seed: int, draws: int, progress: Progress | None = None
) -> list[Floats]:
    """Each statistic of what was observed, first, and of outcomes drawn as predicted: the same draws for all."""
    sizes = _batches_of(points, draws)
    seeds = np.random.SeedSequence(seed).spawn(len(sizes))
    parts = [statistics(points.e[None, :])]  # what draws share is made here, before there are threads

    def batch(number: int) -> list[Floats]:
        return statistics(points.sampler.null(np.random.default_rng(seeds[number]), sizes[number]))

    for number, part in enumerate(in_order(batch, len(sizes))):
        parts.append(part)
        if progress is not None:
            progress(sum(sizes[: number + 1]), draws)
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def _tell(progress: Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total)


def settled(value: float) -> float:
    """Twelve digits of a simulated number: the last bits of matrix products depend on how many threads made them."""
    return float(f"{value:.12g}")


def refuse_soft(points: Points, what: str) -> None:
    """Nothing can be drawn for soft labels."""
    if points.soft:
        raise InputError(f"{what}: {SOFT}")
