"""The whole answer: is it off, by how much, where, and how sure are we?"""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from trueness._json import plain
from trueness._text import WIDTH, clean, number, percent, table
from trueness.curves.cumulative_curve import CumulativeCurve, cumulative_curve
from trueness.curves.smooth_curve import SmoothCurve, smooth_curve
from trueness.data.row_sample import RowSample
from trueness.data.sample import NAMES as ARGUMENTS
from trueness.data.sample import Sample, as_sample
from trueness.engines.frames.dispatch import summarize_frame
from trueness.errors import InputError
from trueness.inference.evidence import DEFAULT, Evidence, evidence
from trueness.inference.groups import GroupTests, group_tests
from trueness.inference.intervals import Interval
from trueness.inference.significance import CalibrationTest
from trueness.inference.simulation import Progress
from trueness.inputs.containers import group_values
from trueness.inputs.rows import read_rows
from trueness.inputs.tables import column_names, column_of, computes_elsewhere, group_keys, reads_once
from trueness.metrics.cumulative import CumulativeError, ecce
from trueness.metrics.registry import METRICS
from trueness.options import check_level, check_seed
from trueness.summary.record import total_of
from trueness.summary.ruler import SLOTS
from trueness.summary.summary import Summary
from trueness.verdict import certainties, finding, others

_GROUPS = 12  # groups that are printed
HEADLINE, STATISTIC = "smooth_ece", "ecce_r"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricLine:
    """One metric of the table."""

    name: str
    label: str
    value: float
    interval: Interval | None
    noise_floor: float | None
    test: CalibrationTest | None

    def to_dict(self) -> dict[str, Any]:
        """The fields as nested dictionaries."""
        return {name: plain(getattr(self, name)) for name in ("name", "label", "value", "interval", "noise_floor", "test")}

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """The line as text: name, value, interval, noise floor, p."""
        interval = self.interval
        span = "–" if interval is None or math.isnan(interval.low) else f"{number(interval.low)} to {number(interval.high)}"
        floor = "–" if self.noise_floor is None else number(self.noise_floor)
        p = "–" if self.test is None else self.test.shown.removeprefix("= ")
        return self.label, number(self.value), span, floor, p


