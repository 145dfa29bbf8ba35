"""Which columns are read and how: made once from a caller's arguments, checked, and handed on as one object each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from trueness._values import lists, show
from trueness.errors import InputError
from trueness.options import check_options

BUCKET = "bucket"  # the axis of a record whose keys are buckets of clusters
Role = Literal["prediction", "outcome", "weight"]  # what a column of numbers is read as

__all__ = ["BUCKET", "Columns", "Reading", "Role", "column_names", "predictor_names"]


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

    def __post_init__(self) -> None:
        for role in ("outcome", "prediction"):
            if getattr(self, role) is None:
                raise InputError(f"{role} is missing. Name the frame's column, for example {role}='y'.")
        self._require(str | int | np.integer)

    def in_text(self) -> Self:
        """The same, for a source whose columns are named by text alone; whole numbers are names in frames in memory."""
        self._require(str)
        return self

    def _require(self, kinds: Any) -> None:
        roles = [(role, getattr(self, role)) for role in ("outcome", "prediction", "weight", "cluster", "key")]
        for role, name in [*roles, *(("by", name) for name in self.by)]:
            if name is not None and (not isinstance(name, kinds) or isinstance(name, bool)):
                raise InputError(f"{role}: {show(name)} is not the name of a column. Pass its name, such as {role}='y'.")

    @property
    def predictions(self) -> tuple[str, ...]:
        """The prediction and its rivals."""
        return (self.prediction, *self.rivals)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to say of one column that is read as two things: the outcome itself cannot be off, nor may it weigh the rows."""
        pairs = (("outcome", "prediction"), ("outcome", "weight"), ("prediction", "weight"))
        same = [(a, b) for a, b in pairs if getattr(self, a) == getattr(self, b)]
        return tuple(f"column {show(getattr(self, a))}: is both the {a} and the {b}" for a, b in same)

    @property
    def roles(self) -> dict[Role, str]:
        """The column of each role that has one."""
        roles: dict[Role, str] = {"outcome": self.outcome, "prediction": self.prediction}
        return roles if self.weight is None else {**roles, "weight": self.weight}

    @property
    def numbers(self) -> list[str]:
        """Columns read as numbers: the outcome, the predictions, the weight."""
        return [self.outcome, *self.predictions, *_given(self.weight)]

    @property
    def axes(self) -> tuple[str, ...]:
        """What the keys of a record of these columns are values of: groups, and buckets of clusters."""
        if self.cluster is None:
            return self.by
        if BUCKET in self.by:
            raise InputError(f"by: a column named {BUCKET!r} is none beside cluster=, whose buckets have that name. Rename it.")
        return (*self.by, BUCKET)

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
        if self.delimiter is not None and not isinstance(self.delimiter, str):
            raise InputError(f"delimiter={show(self.delimiter)} is not a character. Pass for example ';'.")
        if self.memory_limit is not None and not isinstance(self.memory_limit, str):
            raise InputError(f"memory_limit={show(self.memory_limit)} is not a size. Pass for example '1GB'.")


def column_names(by: object) -> tuple[str, ...]:
    """The columns that make the groups: none, one by its name, or several."""
    if by is None or isinstance(by, str):
        return () if by is None else (by,)
    if not lists(by) or isinstance(by, Mapping):
        raise InputError(f"by={show(by)} is not the name of a column. Pass a name, or a list of names.")
    names = tuple(by)
    for name in names:
        if name is None:
            raise InputError(f"by: {show(name)} is not the name of a column. Pass a name, or a list of names.")
        if names.count(name) > 1:
            raise InputError(f"by: column {show(name)} is named twice. Name each column once.")
    return names


def predictor_names(predictions: Any) -> tuple[str, ...]:
    """The names of predictors, each a text of its own."""
    if not isinstance(predictions, Mapping):
        raise InputError(
            f"predictions: a {type(predictions).__name__} does not name its predictors. Pass y_true and {{name: y_prob}}."
        )
    names = tuple(map(str, predictions))
    if len(set(names)) < len(names):
        listed = ", ".join(map(show, predictions))
        raise InputError(f"predictions: two of the names {listed} print the same. Give each predictor its own name.")
    return names


def _given(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)
