"""Tables of class probabilities and their labels, read and checked a block of rows at a time."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._types import Array, Floats, Values
from trueness._values import is_hashable, is_missing, is_number, lists, native, show
from trueness.errors import InputError
from trueness.inputs.align import same_index
from trueness.inputs.columns import Column, is_coarse, roots, without_masks
from trueness.inputs.containers import as_column
from trueness.inputs.frames import unwrapped
from trueness.options import check_flag

Flags = NDArray[np.bool_]
Codes = NDArray[np.intp]

_BLOCK = 1 << 18  # numbers promoted to float64 at a time
_EPS = 2.0**-52
_UNKNOWN, _MISSING = -1, -2

_BINARY = (
    "proba: shape {shape} has one probability for each row, not one for each class. If there are two classes, call the "
    "metric itself with (y_true, y_prob); otherwise give an array of shape (n, C)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A row for each prediction, a column for each class."""

    length: int
    fetch: Callable[[int, int], Floats]  # rows start..stop, a fresh array
    names: tuple[Hashable, ...]
    named: bool  # False where the columns have positions only
    as_text: bool  # the names are a frame's strings: a label that prints the same is meant
    eps: float  # rounding unit of the type the numbers were computed in

    @property
    def width(self) -> int:
        return len(self.names)


def read_table(proba: Any, classes: Sequence[Hashable] | None) -> Table:
    """Any container of probabilities, its columns in the order of `classes` where that is given."""
    names = None if classes is None else _distinct(classes)
    frame = _as_frame(proba)
    table = _from_array(proba, names) if frame is None else _from_frame(frame, names)
    if table.width == 1:
        raise InputError(_BINARY.format(shape=(table.length, 1)))
    if table.length == 0:
        raise InputError("proba: no rows. Give at least one row of probabilities.")
    return table


def _distinct(classes: Sequence[Hashable]) -> tuple[Hashable, ...]:
    if isinstance(classes, str):
        raise InputError(f"classes: {classes!r} is one string, not a list of classes. Give a list with a name per column.")
    if not lists(classes) or isinstance(classes, Mapping | Set):
        raise InputError(f"classes: {show(classes)} is not a list of classes. Give a list with a name per column, in order.")
    first: dict[Hashable, int] = {}
    names = tuple(map(native, classes))
    for position, name in enumerate(names):
        if is_missing(name) or not is_hashable(name):
            raise InputError(
                f"classes: {show(name)} cannot name a class (position {position} of {len(names)}). "
                "Name every class by a text or a number."
            )
        if first.setdefault(name, position) != position:
            raise InputError(
                f"classes: {show(name)} is listed twice (positions {first[name]} and {position} of {len(names)}). "
                "Name every class once."
            )
    return names


def _as_frame(proba: Any) -> Any:
    """A narwhals DataFrame, or None where `proba` is no data frame."""
    if isinstance(proba, np.ndarray | list | tuple) or "torch" in roots(proba):
        return None
    import narwhals as nw

    try:
        frame = nw.from_native(proba, eager_only=True, pass_through=True)
        return frame if isinstance(frame, nw.DataFrame) and frame.columns is not None else None
    except nw.exceptions.DuplicateError as fault:
        repeated = "; ".join(line.lstrip("- ") for line in str(fault).splitlines()[1:])
        raise InputError(f"proba: column names are repeated ({repeated}). Name every class once.") from fault


def _from_frame(frame: Any, classes: tuple[Hashable, ...] | None) -> Table:
    names = tuple(frame.columns)
    as_text = all(isinstance(name, str) for name in names)
    order = names if classes is None else tuple(str(name) if as_text else name for name in classes)
    if len(order) != len(names) or set(order) != set(names):
        raise InputError(
            f"classes: {_listed(classes or ())} are not the names of proba's columns, {_listed(names)}. Columns are "
            "matched by name: rename them, or pass an array, whose columns are taken in the order of classes."
        )
    if not names:
        raise InputError("proba: the data frame has no columns. Give one column for each class.")
    columns = [as_column(frame.get_column(name).to_native(), f"proba, column {show(name)}") for name in order]
    return _from_columns(columns, classes or names, named=True, as_text=as_text)


def _from_columns(columns: list[Column], names: tuple[Hashable, ...], *, named: bool, as_text: bool) -> Table:
    for column in columns:
        if column.labels is not None:
            _refuse_text(column)
    return Table(
        length=columns[0].length,
        fetch=lambda start, stop: np.column_stack([column.chunk(start, stop) for column in columns]).astype(np.float64),
        names=names,
        named=named,
        as_text=as_text,
        eps=max(_EPS, *(column.tolerance / 4 for column in columns)),
    )


def _refuse_text(column: Column) -> None:
    values = [column.item(row) for row in range(column.length)]
    bad = [row for row, value in enumerate(values) if not (is_number(value) or is_missing(value))]
    if bad:
        raise InputError(
            f"{column.name}: {len(bad)} of {column.length} values are not numbers (first: row {bad[0]}, value "
            f"{show(values[bad[0]])}). Give probabilities as floats."
        )


