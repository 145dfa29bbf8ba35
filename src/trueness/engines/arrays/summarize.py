"""Arrays → Summary: chunked NumPy always, compiled kernels in threads when numba is there and n is large enough to pay."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any, Literal, overload

import numpy as np

from trueness._types import Array, Floats, Ints, Values
from trueness.engines.arrays.grouped import ExtremeWeightsMet, GroupedSums
from trueness.engines.arrays.plain import CHUNK, FloatSums, HardSums, SoftLabelMet
from trueness.engines.arrays.workers import (
    FLOAT_PARTS,
    accelerator,
    hard_table,
    in_parts,
    in_threads,
    kernel_labels,
    kernel_scores,
)
from trueness.errors import InputError
from trueness.inputs.arguments import BUCKET, Reading
from trueness.inputs.faults import ZERO, by_reason, count_codes, refused
from trueness.inputs.rows import (
    Rows,
    chunk_stream,
    classify,
    raise_bad_rows,
    raise_none_left,
    read_rows,
    weight_exponent,
)
from trueness.options import check_flag
from trueness.summary.moments import SEGMENT
from trueness.summary.record import Record
from trueness.summary.ruler import Ruler, ruler
from trueness.summary.summary import Summary, empty_summary, float_summary, integer_summary

_PIECE = 1 << 17  # rows a compiled kernel takes at a time
# What each thread holds decides how many fit in 64 MiB: 5 MB compiled and 13 MB plain; of floats 17 and 22 MB, so FLOAT_PARTS.
_HARD_THREADS, _PLAIN_HARD_THREADS = 8, 4


@overload
def summarize(
    y_true: Values,
    y_prob: Values,
    *,
    sample_weight: Values | None = None,
    cluster: None = None,
    bins: Iterable[int] | int = (),
    nan: Literal["raise", "drop"] = "raise",
    pos_label: Any = None,
    align: Literal["position", "index"] | None = None,
    exact: bool = False,
) -> Summary: ...


@overload
def summarize(
    y_true: Values,
    y_prob: Values,
    *,
    sample_weight: Values | None = None,
    cluster: Values,
    bins: Iterable[int] | int = (),
    nan: Literal["raise", "drop"] = "raise",
    pos_label: Any = None,
    align: Literal["position", "index"] | None = None,
    exact: bool = False,
) -> Record: ...


def summarize(
    y_true: Values,
    y_prob: Values,
    *,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    bins: Iterable[int] | int = (),
    nan: Literal["raise", "drop"] = "raise",
    pos_label: Any = None,
    align: Literal["position", "index"] | None = None,
    exact: bool = False,
) -> Summary | Record:
    r"""Reduce rows to the sums from which every metric is computed.

    For each cell of one fixed partition of [0, 1] (the ruler, 48 746 cells) and each label the summary keeps the number of
    rows and the sums of the first three powers of the score: exact integers for hard labels without weights, float64
    otherwise. Summaries of parts add up to the summary of the whole.

    Parameters
    ----------
    y_true : array-like
        Outcomes: 0/1 or booleans, or soft labels in [0, 1]. Also an iterator of chunks.
    y_prob : array-like
        Predicted probabilities in [0, 1]. Also an iterator of chunks.
    sample_weight : array-like, optional
        Weights ≥ 0. A row of weight zero counts as absent (it is still checked).
    cluster : array-like, optional
        The cluster of each row, where rows of one are not independent: repeats of one question, visits of one patient. By the
        text of their names they are hashed into 64 buckets, the axis of a record, which tests and intervals flip.
    bins : int or iterable of int
        Bin counts that should be exact unions of cells, besides the divisors of 2^14, 100 and 15 which always are.
    nan : {"raise", "drop"}
        What happens to rows with a missing value; dropped rows are counted in ``.rejected``.
    pos_label : optional
        The label that counts as 1, for labels that are not 0 and 1.
    align : {"position", "index"}, optional
        How to pair pandas Series whose indexes differ; without it that is an error.
    exact : bool
        Look at the rows that matter a second time, so that the summary keeps the exact extremes of the cumulative
        differences (`ecce`); without, they have bounds. Not for iterators, which can be read only once.

    Returns
    -------
    Summary, or with `cluster` a Record

    Examples
    --------
    >>> a = summarize([0, 1, 1], [0.2, 0.7, 0.9])
    >>> b = summarize([1, 0], [0.6, 0.1])
    >>> a + b
    <Summary of 5 rows in 5 of 48746 cells, integer sums>
    >>> a + b == summarize([0, 1, 1, 1, 0], [0.2, 0.7, 0.9, 0.6, 0.1])
    True
    """
    check_flag("exact", exact)
    on = ruler(bins)
    reading = Reading(nan=nan, pos_label=pos_label, align=align)
    if cluster is not None:
        return _by_bucket(read_rows(y_true, y_prob, sample_weight, reading, cluster=("cluster", cluster)), on, exact=exact)
    if "torch" in sys.modules and sample_weight is None and pos_label is None and not exact:
        from trueness.engines.torch.sums import reduce_on_device

        if (summary := reduce_on_device(y_true, y_prob, on, nan)) is not None:
            return summary
    parts = chunk_stream(y_true, y_prob, sample_weight, reading)
    if parts is None:
        rows = read_rows(y_true, y_prob, sample_weight, reading)
        summary = reduce_rows(rows, on)
        return _with_extremes(summary, rows) if exact else summary
    if exact:
        raise InputError(
            "exact: iterators can be read only once, and exact extremes need a second pass over the rows. "
            "Pass arrays, or exact=False for bounds instead."
        )
    summary = sum((reduce_some(part, on) for part in parts), start=empty_summary(on))
    if summary.n == 0:
        raise InputError(f"no rows: the chunks hold {summary.rows_in} rows, none usable ({dict(summary.rejected)}).")
    return summary


def _by_bucket(rows: Rows, on: Ruler, *, exact: bool) -> Record:
    record = Record(reduce_groups(rows, rows.keys(0) or [], on), axes=[BUCKET])
    total = record.total()
    if total.n == 0:
        raise_none_left(rows, dict(total.rejected))
    return Record(record, axes=[BUCKET], extremes=_with_extremes(total, rows).extremes) if exact else record


def _with_extremes(summary: Summary, rows: Rows) -> Summary:
    from trueness.engines.exact import exact_extremes, in_memory  # which leans on kernels that lean on this module

    return replace(summary, extremes=exact_extremes(summary, in_memory(rows, summary.ruler)))


def reduce_rows(rows: Rows, on: Ruler) -> Summary:
    """The summary of the rows, of which there must be some; bad ones raise, or are counted, as `rows.nan` says."""
    summary = reduce_some(rows, on)
    if summary.n == 0:
        raise_none_left(rows, dict(summary.rejected))
    return summary


def reduce_groups(rows: Rows, keys: Sequence[Any], on: Ruler) -> dict[Any, Summary]:
    """The summary of each group's rows, from the group of each; rows that cannot be used are told by their place among all."""
    total = reduce_some(rows, on)  # raises for rows that are not allowed, before any group is looked at
    code: dict[Any, int] = {}
    codes = np.fromiter((code.setdefault(key, len(code)) for key in keys), dtype=np.int64, count=len(keys))
    if len(code) == 1:
        return {next(iter(code)): total}
    sums = GroupedSums(on, floats=not total.exact)
    try:
        sums.add(rows, codes)
    except ExtremeWeightsMet:
        order = np.argsort(codes, kind="stable")
        stretches = np.split(order, np.cumsum(np.bincount(codes, minlength=len(code)))[:-1])
        return {group: reduce_some(rows.taken(stretches[number]), on) for group, number in code.items()}
    return sums.summaries({number: group for group, number in code.items()})


