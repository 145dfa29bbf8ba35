"""A Parquet file: its footer says which columns it has, of which type, how many rows, and where their pages lie."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from trueness.engines.files.database import AS_IT_IS, location
from trueness.engines.files.integrity import wrong_page
from trueness.engines.files.table import Table, require_columns
from trueness.errors import InputError
from trueness.inputs.arguments import Columns

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_NUMBER = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|FLOAT|DOUBLE|DECIMAL)\b")
# Types whose values Python's own do not tell apart: nanoseconds, zones, a month and thirty days.
_FINER = re.compile(r"TIMESTAMP_NS|TIME_NS|.*TZ|.*WITH TIME ZONE|INTERVAL")


@dataclass(frozen=True, kw_only=True)
class ParquetTable(Table):
    """A Parquet file."""

    typed = True

    chunks: list[tuple[int, int]]  # offset and size of the columns' parts

    def source(self, numbers: Sequence[str] = ()) -> str:
        return f"read_parquet({location(self.path)}, can_have_nan=true, {AS_IT_IS})"

    def number(self, name: str, numbers: Sequence[str] = ()) -> str:
        return f"{self.column(name)}::DOUBLE"

    def text(self, name: str) -> str:
        return f"{self.column(name)}::VARCHAR"

    def group(self, name: str) -> str:
        return f"{self.column(name)}::VARCHAR" if _FINER.match(self.types[name]) else self.column(name)

    def group_value(self, name: str, value: Any) -> Any:
        if self.types[name] != "TIMESTAMP_NS" or value is None or re.search(r"\.\d{7}|infinity", value):
            return super().group_value(name, value)  # a text, where it is finer than a microsecond
        return datetime.fromisoformat(value)

    def check_pages(self) -> None:
        if not self.row_count:
            return
        try:
            page = wrong_page(self.path, self.chunks)
        except ValueError as error:
            raise InputError(f"{self.path!r}: is damaged ({error}). Make it again; nothing was counted.") from error
        if page is not None:
            text = f"the page at byte {page} is not what its checksum says"
            raise InputError(f"{self.path!r}: is damaged ({text}). Make it again; nothing was counted.")

    def check_rows(self, rows: int) -> None:
        if rows != self.row_count:
            raise InputError(
                f"{self.path!r}: {rows} rows were read where the file says it holds {self.row_count}. It is damaged or was "
                "changed: make it again."
            )


def parquet_table(connection: "DuckDBPyConnection", path: str, columns: Columns) -> ParquetTable:
    """What the file holds, by its footer."""
    described = connection.sql(f"DESCRIBE SELECT * FROM read_parquet({location(path)}, {AS_IT_IS})").fetchall()
    known = _names(connection, path, [row[0] for row in described])
    require_columns(path, known, columns)
    lines = {name: described[known.index(name)] for name in columns.names}
    ((rows,),) = connection.sql(f"SELECT sum(num_rows)::BIGINT FROM parquet_file_metadata({location(path)})").fetchall()
    table = ParquetTable(
        path=path,
        names={name: line[0] for name, line in lines.items()},
        types={name: _type(str(line[1])) for name, line in lines.items()},
        row_count=int(rows),
        chunks=_chunks(connection, path, columns),
    )
    for name in columns.numbers:
        kind = table.types[name]
        if kind not in ("number", "float32", "truth value") and not (kind == "text" and name == columns.outcome):
            raise InputError(
                f"column {name!r}: is of type {lines[name][1]} in {path!r}, not a number. Convert it to numbers first."
            )
    for name in (*columns.by, *([] if columns.cluster is None else [columns.cluster])):
        if re.search(r"\[|STRUCT|MAP|UNION", table.types[name]):
            raise InputError(
                f"column {name!r}: is of type {table.types[name]} in {path!r}, which names no groups. Choose another."
            )
    return table


def _chunks(connection: "DuckDBPyConnection", path: str, columns: Columns) -> list[tuple[int, int]]:
    """Where the parts of the columns lie."""
    fields = "path_in_schema, coalesce(dictionary_page_offset, data_page_offset), data_page_offset, total_compressed_size"
    parts = connection.sql(f"SELECT {fields} FROM parquet_metadata({location(path)})").fetchall()
    return [(min(start or data, data), size) for name, start, data, size in parts if name in columns.names]


def _names(connection: "DuckDBPyConnection", path: str, shown: list[str]) -> list[str]:
    """Names as the file has them: DuckDB alters those that occur twice or differ by case alone."""
    root, *tree = connection.sql(f"SELECT name, num_children FROM parquet_schema({location(path)})").fetchall()
    names, inside = list[str](), 0
    for name, children in tree:
        if not inside:
            names.append(name)
        inside += (children or 0) - (1 if inside else 0)
    return names if len(names) == len(shown) == root[1] else shown


def _type(declared: str) -> str:
    """What a column of a DuckDB type is read as."""
    if _NUMBER.match(declared) and "[" not in declared:
        return "float32" if declared == "FLOAT" else "number"
    if declared == "VARCHAR" or (declared.startswith("ENUM") and "[" not in declared):
        return "text"
    return "truth value" if declared == "BOOLEAN" else declared
