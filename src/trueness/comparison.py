"""Several predictors on the same rows: which is off by less, as far as the rows can tell."""

import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from trueness._frozen import FrozenMapping
from trueness._json import plain
from trueness._text import WIDTH, clean, number, percent, show_pvalue, table
from trueness._values import show
from trueness.data.row_sample import RowSample
from trueness.data.sample import copies
from trueness.errors import InputError
from trueness.inference.differences import SCORES, Difference, differences
from trueness.inference.evidence import DEFAULT
from trueness.inference.mean_gaps import SURE_ARE_RIGHT
from trueness.inference.simulation import Progress
from trueness.inputs.align import aligned
from trueness.inputs.arguments import Reading, predictor_names
from trueness.inputs.rows import read_rows
from trueness.metrics.registry import METRICS
from trueness.options import check_level, check_names, check_progress, check_seed
from trueness.summary.summary import Summary

_ERRORS = "Calibration errors: how far predictions are from what happens, 0 is best"
_SCORES = "Scores: calibration and how well outcomes are told apart, lower is better"
_SENTENCES = 3  # pairs of which each has its sentence
_SCREEN = 40  # lines of a printed page


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """What `compare` found: each metric of each predictor, and the difference of every pair with its interval."""

    names: tuple[str, ...]
    values: Mapping[str, Mapping[str, float]]  # metric → predictor → value
    differences: tuple[Difference, ...]
    level: float
    n: int
    seed: int
    notes: tuple[str, ...]
    rows_in: int
    predictions: Mapping[str, RowSample] = field(repr=False)

    @property
    def verdict(self) -> str:
        """Which pairs can be told apart, by any of the calibration errors; by the scores where no error was asked for."""
        told = self._of(scores=False) or self._of(scores=True)
        pairs = list(dict.fromkeys((each.a, each.b) for each in told))
        said = [_sentences([each for each in told if (each.a, each.b) == pair]) for pair in pairs]
        if len(pairs) <= _SENTENCES:
            return " ".join(f"{each}." for found in said for each in found)
        apart = [f"{each}." for found, pair in zip(said, pairs, strict=True) if self._apart(told, pair) for each in found]
        count = len(pairs) - sum(self._apart(told, pair) for pair in pairs)
        return " ".join([*apart, f"{count} of {len(pairs)} pairs are not distinguishable by {_by(told)}."])

    @staticmethod
    def _apart(told: Sequence[Difference], pair: tuple[str, str]) -> bool:
        return any(each.distinguishable for each in told if (each.a, each.b) == pair)

    def _of(self, *, scores: bool) -> list[Difference]:
        return [each for each in self.differences if (each.metric in SCORES) == scores]

    def ranks(self, metric: str) -> dict[str, int]:
        """One more than the number of predictors that are better by this metric beyond chance, in ascending order."""
        self._require(metric)
        better = [(each.b, each.a) if each.value < 0 else (each.a, each.b) for each in self.differences_of(metric)]
        beaten = [worse for worse, _ in better]
        values = self.values[metric]
        order = sorted(self.names, key=lambda name: (beaten.count(name), _last_if_missing(values[name])))
        return {name: 1 + beaten.count(name) for name in order}

    def differences_of(self, metric: str) -> list[Difference]:
        """Those of a metric that are distinguishable."""
        self._require(metric)
        return [each for each in self.differences if each.metric == metric and each.distinguishable]

    def _require(self, metric: str) -> None:
        if not isinstance(metric, str) or metric not in self.values:
            raise InputError(f"metric: {show(metric)} is not one of those compared, {', '.join(self.values)}.")

    def __repr__(self) -> str:
        verdict = textwrap.fill(_cut(self.verdict, 600), width=WIDTH)
        notes = "".join("\n" + textwrap.fill(f"Note: {note}", width=WIDTH, subsequent_indent="  ") for note in self.notes)
        values = [f"{title}\n{table(head, rows)}" for title, head, rows in self.value_tables()]
        end = f"n = {self.n}.{notes}"
        parts = self.difference_tables()
        room = _SCREEN - sum(part.count("\n") + 2 for part in (verdict, *values, end)) - 5 * len(parts)
        shares = _shares(max(room, 2 * len(parts)), [len(rows) for _, _, rows in parts])
        found = []
        for (title, head, rows), share in zip(parts, shares, strict=True):
            more = f"\n… and {len(rows) - share} more" if len(rows) > share else ""
            found.append(f"{title}\n{table(head, rows[:share])}{more}")
        return "\n\n".join([verdict, *values, *found, end])

    def value_tables(self) -> list[tuple[str, Sequence[str], list[list[str]]]]:
        """Calibration errors and scores of each predictor, ranked, as text: title, head and rows of each table."""
        return [
            (title, ("rank", "predictor", *(METRICS[metric].label for metric in metrics)), self._ranked(metrics))
            for title, metrics in self._headings(_ERRORS, _SCORES)
        ]

    def difference_tables(self) -> list[tuple[str, Sequence[str], list[list[str]]]]:
        """The difference of every pair under the same headings, as text: title, head and rows of each table."""
        head = ("difference", "metric", "value", f"{percent(self.level)} interval", "p", "p, Holm")
        return [
            (title, head, [_row(each) for each in self.differences if each.metric in metrics])
            for title, metrics in self._headings("Differences of calibration errors", "Differences of scores")
        ]

    def _headings(self, *titles: str) -> list[tuple[str, list[str]]]:
        kinds = [[metric for metric in self.values if (metric in SCORES) == scores] for scores in (False, True)]
        return [(title, metrics) for title, metrics in zip(titles, kinds, strict=True) if metrics]

    def _ranked(self, metrics: Sequence[str]) -> list[list[str]]:
        return [
            [str(rank), clean(name, 16), *(number(self.values[metric][name]) for metric in metrics)]
            for name, rank in self.ranks(metrics[0]).items()
        ]

    def _repr_html_(self) -> str:
        from trueness.report.compare import notebook_comparison

        return notebook_comparison(self)

    def report(self, path: Any, *, title: str = "Comparison") -> None:
        """Write one self-contained HTML page; the file appears whole or not at all."""
        from trueness.report.compare import write_comparison

        write_comparison(self, path, title=title)

    def to_dict(self) -> dict[str, Any]:
        """Everything that was found, safe for JSON.

        ``verdict``, ``n`` (rows used), ``rows_in``, ``level``, ``seed``, ``notes``; ``values`` and ``ranks`` by metric and
        predictor; ``differences``, each with ``metric``, ``a``, ``b``, ``value_a``, ``value_b``, ``value`` (a less b), ``low``,
        ``high``, ``level``, ``pvalue``, ``adjusted_pvalue``, ``distinguishable`` and ``method``. None stands for what is not
        finite: no interval, or a log loss that is infinite.
        """
        return {
            "verdict": self.verdict,
            "n": self.n,
            "rows_in": self.rows_in,
            "level": self.level,
            "seed": self.seed,
            "values": {metric: {name: plain(value) for name, value in row.items()} for metric, row in self.values.items()},
            "ranks": {metric: self.ranks(metric) for metric in self.values},
            "differences": [{key: plain(value) for key, value in each.to_dict().items()} for each in self.differences],
            "notes": list(self.notes),
        }

    def plot(self, figure: Any = None) -> Any:
        """Smooth and cumulative curves of all predictors; returns the matplotlib Figure."""
        from trueness.plots.figures import draw_compare

        return draw_compare(self.predictions, figure=figure)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _on_intervals(pairs: Sequence[Difference]) -> list[str]:
    """What intervals take for granted, and why some cannot be had."""
    notes = []
    for metric in dict.fromkeys(each.metric for each in pairs):
        label, own = METRICS[metric].label, [each for each in pairs if each.metric == metric]
        reasons = Counter(each.method.partition(":")[0] for each in own if not math.isfinite(each.low))
        notes += [f"{label}: no interval for {count} of {len(own)} pairs: {why}" for why, count in reasons.items()]
        if any(each.method.endswith(SURE_ARE_RIGHT) for each in own):
            notes.append(f"{label}: {SURE_ARE_RIGHT}, for what they would lose has no bound")
    return notes


