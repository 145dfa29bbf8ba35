"""Tensors in the host's memory: rows that need no judging are added by the array engine, which reads them where they are."""

from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness._types import Array, Floats, Ints
from trueness.engines.arrays.plain import float_terms, powers
from trueness.engines.arrays.workers import (
    MOST_THREADS,
    PAYS_ONCE_LOADED,
    accelerator,
    hard_table,
    in_threads,
    kernel_labels,
    kernel_scores,
)

if TYPE_CHECKING:
    import torch

_PIECE = 1 << 16  # rows worked on at a time: what a cache holds
_SMALLEST = 2.0**-280  # of numbers whose differences have squares above 0; smaller ones the expressions take for 0
_ONES = np.zeros(0)  # weights of one, for compiled kernels


def add_plain(
    sums: Any, y: "torch.Tensor", f: "torch.Tensor", w: "torch.Tensor | None"
) -> Iterator[tuple["torch.Tensor", "torch.Tensor", "torch.Tensor | None"]]:
    """Add the rows that need no judging to the sums; yields the others.

    Float sums depend on the order of their rows: there a piece in which one row must be judged is left as a whole.
    """
    import torch

    if any(type(x) is not torch.Tensor for x in (y, f, w) if x is not None):
        yield y, f, w
        return
    # Once loaded, compiled kernels pay for any batch; to load them, all rows so far must be enough.
    compiled = accelerator(max(int(sums.codes.sum()) + len(f), PAYS_ONCE_LOADED))
    if compiled is not None and not sums.floats and len(f) >= PAYS_ONCE_LOADED:
        left = _add_many(sums, f, y, compiled)
        sums.codes[0] += len(f) - len(left)
        if len(left):
            yield y[left], f[left], None
        return
    for start in range(0, len(f), _PIECE):
        part = slice(start, start + _PIECE)
        scores, labels = _array(f[part]), _array(y[part])
        if sums.floats:
            weights = None if w is None else np.asarray(_array(w[part]), dtype=np.float64)
            left = _add_floats(
                sums, np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64), weights, compiled
            )
        else:
            left = _add_hard(sums, scores, labels, compiled)
        sums.codes[0] += len(scores) - len(left)
        if len(left):
            yield y[part][left], f[part][left], None if w is None else w[part][left]


def _array(x: "torch.Tensor") -> Array:
    array: Array = (x.float() if x.is_floating_point() and x.itemsize < 4 else x.resolve_neg()).numpy()
    return array


def _add_many(sums: Any, f: "torch.Tensor", y: "torch.Tensor", compiled: ModuleType) -> Ints:
    """Add many rows of hard labels, in threads with a table each; returns which are left."""
    on = sums.on

    def work(first: int, last: int) -> tuple[Ints, list[Ints]]:
        table, left = hard_table(on.cells), [_NO_ROWS]
        for a in range(first, last, _PIECE):
            part = slice(a, min(a + _PIECE, last))
            scores, labels = kernel_scores(_array(f[part])), kernel_labels(_array(y[part]))
            kernel = compiled.hard(scores.dtype, labels.dtype)
            if kernel(scores, labels, on.cut, on.extra_before, on.extra, False, table):
                left.append(a + np.flatnonzero(~_is_usable(scores, labels)))
        return table, left

    results = in_threads(0, len(f), MOST_THREADS, work)
    by_cell = sums.table.numpy().reshape(-1, 8)
    by_cell += sum(table for table, _ in results).reshape(-1, 8)[on.row_of_cell]
    return np.concatenate([part for _, left in results for part in left])


def _is_usable(f: Array, y: Array) -> Array:
    return np.asarray((f >= 0) & (f <= 1) & ((y == 0) | (y == 1)))


def _add_hard(sums: Any, f: Array, y: Array, compiled: ModuleType | None) -> Ints:
    """Add rows of hard labels; returns which are left."""
    import torch

    on = sums.on
    if compiled is not None:
        f, y = kernel_scores(f), kernel_labels(y)
        kernel = compiled.hard(f.dtype, y.dtype)
        if not kernel(f, y, on.cut, on.extra_before, on.extra, True, sums.table.numpy()):
            return _NO_ROWS
    usable = _is_usable(f, y)
    left = np.flatnonzero(~usable)
    if compiled is None:
        if len(left):
            f, y = f[usable], y[usable]
        located = on.locate(np.asarray(f, dtype=np.float64))
        place = torch.from_numpy(2 * located.cell + (y != 0))
        for j, term in enumerate(powers(located.r)):
            numbers = np.ones(len(f), dtype=np.int64) if term is None else term.astype(np.int64)
            sums.table.select(1, j).scatter_add_(0, place, torch.from_numpy(numbers))
    return left


def _add_floats(sums: Any, f: Floats, y: Floats, w: Floats | None, compiled: ModuleType | None) -> Ints:
    """Add rows in float64, all of them or none; returns which are left."""
    import torch

    usable = _is_plain(f) & _is_plain(y)
    if w is not None:
        usable &= (w > 0) & (w < np.inf)
    if not usable.all():
        return np.arange(len(f))
    if compiled is not None:
        on, columns = sums.on, [np.ascontiguousarray(x) for x in (f, y, _ONES if w is None else w)]
        compiled.soft_in_cells()(*columns, on.extra_before, on.extra, sums.rows.numpy(), sums.table.numpy())
        return _NO_ROWS
    located = sums.on.locate(f)
    cell = torch.from_numpy(located.cell)
    sums.rows.scatter_add_(0, cell, torch.ones_like(cell))
    soft = ((y > 0) & (y < 1)).astype(np.float64)
    for j, term in enumerate((*float_terms(f, y, w, located.r), soft)):
        sums.table.select(1, j).scatter_add_(0, cell, torch.from_numpy(term))
    return _NO_ROWS


def _is_plain(x: Floats) -> Array:
    return np.asarray((x == 0) | ((x >= _SMALLEST) & (x <= 1)))


_NO_ROWS: Ints = np.zeros(0, dtype=np.int64)
