"""What the command line is pointed at: files of rows or of summaries, as what `assess` and `compare` take."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

import click

from trueness.cli.exits import Command

if TYPE_CHECKING:
    from trueness.data.row_sample import RowSample
    from trueness.engines.files.held_rows import HeldRows
    from trueness.inputs.arguments import Columns, Reading
    from trueness.summary.record import Record
    from trueness.summary.summary import Summary

IN_MEMORY = 10_000_000  # rows up to which a file is computed from its rows; above, from its summary

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Files and how to read them."""

    paths: tuple[str, ...]
    outcome: str | None
    prediction: tuple[str, ...]
    weight: str | None
    by: tuple[str, ...] = ()
    cluster: str | None = None
    nan: Literal["raise", "drop"]
    pos_label: str | None
    delimiter: str | None

    def are_summaries(self, files: list[str]) -> bool:
        """Whether the files hold summaries; then no option that reads rows may be given."""
        from trueness.engines.files.sources import one_kind

        if one_kind(files) != "summary":
            return False
        for name in ("outcome", "prediction", "weight", "by", "cluster", "pos_label", "delimiter"):
            if getattr(self, name) or self.nan != "raise":
                option = f"--{name.replace('_', '-')}" if getattr(self, name) else "--nan"
                raise click.UsageError(f"{option}: summaries already hold what this option would choose; leave it out.")
        return True

    @property
    def shown(self) -> str:
        """Where the rows come from, for people."""
        columns = {"outcome": self.outcome, "prediction": ", ".join(self.prediction), "weight": self.weight}
        named = [f"{name} {column!r}" for name, column in columns.items() if column]
        return ", ".join([*map(repr, self.paths), *named])

    def reading(self) -> "Reading":
        """How rows are read."""
        from trueness.inputs.arguments import Reading

        return Reading(nan=self.nan, pos_label=self.pos_label, delimiter=self.delimiter)


def data_options(*, by: bool = True, cluster: bool = True, weight: bool = True) -> Callable[[Command], Command]:
    """PATHS and the options that say which columns are read and how; the command gets them as one `Data`."""
    options = [
        click.argument("paths", nargs=-1, required=True),
        click.option("-y", "--outcome", metavar="COLUMN", help="What happened: 0 or 1, true or false, or a share."),
        click.option("-p", "--prediction", metavar="COLUMN", multiple=True, help="The predicted probability."),
        click.option("-w", "--weight", metavar="COLUMN", help="How much each row counts.") if weight else None,
        click.option("--by", metavar="COLUMN", multiple=True, help="Look at every group too; may be repeated.") if by else None,
        click.option("--cluster", metavar="COLUMN", help="Rows of one cluster are not independent: question, patient, user.")
        if cluster
        else None,
        click.option(
            "--nan",
            type=click.Choice(["raise", "drop"]),
            default="raise",
            show_default=True,
            help="Refuse missing values, or drop their rows and say how many.",
        ),
        click.option("--pos-label", metavar="VALUE", help="The outcome that means the event, where it is not 1 or true."),
        click.option("--delimiter", metavar="CHARACTER", help="What parts the columns of a text file, where it is unusual."),
    ]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def wrapped(**arguments: Any) -> Any:
            names = {field.name for field in fields(Data)}
            taken = {name: arguments.pop(name) for name in list(arguments) if name in names}
            return command(data=Data(**{"weight": None, **taken}), **arguments)

        for option in reversed([option for option in options if option is not None]):
            wrapped = option(wrapped)
        return wrapped  # type: ignore[return-value]

    return decorate


