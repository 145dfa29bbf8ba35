"""Data frames → Summary: columns in memory go to the array engine; lazy frames reduce where they are, through narwhals."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from trueness._moments import FLOAT_SUMS
from trueness.engines.arrays import reduce_some
from trueness.engines.groups import GroupedSums
from trueness.engines.reduction import SOFT, ZERO, Plan, SoftLabelsMet, summaries
from trueness.errors import InputError
from trueness.inputs import (
    REASONS,
    Arrays,
    Rows,
    check_options,
    columns_text,
    group_values,
    missing_column,
    read_rows,
    roots,
    unwrapped,
)
from trueness.ruler import SLOTS, Ints, Ruler, ruler
from trueness.summary import Summary, empty_summary

Names = Mapping[str, str | None]
Settings = Mapping[str, Any]


def summarize_frame(
    frame: Any,
    *,
    outcome: str,
    prediction: str,
    weight: str | None = None,
    by: str | Sequence[str] | None = None,
    bins: Iterable[int] | int = (),
    nan: Literal["raise", "drop"] = "raise",
    pos_label: Any = None,
) -> Any:
    """Reduce a data frame to a summary, or to one for each group.

    Parameters
    ----------
    frame : data frame
        pandas, polars (DataFrame or LazyFrame), pyarrow (Table or RecordBatchReader), Dask, DuckDB relation, Ibis table,
        PySpark, or a mapping of arrays. Lazy ones are reduced where they are; rows of the others are read in place.
    outcome, prediction, weight : str
        Names of columns.
    by : str or sequence of str, optional
        Columns whose values make the groups; with one, a group is its value, with several a tuple. Missing is None.
    bins, nan, pos_label
        As for `summarize`.

    Returns
    -------
    Summary, or {group: Summary} with `by`

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"happened": [1, 0, 1], "said": [0.9, 0.2, 0.6], "who": ["a", "b", "a"]})
    >>> summarize_frame(frame, outcome="happened", prediction="said")
    <Summary of 3 rows in 3 of 48746 cells, integer sums>
    >>> summarize_frame(frame.lazy(), outcome="happened", prediction="said", by="who")["a"].n
    2
    """
    on = ruler(tuple(bins) if isinstance(bins, Iterable) else (bins,))
    groups = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    names = {"outcome": outcome, "prediction": prediction, "weight": weight}
    settings = {"nan": nan, "pos_label": pos_label}
    check_options(nan, pos_label=pos_label)
    frame = unwrapped(frame)
    kind = roots(frame)
    if kind & {"dask", "dask_expr"}:
        from trueness.engines.dask import reduce_partitions, rows_again

        found = reduce_partitions(frame, names, groups, on, {**settings, "whole": False})
        require_event(found, names, pos_label)
        if not groups and found and not found[None].exponent:
            found = {None: with_second_pass(found[None], lambda slots: rows_again(frame, names, on, settings, slots))}
    elif type(frame).__name__ == "RecordBatchReader":
        found = merged(_reduce_batches(frame, names, groups, on, {**settings, "whole": False}))
        require_event(found, names, pos_label)
    elif computes_elsewhere(frame):
        found = reduce_lazy(frame, names, groups, on, settings)
        require_event(found, names, pos_label)
    else:
        found = reduce_columns(frame, names, groups, on, settings)
    if not any(summary.n for summary in found.values()):
        rejected = dict(sum(found.values(), start=empty_summary(on)).rejected)
        why = rejected or "none given"
        raise InputError(f"columns {outcome!r} and {prediction!r}: no rows left ({why}). Pass at least one row.")
    return found if groups else found[None]


def _reduce_batches(
    reader: Any, names: Names, groups: Sequence[str], on: Ruler, settings: Settings
) -> Iterator[dict[Any, Summary]]:
    for number, batch in enumerate(reader):
        try:
            yield reduce_columns(batch, names, groups, on, settings)
        except InputError as error:
            raise InputError(f"batch {number}: {error}") from error


def computes_elsewhere(frame: Any) -> bool:
    """Whether the frame is only a plan, or holds its rows in other processes."""
    frame = unwrapped(frame)
    remote = {"dask", "dask_expr", "duckdb", "ibis", "pyspark", "sqlframe"}
    return bool(roots(frame) & remote) or type(frame).__name__ in ("LazyFrame", "RecordBatchReader")


def require_event(found: Mapping[Any, Summary], names: Names, pos_label: Any) -> None:
    """A label that never occurs in any part is a mistake."""
    n = sum(summary.n for summary in found.values())
    if pos_label is not None and n and not any(summary.columns.wy2.sum() for summary in found.values()):
        raise InputError(
            f"column {names['outcome']!r}: 0 of {n} values equal pos_label={pos_label!r}. Pass the one that means the event."
        )


def merged(parts: Iterable[Mapping[Any, Summary]]) -> dict[Any, Summary]:
    """Summaries of parts added group by group."""
    found: dict[Any, Summary] = {}
    for part in parts:
        for group, summary in part.items():
            found[group] = found[group] + summary if group in found else summary
    return found


# Columns in memory


def reduce_columns(frame: Any, names: Names, groups: Sequence[str], on: Ruler, settings: Settings) -> dict[Any, Summary]:
    """Groups and their summaries, from a frame whose columns can be read in place."""
    by = [group_values(column_of(frame, name), f"column {name!r}") for name in groups]
    if _length(column_of(frame, str(names["prediction"]))) == 0:
        return {} if groups else {None: empty_summary(on)}
    rows = read_columns(frame, names, settings)
    if not groups:
        return {None: reduce_some(rows, on)}
    return reduce_groups(rows, by, on)


def read_columns(frame: Any, names: Names, settings: Settings) -> Rows:
    """The columns of a frame whose columns can be read in place, as rows that are checked when they are read."""
    wanted = {role: None if name is None else column_of(frame, name) for role, name in names.items()}
    called = columns_text([name or "" for name in names.values()])
    return read_rows(
        wanted["outcome"], wanted["prediction"], wanted["weight"], names=(called[0], called[1], called[2]), **settings
    )


def reduce_groups(rows: Rows, by: Sequence[Sequence[Any]], on: Ruler) -> dict[Any, Summary]:
    """The summary of each group's rows; rows that cannot be used are told by their place among all."""
    whole = reduce_some(rows, on)  # raises for rows that are not allowed, before any group is looked at
    code: dict[Any, int] = {}
    keys = by[0] if len(by) == 1 else list(zip(*by, strict=True))
    codes = np.fromiter((code.setdefault(key, len(code)) for key in keys), dtype=np.int64, count=len(keys))
    if len(code) == 1:
        return {next(iter(code)): whole}
    if whole.exact:
        sums = GroupedSums(on)
        sums.add(rows, codes)
        return sums.summaries({number: group for group, number in code.items()})
    order = np.argsort(codes, kind="stable")
    stretches = np.split(order, np.cumsum(np.bincount(codes, minlength=len(code)))[:-1])
    return {group: reduce_some(rows.taken(stretches[number]), on) for group, number in code.items()}