def _last_if_missing(value: float) -> tuple[bool, float]:
    return (math.isnan(value), value)


def _shares(room: int, lengths: Sequence[int]) -> list[int]:
    """Lines of each of some tables: alike, what one does not need for the others."""
    shares = [0] * len(lengths)
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        left = sum(1 for share in shares if not share)
        shares[place] = min(lengths[place], (room - sum(shares)) // left)
    return shares


def _row(each: Difference) -> list[str]:
    names, label = f"{clean(each.a, 16)} − {clean(each.b, 16)}", METRICS[each.metric].label
    if math.isnan(each.low):
        return [names, label, _signed(each.value), "–", "–", "–"]
    ps = [_pvalue(each.pvalue), _pvalue(each.adjusted_pvalue)]
    return [names, label, _signed(each.value), f"{_signed(each.low)} to {_signed(each.high)}", *ps]


def _signed(x: float) -> str:
    return f"{x:+.4f}" if x == 0 or not math.isfinite(x) or abs(x) >= 0.00095 else f"{x:+.1e}"


def _pvalue(p: float) -> str:
    return show_pvalue(p, math.log10(p) if p > 0 else -math.inf)


def _by(told: Sequence[Difference]) -> str:
    metrics = list(dict.fromkeys(each.metric for each in told))
    if len(metrics) == 1:
        return METRICS[metrics[0]].label
    return f"any of {len(metrics)} {'scores' if metrics[0] in SCORES else 'calibration errors'}"


def _sentences(pair: Sequence[Difference]) -> list[str]:
    """One pair: the metric that tells best which of the two is better, and the best of those that say the contrary."""
    a, b = clean(pair[0].a), clean(pair[0].b)
    said = []
    for sign in (-1, 1):
        sure = [each for each in pair if each.distinguishable and each.value * sign > 0]
        if sure:
            best = min(sure, key=lambda each: each.adjusted_pvalue)
            better, worse = (a, b) if sign < 0 else (b, a)
            what = f"has a lower {METRICS[best.metric].label} than" if best.metric in SCORES else "is off by less than"
            by = "" if best.metric in SCORES else f"{METRICS[best.metric].label}, "
            said.append((best.adjusted_pvalue, f"{better} {what} {worse} ({by}p = {_pvalue(best.adjusted_pvalue)})"))
    return [text for _, text in sorted(said)] or [f"{a} and {b} are not distinguishable by {_by(pair)}"]


def compare(
    y_true: Any,
    predictions: Mapping[str, Any],
    *,
    sample_weight: Any = None,
    level: float = 0.95,
    rng: Any = 0,
    nan: Literal["raise", "drop"] = "raise",
    pos_label: Any = None,
    metrics: Sequence[str] = (*DEFAULT, *SCORES),
    progress: Progress | None = None,
) -> Comparison:
    """Compare predictors on the same rows.

    Parameters
    ----------
    y_true : array-like
        Outcomes in {0, 1} or soft labels in [0, 1].
    predictions : mapping of str to array-like
        Predicted probabilities of two or more predictors, by name.
    sample_weight : array-like, optional
        Weights ≥ 0.
    level : float
        Level of each difference's interval, a fraction; it holds also when both predictors are perfect.
    rng : int, numpy Generator or None
        Randomness, which of all metrics `weak_calibration_error` alone needs; a fixed seed by default.
    nan : {"raise", "drop"}
        Refuse missing values, or drop every row in which any predictor has one.
    pos_label : object, optional
        The one value of the outcomes that means the event.
    metrics : sequence of str
        Which metrics to compare: calibration errors, and the scores "brier_score" and "log_loss". The tables are ranked by
        the first of each kind; the verdict is by all calibration errors, or by scores where they alone are asked for.
    progress : callable, optional
        Called with the predictors done and the predictors in all.

    Returns
    -------
    Comparison
        With ``values``, ``ranks(metric)`` and ``differences``: each with ``metric``, ``a``, ``b``, ``value``, ``low`` and
        ``high``, ``pvalue`` of no difference, ``adjusted_pvalue`` (Holm's, over all differences here) and ``method``. NaN
        stands for an interval that cannot be had, and ``method`` says why.

    Notes
    -----
    Intervals are paired: noise that two predictors share cancels, and one against itself gets exactly 0, [0, 0] and p = 1. A
    difference is distinguishable when its adjusted p-value is below 1 − level. Scores have no interval unless at least 10 rows
    of either outcome, equally important ones, tell the predictors apart.

    References
    ----------
    S. Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> from trueness.demo import make_demo
    >>> y_true, y_prob, truth = make_demo()
    >>> compare(y_true, {"model": y_prob, "truth": truth}, metrics=["ecce_r"]).verdict
    'truth is off by less than model (ECCE-R, p = 9e-08).'
    """
    rows = read_predictors(y_true, predictions, sample_weight, Reading(nan=nan, pos_label=pos_label))
    return compare_rows(rows, level=level, rng=rng, metrics=metrics, progress=progress)


def compare_rows(
    predictions: Mapping[str, RowSample],
    *,
    level: float = 0.95,
    rng: Any = 0,
    metrics: Sequence[str] = (*DEFAULT, *SCORES),
    progress: Progress | None = None,
) -> Comparison:
    """`compare` for rows that are read already, of equal number and with equal outcomes and weights."""
    level, seed = check_level(level), check_seed(rng)
    check_progress(progress)
    metrics = check_names("metrics", metrics, DEFAULT[0])
    if not metrics:
        raise InputError("metrics: none given. Pass at least one to compare by.")
    rows, left_out = _common(dict(predictions))
    pairs = differences(rows, metrics=metrics, level=level, rng=seed, progress=progress)
    values: dict[str, dict[str, float]] = {metric: {} for metric in metrics}
    for each in pairs:
        values[each.metric] |= {each.a: each.value_a, each.b: each.value_b}
    first = next(iter(rows.values()))
    on_rows = [note for each in rows.values() for note in each.summary().notes_on_rows]
    return Comparison(
        names=tuple(rows),
        values=FrozenMapping({metric: FrozenMapping(row) for metric, row in values.items()}),
        differences=tuple(pairs),
        level=level,
        n=len(first.arrays.f),
        seed=seed,
        notes=tuple(dict.fromkeys([*left_out, *on_rows, *_on_intervals(pairs)])),
        rows_in=len(next(iter(predictions.values())).given),
        predictions=FrozenMapping(rows),
    )


def read_predictors(
    y_true: Any, predictions: Mapping[str, Any], sample_weight: Any, reading: Reading, what: str = "compare"
) -> dict[str, RowSample]:
    """Rows of every predictor, all matched by their index where they have one."""
    if isinstance(y_true, Summary):
        raise InputError(f"{what} needs the same rows for every predictor: pass y_true and {{name: y_prob}}, not summaries.")
    names = predictor_names(predictions)
    called = ("y_true", *(f"predictions[{show(name)}]" for name in names), "sample_weight")
    (y_true, *columns, sample_weight), _ = aligned([y_true, *predictions.values(), sample_weight], called, reading.align)
    outcomes, weights = (copies(column, len(predictions)) for column in (y_true, sample_weight))
    return {
        name: RowSample(read_rows(y, y_prob, w, reading, names=("y_true", column, "sample_weight")).owned())
        for name, column, y_prob, y, w in zip(names, called[1:-1], columns, outcomes, weights, strict=True)
    }


def _common(rows: dict[str, RowSample]) -> tuple[dict[str, RowSample], list[str]]:
    """The rows that every predictor has, and what to say of the others."""
    masks = [each.arrays.kept for each in rows.values()]
    if all(mask is None for mask in masks) or (len({each.arrays.f.size for each in rows.values()}) == 1 and _same(masks)):
        return rows, []
    length = max(len(mask) for mask in masks if mask is not None)
    common = np.ones(length, dtype=bool)
    for mask in masks:
        common &= True if mask is None else mask
    if not common.any():
        raise InputError("predictions: no row has an outcome and every prediction. Pass at least one such row.")
    kept = {}
    for name, each in rows.items():
        a = each.arrays
        shared = common if a.kept is None else common[a.kept]
        read = read_rows(a.y[shared], a.f[shared], None if a.w is None else a.w[shared])
        kept[name] = RowSample(replace(read, notes=each.given.notes))
    notes = [f"{length - int(common.sum())} of {length} rows left out: the outcome or some prediction is missing"]
    for name, each in rows.items():
        notes += [f"{clean(name)}: {count} {'row' if count == 1 else 'rows'} not used: {why}" for why, count in _rejected(each)]
    return kept, notes


def _rejected(data: RowSample) -> list[tuple[str, int]]:
    return list(data.arrays.rejected.items())


def _same(masks: list[Any]) -> bool:
    return all(mask is not None and np.array_equal(mask, masks[0]) for mask in masks)