def load(data: Data, progress: Progress | None) -> dict[str, Any]:
    """Arguments for `assess`: rows where they fit in memory, else a summary or a record; with groups where there are any."""
    from trueness.data.row_sample import RowSample
    from trueness.engines.files.open_files import open_files
    from trueness.engines.files.sources import opened
    from trueness.summary.ruler import ruler

    with opened(data.paths) as paths:
        if data.are_summaries(paths):
            return {"y_true": added(paths, progress)}
        columns = columns_of(data)
        with open_files(paths, columns, data.reading()) as files:
            rows = files.rows_up_to(IN_MEMORY, progress)
            if rows is not None:
                return dict(_judged({"y_true": RowSample(rows.checked(columns.prediction))}))
            reduce = files.record if columns.axes else files.summary
            return {"y_true": reduce(ruler(), progress, exact=True)}


def columns_of(data: Data) -> "Columns":
    """The columns, of which outcome and prediction must be named."""
    from trueness.inputs.arguments import Columns

    if data.outcome is None or not data.prediction:
        missing = "'-y' / '--outcome'" if data.outcome is None else "'-p' / '--prediction'"
        raise click.UsageError(f"Missing option {missing}: name the column.", click.get_current_context())
    if len(data.prediction) > 1:
        raise click.UsageError("more than one --prediction: 'compare' takes several.", click.get_current_context())
    return Columns(outcome=data.outcome, prediction=data.prediction[0], weight=data.weight, by=data.by, cluster=data.cluster)


def merged(paths: tuple[str, ...], progress: Progress | None = None) -> "Summary | Record":
    """The sum of summaries, or of records, in files."""
    from trueness.engines.files.sources import opened

    with opened(paths) as files:
        return added(files, progress)


def added(files: list[str], progress: Progress | None) -> "Summary | Record":
    """The sum of summaries, or of records on the same axes, in files; a damaged one, and what is none, is an error."""
    from trueness.errors import SummaryError
    from trueness.summary.file import read

    total: Any = 0
    axes: dict[str, tuple[str, ...]] = {}
    for number, file in enumerate(files):
        with open(file, "rb") as opened:
            value = read(opened.read(), file).value
        axes[file] = getattr(value, "axes", ())
        if axes[file] != axes[files[0]]:
            raise SummaryError(
                f"{files[0]!r} holds {_kind_of(axes[files[0]])}, {file!r} {_kind_of(axes[file])}: they do not add up. "
                "Name files that hold the same, made with the same --by."
            )
        total = value + total if number == 0 else total + value
        if progress is not None:
            progress(number + 1, len(files))
    return total  # type: ignore[no-any-return]


def _kind_of(axes: tuple[str, ...]) -> str:
    return f"a record by {' and '.join(axes)}" if axes else "one summary"


def load_pairs(data: Data, key: str | None, progress: Progress | None) -> "dict[str, RowSample]":
    """Several predictors on the same rows: columns of one table, or one column of several files."""
    from trueness.engines.files.sources import kind_of, opened
    from trueness.errors import InputError

    if data.outcome is None or not data.prediction:
        raise click.UsageError("name the outcome with -y and the predictions with -p.", click.get_current_context())
    if len(set(data.prediction)) < len(data.prediction):
        raise click.UsageError("a --prediction is named twice.", click.get_current_context())
    with opened(data.paths) as files:
        if any(kind_of(file) == "summary" for file in files):
            raise InputError("summaries cannot be paired: which row is which is gone. Pass files of rows.")
        if len(data.prediction) > 1:
            if key is not None:
                raise click.UsageError("--key pairs the rows of two files; here one has all predictions.")
            return _columns_of_one(data, files, progress)
        if len(files) < 2:
            raise click.UsageError("compare needs two predictions (-p twice) or two files.", click.get_current_context())
        return _one_column_of_each(data, files, key, progress)


def _columns_of_one(data: Data, files: list[str], progress: Progress | None) -> "dict[str, RowSample]":
    from trueness.data.row_sample import RowSample

    rows = _read(data, files, None, progress)
    return _judged({name: RowSample(rows.checked(name)) for name in data.prediction})


