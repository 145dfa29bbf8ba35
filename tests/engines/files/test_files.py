"""Files as a source: the same summary as from arrays, whatever the format, and an error for everything that is not right."""

import csv
import gzip
import io
import json
import os
import random
import socket
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trueness import ecce, ecce_r, summarize, summarize_files
from trueness.engines.files import summarize as engine
from trueness.engines.files.table import MISSING
from trueness.errors import InputError

RNG = np.random.default_rng(5)
N = 2000
F = RNG.random(N)
F[:6] = [0.0, 1.0, 0.5, 1 / 15, 5e-324, 1 - 2**-53]
Y = (RNG.random(N) < F).astype(np.int64)
SOFT = np.clip(F + RNG.normal(0, 0.1, N), 0, 1)
W = RNG.integers(0, 4, N) * 0.5
G = RNG.choice(["de", "fr", "NA"], N)


def cells(value):
    """A value as text that reads back exactly."""
    return repr(value.item()) if isinstance(value, np.number) else str(value)


def write_csv(path, columns, delimiter=",", newline="\n", bom=False):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=newline)
    writer.writerow(columns)
    writer.writerows(zip(*[map(cells, column) for column in columns.values()], strict=True))
    content = (b"\xef\xbb\xbf" if bom else b"") + text.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def write_json(path, columns, array=False):
    rows = [dict(zip(columns, map(_item, row), strict=True)) for row in zip(*columns.values(), strict=True)]
    text = json.dumps(rows) if array else "\n".join(map(json.dumps, rows)) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def _item(value):
    return value.item() if isinstance(value, np.generic) else value


def write_parquet(path, columns, **options):
    pq.write_table(pa.table(dict(columns)), path, **options)
    return path


WRITERS = {
    "a.csv": write_csv,
    "a.csv.gz": write_csv,
    "a.tsv": lambda path, columns: write_csv(path, columns, "\t"),
    "semicolon.csv": lambda path, columns: write_csv(path, columns, ";"),
    "pipe.txt": lambda path, columns: write_csv(path, columns, "|"),
    "caret.csv": lambda path, columns: write_csv(path, columns, "^"),
    "windows.csv": lambda path, columns: write_csv(path, columns, newline="\r\n", bom=True),
    "a.json": lambda path, columns: write_json(path, columns, array=True),
    "a.ndjson": write_json,
    "a.jsonl.gz": write_json,
    "a.parquet": write_parquet,
    "groups.parquet": lambda path, columns: write_parquet(path, columns, row_group_size=100),
}
COLUMNS = {"outcome": "y", "prediction": "p"}


@pytest.fixture(params=WRITERS)
def write(request, tmp_path):
    return lambda columns: WRITERS[request.param](tmp_path / request.param, columns)


def message(*arguments, **options):
    with pytest.raises(InputError) as caught:
        summarize_files(*arguments, **{**COLUMNS, **options})
    return str(caught.value)


# The same sums as from arrays


def test_hard_labels(write):
    path = write({"y": Y, "other": G, "p": F})
    assert summarize_files(path, **COLUMNS) == summarize(Y, F)


def test_soft_labels_and_weights(write):
    path = write({"w": W, "p": F, "y": SOFT})
    found = summarize_files(path, **COLUMNS, weight="w")
    expected = summarize(SOFT, F, sample_weight=W)
    assert found.n == expected.n
    assert found.rejected == expected.rejected == {"zero weight": int((W == 0).sum())}
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12)


def test_groups(write):
    found = summarize_files(write({"y": Y, "p": F, "g": G}), **COLUMNS, by="g")
    assert set(found) == {"de", "fr", "NA"}  # a country, not a missing value
    assert all(found[group] == summarize(Y[group == G], F[group == G]) for group in found)


def test_groups_of_two_columns(write):
    other = (F > 0.5).astype(int)
    found = summarize_files(write({"y": Y, "p": F, "g": G, "h": other}), **COLUMNS, by=["g", "h"])
    assert len(found) == 6
    for (group, high), summary in found.items():
        at = (group == G) & (other == int(high))
        assert summary == summarize(Y[at], F[at])


