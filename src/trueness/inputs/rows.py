"""Outcomes, predictions and weights, checked: the only place that decides which rows can be used and says why not."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Literal, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from trueness._types import Array, Floats, Ints, Values
from trueness._values import is_chunk, show, stem
from trueness.errors import InputError
from trueness.inputs.align import aligned
from trueness.inputs.arguments import Reading
from trueness.inputs.clusters import Clusters, read_clusters
from trueness.inputs.columns import CHUNK, Column
from trueness.inputs.containers import as_column, changed_dtype, group_values
from trueness.inputs.faults import (
    FAULTS,
    OUTCOME,
    PREDICTION,
    WEIGHT,
    ZERO,
    by_reason,
    check_fraction,
    check_weight,
    count_codes,
    problems,
    refused,
)
from trueness.inputs.labels import Observed, mapped, not_numbers, occurs, require_label
from trueness.inputs.remedies import lines
from trueness.inputs.tables import group_keys

# Squares of weights between these have sums that neither overflow nor vanish, over any number of rows.
SMALLEST_WEIGHT, LARGEST_WEIGHT = 2.0**-300, 2.0**300

Names = tuple[str, str, str]
NAMES: Names = ("y_true", "y_prob", "sample_weight")
_AS_THEY_ARE = Reading()
_LONGDOUBLE = np.dtype(np.longdouble).name
Named = tuple[str, Any]  # a column with what messages call it
Groups = Sequence[Named]  # columns that make the groups


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrays:
    """The usable rows in float64."""

    f: Floats
    y: Floats
    w: Floats | None
    soft: bool
    clipped: int
    rejected: dict[str, int]
    kept: NDArray[np.bool_] | None = None  # which of the rows given these are; None for all


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Columns of equal length whose values are checked as they are read."""

    y: Column
    f: Column
    w: Column | None
    nan: Literal["raise", "drop"]
    notes: tuple[str, ...]
    by: Sequence[Any] | None = None  # the group of each row
    cluster: Clusters | None = None  # rows that belong together

    def __len__(self) -> int:
        return self.y.length

    def keys(self, groups: int) -> Sequence[Any] | None:
        """The key of each row in a record: of so many columns of groups, and the bucket of its cluster; None for neither."""
        if self.cluster is None:
            return self.by
        buckets: list[int] = self.cluster.bucket_of_row.tolist()
        if self.by is None:
            return buckets
        pairs = zip(self.by, buckets, strict=True)
        return [(*group, bucket) if groups > 1 else (group, bucket) for group, bucket in pairs]

    def owned(self) -> Self:
        """The same with copies of the values, for results that look at them again."""
        return replace(self, y=self.y.owned(), f=self.f.owned(), w=None if self.w is None else self.w.owned())

    def taken(self, places: Ints) -> Self:
        """Some of the rows, by their places."""
        w = None if self.w is None else _taken(self.w, places)
        return replace(self, y=_taken(self.y, places), f=_taken(self.f, places), w=w, by=None, cluster=None)

    def between(self, start: int, stop: int) -> Self:
        """Rows start … stop."""
        w = None if self.w is None else _between(self.w, start, stop)
        return replace(self, y=_between(self.y, start, stop), f=_between(self.f, start, stop), w=w, by=None, cluster=None)

    def arrays(self, *, part: bool = False) -> Arrays:
        """All rows, checked; raises or drops as `nan` says. Rows that are a `part` of the data may all be dropped."""
        n = len(self)
        source = self.y.chunk(0, n)
        codes, f, y, w, clipped = classify(self, self.f.chunk(0, n), source, None if self.w is None else self.w.chunk(0, n))
        counts = count_codes(codes)
        if refused(counts, self.nan):
            raise_bad_rows(self)
        keep: NDArray[np.bool_] | None = codes == 0 if counts else None
        if w is not None and (zero := w == 0.0).any():
            keep = np.ones(n, dtype=bool) if keep is None else keep
            counts[ZERO] = int(np.count_nonzero(keep & zero))
            keep &= ~zero
        rejected = by_reason(counts)
        if keep is not None:
            f, y, w = f[keep], y[keep], None if w is None else w[keep]
        if not part and not f.size:
            raise_none_left(self, rejected)
        if not part and w is not None and (exponent := weight_exponent(self)):
            w = np.ldexp(w, -exponent)
        soft = source.dtype.kind == "f" and bool(((y > 0.0) & (y < 1.0)).any())
        return Arrays(f=f, y=y, w=w, soft=soft, clipped=clipped, rejected=rejected, kept=keep)


