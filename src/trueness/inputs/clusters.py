"""Clusters: rows that belong together, such as the answers to one question or the visits of one patient."""

import hashlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trueness._types import Ints
from trueness._values import are, show
from trueness.errors import InputError
from trueness.inputs.membership import group_values

__all__ = ["BUCKETS", "Clusters", "bucket_of", "clusters_of", "missing_clusters", "read_clusters"]

BUCKETS = 64  # into which clusters are hashed where rows are summed


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """The cluster of each row, numbered in an order that neither the rows' order nor their number enters."""

    code: Ints
    bucket: Ints  # of each cluster

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.bucket)

    @property
    def bucket_of_row(self) -> Ints:
        """The bucket of each row."""
        return self.bucket[self.code]

    def taken(self, rows: NDArray[np.bool_] | Ints | slice) -> Self:
        """Those of some of the rows."""
        numbers, code = np.unique(self.code[rows], return_inverse=True)
        return type(self)(code.astype(np.int64), self.bucket[numbers])


def _digest(value: Any) -> bytes:
    """The same for equal texts, whatever engine has read them; truth values as SQL writes them."""
    try:
        text = str(value).lower() if isinstance(value, bool) else str(value)
    except Exception as error:  # integers beyond sys.get_int_max_str_digits(), and whatever an object's own __str__ raises
        raise InputError(
            f"cluster: {show(value)} has no text by which to know it. Name clusters by text or numbers."
        ) from error
    return hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()


def bucket_of(value: Any) -> int:
    """The bucket of a cluster by its name: the first byte of the MD5 of the name's text, modulo 64."""
    return _digest(value)[0] % BUCKETS


def read_clusters(x: Any, name: str, rows: int) -> Clusters:
    """The clusters of so many rows from any column; none of them may be missing."""
    values = group_values(x, name)
    if len(values) != rows:
        raise InputError(f"{name}: {len(values)} values for {rows} rows. Pass the cluster of each row.")
    return clusters_of(values, name)


def clusters_of(values: list[Any], name: str) -> Clusters:
    """The clusters that have these names, one a row."""
    numbers: dict[Any, int] = {}
    codes = np.fromiter((numbers.setdefault(value, len(numbers)) for value in values), dtype=np.int64, count=len(values))
    if None in numbers:
        missing = codes == numbers[None]
        raise missing_clusters(name, int(missing.sum()), len(values), f"row {int(missing.argmax())}")
    named = sorted(numbers, key=lambda value: (_digest(value), type(value).__name__))
    rank = np.empty(len(numbers), dtype=np.int64)
    rank[[numbers[value] for value in named]] = np.arange(len(named))
    return Clusters(rank[codes], np.array([bucket_of(value) for value in named], dtype=np.int64))


def missing_clusters(name: str, count: int, total: int, first: str = "") -> InputError:
    """What to say of rows whose cluster is not known: together they would count as one. Not all rows have an order."""
    where = f" (first: {first})" if first else ""
    return InputError(
        f"{name}: {are(count, total, 'missing')}{where}, and rows without a cluster would count as one. "
        "Name the cluster of every row, or leave such rows out."
    )
