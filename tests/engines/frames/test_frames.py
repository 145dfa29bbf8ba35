"""Frames of every kind give the summary that arrays give: the same bits for hard labels, 1e-12 for the rest."""

import tempfile
from functools import cache
from pathlib import Path

import dask.dataframe as dd
import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pairs import pairwise

from trueness import Summary, calibration_test, sql, summarize, summarize_files, summarize_frame
from trueness.engines import exact
from trueness.errors import InputError
from trueness.summary.ruler import ruler

NAMES = {"outcome": "y", "prediction": "p"}
SCHEMA = pa.schema([("p", pa.float64()), ("y", pa.float64()), ("w", pa.float64()), ("g", pa.string()), ("h", pa.int64())])


def written(kind):
    """A reducer of the same columns from a file."""

    def reduce(columns, *, folder=[], **settings):  # noqa: B006 - one folder for the process
        if not folder:
            folder.append(tempfile.TemporaryDirectory())
        path = Path(folder[0].name, f"a.{kind}")
        rows = connected().from_arrow(arrow(columns))
        (rows.write_parquet if kind == "parquet" else rows.write_csv)(str(path))
        return summarize_files(path, **settings)

    return reduce


def queried(columns, *, nan="raise", **settings):
    """By the query of `sql`, on DuckDB."""
    connected().register("t", arrow(columns))
    for soft in (False, True):
        try:
            return Summary.from_frame(connected().sql(sql("duckdb", source="t", soft=soft, **settings)).df(), nan=nan)
        except InputError as error:
            if "soft=True" not in str(error):
                raise
    raise AssertionError


def collected(columns, *, outcome, prediction, weight=None, bins=(), nan="raise"):
    """By the module for PyTorch, in two batches."""
    torch = pytest.importorskip("torch")
    from trueness.torch import CalibrationSummary

    y = floats(columns[outcome])
    soft = weight is not None or bool(((y > 0) & (y < 1) & np.isfinite(floats(columns[prediction]))).any())
    module = CalibrationSummary(soft=soft, bins=bins, nan=nan)
    for part in (slice(0, 7), slice(7, None)):
        given = {"y_true": y, "y_prob": floats(columns[prediction])}
        given |= {} if weight is None else {"sample_weight": floats(columns[weight])}
        module.update(**{name: torch.as_tensor(values[part]) for name, values in given.items()})
    return module.compute()


def arrow(columns):
    return pa.table({name: pa.array(columns[name], type=SCHEMA.field(name).type) for name in columns})


def pandas(columns):
    return arrow(columns).to_pandas()


def nullable(columns):
    with np.errstate(invalid="ignore"):  # pandas 2 tries whole numbers, also for infinite ones
        return pandas(columns).convert_dtypes()


@cache
def connected():
    """One database for the process: to open one takes longer than a query."""
    return duckdb.connect()


MAKERS = {
    "pandas": pandas,
    "pandas nullable": nullable,
    "pandas arrow": lambda columns: arrow(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda columns: pl.from_arrow(arrow(columns)),
    "polars lazy": lambda columns: pl.from_arrow(arrow(columns)).lazy(),
    "arrow": arrow,
    "arrow reader": lambda columns: pa.RecordBatchReader.from_batches(
        arrow(columns).schema, [batch for part in (arrow(columns),) for batch in part.to_batches(max_chunksize=7)]
    ),
    "duckdb": lambda columns: connected().from_arrow(arrow(columns)),
    "ibis": lambda columns: pytest.importorskip("ibis").memtable(arrow(columns)),
    "dask": lambda columns: dd.from_pandas(pandas(columns), npartitions=3, sort=False),
    "narwhals": lambda columns: nw.from_native(pl.from_arrow(arrow(columns))),
    "mapping": lambda columns: {name: np.array(values, dtype=object) for name, values in columns.items()},
}


def of_frame(make):
    return lambda columns, **settings: summarize_frame(make(columns), **settings)


REDUCERS = {kind: of_frame(make) for kind, make in MAKERS.items()}
REDUCERS |= {"parquet": written("parquet"), "csv": written("csv"), "sql": queried, "torch": collected}
REDUCERS |= {
    "dask, empty partitions": of_frame(
        lambda columns: dd.concat([MAKERS["dask"](columns).query("p > 9 and p < 9"), MAKERS["dask"](columns)])
    )
}
EDGES = ruler((7,)).edges
SPECIAL = [0.0, 1.0, -0.0, 5e-324, 0.5, 1 / 3, 0.29, 1 + 2**-52, -1e-17, 1 - 2**-53, 0.015625, 0.984375]


@st.composite
def frames(draw, *, labels, weights):
    """Columns of a few dozen rows: edges and their neighbours, ties, missing values, groups."""
    n = draw(st.integers(1, 40))
    edge = st.sampled_from(EDGES.tolist())
    near = st.builds(lambda x, to: float(np.clip(np.nextafter(x, to), 0, 1)), edge, st.sampled_from([0.0, 1.0]))
    unusable = st.sampled_from([None, float("nan"), float("inf"), -float("inf")])
    score = st.one_of(st.floats(0, 1), edge, near, st.sampled_from(SPECIAL), unusable)
    outcome = st.one_of(labels, st.just(None))
    columns = {
        "p": draw(st.lists(score, min_size=n, max_size=n)),
        "y": draw(st.lists(outcome, min_size=n, max_size=n)),
        "g": draw(st.lists(st.sampled_from(["a", "b", None]), min_size=n, max_size=n)),
    }
    if weights:
        columns["w"] = draw(st.lists(st.sampled_from([0.0, 1.0, 0.25, 3.5, None]), min_size=n, max_size=n))
    return columns


def floats(values):
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def same(found, expected):
    """Integer summaries are equal; float ones to 1e-12; counts and reasons always."""
    assert found.n == expected.n
    assert found.rejected == expected.rejected
    assert found.clipped == expected.clipped
    if expected.exact:
        assert found == expected
        return
    assert found.soft == expected.soft
    np.testing.assert_array_equal(found.cells, expected.cells)
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12, atol=1e-15)


