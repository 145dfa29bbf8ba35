"""The whole answer: is it off, by how much, where, and how sure are we?"""

import math
import textwrap
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from trueness._json import plain
from trueness._text import WIDTH, clean, number, percent, table
from trueness._values import lists
from trueness.curves.cumulative_curve import CumulativeCurve, cumulative_curve
from trueness.curves.local_curve import LocalCurve, local_curves
from trueness.curves.smooth_curve import SmoothCurve, smooth_curve
from trueness.data.bucket_sample import has_buckets, whole
from trueness.data.row_sample import RowSample
from trueness.data.sample import Sample, as_sample
from trueness.engines.frames.dispatch import reduce_frame
from trueness.engines.frames.memory import read_columns
from trueness.errors import InputError
from trueness.inference.evidence import DEFAULT, Evidence, evidence
from trueness.inference.gap import WorstGap
from trueness.inference.groups import GroupTests, group_tests
from trueness.inference.headline import headline
from trueness.inference.intervals import Interval
from trueness.inference.outcome import CalibrationTest
from trueness.inference.simulation import Progress
from trueness.inputs.arguments import Columns, Reading, column_names
from trueness.inputs.frames import unwrapped
from trueness.inputs.rows import Rows, read_rows
from trueness.inputs.tables import column_of, columns_of, computes_elsewhere, reads_once
from trueness.metrics.cumulative import CumulativeError, ecce
from trueness.metrics.registry import METRICS
from trueness.options import check_level, check_names, check_progress, check_seed
from trueness.summary.record import Record, total_of
from trueness.summary.ruler import ruler
from trueness.summary.summary import Summary
from trueness.verdict import also, certainties, finding, limits, others, remarks

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
    test: CalibrationTest  # behind the verdict: the combined one
    gap: WorstGap | None  # in the range that is off the most
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
        test, words, size, alpha = self.test, "", self._size, 1 - self.level
        high = None if math.isnan(self.interval.high) else self.interval.high
        if test.contradictions:
            wrong = self.data.contradictions()
            words = certainties(wrong)
            if test.rest is None:
                return words
            words = f"{words} {others(self.n, wrong)}: "
            test, size, high = test.rest, f"of all rows {size}", None
        sentence = finding(test, self.located.worst, self.gap, alpha=alpha, high=high)
        return f"{words}{sentence} (p {test.shown}; {size}).{also(test, self.located.worst, alpha=alpha)}"

    @property
    def _verdict_rows(self) -> Sample:
        """The rows in which the verdict looks for a range: all but certain predictions that were wrong, if others are left."""
        return self.data if self.test.rest is None else self.data.without_contradictions or self.data

    @property
    def located(self) -> CumulativeError:
        """The cumulative error whose worst range words and figures name."""
        return self.error if self.test.rest is None else ecce(self._verdict_rows)

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
            "test": plain(self.test),
            "gap": plain(self.gap),
            "cumulative": plain(self.error),
            "groups": None if self.groups is None else plain(self.groups)["groups"],
            "notes": list(self.notes),
        }

    @cached_property
    def local_curve(self) -> LocalCurve:
        """The local reliability curve with its bands: the one that is drawn."""
        return local_curves([self.data], level=self.level, rng=self.seed, errors=[self[HEADLINE].value])[0]

    @cached_property
    def smooth_curve(self) -> SmoothCurve:
        """The reliability curve that SmoothECE smooths, with its bands."""
        return smooth_curve(self.data, level=self.level, rng=self.seed)

    @cached_property
    def cumulative_curve(self) -> CumulativeCurve:
        """The cumulative curve of the rows in which the verdict looks for a range."""
        return cumulative_curve(self._verdict_rows)

    def plot(self, figure: Any = None) -> Any:
        """The local reliability curve and the cumulative plot side by side; returns the matplotlib Figure."""
        head = self[HEADLINE]
        label = f"SmoothECE {number(head.value)}"
        if not math.isnan(self.interval.low):
            label += f" ({number(self.interval.low)}–{number(self.interval.high)})"
        test = self.test.rest or self.test
        left_out = f", {self.test.contradictions} certain and wrong left out" if test is not self.test else ""
        labels = (label, f"ECCE-R {number(self.located.range)}, p {test.shown}{left_out}")
        from trueness.plots.figures import draw_pair

        return draw_pair(self.local_curve, self.cumulative_curve, figure=figure, labels=labels)

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
        textwrap.fill(_told(assessment), width=WIDTH),
        *_part_table(assessment),
    ]
    if (worst := assessment.located.worst) is not None:
        whose = "" if assessment.test.rest is None else " of the other rows"
        parts.append(f"Largest total error{whose}, as observed: {worst.described}")
    if assessment.groups is not None:
        parts.append(_group_table(assessment.groups))
    notes = (clean(note, most=1000) for note in assessment.notes)  # a summary's file may hold any text
    parts += [textwrap.fill(f"Note: {note}", width=WIDTH, subsequent_indent="  ") for note in notes]
    return "\n\n".join(parts[:2]) + "\n\n" + "\n".join(parts[2:])


def _told(assessment: Assessment) -> str:
    """How many rows there are, and how they were tested."""
    test = assessment.test
    return f"n = {assessment.n}. Combined test: p {test.shown}{test.certainties}, {test.method} ({test.reason})."