def test_truth_values(write):
    assert summarize_files(write({"y": Y == 1, "p": F}), **COLUMNS) == summarize(Y, F)


@pytest.mark.parametrize(("labels", "event"), [(("no", "yes"), "yes"), ((1, 2), 2), ((1, 2), "2"), ((-1, 1), 1)])
def test_an_event_by_name(write, labels, event):
    found = summarize_files(write({"y": np.array(labels)[Y], "p": F}), **COLUMNS, pos_label=event)
    assert found == summarize(Y, F)
    assert any("counted as 1" in note for note in found.notes)


def test_float32_keeps_its_rounding(tmp_path):
    almost = np.array([0.2, np.nextafter(np.float32(1), np.float32(2))], dtype=np.float32)
    path = write_parquet(tmp_path / "a.parquet", {"y": [0, 1], "p": almost})
    found = summarize_files(path, **COLUMNS)
    assert found == summarize([0, 1], almost)
    assert found.clipped == 1


@pytest.mark.parametrize("size", [1, 100, 700])
def test_pieces_of_any_size_give_the_same_bits(tmp_path, monkeypatch, size):
    monkeypatch.setattr(engine, "PIECE", size)
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F, "g": G}, row_group_size=128)
    assert summarize_files(path, **COLUMNS) == summarize(Y, F)
    assert sum(summarize_files(path, **COLUMNS, by="g").values()) == summarize(Y, F)


def test_rows_come_in_the_order_of_the_files(tmp_path):
    columns = {"y": Y, "p": F}
    for number, part in enumerate(np.array_split(np.arange(N), 7)):
        write_csv(tmp_path / f"{number}.csv", {name: column[part] for name, column in columns.items()})
    with engine.open_files(tmp_path, engine.Roles(outcome="y", predictions=("p",))) as table:
        found = table.columns()
    np.testing.assert_array_equal(found.y, Y)
    np.testing.assert_array_equal(found.f["p"], F)


def test_progress_counts_rows(tmp_path):
    calls = []
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F}, row_group_size=100)
    summarize_files(path, **COLUMNS, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (N, N)
    assert calls == sorted(calls)


def test_more_rows_than_wanted_in_memory(tmp_path):
    roles = engine.Roles(outcome="y", predictions=("p",))
    for path in (write_csv(tmp_path / "a.csv", {"y": Y, "p": F}), write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F})):
        with engine.open_files(path, roles) as table:
            assert table.columns(N - 1) is None
            assert len(table.columns(N).y) == N


# Which files


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


