"""Rows of files that fit in memory."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueness._types import Array, Ints
from trueness.engines.files.group_codes import GroupCodes
from trueness.engines.files.integrity import require_memory
from trueness.engines.files.reader import Batch, Reader
from trueness.inputs.clusters import Clusters, clusters_of
from trueness.inputs.rows import Rows


class MoreRowsMet(Exception):  # noqa: N818 - a signal, not an error
    """There are more rows than are wanted in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRows:
    """Rows in memory: outcomes, predictions by name, weights, groups, keys and clusters."""

    reader: Reader
    y: Array
    f: dict[str, Array]
    w: Array | None
    groups: Array | None
    keys: list[str | None] | None
    clusters: Clusters | None

    def checked(self, prediction: str) -> Rows:
        """Rows with one of the predictions, judged as they are used; messages name the column, the file and the line."""
        rows = self.reader.rows(self.y, self.f[prediction], self.w, prediction)
        return replace(rows, by=None if self.groups is None else self.groups.tolist(), cluster=self.clusters)

    def ordered(self, order: Ints) -> "HeldRows":
        """The same rows in another order; the lines that messages name are those of the first one."""
        return replace(
            self,
            y=self.y[order],
            f={name: column[order] for name, column in self.f.items()},
            w=None if self.w is None else self.w[order],
            groups=None if self.groups is None else self.groups[order],
            keys=None if self.keys is None else [self.keys[row] for row in order.tolist()],
            clusters=None if self.clusters is None else self.clusters.taken(order),
        )


def joined(batches: Iterable[Batch], limit: float = math.inf) -> list[Array]:
    """Batches as one; raises MoreRowsMet as soon as there are more rows than `limit`."""
    copies, rows = list[Batch](), 0
    for batch in batches:
        rows += len(batch[0])
        if rows > limit:
            raise MoreRowsMet
        require_memory(16 * rows * len(batch))  # once as batches, once as columns
        copies.append([column.copy() for column in batch])
    return [np.concatenate(parts) if len(parts) > 1 else parts[0] for parts in zip(*copies, strict=True)]


def held_rows(reader: Reader, columns: Sequence[Array]) -> HeldRows:
    """All rows from the columns of a reader's batches, with the groups and keys, which are read now."""
    names = reader.columns
    count = len(names.predictions)
    return HeldRows(
        reader=reader,
        y=columns[0],
        f=dict(zip(names.predictions, columns[1 : count + 1], strict=True)),
        w=columns[count + 1] if names.weight is not None else None,
        groups=GroupCodes(reader).of_rows(columns[-1]) if names.by else None,
        keys=_keys(reader, names.key) if names.key is not None else None,
        clusters=clusters_of(reader.clusters(), f"column {names.cluster!r}") if names.cluster is not None else None,
    )


def _keys(reader: Reader, name: str) -> list[str | None]:
    parts = [reader.fetched(table, f"{table.group(name)}::VARCHAR") for table in reader.tables]
    return [key for rows in parts for (key,) in rows]
