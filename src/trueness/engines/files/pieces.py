"""Rows a few million at a time, always cut at the same places: however they come, the sums are the same bits."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from trueness._types import Array
from trueness.engines.files.reader import Batch, Reader
from trueness.inputs.rows import Rows


class Piece(NamedTuple):
    """Rows, and the code of each one's group where there are groups."""

    rows: Rows
    codes: Array | None


def pieces(reader: Reader, batches: Iterable[Batch], size: int, skip: int = 0) -> Iterator[Piece]:
    """The rows of a reader's batches, `size` of them in each piece but the last, without the first `skip`.

    All pieces use the same memory: each lives until the next is asked for.
    """
    for y, f, *rest in _cut(batches, reader.dtypes, size, skip):
        w = rest.pop(0) if reader.columns.weight is not None else None
        yield Piece(reader.rows(y, f, w, reader.columns.prediction), rest[0] if reader.columns.axes else None)


def _cut(batches: Iterable[Batch], dtypes: Sequence[str], size: int, skip: int) -> Iterator[Batch]:
    piece = [np.empty(size, dtype=dtype) for dtype in dtypes]
    rows = seen = 0
    for batch in batches:
        start = max(skip - seen, 0)  # rows of this batch that are left out
        seen += len(batch[0])
        while start < len(batch[0]):
            taken = min(size - rows, len(batch[0]) - start)
            for column, values in zip(piece, batch, strict=True):
                column[rows : rows + taken] = values[start : start + taken]
            rows, start = rows + taken, start + taken
            if rows == size:
                yield piece
                rows = 0
    if rows:
        yield [column[:rows] for column in piece]
