"""Names, patterns and folders: which files they mean, and of what kind each is."""

import os
import threading

import pytest
from data_files import COLUMNS, WRITERS, F, N, Y, message, write_csv, write_parquet

from trueness import summarize, summarize_files


def test_patterns_folders_lists_and_literal_names(tmp_path, monkeypatch):
    half = N // 2
    write_csv(tmp_path / "a.csv", {"y": Y[:half], "p": F[:half]})
    write_csv(tmp_path / "b.csv", {"y": Y[half:], "p": F[half:]})
    (tmp_path / "README.md").write_text("not data")
    whole = summarize(Y, F)
    for paths in (tmp_path / "*.csv", tmp_path, [tmp_path / "a.csv", str(tmp_path / "b.csv")], [tmp_path / "[ab].csv"]):
        assert summarize_files(paths, **COLUMNS) == whole
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "[a].csv", {"y": Y, "p": F})
    assert summarize_files("[a].csv", **COLUMNS) == whole  # the file of that name, not the pattern
    assert summarize_files("b.csv", **COLUMNS) == summarize(Y[half:], F[half:])


def test_names_that_match_nothing(tmp_path):
    assert "no file matches this pattern" in message(tmp_path / "*.csv")
    assert "there is no such file" in message(tmp_path / "a.csv")
    assert "holds no data file" in message(tmp_path)
    assert "no files were given" in message([])
    assert "there is no such file" in message("https://example.com/a.csv")
    assert "zero byte" in message("a\0.csv")


def test_a_file_named_twice(tmp_path):
    path = write_csv(tmp_path / "a.csv", {"y": Y, "p": F})
    assert "would count twice" in message([path, tmp_path / "*.csv"])


def test_a_file_named_by_a_hard_link_too(tmp_path):
    path = write_csv(tmp_path / "a.csv", {"y": Y, "p": F})
    os.link(path, tmp_path / "b.csv")
    assert "b.csv': is the same file as" in message(tmp_path)


def test_a_link_to_nothing(tmp_path):
    (tmp_path / "a.csv").symlink_to(tmp_path / "gone.csv")
    assert "a.csv': is a link to " in (text := message(tmp_path / "a.csv"))
    assert "which cannot be read (No such file or directory). Mend the link" in text
    assert "is a link to " in message(tmp_path / "*.csv")


@pytest.mark.skipif(os.name == "nt", reason="names are Unicode there")
def test_a_name_that_is_not_utf8(tmp_path):
    name = os.fsencode(tmp_path / "a.csv").replace(b"a.csv", b"caf\xe9.csv")
    os.rename(write_csv(tmp_path / "a.csv", {"y": Y, "p": F}), name)
    assert "caf\\udce9.csv': the name of the file or of its folder is not UTF-8. Rename it." in message(os.fsdecode(name))


def test_kinds_do_not_mix(tmp_path):
    write_csv(tmp_path / "a.csv", {"y": Y, "p": F})
    write_parquet(tmp_path / "b.parquet", {"y": Y, "p": F})
    assert "several kinds" in message(tmp_path)
    assert "several kinds" in message([tmp_path / "a.csv", tmp_path / "b.parquet"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe(tmp_path):
    content = write_csv(tmp_path / "a.csv", {"y": Y, "p": F}).read_bytes()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(content))
    writer.start()
    found = summarize_files(pipe, **COLUMNS)
    writer.join()
    assert found == summarize(Y, F)


def test_kinds_are_known_by_content_where_the_name_says_nothing(tmp_path):
    for name, writer in WRITERS.items():
        path = writer(tmp_path / name, {"y": Y, "p": F}).rename(tmp_path / name.replace(".", "-"))
        assert summarize_files(path, **COLUMNS) == summarize(Y, F)


def test_a_file_that_is_something_else(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and then nothing of the kind")
    assert "a.parquet" in message(tmp_path / "a.parquet")
    summarize(Y, F).save(tmp_path / "a.tns")
    assert "summary" in message(tmp_path / "a.tns")


def test_data_files_in_folders_within_a_folder(tmp_path):
    write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F})
    (tmp_path / "k=1").mkdir()
    write_parquet(tmp_path / "k=1" / "b.parquet", {"y": Y, "p": F})
    assert "more in the folder" in message(tmp_path)
    assert summarize_files(tmp_path / "**" / "*.parquet", **COLUMNS).n == 2 * N
