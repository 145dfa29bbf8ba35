"""Tests of many groups, with p-values adjusted for their number."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trueness._json import plain
from trueness._text import MISSING, group_name, number, show_pvalue
from trueness._types import Rng, Values
from trueness.data.bucket_sample import by_group, has_buckets
from trueness.data.sample import Given, as_sample
from trueness.errors import InputError
from trueness.inference.outcome import CalibrationTest
from trueness.inference.significance import METHODS, WEIGHT_KINDS, bind_statistic, calibration_test
from trueness.inference.simulation import Progress
from trueness.metrics.drawing import Options
from trueness.options import check_choice, check_count, check_progress, check_seed
from trueness.summary.record import Record
from trueness.summary.summary import Summary

SMALLEST = 10  # rows below which a group is listed, not tested
_MANY = 20  # groups above which as few draws are made of each as settle whether its p-value is small
SETTLED = 10  # draws that reach the value: as many settle that a p-value is not small
_FIRST, _TIMES = 199, 10  # draws of many groups at first, and by how many times more the next ones are
_EACH = 100  # draws for each group in the end: the smallest p-value, adjusted for their number, is then 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTest:
    """The test of one group; None where the group is too small for one."""

    group: Any  # None for rows whose group is missing
    n: int
    test: CalibrationTest | None
    adjusted_pvalue: float | None  # Holm's, over all groups tested
    adjusted_log10_pvalue: float | None
    reason: str = ""  # why there is no test

    def __repr__(self) -> str:
        name = MISSING if self.group is None else repr(self.group)
        if self.test is None:
            return f"{name}: n = {self.n}, not tested ({self.reason})"
        test = f"{self.test.measure} = {self.test.value:.4g}, p {self.test.shown}{self.test.certainties}"
        return f"{name}: n = {self.n}, {test}, adjusted {self.shown_adjusted}"

    @property
    def shown_adjusted(self) -> str:
        """The adjusted p-value in words, or why there is none."""
        if self.adjusted_pvalue is None or self.adjusted_log10_pvalue is None:
            return self.reason
        return show_pvalue(self.adjusted_pvalue, self.adjusted_log10_pvalue)

    @property
    def evidence(self) -> float:
        """By which groups are ranked: the smaller the stronger, infinite without a test."""
        return math.inf if self.test is None else self.test.log10_pvalue

    def cells(self, most: int = 40) -> tuple[str, str, str, str, str]:
        """The group as text: name, rows, value, p, adjusted p."""
        name, rows = group_name(self.group, most), str(self.n)
        if self.test is None:
            return name, rows, "–", "–", self.reason
        return name, rows, number(self.test.value), self.test.explained, self.shown_adjusted

    def to_dict(self) -> dict[str, Any]:
        """The fields as nested dictionaries; None where a number is not finite."""
        fields = {
            name: getattr(self, name) for name in ("group", "n", "test", "adjusted_pvalue", "adjusted_log10_pvalue", "reason")
        }
        return {name: plain(value) for name, value in fields.items()}


@dataclass(frozen=True, slots=True)
class GroupTests:
    """Tests of all groups, in the order of their names; small ones are listed too."""

    groups: tuple[GroupTest, ...]

    def __iter__(self) -> Iterator[GroupTest]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, group: Any) -> GroupTest:
        """The test of a group by its name; None for rows whose group is missing."""
        for each in self.groups:
            if each.group is group or (each.group is not None and each.group == group):
                return each
        raise KeyError(group)

    def __repr__(self) -> str:
        tested = sum(each.test is not None for each in self.groups)
        first = f"{len(self.groups)} groups, {tested} tested"
        return f"{first}; smallest p: {self.ranked()[0]!r}" if tested else first

    def ranked(self) -> list[GroupTest]:
        """Groups, those with the smallest p first, those without a test last."""
        return sorted(self.groups, key=lambda each: each.evidence)

    def to_dict(self) -> dict[str, Any]:
        """The groups as nested dictionaries."""
        return {"groups": [each.to_dict() for each in self.groups]}


def holm(log10_pvalues: list[float]) -> list[float]:
    """log10 of p-values adjusted for their number (Holm 1979), in the same order."""
    order = sorted(range(len(log10_pvalues)), key=log10_pvalues.__getitem__)
    adjusted, largest = [0.0] * len(order), -math.inf
    for rank, i in enumerate(order):
        largest = max(largest, min(log10_pvalues[i] + math.log10(len(order) - rank), 0.0))
        adjusted[i] = largest
    return adjusted


def group_tests(
    y_true: Given | Mapping[Any, Summary],
    y_prob: Values | None = None,
    *,
    by: Values | None = None,
    statistic: str = "combined",
    options: Options | None = None,
    method: Literal["auto", "asymptotic", "simulated"] = "auto",
    resamples: int = 1999,
    rng: Rng = None,
    sample_weight: Values | None = None,
    weight_kind: Literal["importance", "frequency"] = "importance",
    cluster: Values | None = None,
    progress: Progress | None = None,
) -> GroupTests:
    r"""`calibration_test` of every group, with Holm's adjustment for their number.

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min\bigl((m - j + 1)\,p_{(j)},\, 1\bigr)

    for the m groups tested, in ascending order of p: the chance that any calibrated group gets :math:`\tilde p \le \alpha` is
    at most α. Groups of fewer than 10 rows are listed without a test and do not count in m. More than 20 groups are drawn 199
    times each at first; simulated p-values that fewer than 10 draws reach are drawn anew, `resamples` times and in the end at
    least 100 m times, so that the adjusted ones can be small.

    Parameters
    ----------
    y_true : array-like, Record or mapping of summaries
        Outcomes, or a `Record` or ``{group: Summary}`` in place of the arrays; then a cumulative error is that at the edges
        of the ruler's cells, with bounds for its p-value. An axis "bucket" of the record holds buckets of clusters.
    y_prob : array-like
        Predicted probabilities.
    by : array-like
        The group of each row; rows without one are a group of their own, None.
    statistic, options, method, resamples, sample_weight, weight_kind, cluster
        As for `calibration_test`. A group whose rows are all of one cluster is listed without a test.
    rng : None, int or numpy Generator
        Randomness; every group has a seed of its own, recorded in its result.
    progress : callable, optional
        Called with the groups done and the groups in all.

    Returns
    -------
    GroupTests

    References
    ----------
    S. Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> from trueness.demo import make_demo
    >>> y_true, y_prob, _ = make_demo()
    >>> tests = group_tests(y_true, y_prob, by=["high" if p >= 0.6 else "low" for p in y_prob])
    >>> [(each.group, each.n, each.adjusted_pvalue < 0.05) for each in tests]
    [('high', 8056, True), ('low', 11944, True)]
    """
    bind_statistic(statistic, options)
    check_count("resamples", resamples)
    check_choice("method", method, METHODS)
    check_choice("weight_kind", weight_kind, WEIGHT_KINDS)
    check_progress(progress)
    seed = check_seed(rng)
    settings: dict[str, Any] = {"statistic": statistic, "options": options, "method": method, "weight_kind": weight_kind}
    parts = group_parts(y_true, y_prob, by, sample_weight, cluster, repeats=weight_kind == "frequency")
    reasons = [untested(n, part) for _, n, part in parts]
    stages = _stages(reasons.count(""), resamples)
    seeds = [np.random.SeedSequence([seed, *more]).generate_state(len(parts), np.uint64) for more in _entropies(len(stages))]
    results: list[tuple[Any, int, CalibrationTest | None, str]] = []
    for place, (group, n, part) in enumerate(parts):
        test = None
        if not reasons[place] and part is not None:
            test = _staged(part, settings, stages, [int(of_stage[place] >> np.uint64(1)) for of_stage in seeds])
        results.append((group, n, test, reasons[place]))
        if progress is not None:
            progress(place + 1, len(parts))
    return GroupTests(tuple(_adjusted(results)))


def untested(n: int, part: Any) -> str:
    """Why a group has no test; nothing where it has one."""
    if n < SMALLEST or part is None:
        return f"fewer than {SMALLEST} rows"
    return "one cluster" if getattr(part, "clusters", 0) == 1 else ""


def _stages(tested: int, resamples: int) -> list[int]:
    """Draws of each stage: of many groups few at first, and so many at last that an adjusted p-value may be small."""
    if tested <= _MANY:
        return [resamples]
    last = max(_EACH * tested, resamples)
    stages = [min(_FIRST, resamples)]
    while stages[-1] < last:
        following = resamples if stages[-1] < resamples else (stages[-1] + 1) * _TIMES - 1
        stages.append(last if 2 * following > last else following)
    return stages


def _entropies(stages: int) -> list[list[int]]:
    return [[stage] if stage else [] for stage in range(stages)]


def _staged(part: Given, settings: dict[str, Any], stages: list[int], seeds: list[int]) -> CalibrationTest:
    """A test with more draws, each time anew, for as long as these may tell of a smaller p-value.

    That keeps the p-value valid: at most α below 11/(resamples + 1) only one drawn anew can be as small, and above it whatever
    is drawn anew was small at first. A law that goes on where no draw reached is believed before the last stage only where it
    tells of less than the last draws can.
    """
    finest = 1 / (stages[-1] + 1)
    test = calibration_test(part, **settings, resamples=stages[0], rng=seeds[0])
    for resamples, seed in zip(stages[1:], seeds[1:], strict=True):
        drawn = test.resamples is not None and test.pvalue * (1 + test.resamples) <= SETTLED
        by_law = test.method == "asymptotic" and len(test.parts) > 1 and test.pvalue >= finest
        if not drawn and not by_law:
            break
        test = calibration_test(part, **settings, resamples=resamples, rng=seed)
    return test


def _adjusted(results: list[tuple[Any, int, CalibrationTest | None, str]]) -> Iterator[GroupTest]:
    adjusted = iter(holm([test.log10_pvalue for _, _, test, _ in results if test is not None]))
    for group, n, test, reason in results:
        if test is None:
            yield GroupTest(group=group, n=n, test=None, adjusted_pvalue=None, adjusted_log10_pvalue=None, reason=reason)
            continue
        log10 = next(adjusted)
        p = 0.0 if log10 == -math.inf else max(10.0**log10, test.pvalue)
        yield GroupTest(group=group, n=n, test=test, adjusted_pvalue=p, adjusted_log10_pvalue=log10)


Part = tuple[Any, int, Given | None]


def group_parts(
    y_true: Any,
    y_prob: Any = None,
    by: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    *,
    repeats: bool = False,
) -> list[Part]:
    """Every group in the order of their names, its rows (with `repeats` as often as they count), and what a metric is given."""
    if isinstance(y_true, Mapping):
        return _summaries(y_true, y_prob, by, sample_weight, cluster)
    return _rows(y_true, y_prob, by, sample_weight, cluster, repeats=repeats)


def _summaries(summaries: Mapping[Any, Any], y_prob: Any, by: Any, sample_weight: Any, cluster: Any) -> list[Part]:
    if any(given is not None for given in (y_prob, by, sample_weight, cluster)):
        raise InputError("y_prob, by, sample_weight, cluster: summaries already hold these; pass the summaries alone.")
    if isinstance(summaries, Record) and has_buckets(summaries):
        if len(summaries.axes) == 1:
            raise InputError("a record of buckets of clusters alone has no groups. Pass it to calibration_test.")
        buckets = by_group(summaries)
        return [(group, buckets[group].n, buckets[group]) for group in _in_order(buckets)]
    for group, summary in summaries.items():
        if not isinstance(summary, Summary):
            raise InputError(f"group {group!r}: a {type(summary).__name__} is not a Summary. Pass {{group: Summary}}.")
    return [(group, summaries[group].n, summaries[group]) for group in _in_order(summaries)]


def _rows(y_true: Any, y_prob: Any, by: Any, sample_weight: Any, cluster: Any, *, repeats: bool) -> list[Part]:
    sample = as_sample(y_true, y_prob, sample_weight, by=by, cluster=cluster).rows("by")
    groups = sample.given.by
    if groups is None:
        raise InputError("by is missing. Pass the group of each row, or {group: Summary} in place of the arrays.")
    code: dict[Any, int] = {}
    codes = np.array([code.setdefault(group, len(code)) for group in groups])
    rows = sample.arrays  # every row is looked at here, so that a message names its place among all
    codes = codes if rows.kept is None else codes[rows.kept]
    order = np.argsort(codes, kind="stable")
    stretches = np.split(order, np.cumsum(np.bincount(codes, minlength=len(code)))[:-1])
    parts: list[Part] = []
    for group in _in_order(code):
        places = stretches[code[group]]
        n = round(float(rows.w[places].sum())) if repeats and rows.w is not None else len(places)
        parts.append((group, n, sample.taken(places) if len(places) else None))
    return parts


def _in_order(groups: Any) -> list[Any]:
    """Groups by value where they can be compared, else by kind and text; missing last."""
    named = [group for group in groups if group is not None]
    try:
        named = sorted(named)
    except TypeError:
        named = sorted(named, key=lambda group: (type(group).__name__, str(group)))
    return named + [group for group in groups if group is None]