def column_of(frame: Any, name: str) -> Any:
    """One column of a pandas, polars or Arrow frame, or of a mapping of arrays."""
    known: Any = getattr(frame, "column_names", getattr(frame, "columns", None))
    if "pyarrow" in roots(frame):  # `columns` are the columns themselves there
        known = frame.schema.names
    known = list(frame) if known is None and isinstance(frame, Mapping) else known
    if known is None:
        raise InputError(f"a {type(frame).__name__} has no columns. Pass a data frame, or arrays without outcome=.")
    count = list(known).count(name)
    if count > 1:
        raise InputError(f"column {name!r}: occurs {count} times. Give each column its own name.")
    if not count:
        raise InputError(missing_column(name, list(known)))
    return frame[name]


def _length(column: Any) -> int:
    try:
        return len(column)
    except TypeError:
        return -1  # an iterator: what it holds is seen when it is read


# Frames that compute where they are


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
    schema = lazy.collect_schema()
    for name in [*(name for name in names.values() if name is not None), *groups]:
        _require_column(name, list(schema), polars="polars" in roots(frame))
    pos_label = settings["pos_label"]
    _check_types(lazy, schema, names, pos_label)
    plan = Plan(
        on=on,
        weighted=names["weight"] is not None,
        floats=names["weight"] is not None,
        by=len(groups),
        f_tolerance=_tolerance(schema[str(names["prediction"])]),
        y_tolerance=_tolerance(schema[str(names["outcome"])]),
    )
    columns = [nw.col(str(names["prediction"])).cast(nw.Float64).alias("f"), _outcome(schema, names, pos_label).alias("y")]
    columns += [] if names["weight"] is None else [nw.col(names["weight"]).cast(nw.Float64).alias("w")]
    columns += [nw.col(name).alias(f"by_{k}") for k, name in enumerate(groups)]
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
    if groups:
        return found
    return {None: with_second_pass(found[None], lambda slots: [_rows_in(selected, plan, slots)])}


