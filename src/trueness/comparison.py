"""Several predictors on the same rows: which is off by less, as far as the rows can tell."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from trueness._frozen import FrozenMapping
from trueness._json import plain
from trueness._text import WIDTH, clean, number, percent, table
from trueness._values import show
from trueness.data.row_sample import RowSample
from trueness.data.sample import copies
from trueness.errors import InputError
from trueness.inference.differences import SCORES, Difference, differences
from trueness.inference.evidence import DEFAULT
from trueness.inference.simulation import Progress
from trueness.inputs.align import aligned
from trueness.inputs.arguments import Reading, predictor_names
from trueness.inputs.rows import read_rows
from trueness.metrics.registry import METRICS
from trueness.options import check_level, check_names, check_progress, check_seed
from trueness.summary.summary import Summary

_PAIRS = 28  # differences that are printed
_SENTENCES = 3  # pairs of which each has its sentence


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
        """Which pairs can be told apart, by the first metric."""
        first = [each for each in self.differences if each.metric == self.differences[0].metric]
        if len(first) <= _SENTENCES:
            return " ".join(f"{_sentence(each)}." for each in first)
        apart = [each for each in first if each.distinguishable]
        same = f"{len(first) - len(apart)} of {len(first)} pairs are not distinguishable by {METRICS[first[0].metric].label}."
        return " ".join([*(f"{_sentence(each)}." for each in apart), same])

    def __repr__(self) -> str:
        verdict = textwrap.fill(_cut(self.verdict, 600), width=WIDTH)
        head, rows = self.value_table()
        if len(table(head, rows).partition("\n")[0]) > WIDTH:  # many predictors: one a line
            head = ("predictor", *self.values)
            rows = [[clean(name, 14), *(number(values[name]) for values in self.values.values())] for name in self.names]
        pair_head, pairs = self.difference_table()
        shown = pairs[:_PAIRS]
        more = f"\n… and {len(pairs) - len(shown)} more differences" if len(pairs) > len(shown) else ""
        notes = "".join("\n" + textwrap.fill(f"Note: {note}", width=WIDTH, subsequent_indent="  ") for note in self.notes)
        return f"{verdict}\n\n{table(head, rows)}\n\n{table(pair_head, shown)}{more}\n\nn = {self.n}.{notes}"

    def value_table(self) -> tuple[Sequence[str], list[list[str]]]:
        """Each metric of each predictor, as text: the head and the rows."""
        rows = [
            [METRICS[metric].label, *(number(values[name]) for name in self.names)] for metric, values in self.values.items()
        ]
        return ("metric", *(clean(name, 24) for name in self.names)), rows

    def difference_table(self) -> tuple[Sequence[str], list[list[str]]]:
        """The difference of every pair, as text: the head and the rows."""
        rows = [
            [
                f"{clean(each.a, 16)} − {clean(each.b, 16)}",
                METRICS[each.metric].label,
                _span(each),
                "yes" if each.distinguishable else "no",
            ]
            for each in self.differences
        ]
        return ("difference", "metric", f"{percent(self.level)} interval", "distinguishable"), rows

    def _repr_html_(self) -> str:
        from trueness.report.compare import notebook_comparison

        return notebook_comparison(self)

    def report(self, path: Any, *, title: str = "Comparison") -> None:
        """Write one self-contained HTML page; the file appears whole or not at all."""
        from trueness.report.compare import write_comparison

        write_comparison(self, path, title=title)

    def to_dict(self) -> dict[str, Any]:
        """Everything that was found, safe for JSON."""
        return {
            "verdict": self.verdict,
            "n": self.n,
            "rows_in": self.rows_in,
            "level": self.level,
            "seed": self.seed,
            "values": {metric: {name: plain(value) for name, value in row.items()} for metric, row in self.values.items()},
            "differences": [{key: plain(value) for key, value in each.to_dict().items()} for each in self.differences],
            "notes": list(self.notes),
        }

    def plot(self, figure: Any = None) -> Any:
        """Smooth and cumulative curves of all predictors; returns the matplotlib Figure."""
        from trueness.plots.figures import draw_compare

        return draw_compare(self.predictions, figure=figure)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _span(each: Difference) -> str:
    return "–" if np.isnan(each.low) else f"{each.low:+.4f} to {each.high:+.4f}"


def _sentence(each: Difference) -> str:
    label = METRICS[each.metric].label
    a, b = clean(each.a), clean(each.b)
    if not each.distinguishable:
        return f"{a} and {b} are not distinguishable by {label}"
    better, worse = (a, b) if each.high < 0 else (b, a)
    return f"{better} is off by less than {worse} ({label})"


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
        Randomness; a fixed seed by default.
    nan : {"raise", "drop"}
        Refuse missing values, or drop every row in which any predictor has one.
    pos_label : object, optional
        The one value of the outcomes that means the event.
    metrics : sequence of str
        Which metrics to compare; the verdict is by the first.
    progress : callable, optional
        Called with the predictors done and the predictors in all.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from trueness.demo import make_demo
    >>> y_true, y_prob, truth = make_demo()
    >>> compare(y_true, {"model": y_prob, "truth": truth}, metrics=["ecce_r"]).verdict
    'truth is off by less than model (ECCE-R).'
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
    return Comparison(
        names=tuple(rows),
        values=FrozenMapping({metric: FrozenMapping(row) for metric, row in values.items()}),
        differences=tuple(pairs),
        level=level,
        n=len(first.arrays.f),
        seed=seed,
        notes=tuple(dict.fromkeys([*left_out, *(note for each in rows.values() for note in each.summary().notes_on_rows)])),
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
