"""Frames that are only a plan → Summary: a group-by that runs where they are, through narwhals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueness.engines.exact import Places, PlaceSums, ScoreSums
from trueness.engines.expressions import Plan, SoftLabelsMet, summaries
from trueness.engines.frames.memory import Names, Reduced, Settings
from trueness.errors import InputError
from trueness.inputs.columns import missing_column, roots
from trueness.inputs.remedies import option
from trueness.summary.ruler import Ruler

_LISTED = 4096  # places that a query lists one by one


class NarwhalsAlgebra:
    """Expressions of narwhals."""

    def __init__(self) -> None:
        import narwhals

        self._nw = narwhals

    def column(self, name: str) -> Any:
        """A column of an earlier layer."""
        return self._nw.col(name)

    def number(self, value: float) -> Any:
        """A float64 constant."""
        return self._nw.lit(float(value), dtype=self._nw.Float64)

    def either(self, condition: Any, then: Any, otherwise: Any) -> Any:
        """A case."""
        return self._nw.when(condition).then(then).otherwise(otherwise)

    def floor(self, value: Any) -> Any:
        """Rounded down, as float64."""
        return value.floor().cast(self._nw.Float64)

    def equal(self, a: Any, b: Any) -> Any:
        """Equality; missing where either is."""
        return a == b

    def divide(self, a: Any, by: float, like: Any) -> Any:
        """A quotient; polars divides by a constant with its reciprocal, which rounds twice, but not by a column."""
        return a / (like * 0.0 + float(by))


def reduce_lazy(frame: Any, names: Names, groups: Sequence[str], on: Ruler, settings: Settings) -> Reduced:
    """Groups and their summaries, from a group-by that runs where the frame is."""
    lazy, schema, called = _opened(frame, [*(name for name in names.values() if name is not None), *groups])
    pos_label = settings["pos_label"]
    _check_types(lazy, schema, called, names, pos_label)
    plan = Plan(
        on=on,
        weighted=names["weight"] is not None,
        floats=names["weight"] is not None,
        by=len(groups),
        f_tolerance=_tolerance(schema[str(names["prediction"])]),
        y_tolerance=_tolerance(schema[str(names["outcome"])]),
    )
    notes = _notes(names, schema, pos_label)
    told: dict[str, Any] = {"nan": settings["nan"], "notes": notes, "names": {k: v for k, v in names.items() if v}}
    selected = lazy.select(*_selection(names, groups, schema, called, pos_label))
    try:
        by_group = summaries(_grouped(selected, plan), plan, **told)
    except SoftLabelsMet:
        plan = plan.soft()
        by_group = summaries(_grouped(selected, plan), plan, **told)
    return by_group, LazyRows(selected, plan)


def _opened(frame: Any, columns: Sequence[str]) -> tuple[Any, dict[str, Any], dict[str, str]]:
    """The plan that holds these columns, the type of each of its columns, and how it calls each."""
    import narwhals as nw

    if "pyspark" in roots(frame):  # to Spark a dot in a name means a field and a backtick a quote: names of our own instead
        known = list(frame.columns)
        lazy = nw.from_native(frame.toDF(*(f"c{k}" for k in range(len(known)))))
    else:
        lazy = nw.from_native(frame)
        lazy = lazy.lazy() if isinstance(lazy, nw.DataFrame) else lazy
        known = list(lazy.collect_schema())
        for name in columns:
            _require_plain(name, known, polars="polars" in roots(frame))
    for name in columns:
        _require_column(name, known)
    types = lazy.collect_schema()
    return lazy, dict(zip(known, types.values(), strict=True)), dict(zip(known, types, strict=True))


def _selection(
    names: Names, groups: Sequence[str], schema: Mapping[str, Any], called: Mapping[str, str], pos_label: Any
) -> list[Any]:
    """Prediction, outcome, weight and groups, under the names that expressions have for them."""
    import narwhals as nw

    outcome, prediction, weight = (names[role] for role in ("outcome", "prediction", "weight"))
    columns = [nw.col(called[str(prediction)]).cast(nw.Float64).alias("f")]
    columns += [_outcome(nw.col(called[str(outcome)]), schema[str(outcome)], pos_label).alias("y")]
    columns += [] if weight is None else [nw.col(called[weight]).cast(nw.Float64).alias("w")]
    return [*columns, *(nw.col(called[name]).alias(f"by_{k}") for k, name in enumerate(groups))]


def _notes(names: Names, schema: Mapping[str, Any], pos_label: Any) -> list[str]:
    """What was done to the columns."""
    import narwhals as nw

    notes = [] if pos_label is None else [f"column {names['outcome']!r}: {pos_label!r} counted as 1, every other value as 0"]
    narrow = [role for role in ("outcome", "prediction", "weight") if names[role] and schema[str(names[role])] == nw.Float32]
    return [*notes, *(f"column {names[role]!r}: float32 promoted to float64" for role in narrow)]


def _require_column(name: str, known: list[str]) -> None:
    if name not in known:
        raise InputError(missing_column(name, known))
    if known.count(name) > 1:
        raise InputError(f"column {name!r}: occurs {known.count(name)} times. Give each column its own name.")


def _require_plain(name: str, known: list[str], *, polars: bool) -> None:
    """A name that means no other column to the engine that looks for it."""
    if name == "*" or (polars and name.startswith("^") and name.endswith("$")):
        raise InputError(f"column {name!r}: the name is a pattern to this kind of frame. Rename the column first.")
    alike = [other for other in known if other != name and other.lower() == name.lower()]
    if name in known and alike and not polars:
        raise InputError(
            f"column {name!r}: differs from {alike[0]!r} by case alone, which SQL does not see. Rename one of them."
        )


@dataclass(frozen=True, slots=True)
class LazyRows:
    """Rows of a plan, read once more by running it again."""

    lazy: Any
    plan: Plan

    def sums(self, among: Places, parts: int) -> PlaceSums:
        """Sums over the finer places within these."""
        import narwhals as nw

        e = nw.col("m") * (nw.col("z") - nw.col("g"))
        lazy = self._among(among).with_columns(place=_place(parts), e=e)
        lazy = lazy.with_columns(positive=nw.when(nw.col("e") > 0.0).then(nw.col("e")).otherwise(nw.lit(0.0)))
        ends = [nw.col("g").min().alias("least"), nw.col("g").max().alias("most")]
        query = lazy.group_by("place").agg(*(nw.col(name).sum() for name in ("n", "m", "e", "positive")), *ends)
        number, rows, *rest = _collected(query, ["place", "n", "m", "e", "positive", "least", "most"])
        within = np.isin(number.astype(np.int64) // (parts // among.parts), among.number)
        return PlaceSums(number[within].astype(np.int64), rows[within].astype(np.int64), *(column[within] for column in rest))

    def scores(self, among: Places) -> list[ScoreSums]:
        """Every score of these places."""
        import narwhals as nw

        lazy = self._among(among, exactly=True).with_columns(mz=nw.col("m") * nw.col("z"))
        query = lazy.group_by("g").agg(nw.col("m").sum(), nw.col("mz").sum())
        f, weight, wy = _collected(query, ["g", "m", "mz"])
        return [ScoreSums(f, weight, wy - weight * f)]

    def _among(self, among: Places, *, exactly: bool = False) -> Any:
        """Usable rows of these places: score g, outcome z, weight m, position r in the slot. Of many places, some between."""
        import narwhals as nw

        lazy = self.lazy
        for layer in self.plan.located(NarwhalsAlgebra()):
            lazy = lazy.with_columns(**layer)
        place = _place(among.parts)
        if exactly or len(among.number) <= _LISTED:
            listed = place.cast(nw.Int64).is_in(among.number.tolist())
        else:
            listed = (place >= float(among.number[0])) & (place <= float(among.number[-1]))
        lazy = lazy.filter((nw.col("code") == 0.0) & listed)
        weight = nw.col("v") if self.plan.weighted else nw.col("n")
        return lazy.select("g", "z", "n", "slot", "r", weight.alias("m"))


def _collected(query: Any, names: list[str]) -> list[Any]:
    """The columns, ordered by the first."""
    frame = query.collect()
    order = np.argsort(frame[names[0]].to_numpy())
    return [frame[name].to_numpy().astype(np.float64)[order] for name in names]


def _place(parts: int) -> Any:
    """Slot · parts + part; a float64 holds it."""
    import narwhals as nw

    part = (nw.col("r") * float(parts)).floor().cast(nw.Float64)
    last = nw.lit(float(parts - 1), dtype=nw.Float64)
    return nw.col("slot") * float(parts) + nw.when(part > last).then(last).otherwise(part)


def _grouped(lazy: Any, plan: Plan) -> Mapping[str, Sequence[Any]]:
    import narwhals as nw

    for layer in plan.layers(NarwhalsAlgebra()):
        lazy = lazy.with_columns(**layer)
    counts = ("n", "clipped", "soft", "r1", "r2", "r3")
    keys = plan.keys[plan.by :]
    lazy = lazy.with_columns(**{name: nw.col(name).cast(nw.Int64) for name in [*keys, *(s for s in plan.sums if s in counts)]})
    grouped = lazy.group_by(*plan.keys, drop_null_keys=False).agg(*(nw.col(name).sum() for name in plan.sums))
    table: Mapping[str, Sequence[Any]] = grouped.collect().to_dict(as_series=False)
    return table


def _outcome(column: Any, dtype: Any, pos_label: Any) -> Any:
    import narwhals as nw

    if pos_label is None:
        return column.cast(nw.Int8).cast(nw.Float64) if dtype == nw.Boolean else column.cast(nw.Float64)
    event = nw.when(column == pos_label).then(nw.lit(1.0)).otherwise(nw.lit(0.0))
    if dtype.is_numeric():
        number = column.cast(nw.Float64)
        return nw.when(number - number == 0.0).then(event).otherwise(nw.lit(None, dtype=nw.Float64))
    return nw.when(column.is_null()).then(nw.lit(None, dtype=nw.Float64)).otherwise(event)


def _check_types(lazy: Any, schema: Mapping[str, Any], called: Mapping[str, str], names: Names, pos_label: Any) -> None:
    """Columns that are no numbers are refused before anything runs."""
    import narwhals as nw

    for role, name in names.items():
        if name is None:
            continue
        dtype = schema[name]
        if role == "outcome" and pos_label is not None and not _comparable(dtype, pos_label):
            given = option("pos_label", repr(pos_label))
            raise (f"column {name!r}: is of type {dtype}; " + given + " is not. Pass a value of the column.").error()
        if dtype.is_numeric() or (dtype == nw.Boolean and role != "weight"):
            continue
        if role == "outcome" and dtype in (nw.String, nw.Categorical, nw.Enum):
            if pos_label is not None:
                continue
            labels = lazy.select(nw.col(called[name]).alias("label_")).group_by("label_").agg(nw.len().alias("rows_"))
            most = labels.sort("rows_", descending=True).head(11).collect().to_dict(as_series=False)
            pairs = [pair for pair in zip(most["rows_"], most["label_"], strict=True) if pair[1] is not None][:10]
            listed = ", ".join(f"{value!r} ({count} rows)" for count, value in pairs)
            raise (
                f"column {name!r}: is of type {dtype}, not numbers. Observed values: {listed}. "
                "Say which value means the event with " + option("pos_label") + "."
            ).error()
        raise InputError(f"column {name!r}: is of type {dtype}, not a number. Convert it to numbers first.")


def _comparable(dtype: Any, pos_label: Any) -> bool:
    """Whether a column of this type can hold the label; engines would convert one of them silently, or fail."""
    import narwhals as nw

    if dtype.is_numeric():
        return isinstance(pos_label, int | float | np.number)
    if dtype == nw.Boolean:
        return isinstance(pos_label, bool | np.bool_) or pos_label in (0, 1)
    return isinstance(pos_label, str)


def _tolerance(dtype: Any) -> float:
    widths = {"Float16": 10, "Float32": 23, "Float64": 52}
    return next((4 * 2.0**-bits for name, bits in widths.items() if name in str(dtype)), 0.0)