# A fifth of the profile's examples: there are some twenty kinds of frame for each.
FEWER = settings(max_examples=settings().max_examples // 5, deadline=None, suppress_health_check=list(HealthCheck))


def usable(columns):
    kept = np.isfinite(floats(columns["p"])) & np.isfinite(floats(columns["y"]))
    return kept & (floats(columns["w"]) > 0) if "w" in columns else kept


@pytest.mark.parametrize("kind", REDUCERS)
@FEWER
@given(columns=frames(labels=st.sampled_from([0.0, 1.0]), weights=False))
def test_hard_labels_give_the_same_bits(kind, columns):
    options = {**NAMES, "nan": "drop", "bins": 7}
    if not usable(columns).any():
        assert_nothing_left(kind, columns, options)
        return
    expected = summarize(floats(columns["y"]), floats(columns["p"]), nan="drop", bins=7)
    same(REDUCERS[kind](columns, **options), expected)


@pytest.mark.parametrize("kind", REDUCERS)
@FEWER
@given(columns=frames(labels=st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0])), weights=True))
def test_soft_labels_and_weights(kind, columns):
    options = {**NAMES, "weight": "w", "nan": "drop"}
    if not usable(columns).any():
        assert_nothing_left(kind, columns, options)
        return
    expected = summarize(floats(columns["y"]), floats(columns["p"]), sample_weight=floats(columns["w"]), nan="drop")
    same(REDUCERS[kind](columns, **options), expected)


@pairwise("kind, fault, nan", REDUCERS, ("y=2.0", "y=-1.0", "p=1.5", "p=-0.25", "w=-1.0"), ("raise", "drop"))
def test_values_that_are_never_allowed(kind, fault, nan):
    bad = {"p": [0.2, 0.7, 0.4], "y": [0.0, 1.0, 1.0], "w": [1.0, 2.0, 1.0]}
    column, _, value = fault.partition("=")
    bad[column] = [*bad[column][:2], float(value)]
    with pytest.raises(InputError):
        REDUCERS[kind](bad, **NAMES, weight="w", nan=nan)


def assert_nothing_left(kind, columns, options):
    """No rows: an error, but for a query's result, which counts what was rejected."""
    if kind == "sql":
        assert REDUCERS[kind](columns, **options).n == 0
        return
    with pytest.raises(InputError, match="no rows"):
        REDUCERS[kind](columns, **options)


@pytest.mark.parametrize("kind", MAKERS)
@FEWER
@given(columns=frames(labels=st.sampled_from([0.0, 1.0]), weights=False))
def test_groups_and_missing_groups(kind, columns):
    if not usable(columns).any():
        return
    found = summarize_frame(MAKERS[kind](columns), **NAMES, by="g", nan="drop")
    groups = np.array(columns["g"], dtype=object)
    assert set(found) == set(columns["g"])
    for group, summary in found.items():
        at = np.array([each == group for each in groups])
        if summary.n:
            same(summary, summarize(floats(columns["y"])[at], floats(columns["p"])[at], nan="drop"))
        else:
            assert not usable(columns)[at].any()


