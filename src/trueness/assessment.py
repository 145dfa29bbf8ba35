"""The whole answer: is it off, by how much, where, and how sure are we?"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from trueness._forward import forward
from trueness._json import plain
from trueness._text import page
from trueness.curves.cumulative import CumulativeCurve, cumulative_curve
from trueness.curves.smooth import SmoothCurve, smooth_curve
from trueness.data.sample import NAMES as ARGUMENTS
from trueness.data.sample import RowData
from trueness.engines.frames.dispatch import computes_elsewhere, reads_once, summarize_frame
from trueness.engines.frames.memory import column_names, column_of, group_keys
from trueness.errors import InputError
from trueness.inference.evidence import DEFAULT, Evidence, evidence
from trueness.inference.groups import GroupTests, group_tests
from trueness.inference.intervals import Interval, check_level
from trueness.inference.significance import CalibrationTest
from trueness.inference.simulation import Progress, check_seed
from trueness.inputs.containers import group_values
from trueness.inputs.rows import read_rows
from trueness.metrics.cumulative import CumulativeError, ecce
from trueness.metrics.registry import METRICS
from trueness.summary.record import total_of
from trueness.summary.ruler import SLOTS
from trueness.summary.summary import Summary

WIDTH = 100  # columns of the printed page
HEADLINE, STATISTIC = "smooth_ece", "ecce_r"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricLine:
    """One metric of the table."""

    name: str
    label: str
    value: float
    interval: Interval
    noise_floor: float | None
    test: CalibrationTest | None

    def to_dict(self) -> dict[str, Any]:
        """The fields as nested dictionaries."""
        return {name: plain(getattr(self, name)) for name in ("name", "label", "value", "interval", "noise_floor", "test")}

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """The line as text: name, value, interval, noise floor, p."""
        low, high = self.interval.low, self.interval.high
        span = "–" if math.isnan(low) else f"{number(low)} to {number(high)}"
        floor = "–" if self.noise_floor is None else number(self.noise_floor)
        p = "–" if self.test is None else self.test.shown.removeprefix("= ")
        return self.label, number(self.value), span, floor, p


def number(x: float) -> str:
    """A calibration error for people: three digits, without exponents where they can be avoided."""
    return f"{x:.4f}" if x == 0 or x >= 0.00095 else f"{x:.2e}"


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
    data: RowData | Summary = field(repr=False)

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
    def significant(self) -> bool:
        """Whether noise alone would do this in fewer than 1 − level of all samples."""
        return self.test.pvalue < 1 - self.level

    @property
    def verdict(self) -> str:
        """What the test says, how large the error is, and where."""
        head = self[HEADLINE]
        facts = [f"ECCE-R p {self.test.shown}"]
        size = f"SmoothECE {number(head.value)}"
        if not math.isnan(head.interval.low):
            size += f", {100 * self.level:.4g} % interval {number(head.interval.low)}–{number(head.interval.high)}"
        facts.append(size if head.noise_floor is None else f"{size}, noise floor {number(head.noise_floor)}")
        return f"{self._finding} ({'; '.join(facts)})."

    @property
    def _finding(self) -> str:
        worst = self.error.worst
        if not self.significant or worst is None:
            high = self[HEADLINE].interval.high
            rest = "" if math.isnan(high) else f"; a SmoothECE up to {number(high)} is not excluded"
            return f"No miscalibration beyond noise was found, which does not show that there is none{rest}"
        gap = 100 * abs(worst.mean_gap)
        points = f"{gap:.0f}" if gap >= 99.5 else f"{gap:.2g}"
        low, high = _lowest(self.data, worst.low, worst.high), worst.high
        digits = 2 if high - low >= 0.1 or high == low == round(low, 2) else 4
        where = f"between {low:.{digits}f} and {high:.{digits}f}" if high > low else f"of {low:.{digits}f}"
        way = f"points too {'high' if worst.mean_gap < 0 else 'low'}"
        return f"{_way(low, high, worst.mean_gap)}: predictions {where} are {points} {way}"

    def __repr__(self) -> str:
        return page(self)

    def _repr_html_(self) -> str:
        return forward("report", "notebook")(self)  # type: ignore[no-any-return]

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
        if not math.isnan(head.interval.low):
            label += f" ({number(head.interval.low)}–{number(head.interval.high)})"
        labels = (label, f"ECCE-R {number(self.error.range)}, p {self.test.shown}")
        return forward("plots", "draw_pair")(self.smooth_curve, self.cumulative_curve, figure=figure, labels=labels)

    def report(self, path: Any, *, title: str = "Calibration report") -> None:
        """Write one self-contained HTML page; the file appears whole or not at all."""
        forward("report", "write_report")(self, path, title=title)


def _lowest(data: RowData | Summary, low: float, high: float) -> float:
    """The smallest score in (low, high]: a range that begins before all scores has 0 for its low end, where none may be."""
    if isinstance(data, Summary):
        edges = data.ruler.edges[data.cells]
        return float(edges[edges >= low].min(initial=high))
    scores = data.arrays.f
    inside = (scores > low) if low > 0 else (scores >= low)
    return float(scores[inside].min(initial=high))


def _way(low: float, high: float, gap: float) -> str:
    """Too extreme, not extreme enough, or simply too high or too low where the range lies on both sides of one half."""
    middle = (low + high) / 2
    if high - low > 0.75 or abs(middle - 0.5) < 0.05:
        return "Too high" if gap < 0 else "Too low"
    return "Over-confident" if (middle > 0.5) == (gap < 0) else "Under-confident"


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
    wanted = [name for name in dict.fromkeys([*metrics, HEADLINE, STATISTIC]) if name not in left_out]
    found = evidence(data, metrics=wanted, level=level, rng=seed, progress=progress)
    tests = None if groups is None else group_tests(**groups, rng=seed)
    summary = data if isinstance(data, Summary) else data.summary()
    return Assessment(
        metrics=tuple(_line(name, each) for name, each in zip(wanted, found, strict=True)),
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


def _line(name: str, found: Evidence) -> MetricLine:
    if found.interval is None:
        raise RuntimeError("intervals were asked for")
    label = METRICS[name].label
    facts: dict[str, Any] = {"interval": found.interval, "noise_floor": found.noise_floor, "test": found.test}
    return MetricLine(name=name, label=label, value=found.value, **facts)


def _unanswerable(data: RowData | Summary) -> list[str]:
    """Metrics that are listed unless told, and that merged cells cannot answer."""
    return [] if isinstance(data, RowData) or data.ruler.has(15) else ["binned_ece"]


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
) -> tuple[RowData | Summary, Groups | None]:
    """The data as one, and the arguments for the tests of its groups."""
    if isinstance(y_true, Summary | Mapping) and (isinstance(y_true, Summary) or _are_summaries(y_true)):
        if any(x is not None for x in (y_prob, sample_weight, by, *names.values())) or nan != "raise" or pos_label is not None:
            raise InputError("summaries already hold predictions, weights and groups; pass the summaries alone.")
        if isinstance(y_true, Summary):
            return y_true, None
        return total_of(y_true), {"y_true": y_true}
    if isinstance(y_true, RowData):
        return y_true, None if by is None else {"y_true": y_true, "by": by}
    called = ARGUMENTS
    if computes_elsewhere(y_true):
        for needed in ("outcome", "prediction"):
            if names[needed] is None:
                raise InputError(f"{needed} is missing. Name the frame's column, for example {needed}='y'.")
        exact = not reads_once(y_true)
        found = summarize_frame(y_true, **names, by=by, nan=nan, pos_label=pos_label, exact=exact)  # type: ignore[call-overload]
        if isinstance(found, Summary):
            return found, None
        return total_of(found), {"y_true": found}
    if any(name is not None for name in names.values()):
        y_true, y_prob, sample_weight, by = _columns(y_true, y_prob, sample_weight, by, names)
        called = tuple(f"column {name!r}" for name in names.values())  # type: ignore[assignment]
    elif y_prob is None:
        raise InputError("y_prob is missing. Pass y_true and y_prob, a Summary, or a frame with outcome= and prediction=.")
    data = RowData(read_rows(y_true, y_prob, sample_weight, nan=nan, pos_label=pos_label, names=called))
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
