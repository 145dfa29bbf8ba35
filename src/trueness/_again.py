"""How the rows behind a summary are read again, at places finer than its cells."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from trueness._types import Floats, Ints
from trueness.errors import InputError


class RowsGoneError(Exception):
    """The rows are no longer there; the summary alone has to do."""


class RowsChangedError(InputError):
    """Other rows come than were summed."""


class Places(NamedTuple):
    """Some equal parts of the dyadic slots: part p of slot s is number s·parts + p."""

    number: Ints  # ascending
    parts: int  # a power of two

    @property
    def slots(self) -> Ints:
        """The slot of each place."""
        return self.number // self.parts


class PlaceSums(NamedTuple):
    """Sums over places that hold rows, in order."""

    number: Ints
    rows: Ints
    weight: Floats  # Σw
    e: Floats  # Σw(y − f)
    positive: Floats  # Σw·max(y − f, 0)
    least: Floats  # score
    most: Floats


class ScoreSums(NamedTuple):
    """Sums over rows of equal scores, in order."""

    f: Floats
    weight: Floats  # Σw
    e: Floats  # Σw(y − f)


class Again(Protocol):
    """Reads usable rows again; raises RowsGoneError where they are gone."""

    @property
    def lasting(self) -> bool:
        """Whether it is a fault if other rows come; a frame in memory may be edited at will."""

    def sums(self, among: Places, parts: int) -> PlaceSums:
        """Sums over the finer places, with so many `parts` a slot, within these."""

    def scores(self, among: Places) -> Iterable[ScoreSums]:
        """Every score of these places and no others, a piece of the rows at a time."""
