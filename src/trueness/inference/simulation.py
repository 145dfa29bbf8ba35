"""Resampling outcomes as if every prediction were right: simulated p-values and the noise floor, for many metrics at once."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from trueness._types import Floats, Ints
from trueness.data.points import FEW_EVENTS, FEW_SCORES, LARGE_JUMP, ROWS, Points, Rng, points_of, points_of_rows
from trueness.data.sample import RowData, as_data
from trueness.errors import InputError
from trueness.inference.requests import Request
from trueness.metrics.statistics import SmoothStatistic
from trueness.options import check_count, check_seed
from trueness.summary.summary import Summary

Progress = Callable[[int, int], None]  # draws done, draws in all

FEW_ROWS = 1000
_BLOCK = 1 << 20  # random numbers held at a time
_NODES = 4096  # nodes at which a draw may be looked at: few draws at a time stay in cache
_MANY_EVENTS = 500  # below this the law's mean is more than about 1 % off
_FINE = 4096  # points at which reading C there or everywhere differs by less than the noise floor's 2 %
_SAME = 1 - 1e-12  # draws equal to the observed value but for rounding count as reaching it
MEAN_OF_LAW = {"ecce_mad": math.sqrt(math.pi / 2), "ecce_r": math.sqrt(8 / math.pi)}

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


class Drawn(NamedTuple):
    """Draws of one metric on the points they were made from; empty where none were asked for."""

    points: Points
    observed: float  # the metric by the same functional as the draws
    null: Floats  # the metric under calibration
    null_norms: Floats  # norms of the same draws, [draw] or [draw, bandwidth]
    flip_norms: Floats  # norms of residuals with random signs
    norm: Any  # the statistic behind the norms

    def pvalue(self) -> float:
        """Share of draws that reach the observed value, itself counted."""
        if math.isnan(self.observed) or np.isnan(self.null).any():
            raise RuntimeError("a draw or the observed value is not a number")
        return (1 + int(np.count_nonzero(self.null >= self.observed * _SAME))) / (1 + len(self.null))


class Wanted(NamedTuple):
    """Kinds of draws: the metric under calibration; what intervals need, norms of the same draws and of flipped residuals."""

    null: bool = True
    norms: bool = False
    flips: bool = False

    @property
    def passes(self) -> int:
        """How many times draws are made."""
        return (self.null or self.norms) + self.flips


class _Tally:
    """The draws of one metric as they come."""

    def __init__(self, request: Request, points: Points, bins: tuple[Ints, Floats] | None, wanted: Wanted) -> None:
        self.points = points
        self.wanted = wanted
        self.metric = request.statistic(points, bins)
        self.norm = request.noise_statistic(points, bins) if wanted.norms or wanted.flips else None
        self._null: list[Floats] = []
        self._null_norms: list[Floats] = []
        self._flip_norms: list[Floats] = []

    def add_null(self, e: Floats) -> None:
        """Draws under calibration; SmoothECE's fixed points follow from norms that are there already."""
        norms = self.norm.noise(e) if self.wanted.norms and self.norm is not None else None
        if norms is not None:
            self._null_norms.append(norms)
        if self.wanted.null:
            known = norms is not None and isinstance(self.metric, SmoothStatistic)
            self._null.append(self.metric.from_norms(norms) if known else self.metric.of(e))

    def add_flips(self, e: Floats) -> None:
        """Residuals with random signs."""
        if self.norm is not None:
            self._flip_norms.append(self.norm.noise(e))

    def drawn(self) -> Drawn:
        """All of them."""
        observed = float(self.metric.of(self.points.e[None, :])[0]) if self.wanted.null else math.nan
        null, null_norms, flips = (
            np.concatenate(blocks) if blocks else np.zeros(0) for blocks in (self._null, self._null_norms, self._flip_norms)
        )
        return Drawn(self.points, observed, null, null_norms, flips, self.norm)