def test_nothing_is_fetched(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("the network was tried")

    monkeypatch.setattr(socket, "socket", refuse)
    path = write_json(tmp_path / "a.json", {"y": Y, "p": F})
    assert summarize_files(path, **COLUMNS).n == N


# Columns


ODD = ["a b", 'quote"d', '"; DROP TABLE t;--', "new\nline", "'", "🦆", "p" * 10_000, "c0", "select", "$1", "{x}", "\\", "É"]


@pytest.mark.parametrize("name", ODD, ids=range(len(ODD)))
def test_odd_names(write, name):
    path = write({"y": Y, name: F, "g": G})
    if name == "new\nline" and path.name == "windows.csv":
        assert "lines end in different ways" in message(path, prediction=name)
        return
    assert summarize_files(path, outcome="y", prediction=name) == summarize(Y, F)
    assert "there is no column" in message(path, prediction=f"{name}?")


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


@pytest.mark.parametrize("column", [[{"a": 1}] * 2, [[0.5]] * 2, [b"x"] * 2, ["0.5"] * 2])
def test_types_that_are_no_numbers(tmp_path, column):
    write_parquet(tmp_path / "a.parquet", {"y": [0, 1], "p": column})
    assert "column 'p': is of type" in message(tmp_path)


def test_only_needed_columns_are_read(tmp_path):
    names = [f"x{k}" for k in range(5000)]
    (tmp_path / "a.csv").write_text(",".join([*names, "y", "p"]) + "\n" + ",".join(["word"] * 5000 + ["1", "0.5"]) + "\n")
    assert summarize_files(tmp_path, **COLUMNS).n == 1


# Values that cannot be used


@pytest.mark.parametrize("word", sorted(MISSING))
def test_words_for_missing(tmp_path, word):
    path = tmp_path / "a.csv"
    path.write_text(f"y,p,other\n1,0.5,\n0,{word},\n{word},0.5,\n1,0.75,\n")
    text = message(path)
    assert "column 'p': 1 of 4 values is missing or not finite (first: row 1, line 3 of " in text
    assert "column 'y': 1 of 4 values is missing or not finite (first: row 2, line 4 of " in text
    found = summarize_files(path, **COLUMNS, nan="drop")
    assert found == summarize([1, 1], [0.5, 0.75])
    assert found.rejected == {"prediction missing or not finite": 1, "outcome missing or not finite": 1}


def test_missing_values_of_every_kind_of_file(write):
    holes = [None if k % 7 == 0 else value for k, value in enumerate(F.tolist())]
    path = write({"y": Y, "p": holes})
    kept = np.arange(N) % 7 != 0
    assert f"{N - int(kept.sum())} of {N} values are missing or not finite (first: row 0" in message(path)
    found = summarize_files(path, **COLUMNS, nan="drop")
    assert found == summarize(Y[kept], F[kept])
    assert found.rejected == {"prediction missing or not finite": N - int(kept.sum())}


def test_nan_in_parquet_whose_statistics_do_not_tell(tmp_path):
    holes = F.copy()
    holes[::5] = np.nan
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": holes, "z": np.where(Y, 2.0, np.nan)})
    assert "400 of 2000 values are missing" in message(path)
    assert summarize_files(path, **COLUMNS, nan="drop").n == 1600
    found = summarize_files(path, outcome="z", prediction="p", nan="drop", pos_label=2)
    assert found.n == int((np.isfinite(holes) & (Y == 1)).sum())


def test_values_out_of_range_are_named_with_file_and_line(tmp_path):
    write_csv(tmp_path / "a.csv", {"y": Y, "p": F})
    bad = F.copy()
    bad[17] = 1.5
    write_csv(tmp_path / "b.csv", {"y": Y, "p": bad})
    text = message(tmp_path)
    assert (
        f"column 'p': 1 of 4000 values is outside [0, 1] (first: row 2017, line 19 of '{tmp_path / 'b.csv'}', value 1.5)"
        in text
    )


@pytest.mark.parametrize("piece", [64, 1 << 22])
def test_all_problems_at_once_also_where_rows_come_in_pieces(tmp_path, monkeypatch, piece):
    monkeypatch.setattr(engine, "PIECE", piece)
    f, y, w = F.copy(), Y.astype(float), W.copy()
    f[[300, 1999]], y[[5, 700]], w[1200] = -0.5, np.nan, -1
    path = write_parquet(tmp_path / "a.parquet", {"y": y, "p": f, "w": w}, row_group_size=50)
    lines = message(path, weight="w").splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("column 'p': 2 of 2000 values are outside [0, 1] (first: row 300 of ")
    assert lines[1].startswith("column 'y': 2 of 2000 values are missing or not finite (first: row 5 of ")
    assert lines[2].startswith("column 'w': 1 of 2000 values is negative (first: row 1200 of ")


def test_quoted_newlines_do_not_mislead_the_line_number(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('y,p,note\n1,0.5,"two\nlines"\n\n0,7,x\n')
    assert "row 1, line 5 of " in message(path)


@pytest.mark.parametrize("late", [0, 30_000])
def test_text_that_is_no_number(tmp_path, late):
    path = tmp_path / "a.csv"
    path.write_text("y,p\n" + "1,0.5\n" * late + '1,high\n0,"0,25"\n0,NA\n')
    text = message(path)
    assert f"column 'p': 2 of {late + 3} values are text, not numbers (first: line {late + 2} of " in text
    assert "value 'high'" in text


def test_labels_without_an_event(write):
    path = write({"y": np.where(Y, "yes", "no"), "p": F})
    text = message(path)
    assert f"'yes' ({int(Y.sum())} rows)" in text
    assert "pos_label='yes'" in text
    assert f"0 of {N} values equal 'maybe'" in message(path, pos_label="maybe")


def test_numbers_as_labels(write):
    assert "pos_label=2" in message(write({"y": Y + 1, "p": F}))


def test_an_event_that_never_occurs(write):
    path = write({"y": Y, "p": F})
    assert f"0 of {N} values equal 7" in message(path, pos_label=7)
    assert "is not a text or a number" in message(path, pos_label=[1])


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


# Text that is not what it should be


BROKEN = {
    "too few cells": (b"y,p\n1,0.5\n1\n", "line 3"),
    "too many cells": (b"y,p\n1,0.5\n1,2,3\n", "line 3"),
    "an open quote": (b'y,p\n1,0.5\n1,"0.3\n0,0.2\n', "line 3"),
    "a zero byte": (b"y,p\n1,0.5\n1,0.\x003\n", "line 3"),
    "latin-1": (b"y,p\n1,0.5\n1,\xe9\n", "line 3"),
    "latin-1 in the header": (b"y,p,\xe9\n1,0.5,2\n", "line 1"),
    "UTF-16": ("y,p\n1,0.5\n".encode("utf-16"), "UTF-16"),
    "UTF-16 without a mark": ("y,p\n1,0.5\n".encode("utf-16-le"), "zero byte"),
    "an open quote in the header": (b'y,"p\n1,0.5\n', "line 1"),
    "a decimal comma": (b"y;p\n1;0,5\n", "decimal point"),
    "no header": (b"1,0.5\n0,0.2\n", "there is no column 'y'"),
    "one column": (b"y\n1\n", "only 1 column found"),
    "several line ends": (b"y,p\r\n1,0.5\n0,0.2\n", "a.csv"),
    "a line end within the header": (b'y,p,"a\nb"\r\n1,0.5,x\r\n', "lines end in different ways"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_text(tmp_path, name):
    content, expected = BROKEN[name]
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(InputError, match=expected) as caught:
        summarize_files(tmp_path / "a.csv", **COLUMNS)
    assert "a.csv" in str(caught.value)
    assert "ignore_errors" not in str(caught.value)


@pytest.mark.parametrize("content", [b'{"y":1,"p":0.5}\n{"y":0,"p":0.', b'[{"y":1,"p":1},{"y":0', b"[1, 2]", b"{", b'{"y":1}'])
def test_broken_json(tmp_path, content):
    (tmp_path / "a.json").write_bytes(content)
    assert "a.json" in message(tmp_path / "a.json")


def test_a_delimiter_by_name(tmp_path):
    path = write_csv(tmp_path / "a.csv", {"y": Y, "p": F}, "%")
    assert "only 1 column found" in message(path)
    assert summarize_files(path, **COLUMNS, delimiter="%") == summarize(Y, F)
    assert "is not one character" in message(path, delimiter="%%")


@pytest.mark.parametrize("writer", [write_csv, write_json])
def test_cut_and_altered_gzip(tmp_path, writer):
    whole = writer(tmp_path / ("a.csv.gz" if writer is write_csv else "a.json.gz"), {"y": Y, "p": F})
    content = whole.read_bytes()
    place = random.Random(3)
    for _ in range(50):
        whole.write_bytes(content[: place.randrange(1, len(content))])
        message(whole)
    outcomes = set()
    for _ in range(50):
        altered = bytearray(content)
        altered[place.randrange(10, len(content))] ^= 1 << place.randrange(8)
        whole.write_bytes(altered)
        try:
            outcomes.add(summarize_files(whole, **COLUMNS) == summarize(Y, F))
        except InputError:
            outcomes.add("error")
    assert outcomes == {"error"}  # the checksum is checked, so that no flip passes


def test_flipped_and_cut_parquet(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F}, compression="none", use_dictionary=False)
    content = path.read_bytes()
    place = random.Random(4)
    for _ in range(60):
        path.write_bytes(content[: place.randrange(1, len(content) - 1)])
        message(path)
    for _ in range(60):  # a flip in the footer is an error or changes nothing; in the data there is no checksum to tell
        altered = bytearray(content)
        altered[place.randrange(len(content) - 40, len(content))] ^= 1 << place.randrange(8)
        path.write_bytes(altered)
        try:
            found = summarize_files(path, **COLUMNS)
        except InputError:
            continue
        assert found == summarize(Y, F)


def test_a_file_that_is_something_else(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and then nothing of the kind")
    assert "a.parquet" in message(tmp_path / "a.parquet")
    summarize(Y, F).save(tmp_path / "a.tns")
    assert "summary" in message(tmp_path / "a.tns")


# Found by trying to break it


@pytest.mark.parametrize("folder", ["y=1", "p=0.9", "c1=0.5", "g=7"])
def test_folders_named_like_partitions_replace_no_column(tmp_path, folder):
    place = tmp_path / folder
    place.mkdir()
    for name in ("a.parquet", "a.csv", "a.ndjson"):
        path = WRITERS[name](place / name, {"y": Y, "p": F, "g": G})
        assert summarize_files(path, **COLUMNS) == summarize(Y, F)
        assert set(summarize_files(path, **COLUMNS, by="g")) == {"de", "fr", "NA"}


def test_large_integers_stay_different_groups(tmp_path):
    big = np.where(F < 0.5, 2**53, 2**53 + 1)
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F, "g": big})
    assert set(summarize_files(path, **COLUMNS, by="g")) == {2**53, 2**53 + 1}
    with engine.open_files(path, engine.Roles(outcome="y", predictions=("p",), by=("g",))) as table:
        groups = table.columns().groups
    from trueness import group_tests

    assert [each.group for each in group_tests(Y, F, by=groups)] == [2**53, 2**53 + 1]


def test_text_zeros_and_ones_in_parquet_need_an_event(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", {"y": Y.astype(str), "p": F})
    assert f"'1' ({int(Y.sum())} rows)" in message(path)
    assert summarize_files(path, **COLUMNS, pos_label="1") == summarize(Y, F)


def test_an_event_among_very_many_labels(tmp_path):
    labels = np.array([f"c{k}" for k in range(30_000)])
    path = write_parquet(tmp_path / "a.parquet", {"y": labels, "p": np.full(30_000, 0.5)})
    for event in ("c5", "c12345", "c29999"):
        found = summarize_files(path, **COLUMNS, pos_label=event)
        assert found == summarize(labels == event, np.full(30_000, 0.5))
    assert "0 of 30000 values equal 'd1'" in message(path, pos_label="d1")


def test_types_of_groups(tmp_path):
    import datetime

    hours = [datetime.datetime(2026, 1, 1 + k % 2, tzinfo=datetime.UTC) for k in range(N)]
    columns = {"y": Y, "p": F, "when": hours, "list": [[k % 2] for k in range(N)], "day": [hour.date() for hour in hours]}
    path = write_parquet(tmp_path / "a.parquet", columns)
    assert len(summarize_files(path, **COLUMNS, by="when")) == 2
    assert set(summarize_files(path, **COLUMNS, by="day")) == {datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)}
    assert "which names no groups" in message(path, by="list")


def test_true_and_false_are_not_blamed_for_bad_predictions(tmp_path):
    (tmp_path / "a.csv").write_text("y,p\nTrue,abc\nFalse,0.2\n")
    text = message(tmp_path / "a.csv")
    assert "column 'p'" in text
    assert "column 'y'" not in text


# Exact cumulative errors of rows that do not fit


def made(kind, n=60_000):
    rng = np.random.default_rng(3)
    f = {
        "calibrated": rng.random(n),
        "ties": rng.integers(0, 101, n) / 100,
        "rare": rng.beta(5, 500, n),
        "one cell": 0.5 + 1e-6 * rng.random(n),
        "ends": rng.integers(0, 2, n).astype(float),
    }[kind]
    return (rng.random(n) < f).astype(int), f, rng.integers(1, 4, n).astype(float)


def agrees(found, expected):
    assert found.bracket is None
    assert (found.mad, found.range) == pytest.approx((expected.mad, expected.range), abs=1e-13)
    assert (found.worst is None) == (expected.worst is None)
    if expected.worst:
        assert (found.worst.low, found.worst.high) == (expected.worst.low, expected.worst.high)
        assert found.worst.mean_gap == pytest.approx(expected.worst.mean_gap, abs=1e-10)


@pytest.mark.parametrize(
    ("kind", "weighted", "held"),
    [("calibrated", False, 500), ("ties", True, 500), ("rare", False, 1 << 22), ("one cell", True, 500), ("ends", False, 500)],
)
def test_a_second_pass_gives_the_exact_cumulative_errors(tmp_path, monkeypatch, kind, weighted, held):
    monkeypatch.setattr(engine, "PIECE", 10_000)
    monkeypatch.setattr("trueness.engines.exact._IN_MEMORY", held)
    y, f, w = made(kind)
    path = write_parquet(tmp_path / "a.parquet", {"y": y, "p": f, "w": w}, row_group_size=5000)
    found = summarize_files(path, **COLUMNS, weight="w" if weighted else None, exact=True)
    expected = ecce(y, f, sample_weight=w if weighted else None)
    agrees(ecce(found), expected)
    assert ecce_r(found) == pytest.approx(expected.range, abs=1e-13)


def test_without_a_second_pass_there_is_a_bracket(tmp_path):
    y, f, _ = made("calibrated")
    path = write_parquet(tmp_path / "a.parquet", {"y": y, "p": f})
    low, high = ecce(summarize_files(path, **COLUMNS)).bracket.range
    assert low <= ecce(y, f).range <= high


def test_files_that_change_between_the_passes(tmp_path, monkeypatch):
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F})
    keep = engine.exact_extremes

    def changed(summary, rows):
        write_parquet(path, {"y": 1 - Y, "p": F})
        return keep(summary, rows)

    monkeypatch.setattr(engine, "exact_extremes", changed)
    for by in (None, "p"):
        write_parquet(path, {"y": Y, "p": F})
        with pytest.raises(InputError, match="the input changed"):
            summarize_files(path, **COLUMNS, by=by, exact=True)


