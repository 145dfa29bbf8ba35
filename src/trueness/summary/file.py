"""The file form of a summary: an npz archive with a JSON header, closed by a digest over the whole file. No pickle."""

import hashlib
import io
import json
import zipfile
from typing import Any

import numpy as np

from trueness.errors import SummaryError
from trueness.summary.columns import FLOAT_SUMS, INTEGER_SUMS
from trueness.summary.ruler import ruler
from trueness.summary.summary import Summary

FORMAT = "trueness summary"
VERSION = 1
_DIGEST = 64  # hexadecimal digits of the SHA-256 that ends the file, as the archive's comment


def encode(summary: Summary) -> bytes:
    """The bytes of a summary file; the same summary always gives the same bytes."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "bins": list(summary.ruler.bins),
        "soft": summary.soft,
        "exponent": summary.exponent,
        "rejected": dict(sorted(summary.rejected.items())),
        "clipped": summary.clipped,
        "source": list(summary.source),
        "digest": summary.digest,
    }
    text = np.frombuffer(json.dumps(header, sort_keys=True).encode(), dtype=np.uint8)
    arrays = {"cells": summary.cells, "rows": summary.rows, "sums": summary.sums}
    buffer = io.BytesIO()
    little = {name: array.astype(array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    np.savez_compressed(buffer, header=text, cells=little["cells"], rows=little["rows"], sums=little["sums"])
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = b"0" * _DIGEST
    body = buffer.getvalue()[:-_DIGEST]
    return body + hashlib.sha256(body).hexdigest().encode()


def decode(content: bytes, name: str) -> Summary:
    """The summary in a file's bytes; `name` is for the error message."""
    body, digest = content[:-_DIGEST], content[-_DIGEST:]
    if not content.startswith(b"PK") or len(content) <= _DIGEST:
        raise SummaryError(f"{name!r}: not a trueness summary. Write one with Summary.save.")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise SummaryError(
            f"{name!r}: damaged or not a trueness summary (its digest does not match its content). Make it again."
        )
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            header = json.loads(archive["header"].tobytes())
            arrays = {name: archive[name] for name in ("cells", "rows", "sums")}
        known = header["format"] == FORMAT and header["version"] == VERSION
        summary = _build(header, arrays) if known else None
    except (KeyError, TypeError, ValueError, AttributeError, zipfile.BadZipFile) as error:
        raise SummaryError(f"{name!r}: not a trueness summary ({error}). Make it again.") from error
    if summary is None:
        raise SummaryError(
            f"{name!r}: format {header['format']!r} version {header['version']!r} is not one this release reads "
            f"({FORMAT!r} version {VERSION}). Upgrade trueness or make the summary again."
        )
    _check(summary, header, name)
    return summary


def _build(header: dict[str, Any], arrays: dict[str, Any]) -> Summary:
    native = {k: a.astype(a.dtype.newbyteorder("=")) for k, a in arrays.items()}
    return Summary(
        ruler=ruler(header["bins"]),
        soft=bool(header["soft"]),
        exponent=int(header["exponent"]),
        rejected={str(k): int(v) for k, v in header["rejected"].items()},
        clipped=int(header["clipped"]),
        source=tuple(header["source"]),
        **native,
    )


def _check(summary: Summary, header: dict[str, Any], name: str) -> None:
    """Shapes, order and signs that any reduction produces."""
    cells, rows, sums = summary.cells, summary.rows, summary.sums
    width = 2 * len(INTEGER_SUMS) if summary.exact else len(FLOAT_SUMS)
    sound = (
        sums.dtype in (np.int64, np.float64)
        and cells.dtype == rows.dtype == np.int64
        and cells.ndim == rows.ndim == 1
        and sums.shape == (width, len(cells))
        and len(rows) == len(cells)
        and bool(np.all(np.diff(cells) > 0))
        and (len(cells) == 0 or (cells[0] >= 0 and cells[-1] < summary.ruler.cells))
        and bool(np.all(rows > 0))
        and bool(np.all(np.isfinite(sums)))
        and (not summary.exact or bool(np.all(sums >= 0) and np.all(sums[0] + sums[7] == rows)))
        and summary.digest == header["digest"]
    )
    if not sound:
        raise SummaryError(f"{name!r}: the sums in this file do not fit together. Make it again.")
