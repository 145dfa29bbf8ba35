"""Files as DuckDB sees them: which columns there are, of which type, and the SQL that reads them.

A Parquet file says of which type a column is. Text (csv, json) does not: its columns are read as what is asked for.
"""

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from trueness.engines.files.delimited import has_rows, line_of, read_header
from trueness.engines.files.pages import wrong_page
from trueness.engines.files.sources import beginning, damaged_gzip, ending, is_gzip
from trueness.errors import InputError
from trueness.inputs.columns import missing_column
from trueness.inputs.remedies import as_option

# What stands for a missing number in a text file. In a column of groups only nothing at all does: NA may be a country.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "NAN", "-nan", "-NaN", "null", "NULL", "Null", "None")
_AS_IT_IS = "hive_partitioning=false"  # else a folder called y=1 would replace the column y
_NUMBER = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|FLOAT|DOUBLE|DECIMAL)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Which columns are read, and as what."""

    outcome: str
    predictions: tuple[str, ...]
    weight: str | None = None
    by: tuple[str, ...] = ()
    key: str | None = None

    @property
    def numbers(self) -> list[str]:
        """Columns read as numbers, the outcome first."""
        return [self.outcome, *self.predictions, *([] if self.weight is None else [self.weight])]

    @property
    def wanted(self) -> list[str]:
        """Every column, once."""
        return list(dict.fromkeys([*self.numbers, *self.by, *([] if self.key is None else [self.key])]))


@dataclass(frozen=True, kw_only=True)
class Table:
    """One file: how its columns stand in a query."""

    path: str
    names: dict[str, str]  # column → identifier in the source
    types: dict[str, str]  # column → "number", "float32", "truth value", "text", or "" where the file does not say
    rows: int | None = None  # as the file's own footer says
    chunks: list[tuple[int, int]] = field(default_factory=list)  # offset and size of the columns' parts of a Parquet file
    width: int = 0  # columns of a delimited text
    delimiter: str = ""

    @property
    def typed(self) -> bool:
        """Whether the file itself says of which type a column is."""
        return True

    def column(self, name: str) -> str:
        """A column."""
        return identifier(self.names[name])

    def source(self, numbers: Sequence[str] = ()) -> str:
        """What stands behind FROM; with `numbers`, a text file may read these columns as numbers and no other column."""
        return f"read_parquet({location(self.path)}, can_have_nan=true, {_AS_IT_IS})"

    def number(self, name: str, numbers: Sequence[str] = ()) -> str:
        """A column of `source(numbers)` as a number, NULL where missing."""
        return f"{self.column(name)}::DOUBLE"

    def text(self, name: str) -> str:
        """A column as text, NULL where missing."""
        return f"{self.column(name)}::VARCHAR"

    def group(self, name: str) -> str:
        """A column of groups, NULL where missing."""
        return f"{self.column(name)}::VARCHAR" if "WITH TIME ZONE" in self.types[name] else self.column(name)

    def check_pages(self) -> None:
        """Raise where a page of the columns read is not what its checksum says."""
        try:
            wrong = wrong_page(self.path, self.chunks)
        except ValueError as error:
            raise InputError(f"{self.path!r}: is damaged ({error}). Make it again; nothing was counted.") from error
        if wrong is not None:
            text = f"the page at byte {wrong} is not what its checksum says"
            raise InputError(f"{self.path!r}: is damaged ({text}). Make it again; nothing was counted.")

    def check_rows(self, rows: int) -> None:
        """Raise where another number of rows was read than the file has, as far as that can be known."""
        if self.rows is not None and rows != self.rows:
            raise InputError(
                f"{self.path!r}: {rows} rows were read where the file says it holds {self.rows}. It is damaged or was changed: "
                "make it again."
            )

    def place(self, row: int) -> str:
        """Where a row stands, for people."""
        return f"row {row} of {self.path!r}"


class TextTable(Table):
    """A text file: no types."""

    @property
    def typed(self) -> bool:
        return False

    def number(self, name: str, numbers: Sequence[str] = ()) -> str:
        return f"({self.text(name)})::DOUBLE"

    def text(self, name: str) -> str:
        listed = ", ".join(map(literal, MISSING))
        return f"CASE WHEN {self.column(name)} IN ({listed}) THEN NULL ELSE {self.column(name)} END"

    def group(self, name: str) -> str:
        return f"nullif({self.column(name)}, '')"


class DelimitedTable(TextTable):
    """A csv or tsv file; its columns are called c0, c1, … in a query, whatever their names are."""

    def source(self, numbers: Sequence[str] = ()) -> str:
        kinds = {self.names[name]: "DOUBLE" for name in numbers}
        listed = ", ".join(f"'c{k}': '{kinds.get(f'c{k}', 'VARCHAR')}'" for k in range(self.width))
        missing = MISSING if numbers else ("",)  # among text, which may name groups, only nothing is missing
        return (
            f"read_csv({location(self.path)}, columns={{{listed}}}, auto_detect=false, header=true, "
            f"delim={literal(self.delimiter)}, quote='\"', escape='\"', nullstr=[{', '.join(map(literal, missing))}], "
            f"strict_mode=true, {_compression(self.path)}, {_AS_IT_IS})"
        )

    def number(self, name: str, numbers: Sequence[str] = ()) -> str:
        return self.column(name) if name in numbers else super().number(name)

    def check_rows(self, rows: int) -> None:
        # DuckDB takes the first line end for that of all lines, also one within quotes, and then may see no row at all.
        if not rows and has_rows(self.path, self.delimiter):
            raise InputError(f"{self.path!r}: lines end in different ways, also within the header. Give all the same end.")

    def place(self, row: int) -> str:
        return f"line {line_of(self.path, self.delimiter, row)} of {self.path!r}"


class JsonTable(TextTable):
    """A file of JSON objects, one a row, as an array or one after another."""

    def group(self, name: str) -> str:
        return self.column(name)  # an empty text is no missing one here: null is

    def source(self, numbers: Sequence[str] = ()) -> str:
        listed = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in self.names)
        return f"read_json({location(self.path)}, columns={{{listed}}}, {_json_options(self.path)})"


def describe(connection: Any, path: str, kind: str, roles: Roles, delimiter: str | None) -> Table:
    """What the file holds, before any row is read; wanted columns that are not there, or there twice, are told."""
    if kind == "csv":
        return _delimited(path, roles, delimiter)
    return _parquet(connection, path, roles) if kind == "parquet" else _json(connection, path, roles)


def _delimited(path: str, roles: Roles, delimiter: str | None) -> Table:
    header = read_header(path, roles.wanted, delimiter)
    absent = [name for name in roles.wanted if name not in header.names]
    if absent and len(header.names) == 1:
        raise (
            f"{path!r}: only 1 column found, {header.names[0][:60]!r}, where {absent[0]!r} is wanted. Does the first line hold "
            "the names? Is the delimiter another one? Pass it " + as_option("delimiter") + "."
        ).error()
    _require(path, list(header.names), roles)
    names = {name: f"c{header.names.index(name)}" for name in roles.wanted}
    return DelimitedTable(
        path=path,
        names=names,
        types=dict.fromkeys(roles.wanted, ""),
        width=len(header.names),
        delimiter=header.delimiter,
    )


def _is_array(path: str) -> bool:
    return beginning(path, 64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["


def _json_options(path: str) -> str:
    """How a JSON file is read; DuckDB does not see by itself that an array is one when a byte order mark comes first."""
    return f"{_compression(path)}, format='{'array' if _is_array(path) else 'auto'}', {_AS_IT_IS}"


def _json(connection: Any, path: str, roles: Roles) -> Table:
    if _is_array(path) and not ending(path).rstrip().endswith(b"]"):
        raise InputError(f"{path!r}: the array has no end, the file is cut short. Make it again; nothing was counted.")
    known: list[str] = []
    for sample in (" LIMIT 1000", ""):  # a name that first occurs late is looked for in the whole file
        rows = f"SELECT json FROM read_json_objects({location(path)}, {_json_options(path)}){sample}"
        found = connection.sql(f"SELECT json_keys(json), json_type(json) FROM ({rows})").fetchall()
        if any(kind != "OBJECT" for _, kind in found):
            raise InputError(f"{path!r}: holds something else than objects with names and values. Write one object a row.")
        known = list(dict.fromkeys(name for names, _ in found for name in names))
        if set(roles.wanted) <= set(known) or len(found) < 1000:
            break
    if not found:
        raise InputError(f"no rows: 0 in {path!r}. Pass at least one row.")
    _require(path, known, roles)
    return JsonTable(path=path, names={name: name for name in roles.wanted}, types=dict.fromkeys(roles.wanted, ""))


def _parquet(connection: Any, path: str, roles: Roles) -> Table:
    shown = connection.sql(f"DESCRIBE SELECT * FROM read_parquet({location(path)}, {_AS_IT_IS})").fetchall()
    known = _parquet_names(connection, path, [row[0] for row in shown])
    _require(path, known, roles)
    at = {name: known.index(name) for name in roles.wanted}
    ((rows,),) = connection.sql(f"SELECT sum(num_rows)::BIGINT FROM parquet_file_metadata({location(path)})").fetchall()
    table = Table(
        path=path,
        names={name: shown[k][0] for name, k in at.items()},
        types={name: _kind(str(shown[k][1])) for name, k in at.items()},
        rows=int(rows),
        chunks=_chunks(connection, path, roles),
    )
    for name in roles.numbers:
        kind = table.types[name]
        if kind not in ("number", "float32", "truth value") and not (kind == "text" and name == roles.outcome):
            raise InputError(
                f"column {name!r}: is of type {shown[at[name]][1]} in {path!r}, not a number. Convert it to numbers first."
            )
    for name in roles.by:
        if re.search(r"\[|STRUCT|MAP|UNION", table.types[name]):
            raise InputError(
                f"column {name!r}: is of type {table.types[name]} in {path!r}, which names no groups. Choose another."
            )
    return table


def _chunks(connection: Any, path: str, roles: Roles) -> list[tuple[int, int]]:
    """Where the parts of the wanted columns lie."""
    wanted = "path_in_schema, coalesce(dictionary_page_offset, data_page_offset), data_page_offset, total_compressed_size"
    found = connection.sql(f"SELECT {wanted} FROM parquet_metadata({location(path)})").fetchall()
    return [(min(start or data, data), size) for name, start, data, size in found if name in roles.wanted]


def _parquet_names(connection: Any, path: str, shown: list[str]) -> list[str]:
    """Names as the file has them: DuckDB alters those that occur twice or differ by case alone."""
    root, *tree = connection.sql(f"SELECT name, num_children FROM parquet_schema({location(path)})").fetchall()
    found, inside = [], 0
    for name, children in tree:
        if not inside:
            found.append(name)
        inside += (children or 0) - (1 if inside else 0)
    return found if len(found) == len(shown) == root[1] else shown


def _require(path: str, known: list[str], roles: Roles) -> None:
    """Every wanted column is there, and there once."""
    counts = Counter(known)
    for name in roles.wanted:
        if counts[name] > 1:
            raise InputError(f"column {name!r}: occurs {counts[name]} times in {path!r}. Give each column its own name.")
        if not counts[name]:
            raise InputError(missing_column(name, known, f" in {path!r}"))


def _kind(kind: str) -> str:
    if _NUMBER.match(kind) and "[" not in kind:
        return "float32" if kind == "FLOAT" else "number"
    if kind == "VARCHAR" or (kind.startswith("ENUM") and "[" not in kind):
        return "text"
    return "truth value" if kind == "BOOLEAN" else kind


def identifier(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL writes it, for places where a value cannot be bound."""
    return "'" + text.replace("'", "''") + "'"


