"""The reduction as SQL text, for a warehouse that holds the rows; `Summary.from_frame` reads what it returns."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trueness._values import is_number, show
from trueness.engines.expressions import Plan
from trueness.errors import InputError
from trueness.inputs.arguments import Columns, column_names
from trueness.options import check_flag, check_options
from trueness.summary.ruler import ruler

Dialect = Literal["duckdb", "spark", "bigquery", "snowflake", "postgres"]


@dataclass(frozen=True, slots=True)
class _Words:
    """How a dialect writes what dialects write differently."""

    double: str
    integer: str
    quote: str  # around names
    escapes: dict[str, str]  # how letters within a text are written
    prefix: str = ""  # before a text that holds any of them
    name_escapes: dict[str, str] | None = None  # the same of names, where their quote is not doubled


_DOUBLED = {"'": "''"}
_BACKSLASH = {"\\": r"\\", "\n": r"\n", "\r": r"\r"}  # a text has no line ends in BigQuery
_DIALECTS: dict[str, _Words] = {
    "duckdb": _Words("DOUBLE", "BIGINT", '"', _DOUBLED),
    # Spark puts values in the place of ${names}, within texts as well.
    "spark": _Words("DOUBLE", "BIGINT", "`", {"'": r"\'", "$": r"\u0024", **_BACKSLASH}),
    "bigquery": _Words("FLOAT64", "INT64", "`", {"'": r"\'", **_BACKSLASH}, name_escapes={"`": r"\`", **_BACKSLASH}),
    "snowflake": _Words("DOUBLE", "BIGINT", '"', {**_DOUBLED, **_BACKSLASH}),
    # A plain text has backslashes or escapes as the server is set; with an E it has escapes.
    "postgres": _Words("DOUBLE PRECISION", "BIGINT", '"', {**_DOUBLED, **_BACKSLASH}, prefix="E"),
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
    if not isinstance(dialect, str) or dialect not in _DIALECTS:
        raise InputError(f"dialect={show(dialect)} is not a choice. Pass one of {', '.join(map(repr, _DIALECTS))}.")
    check_options("raise", pos_label=pos_label)
    check_flag("soft", soft)
    groups = Columns(outcome=outcome, prediction=prediction, weight=weight, by=column_names(by)).in_text().by
    if not isinstance(source, str) or not source.strip():
        raise InputError(
            f"source: {show(source)} is not what stands behind FROM. Pass a table's name, or a query in parentheses."
        )
    on = ruler(bins)
    plan = Plan(on=on, weighted=weight is not None, floats=soft or weight is not None, by=len(groups))
    words = _DIALECTS[dialect]
    label = None if pos_label is None else _literal(pos_label, words)
    columns = _inner(words, outcome, prediction, weight, groups, label, numeric=is_number(pos_label) and label not in _TRUTHS)
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
    words: _Words,
    outcome: str,
    prediction: str,
    weight: str | None,
    groups: Sequence[Any],
    label: str | None,
    *,
    numeric: bool,
) -> list[str]:
    def column(name: Any) -> str:
        if not isinstance(name, str) or not name or not _sayable(name):
            raise InputError(f"{show(name)} is not the name of a column. Pass names as the table has them.")
        escapes = {words.quote: words.quote * 2} if words.name_escapes is None else words.name_escapes
        return f"{words.quote}{_escaped(name, escapes)}{words.quote}"

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


_TRUTHS = ("TRUE", "FALSE")


def _sayable(text: str) -> bool:
    """Whether a query can hold this text: there is no way to write a NUL or a lone surrogate."""
    return "\0" not in text and text.encode("utf-8", "ignore").decode() == text


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    return "".join(escapes.get(letter, letter) for letter in text)


def _literal(value: Any, words: _Words) -> str:
    """A value as the dialect writes it, so that no text ends before its end."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str) and _sayable(value):
        text = _escaped(value, words.escapes)
        return f"{words.prefix if text != value else ''}'{text}'"
    if isinstance(value, bool):
        return _TRUTHS[not value]
    if isinstance(value, int | float) and abs(value) <= sys.float_info.max:
        return repr(value)
    raise InputError(f"pos_label={show(value)} is not a label. Pass the text or the number that means the event.")
