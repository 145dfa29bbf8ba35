"""Columns of files of every kind: any name, each once, of one type, and no others are read."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data_files import COLUMNS, WRITERS, F, G, Y, message, write_csv, write_parquet

from trueness import summarize, summarize_files

ODD = ["a b", 'quote"d', '"; DROP TABLE t;--', "new\nline", "'", "🦆", "p" * 10_000, "c0", "select", "$1", "{x}", "\\", "É"]


def test_odd_names(write):
    """Every kind of file with all of them at once, each read as an outcome or as a prediction."""
    names = [name for name in ODD if name != "new\nline"]
    columns = {name: np.roll((Y, F)[k % 2][:40], k) for k, name in enumerate(names)}
    path = write(columns)
    for y, p in zip(names[::2], names[1::2], strict=True):
        assert summarize_files(path, outcome=y, prediction=p) == summarize(columns[y], columns[p])
    assert "there is no column" in message(path, outcome=names[0], prediction=f"{names[0]}?")


def test_a_name_of_two_lines(write):
    path = write({"y": Y[:40], "new\nline": F[:40]})
    if path.name == "windows.csv":
        assert "lines end in different ways" in message(path, prediction="new\nline")
    else:
        assert summarize_files(path, outcome="y", prediction="new\nline") == summarize(Y[:40], F[:40])


def test_names_that_differ_by_case_alone(write):
    assert summarize_files(write({"y": Y, "P": 1 - F, "p": F, "Y": 1 - Y}), **COLUMNS) == summarize(Y, F)


def test_a_missing_column(write):
    path = write({"outcome": Y, "score": F})
    text = message(path, outcome="outcome", prediction="scores")
    assert "there is no column 'scores'" in text
    assert "the columns are 'outcome', 'score'. Did you mean 'score'?" in text


def test_columns_twice(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("y,p,p\n1,0.5,0.7\n")
    assert "column 'p': occurs 2 times" in message(path)
    pq.write_table(pa.Table.from_arrays([pa.array(Y), pa.array(F), pa.array(F)], names=["y", "p", "p"]), tmp_path / "a.parquet")
    assert "column 'p': occurs 2 times" in message(tmp_path / "a.parquet")
    (tmp_path / "a.json").write_text('{"y": 1, "p": 0.5, "p": 0.7}\n')
    assert "duplicate key" in message(tmp_path / "a.json")


def test_files_with_different_columns(tmp_path):
    write_csv(tmp_path / "a.csv", {"y": Y, "p": F})
    write_csv(tmp_path / "b.csv", {"y": Y, "q": F})
    assert "there is no column 'p' in " in (text := message(tmp_path))
    assert "b.csv" in text
    write_csv(tmp_path / "b.csv", {"p": F, "z": G, "y": Y})  # another order is no other schema
    assert summarize_files(tmp_path, **COLUMNS) == summarize(Y, F) + summarize(Y, F)


def test_files_with_different_types(tmp_path):
    write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F})
    write_parquet(tmp_path / "b.parquet", {"y": np.where(Y, "yes", "no"), "p": F})
    text = message(tmp_path)
    assert "column 'y': its type differs between the files" in text
    assert "a.parquet" in text and "b.parquet" in text  # noqa: PT018


def test_only_needed_columns_are_read(tmp_path):
    names = [f"x{k}" for k in range(5000)]
    (tmp_path / "a.csv").write_text(",".join([*names, "y", "p"]) + "\n" + ",".join(["word"] * 5000 + ["1", "0.5"]) + "\n")
    assert summarize_files(tmp_path, **COLUMNS).n == 1


@pytest.mark.parametrize("folder", ["y=1", "p=0.9", "c1=0.5", "g=7"])
def test_folders_named_like_partitions_replace_no_column(tmp_path, folder):
    place = tmp_path / folder
    place.mkdir()
    for name in ("a.parquet", "a.csv", "a.ndjson"):
        path = WRITERS[name](place / name, {"y": Y, "p": F, "g": G})
        assert summarize_files(path, **COLUMNS) == summarize(Y, F)
        assert set(summarize_files(path, **COLUMNS, by="g")) == {"de", "fr", "NA"}
