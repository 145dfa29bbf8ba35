"""Columns kept by pandas, polars, Arrow and PyTorch.

Nothing here imports them: an object is recognised by the module its type comes from, and is then read through its own
methods.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._types import Array
from trueness.errors import InputError
from trueness.inputs.columns import (
    Column,
    array_column,
    object_column,
    refuse,
    refuse_dtype,
    require_one_column,
    roots,
    rounding,
    text_column,
)

__all__ = ["ADAPTERS", "has_index", "one_column", "one_column_tensor", "reads_dtype", "unwrapped"]

_READABLE = {
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
}

_ARROW_FLOATS = {"halffloat": "float16", "float": "float32", "double": "float64"}


def unwrapped(x: Any) -> Any:
    """What a narwhals Series or frame was made from; anything else as it is."""
    return x.to_native() if "narwhals" in roots(x) and hasattr(x, "to_native") else x


def has_index(x: object) -> bool:
    """Whether rows carry pandas' labels."""
    return "pandas" in roots(x) and hasattr(x, "iloc")


def one_column(x: Any, name: str) -> Any:
    """The one column of a frame or of an array of two dimensions; what has no shape as it is."""
    shape = getattr(x, "shape", (0,))
    require_one_column(tuple(shape), name)
    if len(shape) == 1:
        return x
    return x.iloc[:, 0] if hasattr(x, "iloc") else x.column(0) if hasattr(x, "num_columns") else x[:, 0]


def _pandas(x: Any, name: str) -> Column:
    if not hasattr(x, "shape") or not hasattr(x, "__len__"):
        refuse(x, name)
    x = one_column(x, name)
    dtype = x.dtype
    kinds = {base.__name__ for base in type(dtype).__mro__}
    if isinstance(dtype, np.dtype) or "NumpyEADtype" in kinds:
        return array_column(x.to_numpy(), name)
    values = getattr(x, "array", x)
    if "ArrowDtype" in kinds:
        column = _arrow(values.__arrow_array__(), name)
        return replace(column, dtype=f"{column.dtype}[pyarrow]")
    if "SparseDtype" in kinds:
        if dtype.subtype.kind not in "biuf":
            return array_column(np.asarray(values), name)
        plain = array_column(np.empty(0, dtype.subtype), name)
        return replace(
            plain,
            length=len(values),
            dtype=str(dtype),
            fetch=lambda a, b: array_column(np.asarray(values[a:b]), name).fetch(0, b - a),
        )
    if kinds & {"CategoricalDtype", "StringDtype"}:
        return text_column(name, len(values), str(dtype), lambda start, stop: values[start:stop].astype(object).tolist())
    if "BaseMaskedDtype" not in kinds:
        refuse_dtype(name, str(dtype), len(values), lambda: values[0])
    return Column(
        name=name,
        length=len(values),
        dtype=str(dtype),
        tolerance=rounding(dtype.numpy_dtype),
        fetch=lambda start, stop: values[start:stop].to_numpy(dtype=np.float64, na_value=np.nan),
        value=lambda row: values[row],
    )


def _polars(x: Any, name: str) -> Column:
    x = one_column(x, name)
    if not hasattr(x, "null_count") or not hasattr(x, "to_numpy"):
        refuse(x, name)
    dtype, length = str(x.dtype), len(x)
    if dtype == "Object" or x.dtype.is_decimal():
        return replace(object_column(x.to_list(), name), dtype=dtype)
    if dtype.startswith(("String", "Categorical", "Enum", "Binary")):
        return text_column(name, length, dtype, lambda start, stop: x.slice(start, stop - start).to_list())
    if dtype not in ("Boolean", "Null") and not x.dtype.is_integer() and not x.dtype.is_float():
        refuse_dtype(name, dtype, length, lambda: x[0])

    def fetch(start: int, stop: int) -> Array:
        part = x.slice(start, stop - start)
        if part.null_count() or dtype == "Int128" or dtype == "UInt128":
            part = part.cast(float)
        array: Array = part.to_numpy()
        return array

    tolerance = rounding(np.dtype(dtype.lower())) if x.dtype.is_float() else 0.0
    return Column(name=name, length=length, dtype=dtype, tolerance=tolerance, fetch=fetch, value=lambda row: x[row])


def _arrow(x: Any, name: str) -> Column:
    x = one_column(x, name) if hasattr(x, "num_columns") else x
    if not hasattr(x, "null_count"):
        refuse(x, name)
    kind, length = _ARROW_FLOATS.get(str(x.type), str(x.type)), len(x)
    if kind.startswith("decimal"):
        return replace(object_column(x.to_pylist(), name), dtype=kind)
    if kind.startswith(("string", "large_string", "dictionary", "binary", "large_binary", "fixed_size_binary")):
        return text_column(name, length, kind, lambda start, stop: x.slice(start, stop - start).to_pylist())
    if kind not in _READABLE | {"null"}:
        refuse_dtype(name, kind, length, lambda: x[0].as_py())

    def fetch(start: int, stop: int) -> Array:
        part = x.slice(start, stop - start)
        return np.asarray(part.cast("float64", safe=False) if part.null_count else part)

    tolerance = 0.0 if kind == "null" else rounding(np.dtype(kind))
    return Column(name=name, length=length, dtype=kind, tolerance=tolerance, fetch=fetch, value=lambda row: x[row].as_py())


def reads_dtype(x: Any) -> bool:
    """Whether the values of a tensor are read as real numbers."""
    return _tensor_dtype(x) in _READABLE | {"bfloat16"}


def one_column_tensor(x: Any, name: str) -> Any:
    """A tensor that holds one column of real numbers, dense and 1-D; any other is refused."""
    if x.is_nested:
        raise InputError(f"{name}: the tensor is nested, its rows of several lengths. Pass a tensor with one value per row.")
    x = x.detach()
    require_one_column(tuple(x.shape), name)
    if x.is_meta:
        raise InputError(f"{name}: the tensor is on the meta device and holds no values. Pass a tensor with data.")
    x = one_column(x if str(x.layout) == "torch.strided" else x.to_dense(), name)
    if not reads_dtype(x):
        refuse_dtype(name, _tensor_dtype(x), len(x), lambda: x[0].item())
    return x


def _tensor_dtype(x: Any) -> str:
    return str(x.dtype).removeprefix("torch.")


def _torch(x: Any, name: str) -> Column:
    if not hasattr(x, "detach"):
        refuse(x, name)
    x, dtype = one_column_tensor(x, name), _tensor_dtype(x)

    def fetch(start: int, stop: int) -> Array:
        part = x[start:stop].cpu().resolve_neg()
        array: Array = (part.float() if dtype == "bfloat16" else part).numpy()
        return array

    tolerance = 4 * 2.0**-7 if dtype == "bfloat16" else rounding(np.dtype(dtype))
    return Column(name=name, length=len(x), dtype=dtype, tolerance=tolerance, fetch=fetch)


ADAPTERS: dict[str, Callable[[Any, str], Column]] = {
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": _arrow,
    "torch": _torch,
}