RNG = np.random.default_rng(8)
N = 900
COLUMNS = {
    "p": RNG.random(N).tolist(),
    "y": (RNG.random(N) < 0.4).astype(float).tolist(),
    "w": RNG.integers(1, 4, N).astype(float).tolist(),
    "g": RNG.choice(["a", "b"], N).tolist(),
    "h": (RNG.integers(0, 3, N) + 2**53).tolist(),
}
Y, F = np.array(COLUMNS["y"]), np.array(COLUMNS["p"])


@pytest.mark.parametrize("kind", MAKERS)
def test_groups_of_two_columns(kind):
    found = summarize_frame(MAKERS[kind](COLUMNS), **NAMES, by=["g", "h"])
    assert len(found) == 6
    for (group, number), summary in found.items():
        at = (np.array(COLUMNS["g"]) == group) & (np.array(COLUMNS["h"]) == number)
        same(summary, summarize(Y[at], F[at]))


@pytest.mark.parametrize("kind", [kind for kind in MAKERS if kind != "mapping"])
@pytest.mark.parametrize("event", ["a", 2**53])
def test_an_event_by_name(kind, event):
    name = "g" if event == "a" else "h"
    found = summarize_frame(MAKERS[kind](COLUMNS), outcome=name, prediction="p", pos_label=event)
    assert found == summarize(np.array(COLUMNS[name]) == event, F)


@pytest.mark.parametrize("kind", MAKERS)
def test_labels_without_an_event(kind):
    with pytest.raises(InputError, match=r"column 'g'.*'a' \(\d+ rows\)"):
        summarize_frame(MAKERS[kind](COLUMNS), outcome="g", prediction="p")


@pytest.mark.parametrize("kind", MAKERS)
def test_bad_values_are_told_with_column_and_count(kind):
    bad = {**COLUMNS, "p": [1.5, *COLUMNS["p"][1:]], "y": [*COLUMNS["y"][:-2], None, 7.0]}
    with pytest.raises(InputError) as caught:
        summarize_frame(MAKERS[kind](bad), **NAMES)
    text = str(caught.value)
    assert "column 'p': 1 of " in text or "partition 0: column 'p'" in text or "column 'y': 1 of " in text
    with pytest.raises(InputError, match=r"outside|not allowed|not 0, 1"):
        summarize_frame(MAKERS[kind](bad), **NAMES, nan="drop")


@pytest.mark.parametrize("kind", MAKERS)
def test_columns_that_are_not_there(kind):
    with pytest.raises(InputError, match="there is no column 'q'; the columns are"):
        summarize_frame(MAKERS[kind](COLUMNS), outcome="y", prediction="q")
    with pytest.raises(InputError, match="there is no column 'q'"):
        summarize_frame(MAKERS[kind](COLUMNS), **NAMES, by="q")


@pytest.mark.parametrize("kind", ["polars lazy", "duckdb", "ibis"])
def test_types_that_are_no_numbers(kind):
    with pytest.raises(InputError, match="column 'g': is of type String, not a number"):
        summarize_frame(MAKERS[kind](COLUMNS), outcome="y", prediction="g")


@pytest.mark.parametrize("kind", [kind for kind in MAKERS if kind != "mapping"])
def test_no_rows(kind):
    with pytest.raises(InputError, match="no rows"):
        summarize_frame(MAKERS[kind]({name: [] for name in COLUMNS}), **NAMES)


def test_float32_keeps_its_rounding():
    almost = np.array([0.2, np.nextafter(np.float32(1), np.float32(2))], dtype=np.float32)
    table = pa.table({"p": almost, "y": [0, 1]})
    expected = summarize([0, 1], almost)
    for frame in (
        table,
        pl.from_arrow(table),
        pl.from_arrow(table).lazy(),
        connected().from_arrow(table),
        table.to_pandas(),
    ):
        same(summarize_frame(frame, **NAMES), expected)


def test_columns_named_twice():
    with pytest.raises(InputError, match="column 'p': occurs 2 times"):
        summarize_frame(pd.DataFrame([[1, 0.5, 0.7]], columns=["y", "p", "p"]), **NAMES)


@pytest.mark.parametrize("partitions", [1, 2, 7, 64])
def test_partitions_and_order_change_no_bit(partitions):
    shuffled = pandas(COLUMNS).sample(frac=1, random_state=partitions)
    found = summarize_frame(dd.from_pandas(shuffled, npartitions=partitions, sort=False), **NAMES)
    assert found == summarize(Y, F)


# SQL


