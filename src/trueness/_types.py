"""Names for the types that arguments and arrays have."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Array: TypeAlias = NDArray[Any]

# One column of the data in any container: lists, NumPy, pandas, polars, Arrow, tensors, or an iterator of values or chunks.
Values: TypeAlias = ArrayLike | Iterable[Any]
# In quotes: NumPy loads its generators when they are first named, and few calls draw.
Generator: TypeAlias = "np.random.Generator"
Seeds: TypeAlias = "np.random.SeedSequence"
Rng: TypeAlias = "int | np.integer[Any] | np.random.Generator | None"