def _taken(column: Column, places: Ints) -> Column:
    values = column.chunk(0, column.length)[places]
    return replace(column, length=len(places), fetch=lambda a, b: values[a:b], value=lambda row: column.item(int(places[row])))


def _between(column: Column, start: int, stop: int) -> Column:
    stop = min(stop, column.length)
    return replace(
        column,
        length=stop - start,
        fetch=lambda a, b: column.chunk(start + a, start + b),
        value=lambda row: column.item(start + row),
    )


def read_rows(
    y_true: Values,
    y_prob: Values,
    sample_weight: Values | None = None,
    reading: Reading = _AS_THEY_ARE,
    *,
    by: Groups = (),
    cluster: Named | None = None,
    names: Names = NAMES,
    part: bool = False,
) -> Rows:
    """Columns from whatever they are kept in; their values are looked at later, chunk by chunk.

    Rows that are a `part` of the data may lack the event.
    """
    y, f, w, (groups, clusters), notes = _columns(y_true, y_prob, sample_weight, names, reading.align, by, cluster)
    if not y.length:
        raise InputError(f"{names[0]} and {names[1]}: no rows (0 values in each). Pass at least one row.")
    if not part and reading.pos_label is not None and not occurs(y, reading.pos_label):
        require_label(y.name, Observed().add(y), reading.pos_label)
    return replace(_rows(y, f, w, notes, reading), by=groups, cluster=clusters)


def read_predictions(y_prob: Values) -> Floats:
    """Predictions without outcomes, every one of them usable."""
    f = as_column(y_prob, NAMES[1])
    if not f.length:
        raise InputError(f"{f.name}: no rows (0 values). Pass at least one row.")
    no_events = Column(
        name=NAMES[0], length=f.length, dtype="int8", tolerance=0.0, fetch=lambda a, b: np.zeros(b - a, dtype=np.int8)
    )
    return _rows(no_events, f, None, [], _AS_THEY_ARE).arrays().f


def chunk_stream(
    y_true: Values, y_prob: Values, sample_weight: Values | None = None, reading: Reading = _AS_THEY_ARE
) -> Iterator[Rows] | None:
    """One `Rows` for every chunk when the arguments are iterators, else None."""
    columns = [y_true, y_prob] if sample_weight is None else [y_true, y_prob, sample_weight]
    given = [column for column in columns if isinstance(column, Iterator)]
    if len(given) < len(columns):
        return None
    _check_distinct(given, NAMES)
    return _stream(given, reading)


def _stream(given: list[Iterator[Any]], reading: Reading) -> Iterator[Rows]:
    first: list[tuple[Column, bool]] = []
    pos_label = reading.pos_label
    occurred, observed, ended = pos_label is None, Observed(), object()
    for number, items in enumerate(zip_longest(*given, fillvalue=ended)):
        if number == 0 and not any(is_chunk(item) for item in items) and not any(item is ended for item in items):
            yield _from_scalars(given, items, reading)
            return
        _check_items(number, items, ended)
        names = tuple(f"{name}, chunk {number}" for name in NAMES)
        y, f, w, _, notes = _columns(items[0], items[1], items[2] if len(items) > 2 else None, names, None)
        if not y.length:
            continue
        columns = [column for column in (y, f, w) if column is not None]
        kinds = [(column, isinstance(item, (list, tuple))) for column, item in zip(columns, items, strict=True)]
        first = first or kinds
        for (column, is_list), (earlier, was_list) in zip(kinds, first, strict=True):
            if column.dtype != earlier.dtype and not (is_list and was_list):
                raise InputError(changed_dtype(column, earlier))
        if not occurred and not (occurred := occurs(y, pos_label)):
            observed.add(y)
        yield _rows(y, f, w, notes, reading)
    if not first:
        raise InputError("y_true and y_prob: no rows (0 values in all chunks). Pass at least one row.")
    if not occurred:
        require_label("y_true", observed, pos_label)


