"""The rows of files once more, where a computation on their summary needs them at places finer than its cells."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from trueness._again import RowsGoneError
from trueness._types import Ints
from trueness.engines.again import InPieces
from trueness.engines.files.integrity import WatchedFiles
from trueness.engines.files.pieces import pieces
from trueness.engines.files.reader import Reader
from trueness.inputs.rows import Arrays
from trueness.summary.ruler import COARSE, Ruler


class FileRowsAgain:
    """Reads the rows of files again, as long as they are there and are what they were."""

    def __init__(self, reader: Reader, files: WatchedFiles, on: Ruler, piece_rows: int) -> None:
        self._reader, self._files, self._on, self._piece_rows = reader, files, on, piece_rows

    def of_all(self) -> InPieces:
        """All rows."""
        return InPieces(self._on, partial(self._read, None))

    def of_group(self, codes: Sequence[int]) -> InPieces:
        """The rows whose group has one of these codes."""
        return InPieces(self._on, partial(self._read, codes))

    def _read(self, codes: Sequence[int] | None, slots: Ints) -> Iterator[Arrays]:
        """The rows of these slots, and some beside them, a piece at a time."""
        if self._files.gone:
            raise RowsGoneError
        self._files.require_unchanged()
        cells = _around(self._on, slots)
        every = cells is None and codes is None
        batches = self._reader.batches() if every else self._reader.chosen(cells, codes)
        for rows, _ in pieces(self._reader, batches, self._piece_rows):
            yield rows.arrays(whole=False)


def _around(on: Ruler, slots: Ints) -> Ints | None:
    """The cells of width 2^-14 that hold these slots, and what rounding may carry beyond 0 and 1; None where they are many."""
    first = on.extra_before[slots] + slots  # the cell at the slot's lower edge
    cells = np.unique(np.floor(on.edges[first] * COARSE).astype(np.int64))
    if len(cells) > COARSE // 8:
        return None
    beyond = [-1] * (0 in cells) + [COARSE] * (COARSE - 1 in cells)
    return np.append(cells, np.array(beyond, dtype=np.int64))