def test_files_that_change_while_they_are_read(tmp_path):
    path = write_csv(tmp_path / "a.csv", {"y": Y, "p": F})

    def append(done, total):
        with path.open("a") as file:
            file.write("1,0.5\n")

    assert "the input changed" in message(path, progress=append)


def test_a_cut_array_of_objects(tmp_path):
    text = json.dumps([{"y": int(y), "p": float(f)} for y, f in zip(Y[:50], F[:50], strict=True)])
    whole = summarize(Y[:50], F[:50])
    for name, pack in (("a.json", lambda x: x), ("a.json.gz", gzip.compress)):
        path = tmp_path / name
        path.write_bytes(pack(text.encode()))
        assert summarize_files(path, **COLUMNS) == whole
        for cut in range(1, 200):
            path.write_bytes(pack(text[:-cut].encode()))
            with pytest.raises(InputError):
                summarize_files(path, **COLUMNS)


@pytest.mark.parametrize("name", ["a.json", "a.ndjson", "a.json.gz"])
def test_a_byte_order_mark_before_json(tmp_path, name):
    objects = [{"y": int(y), "p": float(f)} for y, f in zip(Y[:50], F[:50], strict=True)]
    text = "\n".join(map(json.dumps, objects)) if "nd" in name else json.dumps(objects)
    content = b"\xef\xbb\xbf" + text.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert summarize_files(tmp_path / name, **COLUMNS) == summarize(Y[:50], F[:50])


