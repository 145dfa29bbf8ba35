"""All rows of the files as one `Rows` that holds none of them: what messages are made from, whose counts are of all files."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from trueness._types import Array
from trueness.engines.files.reader import Reader
from trueness.inputs.columns import Column, columns_text
from trueness.inputs.rows import Rows, read_rows


def rows_on_disk(reader: Reader) -> Rows:
    """All rows, read from the files again as often as they are looked at."""
    total = sum(len(batch[0]) for batch in reader.batches())
    names = columns_text(reader.columns.numbers)
    y, f, *w = [_column(reader, k, name, total) for k, name in enumerate(names)]
    return Rows(y=y, f=f, w=w[0] if w else None, nan=reader.reading.nan, notes=())


def _column(reader: Reader, k: int, name: str, total: int) -> Column:
    like = read_rows(np.zeros(1), np.zeros(1, reader.dtypes[k]), names=("", name, "")).f
    return replace(like, length=total, fetch=_Fetch(reader, k), place=reader.place)


class _Fetch:
    """Values of one column of a batch; rows that follow those of the last call are read on from there."""

    def __init__(self, reader: Reader, k: int) -> None:
        self._reader, self._k = reader, k
        self._next, self._rest = -1, iter(list[Array]())  # where the reading stands, and what follows

    def __call__(self, first: int, last: int) -> Array:
        if first != self._next:
            self._rest = self._values(first)
        parts, size = list[Array](), 0
        while size < last - first and (part := next(self._rest, None)) is not None:
            parts.append(part)
            size += len(part)
        values: Array = np.concatenate(parts)
        self._next, self._rest = last, _preceded(values[last - first :], self._rest)
        return values[: last - first]

    def _values(self, first: int) -> Iterator[Array]:
        start = 0
        for batch in self._reader.batches():
            yield batch[self._k][max(first - start, 0) :].copy()
            start += len(batch[self._k])


def _preceded(first: Array, rest: Iterator[Array]) -> Iterator[Array]:
    if len(first):
        yield first
    yield from rest
