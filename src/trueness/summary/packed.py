"""Summaries under keys as a few long arrays, one group after the other: what a file holds, and what a digest is over."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._types import Floats, Ints
from trueness.summary.coarse import CoarseRuler
from trueness.summary.extremes import Extremes
from trueness.summary.invariants import fault_of_counts, fault_of_extremes, fault_of_sums
from trueness.summary.keys import decode_key, encode_key, sorted_keys
from trueness.summary.moments import FLOAT_SUMS, INTEGER_SUMS
from trueness.summary.record import Record
from trueness.summary.ruler import Ruler, ruler
from trueness.summary.summary import Summary

# Every array with its type and shape: G groups, C cells, of which I hold integer sums and F float sums, E edges left,
# R reasons for leaving rows out. Those before "clipped" enter the digest, in this order.
ARRAYS: dict[str, tuple[str, tuple[str | int, ...]]] = {
    "starts": ("<i8", ("E",)),
    "integer": ("|u1", ("G",)),
    "soft": ("|u1", ("G",)),
    "exponent": ("<i8", ("G",)),
    "offsets": ("<i8", ("G + 1",)),
    "cells": ("<i8", ("C",)),
    "rows": ("<i8", ("C",)),
    "integers": ("<i8", (2 * len(INTEGER_SUMS), "I")),
    "floats": ("<f8", (len(FLOAT_SUMS), "F")),
    "extremes": ("<f8", ("G", 6)),
    "total_extremes": ("<f8", (6,)),
    "clipped": ("<i8", ("G",)),
    "rejected": ("<i8", ("G", "R")),
    "source": ("<i8", ("G",)),
}
_IN_DIGEST = list(ARRAYS)[: list(ARRAYS).index("clipped")]
_LARGEST_EXPONENT = 2048  # of two, by which weights are scaled


@dataclass(frozen=True, slots=True)
class Packed:
    """A record, or a summary as the record without axes."""

    bins: tuple[int, ...]
    axes: tuple[str, ...]
    keys: list[list[Any]]  # values as JSON holds them
    reasons: list[str]
    sources: list[list[str]]
    arrays: dict[str, NDArray[Any]]

    @property
    def digest(self) -> str:
        """SHA-256 over ruler, axes, keys, sums and extremes."""
        named = {"axes": self.axes, "bins": self.bins, "keys": self.keys}
        h = hashlib.sha256(json.dumps(named, sort_keys=True, separators=(",", ":")).encode())
        for name in _IN_DIGEST:
            h.update(self.arrays[name].tobytes())
        return h.hexdigest()


def pack(value: Summary | Record) -> Packed:
    """The arrays of a summary or a record, its keys in the one order in which they are kept."""
    axes = value.axes if isinstance(value, Record) else ()
    keys = sorted_keys(list(value), len(axes)) if isinstance(value, Record) else [()]
    parts = [value[key] for key in keys] if isinstance(value, Record) else [value]
    reasons = sorted({reason for part in parts for reason in part.rejected})
    sources = sorted({part.source for part in parts})
    number = {source: place for place, source in enumerate(sources)}
    arrays: dict[str, Any] = {
        "starts": value.ruler.starts,
        "integer": [part.exact for part in parts],
        "soft": [part.soft for part in parts],
        "exponent": [part.exponent for part in parts],
        "offsets": np.cumsum([0, *(len(part.cells) for part in parts)]),
        "cells": np.concatenate([part.cells for part in parts]),
        "rows": np.concatenate([part.rows for part in parts]),
        "integers": _beside([part.sums for part in parts if part.exact], 2 * len(INTEGER_SUMS), np.int64),
        "floats": _beside([part.sums for part in parts if not part.exact], len(FLOAT_SUMS), np.float64),
        "extremes": [_numbers(part.extremes) for part in parts],
        "total_extremes": _numbers(value.extremes),
        "clipped": [part.clipped for part in parts],
        "rejected": [[part.rejected.get(reason, 0) for reason in reasons] for part in parts],
        "source": [number[part.source] for part in parts],
    }
    laid = {name: _laid(array, *ARRAYS[name], groups=len(parts)) for name, array in arrays.items()}
    return Packed(value.ruler.bins, axes, [encode_key(key, len(axes)) for key in keys], reasons, list(map(list, sources)), laid)


def _beside(sums: list[NDArray[Any]], height: int, dtype: type) -> NDArray[Any]:
    return np.concatenate([np.zeros((height, 0), dtype=dtype), *sums], axis=1)


def _numbers(extremes: Extremes | None) -> Floats:
    return np.full(6, np.nan) if extremes is None else extremes.numbers


def _laid(array: Any, dtype: str, shape: Sequence[str | int], groups: int) -> NDArray[Any]:
    """As a file holds it: one type, little-endian, row after row."""
    laid = np.ascontiguousarray(array, dtype=dtype)
    return laid.reshape(groups, -1) if shape[0] == "G" and len(shape) > 1 else laid


def unpack(packed: Packed) -> Summary | Record:
    """The summary or the record; a ValueError where the arrays are those of none."""
    if not packed.axes and packed.keys != [[]]:
        raise ValueError("keys without axes")
    on = _checked_ruler(packed)
    _require_shapes(packed)
    _require_sums(packed, on)
    parts = _parts(packed, on)
    extremes = _extremes(packed.arrays["total_extremes"])
    if not packed.axes:
        if extremes != parts[0].extremes:
            raise ValueError("the extremes of a summary are not those of its rows")
        return _sound(parts[0])
    keys = [decode_key(values, len(packed.axes)) for values in packed.keys]
    if len(set(keys)) < len(keys):
        raise ValueError("two keys are equal")
    if [encode_key(key, len(packed.axes)) for key in sorted_keys(keys, len(packed.axes))] != packed.keys:
        raise ValueError("keys that are not in their order")
    record = Record(dict(zip(keys, parts, strict=True)), axes=packed.axes, extremes=extremes)
    for part in (*parts, *([] if extremes is None else [record.total()])):
        _sound(part)
    return record


def _sound(summary: Summary) -> Summary:
    if fault := fault_of_counts(summary) or fault_of_extremes(summary):
        raise ValueError(fault)
    return summary


def _checked_ruler(packed: Packed) -> Ruler:
    if sum(packed.bins) > 1 << 22:
        raise ValueError("more bins than any summary has")
    fine, starts = ruler(packed.bins), packed.arrays["starts"]
    if fine.bins != packed.bins:
        raise ValueError(f"bins {list(packed.bins)} are not those of a ruler")
    if starts.ndim != 1:
        raise ValueError("edges that are not in a row")
    if not len(starts):
        return fine
    if starts[0] != 0 or np.any(np.diff(starts) <= 0) or starts[-1] >= fine.cells:
        raise ValueError("edges that are not those of a ruler")
    return CoarseRuler(fine.bins, tuple(starts.tolist()))


def _require_shapes(packed: Packed) -> None:
    """Arrays as long as each other says they are."""
    a = packed.arrays
    groups = len(packed.keys)
    offsets = a["offsets"]
    if groups < 1 or offsets.shape != (groups + 1,) or offsets[0] != 0 or np.any(np.diff(offsets) < 0):
        raise ValueError("groups that do not follow each other")
    if a["integer"].shape != (groups,) or max(a["integer"].max(), a["soft"].max(initial=0)) > 1:
        raise ValueError("truth values that are neither 0 nor 1")
    size, total = np.diff(offsets), int(offsets[-1])
    integers = int(size[a["integer"] == 1].sum())
    sizes = {"G": groups, "G + 1": groups + 1, "C": total, "I": integers, "F": total - integers, "R": len(packed.reasons)}
    sizes["E"] = len(a["starts"])
    for name, (_, shape) in ARRAYS.items():
        if a[name].shape != tuple(sizes[side] if isinstance(side, str) else side for side in shape):
            raise ValueError(f"{name} has shape {a[name].shape}")


def _require_sums(packed: Packed, on: Ruler) -> None:
    a = packed.arrays
    if np.any((a["exponent"] > _LARGEST_EXPONENT) | (a["exponent"] < -_LARGEST_EXPONENT)) or np.any(
        (a["exponent"] != 0) & (a["integer"] == 1)
    ):
        raise ValueError("weights that cannot have been scaled so")
    if a["source"].min() < 0 or a["source"].max() >= len(packed.sources):
        raise ValueError("notes that are not there")
    first = np.zeros(len(a["cells"]), dtype=bool)
    first[a["offsets"][:-1][np.diff(a["offsets"]) > 0]] = True
    if np.any((np.diff(a["cells"]) <= 0) & ~first[1:]):
        raise ValueError("the cells of a group do not ascend")
    for kind, name in ((1, "integers"), (0, "floats")):
        of_kind = np.repeat(a["integer"] == kind, np.diff(a["offsets"]))
        soft, scaled = (np.repeat(a[of] != 0, np.diff(a["offsets"]))[of_kind] for of in ("soft", "exponent"))
        if fault := fault_of_sums(on, a["cells"][of_kind], a["rows"][of_kind], a[name], soft, scaled):
            raise ValueError(fault)


def _parts(packed: Packed, on: Ruler) -> list[Summary]:
    """The summary of each group; copies, that hold nothing of the other groups."""
    a = packed.arrays
    position, parts = {True: 0, False: 0}, []
    for group, (start, stop) in enumerate(pairwise(a["offsets"].tolist())):
        exact = bool(a["integer"][group])
        first = position[exact]
        position[exact] += stop - start
        sums = a["integers" if exact else "floats"][:, first : position[exact]]
        parts.append(
            Summary(
                ruler=on,
                cells=_native(a["cells"][start:stop]),
                rows=_native(a["rows"][start:stop]),
                sums=_native(sums),
                soft=bool(a["soft"][group]),
                exponent=int(a["exponent"][group]),
                clipped=int(a["clipped"][group]),
                rejected=_rejected(packed.reasons, a["rejected"][group]),
                source=tuple(packed.sources[a["source"][group]]),
                extremes=_extremes(a["extremes"][group]),
            )
        )
    return parts


def _native(array: NDArray[Any]) -> NDArray[Any]:
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C")


def _rejected(reasons: Sequence[str], counts: Ints) -> dict[str, int]:
    return {reason: int(count) for reason, count in zip(reasons, counts, strict=True) if count}


def _extremes(numbers: Floats) -> Extremes | None:
    return None if np.isnan(numbers).all() else Extremes.of_numbers(numbers)
