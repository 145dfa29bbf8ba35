"""Frames that are only a plan → Summary: a group-by that runs where they are, through narwhals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from trueness._values import show
from trueness.engines.exact import Places, PlaceSums, ScoreSums
from trueness.engines.expressions import ExtremeWeightsError, Plan, SoftLabelsMet, summaries
from trueness.engines.frames.buckets import with_buckets
from trueness.engines.frames.memory import Reduced
from trueness.errors import InputError
from trueness.inputs.arguments import Columns, Reading
from trueness.inputs.clusters import missing_clusters
from trueness.inputs.columns import missing_column, roots
from trueness.inputs.labels import EXACT_FLOAT32
from trueness.inputs.remedies import option
from trueness.inputs.rows import LARGEST_WEIGHT, SMALLEST_WEIGHT
from trueness.summary.ruler import Ruler
from trueness.summary.summary import Summary

_LISTED = 4096  # places that a query lists one by one
_BUCKET = "trueness_bucket_"  # the column of buckets


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


def reduce_lazy(frame: Any, columns: Columns, on: Ruler, reading: Reading) -> Reduced:
    """Groups and their summaries, from a group-by that runs where the frame is."""
    import narwhals as nw

    if columns.cluster is not None:
        return _by_bucket(frame, columns, on, reading)
    lazy, schema, called = _opened(frame, columns.names)
    _check_types(lazy, schema, called, columns, reading.pos_label)
    plan = Plan(
        on=on,
        weighted=columns.weight is not None,
        floats=columns.weight is not None,
        by=len(columns.by),
        f_tolerance=_tolerance(schema[columns.prediction]),
        y_tolerance=_tolerance(schema[columns.outcome]),
    )
    notes = _notes(columns, schema, reading.pos_label)
    told: dict[str, Any] = {"nan": reading.nan, "notes": notes, "names": columns.roles}
    # A month is no thirty days, and Python's own spans have no months: those of DuckDB are known by their text.
    text = [name for name in columns.by if lazy.implementation.is_duckdb() and schema[name] == nw.Duration]
    selected = lazy.select(*_selection(columns, schema, called, reading.pos_label, text))
    try:
        by_group = summaries(_grouped(selected, plan), plan, **told)
        extreme = plan.weighted and any(map(_is_extreme, by_group.values()))
    except SoftLabelsMet:
        plan, extreme = plan.soft(), False
        by_group = summaries(_grouped(selected, plan), plan, **told)
    except ExtremeWeightsError:
        extreme = True
    if extreme:
        selected, exponent = _scaled(selected, plan, columns.weight or "")
        scaled = summaries(_grouped(selected, plan), plan, **told)
        by_group = {group: replace(summary, exponent=exponent) for group, summary in scaled.items()}
    return by_group, LazyRows(selected, plan)


def _by_bucket(frame: Any, columns: Columns, on: Ruler, reading: Reading) -> Reduced:
    """The same with the buckets of clusters as groups of their own, after the others."""
    cluster = columns.cluster or ""
    _opened(frame, columns.names)  # raises for columns that are not there
    grouped = replace(columns, by=(*columns.by, _BUCKET), cluster=None)
    by_group, rows = reduce_lazy(with_buckets(frame, cluster, _BUCKET), grouped, on, reading)
    several = len(grouped.by) > 1
    absent = [summary for group, summary in by_group.items() if (group[-1] if several else group) is None]
    if absent and (count := sum(summary.rows_in for summary in absent)):
        total = sum(summary.rows_in for summary in by_group.values())
        raise missing_clusters(f"column {cluster!r}", count, total)
    return by_group, rows


def _is_extreme(summary: Summary) -> bool:
    """Whether the largest weight may be one that arrays scale."""
    squares = float(summary.columns.w2.sum())
    return squares > LARGEST_WEIGHT**2 or 0.0 < squares < max(summary.n, 1) * SMALLEST_WEIGHT**2


def _scaled(selected: Any, plan: Plan, weight: str) -> tuple[Any, int]:
    """The same rows with a power of two taken out of the weights, and its exponent: that of the largest, as for arrays."""
    import narwhals as nw

    usable = selected
    for layer in plan.located(NarwhalsAlgebra()):
        usable = usable.with_columns(**layer)
    (largest,) = _collected(usable.filter(nw.col("code") == 0.0).select(nw.col("v").max()), ["v"])[0].tolist()
    if SMALLEST_WEIGHT <= largest <= LARGEST_WEIGHT:
        return selected, 0
    exponent = math.frexp(largest)[1]
    halves = exponent // 2, exponent - exponent // 2  # a power of two beyond what a float64 holds, in two steps
    scaled = selected.with_columns(w=nw.col("w") * 2.0 ** -halves[0] * 2.0 ** -halves[1])
    (total,) = _collected(scaled.select(nw.col("w").sum()), ["w"])[0].tolist()
    if exponent > 0 and total >= 2.0 ** (1024 - exponent):
        raise InputError(
            f"column {weight!r}: the sum of its values overflows float64 (largest: {largest!r}). "
            "Divide all weights by a constant; that changes no result."
        )
    return scaled, exponent


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
    columns: Columns, schema: Mapping[str, Any], called: Mapping[str, str], pos_label: Any, text: Sequence[str]
) -> list[Any]:
    """Prediction, outcome, weight and groups, of which some are made `text`, under the names that expressions have for them."""
    import narwhals as nw

    selected = [_number(nw.col(called[columns.prediction]), schema[columns.prediction]).alias("f")]
    selected += [_outcome(nw.col(called[columns.outcome]), schema[columns.outcome], pos_label).alias("y")]
    selected += [] if columns.weight is None else [_number(nw.col(called[columns.weight]), schema[columns.weight]).alias("w")]
    groups = (nw.col(called[name]).cast(nw.String) if name in text else nw.col(called[name]) for name in columns.by)
    return [*selected, *(group.alias(f"by_{k}") for k, group in enumerate(groups))]


def _notes(columns: Columns, schema: Mapping[str, Any], pos_label: Any) -> list[str]:
    """What was done to the columns."""
    import narwhals as nw

    notes = [] if pos_label is None else [f"column {columns.outcome!r}: {pos_label!r} counted as 1, every other value as 0"]
    narrow = [name for name in columns.numbers if schema[name] == nw.Float32]
    return [*notes, *columns.notes, *(f"column {name!r}: float32 promoted to float64" for name in narrow)]


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
    frame = grouped.collect()
    return {
        name: _group_values(frame[name]) if name in plan.keys[: plan.by] else frame[name].to_list() for name in frame.columns
    }


def _group_values(series: Any) -> list[Any]:
    """The groups as Python's own values; as text where they are finer than a microsecond, at which those end."""
    import narwhals as nw

    try:
        values: list[Any] = series.to_list()
    except (ValueError, OverflowError) as error:
        text = f"by: a group of type {series.dtype} is none that Python has ({error}). Make groups of it as text."
        raise InputError(text) from error
    if series.dtype != nw.Time and getattr(series.dtype, "time_unit", None) != "ns":
        return values
    counts = series.cast(nw.Int64).to_list()
    return [_fine(n, series.dtype) if n is not None and n % 1000 else value for n, value in zip(counts, values, strict=True)]


