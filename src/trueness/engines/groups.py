"""Very many groups at once: one table of sums by group and cell instead of a reduction for each group."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._moments import INTEGER_SUMS, NUMERATOR_BITS
from trueness.engines._plain import SoftLabelMet, powers
from trueness.inputs import DROPPABLE, REASONS, Rows, classify, raise_bad_rows
from trueness.ruler import Ints, Ruler
from trueness.summary import Summary, empty_summary

_CHUNK = 1 << 20
_CLIPPED = 1  # counted beside the codes of rows that cannot be used, which are negative
_PENDING = 1 << 23  # lines of tables that are not merged yet


class GroupedSums:
    """Integer sums of hard labels without weights, by group and cell."""

    def __init__(self, on: Ruler) -> None:
        self.on = on
        self._keys: list[Ints] = []
        self._tables: list[Ints] = []  # [line, 4·label + (n, R1, R2, R3)]
        self._pending = 0
        self._counts: dict[tuple[int, int], int] = {}  # (group, code) → rows
        self._notes: set[str] = set()

    def add(self, rows: Rows, groups: Ints) -> None:
        """Add rows, each with the number of its group; raises for rows that are not allowed."""
        self._notes |= set(rows.notes)
        for start in range(0, len(rows), _CHUNK):
            stop = min(start + _CHUNK, len(rows))
            given = rows.f.chunk(start, stop), rows.y.chunk(start, stop)
            codes, f, y, _, clipped = classify(rows, *given, None)
            group = groups[start:stop]
            for x in given if clipped else ():
                moved = (codes == 0) & ((x < 0) | (x > 1))
                self._count(group[moved], np.full(int(moved.sum()), _CLIPPED))
            if codes.any():
                met = np.unique(codes[codes < 0])
                if any(rows.nan == "raise" or int(code) not in DROPPABLE for code in met):
                    raise_bad_rows(rows)
                self._count(group[codes < 0], codes[codes < 0])
                used = codes == 0
                f, y, group = f[used], y[used], group[used]
            self._add(f, y, group)

    def _count(self, groups: Ints, codes: NDArray[Any]) -> None:
        pairs, sizes = np.unique(np.stack([groups, codes.astype(np.int64)]), axis=1, return_counts=True)
        for group, code, size in zip(*pairs.tolist(), sizes.tolist(), strict=True):
            self._counts[group, code] = self._counts.get((group, code), 0) + size

    def _add(self, f: NDArray[Any], y: NDArray[Any], group: Ints) -> None:
        label = y != 0
        if np.any(label & (y != 1)):
            raise SoftLabelMet
        located = self.on.locate(f)
        key = group * self.on.cells + located.cell
        terms = [np.ones(len(f)) if term is None else term for term in powers(located.r)]
        table = np.zeros((len(f), 8), dtype=np.int64)
        for j, term in enumerate(terms):
            table[np.arange(len(f)), 4 * label + j] = term
        self._keys.append(key)
        self._tables.append(table)
        self._pending += len(key)
        self._merge(full=self._pending > _PENDING)

    def _merge(self, *, full: bool) -> None:
        """Lines of one group and cell put together: of the last table, or of all."""
        first = 0 if full else len(self._keys) - 1
        keys = np.concatenate(self._keys[first:])
        table = np.concatenate(self._tables[first:])
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))[: len(keys)]
        self._keys[first:] = [keys[starts]]
        self._tables[first:] = [np.add.reduceat(table[order], starts, axis=0) if len(keys) else table]
        self._pending = sum(map(len, self._keys)) if not full else 0

    def summaries(self, names: Mapping[int, Any]) -> dict[Any, Summary]:
        """The summary of every group; names that are equal are one group."""
        found: dict[Any, Summary] = {}
        if self._keys:
            self._merge(full=True)
        keys = self._keys[0] if self._keys else np.zeros(0, dtype=np.int64)
        sums = _split(self._tables[0]) if self._keys else np.zeros((14, 0), dtype=np.int64)
        group, cells = keys // self.on.cells, keys % self.on.cells
        present, starts = np.unique(group, return_index=True)
        ends = np.append(starts[1:], len(group))[: len(starts)]
        rejected: dict[int, dict[str, int]] = {}
        for (number, code), count in sorted(self._counts.items()):
            if code != _CLIPPED:
                rejected.setdefault(number, {})[REASONS[code]] = count
        notes = tuple(sorted(self._notes))
        parts = {int(number): slice(a, b) for number, a, b in zip(present, starts, ends, strict=True)}
        for number, name in names.items():
            at = parts.get(number)
            part = empty_summary(self.on) if at is None else _part(self.on, cells[at], sums[:, at])
            clipped = self._counts.get((number, _CLIPPED), 0)
            part = replace(part, rejected=rejected.get(number, {}), clipped=clipped, source=notes)
            found[name] = found[name] + part if name in found else part
        return found


def _split(table: Ints) -> Ints:
    """Sums as a summary keeps them: each power as a whole part and a numerator."""
    sums = np.empty((2, len(INTEGER_SUMS), len(table)), dtype=np.int64)
    for label in (0, 1):
        sums[label, 0] = table[:, 4 * label]
        for j in (1, 2, 3):
            sums[label, 2 * j - 1] = table[:, 4 * label + j] >> NUMERATOR_BITS
            sums[label, 2 * j] = table[:, 4 * label + j] & (2**NUMERATOR_BITS - 1)
    return sums.reshape(14, len(table))


def _part(on: Ruler, cells: Ints, sums: Ints) -> Summary:
    held = np.ascontiguousarray(sums)
    return Summary(ruler=on, cells=cells.copy(), sums=held, rows=held[0] + held[7])