def _require_column(name: str, known: list[str], *, polars: bool) -> None:
    """A column that is there, and whose name means no other one to the engine that looks for it."""
    if name not in known:
        raise InputError(missing_column(name, known))
    if name == "*" or (polars and name.startswith("^") and name.endswith("$")):
        raise InputError(f"column {name!r}: the name is a pattern to this kind of frame. Rename the column first.")
    alike = [other for other in known if other != name and other.lower() == name.lower()]
    if alike and not polars:
        raise InputError(
            f"column {name!r}: differs from {alike[0]!r} by case alone, which SQL does not see. Rename one of them."
        )


def with_second_pass(summary: Summary, read: Callable[[Ints], list[Arrays]]) -> Summary:
    """The summary, and how the rows of some slots are read again: if they are still the rows that were summed."""

    def again(slots: Ints) -> list[Arrays]:
        found = read(slots)
        there = np.isin(summary.ruler.slot_of_cell[summary.cells], slots)
        expected = [float(sums[there].sum()) for sums in (summary.moments.weight, summary.moments.e)]
        parts = [(part.y - part.f, np.ones_like(part.f) if part.w is None else part.w) for part in found]
        weight, e = math.fsum(float(w.sum()) for _, w in parts), math.fsum(float((w * e).sum()) for e, w in parts)
        if not (math.isclose(weight, expected[0], rel_tol=1e-9) and abs(e - expected[1]) <= 1e-9 * weight):
            raise InputError("the frame gave other rows when it was read again: the input changed. Summarize it again.")
        return found

    return replace(summary, again=again)


def _rows_in(lazy: Any, plan: Plan, slots: Ints) -> Arrays:
    """Usable rows of these dyadic slots; hard labels without weights counted by score and label."""
    import narwhals as nw

    layers = plan.layers(NarwhalsAlgebra())
    for layer in layers[:3]:  # codes, usable values, slots
        lazy = lazy.with_columns(**layer)
    lazy = lazy.filter((nw.col("code") == 0.0) & nw.col("slot").cast(nw.Int64).is_in(slots.tolist()))
    if plan.floats:
        lazy = lazy.select("g", "z", (nw.col("v") if plan.weighted else nw.col("n")).alias("m"))
    else:
        lazy = lazy.group_by("g", "z").agg(nw.col("n").sum().alias("m"))
    held = lazy.collect().to_dict(as_series=False)
    f, y, w = (np.array(held[name], dtype=np.float64) for name in ("g", "z", "m"))
    return Arrays(f=f, y=y, w=w, soft=plan.floats, clipped=0, rejected={})


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


