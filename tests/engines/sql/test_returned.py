"""What the query of `trueness.sql` has returned, and tables that are no such thing."""

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from trueness import Summary, sql
from trueness.errors import InputError

N = 300


@pytest.fixture(scope="module")
def returned():
    rng = np.random.default_rng(0)
    f = rng.random(N)
    y = (rng.random(N) < f).astype(float)
    connection = duckdb.connect()
    connection.register("t", pa.table({"y": y, "p": f, "w": rng.exponential(size=N)}))

    def query(**options):
        frame = connection.sql(sql("duckdb", source="t", outcome="y", prediction="p", **options)).df()
        return frame.sort_values(["slot", "at_100", "at_15", "n"], ignore_index=True)

    return {"labels": query(), "weights": query(weight="w"), "groups": query(by="y")}


def changed(frame, column, value, row=4):
    frame = frame.astype({column: object})
    frame.loc[row, column] = value
    return frame


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("label", 7, "column 'label': row 4, value 7, lies outside 0 to 1"),
        ("label", -1, "column 'label': row 4, value -1, lies outside 0 to 1"),
        ("n", 0, "row 4, value 0, is below 1"),
        ("n", float("inf"), "row 4, value inf, is not a whole number"),
        ("n", "5", "row 4, value '5', is not a whole number"),
        ("n", "\x1b[31m", r"row 4, value '\\x1b\[31m', is not a whole number"),
        ("n", None, "row 4, value None, is not a whole number"),
        ("n", 2**63, r"9223372036854776107 rows in all, more than 2\^63 - 1"),
        ("r1", -3, "column 'r1': row 4, value -3, is below 0"),
        ("r2", float("nan"), "row 4, value nan, is not a whole number"),
        ("slot", 2**70, "row 4, value 1180591620717411303424, lies outside"),
        ("at_100", 99, r"row 4: slot \d+ and its bins have no score in common"),
        ("at_15", 15, "column 'at_15': row 4, value 15, lies outside 0 to 14"),
        ("code", 99, "row 4, value 99, is a code that means nothing"),
        ("clipped", -1, "row 4, value -1, is below 0"),
        ("clipped", 10**6, "more values clipped than the rows have"),
    ],
)
def test_counts_that_no_query_returns(returned, column, value, message):
    with pytest.raises(InputError, match=message):
        Summary.from_frame(changed(returned["labels"], column, value))


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("w", 0.0, "a weight is 0"),
        ("w", None, "column 'w': row 4, value None, is not a number"),
        ("w", "1", "column 'w': row 4, value '1', is not a number"),
        ("we", float("inf"), "a sum is not finite"),
        ("w2", -1.0, "a weight is below 0"),
        ("w2e2", 0.0, "the squares of the residuals do not fit their sum"),
        ("w2_binomial", 0.0, "a variance does not fit the weights"),
        ("soft", -1, "column 'soft': row 4, value -1, is below 0"),
    ],
)
def test_sums_that_no_query_returns(returned, column, value, message):
    with pytest.raises(InputError, match=message):
        Summary.from_frame(changed(returned["weights"], column, value))


@pytest.mark.parametrize("kind", ["labels", "weights", "groups"])
def test_a_row_twice(returned, kind):
    frame = returned[kind]
    with pytest.raises(InputError, match=f"rows 3 and {len(frame)} are of one group, which a query returns once"):
        Summary.from_frame(pd.concat([frame, frame.iloc[[3]]], ignore_index=True))


def test_groups_that_cannot_be_keys(returned):
    frame = returned["groups"].astype({"by_0": object})
    frame["by_0"] = [[1]] * len(frame)
    with pytest.raises(InputError, match=r"row 0: .* cannot be a group"):
        Summary.from_frame(frame)


def test_no_rows(returned):
    with pytest.raises(InputError, match="has no rows"):
        Summary.from_frame(returned["labels"].iloc[:0])


def test_columns_of_different_lengths(returned):
    columns = {name: returned["labels"][name].tolist() for name in returned["labels"]}
    with pytest.raises(InputError, match="column 'slot' has 5 rows, 'n' 298"):
        Summary.from_frame({**columns, "slot": columns["slot"][:5]})
