"""Delimited text: what stands for missing, which line a row is on, and text that is not what it should be."""

import pytest
from data_files import COLUMNS, F, Y, message, write_csv

from trueness import summarize, summarize_files
from trueness.engines.files.table import MISSING_WORDS
from trueness.errors import InputError


@pytest.mark.parametrize("word", sorted(MISSING_WORDS))
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
    "several line ends": (b"y,p\r\n1,0.5\n0,0.2\n", "line 2: ends in another way than the lines before"),
    "one other line end": (b"y,p\n1,0.5\n0,0.2\r\n", "line 3: ends in another way"),
    "a zero byte in another column": (b"y,p,x\n1,0.5,a\n1,0.3,b\x00c\n", "line 3: holds a zero byte"),
    "latin-1 in another column": (b"y,p,x\n1,0.5,a\n1,0.3,caf\xe9\n", "line 3: is not UTF-8"),
    "a letter cut short": (b"y,p,x\n1,0.5,a\n1,0.3,caf\xc3", "line 3: is not UTF-8"),
    "a cell too many that is empty": (b"y,p\n1,0.5\n1,0.3,\n", "line 3: has another number of cells than the 2"),
    "a cell too many that says missing": (b"y,p\n1,0.5\n1,0.3,NA\n", "line 3: has another number of cells than the 2"),
    "quoted cells too many": (b'y,p\n1,"0.5"\n1,"0.3",""\n', "line 3: has another number of cells than the 2"),
    "an empty cell too many among quoted delimiters": (b'x,y,p\n"a,b",1,0.5\n"a,b",1,0.3,\n', "line 3: has another number"),
    "text after a quote": (b'y,p\n1,0.5\n1,"0.3"x\n', "line 3: a quote is not closed, or text follows a closed one"),
    "a quote that is not closed": (
        b'y,p,x\n1,0.5,"a\n0,0.2,b\n',
        "line 2: a quote is not closed, or text follows a closed one. Mend",
    ),
    "a zero byte alone in a cell": (b"y,p\n0,0.1\n\x00,0.2\n", "line 3: .* is not a number: it holds a zero byte"),
    "a space after a quote": (b'y,p\n1,0.5\n1,"0.3" \n', "line 3: .*for what follows its quotes"),
    "a cell of 4 MB": (b"y,p,x\n1,0.5,a\n1,0.3," + b"b" * 4_000_000 + b"\n", "line 3: has 4000006 bytes"),
    "digits parted by an underscore": (b"y,p\n1,0.5\n1,0.1_5\n", "column 'p': 1 of 2 values is text.*line 3"),
    "an outcome with an underscore": (b"y,p\n1,0.5\n0_1,0.3\n", "column 'y': 1 of 2 values is text.*line 3"),
    "a line end within the header": (b'y,p,"a\nb"\r\n1,0.5,x\r\n', "lines end in different ways"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_text(tmp_path, name):
    content, expected = BROKEN[name]
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(InputError, match=expected) as caught:
        summarize_files(tmp_path / "a.csv", **COLUMNS)
    assert "a.csv" in str(caught.value)
    assert not any(word in str(caught.value) for word in ("ignore_errors", "state machine", "Expected", "Maximum"))


def test_what_looks_odd_and_is_not(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('y,p,id\n1, "0.5","a,b"\n "0",0.2,12_3\n1,0.75,5" disc\n')
    assert summarize_files(path, **COLUMNS) == summarize([1, 0, 1], [0.5, 0.2, 0.75])
    assert {*summarize_files(path, **COLUMNS, by="id")} == {"a,b", "12_3", '5" disc'}
    path.write_bytes(b"y#p\n1#0.5\n0#NA\n")
    assert summarize_files(path, **COLUMNS, delimiter="#", nan="drop").n == 1


def test_a_delimiter_by_name(tmp_path):
    path = write_csv(tmp_path / "a.csv", {"y": Y, "p": F}, "%")
    assert "only 1 column found" in message(path)
    assert summarize_files(path, **COLUMNS, delimiter="%") == summarize(Y, F)
    assert "is not one character" in message(path, delimiter="%%")
