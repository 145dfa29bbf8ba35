"""Arrays and mappings that nobody can write to: arrays whatever flag is set and whichever base is asked for."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)
Key = TypeVar("Key")
Value = TypeVar("Value")


class FrozenMapping(Mapping[Key, Value]):
    """A mapping that cannot be changed; unlike a mapping proxy it can be pickled and copied."""

    __slots__ = ("_items",)
    _items: dict[Key, Value]

    def __init__(self, items: Mapping[Key, Value]) -> None:
        object.__setattr__(self, "_items", dict(items))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a mapping of a result cannot be changed: {name!r} is not set")

    def __reduce__(self) -> "tuple[type[FrozenMapping[Key, Value]], tuple[dict[Key, Value]]]":
        return type(self), (self._items,)

    def __getitem__(self, key: Key) -> Value:
        return self._items[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return repr(self._items)


def frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """The same numbers in bytes of Python's own, which nothing opens again: a read-only flag alone can be set back."""
    owner: object = array
    while isinstance(owner, np.ndarray) and not owner.flags.writeable:  # an array that was pickled writes to its bytes
        owner = owner.base
    return array if isinstance(owner, bytes) else np.ndarray(array.shape, array.dtype, buffer=array.tobytes())


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """The same memory, not to be written to by mistake; its owner still may."""
    view = array.view()
    view.flags.writeable = False
    return view


def column(compute: Callable[[Any], NDArray[Scalar]]) -> "cached_property[NDArray[Scalar]]":
    """A column that is made when it is first asked for, kept, and cannot be written to."""

    def made(of: Any) -> NDArray[Scalar]:
        return frozen(compute(of))

    made.__doc__ = compute.__doc__
    return cached_property(made)
