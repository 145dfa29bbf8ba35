"""Which table each of several files is, before any row is read, and that they agree on what their columns hold."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trueness.engines.files.database import unreadable
from trueness.engines.files.delimited import delimited_table
from trueness.engines.files.json_objects import json_table
from trueness.engines.files.parquet import parquet_table
from trueness.engines.files.table import Table
from trueness.errors import InputError
from trueness.inputs.arguments import Columns

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def described(
    connection: "DuckDBPyConnection", paths: Sequence[str], kind: str, columns: Columns, delimiter: str | None
) -> list[Table]:
    """The files as tables; a column that is not there, there twice, or of another type in another file is told."""
    tables = [_described(connection, path, kind, columns, delimiter) for path in paths]
    for name in columns.names:
        holders = {_sort(table.types[name]): table for table in reversed(tables)}
        if len(holders) > 1:
            which = ", ".join(f"{sort} in {table.path!r}" for sort, table in holders.items())
            raise InputError(f"column {name!r}: its type differs between the files ({which}). Give all files one type.")
    return tables


def _described(connection: "DuckDBPyConnection", path: str, kind: str, columns: Columns, delimiter: str | None) -> Table:
    try:
        if kind == "csv":
            return delimited_table(path, columns, delimiter)
        return parquet_table(connection, path, columns) if kind == "parquet" else json_table(connection, path, columns)
    except (InputError, MemoryError, OSError):
        raise
    except Exception as error:
        raise unreadable(path, error) from error


def _sort(kind: str) -> str:
    """Types that may stand beside one another are one."""
    return "number" if kind in ("float32", "truth value") else kind
