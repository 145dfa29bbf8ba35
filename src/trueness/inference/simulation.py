"""Resampling outcomes as if every prediction were right: simulated p-values and the noise floor, for many metrics at once."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from trueness._types import Floats
from trueness.data.points import FEW_EVENTS, FEW_SCORES, LARGE_JUMP, ROWS, Generator, Points
from trueness.data.sample import Sample
from trueness.errors import InputError
from trueness.metrics.drawing import Noise, Norm, Partition
from trueness.metrics.registry import BoundMetric

Progress = Callable[[int, int], None]  # draws done, draws in all

FEW_ROWS = 1000
_BLOCK = 1 << 20  # random numbers held at a time
_NODES = 4096  # nodes at which a draw may be looked at: few draws at a time stay in cache
_MANY_EVENTS = 500  # below this the law's mean is more than about 1 % off
_FINE = 4096  # points at which reading C there or everywhere differs by less than the noise floor's 2 %
_SAME = 1 - 1e-12  # draws equal to the observed value but for rounding count as reaching it

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
    what = "distinct scores" if points.kind == "rows" else "cells with rows"
    if points.events < FEW_EVENTS:
        return Regime(False, f"few events: their variance is {points.events:.3g}, below {FEW_EVENTS}")
    if points.n < FEW_ROWS:
        return Regime(False, f"few rows: {points.n}, below {FEW_ROWS}")
    if len(points.score) < FEW_SCORES:
        return Regime(False, f"few {what}: {len(points.score)}, below {FEW_SCORES}")
    if points.jump > LARGE_JUMP:
        return Regime(False, f"one row may move the whole by {points.jump:.2g} of its noise, above {LARGE_JUMP}")
    return Regime(True, f"{points.n} rows, {len(points.score)} {what}, variance of events {points.events:.3g}")


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
    observed: float  # the metric by the same functional as the draws
    null: Floats  # the metric under calibration
    noise: Noise
    norm: Norm | None  # the norm behind the noise

    def pvalue(self) -> float:
        """Share of draws that reach the observed value, itself counted."""
        if math.isnan(self.observed) or np.isnan(self.null).any():
            raise RuntimeError("a draw or the observed value is not a number")
        return (1 + int(np.count_nonzero(self.null >= self.observed * _SAME))) / (1 + len(self.null))


class _Tally:
    """The draws of one metric as they come."""

    def __init__(self, bound: BoundMetric, points: Points, partition: Partition | None, needs: Needs) -> None:
        self.points = points
        self.needs = needs
        self._bound, self._partition = bound, partition
        self._norm = bound.norm(points, partition) if needs.norms or needs.flips else None
        self._statistic: Callable[[Floats], Floats] | None = None
        self._null: list[Floats] = []
        self._null_norms: list[Floats] = []
        self._flip_norms: list[Floats] = []

    def add_outcomes(self, e: Floats) -> None:
        """Draws under calibration; where the metric follows from norms, these are not worked out twice."""
        norms = self._norm.noise(e) if self.needs.norms and self._norm is not None else None
        if norms is not None:
            self._null_norms.append(norms)
        if self.needs.null:
            metric = None if norms is None or self._norm is None else self._norm.metric_of(norms)
            self._null.append(self._of(e) if metric is None else metric)

    def add_flips(self, e: Floats) -> None:
        """Residuals with random signs."""
        if self._norm is not None:
            self._flip_norms.append(self._norm.noise(e))

    def _of(self, e: Floats) -> Floats:
        if self._statistic is None:
            self._statistic = self._bound.statistic(self.points, self._partition).of
        return self._statistic(e)

    def _observed(self) -> float:
        e = self.points.e[None, :]
        metric = None if self._norm is None else self._norm.metric_of(self._norm.noise(e))
        return float((self._of(e) if metric is None else metric)[0])

    def drawn(self) -> Drawn:
        """All of them."""
        null, null_norms, flips = (
            np.concatenate(blocks) if blocks else np.zeros(0) for blocks in (self._null, self._null_norms, self._flip_norms)
        )
        observed = self._observed() if self.needs.null else math.nan
        return Drawn(self.points, observed, null, Noise(null_norms, flips), self._norm)


class Resampling:
    """Draws of several metrics in one pass: ECCE on every distinct score of few rows, all else on groups of neighbours."""

    def __init__(self, sample: Sample, metrics: Sequence[BoundMetric], *, frequency: bool = False) -> None:
        self.sample = sample
        self.frequency = frequency
        self.metrics = list(metrics)
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
        """Points that keep the order of scores: all of few rows, else some thousand groups."""
        few = self.base.kind == "rows" and self.base.n <= ROWS
        return self.base if few else self.base.merged(self.base.groups([]))

    def draw(self, seed: int, draws: int, needs: Sequence[Needs | None], progress: Progress | None = None) -> dict[int, Drawn]:
        """Draws of each metric, by its place, of the kinds it needs; None: no draws."""
        places = [i for i, each in enumerate(needs) if each is not None]
        ordered = [i for i in places if self.metrics[i].law is not None]
        others = [i for i in places if self.metrics[i].law is None]
        ticks = _Ticks(draws * sum(_passes([needs[i] for i in part]) for part in (ordered, others)), progress)
        results: dict[int, Drawn] = {}
        for stream, part in zip(np.random.SeedSequence(seed).spawn(2), (ordered, others), strict=True):
            if not part:
                continue
            points = self._fine if part is ordered else self._coarse
            tallies = {i: _Tally(self.metrics[i], points, self._partition(points, i), needs[i] or Needs()) for i in part}
            for_null, for_flips = (np.random.default_rng(child) for child in stream.spawn(2))
            under_null = [tally for tally in tallies.values() if tally.needs.outcomes]
            for e in ticks.over(_blocks(points, for_null, draws, points.sampler.null)) if under_null else ():
                for tally in under_null:
                    tally.add_outcomes(e)
            flipped = [tally for tally in tallies.values() if tally.needs.flips]
            for e in ticks.over(_blocks(points, for_flips, draws, points.sampler.flips)) if flipped else ():
                for tally in flipped:
                    tally.add_flips(e)
            results |= {i: tally.drawn() for i, tally in tallies.items()}
        return results

    def _partition(self, points: Points, place: int) -> Partition | None:
        partition = self._partitions[place]
        return partition if partition is None or points is self.base else partition.restricted(self._groups)

    def uses_law(self, bound: BoundMetric) -> bool:
        """Whether a metric's limit law stands for its draws."""
        many = len(self.base.score) > _FINE and self.base.events > _MANY_EVENTS
        return bound.law is not None and self.regime.asymptotic and many


def _passes(needs: Sequence[Needs | None]) -> int:
    """How many times draws are made."""
    return any(each is not None and each.outcomes for each in needs) + any(each is not None and each.flips for each in needs)


class _Ticks:
    """Tells how many draws are done."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.total, self.done, self.progress = total, 0, progress

    def over(self, blocks: Iterator[Floats]) -> Iterator[Floats]:
        """The blocks, each counted when it has been worked on."""
        for block in blocks:
            yield block
            self.done += len(block)
            if self.progress is not None:
                self.progress(self.done, self.total)


def _blocks(points: Points, rng: Generator, draws: int, draw: Callable[[Generator, int], Floats]) -> Iterator[Floats]:
    size = max(1, _BLOCK // max(points.sampler.width, len(points.score), _NODES))
    for start in range(0, draws, size):
        yield draw(rng, min(size, draws - start))


def settled(value: float) -> float:
    """Twelve digits of a simulated number: the last bits of matrix products depend on how many threads made them."""
    return float(f"{value:.12g}")


def refuse_soft(points: Points, what: str) -> None:
    """Nothing can be drawn for soft labels."""
    if points.soft:
        raise InputError(f"{what}: {SOFT}")