class Resampling:
    """Draws of several metrics in one pass: ECCE on every distinct score of few rows, all else on groups of neighbours."""

    def __init__(self, data: RowData | Summary, requests: Sequence[Request], *, frequency: bool = False) -> None:
        self.data = data
        self.frequency = frequency
        self.requests = list(requests)
        rows = any(request.needs_rows or (request.fine and isinstance(data, RowData)) for request in requests)
        bins = tuple(sorted({request.bins for request in requests if request.binned and not request.needs_rows}))
        if frequency and isinstance(data, RowData):
            self.base = points_of_rows(data, frequency=True)
        else:
            self.base = points_of(data, rows=rows, bins=bins)
        self.regime = regime(self.base)
        self._bins = [request.bin_of(self.base) for request in requests]
        self._groups = self.base.groups([cut for request in requests for cut in request.cuts(self.base)])
        self._coarse = self.base.merged(self._groups)
        self._fine = self.base if self.base.kind == "rows" and self.base.n <= ROWS else self._coarse

    def draw(
        self, seed: int, draws: int, wanted: Wanted, *, skip: frozenset[int] = frozenset(), progress: Progress | None = None
    ) -> dict[int, Drawn]:
        """Draws of each request, by its place; `skip` names places to leave out."""
        places = [i for i in range(len(self.requests)) if i not in skip]
        ordered = [i for i in places if self.requests[i].cumulative and self._fine is not self._coarse]
        parts = [(self._fine, ordered), (self._coarse, [i for i in places if i not in ordered])]
        ticks = _Ticks(draws * wanted.passes * sum(bool(which) for _, which in parts), progress)
        found: dict[int, Drawn] = {}
        for stream, (points, which) in zip(np.random.SeedSequence(seed).spawn(2), parts, strict=True):
            if not which:
                continue
            tallies = {i: _Tally(self.requests[i], points, self._bins_on(points, i), wanted) for i in which}
            for_null, for_flips = (np.random.default_rng(child) for child in stream.spawn(2))
            if wanted.null or wanted.norms:
                for e in ticks.over(_blocks(points, for_null, draws, points.sampler.null)):
                    for tally in tallies.values():
                        tally.add_null(e)
            if wanted.flips:
                for e in ticks.over(_blocks(points, for_flips, draws, points.sampler.flips)):
                    for tally in tallies.values():
                        tally.add_flips(e)
            found |= {i: tally.drawn() for i, tally in tallies.items()}
        return found

    def _bins_on(self, points: Points, place: int) -> tuple[Ints, Floats] | None:
        bins = self._bins[place]
        return bins if bins is None or points is self.base else (bins[0][self._groups], bins[1])


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


def _blocks(points: Points, rng: Rng, draws: int, draw: Callable[[Rng, int], Floats]) -> Iterator[Floats]:
    size = max(1, _BLOCK // max(points.sampler.width, len(points.score), _NODES))
    for start in range(0, draws, size):
        yield draw(rng, min(size, draws - start))


def floor_of(request: Request, drawn: Drawn | None, resampling: Resampling) -> float:
    """Mean under calibration: of the draws, or for ECCE with many points of its limit law."""
    if uses_law(request, resampling):
        return MEAN_OF_LAW[request.name] * math.sqrt(float(resampling.base.binomial.sum())) / resampling.base.total
    if drawn is None:
        raise RuntimeError("no draws were made")
    return settled(max(float(drawn.null.mean()), 0.0))


def settled(value: float) -> float:
    """Twelve digits of a simulated number: the last bits of matrix products depend on how many threads made them."""
    return float(f"{value:.12g}")


def uses_law(request: Request, resampling: Resampling) -> bool:
    """Whether a metric's limit law stands for its draws."""
    points = resampling.base
    return request.cumulative and resampling.regime.asymptotic and len(points.score) > _FINE and points.events > _MANY_EVENTS


def refuse_soft(points: Points, what: str) -> None:
    """Nothing can be drawn for soft labels."""
    if points.soft:
        raise InputError(f"{what}: {SOFT}")


def noise_floor(
    y_true: Any,
    y_prob: Any = None,
    *,
    metric: str = "smooth_ece",
    options: Any = None,
    resamples: int = 1999,
    rng: Any = None,
    sample_weight: Any = None,
    progress: Progress | None = None,
) -> float:
    r"""What a metric would be on average if the predictions were perfect.

    .. math:: \mathrm E\,T(y^*, f), \qquad y^*_i \sim \mathrm{Bernoulli}(f_i)

    at these scores and this number of rows. A finite sample of a perfect model has a positive calibration error: a value
    near the floor is no evidence of anything wrong. For ECCE with many rows it is the mean of its limit law,
    :math:`\sqrt{\pi/2}\,\sigma_n` (MAD) or :math:`\sqrt{8/\pi}\,\sigma_n` (range).

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, or a summary in place of both arrays. Soft labels have no floor: they are not events.
    y_prob : array-like
        Predicted probabilities.
    metric : str
        Name of a metric.
    options : mapping, optional
        The metric's options, for example ``{"bins": 20}``.
    resamples : int
        Draws of the outcomes.
    rng : None, int or numpy Generator
        Randomness; pass a seed for the same figure again.
    sample_weight : array-like, optional
        Weights ≥ 0.
    progress : callable, optional
        Called with the draws done and the draws in all.

    Returns
    -------
    float

    Examples
    --------
    >>> from trueness.demo import make_demo
    >>> y_true, y_prob, _ = make_demo()
    >>> round(noise_floor(y_true, y_prob, rng=0), 3)
    0.011
    """
    request = Request(metric, options, what="metric")
    resamples, seed = check_count("resamples", resamples), check_seed(rng)
    data = as_data(y_true, y_prob, sample_weight)
    request.value(data)  # the metric checks its options
    resampling = Resampling(data, [request])
    refuse_soft(resampling.base, "noise_floor")
    if uses_law(request, resampling):
        return floor_of(request, None, resampling)
    return floor_of(request, resampling.draw(seed, resamples, Wanted(), progress=progress)[0], resampling)


__all__ = ["Progress", "Resampling", "Wanted", "noise_floor"]
