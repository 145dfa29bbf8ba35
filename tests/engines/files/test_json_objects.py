"""JSON objects, one a row: whole arrays, or one object after another."""

import gzip
import json

import numpy as np
import pytest
from data_files import COLUMNS, F, Y, message, write_json

from trueness import summarize, summarize_files
from trueness.engines.files.open_files import open_files
from trueness.errors import InputError
from trueness.inputs.arguments import Columns


@pytest.mark.parametrize("content", [b'{"y":1,"p":0.5}\n{"y":0,"p":0.', b'[{"y":1,"p":1},{"y":0', b"[1, 2]", b"{", b'{"y":1}'])
def test_broken_json(tmp_path, content):
    (tmp_path / "a.json").write_bytes(content)
    assert "a.json" in message(tmp_path / "a.json")


@pytest.mark.parametrize("bad", [0, 1, 4, 2500])
@pytest.mark.parametrize("between", ["\n", "\r\n", "\n\n"])
def test_an_object_that_is_no_json_is_named_by_its_row(tmp_path, bad, between):
    objects = ['{"y": 1, "p": 0.5}'] * 3000
    objects[bad] = '{"y": 0, "p": .4}'
    (tmp_path / "a.json").write_text(between.join(objects), newline="")
    assert f"a.json', row {bad}: is not JSON: unexpected character at byte 15. Mend the file" in message(tmp_path / "a.json")


def test_a_cut_array_of_objects(tmp_path):
    text = json.dumps([{"y": int(y), "p": float(f)} for y, f in zip(Y[:50], F[:50], strict=True)])
    whole = summarize(Y[:50], F[:50])
    for name, pack in (("a.json", lambda x: x), ("a.json.gz", gzip.compress)):
        path = tmp_path / name
        path.write_bytes(pack(text.encode()))
        assert summarize_files(path, **COLUMNS) == whole
        for cut in (1, 2, 3, *range(4, 200, 5)):
            path.write_bytes(pack(text[:-cut].encode()))
            with pytest.raises(InputError):
                summarize_files(path, **COLUMNS)


def test_digits_parted_by_underscores(tmp_path):
    (tmp_path / "a.json").write_text('[{"y": 1, "p": "0.25", "id": "1_2"}, {"y": 0, "p": "0.1_5", "id": "1_3"}]')
    assert "column 'p': 1 of 2 values is text, not numbers (first: row 1 of " in message(tmp_path / "a.json")
    (tmp_path / "a.json").write_text('[{"y": 1, "p": "0.25", "id": "1_2"}, {"y": 0, "p": 0.15, "id": "1_3"}]')
    assert summarize_files(tmp_path / "a.json", **COLUMNS) == summarize([1, 0], [0.25, 0.15])


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


def test_a_last_object_without_a_line_end_stays_last(tmp_path):
    path = tmp_path / "a.ndjson"
    path.write_bytes(write_json(path, {"y": Y, "p": F}).read_bytes().rstrip(b"\n"))
    with open_files(path, Columns(**COLUMNS)) as files:
        for _ in range(100):  # one reading in twenty gave it first
            np.testing.assert_array_equal(files.rows().f["p"], F)