def test_an_empty_text_is_no_missing_group_in_json(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"y": 1, "p": 0.5, "g": ""}, {"y": 1, "p": 0.5, "g": None}, {"y": 0, "p": 0.5}]))
    assert {group: part.n for group, part in summarize_files(path, **COLUMNS, by="g").items()} == {"": 1, None: 2}


def test_data_files_in_folders_within_a_folder(tmp_path):
    write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F})
    (tmp_path / "k=1").mkdir()
    write_parquet(tmp_path / "k=1" / "b.parquet", {"y": Y, "p": F})
    assert "more in the folder" in message(tmp_path)
    assert summarize_files(tmp_path / "**" / "*.parquet", **COLUMNS).n == 2 * N


# Going on after an interruption


class InterruptedRunError(Exception):
    pass


def interrupted_at(path, stop, kept, **options):
    """A run that ends after `stop` pieces."""
    original, pieces = engine.FileTable._reduced, []

    def reduced(self, rows, on, floats=False):
        if len(pieces) == stop:
            raise InterruptedRunError
        pieces.append(rows)
        return original(self, rows, on, floats)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.FileTable, "_reduced", reduced)
        with pytest.raises(InterruptedRunError):
            summarize_files(path, **COLUMNS, resume=kept, **options)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["parquet", "csv"])