def _check_items(number: int, items: tuple[Any, ...], ended: object) -> None:
    """One chunk of every column, none of them at its end before the others."""
    short = [name for name, item in zip(NAMES, items, strict=False) if item is ended]
    if short:
        raise InputError(
            f"{' and '.join(short)}: no chunk {number} (first missing), while the other columns go on; "
            f"{number} chunks were read. Pass iterators with the same number of chunks."
        )
    if not all(is_chunk(item) for item in items):
        kinds = ", ".join(f"{name} gave a {type(item).__name__}" for name, item in zip(NAMES, items, strict=False))
        raise InputError(f"chunk {number}: {kinds}. Every item must be a chunk of rows, such as an array.")


def _from_scalars(given: list[Iterator[Any]], items: tuple[Any, ...], reading: Reading) -> Rows:
    lists = [[item, *rest] for item, rest in zip(items, given, strict=True)]
    return read_rows(lists[0], lists[1], lists[2] if len(lists) > 2 else None, reading)


def classify(rows: Rows, f: Array, y: Array, w: Array | None) -> tuple[NDArray[np.int8], Floats, Floats, Floats | None, int]:
    """Codes of a chunk's rows (0: usable), its columns in float64, clipped within rounding, and how many that was."""
    codes = np.zeros(len(f), dtype=np.int8)
    with np.errstate(invalid="ignore"):
        f, f_codes, f_moved = check_fraction(f, rows.f.tolerance, PREDICTION)
        y, y_codes, y_moved = check_fraction(y, rows.y.tolerance, OUTCOME)
        w_codes = None
        if w is not None:
            w, w_codes = check_weight(w)
    for judged in (w_codes, y_codes, f_codes):  # the last one written wins: the order of precedence backwards
        if judged is not None:
            np.copyto(codes, judged, where=judged != 0)
    clipped = 0
    for moved in (f_moved, y_moved):
        if moved is not None:
            clipped += int(np.count_nonzero(moved & (codes == 0) & (w > 0.0 if w is not None else True)))
    return codes, f, y, w, clipped


def weight_exponent(rows: Rows) -> int:
    """A power of two to take out of the weights so that the sum of their squares neither overflows nor vanishes."""
    if rows.w is None:
        return 0
    largest = 0.0
    for start in range(0, len(rows), CHUNK):
        with np.errstate(invalid="ignore"):
            part = rows.w.chunk(start, start + CHUNK).astype(np.float64, copy=False)
        peak = float(part.max())
        largest = max(largest, peak if math.isfinite(peak) else float(part[np.isfinite(part)].max(initial=0.0)))
    if largest == 0.0 or SMALLEST_WEIGHT <= largest <= LARGEST_WEIGHT:
        return 0
    return _exponent_of_usable(rows)


def _exponent_of_usable(rows: Rows) -> int:
    """The same from usable rows only: a dropped row's weight must not decide."""
    largest, where, sums = 0.0, 0, []
    for start, codes, w in _classified_weights(rows):
        w = np.where(codes == 0, w, 0.0)
        if float(w.max()) > largest:
            largest, where = float(w.max()), start + int(w.argmax())
        sums.append(float(np.ldexp(w, -64).sum()))
    if largest == 0.0 or SMALLEST_WEIGHT <= largest <= LARGEST_WEIGHT:
        return 0
    total = math.fsum(sums)
    if total >= 2.0 ** (1024 - 64):
        raise InputError(
            f"{rows.w.name if rows.w else NAMES[2]}: the sum of {len(rows)} of {len(rows)} values overflows float64 "
            f"(largest: row {where}, value {show(largest)}). Divide all weights by a constant; that changes no result."
        )
    return math.frexp(largest)[1]


def _classified_weights(rows: Rows) -> Iterator[tuple[int, NDArray[np.int8], Floats]]:
    for start in range(0, len(rows), CHUNK):
        stop = start + CHUNK
        w = rows.w.chunk(start, stop) if rows.w is not None else None
        codes, _, _, weights, _ = classify(rows, rows.f.chunk(start, stop), rows.y.chunk(start, stop), w)
        if weights is not None:
            yield start, codes, weights


