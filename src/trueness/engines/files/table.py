"""One file as DuckDB sees it: which columns there are, of which type, and the SQL that reads them.

A Parquet file says of which type a column is. Text (csv, json) does not: its columns are read as what is asked for.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from trueness.engines.files.database import identifier, literal
from trueness.engines.files.text_bytes import TextBytes
from trueness.errors import InputError
from trueness.inputs.arguments import Columns
from trueness.inputs.clusters import BUCKETS
from trueness.inputs.columns import missing_column

_FLOATS = ("number", "float32")
# What stands for a missing number in a text file. In a column of groups only nothing at all does: NA may be a country.
MISSING_WORDS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "NAN", "-nan", "-NaN", "null", "NULL", "Null", "None")


@dataclass(frozen=True, kw_only=True)
class Table(ABC):
    """One file: how its columns stand in a query."""

    typed: ClassVar[bool]  # whether the file itself says of which type a column is

    path: str
    names: dict[str, str]  # column → identifier in the source
    types: dict[str, str]  # column → "number", "float32", "truth value", "text", or "" where the file does not say
    row_count: int | None = None  # where the file says so itself

    def column(self, name: str) -> str:
        """A column."""
        return identifier(self.names[name])

    @abstractmethod
    def source(self, numbers: Sequence[str] = ()) -> str:
        """What stands behind FROM; with `numbers`, a text file may read these columns as numbers and no other column."""

    @abstractmethod
    def number(self, name: str, numbers: Sequence[str] = ()) -> str:
        """A column of `source(numbers)` as a number, NULL where missing."""

    @abstractmethod
    def text(self, name: str) -> str:
        """A column as text, NULL where missing."""

    @abstractmethod
    def group(self, name: str) -> str:
        """A column of groups, NULL where missing."""

    def group_value(self, name: str, value: Any) -> Any:
        """A value of `group` as the key of a group."""
        return None if value != value else value  # NaN is missing

    def bucket(self, name: str) -> str:
        """The bucket of a column of clusters, NULL where missing: as `inputs.clusters.bucket_of` has it."""
        text = f"({self.cluster(name)})"
        return f"(('0x' || substr(md5({text}), 1, 2))::INTEGER % {BUCKETS})"

    def cluster(self, name: str) -> str:
        """A column of clusters as text, NULL where missing."""
        return f"nullif({self.group(name)}::VARCHAR, 'nan')" if self.types[name] in _FLOATS else f"{self.group(name)}::VARCHAR"

    def keys(self, columns: Columns) -> list[str]:
        """What the keys of a record of these columns are values of."""
        buckets = [] if columns.cluster is None else [self.bucket(columns.cluster)]
        return [*map(self.group, columns.by), *buckets]

    def group_code(self, columns: Columns) -> str:
        """The number by which a row's group is known; equal values of other types, in other files, have another."""
        groups = self.keys(columns)
        return f"hash({', '.join([*groups, *(f'typeof({group})' for group in groups)])})"

    def check_pages(self) -> None:
        """Raise where a part of the columns read is not what its checksum says; not every file has some."""
        return

    def text_bytes(self) -> TextBytes | None:
        """What is to be looked at beside the rows of a text file."""
        return None

    def check_rows(self, rows: int) -> None:
        """Raise where another number of rows was read than the file has, as far as that can be known."""
        return

    def may_be_ragged(self, rows: int, text: TextBytes) -> bool:
        """Whether some row may have more cells than there are columns."""
        return False

    def place(self, row: int) -> str:
        """Where a row stands, for people."""
        return f"row {row} of {self.path!r}"


class TextTable(Table):
    """A text file: no types."""

    typed = False

    def text_bytes(self) -> TextBytes | None:
        return TextBytes(self.path)

    def number(self, name: str, numbers: Sequence[str] = ()) -> str:
        return f"({self.text(name)})::DOUBLE"

    def text(self, name: str) -> str:
        words = ", ".join(map(literal, MISSING_WORDS))
        return f"CASE WHEN {self.column(name)} IN ({words}) THEN NULL ELSE {self.column(name)} END"

    def group(self, name: str) -> str:
        return f"nullif({self.column(name)}, '')"


def require_columns(path: str, known: Sequence[str], columns: Columns) -> None:
    """Every column is there, and there once."""
    counts = Counter(known)
    for name in columns.names:
        if counts[name] > 1:
            raise InputError(f"column {name!r}: occurs {counts[name]} times in {path!r}. Give each column its own name.")
        if not counts[name]:
            raise InputError(missing_column(name, known, f" in {path!r}"))
