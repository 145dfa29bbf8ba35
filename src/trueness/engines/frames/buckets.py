"""A column of buckets of clusters, added to a plan in its own engine's words: `inputs.clusters.bucket_of` of their text."""

from typing import Any

from trueness.errors import InputError
from trueness.inputs.clusters import BUCKETS, bucket_of
from trueness.inputs.columns import roots


def with_buckets(frame: Any, cluster: str, bucket: str) -> Any:
    """The frame with one column more."""
    modules = roots(frame)
    if "polars" in modules:
        return _polars(frame, cluster, bucket)
    if "duckdb" in modules:
        return _duckdb(frame, cluster, bucket)
    if "pyspark" in modules:
        return _spark(frame, cluster, bucket)
    raise InputError(
        f"cluster: the clusters of a {type(frame).__name__} cannot be hashed into buckets. "
        "Pass a polars, DuckDB, Dask or Spark frame, or files."
    )


def _polars(frame: Any, cluster: str, bucket: str) -> Any:
    import polars as pl

    def buckets(values: Any) -> Any:
        names = values.unique()
        known = {name: bucket_of(name) for name in names.to_list() if name is not None and name == name}
        return pl.Series(values.name, [known.get(name) for name in values.to_list()], dtype=pl.Int64)

    return frame.with_columns(pl.col(cluster).map_batches(buckets, return_dtype=pl.Int64).alias(bucket))


def _duckdb(frame: Any, cluster: str, bucket: str) -> Any:
    name = cluster.replace('"', '""')
    kind = str(dict(zip(frame.columns, frame.types, strict=True))[cluster])
    text = f'"{name}"::VARCHAR'
    text = f"nullif({text}, 'nan')" if kind in ("FLOAT", "DOUBLE") else text
    return frame.project(f"*, ('0x' || substr(md5({text}), 1, 2))::INTEGER % {BUCKETS} AS {bucket}")


def _spark(frame: Any, cluster: str, bucket: str) -> Any:
    from pyspark.sql import functions

    named = functions.col("`" + cluster.replace("`", "``") + "`")
    if dict(frame.dtypes)[cluster] in ("double", "float"):
        named = functions.when(functions.isnan(named), None).otherwise(named)
    byte = functions.conv(functions.substring(functions.md5(named.cast("string").cast("binary")), 1, 2), 16, 10)
    return frame.withColumn(bucket, (byte.cast("int") % BUCKETS).cast("int"))
