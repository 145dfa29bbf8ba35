"""Frames that are only a plan → Summary: a group-by that runs where they are, through narwhals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from trueness._again import Places, PlaceSums, RowsGoneError, ScoreSums
from trueness.engines.again import with_rows_again
from trueness.engines.expressions import Plan, SoftLabelsMet, summaries
from trueness.engines.frames.memory import Names, Settings
from trueness.errors import InputError
from trueness.inputs.columns import missing_column, roots
from trueness.inputs.remedies import option
from trueness.summary.ruler import Ruler
from trueness.summary.summary import Summary

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


def reduce_lazy(frame: Any, names: Names, groups: Sequence[str], on: Ruler, settings: Settings) -> dict[Any, Summary]:
    """Groups and their summaries, from a group-by that runs where the frame is."""
    import narwhals as nw

    wanted = [*(name for name in names.values() if name is not None), *groups]
    if "pyspark" in roots(frame):  # to Spark a dot in a name means a field and a backtick a quote: names of our own instead
        known = list(frame.columns)
        lazy = nw.from_native(frame.toDF(*(f"c{k}" for k in range(len(known)))))
    else:
        lazy = nw.from_native(frame)
        lazy = lazy.lazy() if isinstance(lazy, nw.DataFrame) else lazy
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
    every = LazyRows(selected, plan, (), lasting=True)
    return with_rows_again(found, lambda group: _again(selected, plan, group), every)


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
    """Rows of a group of a plan, or of all, read again by running it again."""

    lazy: Any
    plan: Plan
    group: tuple[Any, ...]
    lasting: bool

    def sums(self, among: Places, parts: int) -> PlaceSums:
        """Sums over the finer places within these."""
        import narwhals as nw

        def query() -> Any:
            e = nw.col("m") * (nw.col("z") - nw.col("g"))
            lazy = self._among(among).with_columns(place=_place(parts), e=e)
            lazy = lazy.with_columns(positive=nw.when(nw.col("e") > 0.0).then(nw.col("e")).otherwise(nw.lit(0.0)))
            ends = [nw.col("g").min().alias("least"), nw.col("g").max().alias("most")]
            return lazy.group_by("place").agg(*(nw.col(name).sum() for name in ("n", "m", "e", "positive")), *ends)

        number, rows, *rest = self._collected(query, ["place", "n", "m", "e", "positive", "least", "most"])
        held = np.isin(number.astype(np.int64) // (parts // among.parts), among.number)
        return PlaceSums(number[held].astype(np.int64), rows[held].astype(np.int64), *(column[held] for column in rest))

    def scores(self, among: Places) -> list[ScoreSums]:
        """Every score of these places."""
        import narwhals as nw

        def query() -> Any:
            lazy = self._among(among, exactly=True).with_columns(mz=nw.col("m") * nw.col("z"))
            return lazy.group_by("g").agg(nw.col("m").sum(), nw.col("mz").sum())

        f, weight, wy = self._collected(query, ["g", "m", "mz"])
        return [ScoreSums(f, weight, wy - weight * f)]

    def _among(self, among: Places, *, exactly: bool = False) -> Any:
        """Usable rows of these places: score g, outcome z, weight m, position r in the slot. Of many places, some between."""
        import narwhals as nw

        lazy = self.lazy
        for k, value in enumerate(self.group):
            column = nw.col(f"by_{k}")
            if value is None:
                number = self.lazy.collect_schema()[f"by_{k}"] in (nw.Float32, nw.Float64)
                lazy = lazy.filter(column.is_null() | column.is_nan() if number else column.is_null())
            else:
                lazy = lazy.filter(column == value)
        for layer in self.plan.located(NarwhalsAlgebra()):
            lazy = lazy.with_columns(**layer)
        place = _place(among.parts)
        if exactly or len(among.number) <= _LISTED:
            wanted = place.cast(nw.Int64).is_in(among.number.tolist())
        else:
            wanted = (place >= float(among.number[0])) & (place <= float(among.number[-1]))
        lazy = lazy.filter((nw.col("code") == 0.0) & wanted)
        weight = nw.col("v") if self.plan.weighted else nw.col("n")
        return lazy.select("g", "z", "n", "slot", "r", weight.alias("m"))

    def _collected(self, query: Callable[[], Any], names: list[str]) -> list[Any]:
        """The columns, ordered by the first."""
        try:
            held = query().collect()
        except MemoryError:
            raise
        except Exception as error:
            if not self.lasting or self._is_gone():
                raise RowsGoneError from error
            raise
        order = np.argsort(held[names[0]].to_numpy())
        return [held[name].to_numpy().astype(np.float64)[order] for name in names]

    def _is_gone(self) -> bool:
        """Whether not even a row can be had: a connection closed, a session stopped, a table dropped."""
        try:
            self.lazy.head(1).collect()
        except Exception:  # engines have errors of their own
            return True
        return False


def _place(parts: int) -> Any:
    """Slot · parts + part; a float64 holds it."""
    import narwhals as nw

    part = (nw.col("r") * float(parts)).floor().cast(nw.Float64)
    last = nw.lit(float(parts - 1), dtype=nw.Float64)
    return nw.col("slot") * float(parts) + nw.when(part > last).then(last).otherwise(part)


def _again(lazy: Any, plan: Plan, group: Any) -> LazyRows | None:
    """The rows of a group read again; None where the engine may not find its value as we have it."""
    values = tuple(group) if plan.by > 1 else (group,) * plan.by
    for value in values:
        if not isinstance(value, str | float | int | date | None) or (isinstance(value, int) and not -(2**63) <= value < 2**63):
            return None
    return LazyRows(lazy, plan, values, lasting=not any(isinstance(value, date) for value in values))


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
