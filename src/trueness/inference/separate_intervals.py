"""One predictor's intervals of several metrics, from one pass of draws, at whatever error is asked for afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass

from trueness.data.row_sample import RowSample
from trueness.inference.intervals import Interval, draws_for, few_rows, interval_of, needs_of
from trueness.inference.simulation import Drawn, Resampling
from trueness.metrics.registry import BoundMetric


@dataclass(frozen=True, eq=False)
class SeparateInterval:
    """A metric's interval before its level is known."""

    bound: BoundMetric
    value: float
    resampling: Resampling
    drawn: Drawn | None
    draws: int
    seed: int

    @property
    def smallest_alpha(self) -> float:
        """Errors below this cannot be told by so many draws."""
        return 8 / (self.draws + 1)

    def at(self, alpha: float) -> Interval:
        """The interval that errs so often at most."""
        return interval_of(self.bound, self.value, self.resampling, self.drawn, alpha, self.draws, self.seed)


def separate_intervals(
    sample: RowSample, metrics: Sequence[BoundMetric], alpha: float, seed: int
) -> dict[str, SeparateInterval]:
    """By the metric's name."""
    if not metrics:
        return {}
    resampling, draws = Resampling(sample, metrics), draws_for(alpha / 4)
    needs = [None if few_rows(each, resampling.base) else needs_of(each, resampling) for each in metrics]
    drawn = resampling.draw(seed, draws, needs)
    return {
        each.name: SeparateInterval(each, resampling.values[i], resampling, drawn.get(i), draws, seed)
        for i, each in enumerate(metrics)
    }
