"""pandas objects matched by their index."""

from typing import Any

import numpy as np

from trueness._types import Ints
from trueness._values import show
from trueness.errors import InputError
from trueness.inputs.frames import has_index, unwrapped

__all__ = ["aligned", "same_index"]


def same_index(x: Any, y: Any) -> bool:
    """Whether two objects agree on which row is which, as far as pandas' labels can tell."""
    x, y = unwrapped(x), unwrapped(y)
    return not (has_index(x) and has_index(y)) or bool(x.index.equals(y.index))


def aligned(given: list[Any], names: tuple[str, ...], align: str | None) -> tuple[list[Any], list[str]]:
    """pandas objects matched by their index where asked; without being asked, a differing index is an error."""
    given = [unwrapped(x) for x in given]
    indexed = [k for k, x in enumerate(given) if has_index(x)]
    notes: list[str] = []
    for k in indexed[1:]:
        index, base, other = given[k].index, given[indexed[0]].index, names[indexed[0]]
        if len(index) != len(base) or (align != "index" and same_index(given[indexed[0]], given[k])):
            continue
        if align == "position":
            notes.append(f"{names[k]}: matched with {other} by position; their indexes differ")
            continue
        unique = base.is_unique and index.is_unique
        if align == "index" and not unique:
            raise InputError(_repeats(names[k], index) if base.is_unique else _repeats(other, base))
        places = _places(index, base, names[k]) if unique else None
        if align is None or places is None or (places < 0).any():
            raise InputError(_index_differs(names[k], other, base, index, places))
        if (places != np.arange(len(places))).any():
            given[k] = given[k].iloc[places]
            notes.append(f"{names[k]}: reordered to the index of {other}")
    return given, notes


def _repeats(name: str, index: Any) -> str:
    repeated = index.duplicated()
    row = int(repeated.argmax())
    return (
        f"{name}: {int(repeated.sum())} of {len(index)} index labels are repeats "
        f"(first: row {row}, label {show(index[row])}), so rows cannot be matched by label. "
        "Pass .to_numpy() of both to match by position, or make the labels unique."
    )


def _places(index: Any, base: Any, name: str) -> Ints:
    """Where each label of `base` is in `index`; -1 where it is not."""
    try:
        return np.asarray(index.get_indexer(base))
    except Exception:  # pandas cannot for overlapping intervals, nor for levels of another number
        return _places_by_hand(index, base, name)


def _places_by_hand(index: Any, base: Any, name: str) -> Ints:
    try:
        place = {label: row for row, label in enumerate(index)}
        return np.array([place.get(label, -1) for label in base])
    except TypeError as error:
        raise InputError(
            f"{name}: its index of {len(index)} labels cannot be matched by label: {error}. "
            "Pass .to_numpy() of both to match by position."
        ) from error


def _index_differs(name: str, other: str, base: Any, index: Any, places: Ints | None) -> str:
    remedy = "Match by label with .reindex, or by position with .to_numpy() of both; summarize also takes align=."
    if places is None:
        return f"{name}: its index of {len(index)} labels differs from that of {other} and labels repeat. {remedy}"
    if (absent := places < 0).any():
        row = int(absent.argmax())
        return (
            f"{name}: {int(absent.sum())} of {len(base)} labels of {other} are absent from its index (first: row {row}, "
            f"label {show(base[row])}). Give both the same labels, or match by position with "
            ".to_numpy() of both."
        )
    wrong = places != np.arange(len(places))
    row = int(wrong.argmax())
    first = f"(first: row {row}, label {show(index[row])} where {other} has {show(base[row])})"
    if not wrong.any():
        return f"{name}: its index labels are of dtype {index.dtype}, those of {other} of {base.dtype} {first}. {remedy}"
    return f"{name}: {int(wrong.sum())} of {len(base)} index labels are not in the order of {other} {first}. {remedy}"
