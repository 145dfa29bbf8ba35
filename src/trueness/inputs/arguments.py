"""Which columns are read and how: made once from a caller's arguments, checked, and handed on as one object each."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from trueness._values import show
from trueness.errors import InputError
from trueness.options import check_options

__all__ = ["Columns", "Reading", "column_names"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns are read, and as what."""

    outcome: str
    prediction: str
    weight: str | None = None
    by: tuple[str, ...] = ()  # their values make the groups
    cluster: str | None = None
    rivals: tuple[str, ...] = ()  # further predictions of the same outcome
    key: str | None = None  # by which the rows of two files are paired

    @property
    def predictions(self) -> tuple[str, ...]:
        """The prediction and its rivals."""
        return (self.prediction, *self.rivals)

    @property
    def numbers(self) -> list[str]:
        """Columns read as numbers: the outcome, the predictions, the weight."""
        return [self.outcome, *self.predictions, *_given(self.weight)]

    @property
    def names(self) -> list[str]:
        """Every column, once."""
        return list(dict.fromkeys([*self.numbers, *self.by, *_given(self.cluster), *_given(self.key)]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How rows are read."""

    nan: Literal["raise", "drop"] = "raise"
    pos_label: Any = None  # the one outcome that means the event
    align: Literal["position", "index"] | None = None  # of columns in memory that carry labels of rows
    delimiter: str | None = None  # of text files, where it is not to be found out from the header
    memory_limit: str | None = None  # the most that a reader of files may hold

    def __post_init__(self) -> None:
        check_options(self.nan, self.align, self.pos_label)


def column_names(by: str | Iterable[str] | None) -> tuple[str, ...]:
    """The columns that make the groups: none, one by its name, or several."""
    if by is None or isinstance(by, str):
        return () if by is None else (by,)
    if not isinstance(by, Iterable):
        raise InputError(f"by={show(by)} is not the name of a column. Pass a name, or a list of names.")
    names = tuple(by)
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"by: column {show(name)} is named twice. Name each column once.")
    return names


def _given(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)