def reduce_some(rows: Rows, on: Ruler, *, floats: bool = False) -> Summary:
    """The summary of the rows, of which none need be usable; with `floats` in float64 whatever the labels are."""
    exponent = weight_exponent(rows)
    parts = [
        _reduce_segment(rows, on, exponent, start, min(start + SEGMENT, len(rows)), floats)
        for start in range(0, len(rows), SEGMENT)
    ]
    return sum(parts[1:], start=parts[0])


def nothing_odd(rows: Rows) -> bool:
    """Whether every row of unweighted columns is usable as it is, seen in one quick pass."""

    def work(first: int, last: int) -> bool:
        for a in range(first, last, CHUNK):
            for column in (rows.f, rows.y):
                part = column.chunk(a, min(a + CHUNK, last))
                if not (part.min() >= 0 and part.max() <= 1):  # NaN fails both
                    return False
        return True

    return rows.w is None and all(in_threads(0, len(rows), _HARD_THREADS, work))


def _reduce_segment(rows: Rows, on: Ruler, exponent: int, start: int, stop: int, floats: bool) -> Summary:
    compiled = accelerator(stop - start)
    if rows.w is None and not floats:
        try:
            if compiled is None:
                return _plain(rows, lambda: HardSums(on), in_threads, _PLAIN_HARD_THREADS, start, stop)
            return _compiled_hard(rows, on, compiled, start, stop)
        except SoftLabelMet:
            pass  # a soft label may come late; integers cannot hold it, so the rows are summed again in float64
    if compiled is None or exponent:  # the kernel would take a weight that scaling makes vanish for a weight of zero
        return _plain(rows, lambda: FloatSums(on, exponent), in_parts, FLOAT_PARTS, start, stop)
    return _compiled_float(rows, on, compiled, start, stop)


class _Rejects:
    """Rows that could not be used, counted by code, and values that were clipped."""

    def __init__(self) -> None:
        self.counts = Counter[int]()
        self.clipped = 0

    def add(self, sums: HardSums | FloatSums, rows: Rows, f: Array, y: Array, w: Array | None) -> None:
        """Sum the usable rows of a chunk and count the others."""
        codes, f, y, w, clipped = classify(rows, f, y, w)
        self.clipped += clipped
        if counts := count_codes(codes):
            self.counts.update(counts)
            usable = codes == 0
            f, y, w = f[usable], y[usable], None if w is None else w[usable]
        sums.add(f, y, w)  # type: ignore[arg-type]

    def account(self, rows: Rows, zero_weight: int) -> dict[str, Any]:
        """What a summary keeps of this; raises when a rejected row is not allowed."""
        if refused(self.counts, rows.nan):
            raise_bad_rows(rows)
        rejected = by_reason({**self.counts, ZERO: zero_weight})
        return {"rejected": rejected, "clipped": self.clipped, "source": tuple(sorted(rows.notes))}