def location(path: str) -> str:
    """A file's name as DuckDB writes it: never a pattern, never an address."""
    return literal(re.sub(r"([\[*?])", r"[\1]", os.path.abspath(path)))


def _compression(path: str) -> str:
    return f"compression='{'gzip' if is_gzip(path) else 'uncompressed'}'"


def is_conversion(error: Exception) -> bool:
    """Whether DuckDB met a text that is not the number it should be."""
    return "Conversion Error" in str(error) or "Failed to cast value" in str(error)


def _reason(error: Exception) -> str:
    """The part of DuckDB's message that says what is wrong; its advice is about DuckDB."""
    text = re.split(r"Possible (?:fixes|[Ss]olutions?)|Try setting|LINE 1:|\n  file = ", str(error))[0]
    lines = [line.strip().rstrip(".:,") for line in text.splitlines() if line.strip()]
    kept = ", ".join(line for line in lines if not line.startswith("Original Line"))
    kept = re.sub(r"^(\w+ )?\w+ Error: ", "", kept)
    kept = re.sub(r"CSV Error on Line: (\d+)", r"line \1", kept)
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in kept)[:400]


def unreadable(path: str, error: Exception) -> Exception:
    """What to raise for a file that DuckDB gave up on."""
    if "out of memory" in str(error).lower():
        return MemoryError(_reason(error))
    if "GZIP" in str(error):
        return InputError(damaged_gzip(path, error))
    return InputError(f"{path!r}: {_reason(error)}. Mend the file or make it again; nothing was counted.")
