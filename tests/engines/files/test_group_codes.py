"""Groups in files: values that differ stay apart."""

import datetime
import os
import subprocess
import sys

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from data_files import COLUMNS, F, N, Y, message, write_parquet

from trueness import group_tests, summarize_files, summarize_frame
from trueness.engines.files.open_files import open_files
from trueness.inputs.arguments import Columns


def test_large_integers_stay_different_groups(tmp_path):
    big = np.where(F < 0.5, 2**53, 2**53 + 1)
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F, "g": big})
    assert set(summarize_files(path, **COLUMNS, by="g")) == {2**53, 2**53 + 1}
    with open_files(path, Columns(**COLUMNS, by=("g",))) as files:
        groups = files.rows().groups
    assert [each.group for each in group_tests(Y, F, by=groups)] == [2**53, 2**53 + 1]


def test_times_finer_than_microseconds_stay_different_groups(tmp_path):
    shown = ["2026-01-01 00:00:00.000000001", "2026-01-01 00:00:00.00000001", "2026-01-01 00:00:00.000001"]
    when = np.array(shown, "M8[ns]")[np.arange(N) % 3]
    kinds = {"when": pa.array(when), "zone": pa.array(when).cast(pa.timestamp("ns", "UTC"))}
    kinds |= {"time": pa.array(when.astype(np.int64) % 86_400_000_000_000, pa.time64("ns"))}
    kinds |= {"span": pa.array(when - when.min())}
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F, **kinds})
    for name in kinds:
        found = summarize_files(path, **COLUMNS, by=name)
        assert sorted(part.n for part in found.values()) == [N // 3, N // 3 + 1, N // 3 + 1]
        lazy = summarize_frame(pl.scan_parquet(path), **COLUMNS, by=name)
        assert len(lazy) == 3
        assert name == "span" or {*lazy} & {*found} >= {*[key for key in found if "00000001" in str(key)]}
    assert {*summarize_files(path, **COLUMNS, by="when")} == {*shown[:2], datetime.datetime(2026, 1, 1, microsecond=1)}


def test_spans_of_time_stay_different_groups(tmp_path):
    path = str(tmp_path / "a.parquet")
    spans = ("1 month", "30 days", "1 day")
    rows = " UNION ALL ".join(f"SELECT 1 AS y, 0.5 AS p, INTERVAL '{span}' AS g" for span in spans)
    duckdb.sql(f"COPY ({rows}) TO '{path}'")
    assert {*summarize_files(path, **COLUMNS, by="g")} == {*spans}


def test_times_with_a_zone_are_named_the_same_everywhere(tmp_path):
    when = pa.array(np.full(N, "2026-01-01T12:00", "M8[us]")).cast(pa.timestamp("us", "UTC"))
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F, "g": when})
    program = f"import trueness; print([*trueness.summarize_files({str(path)!r}, outcome='y', prediction='p', by='g')])"
    for zone in ("UTC", "America/New_York"):
        environment = {**os.environ, "TZ": zone}
        found = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
        assert (found.stderr, found.stdout) == ("", "['2026-01-01 12:00:00+00']\n")


def test_types_of_groups(tmp_path):
    hours = [datetime.datetime(2026, 1, 1 + k % 2, tzinfo=datetime.UTC) for k in range(N)]
    columns = {"y": Y, "p": F, "when": hours, "list": [[k % 2] for k in range(N)], "day": [hour.date() for hour in hours]}
    path = write_parquet(tmp_path / "a.parquet", columns)
    assert len(summarize_files(path, **COLUMNS, by="when")) == 2
    assert set(summarize_files(path, **COLUMNS, by="day")) == {datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)}
    assert "which names no groups" in message(path, by="list")
