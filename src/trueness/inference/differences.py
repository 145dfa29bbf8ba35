"""Which of several predictors is off by less: intervals for differences on the same rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from trueness._json import plain
from trueness._types import Rng
from trueness.data.pair import Pair, cells_of, pair_of
from trueness.data.row_sample import RowSample
from trueness.errors import InputError
from trueness.inference.evidence import DEFAULT
from trueness.inference.groups import holm
from trueness.inference.intervals import few_rows
from trueness.inference.mean_gaps import Losses, MeanGap
from trueness.inference.separate_intervals import SeparateInterval, separate_intervals
from trueness.inference.simulation import Progress, settled
from trueness.metrics.contrast import Lead
from trueness.metrics.drawing import normal_quantile
from trueness.metrics.registry import BoundMetric, bind
from trueness.metrics.scores import log_losses, square_losses
from trueness.options import check_level, check_seed

SCORES = {"brier_score": square_losses, "log_loss": log_losses}
_HALVINGS, _LARGEST_ALPHA = 24, 0.999  # of a search for a p-value


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How much larger a metric is for predictor a than for predictor b, with the range the data allow."""

    metric: str
    a: str
    b: str
    value_a: float
    value_b: float
    low: float  # NaN where there is no interval
    high: float
    level: float
    pvalue: float  # of no difference; NaN where there is no interval
    adjusted_pvalue: float  # Holm's, over all differences of one comparison
    method: str

    @property
    def value(self) -> float:
        """The difference of the two values."""
        return self.value_a - self.value_b

    @property
    def distinguishable(self) -> bool:
        """Whether the adjusted p-value is below what the level leaves."""
        return self.adjusted_pvalue < 1 - self.level

    def __repr__(self) -> str:
        start = f"{self.metric}: {self.a} − {self.b} = {self.value:.4g}"
        if math.isnan(self.low):
            return f"{start}, no interval ({self.method})"
        words = f"{start}, {self.level:.4g} interval {self.low:.4g} to {self.high:.4g}, p = {self.pvalue:.2g}"
        return words if self.distinguishable else f"{words}: not distinguishable"

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary; None where a number is not finite."""
        fields = asdict(self) | {"value": self.value, "distinguishable": self.distinguishable}
        return {name: plain(value) for name, value in fields.items()}


class _Found(NamedTuple):
    """An interval and the logarithm of its p-value."""

    low: float
    high: float
    log10_pvalue: float  # NaN where there is none
    method: str


def differences(
    predictions: Mapping[str, RowSample],
    *,
    metrics: Sequence[str] = (*DEFAULT, *SCORES),
    level: float = 0.95,
    rng: Rng = None,
    progress: Progress | None = None,
) -> list[Difference]:
    """Every metric's difference for every pair of predictors on the same rows, each with an interval of its own level.

    Errors that are norms get limits for pairs (`trueness.metrics.contrast`), others [L_a − U_b, U_a − L_b] from two intervals
    whose errors add up to that of the level. Scores are means over rows. Every p-value is dual to its interval.
    """
    alpha, seed = 1 - check_level(level), check_seed(rng)
    if len(predictions) < 2:
        raise InputError(f"predictions: {len(predictions)} given. Pass at least two predictors to compare.")
    bound = {name: bind(name, None, what="metrics") for name in metrics if name not in SCORES}
    for each in bound.values():
        each.require_interval()
    errors = _Errors(predictions, list(bound.values()), alpha, seed, progress)
    losses = {
        metric: {name: Losses(SCORES[metric], data) for name, data in predictions.items()}
        for metric in metrics
        if metric in SCORES
    }
    found: list[tuple[dict[str, Any], _Found]] = []
    for metric in metrics:
        for a, b in combinations(predictions, 2):
            pair = {"metric": metric, "a": a, "b": b}
            if metric in SCORES:
                gap = MeanGap(losses[metric][a], losses[metric][b])
                values, interval = gap.values, _of_scores(gap, alpha)
            else:
                values = errors.values(metric, a, b)
                interval = errors.found(metric, a, b)
            found.append((pair | {"value_a": values[0], "value_b": values[1]}, interval))
    adjusted = iter(holm([each.log10_pvalue for _, each in found if not math.isnan(each.log10_pvalue)]))
    return [
        Difference(
            **fields,
            low=each.low,
            high=each.high,
            level=round(1 - alpha, 12),
            pvalue=_power(each.log10_pvalue),
            adjusted_pvalue=math.nan if math.isnan(each.log10_pvalue) else _power(next(adjusted)),
            method=each.method,
        )
        for fields, each in found
    ]


def _power(log10_pvalue: float) -> float:
    """p; 0 only where that is certain."""
    if log10_pvalue == -math.inf or math.isnan(log10_pvalue):
        return 0.0 if log10_pvalue < 0 else math.nan
    return settled(max(10.0**log10_pvalue, 5e-324))


def _no_interval(reason: str) -> _Found:
    return _Found(math.nan, math.nan, math.nan, reason)


def _of_scores(gap: MeanGap, alpha: float) -> _Found:
    if not math.isfinite(gap.value):
        certain = math.nan if math.isnan(gap.value) else -math.inf
        return _Found(gap.value, gap.value, certain, "an event of predicted probability 0 was observed")
    if gap.same:
        return _SAME
    return _no_interval(gap.refusal) if gap.refusal else _dual(*gap.bounds(), alpha, gap.method)


def _dual(forth: Lead, back: Lead, alpha: float, method: str) -> _Found:
    """The interval from both sides' upper limits, and the p-value at which it would begin or end at 0."""
    z = normal_quantile(alpha / 2)
    low, high = settled(-back.upper(z)), settled(forth.upper(z))
    return _Found(low, high, _log10_two_sided(max(forth.z, back.z)), method)


