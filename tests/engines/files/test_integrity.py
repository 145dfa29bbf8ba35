"""Files that change or are damaged: an error, never another number."""

import random

import pytest
from data_files import COLUMNS, F, G, Y, message, write_csv, write_json, write_parquet

from trueness import summarize, summarize_files
from trueness.errors import InputError


def test_files_that_change_while_they_are_read(tmp_path):
    path = write_csv(tmp_path / "a.csv", {"y": Y, "p": F})

    def append(done, total):
        with path.open("a") as file:
            file.write("1,0.5\n")

    assert "the input changed" in message(path, progress=append)


@pytest.mark.parametrize("writer", [write_csv, write_json])
def test_cut_and_altered_gzip(tmp_path, writer):
    whole = writer(tmp_path / ("a.csv.gz" if writer is write_csv else "a.json.gz"), {"y": Y, "p": F})
    content = whole.read_bytes()
    place = random.Random(3)
    for _ in range(20):
        whole.write_bytes(content[: place.randrange(1, len(content))])
        message(whole)
    outcomes = set()
    for _ in range(20):
        altered = bytearray(content)
        altered[place.randrange(10, len(content))] ^= 1 << place.randrange(8)
        whole.write_bytes(altered)
        try:
            outcomes.add(summarize_files(whole, **COLUMNS) == summarize(Y, F))
        except InputError:
            outcomes.add("error")
    assert outcomes == {"error"}  # the checksum is checked, so that no flip passes


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_flipped_bit_where_pages_have_checksums(tmp_path, compression, version):
    options = {"write_page_checksum": True, "compression": compression, "data_page_version": version, "row_group_size": 170}
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F, "g": G}, **options)
    content, expected = path.read_bytes(), summarize(Y, F)
    assert summarize_files(path, **COLUMNS) == expected
    place = random.Random(6)
    errors = 0
    for _ in range(24):
        altered = bytearray(content)
        altered[place.randrange(len(content))] ^= 1 << place.randrange(8)
        path.write_bytes(altered)
        try:
            assert summarize_files(path, **COLUMNS) == expected
        except InputError:
            errors += 1
    assert errors > 8
