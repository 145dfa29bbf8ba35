"""Columns of numbers out of an Arrow C stream, without pyarrow: the stream's own structures are read in place."""

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Pointer = ctypes.c_void_p


class _Array(ctypes.Structure):
    """ArrowArray of the C data interface."""


class _Stream(ctypes.Structure):
    """ArrowArrayStream of the C stream interface."""


_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(_Pointer)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", _Pointer),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))),
    ("private_data", _Pointer),
]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), _Pointer)),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))),
    ("private_data", _Pointer),
]


class StreamError(Exception):
    """What the producer of a stream says went wrong."""


def numeric_batches(source: Any, dtypes: Sequence[str]) -> Iterator[list[NDArray[Any]]]:
    """Batches of a stream whose columns are numbers of these dtypes without nulls; each lives until the next is asked for."""
    capsule = source.__arrow_c_stream__()  # kept to the end: it owns the stream
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = _Pointer, (ctypes.py_object, ctypes.c_char_p)
    stream = ctypes.cast(address(capsule, b"arrow_array_stream"), ctypes.POINTER(_Stream))
    while True:
        batch = _Array()
        if stream.contents.get_next(stream, ctypes.byref(batch)):
            raise StreamError((stream.contents.get_last_error(stream) or b"").decode(errors="replace"))
        if not batch.release:
            return
        try:
            yield [_column(batch.children[k].contents, np.dtype(dtype)) for k, dtype in enumerate(dtypes)]
        finally:
            batch.release(ctypes.byref(batch))


def _column(array: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    if array.null_count > 0:
        raise StreamError("a column that should hold no nulls holds some")
    if array.length == 0:
        return np.zeros(0, dtype=dtype)
    size = (array.offset + array.length) * dtype.itemsize
    memory = (ctypes.c_char * size).from_address(array.buffers[1])
    return np.frombuffer(memory, dtype=dtype)[array.offset :]
