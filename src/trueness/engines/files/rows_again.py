"""The rows of files once more, where exact extremes need them at places finer than the cells of a summary."""

from collections.abc import Iterator

import numpy as np

from trueness._types import Ints
from trueness.engines.exact import InPieces
from trueness.engines.files.integrity import WatchedFiles
from trueness.engines.files.pieces import pieces
from trueness.engines.files.reader import Reader
from trueness.inputs.rows import Arrays
from trueness.summary.ruler import COARSE, Ruler


def rows_again(reader: Reader, files: WatchedFiles, on: Ruler, piece_rows: int) -> InPieces:
    """All rows, as long as the files are what they were; of these at least the ones in the slots asked for."""

    def read(slots: Ints) -> Iterator[Arrays]:
        files.require_unchanged()
        cells = _around(on, slots)
        batches = reader.batches() if cells is None else reader.chosen(cells)
        for rows, _ in pieces(reader, batches, piece_rows):
            yield rows.arrays(part=True)

    return InPieces(on, read)


def _around(on: Ruler, slots: Ints) -> Ints | None:
    """The cells of width 2^-14 that hold these slots, and what rounding may carry beyond 0 and 1; None where they are many."""
    first = on.extra_before[slots] + slots  # the cell at the slot's lower edge
    cells = np.unique(np.floor(on.edges[first] * COARSE).astype(np.int64))
    if len(cells) > COARSE // 8:
        return None
    beyond = [-1] * (0 in cells) + [COARSE] * (COARSE - 1 in cells)
    return np.append(cells, np.array(beyond, dtype=np.int64))