def run_duckdb(text):
    connection = connected()
    connection.register("t", arrow(COLUMNS))
    return connection.sql(text)


@pytest.mark.parametrize("convert", ["to_arrow_table", "df", "pl"])
def test_sql_on_duckdb(convert):
    found = Summary.from_frame(getattr(run_duckdb(sql("duckdb", source="t", **NAMES, bins=7)), convert)())
    assert found == summarize(Y, F, bins=7)


def test_sql_with_weights_and_groups():
    frame = run_duckdb(sql("duckdb", source="t", **NAMES, weight="w", by=["g"])).to_arrow_table()
    found = Summary.from_frame(frame)
    assert found.axes == ("by_0",)
    for group, summary in found.items():
        at = np.array(COLUMNS["g"]) == group
        same(summary, summarize(Y[at], F[at], sample_weight=np.array(COLUMNS["w"])[at]))


def test_sql_of_labels_and_of_soft_labels():
    assert Summary.from_frame(run_duckdb(sql("duckdb", source="t", outcome="g", prediction="p", pos_label="a")).df()).n == N
    soft = sql("duckdb", source="(SELECT p, 0.5 AS y FROM t)", **NAMES)
    with pytest.raises(InputError, match="soft=True"):
        Summary.from_frame(run_duckdb(soft).df())
    found = Summary.from_frame(run_duckdb(sql("duckdb", source="(SELECT p, 0.5 AS y FROM t)", **NAMES, soft=True)).df())
    same(found, summarize(np.full(N, 0.5), F))


def test_sql_quotes_names_and_labels():
    odd = pa.table({'y"; DROP TABLE t;--': ["it's", "no"], "p`": [0.5, 0.25]})
    connection = connected()
    connection.register("t", odd)
    text = sql("duckdb", source="t", outcome='y"; DROP TABLE t;--', prediction="p`", pos_label="it's")
    assert Summary.from_frame(connection.sql(text).df()) == summarize([1, 0], [0.5, 0.25])
    assert r"'it\'s'" in sql("spark", source="t", outcome="y", prediction="p", pos_label="it's")


def test_sql_refuses():
    with pytest.raises(InputError, match="is not a choice"):
        sql("oracle", source="t", **NAMES)
    with pytest.raises(InputError, match="lacks the column"):
        Summary.from_frame(pd.DataFrame({"a": [1]}))
    holes = "(SELECT CASE WHEN p < 0.5 THEN p END AS p, y FROM t)"
    frame = run_duckdb(sql("duckdb", source=holes, **NAMES)).df()
    with pytest.raises(InputError, match="missing or not finite"):
        Summary.from_frame(frame)
    assert Summary.from_frame(frame, nan="drop") == summarize(Y[F < 0.5], F[F < 0.5])


# Found by reviewers


LAZY = ["polars lazy", "duckdb", "ibis"]


@pytest.mark.parametrize("kind", LAZY)
@pytest.mark.parametrize("size", [2.0**-664, 2.0**-532, 2.0**664])  # powers of two: sums in any order have the same bits
def test_weights_whose_squares_vanish_or_overflow_are_scaled(kind, size):
    columns = {"p": [0.5] * 200, "y": [1.0, 1.0, 1.0, 0.0] * 50, "w": [size] * 200}
    eager = summarize_frame(MAKERS["arrow"](columns), **NAMES, weight="w")
    assert summarize_frame(MAKERS[kind](columns), **NAMES, weight="w") == eager
    assert calibration_test(eager).pvalue < 1e-3


@pytest.mark.parametrize("kind", [*LAZY, "polars", "dask", "arrow reader"])
def test_an_event_that_never_occurs(kind):
    with pytest.raises(InputError, match=r"pos_label|values equal"):
        summarize_frame(MAKERS[kind](COLUMNS), outcome="g", prediction="p", pos_label="A")
    with pytest.raises(InputError):
        summarize_frame(MAKERS[kind](COLUMNS), outcome="h", prediction="p", pos_label="1")
    with pytest.raises(InputError):
        summarize_frame(MAKERS[kind](COLUMNS), outcome="g", prediction="p", pos_label=1)
    with pytest.raises(InputError, match="is not a label"):
        summarize_frame(MAKERS[kind](COLUMNS), **NAMES, pos_label=float("nan"))


@pytest.mark.parametrize("kind", MAKERS)
def test_a_choice_that_is_none(kind):
    with pytest.raises(InputError, match="nan='Raise' is not a choice"):
        summarize_frame(MAKERS[kind](COLUMNS), **NAMES, nan="Raise")