def _outcome(schema: Any, names: Names, pos_label: Any) -> Any:
    import narwhals as nw

    column = nw.col(str(names["outcome"]))
    dtype = schema[names["outcome"]]
    if pos_label is None:
        return column.cast(nw.Int8).cast(nw.Float64) if dtype == nw.Boolean else column.cast(nw.Float64)
    event = nw.when(column == pos_label).then(nw.lit(1.0)).otherwise(nw.lit(0.0))
    if dtype.is_numeric():
        number = column.cast(nw.Float64)
        return nw.when(number - number == 0.0).then(event).otherwise(nw.lit(None, dtype=nw.Float64))
    return nw.when(column.is_null()).then(nw.lit(None, dtype=nw.Float64)).otherwise(event)


def _check_types(lazy: Any, schema: Any, names: Names, pos_label: Any) -> None:
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
            labels = lazy.select(nw.col(name).alias("label_")).group_by("label_").agg(nw.len().alias("rows_"))
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


def from_frame(frame: Any, *, nan: str = "raise") -> Any:
    """The summary, or {group: Summary}, that the query of `sql` has returned as a frame."""
    check_options(nan)
    if computes_elsewhere(frame):
        raise InputError(f"a {type(frame).__name__} holds no rows yet. Collect it first, as an Arrow table or a data frame.")
    table = {str(name): list(column_of(frame, name)) for name in _columns(frame)}
    table = {name.lower(): [_item(value) for value in column] for name, column in table.items()}
    grids = [int(name.removeprefix("at_")) for name in table if name.startswith("at_")]
    by = sum(name.startswith("by_") for name in table)
    plan = Plan(on=ruler([m for m in grids if m not in (100, 15)]), weighted=True, floats="w2" in table, by=by)
    absent = [name for name in [*plan.keys, *plan.sums] if name not in table]
    if absent or not {100, 15} <= set(grids):
        lacking = (absent or ["at_100"])[0]
        raise InputError(f"the frame lacks the column {lacking!r}. Pass what the query of trueness.sql returns.")
    _require_sums(table, plan)
    try:
        found = summaries(table, plan, nan=nan, names={role: role for role in ("outcome", "prediction", "weight")})
    except SoftLabelsMet:
        raise InputError("some outcomes lie strictly between 0 and 1. Make the query again with sql(..., soft=True).") from None
    return found if by else found[None]


def _require_sums(table: Mapping[str, list[Any]], plan: Plan) -> None:
    """What the query of `sql` returns holds whole numbers where it counts, known codes, and at least a row."""
    if not table["n"]:
        raise InputError("the frame has no rows. Run the query on a table that has some.")
    whole = [name for name in [*plan.keys[plan.by :], *plan.sums] if name not in FLOAT_SUMS]
    for name in whole:
        for value in table[name]:
            if value is None or value != value or value != int(value):
                raise InputError(
                    f"the frame's column {name!r} holds {value!r}, not a whole number. Pass what the query returned."
                )
            if isinstance(value, float) and abs(value) >= 2**53:
                raise InputError(
                    f"the frame's column {name!r} came as floats and lost digits. Fetch the result as an Arrow table."
                )
    if min(table["n"]) < 0 or not set(map(int, table["code"])) <= {0, SOFT, ZERO, *REASONS}:
        raise InputError("the frame holds counts below 0, or codes that mean nothing. Pass what the query returned.")
    limits = {"slot": SLOTS, **{f"at_{m}": m for m in plan.grids}}
    for name, limit in limits.items():
        if not all(0 <= value < limit for value in table[name]):
            raise InputError(
                f"the frame's column {name!r} holds a value outside 0 to {limit - 1}. Pass what the query returned."
            )


def _columns(frame: Any) -> Iterator[Any]:
    frame = unwrapped(frame)
    known: Any = getattr(frame, "column_names", getattr(frame, "columns", None))
    yield from (frame if known is None and isinstance(frame, Mapping) else () if known is None else known)


def _item(value: Any) -> Any:
    plain: Callable[[], Any] | None = getattr(value, "as_py", None) or getattr(value, "item", None)
    return value if plain is None else plain()
