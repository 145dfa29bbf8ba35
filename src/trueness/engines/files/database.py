"""DuckDB as it is used here: a connection that fetches nothing, names as its SQL writes them, its errors in our words."""

import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from trueness.engines.files.sources import damaged_gzip, is_gzip
from trueness.engines.files.text_bytes import other_line_end
from trueness.errors import InputError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

AS_IT_IS = "hive_partitioning=false"  # else a folder called y=1 would replace the column y


def connect(memory_limit: str | None = None) -> "DuckDBPyConnection":
    """A connection that loads nothing from elsewhere and prints nothing."""
    import duckdb

    connection = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
    connection.execute("SET enable_progress_bar = false")  # stdout is for results
    connection.execute("SET GLOBAL TimeZone = 'UTC'")  # groups have the same names wherever they are read
    if memory_limit is not None:
        try:
            connection.execute(f"SET memory_limit = {literal(str(memory_limit))}")
        except Exception as error:
            raise InputError(f"memory_limit={memory_limit!r} is not a size. Pass for example '1GB'.") from error
    return connection


def fetched(connection: "DuckDBPyConnection", path: str, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """All rows of a query on a file; where DuckDB fails, the file is named."""
    try:
        return connection.sql(query, params=list(values) or None).fetchall()
    except Exception as error:
        raise unreadable(path, error) from error


def identifier(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL writes it, for places where a value cannot be bound."""
    return "'" + text.replace("'", "''") + "'"


def as_number(text: str) -> str:
    """A text as a number, NULL where it is none; DuckDB alone would read 0.1_5 as 0.15."""
    return f"CASE WHEN contains({text}, '_') THEN NULL ELSE TRY({text}::DOUBLE) END"


def location(path: str) -> str:
    """A file's name as DuckDB writes it: never a pattern, never an address."""
    require_utf8(path)
    return literal(re.sub(r"([\[*?])", r"[\1]", os.path.abspath(path)))


def require_utf8(path: str) -> None:
    """A name that DuckDB can be told."""
    try:
        os.path.abspath(path).encode()
    except UnicodeEncodeError:
        raise InputError(f"{path!r}: the name of the file or of its folder is not UTF-8. Rename it.") from None


def compression(path: str) -> str:
    """How a text file is packed, whatever it is called."""
    return f"compression='{'gzip' if is_gzip(path) else 'uncompressed'}'"


def is_conversion(error: Exception) -> bool:
    """Whether DuckDB met a text that is not the number it should be."""
    return "Conversion Error" in str(error) or "Failed to cast value" in str(error)


def unreadable(path: str, error: Exception) -> Exception:
    """What to raise for a file that DuckDB gave up on."""
    if "out of memory" in str(error).lower():
        return MemoryError(_reason(error))
    if "GZIP" in str(error):
        return InputError(damaged_gzip(path, error))
    if "state machine" in str(error) and (line := other_line_end(path)) is not None:
        return InputError(f"{path!r}, line {line}: ends in another way than the lines before. Give all the same end.")
    where = re.sub(r"^: (line|row) (\d+),", r", \1 \2:", f": {_reason(error)}")
    return InputError(f"{path!r}{where}. Mend the file or make it again; nothing was counted.")


def _no_json(said: re.Match[str]) -> str:
    """DuckDB counts the objects of a file, not its lines, and begins at 2."""
    return f"row {int(said[2]) - 2}, is not JSON: {said[3]} at byte {said[1]}"


# What DuckDB says of text that it cannot part into cells or numbers, and what we say.
_SAYINGS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"Expected Number of Columns: (\d+) Found: (\d+)", r"has another number of cells than the \1 of the header"),
    (r"Value with unterminated quote found", "a quote is not closed, or text follows a closed one"),
    (r"Maximum line size of (\d+) bytes exceeded\. Actual Size: ?(\d+) bytes", r"has \2 bytes, more than the \1 of a row"),
    (r"Invalid unicode \(byte sequence mismatch\) detected\. This file is not utf-8 encoded", "is not UTF-8"),
    (r"Error when converting column.*?string (.*\\0.*) to 'DOUBLE'.*", r"\1 is not a number: it holds a zero byte"),
    (r"Error when converting column.*?string (.*) to 'DOUBLE'.*", r"\1 is not read as a number, for what follows its quotes"),
    (r'Malformed JSON in file ".*?", at byte (\d+) in (?:line|record/value) (\d+): (.*)', _no_json),
    (r"The CSV Parser state machine reached an invalid state.*", "a quote or a line end stands where none may"),
)


def _reason(error: Exception) -> str:
    """The part of DuckDB's message that says what is wrong; its advice is about DuckDB."""
    text = re.split(r"Possible (?:fixes|[Ss]olutions?)|Try setting|LINE 1:|\n  file = ", str(error))[0]
    # The line that DuckDB quotes may be several: what it says of it begins where a saying does.
    said = "|".join(theirs for theirs, _ in _SAYINGS)
    text = re.sub(rf"Original Line:.*?(?=\n(?:{said})|\Z)", "", text, flags=re.DOTALL)
    lines = [line.strip().rstrip(".:,") for line in text.splitlines() if line.strip()]
    kept = ", ".join(lines)
    kept = re.sub(r"^(\w+ )?\w+ Error: ", "", kept)
    kept = re.sub(r"CSV Error on Line: (\d+)", r"line \1", kept)
    for theirs, ours in _SAYINGS:
        kept = re.sub(theirs, ours, kept)
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in kept)[:400]
