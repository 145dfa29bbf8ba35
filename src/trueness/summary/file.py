"""The file form of summaries and records: an npz archive with a JSON header, closed by a digest over the whole. No pickle.

What is in it, byte by byte, stands in docs/reference/file-format.md.
"""

import hashlib
import io
import json
import re
import zipfile
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._text import clean, printable
from trueness._values import show
from trueness.errors import InputError, SummaryError
from trueness.summary.packed import ARRAYS, Packed, pack, unpack
from trueness.summary.record import Record
from trueness.summary.summary import Summary

FORMAT = "trueness summary"
VERSION = 2
_DIGEST = 64  # hexadecimal digits of the SHA-256 that ends the file, as the archive's comment
_TEXTS = ("header", "keys")  # arrays of bytes that are JSON
_NPY = re.compile(
    rb"\{'descr': '(<i8|<f8|\|u1)', 'fortran_order': (True|False), 'shape': \(((?:\d{1,15}, )*\d{1,15},?|)\), \} *\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a file holds, and in which version of the format."""

    value: Summary | Record
    version: int


def encode(value: Summary | Record) -> bytes:
    """The bytes of a file; the same summary, or record, always gives the same bytes."""
    packed = pack(value)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "axes": packed.axes,
        "bins": packed.bins,
        "reasons": packed.reasons,
        "sources": packed.sources,
        "digest": value.digest if isinstance(value, Summary) else packed.digest,
    }
    arrays = {"header": _json_array(header), "keys": _json_array(packed.keys), **packed.arrays}
    members = {f"{name}.npy": _npy(array) for name, array in arrays.items()}
    content = _archive(members, zipfile.ZIP_DEFLATED)
    if sum(map(len, members.values())) > _most_bytes(len(content)):  # so many equal sums look like a bomb
        content = _archive(members, zipfile.ZIP_STORED)
    body = content[:-_DIGEST]
    return body + hashlib.sha256(body).hexdigest().encode()


def _archive(members: dict[str, bytes], compression: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, member in members.items():
            info = zipfile.ZipInfo(name)  # dated 1980
            info.compress_type, info.create_system = compression, 3
            archive.writestr(info, member)
        archive.comment = b"0" * _DIGEST
    return buffer.getvalue()


def _json_array(value: Any) -> NDArray[Any]:
    return np.frombuffer(json.dumps(value, sort_keys=True).encode(), dtype=np.uint8)


def _npy(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _most_bytes(size: int) -> int:
    """The bytes that the members of an archive of this size may inflate to."""
    return (64 << 20) + 250 * size


def decode(content: bytes, name: str) -> Summary:
    """The summary in a file's bytes; `name` is for the error message."""
    value = read(content, name).value
    if isinstance(value, Record):
        by = " and ".join(map(clean, value.axes))
        raise SummaryError(
            f"{name!r}: holds a record of {len(value)} summaries by {by}, not one summary. "
            "Use Record.load, and .total() for the summary of all rows."
        )
    return value


def decode_record(content: bytes, name: str) -> Record:
    """The record in a file's bytes; `name` is for the error message."""
    value = read(content, name).value
    if isinstance(value, Summary):
        raise SummaryError(f"{name!r}: holds one summary, not a record of several. Use Summary.load.")
    return value


def read(content: bytes, name: str) -> Content:
    """Whatever a file's bytes hold; a file that is damaged or something else is an error, never a number."""
    body, digest = content[:-_DIGEST], content[-_DIGEST:]
    if not content.startswith(b"PK") or len(content) <= _DIGEST:
        what = f"{name!r}: not a trueness summary. Write one with "
        raise SummaryError(f"{what}Summary.save.", shell=f"{what}trueness summarize.")  # noqa: S604 - words
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise SummaryError(
            f"{name!r}: damaged or not a trueness summary (its digest does not match its content). Make it again."
        )
    try:
        members = _members(content)
        header = _json(members["header"])
        form, version = header["format"], header["version"]
        known = form == FORMAT and type(version) is int and version in _READERS
        packed = _READERS[version](header, members) if known else None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, *_DAMAGED) as error:
        raise SummaryError(f"{name!r}: not a trueness summary ({_why(error)}). Make it again.") from error
    if packed is None:
        raise SummaryError(
            f"{name!r}: format {show(form)} version {show(version)} is not one this release reads "
            f"({FORMAT!r} version 1 to {VERSION}). Upgrade trueness or make the summary again."
        )
    return Content(value=_checked(packed, header, name), version=version)


_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OverflowError)


def _why(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200] or type(error).__name__