def test_an_interrupted_run_goes_on_to_the_same_bytes(tmp_path, monkeypatch, weighted, name):
    monkeypatch.setattr(engine, "PIECE", 150)
    write = write_parquet if name == "parquet" else write_csv
    for k in range(3):
        part = slice(k * 600, (k + 1) * 600)
        write(tmp_path / f"{k}.{name}", {"y": Y[part], "p": F[part], "w": (W + 0.1)[part]})
    files = tmp_path / f"*.{name}"
    options = {"weight": "w"} if weighted else {}
    summarize_files(files, **COLUMNS, **options).save(tmp_path / "whole.tns")
    kept = tmp_path / "run.resume"
    for stop in (0, 1, 5, 11):
        interrupted_at(files, stop, kept, **options)
        found = summarize_files(files, **COLUMNS, **options, resume=kept)
        found.save(tmp_path / "resumed.tns")
        assert (tmp_path / "resumed.tns").read_bytes() == (tmp_path / "whole.tns").read_bytes()
        assert not kept.exists()
        assert not (tmp_path / "run.resume.lock").exists()


def test_what_an_interrupted_run_left_is_checked(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "PIECE", 150)
    path, kept = write_csv(tmp_path / "a.csv", {"y": Y, "p": F, "q": F}), tmp_path / "run.resume"
    interrupted_at(path, 3, kept)
    with pytest.raises(InputError, match="columns changed since"):
        summarize_files(path, outcome="y", prediction="q", resume=kept)
    write_csv(path, {"y": 1 - Y, "p": F})
    with pytest.raises(InputError, match="input changed since"):
        summarize_files(path, **COLUMNS, resume=kept)
    damaged = bytearray(kept.read_bytes())
    damaged[-100] ^= 1
    kept.write_bytes(damaged)
    with pytest.raises(Exception, match=r"changed since|damaged"):
        summarize_files(path, **COLUMNS, resume=kept)
    flipped = kept.read_bytes()
    kept.write_bytes(flipped.replace(b'"rows": ', b'"rows": 1', 1))
    with pytest.raises(InputError, match=r"changed since|damaged"):
        summarize_files(path, **COLUMNS, resume=kept)
    kept.write_text("something else")
    with pytest.raises(InputError, match="is not what an interrupted run leaves"):
        summarize_files(path, **COLUMNS, resume=kept)
    assert "Leave out by=" in message(path, by="p", resume=kept)
    assert "is one of the inputs" in message(path, resume=path)
    assert "standard input cannot be read again" in message("-", resume=kept)
    os.mkfifo(tmp_path / "pipe.csv")
    assert "pipe.csv' cannot be read again" in message(tmp_path / "pipe.csv", resume=kept)