def _check_distinct(given: Sequence[object], names: tuple[str, ...]) -> None:
    for k, x in enumerate(given):
        for j in range(k):
            if x is given[j] and isinstance(x, Iterator):
                raise InputError(
                    f"{names[j]} and {names[k]}: are one and the same iterator, so each would take every other value. "
                    "Pass two iterators, or lists."
                )


def _columns(
    y_true: Values,
    y_prob: Values,
    sample_weight: Values | None,
    names: tuple[str, ...],
    align: str | None,
    by: Groups = (),
    cluster: Named | None = None,
) -> tuple[Column, Column, Column | None, tuple[Sequence[Any] | None, Clusters | None], list[str]]:
    """Every column of the rows, matched by their index where they have one."""
    given = [y_true, y_prob] if sample_weight is None else [y_true, y_prob, sample_weight]
    count, beside = len(given), [*by, *([] if cluster is None else [cluster])]
    given, names = [*given, *(values for _, values in beside)], (*names[:count], *(name for name, _ in beside))
    _check_distinct(given, names)
    given, notes = aligned(given, names, align)
    columns = [as_column(x, name) for x, name in zip(given[:count], names, strict=False)]
    if len({column.length for column in columns}) > 1:
        have = ", ".join(f"{column.name} has {column.length}" for column in columns)
        odd = columns[1] if columns[1].length != columns[0].length else columns[-1]
        raise InputError(
            f"{odd.name}: lengths differ ({have} values). Pass one value of each per row; nothing is broadcast or cut."
        )
    y, f, w = columns[0], columns[1], columns[2] if len(columns) > 2 else None
    last = count + len(by)
    groups = [_group_column(x, name, y.length) for x, name in zip(given[count:last], names[count:last], strict=True)]
    clusters = None if cluster is None else read_clusters(given[last], names[last], y.length)
    return y, f, w, (group_keys(groups) if groups else None, clusters), notes


def _group_column(x: Any, name: str, rows: int) -> list[Any]:
    groups = group_values(x, name)
    if len(groups) != rows:
        raise InputError(f"{name}: {len(groups)} values for {rows} rows. Pass one group a row.")
    return groups


def _rows(y: Column, f: Column, w: Column | None, notes: list[str], reading: Reading) -> Rows:
    if reading.pos_label is not None:
        notes = [*notes, f"{stem(y.name)}: {show(reading.pos_label)} counted as 1, every other value as 0"]
        y = mapped(y, reading.pos_label)
    given = [column for column in (y, f, w) if column is not None]
    text = [not_numbers(column, outcome=column is y) for column in given if column.labels is not None]
    if text:
        raise lines(text).error()
    for column in given:
        if column.dtype == _LONGDOUBLE != "float64":
            notes = [*notes, f"{stem(column.name)}: longdouble rounded to float64"]
        elif column.tolerance > 2.0**-50:
            notes = [*notes, f"{stem(column.name)}: {column.dtype} promoted to float64"]
    return Rows(y=y, f=f, w=w, nan=reading.nan, notes=tuple(notes))


def raise_bad_rows(rows: Rows) -> NoReturn:
    """Every kind of unusable value in one error, each with its count and first place."""
    columns = ((rows.f, PREDICTION), (rows.y, OUTCOME), (rows.w, WEIGHT))
    messages = [message for column, codes in columns for message in problems(column, codes, rows.nan)]
    if not messages:
        raise InputError(
            f"{rows.f.name}: unusable rows were met in one pass over {len(rows)} rows and none in the next: "
            "the data changed. Keep them unchanged while they are read."
        )
    raise lines(messages).error()


def raise_none_left(rows: Rows, rejected: dict[str, int]) -> NoReturn:
    """No row can be used: say what became of them."""
    n = len(rows)
    counts = ", ".join(f"{reason}: {count}" for reason, count in rejected.items() if count) or "none given"
    if rows.w is not None and rejected.get(FAULTS[ZERO].reason) == n:
        raise InputError(
            f"{rows.w.name}: {n} of {n} values are zero (first: row 0, value {show(rows.w.item(0))}), so no rows are "
            f"left. {FAULTS[ZERO].remedy.python}"
        )
    raise InputError(
        f"{rows.y.name} and {rows.f.name}: no rows left of {n} ({counts}). Pass at least one row with an outcome, "
        "a prediction and a positive weight."
    )
