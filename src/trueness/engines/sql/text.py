"""The reduction as SQL text, for a warehouse that holds the rows; `Summary.from_frame` reads what it returns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from trueness.engines.expressions import Plan
from trueness.errors import InputError
from trueness.summary.ruler import ruler

Dialect = Literal["duckdb", "spark", "bigquery", "snowflake", "postgres"]


@dataclass(frozen=True, slots=True)
class _Words:
    """How a dialect writes what dialects write differently."""

    double: str
    integer: str
    quote: str
    escape: str  # what stands before a quote within a text
    backslash: bool = False  # whether a quote within a name is escaped, too, and not doubled


_DIALECTS: dict[str, _Words] = {
    "duckdb": _Words("DOUBLE", "BIGINT", '"', "'"),
    "spark": _Words("DOUBLE", "BIGINT", "`", "\\"),
    "bigquery": _Words("FLOAT64", "INT64", "`", "\\", backslash=True),
    "snowflake": _Words("DOUBLE", "BIGINT", '"', "'"),
    "postgres": _Words("DOUBLE PRECISION", "BIGINT", '"', "'"),
}


class Text(str):
    """An expression in SQL; arithmetic writes it."""

    def __add__(self, other: Any) -> "Text":
        return Text(f"({self} + {other})")

    def __sub__(self, other: Any) -> "Text":
        return Text(f"({self} - {other})")

    def __mul__(self, other: Any) -> "Text":
        return Text(f"({self} * {other})")

    def __truediv__(self, other: Any) -> "Text":
        return Text(f"({self} / {other})")

    def __lt__(self, other: Any) -> "Text":  # type: ignore[override]
        return Text(f"({self} < {other})")

    def __le__(self, other: Any) -> "Text":  # type: ignore[override]
        return Text(f"({self} <= {other})")

    def __gt__(self, other: Any) -> "Text":  # type: ignore[override]
        return Text(f"({self} > {other})")

    def __ge__(self, other: Any) -> "Text":  # type: ignore[override]
        return Text(f"({self} >= {other})")


class SqlAlgebra:
    """Expressions as text."""

    def __init__(self, words: _Words) -> None:
        self._words = words

    def column(self, name: str) -> Text:
        """A column of an earlier layer."""
        return Text(name)

    def number(self, value: float) -> Text:
        """A float64 constant, read from its shortest exact form."""
        written = str(int(value)) if value == int(value) else f"'{value!r}'"
        return Text(f"CAST({written} AS {self._words.double})")

    def either(self, condition: Text, then: Text, otherwise: Text) -> Text:
        """A case."""
        return Text(f"CASE WHEN {condition} THEN {then} ELSE {otherwise} END")

    def floor(self, value: Text) -> Text:
        """Rounded down, as float64."""
        return Text(f"CAST(floor({value}) AS {self._words.double})")

    def equal(self, a: Text, b: Text) -> Text:
        """Equality."""
        return Text(f"({a} = {b})")

    def divide(self, a: Text, by: float, like: Text) -> Text:
        """A quotient."""
        return a / self.number(by)


def sql(
    dialect: Dialect,
    *,
    source: str,
    outcome: str,
    prediction: str,
    weight: str | None = None,
    by: str | Sequence[str] | None = None,
    bins: Iterable[int] | int = (),
    pos_label: Any = None,
    soft: bool = False,
) -> str:
    """The query that reduces a table to a summary, to be run where the table is.

    Its result, a few ten thousand rows at most for each group, becomes a summary with `Summary.from_frame`.

    Parameters
    ----------
    dialect : {"duckdb", "spark", "bigquery", "snowflake", "postgres"}
        Whose SQL to write.
    source : str
        What stands behind FROM: a table's name as SQL writes it, or a query in parentheses.
    outcome, prediction, weight, by, bins, pos_label
        As for `summarize_files`.
    soft : bool
        Whether outcomes may lie strictly between 0 and 1; sums are then float64. Without it such rows are an error.

    Returns
    -------
    str

    Examples
    --------
    >>> text = sql("duckdb", source="predictions", outcome="clicked", prediction="score")
    >>> "FROM predictions" in text and "GROUP BY" in text
    True
    """
    if dialect not in _DIALECTS:
        raise InputError(f"dialect={dialect!r} is not a choice. Pass one of {', '.join(map(repr, _DIALECTS))}.")
    groups = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    on = ruler(tuple(bins) if isinstance(bins, Iterable) else (bins,))
    plan = Plan(on=on, weighted=weight is not None, floats=soft or weight is not None, by=len(groups))
    words = _DIALECTS[dialect]
    label = None if pos_label is None else _literal(pos_label, words)
    numeric = isinstance(pos_label, int | float) and not isinstance(pos_label, bool)
    columns = _inner(words, outcome, prediction, weight, groups, label, numeric)
    return query(plan, SqlAlgebra(words), columns, source, words.integer)


def query(plan: Plan, algebra: SqlAlgebra, columns: Sequence[str], source: str, integer: str) -> str:
    """Layers as nested queries."""
    known = [column.rpartition(" AS ")[2] for column in columns]
    text = f"SELECT {', '.join(columns)} FROM {source} AS given"
    for layer in plan.layers(algebra):
        kept = [name for name in known if name not in layer]
        text = f"SELECT {', '.join([*kept, *(f'{value} AS {name}' for name, value in layer.items())])} FROM ({text}) AS t"
        known = [*kept, *layer]
    keys = plan.keys
    counted = [name for name in plan.sums if name in ("n", "clipped", "soft", "r1", "r2", "r3")]
    shown = [
        *keys[: plan.by],
        *(f"CAST({name} AS {integer}) AS {name}" for name in keys[plan.by :]),
        *(f"{_sum(name, integer) if name in counted else f'SUM({name})'} AS {name}" for name in plan.sums),
    ]
    return f"SELECT {', '.join(shown)} FROM ({text}) AS t GROUP BY {', '.join(keys)}"


def _sum(name: str, integer: str) -> str:
    """A sum of whole numbers as one: engines widen it to types that some clients read as floats."""
    return f"CAST(SUM(CAST({name} AS {integer})) AS {integer})"


def _inner(
    words: _Words, outcome: str, prediction: str, weight: str | None, groups: Sequence[str], label: str | None, numeric: bool
) -> list[str]:
    def column(name: str) -> str:
        if words.backslash:
            quoted = name.replace("\\", "\\\\").replace(words.quote, f"\\{words.quote}")
        else:
            quoted = name.replace(words.quote, words.quote * 2)
        return f"{words.quote}{quoted}{words.quote}"

    def number(name: str) -> str:
        return f"CAST({column(name)} AS {words.double})"

    y = number(outcome)
    if label is not None:
        given = column(outcome)
        event = f"CASE WHEN {given} IS NULL THEN NULL WHEN {given} = {label} THEN 1 ELSE 0 END"
        # NaN is no other label than the event but a missing one; only a finite number less itself is 0.
        case = f"CASE WHEN {number(outcome)} - {number(outcome)} = 0 THEN {event} ELSE NULL END" if numeric else event
        y = f"CAST({case} AS {words.double})"
    columns = [f"{number(prediction)} AS f", f"{y} AS y"]
    columns += [] if weight is None else [f"{number(weight)} AS w"]
    return [*columns, *(f"{column(name)} AS by_{k}" for k, name in enumerate(groups))]


def _literal(value: Any, words: _Words) -> str:
    if isinstance(value, str):
        text = value.replace("\\", "\\\\") if words.escape == "\\" else value
        return "'" + text.replace("'", f"{words.escape}'") + "'"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return repr(value)
    raise InputError(f"pos_label={value!r} is not a text or a number. Pass the value that means the event.")
