"""Rows of files in memory."""

import numpy as np
from data_files import COLUMNS, F, G, N, W, Y, write_csv, write_parquet

from trueness.engines.files.open_files import open_files
from trueness.inputs.arguments import Columns


def test_rows_come_in_the_order_of_the_files(tmp_path):
    columns = {"y": Y, "p": F}
    for number, part in enumerate(np.array_split(np.arange(N), 7)):
        write_csv(tmp_path / f"{number}.csv", {name: column[part] for name, column in columns.items()})
    with open_files(tmp_path, Columns(**COLUMNS)) as files:
        rows = files.rows()
    np.testing.assert_array_equal(rows.y, Y)
    np.testing.assert_array_equal(rows.f["p"], F)


def test_more_rows_than_wanted_in_memory(tmp_path):
    for path in (write_csv(tmp_path / "a.csv", {"y": Y, "p": F}), write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F})):
        with open_files(path, Columns(**COLUMNS)) as files:
            assert files.rows_up_to(N - 1) is None
            assert len(files.rows_up_to(N).y) == N


def test_rows_in_another_order_keep_together(tmp_path):
    path = write_csv(tmp_path / "a.csv", {"y": Y, "p": F, "q": F / 2, "w": W, "g": G, "k": np.arange(N)})
    with open_files(path, Columns(**COLUMNS, weight="w", by=("g",), rivals=("q",), key="k")) as files:
        rows = files.rows()
    order = np.random.default_rng(1).permutation(N)
    other = rows.ordered(order)
    assert other.keys == [str(k) for k in order]
    np.testing.assert_array_equal(other.groups, G[order])
    for found, expected in ((other.y, Y), (other.f["p"], F), (other.f["q"], F / 2), (other.w, W)):
        np.testing.assert_array_equal(found, expected[order])
    np.testing.assert_array_equal(other.checked("q").arrays().f, F[order][W[order] > 0] / 2)
