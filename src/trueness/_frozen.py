"""Arrays that nobody can write to, whatever flag is set and whichever base is asked for."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)


def frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """The same numbers in bytes of Python's own, which nothing opens again: a read-only flag alone can be set back."""
    owner: object = array
    while isinstance(owner, np.ndarray) and not owner.flags.writeable:  # an array that was pickled writes to its bytes
        owner = owner.base
    return array if isinstance(owner, bytes) else np.ndarray(array.shape, array.dtype, buffer=array.tobytes())


def column(compute: Callable[[Any], NDArray[Scalar]]) -> "cached_property[NDArray[Scalar]]":
    """A column that is made when it is first asked for, kept, and cannot be written to."""

    def made(of: Any) -> NDArray[Scalar]:
        return frozen(compute(of))

    made.__doc__ = compute.__doc__
    return cached_property(made)
