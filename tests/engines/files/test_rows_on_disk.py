"""Messages about all rows of the files, of which only a piece is in memory."""

import numpy as np
import pytest
from data_files import F, N, W, Y, in_pieces, write_parquet

from trueness.errors import InputError


@pytest.mark.parametrize("piece", [64, 1 << 22])
def test_all_problems_at_once_also_where_rows_come_in_pieces(tmp_path, piece):
    f, y, w = F.copy(), Y.astype(float), W.copy()
    f[[300, N - 1]], y[[5, 200]], w[400] = -0.5, np.nan, -1
    path = write_parquet(tmp_path / "a.parquet", {"y": y, "p": f, "w": w}, row_group_size=50)
    with pytest.raises(InputError) as caught:
        in_pieces(path, piece, weight="w")
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(f"column 'p': 2 of {N} values are outside [0, 1] (first: row 300 of ")
    assert lines[1].startswith(f"column 'y': 2 of {N} values are missing or not finite (first: row 5 of ")
    assert lines[2].startswith(f"column 'w': 1 of {N} values is negative (first: row 400 of ")
