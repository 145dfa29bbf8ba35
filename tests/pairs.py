"""Grids whose axes do not interact, covered pairwise: every value of every axis meets every value of every other once."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

Place = tuple[int, ...]
Pair = tuple[int, int, int, int]  # axis, place of its value, a later axis, place of its value


def all_pairs(*axes: Iterable[Any], unless: Callable[..., bool] = lambda *_: False) -> list[tuple[Any, ...]]:
    """Cases, the same every time, that together hold every pair of values of two axes; few, though not the fewest.

    Each case begins with a pair that no case holds yet and is completed so that it holds as many others as it can. Cases for
    which ``unless`` is true are not made, and a pair that only they would hold is not asked for.

    >>> len(all_pairs("abc", range(4), (False, True)))
    12
    >>> all_pairs("ab", (1, 2), unless=lambda letter, number: letter == "a" and number == 2)
    [('a', 1), ('b', 1), ('b', 2)]
    """
    values = [list(axis) for axis in axes]
    cases = [
        place
        for place in itertools.product(*map(range, map(len, values)))
        if not unless(*(axis[k] for axis, k in zip(values, place, strict=True)))
    ]
    held = {place: set(_pairs(place)) for place in cases}
    missing = dict.fromkeys(pair for place in cases for pair in held[place])  # a set that keeps its order
    by_pair: dict[Pair, list[Place]] = {}
    for place in cases:
        for pair in held[place]:
            by_pair.setdefault(pair, []).append(place)
    chosen = []
    while missing:
        first = next(iter(missing))
        best = max(by_pair[first], key=lambda place: sum(pair in missing for pair in held[place]))
        chosen.append(best)
        for pair in held[best]:
            missing.pop(pair, None)
    return [tuple(axis[k] for axis, k in zip(values, place, strict=True)) for place in sorted(chosen)]


def _pairs(place: Place) -> Iterator[Pair]:
    for (a, i), (b, j) in itertools.combinations(enumerate(place), 2):
        yield a, i, b, j


def pairwise(names: str, *axes: Iterable[Any], unless: Callable[..., bool] = lambda *_: False) -> pytest.MarkDecorator:
    """``pytest.mark.parametrize`` over `all_pairs`, each case named by its values."""
    cases = all_pairs(*axes, unless=unless)
    return pytest.mark.parametrize(
        [name.strip() for name in names.split(",")], cases, ids=["-".join(map(str, c)) for c in cases]
    )
