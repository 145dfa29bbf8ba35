"""The query of `trueness.sql`: names and labels that mean something to a database are quoted as each dialect reads them."""

import re

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from trueness import Summary, sql, summarize
from trueness.errors import InputError

DIALECTS = ("duckdb", "spark", "bigquery", "snowflake", "postgres")
HOSTILE = (
    "it's",
    "x' OR 1=1 --",
    "x\\' OR 1=1 --",
    "x\\",
    "\\\\'",
    "''",
    '"; DROP TABLE t;--',
    "`; DROP TABLE t;--",
    "\\`",
    "a\"b`c'd\\e",
    "two\nlines\r\n",
    "\\n",
    "\\u0027 OR 1=1",
    "\\047",
    "${spark.app.name} $$ $tag$",
    "%s {0} ? :name @x /* */ --",
    "naïve 😀 \u2028",
    " ",
)
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "b": "\b", "\\": "\\", "'": "'", '"': '"', "`": "`"}


def unescaped(text, position):
    """The letter that a backslash at this position means, and where the text goes on."""
    letter = text[position + 1]
    if letter == "u":
        return chr(int(text[position + 2 : position + 6], 16)), position + 6
    assert letter in ESCAPES, f"an escape that dialects read differently: \\{letter}"
    return ESCAPES[letter], position + 2


def quoted(text, position, *, doubles, escapes, newlines):
    """What stands between quotes from this position on, and where the text goes on."""
    quote, inside, position = text[position], "", position + 1
    while True:
        if text[position] == quote and doubles and text[position + 1 : position + 2] == quote:
            inside, position = inside + quote, position + 2
        elif text[position] == quote:
            return inside, position + 1
        elif text[position] == "\\" and escapes:
            letter, position = unescaped(text, position)
            inside += letter
        else:
            assert newlines or text[position] not in "\r\n", "a line ends within a text"
            inside, position = inside + text[position], position + 1


def tokens(dialect, text):
    """The query as the dialect's lexer sees it: texts, names, and what is between.

    DuckDB and PostgreSQL have backslashes in texts as they are, PostgreSQL after an E as escapes; the other three know
    escapes. BigQuery has no doubled quotes, names with escapes, and no line ends in either. Spark replaces ${…} beforehand.
    """
    if dialect == "spark":
        assert not re.search(r"\$\{[^}$ ]+\}", text), "Spark puts a variable's value there"
    name_quote = "`" if dialect in ("spark", "bigquery") else '"'
    found, position = [], 0
    while position < len(text):
        start = position
        extended = dialect == "postgres" and text.startswith("E'", position)
        if text[position] == "'" or extended:
            escapes = extended or dialect in ("spark", "bigquery", "snowflake")
            # Spark's own doubling is newer than its escapes.
            doubles = dialect in ("duckdb", "postgres", "snowflake")
            rule = {"doubles": doubles, "escapes": escapes, "newlines": dialect != "bigquery"}
            inside, position = quoted(text, position + extended, **rule)
            assert dialect != "postgres" or extended or "\\" not in inside, "read as the server is set"
            found.append(("text", inside))
        elif text[position] == name_quote:
            in_bigquery = dialect == "bigquery"
            inside, position = quoted(text, position, doubles=not in_bigquery, escapes=in_bigquery, newlines=not in_bigquery)
            found.append(("name", inside))
        else:
            while position < len(text) and text[position] not in f"'{name_quote}":
                if dialect == "postgres" and text.startswith("E'", position):
                    break
                position += 1
            found.append(("sql", text[start:position]))
    return found


def query(dialect, outcome="y", prediction="p", label="yes", **options):
    return sql(dialect, source="t", outcome=outcome, prediction=prediction, pos_label=label, **options)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("hostile", HOSTILE)
def test_names_and_labels_stay_within_their_quotes(dialect, hostile):
    plain = tokens(dialect, query(dialect, weight="w", by=["g"]))
    assert ("text", "yes") in plain
    label = tokens(dialect, query(dialect, label=hostile, weight="w", by=["g"]))
    assert label == [("text", hostile) if token == ("text", "yes") else token for token in plain]
    if dialect == "spark" and "${" in hostile:
        return  # Spark has no way to write such a name; it is no text either
    names = tokens(dialect, query(dialect, outcome=hostile, weight="w", by=["g"]))
    assert names == [("name", hostile) if token == ("name", "y") else token for token in plain]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_labels_and_names_on_duckdb(hostile):
    connection = duckdb.connect()
    connection.register("t", pa.table({f"y {hostile}": [hostile, "other", hostile + "'"], f"p {hostile}": [0.5, 0.25, 0.75]}))
    text = query("duckdb", outcome=f"y {hostile}", prediction=f"p {hostile}", label=hostile)
    assert Summary.from_frame(connection.sql(text).df()) == summarize([1, 0, 0], [0.5, 0.25, 0.75])


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "label", [float("nan"), float("inf"), np.float64("nan"), b"yes", ["yes"], "a\0b", "\ud800", 1j, object()]
)
def test_labels_that_are_none(dialect, label):
    with pytest.raises(InputError, match=r"pos_label=.* is not a label"):
        query(dialect, label=label)


@pytest.mark.parametrize(
    ("label", "text"), [(np.int64(3), "= 3 "), (np.float64(0.5), "= 0.5 "), (np.bool_(True), "= TRUE "), (-1, "= -1 ")]
)
def test_numbers_of_numpy_are_numbers(label, text):
    assert text in query("duckdb", label=label)


@pytest.mark.parametrize("name", ["", None, 5, "a\0b", "\ud800", b"y"])
def test_names_that_are_none(name):
    for argument in ("outcome", "prediction"):
        with pytest.raises(InputError, match=f"{argument} is missing" if name is None else "is not the name of a column"):
            query("postgres", **{argument: name})
    with pytest.raises(InputError, match="is not the name of a column"):
        query("postgres", by=[name])
    with pytest.raises(InputError, match=r"source: .* is not what stands behind FROM"):
        sql("duckdb", source=None if name is None else " ", outcome="y", prediction="p")
