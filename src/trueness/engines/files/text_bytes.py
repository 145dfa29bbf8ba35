"""What the bytes of a text file tell beside DuckDB, which lets it pass: zero bytes, other encodings, 0.1_5, too many cells."""

import codecs
import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness.engines.files.sources import open_text
from trueness.errors import InputError

_ZERO_TO_NINE = (0x30, 0x39)


@dataclass(slots=True)
class TextBytes:
    """What has been seen of a text file's bytes, part after part."""

    path: str
    delimiter: bytes = b""  # its first byte
    header: int = 0  # bytes before the first row
    delimiters: int = 0  # in all rows, without those within quotes
    underscores: bool = False  # whether one stands between digits: DuckDB reads 0.1_5 as 0.15
    _seen: int = 0
    _quoted: bool = False
    _decoder: codecs.IncrementalDecoder = field(default_factory=codecs.getincrementaldecoder("utf-8"))

    def add(self, part: bytearray) -> None:
        """Look at the next bytes."""
        if self._seen < self.header:
            skipped = min(self.header - self._seen, len(part))
            self._seen += skipped
            part = part[skipped:]
        if (zero := part.find(0)) >= 0:
            self._refuse(self._seen + zero, "holds a zero byte", "Write the file again, without it")
        if not part.isascii() or self._decoder.getstate()[0]:
            self._decode(part)
        if b"_" in part and not self.underscores:
            self.underscores = _between_digits(np.frombuffer(part, np.uint8))
        if self.delimiter:
            self._count(part)
        self._seen += len(part)

    def end(self) -> None:
        """Nothing follows."""
        self._decode(bytearray(), final=True)

    def _decode(self, part: bytearray, *, final: bool = False) -> None:
        pending = len(self._decoder.getstate()[0])
        try:
            self._decoder.decode(part, final)
        except UnicodeDecodeError as error:
            self._refuse(self._seen - pending + error.start, "is not UTF-8", "Save the file as UTF-8")

    def _count(self, part: bytearray) -> None:
        values = np.frombuffer(part, np.uint8)
        among = values == self.delimiter[0]
        if b'"' in part:
            within = np.logical_xor.accumulate(values == 0x22) ^ self._quoted
            self._quoted = bool(within[-1])
            among &= ~within
        elif self._quoted:
            return
        self.delimiters += int(np.count_nonzero(among))

    def _refuse(self, place: int, what: str, remedy: str) -> None:
        raise InputError(f"{self.path!r}, line {_line_at(self.path, place)}: {what}. {remedy}; nothing was counted.")


def _between_digits(values: NDArray[Any]) -> bool:
    places = np.flatnonzero(values == 0x5F)
    beside = values[np.stack([np.maximum(places - 1, 0), np.minimum(places + 1, len(values) - 1)])]
    # At either end of a part only one neighbour is known.
    digits = ((beside >= _ZERO_TO_NINE[0]) & (beside <= _ZERO_TO_NINE[1])) | (beside == 0x5F)
    return bool(digits.all(axis=0).any())


def _line_at(path: str, place: int) -> int:
    """The line, counted from 1, in which a byte stands."""
    with open_text(path) as file:
        before = file.read(place)
    return 1 + max(before.count(b"\n"), before.count(b"\r"))


def other_line_end(path: str) -> int | None:
    """The first line, counted from 1, that ends in another way than the first one; None where all end alike."""
    first, quoted = "", False
    with open_text(path) as file, io.TextIOWrapper(file, "utf-8", "replace", newline="") as text:
        for number, line in enumerate(text, start=1):
            quoted ^= line.count('"') % 2 == 1
            end = line[len(line.rstrip("\r\n")) :]
            first = first or end
            if end != first and end and not quoted:
                return number
    return None
