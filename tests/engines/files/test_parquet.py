"""Parquet files: types, missing values and damage."""

import random

import numpy as np
import pytest
from data_files import COLUMNS, F, N, Y, message, write_parquet

from trueness import summarize, summarize_files
from trueness.errors import InputError


@pytest.mark.parametrize("column", [[{"a": 1}] * 2, [[0.5]] * 2, [b"x"] * 2, ["0.5"] * 2])
def test_types_that_are_no_numbers(tmp_path, column):
    write_parquet(tmp_path / "a.parquet", {"y": [0, 1], "p": column})
    assert "column 'p': is of type" in message(tmp_path)


def test_nan_in_parquet_whose_statistics_do_not_tell(tmp_path):
    holes = F.copy()
    holes[::5] = np.nan
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": holes, "z": np.where(Y, 2.0, np.nan)})
    assert f"{N // 5} of {N} values are missing" in message(path)
    assert summarize_files(path, **COLUMNS, nan="drop").n == N - N // 5
    found = summarize_files(path, outcome="z", prediction="p", nan="drop", pos_label=2)
    assert found.n == int((np.isfinite(holes) & (Y == 1)).sum())


def test_flipped_and_cut_parquet(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F}, compression="none", use_dictionary=False)
    content = path.read_bytes()
    place = random.Random(4)
    for _ in range(25):
        path.write_bytes(content[: place.randrange(1, len(content) - 1)])
        message(path)
    for _ in range(40):  # a flip in the footer is an error or changes nothing; in the data there is no checksum to tell
        altered = bytearray(content)
        altered[place.randrange(len(content) - 40, len(content))] ^= 1 << place.randrange(8)
        path.write_bytes(altered)
        try:
            found = summarize_files(path, **COLUMNS)
        except InputError:
            continue
        assert found == summarize(Y, F)
