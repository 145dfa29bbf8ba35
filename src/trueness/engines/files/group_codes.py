"""Groups in files: a row carries a number, and which group that is is read once."""

from collections.abc import Hashable
from functools import cached_property
from typing import TypeAlias

import numpy as np

from trueness._types import Array
from trueness.engines.files.reader import Reader
from trueness.errors import InputError

Group: TypeAlias = Hashable  # a value of one column, or a tuple of several; None is missing


class GroupCodes:
    """The groups behind the codes of a reader's rows."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    @cached_property
    def _groups(self) -> dict[int, Group]:
        groups: dict[int, Group] = {}
        columns = self._reader.columns
        for table in self._reader.tables:
            expressions = ", ".join([table.group_code(columns), *table.keys(columns)])
            for code, *values in self._reader.fetched(table, f"DISTINCT {expressions}"):
                if columns.cluster is not None and values[-1] is None:
                    self._reader.clusters()  # which says where one is missing
                named = (*map(table.group_value, columns.by, values), *values[len(columns.by) :])
                group = named if len(named) > 1 else named[0]
                if groups.setdefault(code, group) != group:
                    raise RuntimeError(f"groups {groups[code]!r} and {group!r} have the same code")
        return groups

    def group(self, code: int) -> Group:
        """The group of a code."""
        if code not in self._groups:
            raise InputError("a group is found in one reading of the files and not in the next: the input changed.")
        return self._groups[code]

    def of_rows(self, codes: Array) -> Array:
        """The group of each row, without the bucket of its cluster."""
        values, inverse = np.unique(codes, return_inverse=True)
        groups = np.empty(len(values), dtype=object)
        groups[:] = [self._without_bucket(self.group(code)) for code in values.tolist()]
        return groups[inverse]

    def _without_bucket(self, group: Group) -> Group:
        if self._reader.columns.cluster is None or not isinstance(group, tuple):
            return group
        values: tuple[Group, ...] = group[:-1]
        return values if len(values) > 1 else values[0]
