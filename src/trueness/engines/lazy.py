"""Frames that are only a plan → Summary: a group-by that runs where they are, through narwhals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueness._again import Places, PlaceSums
from trueness.engines.again import with_rows_again
from trueness.engines.reduction import Plan, SoftLabelsMet, summaries
from trueness.errors import InputError
from trueness.inputs import Arrays, missing_column, roots
from trueness.ruler import Ruler
from trueness.summary import Summary

Names = Mapping[str, str | None]
Settings = Mapping[str, Any]


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


def reduce_lazy(frame: Any, names: Names, groups: Sequence[str], on: Ruler, settings: Settings) -> dict[Any, Summary]:
    """Groups and their summaries, from a group-by that runs where the frame is."""
    import narwhals as nw

    lazy = nw.from_native(frame)
    lazy = lazy.lazy() if isinstance(lazy, nw.DataFrame) else lazy
    wanted = [*(name for name in names.values() if name is not None), *groups]
    if "pyspark" in roots(frame):  # to Spark a dot in a name means a field and a backtick a quote: names of our own instead
        known = list(frame.columns)
        lazy = nw.from_native(frame.toDF(*(f"c{k}" for k in range(len(known)))))
    else:
        known = list(lazy.collect_schema())
        for name in wanted:
            _require_plain(name, known, polars="polars" in roots(frame))
    for name in wanted:
        _require_column(name, known)
    types = lazy.collect_schema()
    schema, called = dict(zip(known, types.values(), strict=True)), dict(zip(known, types, strict=True))
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
    columns = [nw.col(called[str(names["prediction"])]).cast(nw.Float64).alias("f")]
    columns += [_outcome(nw.col(called[str(names["outcome"])]), schema[str(names["outcome"])], pos_label).alias("y")]
    columns += [] if names["weight"] is None else [nw.col(called[names["weight"]]).cast(nw.Float64).alias("w")]
    columns += [nw.col(called[name]).alias(f"by_{k}") for k, name in enumerate(groups)]
    notes = [] if pos_label is None else [f"column {names['outcome']!r}: {pos_label!r} counted as 1, every other value as 0"]
    narrow = [role for role in ("outcome", "prediction", "weight") if names[role] and schema[str(names[role])] == nw.Float32]
    notes += [f"column {names[role]!r}: float32 promoted to float64" for role in narrow]
    facts: dict[str, Any] = {"nan": settings["nan"], "notes": notes, "names": {k: v for k, v in names.items() if v}}
    selected = lazy.select(*columns)
    try:
        found = summaries(_grouped(selected, plan), plan, **facts)
    except SoftLabelsMet:
        plan = plan.soft()
        found = summaries(_grouped(selected, plan), plan, **facts)
    return with_rows_again(found, lambda group: _again(selected, plan, group))


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
    """Rows of a plan, read again by running it again."""

    lazy: Any
    plan: Plan
    lasting: bool = True

    def sums(self, among: Places, parts: int) -> PlaceSums:
        """Sums over the finer places within these."""
        import narwhals as nw

        e = nw.col("m") * (nw.col("z") - nw.col("g"))
        lazy = self._among(among).with_columns(place=_place(parts), e=e)
        lazy = lazy.with_columns(positive=nw.when(nw.col("e") > 0.0).then(nw.col("e")).otherwise(nw.lit(0.0)))
        sums = [nw.col("n").sum(), nw.col("m").sum(), nw.col("e").sum(), nw.col("positive").sum()]
        ends = [nw.col("g").min().alias("least"), nw.col("g").max().alias("most")]
        held = lazy.group_by("place").agg(*sums, *ends).collect()
        order = np.argsort(held["place"].to_numpy())
        columns = (held[name].to_numpy()[order] for name in ("place", "n", "m", "e", "positive", "least", "most"))
        number, rows, *rest = columns
        return PlaceSums(number.astype(np.int64), rows.astype(np.int64), *rest)

    def rows(self, among: Places) -> list[Arrays]:
        """The rows of these places; those with the same score and outcome as one, with their weight."""
        import narwhals as nw

        held = self._among(among).group_by("g", "z").agg(nw.col("m").sum()).collect()
        f, y, w = (held[name].to_numpy().astype(np.float64) for name in ("g", "z", "m"))
        return [Arrays(f=f, y=y, w=w, soft=self.plan.floats, clipped=0, rejected={})]

    def _among(self, among: Places) -> Any:
        """Usable rows of these places: score g, outcome z, weight m, position r in the slot."""
        import narwhals as nw

        lazy = self.lazy
        for layer in self.plan.layers(NarwhalsAlgebra())[:3]:  # codes, usable values, slots
            lazy = lazy.with_columns(**layer)
        lazy = lazy.filter((nw.col("code") == 0.0) & _place(among.parts).cast(nw.Int64).is_in(among.number.tolist()))
        weight = nw.col("v") if self.plan.weighted else nw.col("n")
        return lazy.select("g", "z", "n", "slot", "r", weight.alias("m"))


def _place(parts: int) -> Any:
    """Slot · parts + part; a float64 holds it."""
    import narwhals as nw

    part = (nw.col("r") * float(parts)).floor().cast(nw.Float64)
    last = nw.lit(float(parts - 1), dtype=nw.Float64)
    return nw.col("slot") * float(parts) + nw.when(part > last).then(last).otherwise(part)


def _again(lazy: Any, plan: Plan, group: Any) -> LazyRows | None:
    """The rows of a group read again; None where the engine may not find its value as we have it."""
    import narwhals as nw

    for k, value in enumerate(group if plan.by > 1 else [group] * plan.by):
        column = nw.col(f"by_{k}")
        if value is None:
            number = lazy.collect_schema()[f"by_{k}"] in (nw.Float32, nw.Float64)
            lazy = lazy.filter(column.is_null() | column.is_nan() if number else column.is_null())
        elif isinstance(value, str | int | float):
            lazy = lazy.filter(column == value)
        else:
            return None
    return LazyRows(lazy, plan)


def _grouped(lazy: Any, plan: Plan) -> Mapping[str, Sequence[Any]]:
    import narwhals as nw

    for layer in plan.layers(NarwhalsAlgebra()):
        lazy = lazy.with_columns(**layer)
    whole = ("n", "clipped", "soft", "r1", "r2", "r3")
    keys = plan.keys[plan.by :]
    lazy = lazy.with_columns(**{name: nw.col(name).cast(nw.Int64) for name in [*keys, *(s for s in plan.sums if s in whole)]})
    grouped = lazy.group_by(*plan.keys, drop_null_keys=False).agg(*(nw.col(name).sum() for name in plan.sums))
    found: Mapping[str, Sequence[Any]] = grouped.collect().to_dict(as_series=False)
    return found


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
            raise InputError(
                f"column {name!r}: is of type {dtype}; pos_label={pos_label!r} is not. Pass a value of the column."
            )
        if dtype.is_numeric() or (dtype == nw.Boolean and role != "weight"):
            continue
        if role == "outcome" and dtype in (nw.String, nw.Categorical, nw.Enum):
            if pos_label is not None:
                continue
            labels = lazy.select(nw.col(called[name]).alias("label_")).group_by("label_").agg(nw.len().alias("rows_"))
            most = labels.sort("rows_", descending=True).head(11).collect().to_dict(as_series=False)
            pairs = [pair for pair in zip(most["rows_"], most["label_"], strict=True) if pair[1] is not None][:10]
            listed = ", ".join(f"{value!r} ({count} rows)" for count, value in pairs)
            raise InputError(
                f"column {name!r}: is of type {dtype}, not numbers. Observed values: {listed}. "
                "Say which value means the event with pos_label=."
            )
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
