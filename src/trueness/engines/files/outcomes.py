"""Outcomes in files: numbers, true and false, or labels of which one is the event."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from trueness.engines.files.database import fetched
from trueness.engines.files.table import Table
from trueness.errors import InputError
from trueness.inputs.labels import Observed, is_number_text, text_problem
from trueness.inputs.remedies import as_option, lines

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Event = str | int | float


def as_event(pos_label: Any) -> Event | None:
    """The label that means the event, as a file may hold it."""
    label = pos_label.item() if isinstance(pos_label, np.generic) else pos_label
    if label is not None and not isinstance(label, str | int | float):
        raise InputError(f"pos_label={label!r} is not a text or a number. Pass the value that means the event.")
    return label


class Outcomes:
    """How a query turns the column of outcomes into numbers."""

    def __init__(self, connection: "DuckDBPyConnection", tables: Sequence[Table], name: str, event: Event | None) -> None:
        self._connection, self._tables, self.name = connection, tables, name
        self._event = str(event).lower() if isinstance(event, bool) else event
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
        """Whether 1, 1.0 and 01 are one label: the event is a number, and so may be what the files hold."""
        kind = self._tables[0].types[self.name]
        return self._event is not None and kind in ("number", "float32", "") and is_number_text(str(self._event))

    @property
    def values(self) -> list[str | float]:
        """What is bound in the query."""
        if not self.labels:
            return []
        return ["true" if self._event is None else float(self._event) if self._by_number else str(self._event)]

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
        if self._by_number:
            label = table.number(self.name) if table.typed else f"TRY({label}::DOUBLE)"
            # NaN is no label: only a finite number minus itself is 0.
            missing = f"({label} - {label}) IS DISTINCT FROM 0.0" if table.typed else missing
        elif self._event is None:
            label = f"lower{label}"
        return f"CASE WHEN {missing} THEN 'nan'::DOUBLE WHEN {label} = $1 THEN 1.0 ELSE 0.0 END"

    def _check(self) -> None:
        """The event occurs, or outcomes are true and false; else say which values there are."""
        if self._event is None:
            if not {label.lower() for label in self.observed().counts} <= {"true", "false"}:
                self._raise_labels()
            return
        events = 0
        for table in self._tables:
            query = f"SELECT count(*) FROM (SELECT {self.number(table, ())} AS y FROM {table.source()}) WHERE y = 1.0"
            events += self._fetched(table, query, self.values)[0][0]
        observed = self.observed()
        if not events and len(observed.counts) > 1:
            none = f"column {self.name!r}: 0 of {observed.total} values equal {self._event!r}. {observed}"
            raise (f"{none} Pass the one that means the event " + as_option("pos_label") + ".").error()

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

    def raise_text(self, table: Table, names: Sequence[str]) -> NoReturn:
        """Say which text of a file is not a number, in every column of these."""
        problems = []
        bad = "t IS NOT NULL AND TRY(t::DOUBLE) IS NULL"
        for name in dict.fromkeys(names):
            if name == self.name and self.labels:
                continue
            text = f"SELECT {table.text(name)} AS t, row_number() OVER () - 1 AS i FROM {table.source()}"
            ((total, count),) = self._fetched(table, f"SELECT count(*), count(*) FILTER (WHERE {bad}) FROM ({text})")
            if count:
                ((row, value),) = self._fetched(table, f"SELECT i, t FROM ({text}) WHERE {bad} ORDER BY i LIMIT 1")
                observed = self.observed() if name == self.name else None
                problems.append(text_problem(f"column {name!r}", total, count, table.place(row), value, observed))
        if problems:
            raise lines(problems).error()
        raise InputError(f"{table.path!r}: changed while it was read. Keep it unchanged.")

    def _text(self, table: Table) -> str:
        return f"SELECT {table.text(self.name)} AS t FROM {table.source()}"

    def _fetched(self, table: Table, query: str, values: Sequence[str | float] = ()) -> list[tuple[Any, ...]]:
        return fetched(self._connection, table.path, query, values)
