"""The same rows wherever they live: frames, files, clusters and tensors, each reduced to the same summary."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import trueness
from benchmarks.data import Data
from benchmarks.item import ENGINES, NUMBA, Item
from benchmarks.ours import load_numba
from benchmarks.targets import PARQUET, TENSORS

COLUMNS = {"outcome": "y", "prediction": "p"}
SPARK_ROWS = 10**7


def same_summary(result: Any, data: Data, ours: float) -> tuple[bool, str]:
    """Whether it is the summary of the arrays, bit by bit."""
    same = result == data.held["whole"]
    return same, "yes, every bit" if same else "NO"


def _arrays(data: Data) -> Any:
    data.held["whole"] = trueness.summarize(data.labels, data.f)
    return data.held["whole"]


def _pandas(data: Data) -> Any:
    import pandas as pd

    return pd.DataFrame({"y": data.labels, "p": data.f})


def _polars(data: Data) -> Any:
    import polars as pl

    return pl.DataFrame({"y": data.labels, "p": data.f})


def _arrow(data: Data) -> Any:
    import pyarrow as pa

    return pa.table({"y": data.labels, "p": data.f})


def _dask(data: Data) -> Any:
    import dask.dataframe as dd

    return dd.from_pandas(_pandas(data), npartitions=16)


def _parquet(data: Data) -> str:
    return _written(data, "parquet")


def _csv(data: Data) -> str:
    return _written(data, "csv")


@cache
def folder() -> Path:
    """A place for files, removed at the end."""
    made = tempfile.mkdtemp(prefix="trueness-benchmarks-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def _written(data: Data, kind: str) -> str:
    import duckdb

    path = folder() / f"{len(data)}.{kind}"
    with duckdb.connect() as con:
        con.register("rows", {"y": data.labels, "p": data.f})
        rows = con.sql("SELECT * FROM rows")
        (rows.write_parquet if kind == "parquet" else rows.write_csv)(str(path))
    return str(path)


@cache
def _session() -> Any:
    from pyspark.sql import SparkSession

    if shutil.which("java") is None:
        raise ImportError("Spark needs Java")
    builder = SparkSession.builder.master(f"local[{os.cpu_count()}]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.host", "127.0.0.1").config("spark.ui.showConsoleProgress", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    atexit.register(session.stop)
    return session


def _spark(data: Data) -> Any:
    return _session().read.parquet(_parquet(data)).cache()


def _tensors(data: Data) -> tuple[Any, Any]:
    import torch

    return torch.as_tensor(data.labels), torch.as_tensor(data.f)


def _by_tensors(held: tuple[Any, Any]) -> Any:
    from trueness.torch import CalibrationSummary

    collected = CalibrationSummary()
    collected.update(y_true=held[0], y_prob=held[1])
    return collected.compute()


def _frame(held: Any) -> Any:
    return trueness.summarize_frame(held, **COLUMNS)


def _file(held: Any) -> Any:
    return trueness.summarize_files(held, **COLUMNS)


def _duckdb(data: Data) -> Any:
    import duckdb

    return duckdb.connect().read_parquet(_parquet(data))


def _item(by: str, make: Callable[[Data], Any], run: Callable[[Any], Any], most: int | None = None) -> Item:
    def prepare(data: Data) -> None:
        if "whole" not in data.held:
            _arrays(data)
        data.held[by] = make(data)

    return Item(
        measure=ENGINES,
        by=by,
        prepare=prepare,
        run=lambda data: run(data.held[by]),
        value=lambda result, data: trueness.brier_score(result),
        check=same_summary,
        checks_result=True,
        most=most,
    )


def engines(*, spark: bool = True) -> list[Item]:
    """Every engine, the arrays first: theirs is the summary that all must give."""
    arrays = Item(
        measure=ENGINES,
        by=NUMBA,
        run=_arrays,
        value=lambda result, data: trueness.brier_score(result),
        check=same_summary,
        checks_result=True,
        load=load_numba,
    )
    return [
        arrays,
        _item("pandas", _pandas, _frame),
        _item("polars", _polars, _frame),
        _item("polars, lazy", lambda data: _polars(data).lazy(), _frame),
        _item("pyarrow", _arrow, _frame),
        _item("DuckDB, over Parquet", _duckdb, _frame),
        _item("Dask, 16 partitions", _dask, _frame),
        *([_item("Spark, one process", _spark, _frame, SPARK_ROWS)] if spark else []),
        _item(TENSORS, _tensors, _by_tensors),
        _item(PARQUET, _parquet, _file),
        _item("csv file", _csv, _file, SPARK_ROWS),
    ]