def test_names_that_mean_another_column_to_the_engine():
    frame = pl.LazyFrame({"^p$": [0.7, 0.8], "p": [0.1, 0.2], "y": [1, 0]})
    with pytest.raises(InputError, match="the name is a pattern"):
        summarize_frame(frame, outcome="y", prediction="^p$")
    ibis = pytest.importorskip("ibis")
    with pytest.raises(InputError, match="by case alone"):
        summarize_frame(ibis.memtable(pl.DataFrame({"p": [0.1], "P": [0.9], "y": [1]})), outcome="y", prediction="P")


def test_a_lazy_frame_that_changes_between_the_passes(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    pl.DataFrame({"y": Y, "p": F}).write_csv(path)
    keep = exact.exact_extremes

    def changed(summary, rows):
        pl.DataFrame({"y": 1 - Y, "p": F}).write_csv(path)
        return keep(summary, rows)

    monkeypatch.setattr(exact, "exact_extremes", changed)
    with pytest.raises(InputError, match="the input changed"):
        summarize_frame(pl.scan_csv(path), **NAMES, exact=True)


def test_the_batch_of_a_bad_row():
    batches = pa.table({"y": [0.0, 1.0] * 10, "p": [0.5] * 15 + [7.0] + [0.5] * 4}).to_batches(max_chunksize=5)
    with pytest.raises(InputError, match=r"batch 3: column 'p': 1 of 5"):
        summarize_frame(pa.RecordBatchReader.from_batches(batches[0].schema, batches), **NAMES)


@pytest.mark.skipif(not hasattr(pl, "Float16"), reason="polars has no half precision yet")
def test_half_precision_keeps_its_rounding():
    almost = np.array([0.25, 1 + 2**-10], dtype=np.float16)
    same(summarize_frame(pl.LazyFrame({"p": pl.Series(almost), "y": [0, 1]}), **NAMES), summarize([0, 1], almost))


def test_sql_counts_a_missing_label_as_missing():
    source = "(SELECT p, CASE WHEN p < 0.5 THEN 'NaN'::DOUBLE ELSE 0 END AS y FROM t)"
    frame = run_duckdb(sql("duckdb", source=source, **NAMES, pos_label=0)).df()
    assert Summary.from_frame(frame, nan="drop").n == int((F >= 0.5).sum())


def test_sql_null_groups_of_every_kind():
    source = "(SELECT p, y, CASE WHEN g = 'a' THEN 1 END AS g FROM t)"
    result = run_duckdb(sql("duckdb", source=source, **NAMES, by="g"))
    for frame in (result.df(), result.df().convert_dtypes(), result.to_arrow_table(), result.pl()):
        assert set(Summary.from_frame(frame)) == {1, None}


def test_sql_results_that_are_none():
    frame = run_duckdb(sql("duckdb", source="t", **NAMES)).df()
    for column, value, text in (
        ("n", -1, "row 0, value -1, is below 1"),
        ("n", 1.5, "not a whole number"),
        ("r1", 2.0**60, "lost digits"),
        ("code", 3, "a code that means nothing"),
        ("slot", 10**6, "outside 0 to"),
        ("r1", 2**40, "do not fit together: a mean score lies outside its cell"),
        ("r2", 2**33, "do not fit together: the scores of a cell spread wider than it"),
        ("r1", -5, "row 0, value -5, is below 0"),
    ):
        bad = frame.astype({column: float}) if isinstance(value, float) else frame.copy()
        bad.loc[0, column] = value
        with pytest.raises(InputError, match=text):
            Summary.from_frame(bad)
    weighted = run_duckdb(sql("duckdb", source="t", **NAMES, weight="w")).df()
    for column, value in (("w", -1.0), ("we", 1e6), ("wr", 1e9), ("w2", np.inf), ("w2e2", -1.0)):
        bad = weighted.copy()
        bad.loc[bad.index[bad["code"] == 0][0], column] = value
        with pytest.raises(InputError, match=r"do not fit together|so large or small"):
            Summary.from_frame(bad)
    with pytest.raises(InputError, match="has no rows"):
        Summary.from_frame(frame.iloc[:0])
    with pytest.raises(InputError, match="Collect it first"):
        Summary.from_frame(pl.from_pandas(frame).lazy())
    crowded = frame.iloc[[0]].assign(n=5 * 10**9)
    with pytest.raises(InputError, match=r"more than 2\^32 rows"):
        Summary.from_frame(crowded)


def test_sql_sums_are_whole_numbers_to_every_client():
    frame = run_duckdb(sql("duckdb", source="t", **NAMES)).df()
    assert all(dtype.kind == "i" for dtype in frame.dtypes)