@dataclass(frozen=True, kw_only=True, eq=False)
class Assessment:
    """What `assess` found. Printing it gives a short page; the first line is the verdict."""

    metrics: tuple[MetricLine, ...]
    error: CumulativeError
    level: float
    n: int
    seed: int
    notes: tuple[str, ...]
    rows_in: int
    rejected: Mapping[str, int]
    groups: GroupTests | None = None
    data: Sample = field(repr=False)

    def __getitem__(self, name: str) -> MetricLine:
        """A metric by its name."""
        for line in self.metrics:
            if line.name == name:
                return line
        raise KeyError(name)

    @property
    def test(self) -> CalibrationTest:
        """The test behind the verdict."""
        test = self[STATISTIC].test
        if test is None:
            raise RuntimeError("the verdict's statistic can always be tested")
        return test

    @property
    def interval(self) -> Interval:
        """The interval of the verdict's measure."""
        interval = self[HEADLINE].interval
        if interval is None:
            raise RuntimeError("the verdict's measure always has an interval")
        return interval

    @property
    def significant(self) -> bool:
        """Whether noise alone would do this in fewer than 1 − level of all samples."""
        return self.test.pvalue < 1 - self.level

    @property
    def verdict(self) -> str:
        """What the test says, how large the error is, and where; certain predictions that were wrong come first."""
        test, error, words, size = self.test, self.error, "", self._size
        high = None if math.isnan(self.interval.high) else self.interval.high
        if (wrong := self.data.contradictions).total and not self.data.soft:
            rest = self.data.without_contradictions()
            words = certainties(wrong)
            if rest is None or test.rest is None:
                return words
            words = f"{words} {others(self.n, wrong)}: "
            test, error, size, high = test.rest, ecce(rest), f"of all rows {size}", None
        sentence = finding(error, significant=test.pvalue < 1 - self.level, high=high)
        return f"{words}{sentence} (ECCE-R p {test.shown}; {size})."

    @property
    def _size(self) -> str:
        head = self[HEADLINE]
        size = f"SmoothECE {number(head.value)}"
        if not math.isnan(self.interval.low):
            size += f", {percent(self.level)} interval {number(self.interval.low)}–{number(self.interval.high)}"
        return size if head.noise_floor is None else f"{size}, noise floor {number(head.noise_floor)}"

    def __repr__(self) -> str:
        return page(self)

    def _repr_html_(self) -> str:
        from trueness.report.html import notebook

        return notebook(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything that was found, safe for JSON."""
        return {
            "verdict": self.verdict,
            "significant": self.significant,
            "n": self.n,
            "rows_in": self.rows_in,
            "rejected": dict(self.rejected),
            "level": self.level,
            "seed": self.seed,
            "metrics": [line.to_dict() for line in self.metrics],
            "cumulative": plain(self.error),
            "groups": None if self.groups is None else plain(self.groups)["groups"],
            "notes": list(self.notes),
        }

    @cached_property
    def smooth_curve(self) -> SmoothCurve:
        """The smooth reliability curve with its bands."""
        return smooth_curve(self.data, level=self.level, rng=self.seed)

    @cached_property
    def cumulative_curve(self) -> CumulativeCurve:
        """The cumulative curve."""
        return cumulative_curve(self.data)

    def plot(self, figure: Any = None) -> Any:
        """The smooth reliability diagram and the cumulative plot side by side; returns the matplotlib Figure."""
        head = self[HEADLINE]
        label = f"SmoothECE {number(head.value)}"
        if not math.isnan(self.interval.low):
            label += f" ({number(self.interval.low)}–{number(self.interval.high)})"
        labels = (label, f"ECCE-R {number(self.error.range)}, p {self.test.shown}")
        from trueness.plots.figures import draw_pair

        return draw_pair(self.smooth_curve, self.cumulative_curve, figure=figure, labels=labels)

    def report(self, path: Any, *, title: str = "Calibration report") -> None:
        """Write one self-contained HTML page; the file appears whole or not at all."""
        from trueness.report.html import write_report

        write_report(self, path, title=title)


def page(assessment: Assessment) -> str:
    """Verdict, table, worst range, groups and notes, at most 100 columns wide."""
    head = ("metric", "value", f"{percent(assessment.level)} interval", "noise floor", "p")
    parts = [
        textwrap.fill(assessment.verdict, width=WIDTH),
        table(head, [line.cells for line in assessment.metrics]),
        textwrap.fill(f"n = {assessment.n}. Test: {assessment.test.method} ({assessment.test.reason}).", width=WIDTH),
    ]
    if assessment.error.worst is not None:
        parts.append(f"Largest total error: {assessment.error.worst.described}")
    if assessment.groups is not None:
        parts.append(_group_table(assessment.groups))
    notes = (clean(note, most=1000) for note in assessment.notes)  # a summary's file may hold any text
    parts += [textwrap.fill(f"Note: {note}", width=WIDTH, subsequent_indent="  ") for note in notes]
    return "\n\n".join(parts[:2]) + "\n\n" + "\n".join(parts[2:])


def _group_table(groups: GroupTests) -> str:
    rows = [each.cells() for each in groups.ranked()[:_GROUPS]]
    shown = "\n" + table(("group", "rows", "ECCE-R", "p", "p, Holm"), rows)
    hidden = len(groups) - len(rows)
    return shown + (f"\n… and {hidden} more groups" if hidden else "")


def assess(
    y_true: Any,
    y_prob: Any = None,
    *,
    outcome: str | None = None,
    prediction: str | None = None,
    weight: str | None = None,
    sample_weight: Any = None,
    by: Any = None,
    level: float = 0.95,
    rng: Any = 0,
    nan: Literal["raise", "drop"] = "raise",
    pos_label: Any = None,
    metrics: Sequence[str] = DEFAULT,
    progress: Progress | None = None,
) -> Assessment:
    r"""Measure, test and locate the miscalibration of predicted probabilities.

    Parameters
    ----------
    y_true : array-like, data frame, Summary, Record or mapping of summaries
        Outcomes in {0, 1} or soft labels in [0, 1]; or a data frame, with the names of its columns in `outcome`,
        `prediction`, `weight` and `by`; or a `Summary`, or a `Record` or ``{group: Summary}``, in place of everything.
    y_prob : array-like
        Predicted probabilities.
    outcome, prediction, weight : str
        Columns of the data frame.
    sample_weight : array-like, optional
        Weights ≥ 0, taken as importance weights.
    by : array-like, str or sequence of str
        The group of each row, or its column, or several columns of a frame, whose groups are tuples: every group is tested,
        with p-values adjusted for their number.
    level : float
        Level of the intervals, a fraction; 1 − level is the significance of the verdict.
    rng : int, numpy Generator or None
        Randomness; a fixed seed by default.
    nan : {"raise", "drop"}
        Refuse missing values, or drop their rows and count them in the notes.
    pos_label : object, optional
        The one value of the outcomes that means the event.
    metrics : sequence of str
        Which metrics to list.
    progress : callable, optional
        Called with the draws done and the draws in all.

    Returns
    -------
    Assessment

    Examples
    --------
    >>> from trueness.demo import make_demo
    >>> y_true, y_prob, _ = make_demo()
    >>> print(assess(y_true, y_prob).verdict)  # doctest: +NORMALIZE_WHITESPACE
    Over-confident: predictions between 0.60 and 0.90 are 9.2 points too high (ECCE-R p = 1.9e-21;
    SmoothECE 0.0407, 95 % interval 0.0306–0.0467, noise floor 0.0112).
    """
    level, seed = check_level(level), check_seed(rng)
    names = {"outcome": outcome, "prediction": prediction, "weight": weight}
    data, groups = _read(y_true, y_prob, sample_weight, by, names, nan, pos_label)
    left_out = _unanswerable(data) if metrics is DEFAULT else []
    listed = [name for name in dict.fromkeys([*metrics, HEADLINE, STATISTIC]) if name not in left_out]
    results = evidence(data, metrics=listed, level=level, rng=seed, progress=progress)
    tests = None if groups is None else group_tests(**groups, rng=seed)
    summary = data.summary()
    return Assessment(
        metrics=tuple(_line(name, each) for name, each in zip(listed, results, strict=True)),
        error=ecce(data),
        level=level,
        n=summary.n,
        seed=seed,
        rows_in=summary.rows_in,
        rejected=summary.rejected,
        notes=(*summary.notes, *_further_notes(summary), *(f"{name} is left out: no edges of 15 bins" for name in left_out)),
        groups=tests,
        data=data,
    )


def _line(name: str, evidence: Evidence) -> MetricLine:
    return MetricLine(
        name=name,
        label=METRICS[name].label,
        value=evidence.value,
        interval=evidence.interval,
        noise_floor=evidence.noise_floor,
        test=evidence.test,
    )


def _unanswerable(sample: Sample) -> list[str]:
    """Metrics that are listed unless told, and that merged cells cannot answer."""
    return [] if sample.has_bins(15) else ["binned_ece"]


def _further_notes(summary: Summary) -> list[str]:
    notes = []
    if summary.soft:
        notes.append("soft labels: no noise floor, and only ECCE has a test")
    if not summary.exact and not summary.soft:
        notes.append("weights are taken as importance weights")
    if summary.n >= 1000 and len(summary.cells) < min(SLOTS, 100):
        notes.append(f"many ties: the scores lie in {len(summary.cells)} cells; rows with equal scores are taken together")
    return notes


Groups = dict[str, Any]


def _read(
    y_true: Any, y_prob: Any, sample_weight: Any, by: Any, names: dict[str, str | None], nan: str, pos_label: Any
) -> tuple[Sample, Groups | None]:
    """The data as one, and the arguments for the tests of its groups."""
    if isinstance(y_true, Summary | Mapping) and (isinstance(y_true, Summary) or _are_summaries(y_true)):
        if any(x is not None for x in (y_prob, sample_weight, by, *names.values())) or nan != "raise" or pos_label is not None:
            raise InputError("summaries already hold predictions, weights and groups; pass the summaries alone.")
        if isinstance(y_true, Summary):
            return as_sample(y_true), None
        return as_sample(total_of(y_true)), {"y_true": y_true}
    if isinstance(y_true, RowSample):
        return y_true, None if by is None else {"y_true": y_true, "by": by}
    called = ARGUMENTS
    if computes_elsewhere(y_true):
        for needed in ("outcome", "prediction"):
            if names[needed] is None:
                raise InputError(f"{needed} is missing. Name the frame's column, for example {needed}='y'.")
        exact = not reads_once(y_true)
        summed = summarize_frame(y_true, **names, by=by, nan=nan, pos_label=pos_label, exact=exact)  # type: ignore[call-overload]
        if isinstance(summed, Summary):
            return as_sample(summed), None
        return as_sample(total_of(summed)), {"y_true": summed}
    if any(name is not None for name in names.values()):
        y_true, y_prob, sample_weight, by = _columns(y_true, y_prob, sample_weight, by, names)
        called = tuple(f"column {name!r}" for name in names.values())  # type: ignore[assignment]
    elif y_prob is None:
        raise InputError("y_prob is missing. Pass y_true and y_prob, a Summary, or a frame with outcome= and prediction=.")
    data = RowSample(read_rows(y_true, y_prob, sample_weight, nan=nan, pos_label=pos_label, names=called))
    if by is None:
        return data, None
    return data, {"y_true": data, "by": by}


def _are_summaries(given: Mapping[Any, Any]) -> bool:
    return len(given) > 0 and all(isinstance(value, Summary) for value in given.values())


def _columns(frame: Any, y_prob: Any, sample_weight: Any, by: Any, names: dict[str, str | None]) -> tuple[Any, Any, Any, Any]:
    """Columns of a frame by name."""
    if y_prob is not None or sample_weight is not None:
        raise InputError("y_prob, sample_weight: a frame's columns are named by prediction= and weight=.")
    for needed in ("outcome", "prediction"):
        if names[needed] is None:
            raise InputError(f"{needed} is missing. Name the frame's column, for example {needed}='y'.")
    columns = [None if name is None else column_of(frame, name) for name in names.values()]
    return columns[0], columns[1], columns[2], _groups_of(frame, by, str(names["prediction"]))


def _groups_of(frame: Any, by: Any, prediction: str) -> Any:
    """The group of each row: of the column that `by` names, of the columns that it lists, else what it holds itself."""
    if isinstance(by, str):
        return column_of(frame, by)
    if not (isinstance(by, list | tuple) and by and all(isinstance(name, str) for name in by)):
        return by
    if not set(by) <= set(column_names(frame)) and len(by) == len(column_of(frame, prediction)):
        return by
    columns = [group_values(column_of(frame, name), f"column {name!r}") for name in by]
    return group_keys(columns)
