"""What DuckDB may do here: read the files named, within the memory allowed."""

import socket

from data_files import COLUMNS, F, N, Y, message, write_json, write_parquet

from trueness import summarize, summarize_files


def test_nothing_is_fetched(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("the network was tried")

    monkeypatch.setattr(socket, "socket", refuse)
    path = write_json(tmp_path / "a.json", {"y": Y, "p": F})
    assert summarize_files(path, **COLUMNS).n == N


def test_the_reader_s_memory_is_limited(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F})
    assert summarize_files(path, **COLUMNS, memory_limit="500MB") == summarize(Y, F)
    assert "is not a size" in message(path, memory_limit="much")
