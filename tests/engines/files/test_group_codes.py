"""Groups in files: values that differ stay apart."""

import datetime

import numpy as np
from data_files import COLUMNS, F, N, Y, message, write_parquet

from trueness import group_tests, summarize_files
from trueness.engines.files.open_files import open_files
from trueness.inputs.arguments import Columns


def test_large_integers_stay_different_groups(tmp_path):
    big = np.where(F < 0.5, 2**53, 2**53 + 1)
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F, "g": big})
    assert set(summarize_files(path, **COLUMNS, by="g")) == {2**53, 2**53 + 1}
    with open_files(path, Columns(**COLUMNS, by=("g",))) as files:
        groups = files.rows().groups
    assert [each.group for each in group_tests(Y, F, by=groups)] == [2**53, 2**53 + 1]


def test_types_of_groups(tmp_path):
    hours = [datetime.datetime(2026, 1, 1 + k % 2, tzinfo=datetime.UTC) for k in range(N)]
    columns = {"y": Y, "p": F, "when": hours, "list": [[k % 2] for k in range(N)], "day": [hour.date() for hour in hours]}
    path = write_parquet(tmp_path / "a.parquet", columns)
    assert len(summarize_files(path, **COLUMNS, by="when")) == 2
    assert set(summarize_files(path, **COLUMNS, by="day")) == {datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)}
    assert "which names no groups" in message(path, by="list")