def _from_array(proba: Any, classes: tuple[Hashable, ...] | None) -> Table:
    values, eps = _as_array(proba)
    if values.ndim != 2:
        raise InputError(
            _BINARY.format(shape=values.shape)
            if values.ndim == 1
            else f"proba: shape {values.shape} is not (n, C). Give a row for each prediction, a column for each class."
        )
    length, width = values.shape
    if width == 0:
        raise InputError(f"proba: shape {values.shape} has no columns. Give one column for each class.")
    names = tuple(range(width)) if classes is None else classes
    if len(names) != width:
        raise InputError(f"classes: {len(names)} names for the {width} columns of proba. Name every column once, in order.")
    named = classes is not None
    if isinstance(values, np.ma.MaskedArray) or values.dtype.kind not in "fiub":
        where = [f"proba, column {j}" for j in range(width)]
        columns = [as_column(values[:, j], name) for j, name in enumerate(where)]
        return _from_columns(columns, names, named=named, as_text=False)
    if values.dtype.kind == "f":
        eps = max(eps, float(np.finfo(values.dtype).eps))
    return Table(
        length=length,
        fetch=lambda start, stop: values[start:stop].astype(np.float64),
        names=names,
        named=named,
        as_text=False,
        eps=eps,
    )


def _as_array(proba: Any) -> tuple[Array, float]:
    """An array as it is, and the rounding unit where its type no longer tells."""
    if "torch" in roots(proba):
        dense = proba.detach() if str(proba.layout) == "torch.strided" else proba.detach().to_dense()
        short = str(dense.dtype) == "torch.bfloat16"
        array = (dense.float() if short else dense).cpu().resolve_neg().resolve_conj().numpy()
        return array, 2.0**-7 if short else _EPS
    if isinstance(proba, np.ndarray):
        return proba if isinstance(proba, np.ma.MaskedArray) else np.asarray(proba), _EPS
    try:
        proba = without_masks(list(proba)) if isinstance(proba, list | tuple) else proba
        array = np.asarray(proba)
        # NumPy turns numbers beside text into text; as objects they stay what they are.
        return np.array(proba, dtype=object) if array.dtype.kind in "US" else array, _EPS
    except ValueError as fault:
        raise InputError(
            f"proba: a {type(proba).__name__} cannot be read as a table ({fault}). Give every row the same number of entries."
        ) from fault


def blocks(table: Table, from_logits: bool) -> Iterator[tuple[slice, Floats, Floats]]:
    """Rows by the block: which, what ranks their classes, and the probabilities; faults are raised after the last."""
    check_flag("from_logits", from_logits)
    checks = _Checks(table)
    step = max(1, _BLOCK // table.width)
    for start in range(0, table.length, step):
        rows = slice(start, min(start + step, table.length))
        values = table.fetch(rows.start, rows.stop)
        complete = checks.finite(start, values)
        if from_logits:
            yield rows, values, _softmax(values)
        else:
            checks.probabilities(start, values, complete)
            np.clip(values, 0.0, 1.0, out=values)
            yield rows, values, values
    checks.settle()


def _softmax(logits: Floats) -> Floats:
    with np.errstate(invalid="ignore"):  # rows that are not finite are reported by the checks
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))  # the largest taken off, nothing overflows
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@dataclass(slots=True)
class _Fault:
    """How many rows have a fault, and which to show."""

    count: int = 0
    row: int = -1
    value: float = 0.0

    def first(self, start: int, bad: Flags, block: Floats) -> None:
        """Count the rows in which any value is bad; keep the first."""
        rows = np.flatnonzero(bad.any(axis=1))
        if len(rows) and not self.count:
            self.row, self.value = start + int(rows[0]), float(block[rows[0], bad[rows[0]].argmax()])
        self.count += len(rows)

    def worst(self, start: int, sums: Floats, tolerance: float) -> None:
        """Count the sums further than this from 1; keep the furthest."""
        off = np.abs(sums - 1.0)
        row = int(off.argmax())
        if off[row] > max(tolerance, abs(self.value - 1.0) if self.count else 0.0):
            self.row, self.value = start + row, float(sums[row])
        self.count += int(np.count_nonzero(off > tolerance))


