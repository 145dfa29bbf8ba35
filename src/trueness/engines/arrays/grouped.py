"""Very many groups at once: one table of sums by group and cell instead of a reduction for each group."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._types import Floats, Ints
from trueness.engines.arrays.plain import SoftLabelMet, float_terms, powers
from trueness.inputs.faults import ZERO, by_reason, count_codes, refused
from trueness.inputs.rows import LARGEST_WEIGHT, SMALLEST_WEIGHT, Rows, classify, raise_bad_rows
from trueness.summary.moments import FLOAT_SUMS, INTEGER_SUMS, NUMERATOR_BITS
from trueness.summary.ruler import Ruler
from trueness.summary.summary import Summary

_CHUNK = 1 << 19
_PENDING = 1 << 26  # numbers in tables that are not merged yet
_RUN = 1 << 12  # lines added in sequence: rounding grows with their number


class ExtremeWeightsMet(Exception):  # noqa: N818 - a signal, not an error
    """Weights that must be scaled before they are summed, by group: reduce one group after the other."""


class GroupedSums:
    """Sums by group and cell: integers for hard labels without weights, or `floats`."""

    def __init__(self, on: Ruler, *, floats: bool = False) -> None:
        self.on, self.floats = on, floats
        self._keys: list[Ints] = []
        self._tables: list[NDArray[Any]] = []  # [line, 4·label + (n, R1, R2, R3)], or [line, FLOAT_SUMS, rows, soft labels]
        self._pending = 0
        self._counts: dict[int, Counter[int]] = {}  # group → code → rows
        self._clipped = Counter[int]()  # group → values
        self._notes: set[str] = set()

    def add(self, rows: Rows, groups: Ints) -> None:
        """Add rows, each with the number of its group; raises for rows that are not allowed."""
        self._notes |= set(rows.notes)
        for start in range(0, len(rows), _CHUNK):
            stop = min(start + _CHUNK, len(rows))
            given = rows.f.chunk(start, stop), rows.y.chunk(start, stop)
            weights = None if rows.w is None else rows.w.chunk(start, stop)
            codes, f, y, w, clipped = classify(rows, *given, weights)
            group = groups[start:stop]
            if refused(count_codes(codes), rows.nan):
                raise_bad_rows(rows)
            if w is not None:
                codes = np.where((codes == 0) & (w == 0), np.int8(ZERO), codes)
                scaled = w[codes == 0]
                if len(scaled) and not SMALLEST_WEIGHT <= scaled.min() <= scaled.max() <= LARGEST_WEIGHT:
                    raise ExtremeWeightsMet
            for x in given if clipped else ():
                moved = (codes == 0) & ((x < 0) | (x > 1))
                self._clipped.update(group[moved].tolist())
            if codes.any():
                used = codes == 0
                self._count(group[~used], codes[~used])
                f, y, w, group = f[used], y[used], None if w is None else w[used], group[used]
            located = self.on.locate(f)
            table = self._float_lines(f, y, w, located.r) if self.floats else self._integer_lines(y, located.r)
            self._keys.append(group * self.on.cells + located.cell)
            self._tables.append(table)
            self._pending += table.size
            self._merge(full=self._pending > _PENDING)

    def _count(self, groups: Ints, codes: NDArray[Any]) -> None:
        pairs, sizes = np.unique(np.stack([groups, codes.astype(np.int64)]), axis=1, return_counts=True)
        for group, code, size in zip(*pairs.tolist(), sizes.tolist(), strict=True):
            self._counts.setdefault(group, Counter())[code] += size

    def _integer_lines(self, y: NDArray[Any], r: Floats) -> Ints:
        label = y != 0
        if np.any(label & (y != 1)):
            raise SoftLabelMet
        table, line = np.zeros((len(y), 8), dtype=np.int64), np.arange(len(y))
        for j, term in enumerate(powers(r)):
            table[line, 4 * label + j] = 1 if term is None else term
        return table

    def _float_lines(self, f: Floats, y: NDArray[Any], w: Floats | None, r: Floats) -> Floats:
        table = np.ones((len(f), len(FLOAT_SUMS) + 2))
        y = y.astype(np.float64, copy=False)
        for j, term in enumerate(float_terms(f, y, w, r)):
            table[:, j] = term
        table[:, -1] = (y != 0) & (y != 1)
        return table

    def _merge(self, *, full: bool) -> None:
        """Lines of one group and cell put together: of the last table, or of all."""
        first = 0 if full else len(self._keys) - 1
        keys = np.concatenate(self._keys[first:])
        table = np.concatenate(self._tables[first:])
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))[: len(keys)]
        self._keys[first:] = [keys[starts]]
        self._tables[first:] = [_added(table[order], starts) if len(keys) else table]
        self._pending = sum(part.size for part in self._tables) if not full else 0

    def summaries(self, names: Mapping[int, Any]) -> dict[Any, Summary]:
        """The summary of every group; names that are equal are one group."""
        by_name: dict[Any, Summary] = {}
        if self._keys:
            self._merge(full=True)
        keys = self._keys[0] if self._keys else np.zeros(0, dtype=np.int64)
        table: NDArray[Any] = self._tables[0] if self._keys else np.zeros((0, 8), dtype=np.int64)
        sums, rows, soft = (_float_columns if self.floats else _integer_columns)(table)
        group, cells = keys // self.on.cells, keys % self.on.cells
        present, starts = np.unique(group, return_index=True)
        ends = np.append(starts[1:], len(group))[: len(starts)]
        rejected = {number: by_reason(counts) for number, counts in self._counts.items()}
        notes = tuple(sorted(self._notes))
        parts = {int(number): slice(a, b) for number, a, b in zip(present, starts, ends, strict=True)}
        for number, name in names.items():
            lines = parts.get(number, slice(0, 0))
            part = Summary(
                ruler=self.on,
                cells=cells[lines],
                sums=sums[:, lines],
                rows=rows[lines],
                soft=bool(soft[lines].any()),
                rejected=rejected.get(number, {}),
                clipped=self._clipped[number],
                source=notes,
            )
            by_name[name] = by_name[name] + part if name in by_name else part
        return by_name


def _added(table: NDArray[Any], starts: Ints) -> NDArray[Any]:
    """Sums of the lines from each start to the next, of short runs first."""
    cut = np.zeros(len(table), dtype=bool)
    cut[starts] = cut[::_RUN] = True
    cuts = np.flatnonzero(cut)
    sums: NDArray[Any] = np.add.reduceat(np.add.reduceat(table, cuts, axis=0), np.searchsorted(cuts, starts), axis=0)
    return sums


def _float_columns(table: NDArray[Any]) -> tuple[NDArray[Any], Ints, NDArray[Any]]:
    """Sums, rows and soft labels of the lines."""
    return table[:, :-2].T, table[:, -2].astype(np.int64), table[:, -1]


def _integer_columns(table: NDArray[Any]) -> tuple[NDArray[Any], Ints, NDArray[Any]]:
    """Sums as a summary keeps them, each power as a whole part and a numerator; rows; no soft labels."""
    sums = np.empty((2, len(INTEGER_SUMS), len(table)), dtype=np.int64)
    for label in (0, 1):
        sums[label, 0] = table[:, 4 * label]
        for j in (1, 2, 3):
            sums[label, 2 * j - 1] = table[:, 4 * label + j] >> NUMERATOR_BITS
            sums[label, 2 * j] = table[:, 4 * label + j] & (2**NUMERATOR_BITS - 1)
    return sums.reshape(14, len(table)), table[:, 0] + table[:, 4], np.zeros(len(table), dtype=np.int64)
