"""Outcomes in files: numbers, true and false, or labels of which one is the event."""

from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from trueness._values import show
from trueness.engines.files.database import as_number, fetched
from trueness.engines.files.table import Table
from trueness.errors import InputError
from trueness.inputs.labels import EXACT_FLOAT32, Observed, is_number_text, text_problem
from trueness.inputs.remedies import Words, as_option

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Event = str | int | float


_LONGEST = 14_000  # bits of a whole number that can be printed


def as_event(pos_label: Any) -> Event | None:
    """The label that means the event, as a file may hold it."""
    label = pos_label.item() if isinstance(pos_label, np.generic) else pos_label
    if label is not None and not isinstance(label, str | int | float):
        raise InputError(f"pos_label={show(label)} is not a text or a number. Pass the value that means the event.")
    if isinstance(label, int) and label.bit_length() > _LONGEST:
        raise InputError(f"pos_label={show(label)} is longer than any number in a file. Pass the value that means the event.")
    return label


class Outcomes:
    """How a query turns the column of outcomes into numbers."""

    def __init__(self, connection: "DuckDBPyConnection", tables: Sequence[Table], name: str, event: Event | None) -> None:
        self._connection, self._tables, self.name = connection, tables, name
        self._truths = event is None or isinstance(event, bool)  # true and false, in whichever letters
        self._event = str(event).lower() if isinstance(event, bool) else event
        self._written = ["true" if event is None else str(self._event)]  # as files may write the event
        self._by_text = True  # whether the event is known by how it is written
        if self.labels:
            self._check()

    @cached_property
    def labels(self) -> bool:
        """Whether outcomes are told by comparing labels: an event is named, or the first outcome is no number."""
        first = self._tables[0]
        if self._event is not None or first.types[self.name] == "text":
            return True
        if first.typed:
            return False
        query = f"SELECT t FROM ({self._text(first)}) WHERE t IS NOT NULL LIMIT 1"
        labels = self._fetched(first, query)
        return bool(labels) and not is_number_text(labels[0][0])

    @cached_property
    def _by_number(self) -> bool:
        """Whether 1, 1.0 and 01 are one label: the event is a number, and so is every label that the files hold."""
        kind = self._tables[0].types[self.name]
        if self._event is None or not is_number_text(str(self._event)) or kind not in ("number", "float32", ""):
            return False
        query = "SELECT 1 FROM ({}) WHERE t IS NOT NULL AND " + f"{as_number('t')} IS NULL LIMIT 1"
        return not any(self._fetched(table, query.format(self._text(table))) for table in self._tables if not table.typed)

    @property
    def values(self) -> list[str | float]:
        """What is bound in the query."""
        if not self.labels:
            return []
        return [*self._written] if self._by_text else [float(str(self._event))]

    @property
    def notes(self) -> list[str]:
        """What the result should say of it."""
        return [] if self._event is None else [f"column {self.name!r}: {self._event!r} counted as 1, every other value as 0"]

    def number(self, table: Table, numbers: Sequence[str]) -> str:
        """The outcome in SQL: a DOUBLE, NaN where missing."""
        if not self.labels:
            return f"coalesce({table.number(self.name, numbers)}, 'nan'::DOUBLE)"
        label = f"({table.text(self.name)})"
        missing = f"{label} IS NULL"
        if self._by_number and table.typed:
            # NaN is no label: only a finite number minus itself is 0.
            missing = f"({table.number(self.name)} - {table.number(self.name)}) IS DISTINCT FROM 0.0"
        kind = "VARCHAR"
        if not self._by_text:
            label, kind = self._as_number(table)
        elif self._truths:
            label = f"lower{label}"
        event = ", ".join(f"${k}::{kind}" for k, _ in enumerate(self.values, start=1))
        return f"CASE WHEN {missing} THEN 'nan'::DOUBLE WHEN {label} IN ({event}) THEN 1.0 ELSE 0.0 END"

    def _check(self) -> None:
        """The event occurs, or outcomes are true and false; else say which values there are."""
        if self._event is None:
            if not {label.lower() for label in self.observed().counts} <= {"true", "false"}:
                self._raise_labels()
            return
        if self._by_number:
            self._look_for_number(Decimal(str(self._event)))
        events = 0
        for table in self._tables:
            query = f"SELECT count(*) FROM (SELECT {self.number(table, ())} AS y FROM {table.source()}) WHERE y = 1.0"
            events += self._fetched(table, query, self.values)[0][0]
        if events:
            return
        observed = self.observed()
        if len(observed.counts) > 1:
            none = f"column {self.name!r}: 0 of {observed.total} values equal {self._event!r}. {observed}"
            raise (f"{none} Pass the one that means the event " + as_option("pos_label") + ".").error()

    def _look_for_number(self, event: Decimal) -> None:
        """How the files write the event; its float64 suffices where no other number that they hold has the same one."""
        alike = set[str]()
        for table in self._tables:
            number, kind = self._as_number(table)
            if kind == "FLOAT":
                continue  # whichever number the column has for the event is the event
            query = f"SELECT DISTINCT {table.text(self.name)} FROM {table.source()} WHERE {number} = $1"
            alike.update(label for (label,) in self._fetched(table, query, [float(str(self._event))]))
        equal = sorted(label for label in alike if Decimal(label) == event)
        self._by_text = len(equal) < len(alike)
        self._written = equal or self._written

    def _as_number(self, table: Table) -> tuple[str, str]:
        """Labels as numbers, and in which type they are compared: 0.1 is what a column of float32 has for 0.1."""
        number = table.number(self.name) if table.typed else as_number(f"({table.text(self.name)})")
        small = table.types[self.name] == "float32" and abs(float(str(self._event))) < EXACT_FLOAT32
        return (f"({number})::FLOAT", "FLOAT") if small else (number, "DOUBLE")

    def _raise_labels(self) -> NoReturn:
        observed = self.observed()
        table = next(table for table in self._tables if self.observed([table]).total)
        inner = f"SELECT t, row_number() OVER () - 1 AS i FROM ({self._text(table)})"
        query = f"SELECT i, t FROM ({inner}) WHERE t IS NOT NULL ORDER BY i LIMIT 1"
        ((row, value),) = self._fetched(table, query)
        total = observed.total
        raise text_problem(f"column {self.name!r}", total, total, table.place(row), value, observed).error()

    def observed(self, tables: Sequence[Table] | None = None) -> Observed:
        """How often each label occurs, the most frequent ones."""
        observed = Observed()
        for table in self._tables if tables is None else tables:
            ((count,),) = self._fetched(table, f"SELECT count(t) FROM ({self._text(table)})")
            observed.total += count
            query = (
                f"SELECT t, count(*) FROM ({self._text(table)}) WHERE t IS NOT NULL GROUP BY t ORDER BY 2 DESC, 1 LIMIT 10000"
            )
            for label, rows in self._fetched(table, query):
                observed.counts[label] += rows
        return observed

    def problems(self, table: Table, names: Sequence[str]) -> list[Words]:
        """Which text of a file is not a number, in every column of these."""
        problems = []
        bad = f"t IS NOT NULL AND {as_number('t')} IS NULL"
        for name in dict.fromkeys(names):
            if name == self.name and self.labels:
                continue
            text = f"SELECT {table.text(name)} AS t, row_number() OVER () - 1 AS i FROM {table.source()}"
            ((total, count),) = self._fetched(table, f"SELECT count(*), count(*) FILTER (WHERE {bad}) FROM ({text})")
            if count:
                ((row, value),) = self._fetched(table, f"SELECT i, t FROM ({text}) WHERE {bad} ORDER BY i LIMIT 1")
                observed = self.observed() if name == self.name else None
                problems.append(text_problem(f"column {name!r}", total, count, table.place(row), value, observed))
        return problems

    def _text(self, table: Table) -> str:
        return f"SELECT {table.text(self.name)} AS t FROM {table.source()}"

    def _fetched(self, table: Table, query: str, values: Sequence[str | float] = ()) -> list[tuple[Any, ...]]:
        return fetched(self._connection, table.path, query, values)