def _part_table(assessment: Assessment) -> list[str]:
    """The parts of the test, and what those saw that saw something; nothing where it has no more than one."""
    test = assessment.test.rest or assessment.test
    if len(test.parts) < 2:
        return []
    seen = test.seen(1 - assessment.level)
    rows = [(part.label, part.shown, part.words if part in seen else "") for part in test.parts]
    return ["", table(("part of the test", "p alone", "what it saw"), rows), ""]


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
    cluster: Any = None,
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
    cluster : array-like or str, optional
        The cluster of each row, or its column, where rows of one are not independent: repeats of one question, visits of one
        patient. Draws then flip whole clusters, and nothing is surer than for independent rows.
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
    Over-confident: predictions between 0.60 and 0.90 are at least 6.5 points too high, estimated 8.8 (p = 2.8e-38;
    SmoothECE 0.0407, 95 % interval 0.0313–0.0459, noise floor 0.0112). Also seen: slope 0.83: too extreme.
    """
    level, seed = check_level(level), check_seed(rng)
    check_progress(progress)
    asked = check_names("metrics", metrics, HEADLINE)
    named = {"outcome": outcome, "prediction": prediction, "weight": weight}
    data, groups = _read(y_true, y_prob, sample_weight, by, cluster, named, Reading(nan=nan, pos_label=pos_label))
    left_out = _unanswerable(data) if metrics is DEFAULT else []
    listed = [name for name in dict.fromkeys([*asked, HEADLINE, STATISTIC]) if name not in left_out]
    results = evidence(data, metrics=listed, level=level, rng=seed, progress=progress)
    tests = None if groups is None else group_tests(groups, rng=seed)
    summary, found = data.summary(), headline(data, alpha=1 - level, seed=seed)
    return Assessment(
        metrics=tuple(_line(name, each) for name, each in zip(listed, results, strict=True)),
        error=ecce(data),
        test=found.test,
        gap=found.gap,
        level=level,
        n=summary.n,
        seed=seed,
        rows_in=summary.rows_in,
        rejected=summary.rejected,
        notes=(
            *summary.notes_on_rows,
            *remarks(summary),
            *([] if data.has_rows else limits(summary, *(results[listed.index(name)] for name in (HEADLINE, STATISTIC)))),
            *(f"{name} is left out: no edges of 15 bins" for name in left_out),
        ),
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


def _read(
    y_true: Any, y_prob: Any, sample_weight: Any, by: Any, cluster: Any, named: Mapping[str, Any], reading: Reading
) -> tuple[Sample, Sample | Mapping[Any, Summary] | None]:
    """The data as one, and as groups where there are some."""
    if isinstance(y_true, Summary | Mapping) and (isinstance(y_true, Summary) or _are_summaries(y_true)):
        if any(x is not None for x in (y_prob, sample_weight, by, cluster, *named.values())) or reading != Reading():
            raise InputError("summaries already hold predictions, weights, groups and clusters; pass the summaries alone.")
        return _summed(y_true)
    if isinstance(y_true, RowSample):
        data = y_true
    elif computes_elsewhere(y_true):
        _require_names_alone(y_prob, sample_weight)
        columns = Columns(**named, by=column_names(by), cluster=cluster)
        return _summed(reduce_frame(unwrapped(y_true), columns, ruler(), reading, exact=not reads_once(y_true)))
    elif any(name is not None for name in named.values()):
        _require_names_alone(y_prob, sample_weight)
        data = RowSample(_frame_rows(unwrapped(y_true), by, cluster, named, reading).owned())
    elif y_prob is None:
        raise InputError("y_prob is missing. Pass y_true and y_prob, a Summary, or a frame with outcome= and prediction=.")
    else:
        groups = () if by is None else (("by", by),)
        clusters = None if cluster is None else ("cluster", cluster)
        data = RowSample(read_rows(y_true, y_prob, sample_weight, reading, by=groups, cluster=clusters).owned())
    return data, None if data.given.by is None else data


def _summed(summaries: Summary | Mapping[Any, Summary]) -> tuple[Sample, Mapping[Any, Summary] | None]:
    """All rows that were summed, and their groups; buckets of clusters are no groups."""
    if isinstance(summaries, Summary):
        return as_sample(summaries), None
    if isinstance(summaries, Record) and has_buckets(summaries):
        return whole(summaries), summaries if len(summaries.axes) > 1 else None
    return as_sample(total_of(summaries)), summaries


def _require_names_alone(y_prob: Any, sample_weight: Any) -> None:
    if y_prob is not None or sample_weight is not None:
        raise InputError("y_prob, sample_weight: a frame's columns are named by prediction= and weight=.")


def _are_summaries(given: Mapping[Any, Any]) -> bool:
    return len(given) > 0 and all(isinstance(value, Summary) for value in given.values())


def _frame_rows(frame: Any, by: Any, cluster: Any, named: Mapping[str, Any], reading: Reading) -> Rows:
    """Columns of a frame by name; groups are the columns that `by` names or lists, else what it holds itself.

    So are clusters.
    """
    columns = Columns(**named, cluster=cluster if isinstance(cluster, str) else None)
    clusters = None if cluster is None or columns.cluster is not None else ("cluster", cluster)
    if by is not None and _names_columns(by, frame, columns):
        return read_columns(frame, replace(columns, by=column_names(by)), reading, cluster=clusters)
    return read_columns(frame, columns, reading, by=() if by is None else (("by", by),), cluster=clusters)


def _names_columns(by: Any, frame: Any, columns: Columns) -> bool:
    """Whether `by` is the name of a column or a list of names, not the group of each row."""
    if isinstance(by, str):
        return True
    if not lists(by) or not isinstance(by, Sized) or not len(by) or not all(isinstance(name, str) for name in by):
        return False
    return set(by) <= set(columns_of(frame)) or len(by) != len(column_of(frame, columns.prediction))
