"""Record: summaries under keys, on named axes. Groups, classes, clusters, folds and days are the same thing."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import starmap
from typing import Any, NoReturn

from trueness._text import clean
from trueness._values import lists, show
from trueness.errors import SummaryError
from trueness.options import check_path
from trueness.summary.extremes import Extremes
from trueness.summary.ruler import Ruler
from trueness.summary.summary import Summary, added


class Record(Mapping[Any, Summary]):
    """Summaries by key: what ``by=`` gives, and what days or folds put together make.

    With one axis a key is a value, with several a tuple; the key of rows without a group is None. All summaries lie on one
    ruler. A record reads like a dictionary, adds key by key with ``+`` or ``sum([...])``, and cannot be changed; ``.n`` is the
    number of rows of all keys.

    Parameters
    ----------
    summaries : mapping
        ``{key: Summary}``, at least one.
    axes : sequence of str
        What the keys are values of, for example ``["country"]``.
    extremes : Extremes, optional
        Those of the cumulative differences of all rows together, where a second pass has told them.

    Examples
    --------
    >>> from trueness import summarize
    >>> monday = Record({"de": summarize([0, 1], [0.2, 0.7])}, axes=["country"])
    >>> tuesday = Record({"de": summarize([1], [0.9]), "fr": summarize([0], [0.1])}, axes=["country"])
    >>> week = monday + tuesday
    >>> week
    <Record of 4 rows by country: 2 summaries>
    >>> week["de"].n, week.total().n
    (3, 4)
    """

    axes: tuple[str, ...]
    extremes: Extremes | None
    _summaries: dict[Any, Summary]

    def __init__(self, summaries: Mapping[Any, Summary], *, axes: Sequence[str], extremes: Extremes | None = None) -> None:
        _require_summaries(summaries, _axes(axes))
        self.__dict__.update(_summaries=dict(summaries), axes=_axes(axes), extremes=extremes)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a record cannot be changed: {name!r} is not set. Make another one.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a record cannot be changed: {name!r} is not removed. Make another one.")

    def __getitem__(self, key: Any) -> Summary:
        return self._summaries[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._summaries)

    def __len__(self) -> int:
        return len(self._summaries)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Record):
            return (self.axes, self.extremes, self._summaries) == (other.axes, other.extremes, other._summaries)
        return self._summaries == other if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.axes, self.extremes, frozenset(self._summaries.items())))

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: not what was worked out from it."""
        return {"_summaries": self._summaries, "axes": self.axes, "extremes": self.extremes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        summaries = "1 summary" if len(self) == 1 else f"{len(self)} summaries"
        return f"<Record of {self.n} rows by {' and '.join(map(clean, self.axes))}: {summaries}>"

    @property
    def ruler(self) -> Ruler:
        """The ruler of all summaries."""
        return next(iter(self._summaries.values())).ruler

    @cached_property
    def n(self) -> int:
        """Rows used, of all keys."""
        return sum(summary.n for summary in self._summaries.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know of all rows together."""
        return self.total().notes

    @cached_property
    def digest(self) -> str:
        """SHA-256 over ruler, axes, keys, sums and extremes; the order of the keys does not enter."""
        from trueness.summary.packed import pack

        return pack(self).digest

    def __add__(self, other: object) -> "Record":
        if isinstance(other, int) and other == 0:  # sum([...]) starts from 0
            return self
        if not isinstance(other, Record):
            return NotImplemented
        if self.axes != other.axes:
            raise SummaryError(
                f"records on different axes do not add: {_listed(self.axes)} and {_listed(other.axes)}. "
                "Merge what differs away with over(), or keep them apart."
            )
        parts = [*self._summaries.items(), *other._summaries.items()]
        return Record(_added_by_key(parts), axes=self.axes)

    __radd__ = __add__

    def total(self) -> Summary:
        """The summary of all rows, with the extremes of all rows where they are known."""
        return self._total

    @cached_property
    def _total(self) -> Summary:
        total = added(list(self._summaries.values()))
        return replace(total, extremes=self.extremes or total.extremes)

    def over(self, axis: str) -> "Record | Summary":
        """The record with this axis merged away; the summary of all rows where no other axis is left.

        Examples
        --------
        >>> from trueness import summarize
        >>> days = {("mon", "de"): summarize([0], [0.2]), ("tue", "de"): summarize([1], [0.7])}
        >>> Record(days, axes=["day", "country"]).over("day")
        <Record of 2 rows by country: 1 summary>
        """
        if not isinstance(axis, str) or axis not in self.axes:
            raise SummaryError(f"there is no axis {show(axis)}; the axes are {_listed(self.axes)}.")
        if len(self.axes) == 1:
            return self.total()
        place = self.axes.index(axis)
        axes = self.axes[:place] + self.axes[place + 1 :]

        def without(key: tuple[Any, ...], summary: Summary) -> tuple[Any, Summary]:
            rest = key[:place] + key[place + 1 :]
            return rest if len(rest) > 1 else rest[0], summary

        return Record(_added_by_key(starmap(without, self._summaries.items())), axes=axes, extremes=self.extremes)

    def coarsen(self, *, min_rows: int) -> "Record":
        """The same rows in wider cells, the same for all keys, where no key has fewer rows than that: see `Summary.coarsen`.

        Many keys with few rows each leave few cells: merge an axis away with `over` first.
        """
        from trueness.summary.coarse import coarser_ruler

        occupied = {key: (summary.cells, summary.rows) for key, summary in self._summaries.items()}
        to = coarser_ruler(self.ruler, occupied, min_rows)
        return Record({key: summary.moved(to) for key, summary in self._summaries.items()}, axes=self.axes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record to a file that `Record.load` reads; the file appears whole or not at all."""
        from trueness._atomic import write_atomically
        from trueness.summary.file import encode

        write_atomically(check_path("path", path), encode(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Record":
        """Read a record; a file that is damaged or something else is an error, never a number."""
        from trueness.summary.file import decode_record

        path = check_path("path", path)
        with open(path, "rb") as file:
            return decode_record(file.read(), path)


def total_of(summaries: Mapping[Any, Summary]) -> Summary:
    """The summary of all rows of a record, or of {key: Summary}."""
    return summaries.total() if isinstance(summaries, Record) else added(list(summaries.values()))


def _added_by_key(parts: Iterable[tuple[Any, Summary]]) -> dict[Any, Summary]:
    by_key: dict[Any, list[Summary]] = {}
    for key, summary in parts:
        by_key.setdefault(key, []).append(summary)
    return {key: added(summaries) for key, summaries in by_key.items()}


def _axes(axes: Sequence[str]) -> tuple[str, ...]:
    names = (axes,) if isinstance(axes, str) else tuple(axes) if lists(axes) else ()
    # A lone surrogate is no text: it could not be saved.
    named = all(isinstance(name, str) and name.encode("utf-8", "ignore").decode() == name for name in names)
    if not names or not named or len(set(names)) < len(names):
        raise SummaryError(f"axes: {show(axes)} does not name what the keys are values of. Pass different names, one an axis.")
    return names


def _require_summaries(summaries: Mapping[Any, Any], axes: tuple[str, ...]) -> None:
    """At least one, all of them summaries on one ruler, under keys of as many values as there are axes."""
    if not isinstance(summaries, Mapping) or not summaries:
        raise SummaryError("no summaries: a record holds at least one. Pass {key: Summary}.")
    ruler: Ruler | None = None
    for key, summary in summaries.items():
        if not isinstance(summary, Summary):
            raise SummaryError(f"key {key!r}: a {type(summary).__name__} is not a Summary. Pass {{key: Summary}}.")
        ruler = ruler or summary.ruler
        if summary.ruler is not ruler and summary.ruler != ruler:
            raise SummaryError(
                f"key {key!r}: its ruler has {summary.ruler.shown}, that of others {ruler.shown}. "
                "Summarize all with the same bins=."
            )
        if len(axes) > 1 and not (isinstance(key, tuple) and len(key) == len(axes)):
            raise SummaryError(f"key {key!r}: is not a tuple of {len(axes)} values, one for each of {_listed(axes)}.")


def _listed(axes: Sequence[str]) -> str:
    return ", ".join(map(repr, axes))