def test_rows_that_a_flipped_bit_would_count_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "PIECE", 150)
    path, kept = write_csv(tmp_path / "a.csv", {"y": Y, "p": F}), tmp_path / "run.resume"
    interrupted_at(path, 3, kept)
    kept.write_bytes(kept.read_bytes().replace(b'"rows": 450', b'"rows": 150', 1))
    with pytest.raises(InputError, match="damaged"):
        summarize_files(path, **COLUMNS, resume=kept)


def test_a_file_replaced_by_one_of_the_same_size_and_time(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "PIECE", 150)
    path, kept = write_csv(tmp_path / "a.csv", {"y": Y, "p": F}), tmp_path / "run.resume"
    interrupted_at(path, 3, kept)
    state, text = path.stat(), path.read_text()
    head, _, rest = text.partition("\n")
    path.write_text(head + "\n" + "".join({"0": "1", "1": "0"}[line[0]] + line[1:] for line in rest.splitlines(True)))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert path.stat().st_size == state.st_size
    with pytest.raises(InputError, match="input changed since"):
        summarize_files(path, **COLUMNS, resume=kept)


def test_two_runs_on_one_checkpoint(tmp_path):
    from trueness.engines.files.checkpoint import Checkpoint

    path, kept = write_csv(tmp_path / "a.csv", {"y": Y, "p": F}), tmp_path / "run.resume"
    with Checkpoint(str(kept), {}).held():
        assert "another run is using it" in message(path, resume=kept)