def _fine(nanoseconds: int, dtype: Any) -> str:
    """A time as DuckDB writes it, where the text tells what a value of Python's would not."""
    import narwhals as nw

    if dtype == nw.Duration:
        return f"{nanoseconds} ns"
    shown = str(np.datetime64(nanoseconds, "ns")).replace("T", " ").rstrip("0")
    return shown.split(" ")[1] if dtype == nw.Time else shown + "+00" * (dtype.time_zone is not None)


def _number(column: Any, dtype: Any) -> Any:
    import narwhals as nw

    return column.cast(nw.Int8).cast(nw.Float64) if dtype == nw.Boolean else column.cast(nw.Float64)


def _outcome(column: Any, dtype: Any, pos_label: Any) -> Any:
    import narwhals as nw

    if pos_label is None:
        return _number(column, dtype)
    label = _exact(pos_label, dtype)
    if dtype == nw.Float32 and label is not None:  # 0.1 is what the column has for 0.1; whole numbers are what they are
        small = abs(label) < EXACT_FLOAT32
        column, label = (column, nw.lit(label, dtype=nw.Float32)) if small else (column.cast(nw.Float64), label)
    event = nw.lit(0.0) if label is None else nw.when(column == label).then(nw.lit(1.0)).otherwise(nw.lit(0.0))
    if dtype.is_numeric():
        number = column.cast(nw.Float64)
        return nw.when(number - number == 0.0).then(event).otherwise(nw.lit(None, dtype=nw.Float64))
    return nw.when(column.is_null()).then(nw.lit(None, dtype=nw.Float64)).otherwise(event)


def _exact(pos_label: Any, dtype: Any) -> Any:
    """The label as a number of the column's own kind, None where it cannot occur: engines compare others as float64."""
    if not dtype.is_numeric() or dtype.is_decimal():
        return pos_label
    if dtype.is_float():
        value = float(str(pos_label))  # infinite where an integer is too large for one
        return value if value == pos_label else None
    bits = int("".join(filter(str.isdigit, str(dtype))))
    low, high = (0, 2**bits) if str(dtype).startswith("U") else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    return int(pos_label) if low <= pos_label < high and pos_label == int(pos_label) else None


def _check_types(lazy: Any, schema: Mapping[str, Any], called: Mapping[str, str], columns: Columns, pos_label: Any) -> None:
    """Columns that are no numbers, and groups of what cannot name one, are refused before anything runs."""
    import narwhals as nw

    for name in columns.by:
        if schema[name].is_nested():
            raise InputError(
                f"column {name!r}: is of type {schema[name]}, which cannot name a group. "
                "Make groups of text, numbers, truth values, dates or times."
            )
    for role, name in columns.roles.items():
        dtype = schema[name]
        number, label = dtype.is_numeric() or dtype == nw.Boolean, dtype in (nw.String, nw.Categorical, nw.Enum, nw.Binary)
        if role == "outcome" and (number or label) and pos_label is not None and not _comparable(dtype, pos_label):
            given = option("pos_label", show(pos_label))
            raise (f"column {name!r}: is of type {dtype}; " + given + " is not. Pass a value of the column.").error()
        if number:
            continue
        if role == "outcome" and label:
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

    if dtype.is_decimal() and isinstance(pos_label, Decimal):
        _, digits, exponent = pos_label.as_tuple()  # engines have 38 digits, on either side of the point
        return isinstance(exponent, int) and exponent >= -38 and len(digits) + max(exponent, 0) <= 38
    if dtype.is_numeric():
        return isinstance(pos_label, int | float | np.number | Decimal)
    if dtype == nw.Boolean:
        return isinstance(pos_label, bool | np.bool_) or pos_label in (0, 1)
    return isinstance(pos_label, bytes if dtype == nw.Binary else str)


def _tolerance(dtype: Any) -> float:
    widths = {"Float16": 10, "Float32": 23, "Float64": 52}
    return next((4 * 2.0**-bits for name, bits in widths.items() if name in str(dtype)), 0.0)
