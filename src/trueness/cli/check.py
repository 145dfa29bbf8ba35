"""Limits that a pipeline sets, held against what was found."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click

from trueness._json import plain
from trueness._text import clean, group_name, percent
from trueness.assessment import Assessment
from trueness.data.sample import Sample, as_sample
from trueness.inference.groups import SETTLED, GroupTest, group_parts, group_tests, untested
from trueness.inference.intervals import confidence_interval, draws_for
from trueness.inference.outcome import CalibrationTest
from trueness.inference.significance import calibration_test
from trueness.metrics.registry import METRICS, Metric
from trueness.verdict import words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One limit and whether it was kept."""

    name: str
    passed: bool
    value: float | None
    limit: float
    text: str

    def __str__(self) -> str:
        return f"{'ok  ' if self.passed else 'FAIL'}  {self.text}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary."""
        return {name: plain(value) for name, value in asdict(self).items()}


def parse_limits(limits: Sequence[str], *, upper: bool) -> list[tuple[Metric, float]]:
    """METRIC=VALUE, of which the metric must be one number and the value one that it can exceed."""
    numeric = {name: metric for name, metric in METRICS.items() if metric.single}
    parsed = []
    for given in limits:
        name, equals, text = given.partition("=")
        name = name.strip()
        if name not in numeric:
            from difflib import get_close_matches

            near = get_close_matches(name, numeric, n=1)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"--max {clean(given)}: there is no metric {name!r}; there are {', '.join(numeric)}.{guess}")
        try:
            limit = float(text)
        except ValueError:
            limit = math.nan
        if not equals or not math.isfinite(limit) or limit < 0:
            raise click.UsageError(
                f"--max {clean(given)}: write METRIC=VALUE with a number of at least 0, such as {name}=0.02."
            )
        if upper and not numeric[name].has_interval:
            known = ", ".join(other for other, metric in numeric.items() if metric.has_interval)
            raise click.UsageError(f"--max {clean(given)} --upper: {name} has no interval; these have: {known}.")
        parsed.append((numeric[name], limit))
    return parsed


def require_alpha(alpha: float | None) -> None:
    """A fraction, not a percentage."""
    if alpha is not None and not 0 < alpha < 1:
        raise click.UsageError(f"--alpha {alpha:g}: is not a fraction in (0, 1). Pass for example 0.01, not 1.")


def checks(
    given: dict[str, Any],
    assessment: Assessment,
    limits: Sequence[tuple[Metric, float]],
    alpha: float | None,
    upper: bool,
) -> list[Check]:
    """Every limit on all rows of the data given to `assess`, the metrics' first; with `alpha` also on every group."""
    lines = [_maximum(assessment, metric, limit, upper) for metric, limit in limits]
    if alpha is None:
        return lines
    return [*lines, _significance(assessment, alpha), *_group_significance(given, assessment, alpha)]


def _maximum(assessment: Assessment, metric: Metric, limit: float, upper: bool) -> Check:
    value = assessment[metric.name].value if metric.has_interval else float(metric.function(assessment.data))
    what = metric.name
    if upper:
        interval = assessment[metric.name].interval
        value = math.nan if interval is None else interval.high
        what = f"upper end of the {percent(assessment.level)} interval of {metric.name}"
    beyond = _unknown(metric, assessment.data, assessment[metric.name].value) if metric.has_interval else 0.0
    value, most = value + beyond, "at most " if beyond else ""
    named: dict[str, Any] = {"name": metric.name, "limit": limit}
    if math.isnan(value):
        return Check(**named, passed=False, value=None, text=f"{what} is undefined (too few rows), limit {limit:g}")
    passed = value <= limit
    by = "" if passed else f", exceeded by {value - limit:.4g}"
    return Check(**named, passed=passed, value=value, text=f"{what} is {most}{value:.6g}, limit {limit:g}{by}")


def _unknown(metric: Metric, sample: Sample, value: float) -> float:
    """By how much an error that is known only by its summary may be larger than what is read at the cells' edges."""
    law, bracket = metric.drawing.law, sample.bracket
    return 0.0 if law is None or bracket is None else max(law.bounds(bracket)[1] - value, 0.0)


