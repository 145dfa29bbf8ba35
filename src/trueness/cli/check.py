"""Limits that a pipeline sets, held against what was found."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click

from trueness._json import plain
from trueness._text import group_name, percent
from trueness.assessment import Assessment
from trueness.metrics.registry import METRICS, Metric


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
    found = []
    for given in limits:
        name, equals, text = given.partition("=")
        name = name.strip()
        if name not in numeric:
            from difflib import get_close_matches

            near = get_close_matches(name, numeric, n=1)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"--max {given}: there is no metric {name!r}; there are {', '.join(numeric)}.{guess}")
        try:
            limit = float(text)
        except ValueError:
            limit = math.nan
        if not equals or not math.isfinite(limit) or limit < 0:
            raise click.UsageError(f"--max {given}: write METRIC=VALUE with a number of at least 0, such as {name}=0.02.")
        if upper and not numeric[name].has_interval:
            known = ", ".join(other for other, metric in numeric.items() if metric.has_interval)
            raise click.UsageError(f"--max {given} --upper: {name} has no interval; these have: {known}.")
        found.append((numeric[name], limit))
    return found


def require_alpha(alpha: float | None) -> None:
    """A fraction, not a percentage."""
    if alpha is not None and not 0 < alpha < 1:
        raise click.UsageError(f"--alpha {alpha:g}: is not a fraction in (0, 1). Pass for example 0.01, not 1.")


def checks(found: Assessment, limits: Sequence[tuple[Metric, float]], alpha: float | None, upper: bool) -> list[Check]:
    """Every limit, the metrics' first."""
    lines = [_maximum(found, metric, limit, upper) for metric, limit in limits]
    return lines if alpha is None else [*lines, _significance(found, alpha), *_groups(found, alpha)]


def _maximum(found: Assessment, metric: Metric, limit: float, upper: bool) -> Check:
    value = found[metric.name].value if metric.has_interval else float(metric.function(found.data))
    what = metric.name
    if upper:
        interval = found[metric.name].interval
        value = math.nan if interval is None else interval.high
        what = f"upper end of the {percent(found.level)} interval of {metric.name}"
    facts: dict[str, Any] = {"name": metric.name, "limit": limit}
    if math.isnan(value):
        return Check(**facts, passed=False, value=None, text=f"{what} is undefined (too few rows), limit {limit:g}")
    passed = value <= limit
    by = "" if passed else f", exceeded by {value - limit:.4g}"
    return Check(**facts, passed=passed, value=value, text=f"{what} is {value:.6g}, limit {limit:g}{by}")


def _significance(found: Assessment, alpha: float) -> Check:
    test = found.test
    text = f"ECCE-R p {test.shown}, alpha {alpha:g}"
    return Check(name="alpha", passed=not test.pvalue < alpha, value=test.pvalue, limit=alpha, text=text)


def _groups(found: Assessment, alpha: float) -> list[Check]:
    lines = []
    for each in found.groups or ():
        name = group_name(each.group)
        facts: dict[str, Any] = {"name": f"alpha, group {name}", "limit": alpha, "value": each.adjusted_pvalue}
        if each.adjusted_pvalue is None:
            lines.append(Check(**facts, passed=True, text=f"group {name}: not tested, {each.reason}"))
            continue
        text = f"group {name}: ECCE-R p, Holm-adjusted, {each.shown_adjusted}, alpha {alpha:g}"
        lines.append(Check(**facts, passed=not each.adjusted_pvalue < alpha, text=text))
    return lines