def _log10_two_sided(z: float) -> float:
    from scipy.special import log_ndtr

    return min(float(log_ndtr(-z) + math.log(2)) / math.log(10), 0.0)


_SAME = _Found(0.0, 0.0, 0.0, "the same predictions")


class _Errors:
    """Differences of calibration errors: what is needed of each predictor once, and of each pair."""

    def __init__(
        self,
        predictions: Mapping[str, RowSample],
        metrics: list[BoundMetric],
        alpha: float,
        seed: int,
        progress: Progress | None,
    ) -> None:
        self._predictions, self._alpha = predictions, alpha
        self._bound = {each.name: each for each in metrics}
        self._places = {name: place for place, name in enumerate(predictions)}
        self._pairs: dict[tuple[str, str], Pair] = {}
        self._cells = cells_of(list(predictions.values()), [each.bins for each in metrics if each.bins]) if metrics else None
        self._contrasts = {
            each.name: each.metric.drawing.contrast(self._cells.score, each.options) for each in metrics if self._cells
        }
        seeds = np.random.SeedSequence(seed).generate_state(len(predictions), np.uint64) >> np.uint64(1)
        apart = [each for each in metrics if (contrast := self._contrasts[each.name]) is None or not contrast.alone]
        self._values: dict[str, dict[str, float]] = {}
        self._separate: dict[str, dict[str, SeparateInterval]] = {}
        for place, (name, data) in enumerate(predictions.items()):
            self._values[name] = {each.name: each.value(data) for each in metrics if each not in apart}
            self._separate[name] = separate_intervals(data, apart, alpha, int(seeds[place]))
            self._values[name] |= {metric: each.value for metric, each in self._separate[name].items()}
            if progress is not None:
                progress(place + 1, len(predictions))

    def values(self, metric: str, a: str, b: str) -> tuple[float, float]:
        """The metric of both."""
        return self._values[a][metric], self._values[b][metric]

    def found(self, metric: str, a: str, b: str) -> _Found:
        """The difference of a metric."""
        first, second = self._predictions[a], self._predictions[b]
        few = few_rows(self._bound[metric], first)
        if few is not None:
            return _no_interval(few)
        if np.array_equal(first.arrays.f, second.arrays.f):
            return _SAME
        contrast = self._contrasts[metric]
        if contrast is None:
            return self._box(metric, a, b, self._alpha)
        pair, values = self._pair(a, b), self.values(metric, a, b)
        forth, back = contrast.lead(pair, values), contrast.lead(pair.swapped, values[::-1])
        if contrast.alone:
            return self._bounded(metric, _dual(forth, back, self._alpha, "paired"))
        own, box = _dual(forth, back, self._alpha / 2, ""), self._box(metric, a, b, self._alpha / 2)
        log10_pvalue = min(min(own.log10_pvalue, box.log10_pvalue) + math.log10(2), 0.0)
        low, high = max(own.low, box.low), min(own.high, box.high)
        return self._bounded(metric, _Found(low, high, log10_pvalue, "paired, and limits of both intervals"))

    def _bounded(self, metric: str, found: _Found) -> _Found:
        """Values differ by no more than the metric's range."""
        lowest, highest = self._bound[metric].metric.bounds
        return found._replace(low=max(found.low, lowest - highest), high=min(found.high, highest - lowest))

    def _pair(self, a: str, b: str) -> Pair:
        if (a, b) not in self._pairs and self._cells is not None:
            as_events = not (self._predictions[a].shows_variance and self._predictions[b].shows_variance)
            self._pairs[a, b] = pair_of(self._cells, self._places[a], self._places[b], as_events=as_events)
        return self._pairs[a, b]

    def _box(self, metric: str, a: str, b: str, alpha: float) -> _Found:
        """[L_a − U_b, U_a − L_b]; the p-value by halving, as far as draws tell."""
        one, other = self._separate[a][metric], self._separate[b][metric]

        def limits(alpha: float) -> tuple[float, float]:
            first, second = one.at(alpha / 2), other.at(alpha / 2)
            return first.low - second.high, first.high - second.low

        least, most = math.log10(one.smallest_alpha), 0.0
        for _ in range(_HALVINGS):
            middle = (least + most) / 2
            low, high = limits(min(10.0**middle, _LARGEST_ALPHA))
            least, most = (least, middle) if low > 0 or high < 0 else (middle, most)
        return _Found(*limits(alpha), most, "limits of both intervals")
