"""Clusters hashed into buckets: the same record by every engine, and what tests and intervals make of it."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.inference.test_clusters import world
from trueness import (
    Record,
    assess,
    calibration_test,
    confidence_interval,
    group_tests,
    noise_floor,
    summarize,
    summarize_files,
    summarize_frame,
)
from trueness.errors import InputError
from trueness.inputs.clusters import BUCKETS, bucket_of

Y, F, G = world(3, 200, 5)
COLUMNS = {"outcome": "y", "prediction": "p", "cluster": "question"}
NAMES = {
    "text": [f"q{g}" for g in G],
    "number": G.tolist(),
    "float": (G / 4).tolist(),
    "truth": (G % 2 == 0).tolist(),
    "date": pd.to_datetime("2026-01-01").date(),
}


def frame_of(kind):
    days = [NAMES["date"].replace(day=1 + int(g) % 28) for g in G] if kind == "date" else NAMES[kind]
    return pa.table({"y": Y, "p": F, "question": days, "half": np.where(G < 100, "a", "b")})


def test_a_bucket_is_told_by_the_name_s_text():
    assert [bucket_of("q1"), bucket_of(1), bucket_of("1"), bucket_of(True), bucket_of("true")] == [63, 4, 4, 51, 51]
    found = np.bincount([bucket_of(k) for k in range(64_000)], minlength=BUCKETS)
    assert len(found) == BUCKETS
    assert ((found - 1000) ** 2 / 1000).sum() < 120  # chi-square of 63 degrees


@pytest.mark.parametrize("kind", NAMES)
def test_every_engine_gives_the_same_record(kind, tmp_path):
    table = frame_of(kind)
    names = table["question"].to_pylist()
    expected = Record(
        {b: summarize(Y[rows], F[rows]) for b in range(BUCKETS) if (rows := [bucket_of(x) == b for x in names]).count(True)},
        axes=["bucket"],
    )
    assert summarize(Y, F, cluster=names) == expected
    polars, relation = pl.from_arrow(table), duckdb.from_arrow(table)
    for frame in (table, table.to_pandas(), polars, polars.lazy(), relation, table.to_reader(max_chunksize=100)):
        assert summarize_frame(frame, **COLUMNS) == expected, type(frame)
    relation.write_parquet(str(tmp_path / "rows.parquet"))
    relation.write_csv(str(tmp_path / "rows.csv"))
    for name in ("rows.parquet", "rows.csv"):
        found = summarize_files(tmp_path / name, **COLUMNS)
        assert found == expected
        found.save(tmp_path / "kept.tns")
        assert Record.load(tmp_path / "kept.tns") == expected


def test_partitions_of_dask_hash_alike():
    dask = pytest.importorskip("dask.dataframe")
    table = frame_of("text").to_pandas()
    assert summarize_frame(dask.from_pandas(table, npartitions=3), **COLUMNS) == summarize_frame(table, **COLUMNS)


def test_groups_and_buckets_are_axes_of_one_record(tmp_path):
    table = frame_of("text")
    record = summarize_frame(table, **COLUMNS, by="half")
    assert record.axes == ("half", "bucket")
    assert summarize_frame(pl.from_arrow(table).lazy(), **COLUMNS, by="half") == record
    duckdb.from_arrow(table).write_parquet(str(tmp_path / "rows.parquet"))
    assert summarize_files(tmp_path / "rows.parquet", **COLUMNS, by="half") == record
    tests = group_tests(record, rng=0, resamples=199)
    assert [each.group for each in tests] == ["a", "b"]
    assert all(20 < each.test.clusters <= BUCKETS for each in tests)
    found = assess(record)
    assert [each.group for each in found.groups] == ["a", "b"]
    assert found.test == calibration_test(record.over("half"), statistic="combined", rng=0)
    with pytest.raises(InputError, match="merge all axes but 'bucket'"):
        calibration_test(record)


def test_a_record_of_buckets_is_flipped_bucket_by_bucket():
    record = summarize(Y, F, cluster=G)
    buckets = np.array([bucket_of(g) for g in G])
    for statistic in ("ecce_r", "combined"):
        found = calibration_test(record, statistic=statistic, rng=0, resamples=399)
        assert found.clusters == len(record)
        assert "buckets of clusters flipped whole" in found.reason
        rows = calibration_test(Y, F, cluster=buckets, statistic=statistic, rng=1, resamples=399)
        assert found.pvalue == pytest.approx(rows.pvalue, abs=0.08)
        assert found.pvalue >= calibration_test(record.total(), statistic=statistic, rng=0, resamples=399).pvalue
    for metric in ("smooth_ece", "ecce_r"):
        rows = confidence_interval(Y, F, cluster=buckets, metric=metric, rng=0)
        found = confidence_interval(record, metric=metric, rng=0)
        assert found.low == pytest.approx(rows.low, abs=4e-3)
        assert found.high == pytest.approx(rows.high, rel=0.02)
        floor = noise_floor(Y, F, cluster=buckets, metric=metric, rng=0)
        assert noise_floor(record, metric=metric, rng=0) == pytest.approx(floor, rel=0.05)
    assert "buckets of clusters" in repr(assess(record))


def test_weighted_and_soft_buckets_are_flipped_too():
    w = np.random.default_rng(0).random(len(Y)) + 0.5
    buckets = np.array([bucket_of(g) for g in G])
    weighted = calibration_test(summarize(Y, F, cluster=G, sample_weight=w), rng=0)
    assert weighted.method == "simulated"
    assert weighted.pvalue == pytest.approx(calibration_test(Y, F, cluster=buckets, sample_weight=w, rng=0).pvalue, abs=0.05)
    soft = calibration_test(summarize((Y + F) / 2, F, cluster=G), rng=0)
    assert soft.pvalue == pytest.approx(calibration_test((Y + F) / 2, F, cluster=buckets, rng=0).pvalue, abs=0.05)


def test_certain_predictions_that_were_wrong_are_set_apart_in_buckets():
    y, f, g = np.append(Y, 1), np.append(F, 0.0), np.append(G, 3)
    found = calibration_test(summarize(y, f, cluster=g), rng=0)
    assert (found.pvalue, found.contradictions, found.rest.clusters) == (0.0, 1, found.clusters)


def test_missing_clusters_are_refused_by_every_engine(tmp_path):
    table = frame_of("text").set_column(2, "question", pa.array([None, *NAMES["text"][1:-1], None]))
    polars, relation = pl.from_arrow(table), duckdb.from_arrow(table)
    message = "column 'question': 2 of 1000 values are missing"
    for frame in (table, polars):
        with pytest.raises(InputError, match=message + r" \(first: row 0\)"):
            summarize_frame(frame, **COLUMNS)
    for frame in (polars.lazy(), relation):
        with pytest.raises(InputError, match=message):
            summarize_frame(frame, **COLUMNS)
    relation.write_csv(str(tmp_path / "rows.csv"))
    with pytest.raises(InputError, match=message + r" \(first: line 2 of "):
        summarize_files(tmp_path / "rows.csv", **COLUMNS)


def test_buckets_cannot_be_resumed_nor_stand_beside_a_column_of_their_name(tmp_path):
    path = tmp_path / "rows.csv"
    duckdb.from_arrow(frame_of("text")).write_csv(str(path))
    with pytest.raises(InputError, match="groups and clusters are not kept"):
        summarize_files(path, **COLUMNS, resume=tmp_path / "kept")
    with pytest.raises(InputError, match="'bucket' is none beside cluster="):
        summarize_frame({"y": Y, "p": F, "question": G, "bucket": G}, **COLUMNS, by="bucket")
    with pytest.raises(InputError, match="there is nothing to flip"):
        calibration_test(summarize(Y, F, cluster=np.zeros(len(Y))))
