"""The combined test: several statistics on the same draws, and in words what each of them saw."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from trueness import brownian
from trueness._text import show_points, unlike_one
from trueness.data.points import Points
from trueness.data.sample import Sample
from trueness.errors import InputError
from trueness.inference.combination import joint_pvalue
from trueness.inference.few_events import TAIL_EVENTS, tail_law
from trueness.inference.outcome import WAVES, CalibrationTest, TestPart
from trueness.inference.residual_statistics import COMBINED, PARTS, Cox, Kernel, ManyBins, Neyman, tail_of, together
from trueness.inference.simulation import Progress, Resampling, null_draws
from trueness.inference.slope import fitted_line
from trueness.metrics.cumulative import ecce
from trueness.metrics.drawing import Statistic

_SHAPES = 64  # groups of neighbouring scores in which the likeness of clusters is seen
GROUPS = 512  # of neighbouring scores, on which statistics of residuals are drawn
SMALLEST = 5e-324

_TREND = 3  # cosines that make no wave: all together, a slope, a bend

ECCE = "ecce_r"


def combined(resampling: Resampling, method: str, resamples: int, seed: int, progress: Progress | None) -> CalibrationTest:
    """Joint smallest p on one set of draws; beyond them the laws of ECCE-R and Cox, Bonferroni."""
    if method == "asymptotic":
        raise InputError('method: the combined test is simulated. Pass method="auto", or statistic="ecce_r" or "cox".')
    groups, regime = neighbours(resampling.base), resampling.regime
    statistics = {name: PARTS[name](groups) for name in COMBINED}
    drawn = null_draws(groups, together(list(statistics.values())), seed, resamples, progress)
    pvalue, ranks = joint_pvalue(drawn)
    values = {name: float(each[0]) for name, each in zip(COMBINED, drawn, strict=True)}
    logs = {name: math.log(rank) for name, rank in zip(COMBINED, ranks, strict=True)}
    by_law = {}
    if method == "auto" and regime.asymptotic:
        by_law = _by_law(resampling)
        values |= {name: value for name, (value, _) in by_law.items()}
        logs |= {name: log for name, (_, log) in by_law.items()}
    values[ECCE] = resampling.values[0]  # itself, not in units of its noise
    log_p, far = math.log(pvalue), _far(by_law, resampling.base)
    beyond = pvalue * (resamples + 1) < 1.5 and far < log_p
    if beyond:
        log_p = far
    beside = "beyond all draws: the laws of ECCE-R and Cox, Bonferroni" if beyond else "joint draws of its parts"
    return CalibrationTest(
        statistic="combined",
        value=resampling.values[0],
        standardized=resampling.values[0] / _sigma(resampling.base),
        pvalue=max(math.exp(log_p), SMALLEST),
        log10_pvalue=log_p / math.log(10),
        method="asymptotic" if beyond else "simulated",
        reason=f"{beside}; {regime.reason}",
        n=resampling.base.n,
        resamples=None if beyond else resamples,
        seed=seed,
        parts=_parts(values, logs, statistics, resampling.sample, {name: resamples for name in COMBINED if name not in by_law}),
    )


def likeness(points: Points) -> float:
    """By how many times the variance of clusters exceeds that of independent rows, at least 1."""
    own = float(points.squares.sum())
    if points.clustered is None or own <= 0:
        return 1.0
    coarse = np.arange(0, len(points.score), max(1, len(points.score) // _SHAPES))
    return max(float(points.clustered.squares(coarse)) / own, 1.0)


def in_units_of_noise(points: Points) -> Points:
    """Points with the variance of clusters: statistics then see the shape of what is off, not how alike rows are."""
    ratio = likeness(points)
    return points if ratio == 1.0 else replace(points, binomial=points.binomial * ratio)


def neighbours(points: Points) -> Points:
    """The groups of neighbouring scores on which it is drawn."""
    return in_units_of_noise(points.merged(points.groups([], least=GROUPS, most=GROUPS)))


def ecce_part(test: CalibrationTest, sample: Sample) -> TestPart:
    """A test by ECCE-R as the one part of a combined test, where the others have nothing to go by."""
    pvalue = {name: getattr(test, name) for name in ("pvalue", "log10_pvalue", "resamples")}
    return TestPart(name=ECCE, value=test.value, **pvalue, **_range(sample))


def _by_law(resampling: Resampling) -> dict[str, tuple[float, float]]:
    """Value and ln p of the parts that have a law, of all scores, not of groups."""
    points = resampling.base
    found: dict[str, tuple[float, float]] = {}
    for name in COMBINED:
        statistic = PARTS[name](points)
        if (tail := tail_of(statistic)) is not None:
            value = resampling.values[0] / _sigma(points) if name == ECCE else float(statistic.of(points.e[None, :])[0])
            found[name] = value, min(tail_law(brownian.range, points).logsf(value) if name == ECCE else tail(value), 0.0)
    return found


def _sigma(points: Points) -> float:
    return math.sqrt(float(points.binomial.sum())) / points.total


def _far(by_law: dict[str, tuple[float, float]], points: Points) -> float:
    """ln of the smallest p by law, for their number; 0 where no law is to be trusted so far out."""
    if not by_law or points.events < TAIL_EVENTS:
        return 0.0
    return min(math.log(len(by_law)) + min(log for _, log in by_law.values()), 0.0)


def _parts(
    values: dict[str, float],
    logs: dict[str, float],
    statistics: dict[str, Statistic],
    sample: Sample,
    resamples: dict[str, int],
) -> tuple[TestPart, ...]:
    parts = [
        TestPart(
            name=name,
            value=values[name],
            pvalue=max(math.exp(logs[name]), SMALLEST),
            log10_pvalue=logs[name] / math.log(10),
            resamples=resamples.get(name),
            **_seen(statistics[name], sample),
        )
        for name in COMBINED
    ]
    return tuple(sorted(parts, key=lambda part: part.log10_pvalue))


def _seen(statistic: Statistic, sample: Sample) -> dict[str, Any]:
    """Where a statistic is off, and which way."""
    if isinstance(statistic, Cox):
        return _line(statistic)
    if isinstance(statistic, Neyman):
        return {"place": WAVES if statistic.cosines > _TREND else "a trend along the scores"}
    if isinstance(statistic, ManyBins):
        return {"place": f"{statistic.groups} groups of scores" if statistic.groups > 1 else "all rows together"}
    if isinstance(statistic, Kernel):
        score, total = statistic.peak
        return {"place": f"near {score:.2g}", "direction": _way(total), "near": score}
    return _range(sample)


def _way(residual: float) -> str:
    return "too low" if residual > 0 else "too high"


def _range(sample: Sample) -> dict[str, Any]:
    worst = ecce(sample).worst
    return {} if worst is None else {"place": f"range {worst.span}", "direction": _way(worst.mean_gap)}


def _line(cox: Cox) -> dict[str, Any]:
    """The slope, unless all predictions together are further off than that."""
    total, *beside = cox.observed.tolist()
    points = cox.points
    if not beside or abs(total) > abs(beside[0]):
        gap = float(points.e.sum()) / points.total
        return {"place": f"on the whole {show_points(gap)} points", "direction": _way(gap)}
    direction = "too extreme" if beside[0] < 0 else "too moderate"
    line = fitted_line(points)
    if line is None:
        return {"place": "slope", "direction": direction}
    if (line.slope < 1) != (beside[0] < 0):  # what one step tells the fit may take back where the level is off as well
        return {"place": f"slope {unlike_one(line.slope)} with intercept {line.intercept:.2g}"}
    return {"place": f"slope {unlike_one(line.slope)}", "direction": direction}
