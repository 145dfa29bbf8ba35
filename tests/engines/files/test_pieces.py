"""Batches cut again into pieces of one size."""

import numpy as np
import pytest
from data_files import COLUMNS, F, N, Y, write_parquet

from trueness.engines.files.database import connect
from trueness.engines.files.pieces import pieces
from trueness.engines.files.reader import Reader
from trueness.engines.files.schema import described
from trueness.inputs.arguments import Columns, Reading


@pytest.mark.parametrize(("size", "skip"), [(1, N - 3), (7, 0), (300, 450), (N, 0), (N + 1, 1), (300, N), (300, N + 1)])
def test_pieces_are_cut_at_the_same_places_however_rows_come(tmp_path, size, skip):
    path = str(write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F}))
    columns, connection = Columns(**COLUMNS), connect()
    reader = Reader(connection, described(connection, [path], "parquet", columns, None), columns, Reading())
    for cuts in ([], [1, 2, 1000], range(0, N, 299)):
        batches = zip(np.split(Y.astype(float), cuts), np.split(F, cuts), strict=True)
        parts = [rows.arrays().f.copy() for rows, _ in pieces(reader, map(list, batches), size, skip)]
        assert [len(part) for part in parts] == [min(size, N - start) for start in range(skip, N, size)]
        np.testing.assert_array_equal(np.concatenate([F[:0], *parts]), F[skip:])
