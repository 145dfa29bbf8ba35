"""A file of JSON objects, one a row, as an array or one after another."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trueness.engines.files.database import AS_IT_IS, compression, literal, location
from trueness.engines.files.sources import beginning, ending, is_gzip
from trueness.engines.files.table import TextTable, require_columns
from trueness.errors import InputError
from trueness.inputs.arguments import Columns

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SAMPLE = 1000  # objects in which every name is looked for first


class JsonTable(TextTable):
    """A file of JSON objects."""

    def group(self, name: str) -> str:
        return self.column(name)  # an empty text is no missing one here: null is

    def source(self, numbers: Sequence[str] = ()) -> str:
        kinds = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in self.names)
        layout = _layout(self.path)
        if layout == "auto" and not is_gzip(self.path) and not ending(self.path).endswith(b"\n"):
            layout = "unstructured"  # as lines, DuckDB 2.0 in several threads may give the last one first if it has no end
        return f"read_json({location(self.path)}, columns={{{kinds}}}, {_options(self.path, layout)})"


def json_table(connection: "DuckDBPyConnection", path: str, columns: Columns) -> JsonTable:
    """What the file holds, by its first objects; a name that first occurs late is looked for in all of them."""
    layout = _layout(path)
    if layout == "array" and not ending(path).rstrip().endswith(b"]"):
        raise InputError(f"{path!r}: the array has no end, the file is cut short. Make it again; nothing was counted.")
    known: list[str] = []
    for limit in (f" LIMIT {_SAMPLE}", ""):
        rows = f"SELECT json FROM read_json_objects({location(path)}, {_options(path, layout)}){limit}"
        objects = connection.sql(f"SELECT json_keys(json), json_type(json) FROM ({rows})").fetchall()
        if any(kind != "OBJECT" for _, kind in objects):
            raise InputError(f"{path!r}: holds something else than objects with names and values. Write one object a row.")
        known = list(dict.fromkeys(name for names, _ in objects for name in names))
        if set(columns.names) <= set(known) or len(objects) < _SAMPLE:
            break
    if not objects:
        raise InputError(f"no rows: 0 in {path!r}. Pass at least one row.")
    require_columns(path, known, columns)
    return JsonTable(path=path, names={name: name for name in columns.names}, types=dict.fromkeys(columns.names, ""))


def _layout(path: str) -> str:
    """Whether the file is one array, which DuckDB does not see by itself when a byte order mark comes first."""
    is_array = beginning(path, 64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["
    return "array" if is_array else "auto"


def _options(path: str, layout: str) -> str:
    return f"{compression(path)}, format='{layout}', {AS_IT_IS}"
