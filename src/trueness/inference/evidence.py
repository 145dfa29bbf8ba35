"""Test, interval and noise floor of several metrics from one pass of draws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trueness.data.sample import as_data
from trueness.inference.intervals import Interval, draws_for, interval_of, require_construction, uses_null
from trueness.inference.requests import Request
from trueness.inference.significance import CalibrationTest, outcome_of
from trueness.inference.simulation import Progress, Resampling, Wanted, floor_of, uses_law
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
    y_true: Any,
    y_prob: Any = None,
    *,
    metrics: Sequence[str | tuple[str, Mapping[str, Any]]] = DEFAULT,
    level: float = 0.95,
    intervals: bool = True,
    tests: bool = True,
    rng: Any = None,
    sample_weight: Any = None,
    progress: Progress | None = None,
) -> list[Evidence]:
    """Interval, test and noise floor of each metric (a name, or a name with options); soft labels have no floor, and of
    their metrics only ECCE has a test."""
    alpha, seed = 1 - check_level(level, highest=0.99995), check_seed(rng)
    requests = [Request(*((each, None) if isinstance(each, str) else each), what="metrics") for each in metrics]
    if intervals:
        for request in requests:
            require_construction(request)
    data = as_data(y_true, y_prob, sample_weight)
    values = [request.value(data) for request in requests]
    resampling = Resampling(data, requests)
    soft, draws = resampling.base.soft, draws_for(alpha)
    own = soft and not uses_null(resampling)
    law = frozenset(i for i, request in enumerate(requests) if uses_law(request, resampling) or (own and request.cumulative))
    wanted = Wanted(null=tests and not soft, norms=intervals and uses_null(resampling), flips=intervals)
    drawn = resampling.draw(seed, draws, wanted, skip=law, progress=progress)
    found = []
    for i, (request, value) in enumerate(zip(requests, values, strict=True)):
        testable = tests and (request.cumulative or not soft)
        found.append(
            Evidence(
                value=value,
                interval=interval_of(request, value, resampling, drawn.get(i), alpha, draws, seed) if intervals else None,
                test=outcome_of(request, value, resampling, "auto", draws, seed, drawn=drawn.get(i)) if testable else None,
                noise_floor=floor_of(request, drawn.get(i), resampling) if tests and not soft else None,
            )
        )
    return found
