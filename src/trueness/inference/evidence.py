"""Test, interval and noise floor of several metrics from one pass of draws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trueness._types import Rng
from trueness.data.sample import Sample
from trueness.inference.clustering import both_ways, cautious_test
from trueness.inference.floor import floor_of
from trueness.inference.intervals import Interval, cautious_interval, draws_for, interval_of, needs_of
from trueness.inference.outcome import CalibrationTest
from trueness.inference.significance import outcome_of
from trueness.inference.simulation import Drawn, Needs, Progress, Resampling
from trueness.metrics.registry import BoundMetric, bind
from trueness.options import check_level, check_seed

DEFAULT = ("smooth_ece", "binned_ece", "logit_smoothed_ece", "ecce_mad", "ecce_r")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """How sure one metric is; a part that was not asked for or cannot be had is None."""

    value: float
    interval: Interval | None
    test: CalibrationTest | None
    noise_floor: float | None


def evidence(
    sample: Sample,
    *,
    metrics: Sequence[str | tuple[str, Mapping[str, Any]]] = DEFAULT,
    level: float = 0.95,
    intervals: bool = True,
    tests: bool = True,
    rng: Rng = None,
    progress: Progress | None = None,
) -> list[Evidence]:
    """Interval, test and noise floor of each metric (a name, or a name with options), where there is one.

    Soft labels have no floor, and of their metrics only ECCE has a test.
    """
    alpha, seed = 1 - check_level(level, highest=0.99995), check_seed(rng)
    bound = [bind(*((each, None) if isinstance(each, str) else each), what="metrics") for each in metrics]
    found, *alone = (
        _evidence(part, bound, alpha, intervals=intervals, tests=tests, seed=seed, progress=progress)
        for part in both_ways(sample)
    )
    return [_cautious(*pair, sample.clusters) for pair in zip(found, alone[0], strict=True)] if alone else found


def _cautious(found: Evidence, alone: Evidence, clusters: int) -> Evidence:
    """What clusters say, or independent rows where they say less."""
    interval, test, floor = found.interval, found.test, found.noise_floor
    if interval is not None and alone.interval is not None:
        interval = cautious_interval(interval, alone.interval, clusters)
    if test is not None and alone.test is not None:
        test = cautious_test(test, alone.test, clusters)
    if floor is not None and alone.noise_floor is not None:
        floor = max(floor, alone.noise_floor)
    return Evidence(value=found.value, interval=interval, test=test, noise_floor=floor)


def _evidence(
    sample: Sample,
    bound: Sequence[BoundMetric],
    alpha: float,
    *,
    intervals: bool,
    tests: bool,
    seed: int,
    progress: Progress | None,
) -> list[Evidence]:
    resampling, draws = Resampling(sample, bound), draws_for(alpha)
    simulate = tests and not resampling.base.soft
    flipped = tests and sample.clusters > 0  # then also laws are drawn, soft labels too
    needs = [
        _needs(each, resampling, simulate=simulate or (flipped and each.law is not None), intervals=intervals) for each in bound
    ]
    drawn = resampling.draw(seed, draws, needs, progress)
    results = []
    for i, (each, value) in enumerate(zip(bound, resampling.values, strict=True)):
        testable = tests and (each.law is not None or simulate)
        interval = intervals and each.has_interval
        results.append(
            Evidence(
                value=value,
                interval=interval_of(each, value, resampling, drawn.get(i), alpha, draws, seed) if interval else None,
                test=_test(each, value, resampling, draws, seed, drawn.get(i)) if testable else None,
                noise_floor=floor_of(each, drawn.get(i), resampling) if simulate else None,
            )
        )
    return results


def _test(
    bound: BoundMetric, value: float, resampling: Resampling, draws: int, seed: int, drawn: Drawn | None
) -> CalibrationTest:
    """The test; what certain predictions that were wrong hide is looked for where a law makes that quick."""
    return outcome_of(bound, value, resampling, "auto", draws, seed, drawn=drawn, rest=bound.law is not None)


def _needs(bound: BoundMetric, resampling: Resampling, *, simulate: bool, intervals: bool) -> Needs | None:
    """What is read of a metric's draws: nothing where its law stands for them."""
    if resampling.uses_law(bound):
        return None
    interval = needs_of(bound, resampling) if intervals and bound.has_interval else None
    needs = Needs(null=simulate, norms=interval is not None and interval.norms, flips=interval is not None and interval.flips)
    return needs if needs.outcomes or needs.flips else None
