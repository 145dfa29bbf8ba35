"""The ruler: the one partition of [0, 1] on which everything is summed, and the rule that puts a score into its cell.

Edges lie at k/2^14 everywhere, at k/2^20 within 2^-6 of either end (rare events and saturated networks live there), at
k/100 and k/15, and at k/m for every bin count m asked for besides. Cells are [edge, next edge), the last one closed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._frozen import column, frozen
from trueness._types import Floats, Ints
from trueness.options import check_bin_counts

COARSE = 2**14
FINE = 2**20
END = 2.0**-6
STANDARD = (COARSE, 100, 15)

# Dyadic slots in order of score: 2^14 fine ones, the coarse ones between, 2^14 fine ones.
_LOW = FINE // 64
_MIDDLE = COARSE - 2 * (COARSE // 64)
SLOTS = 2 * _LOW + _MIDDLE
# By zone (low end, middle, high end): cells per unit, and what turns floor(f * unit) into a slot.
ZONE_UNIT = np.array([FINE, COARSE, FINE], dtype=np.float64)
ZONE_OFFSET = np.array([0, _LOW - COARSE // 64, _LOW + _MIDDLE - (FINE - _LOW)], dtype=np.int64)


def uniform_edges(bins: int) -> Floats:
    """The float64 edges k/bins, k = 0 … bins."""
    return np.arange(bins + 1) / bins


class Located(NamedTuple):
    """Scores on the ruler: the cell, and the position within the dyadic slot that holds the cell."""

    cell: Ints
    r: Floats  # f·u − k, in [0, 1]; 1 only at f = 1


@dataclass(frozen=True)
class Ruler:
    """A partition of [0, 1]: the standard edges and those of the bin counts in `bins`. Make one with `ruler()`."""

    bins: tuple[int, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return ruler, (self.bins,)

    @property
    def starts(self) -> tuple[int, ...]:
        """Where edges were taken away: the cells of the whole ruler at which those that are left begin."""
        return ()

    @property
    def shown(self) -> str:
        """Which ruler this is, for people."""
        return f"bins={self.bins}" + (f" in {self.cells} cells" if self.starts else "")

    @column
    def extra(self) -> Floats:
        """Edges that are not dyadic, in order."""
        counts = (*STANDARD[1:], *self.bins)
        edges = np.unique(np.concatenate([uniform_edges(m)[1:-1] for m in counts]))
        return edges[_slot(edges)[1] > 0]

    @column
    def extra_before(self) -> NDArray[np.int32]:
        """For each dyadic slot, how many extra edges lie below it; one entry more than slots."""
        slots = _slot(self.extra)[0]
        return np.searchsorted(slots, np.arange(SLOTS + 1), side="left").astype(np.int32)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return SLOTS + len(self.extra)

    @column
    def slot_of_cell(self) -> Ints:
        """The dyadic slot that holds each cell."""
        return np.repeat(np.arange(SLOTS), np.diff(self.extra_before) + 1)

    @column
    def cut(self) -> NDArray[np.uint8]:
        """1 for each dyadic slot that extra edges cut, else 0."""
        return (np.diff(self.extra_before) > 0).astype(np.uint8)

    @column
    def row_of_cell(self) -> Ints:
        """Where compiled kernels keep a cell: slots first, in order, then what begins at each extra edge."""
        slot, cell = self.slot_of_cell, np.arange(self.cells)
        uncut = cell - slot == self.extra_before[slot]
        return np.where(uncut, slot, SLOTS + cell - slot - 1)

    @column
    def unit(self) -> Floats:
        """u of each cell: its slot is [k/u, (k+1)/u)."""
        return ZONE_UNIT[_zone_of_slot(self.slot_of_cell)]

    @column
    def k(self) -> Floats:
        """k of each cell: its slot is [k/u, (k+1)/u)."""
        slots = self.slot_of_cell
        return (slots - ZONE_OFFSET[_zone_of_slot(slots)]).astype(np.float64)

    @column
    def edges(self) -> Floats:
        """All edges, 0 and 1 included."""
        dyadic = np.unique(self.k / self.unit)
        return np.sort(np.concatenate([dyadic, self.extra, [1.0]]))

    def locate(self, scores: Floats) -> Located:
        """Cell of each score in [0, 1], and its position r within the dyadic slot."""
        slot, r = _slot(scores)
        where, passed = self._passed(slot, scores)
        cell = slot + self.extra_before[slot]
        cell[where] += passed
        return Located(cell, r)

    def rows(self, scores: Floats) -> Located:
        """The same with `row_of_cell` in place of the cell: what an accumulator that orders its cells so is indexed by."""
        slot, r = _slot(scores)
        where, passed = self._passed(slot, scores)
        beyond = where[passed > 0]
        slot[beyond] = SLOTS + self.extra_before[slot[beyond]] + passed[passed > 0] - 1
        return Located(slot, r)

    def slots(self, scores: Floats) -> Ints:
        """Dyadic slot of each score."""
        return _slot(scores)[0]

    def _passed(self, slot: Ints, scores: Floats) -> tuple[Ints, Ints]:
        """Positions of the scores whose slot extra edges cut, and how many of these edges each is at or above."""
        where = np.flatnonzero(self.cut[slot])
        first, inside = self.extra_before[slot[where]], scores[where]
        # Edges that belong to later slots lie above every score here, so there is no need to know how many are this slot's.
        passed = np.zeros(len(where), dtype=np.int64)
        for j in range(self.most_cuts):
            passed += inside >= self.extra_padded[first + j]
        return where, passed

    @cached_property
    def most_cuts(self) -> int:
        """The largest number of extra edges that cut a slot."""
        return int(np.diff(self.extra_before).max())

    @column
    def extra_padded(self) -> Floats:
        """The extra edges, and then as many that no score reaches."""
        return np.concatenate([self.extra, np.full(self.most_cuts, np.inf)])

    def has(self, bins: int) -> bool:
        """Whether `bins` equal-width bins are unions of cells."""
        return any(m % bins == 0 for m in (*STANDARD, *self.bins))

    def bin_of_cell(self, bins: int) -> Ints:
        """The equal-width bin that holds each cell (`has(bins)` must be true)."""
        return _bin_of_cell(self, bins)


def places(scores: Floats, parts: int) -> Ints:
    """Which of `parts` equal parts, a power of two, of the dyadic slots each score lies in: slot · parts + part; exact."""
    slot, r = _slot(scores)
    return slot * parts + np.minimum((r * parts).astype(np.int64), parts - 1)


@lru_cache(maxsize=1)
def slot_edges() -> Floats:
    """Where the dyadic slots begin, and 1."""
    slots = np.arange(SLOTS)
    zone = _zone_of_slot(slots)
    return frozen(np.append((slots - ZONE_OFFSET[zone]) / ZONE_UNIT[zone], 1.0))


def _zone_of_slot(slot: Ints) -> Ints:
    return (slot >= _LOW).astype(np.int64) + (slot >= _LOW + _MIDDLE)


def _slot(scores: Floats) -> tuple[Ints, Floats]:
    """Dyadic slot of each score and the position r = f·u − k in it; both exact, the units being powers of two."""
    slot, r = _in_zone(scores, 1)
    for zone, where in ((0, np.flatnonzero(scores < END)), (2, np.flatnonzero(scores >= 1 - END))):
        if len(where):
            slot[where], r[where] = _in_zone(scores[where], zone)
    return slot, r


def _in_zone(scores: Floats, zone: int) -> tuple[Ints, Floats]:
    unit = ZONE_UNIT[zone]
    scaled = scores * unit
    k = scaled.astype(np.int64)
    if zone == 2:
        np.minimum(k, FINE - 1, out=k)
    scaled -= k
    k += ZONE_OFFSET[zone]
    return k, scaled


@lru_cache(maxsize=16)
def _bin_of_cell(on: Ruler, bins: int) -> Ints:
    return frozen(np.searchsorted(uniform_edges(bins)[1:-1], on.edges[:-1], side="right"))


@lru_cache(maxsize=16)
def _ruler(bins: tuple[int, ...]) -> Ruler:
    return Ruler(bins)


def ruler(bins: Iterable[int] | int = ()) -> Ruler:
    """The standard ruler with the edges of further bin counts, one or several.

    Examples
    --------
    >>> ruler().cells
    48746
    >>> ruler((12,)).has(6)
    True
    """
    counts = set(check_bin_counts(bins))
    needed = {b for b in counts if not any(m % b == 0 for m in STANDARD)}
    return _ruler(tuple(sorted(b for b in needed if not any(m != b and m % b == 0 for m in needed))))