def _one_column_of_each(data: Data, files: list[str], key: str | None, progress: Progress | None) -> "dict[str, RowSample]":
    from trueness.data.row_sample import RowSample

    (prediction,) = data.prediction
    predictors: dict[str, RowSample] = {}
    first: HeldRows | None = None
    for file, name in zip(files, _short_names(files), strict=True):
        rows = _read(data, [file], key, progress)
        if first is None:
            first = rows
        else:
            _ = RowSample(rows.checked(prediction)).arrays  # judged in the file's own order, for the line
            rows = _paired(first, rows, (files[0], file), key)
        predictors[name] = RowSample(rows.checked(prediction))
    return _judged(predictors)


def _read(data: Data, files: list[str], key: str | None, progress: Progress | None) -> "HeldRows":
    from trueness.engines.files.open_files import open_files
    from trueness.inputs.arguments import Columns

    prediction, *rivals = data.prediction
    columns = Columns(outcome=data.outcome or "", prediction=prediction, weight=data.weight, rivals=tuple(rivals), key=key)
    with open_files(files, columns, data.reading()) as table:
        return table.rows(progress)


def _judged(rows: "dict[str, RowSample]") -> "dict[str, RowSample]":
    """The same, every row looked at while the file is there to say on which line something is wrong."""
    for each in rows.values():
        _ = each.arrays
    return rows


def _short_names(files: list[str]) -> list[str]:
    """File names, with folders only where they are needed to tell the files apart."""
    import os

    from trueness.engines.files.sources import Copied

    names = [file.name if isinstance(file, Copied) else os.path.basename(file) for file in files]
    return names if len(set(names)) == len(names) else files


def _paired(a: "HeldRows", b: "HeldRows", files: tuple[str, str], key: str | None) -> "HeldRows":
    """The second file's rows in the order of the first; outcomes and weights must be the same."""
    import numpy as np

    from trueness.errors import InputError

    if key is not None:
        b = b.ordered(_order(a.keys or [], b.keys or [], files, key))
    elif len(a.y) != len(b.y):
        raise InputError(
            f"{files[0]!r} has {len(a.y)} rows, {files[1]!r} has {len(b.y)}: they cannot be compared row by row. "
            "Name a column that says which rows belong together with --key."
        )
    for what, one, other in (("outcome", a.y, b.y), ("weight", a.w, b.w)):
        if one is None or other is None or np.array_equal(one, other, equal_nan=True):
            continue
        differ = ~((one == other) | (np.isnan(one) & np.isnan(other)))
        row = int(differ.argmax())
        raise InputError(
            f"the {what}s of {files[0]!r} and {files[1]!r} differ in {int(differ.sum())} of {len(one)} rows (first: row {row}, "
            f"values {one[row]:g} and {other[row]:g}), so these are not the same rows. "
            + ("Check the key." if key else "Name a column that says which rows belong together with --key.")
        )
    return b


def _order(a: list[Any], b: list[Any], files: tuple[str, str], key: str) -> Any:
    """Where each key of the first file is in the second."""
    import numpy as np

    from trueness.errors import InputError

    places: list[dict[Any, int]] = []
    for keys, file in ((a, files[0]), (b, files[1])):
        place = {value: row for row, value in enumerate(keys)}
        if None in place or len(place) < len(keys):
            repeats = len(keys) - len(place)
            what = "is missing in some rows" if None in place else f"repeats in {repeats} of {len(keys)} rows"
            raise InputError(f"column {key!r}: {what} of {file!r}, so rows cannot be paired by it. Pass a key that is unique.")
        places.append(place)
    absent = [value for value in a if value not in places[1]]
    if absent or len(a) != len(b):
        extra = next((value for value in b if value not in places[0]), None)
        which = f"{absent[0]!r} is only in {files[0]!r}" if absent else f"{extra!r} is only in {files[1]!r}"
        raise InputError(
            f"column {key!r}: the files hold different keys ({len(a)} and {len(b)} rows; first: {which}). "
            "Pass files about the same rows."
        )
    return np.array([places[1][value] for value in a])
