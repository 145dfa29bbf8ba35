"""Rows of several files as one stream: what is missing, where it stands, and no rows at all."""

import numpy as np
from data_files import COLUMNS, F, N, Y, message, write_csv, write_parquet

from trueness import summarize, summarize_files


def test_missing_values_of_every_kind_of_file(write):
    holes = [None if k % 7 == 0 else value for k, value in enumerate(F.tolist())]
    path = write({"y": Y, "p": holes})
    kept = np.arange(N) % 7 != 0
    assert f"{N - int(kept.sum())} of {N} values are missing or not finite (first: row 0" in message(path)
    found = summarize_files(path, **COLUMNS, nan="drop")
    assert found == summarize(Y[kept], F[kept])
    assert found.rejected == {"prediction missing or not finite": N - int(kept.sum())}


def test_values_out_of_range_are_named_with_file_and_line(tmp_path):
    write_csv(tmp_path / "a.csv", {"y": Y, "p": F})
    bad = F.copy()
    bad[17] = 1.5
    write_csv(tmp_path / "b.csv", {"y": Y, "p": bad})
    text = message(tmp_path)
    assert (
        f"column 'p': 1 of {2 * N} values is outside [0, 1] (first: row {N + 17}, line 19 of '{tmp_path / 'b.csv'}', value 1.5)"
        in text
    )


def test_no_rows(tmp_path):
    (tmp_path / "a.csv").write_text("y,p\n")
    assert "no rows" in message(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("")
    assert "is empty" in message(tmp_path / "b.csv")
    write_parquet(tmp_path / "a.parquet", {"y": Y[:0], "p": F[:0]})
    assert "no rows" in message(tmp_path / "a.parquet")
    (tmp_path / "a.json").write_text("[]")
    assert "no rows" in message(tmp_path / "a.json")
    (tmp_path / "c.csv").write_text("y,p\nNA,NA\n")
    assert "no rows left of 1" in message(tmp_path / "c.csv", nan="drop")


def test_an_empty_file_among_others(tmp_path):
    write_csv(tmp_path / "a.csv", {"y": Y, "p": F})
    (tmp_path / "b.csv").write_text("y,p\n")
    assert summarize_files(tmp_path, **COLUMNS) == summarize(Y, F)