@dataclass(slots=True)
class _Checks:
    """What is wrong with a table, gathered over all its rows."""

    table: Table
    missing: _Fault = field(default_factory=_Fault)
    outside: _Fault = field(default_factory=_Fault)
    total: _Fault = field(default_factory=_Fault)
    low: float = np.inf
    high: float = -np.inf

    def finite(self, start: int, block: Floats) -> Flags:
        """Note values that are missing or infinite; returns the rows without any."""
        bad: Flags = ~np.isfinite(block)
        self.missing.first(start, bad, block)
        return np.logical_not(bad.any(axis=1))

    def probabilities(self, start: int, block: Floats, complete: Flags) -> None:
        """Note values outside [0, 1] by more than rounding explains, and rows whose sum is not 1."""
        eps, among = self.table.eps, complete[:, None]
        self.low = min(self.low, float(block.min(initial=np.inf, where=among)))
        self.high = max(self.high, float(block.max(initial=-np.inf, where=among)))
        self.outside.first(start, ((block < -4 * eps) | (block > 1 + 4 * eps)) & among, block)
        sums = np.where(complete, block.sum(axis=1, where=among), 1.0)
        self.total.worst(start, sums, 8 * self.table.width * eps)

    def settle(self) -> None:
        """Raise one error that tells all of it."""
        n, problems = self.table.length, []
        if self.missing.count:
            problems.append(
                f"proba: {self.missing.count} of {n} rows hold a value that is missing or not finite (first: row "
                f"{self.missing.row}, value {self.missing.value}). Remove these rows, or find out why they have none."
            )
        if self.outside.count:
            problems.append(
                f"proba: {self.outside.count} of {n} rows hold a value outside [0, 1] (first: row {self.outside.row}, "
                f"value {self.outside.value!r}). {self._hint()}"
            )
        if self.total.count:
            problems.append(
                f"proba: {self.total.count} of {n} rows do not sum to 1 (worst: row {self.total.row}, sum "
                f"{self.total.value!r}), as the probabilities of all classes must; they are never renormalised. Give "
                "every class its column, or divide each row by its sum if that is what the numbers mean."
            )
        if problems:
            raise InputError("\n".join(problems))

    def _hint(self) -> str:
        if self.low < 0 and self.high > 1:
            return "If these are logits, pass from_logits=True."
        if self.low >= 0 and self.high <= 100:
            return "If these are percentages, divide by 100."
        return "Probabilities lie between 0 and 1; if these are logits, pass from_logits=True."


def read_labels(y_true: Values, proba: Any, table: Table) -> Codes:
    """The column of each row's label."""
    shape: tuple[int, ...] = tuple(getattr(y_true, "shape", (0,)))
    if len(shape) == 2 and shape[1] != 1:
        raise InputError(
            f"y_true: shape {shape} is not (n,). Give one label for each row; from indicator columns take argmax(axis=1)."
        )
    labels = as_column(y_true, "y_true")
    if labels.length != table.length:
        raise InputError(
            f"y_true has {labels.length} rows and proba has {table.length}. They must describe the same rows; nothing "
            "is repeated."
        )
    _check_index(y_true, proba)
    codes = _encode(labels, table)
    _check_codes(codes, labels, table)
    return codes


def _check_index(y_true: Values, proba: Any) -> None:
    """Two pandas objects must agree on which row is which."""
    if same_index(y_true, proba):
        return
    ours, theirs = unwrapped(y_true).index, unwrapped(proba).index
    differ = [row for row in range(len(ours)) if ours[row] != theirs[row]] or [0]
    raise InputError(
        f"y_true and proba: {len(differ)} of {len(ours)} rows have different index labels (first: row {differ[0]}, "
        f"{show(ours[differ[0]])} and {show(theirs[differ[0]])}). Align the two, or reset both indexes if the rows "
        "go by position."
    )


def _encode(labels: Column, table: Table) -> Codes:
    place: dict[Hashable, int] = {name: j for j, name in enumerate(table.names)}
    text = {str(name): j for j, name in enumerate(table.names)} if table.as_text else {}

    def code(label: Hashable) -> int:
        if is_missing(label):
            return _MISSING
        plain = int(label) if isinstance(label, float) and label.is_integer() else label
        return place.get(label, text.get(str(plain), _UNKNOWN))

    if labels.labels is not None:
        rows = labels.labels(0, labels.length)
    else:
        numbers = labels.chunk(0, labels.length)
        if not is_coarse(numbers):
            values, inverse = np.unique(numbers, return_inverse=True)
            return np.array([code(value) for value in values.tolist()], dtype=np.intp)[inverse]
        rows = [None if is_missing(value) else native(value) for value in map(labels.item, range(labels.length))]
    try:
        codes = {label: code(label) for label in set(rows)}
    except TypeError as error:
        raise InputError(f"y_true: some labels cannot be compared with the classes ({error}). Pass plain values.") from error
    return np.fromiter((codes[label] for label in rows), np.intp, len(rows))


def _check_codes(codes: Codes, labels: Column, table: Table) -> None:
    problems = []
    missing, unknown = np.flatnonzero(codes == _MISSING), np.flatnonzero(codes == _UNKNOWN)
    if len(missing):
        problems.append(
            f"y_true: {len(missing)} of {len(codes)} labels are missing (first: row {missing[0]}, value "
            f"{show(labels.item(int(missing[0])))}). Remove these rows, or find out what came true."
        )
    if len(unknown):
        why = (
            f"is not one of the classes {_listed(table.names)}. Give it a column, or correct the label."
            if table.named
            else f"is not a whole number from 0 to {table.width - 1}, a position among the columns. Name the columns "
            "with classes=."
        )
        problems.append(
            f"y_true: {len(unknown)} of {len(codes)} labels have no column (first: row {unknown[0]}, value "
            f"{show(labels.item(int(unknown[0])))}), which {why}"
        )
    if problems:
        raise InputError("\n".join(problems))


def _listed(names: Sequence[object]) -> str:
    more = f", ... {len(names)} in all" if len(names) > 10 else ""
    return f"[{', '.join(show(name) for name in names[:10])}{more}]"