def _plain(
    rows: Rows, new_sums: Callable[[], HardSums | FloatSums], split: Callable[..., list[Any]], parts: int, start: int, stop: int
) -> Summary:
    def work(first: int, last: int) -> tuple[HardSums | FloatSums, _Rejects]:
        sums, rejects = new_sums(), _Rejects()
        for a in range(first, last, CHUNK):
            rejects.add(sums, rows, *_columns(rows, a, min(a + CHUNK, last)))
        return sums, rejects

    results = split(start, stop, min(parts, (stop - start) // CHUNK), work)
    account = _merged([rejects for _, rejects in results]).account(rows, sum(sums.zero_weight for sums, _ in results))
    first: Summary = results[0][0].summary(**account)
    return sum((sums.summary() for sums, _ in results[1:]), start=first)


def _columns(rows: Rows, a: int, b: int) -> tuple[Array, Array, Array | None]:
    return rows.f.chunk(a, b), rows.y.chunk(a, b), None if rows.w is None else rows.w.chunk(a, b)


def _compiled_hard(rows: Rows, on: Ruler, compiled: ModuleType, start: int, stop: int) -> Summary:
    def work(first: int, last: int) -> tuple[Ints, _Rejects, HardSums | None]:
        table = hard_table(on.cells)
        odd_rows, rejects = None, _Rejects()
        for a in range(first, last, _PIECE):
            f, y, _ = _columns(rows, a, min(a + _PIECE, last))
            f, y = kernel_scores(f), kernel_labels(y)
            if compiled.hard(f.dtype, y.dtype)(f, y, on.cut, on.extra_before, on.extra, False, table):
                odd = ~((f >= 0) & (f <= 1) & ((y == 0) | (y == 1)))
                if np.any((y[odd] > rows.y.tolerance) & (y[odd] < 1 - rows.y.tolerance)):
                    raise SoftLabelMet
                odd_rows = odd_rows or HardSums(on)
                rejects.add(odd_rows, rows, f[odd], y[odd], None)
        return table, rejects, odd_rows

    results = in_threads(start, stop, _HARD_THREADS, work)
    table = sum(table for table, _, _ in results).reshape(-1, 8)
    account = _merged([rejects for _, rejects, _ in results]).account(rows, 0)
    others = (odd_rows.summary() for _, _, odd_rows in results if odd_rows)
    return sum(others, start=integer_summary(table, on, **account))


def _compiled_float(rows: Rows, on: Ruler, compiled: ModuleType, start: int, stop: int) -> Summary:
    def work(first: int, last: int) -> tuple[Floats, _Rejects, FloatSums | None, int, bool]:
        block, total, lost = (np.zeros((on.cells, 12)) for _ in range(3))
        odd_rows, rejects, zero_weight, any_soft = None, _Rejects(), 0, False
        for a in range(first, last, _PIECE):
            f, y, w = _columns(rows, a, min(a + _PIECE, last))
            f, y = np.ascontiguousarray(f, dtype=np.float64), np.ascontiguousarray(y, dtype=np.float64)
            weight = np.zeros(0) if w is None else np.ascontiguousarray(w, dtype=np.float64)
            odd, zero, soft = compiled.soft()(f, y, weight, on.cut, on.extra_before, on.extra, block, total, lost)
            zero_weight += zero
            any_soft = any_soft or soft > 0
            if odd:
                away = ~((f >= 0) & (f <= 1) & (y >= 0) & (y <= 1))
                if w is not None:
                    away |= ~((w >= 0) & (w < np.inf))
                odd_rows = odd_rows or FloatSums(on)
                rejects.add(odd_rows, rows, f[away], y[away], None if w is None else w[away])
        compiled.finish()(block, total, lost)
        total += lost
        return total, rejects, odd_rows, zero_weight, any_soft

    results = in_parts(start, stop, FLOAT_PARTS, work)
    others = [odd_rows for _, _, odd_rows, _, _ in results if odd_rows]
    zeros = sum(zero for _, _, _, zero, _ in results) + sum(sums.zero_weight for sums in others)
    account = _merged([rejects for _, rejects, *_ in results]).account(rows, zeros)
    parts = [
        float_summary(total[on.row_of_cell, 11].astype(np.int64), total[on.row_of_cell, :11].T, on, soft=soft)
        for total, _, _, _, soft in results
    ]
    summary: Summary = sum((sums.summary() for sums in others), start=sum(parts[1:], start=parts[0]))
    return replace(summary, **account)


def _merged(rejects: list[_Rejects]) -> _Rejects:
    merged = _Rejects()
    for part in rejects:
        merged.counts.update(part.counts)
        merged.clipped += part.clipped
    return merged