def test_the_reader_s_memory_is_limited(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F})
    assert summarize_files(path, **COLUMNS, memory_limit="500MB") == summarize(Y, F)
    assert "is not a size" in message(path, memory_limit="much")


# Very many groups


def test_as_many_groups_as_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "PIECE", 700)
    monkeypatch.setattr("trueness.engines.arrays.grouped._PENDING", 500)
    holes = np.where(np.arange(N) % 9 == 0, np.nan, F)
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": holes, "g": np.arange(N) % 1500})
    found = summarize_files(path, **COLUMNS, by="g", nan="drop")
    assert len(found) == 1500
    for group in range(1500):
        at = np.arange(N) % 1500 == group
        missing = int(np.isnan(holes[at]).sum())
        assert found[group].rejected == ({"prediction missing or not finite": missing} if missing else {})
        if missing < at.sum():
            assert found[group] == summarize(Y[at], holes[at], nan="drop")
    with pytest.raises(InputError, match="missing or not finite"):
        summarize_files(path, **COLUMNS, by="g")


def test_soft_labels_met_late_among_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "PIECE", 700)
    y = Y.astype(float)
    y[-1] = 0.5
    path = write_parquet(tmp_path / "a.parquet", {"y": y, "p": F, "g": G})
    found = summarize_files(path, **COLUMNS, by="g")
    for group, summary in found.items():
        at = group == G
        expected = summarize(y[at], F[at], sample_weight=np.ones(at.sum()))  # in float64, whatever the labels are
        np.testing.assert_allclose(summary.sums, expected.sums, rtol=1e-12, atol=1e-14)


def test_a_soft_label_met_late_starts_again_in_float64(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "PIECE", 300)
    for place in (0, -1):
        y = Y.astype(float)
        y[place] = 0.5
        path = write_parquet(tmp_path / "a.parquet", {"y": y, "p": F})
        found, expected = summarize_files(path, **COLUMNS, resume=tmp_path / "kept"), summarize(y, F)
        assert found.soft
        np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(found.rows, expected.rows)


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_flipped_bit_where_pages_have_checksums(tmp_path, compression, version):
    options = {"write_page_checksum": True, "compression": compression, "data_page_version": version, "row_group_size": 700}
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F, "g": G}, **options)
    content, expected = path.read_bytes(), summarize(Y, F)
    assert summarize_files(path, **COLUMNS) == expected
    place = random.Random(6)
    errors = 0
    for _ in range(60):
        altered = bytearray(content)
        altered[place.randrange(len(content))] ^= 1 << place.randrange(8)
        path.write_bytes(altered)
        try:
            assert summarize_files(path, **COLUMNS) == expected
        except InputError:
            errors += 1
    assert errors > 20


def test_what_was_piped_in_is_read_twice_too(tmp_path, monkeypatch):
    content = write_csv(tmp_path / "a.csv", {"y": Y, "p": F}).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    agrees(ecce(summarize_files("-", **COLUMNS, exact=True)), ecce(Y, F))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_a_second_pass_finds_scores_at_and_beyond_the_ends(tmp_path, seed, name):
    rng = np.random.default_rng(seed)
    ends = [0.0, 1.0, -0.0, 5e-324, 1 + 2**-52, -1e-17, 1 - 2**-53, 2.0**-14, 1 - 2.0**-14]
    f = np.concatenate([rng.choice(ends, 300), rng.beta(0.02, 0.02, 300)])
    y = (rng.random(600) < np.clip(f, 0, 1) * (seed % 2) + 0.3 * (seed % 3)).astype(float)
    path = (write_parquet if name == "a.parquet" else write_csv)(tmp_path / name, {"y": y, "p": f})
    found, exact = ecce(summarize_files(path, **COLUMNS, exact=True)), ecce(y, f)
    assert found.bracket is None
    assert (found.mad, found.range) == pytest.approx((exact.mad, exact.range), rel=1e-12)
