"""Delimited text: what stands for missing, which line a row is on, and text that is not what it should be."""

import pytest
from data_files import COLUMNS, F, Y, message, write_csv

from trueness import summarize, summarize_files
from trueness.engines.files.table import MISSING
from trueness.errors import InputError


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


def test_a_delimiter_by_name(tmp_path):
    path = write_csv(tmp_path / "a.csv", {"y": Y, "p": F}, "%")
    assert "only 1 column found" in message(path)
    assert summarize_files(path, **COLUMNS, delimiter="%") == summarize(Y, F)
    assert "is not one character" in message(path, delimiter="%%")