def _checked(packed: Packed, header: dict[str, Any], name: str) -> Summary | Record:
    """What the arrays hold, if they are what some reduction produces."""
    try:
        value = unpack(packed)
    except InputError:  # bins that are none say so themselves
        raise
    except (ValueError, OverflowError) as error:
        raise SummaryError(f"{name!r}: the sums in this file do not fit together: {_why(error)}. Make it again.") from error
    if (value.digest if isinstance(value, Summary) else packed.digest) != header["digest"]:
        raise SummaryError(
            f"{name!r}: the sums in this file do not fit together: they are not those of its digest. Make it again."
        )
    return value


def _members(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of the archive; how large they are is looked at before any is inflated."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = archive.infolist()
        if len({info.filename for info in infos}) < len(infos):
            raise ValueError("a name occurs twice")
        if (size := sum(info.file_size for info in infos)) > _most_bytes(len(content)):
            raise ValueError(f"it would inflate to {size} bytes")
        return {info.filename.removesuffix(".npy"): _read_npy(_inflated(archive, info)) for info in infos}


def _inflated(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A member, and no more of it than it says it has: read whole, a stream is inflated to its end first."""
    with archive.open(info) as member:
        return member.read(info.file_size)


def _read_npy(member: bytes) -> NDArray[Any]:
    """An array as NumPy's format 1.0 keeps it, of numbers and no longer than its bytes."""
    length = int.from_bytes(member[8:10], "little")
    form = _NPY.fullmatch(member[10 : 10 + length])
    if member[:8] != b"\x93NUMPY\x01\x00" or form is None:
        raise ValueError("an array in a form that is not read")
    shape = tuple(int(side) for side in form[3].decode().replace(",", " ").split())
    array = np.frombuffer(member[10 + length :], dtype=form[1].decode())
    return array.reshape(shape[::-1]).T if form[2] == b"True" else array.reshape(shape)


def _json(array: NDArray[Any]) -> Any:
    return json.loads(array.tobytes().decode("utf-8"))


def _texts(values: Any) -> list[str]:
    """Texts that are texts, without surrogates."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{str(values)[:100]!r} is not a list of texts")
    for value in values:
        value.encode()
    return values


def _notes(values: Any) -> list[str]:
    """Texts for people, who see control characters as escapes: this library writes none."""
    return [printable(value) for value in _texts(values)]


def _reasons(values: Any) -> list[str]:
    if len(set(reasons := _notes(values))) < len(reasons):
        raise ValueError("a reason occurs twice")
    return reasons


def _whole_numbers(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise ValueError(f"{str(values)[:100]!r} is not a list of whole numbers")
    return tuple(values)


def _second(header: dict[str, Any], members: dict[str, NDArray[Any]]) -> Packed:
    """Version 2."""
    if set(members) != {*_TEXTS, *ARRAYS}:
        raise ValueError("other arrays than those of the format")
    for name, (dtype, _) in ARRAYS.items():
        if members[name].dtype != np.dtype(dtype):
            raise ValueError(f"{name} is of another type")
    keys = _json(members["keys"])
    if not isinstance(keys, list) or not isinstance(header["sources"], list):
        raise ValueError("keys or sources that are no list")
    return Packed(
        bins=_whole_numbers(header["bins"]),
        axes=tuple(_texts(header["axes"])),
        keys=keys,
        reasons=_reasons(header["reasons"]),
        sources=[_notes(source) for source in header["sources"]],
        arrays={name: members[name] for name in ARRAYS},
    )


def _first(header: dict[str, Any], members: dict[str, NDArray[Any]]) -> Packed:
    """Version 1: one summary, without extremes."""
    if set(members) != {"header", "cells", "rows", "sums"}:
        raise ValueError("other arrays than those of the format")
    if type(header["soft"]) is not bool:
        raise ValueError("soft is not true or false")
    rejected, sums = header["rejected"], members["sums"]
    exact = sums.dtype == np.int64
    (exponent, clipped, *counts) = _whole_numbers([header["exponent"], header["clipped"], *rejected.values()])
    arrays: dict[str, Any] = {
        "starts": [],
        "integer": [exact],
        "soft": [header["soft"]],
        "exponent": [exponent],
        "offsets": [0, len(members["cells"])],
        "cells": members["cells"],
        "rows": members["rows"],
        "integers": sums if exact else np.zeros((14, 0)),
        "floats": np.zeros((11, 0)) if exact else sums,
        "extremes": np.full((1, 6), np.nan),
        "total_extremes": np.full(6, np.nan),
        "clipped": [clipped],
        "rejected": [counts],
        "source": [0],
    }
    typed = {name: np.asarray(array, dtype=ARRAYS[name][0]) for name, array in arrays.items()}
    reasons, source = _reasons(list(rejected)), _notes(header["source"])
    return Packed(_whole_numbers(header["bins"]), (), [[]], reasons, [source], typed)


_READERS = {1: _first, 2: _second}
