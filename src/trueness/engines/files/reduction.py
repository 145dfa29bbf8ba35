"""Rows of files → sums on a ruler, a piece at a time, by the array engine."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from trueness.engines.arrays.grouped import ExtremeWeightsMet, GroupedSums
from trueness.engines.arrays.plain import SoftLabelMet
from trueness.engines.arrays.summarize import reduce_some
from trueness.engines.files.checkpoint import Checkpoint
from trueness.engines.files.group_codes import Group, GroupCodes
from trueness.engines.files.pieces import Piece, pieces
from trueness.engines.files.reader import Progress, Reader
from trueness.engines.files.rows_on_disk import rows_on_disk
from trueness.errors import InputError
from trueness.inputs.rows import Rows, raise_bad_rows, weight_exponent
from trueness.summary.ruler import Ruler
from trueness.summary.summary import Summary, empty_summary


@dataclass(frozen=True, slots=True)
class Reduction:
    """Reduces what a reader reads, so many rows at a time."""

    reader: Reader
    on: Ruler
    piece_rows: int
    progress: Progress | None = None

    def total(self, checkpoint: Checkpoint | None = None, *, floats: bool = False) -> Summary:
        """All rows; with a checkpoint those that an earlier run has reduced are left out, and it is kept up to date."""
        done, before = (0, None) if checkpoint is None or floats else checkpoint.load()
        total = empty_summary(self.on) if before is None else before
        floats = floats or not total.exact
        for rows, _ in self._pieces(skip=done):
            part = self._reduced(rows, floats)
            if total.n and total.exact != part.exact:  # a soft label met late: all rows again, in float64
                return self.total(checkpoint, floats=True)
            total = total + part
            done += len(rows)
            if checkpoint is not None:
                checkpoint.save(done, total)
        return total

    def by_group(self, groups: GroupCodes) -> dict[Group, Summary]:
        """The rows of every group, in one table whatever the number of groups."""
        try:
            return self._together(groups, floats=self.reader.columns.weight is not None)
        except SoftLabelMet:
            return self._together(groups, floats=True)
        except ExtremeWeightsMet:
            return self._one_by_one(groups)

    def _together(self, groups: GroupCodes, *, floats: bool) -> dict[Group, Summary]:
        sums, numbers = GroupedSums(self.on, floats=floats), dict[int, int]()
        for rows, codes in self._pieces():
            values, inverse = np.unique(np.asarray(codes), return_inverse=True)
            number = np.array([numbers.setdefault(code, len(numbers)) for code in values.tolist()])
            try:
                sums.add(rows, number[inverse])
            except InputError:
                self._raise_unusable()
        return sums.summaries({number: groups.group(code) for code, number in numbers.items()})

    def _one_by_one(self, groups: GroupCodes) -> dict[Group, Summary]:
        summaries: dict[Group, Summary] = {}
        for rows, codes in self._pieces():
            if codes is None:
                raise RuntimeError("groups were asked for")
            order = np.argsort(codes, kind="stable")
            values, starts = np.unique(codes[order], return_index=True)
            for code, places in zip(values.tolist(), np.split(order, starts[1:]), strict=True):
                group = groups.group(code)
                summaries[group] = summaries.get(group, empty_summary(self.on)) + self._reduced(rows.taken(places), True)
        return summaries

    def _pieces(self, skip: int = 0) -> Iterator[Piece]:
        return pieces(self.reader, self.reader.batches(self.progress), self.piece_rows, skip)

    def _reduced(self, rows: Rows, floats: bool) -> Summary:
        try:
            return reduce_some(rows, self.on, floats=floats)
        except InputError:
            self._raise_unusable()

    def _raise_unusable(self) -> NoReturn:
        """What cannot be used, among all rows, so that counts and places are those of the files."""
        rows = rows_on_disk(self.reader)
        weight_exponent(rows)  # raises for weights whose sum overflows
        raise_bad_rows(rows)