def _significance(assessment: Assessment, alpha: float) -> Check:
    test, enough = assessment.test, draws_for(alpha)
    if _is_open(test, enough):
        test = calibration_test(assessment.data, statistic=test.statistic, resamples=enough, rng=assessment.seed)
    seen = words_of(test.rest or test, assessment.located.worst, alpha=alpha)
    text = f"combined test p {test.shown}{test.certainties}, alpha {alpha:g}{seen and f': {seen}'}"
    return Check(name="alpha", passed=not test.pvalue < alpha, value=test.pvalue, limit=alpha, text=text)


def _is_open(test: CalibrationTest, enough: int) -> bool:
    """Whether its draws are too few to tell p from alpha, and it is among the smallest that they can tell."""
    return test.resamples is not None and test.resamples < enough and test.pvalue * (test.resamples + 1) <= SETTLED


def _with_enough(given: dict[str, Any], assessment: Assessment, alpha: float) -> Iterable[GroupTest]:
    """The tests of groups, where need be with as many draws as tell an adjusted p from alpha."""
    tests = [each.test for each in assessment.groups or () if each.test is not None]
    enough = draws_for(alpha / max(len(tests), 1))
    if any(_is_open(test, enough) for test in tests):
        return group_tests(**given, resamples=enough, rng=assessment.seed)
    return assessment.groups or ()


def _group_significance(given: dict[str, Any], assessment: Assessment, alpha: float) -> list[Check]:
    lines = []
    for each in _with_enough(given, assessment, alpha):
        name = group_name(each.group)
        named: dict[str, Any] = {"name": f"alpha, group {name}", "limit": alpha, "value": each.adjusted_pvalue}
        if each.adjusted_pvalue is None:
            lines.append(Check(**named, passed=True, text=f"group {name}: not tested, {each.reason}"))
            continue
        text = f"group {name}: combined test p, Holm-adjusted, {each.shown_adjusted}, alpha {alpha:g}"
        lines.append(Check(**named, passed=not each.adjusted_pvalue < alpha, text=text))
    return lines


def group_checks(
    given: dict[str, Any], limits: Sequence[tuple[Metric, float]], *, level: float, rng: int, upper: bool
) -> list[Check]:
    """Every limit on every group of the data given to `assess`; groups too small to say anything are listed."""
    lines = []
    for group, n, part in group_parts(**given):
        name = group_name(group)
        for metric, limit in limits:
            named: dict[str, Any] = {"name": f"{metric.name}, group {name}", "limit": limit}
            reason = untested(n, part)
            if reason or part is None:
                text = f"group {name}: {metric.name} not checked, {reason}"
                lines.append(Check(**named, passed=True, value=None, text=text))
            else:
                value, passed, text = _held_to(metric, limit, as_sample(part), level, rng, upper)
                lines.append(Check(**named, passed=passed, value=value, text=f"group {name}: {text}"))
    return lines


def _held_to(
    metric: Metric, limit: float, sample: Sample, level: float, rng: int, upper: bool
) -> tuple[float | None, bool, str]:
    """A group's value, whether it keeps the limit, and what to say of that."""
    value = float(metric.function(sample))
    beyond = _unknown(metric, sample, value)
    value, most = value + beyond, "at most " if beyond else ""
    text = f"{metric.name} is {most}{value:.6g}"
    if not metric.has_interval or (value <= limit and not upper):  # no interval begins above its value
        by = "" if value <= limit else f", exceeded by {value - limit:.4g}"
        return value, value <= limit, f"{text}, limit {limit:g}{by}"
    interval = confidence_interval(sample, metric=metric.name, level=level, rng=rng)
    if math.isnan(interval.low):
        return None, True, f"{metric.name} not checked, {interval.method}"
    low, high = interval.low + beyond, interval.high + beyond  # as if the value were as large as it may be
    bound = high if upper else low
    passed = bound <= limit
    text = f"{text}, {percent(level)} interval {most and 'then '}{low:.4g} to {high:.4g}, limit {limit:g}"
    if passed and not upper:
        return value, True, f"{text}, exceeded within noise"
    return high if upper else value, passed, text if passed else f"{text}, exceeded by {bound - limit:.4g}"
