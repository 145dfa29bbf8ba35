"""A reader of files written from docs/reference/file-format.md alone: no line of it comes from the package."""

import hashlib
import io
import json
import struct
import zipfile
from itertools import pairwise

import numpy as np
import pytest

from trueness import Record, ecce, summarize
from trueness.summary.file import encode
from trueness.summary.ruler import uniform_edges


def data(n, *, weights=False):
    rng = np.random.default_rng(0)
    f = np.concatenate([rng.random(n), rng.beta(0.2, 0.2, n).round(2), [0.0, 1.0, 0.5]])
    return (rng.random(len(f)) < f).astype(float), f, rng.exponential(size=len(f)) if weights else None


class Reader:
    """What the page says, in a few lines of Python and NumPy."""

    def __init__(self, content):
        assert hashlib.sha256(content[:-64]).hexdigest() == content[-64:].decode()
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        self.arrays = {name.removesuffix(".npy"): self.array(member) for name, member in members.items()}
        self.header = json.loads(bytes(self.arrays["header"]))
        self.keys = json.loads(bytes(self.arrays["keys"]))
        assert (self.header["format"], self.header["version"]) == ("trueness summary", 2)

    def array(self, member):
        assert member[:8] == b"\x93NUMPY\x01\x00"
        (length,) = struct.unpack("<H", member[8:10])
        text = member[10 : 10 + length].decode()
        kind = text.split("'descr': '")[1].split("'")[0]
        shape = [int(side) for side in text.split("'shape': (")[1].split(")")[0].split(",") if side.strip()]
        letter = {"<i8": "q", "<f8": "d", "|u1": "B"}[kind]
        values = np.array(struct.unpack(f"<{np.prod(shape, dtype=int)}{letter}", member[10 + length :]))
        return values.astype(np.uint8).reshape(shape) if kind == "|u1" else values.reshape(shape)

    def edges(self):
        grids = [2**14, 100, 15, *self.header["bins"]]
        fine = [k / 2**20 for k in (*range(2**14 + 1), *range(2**20 - 2**14, 2**20 + 1))]
        edges = sorted({k / m for m in grids for k in range(m + 1)} | set(fine))
        starts = self.arrays["starts"]
        return edges if not len(starts) else [*(edges[int(k)] for k in starts), 1.0], edges

    def frames(self):
        """k and u of each cell: r = f·u − k."""
        edges, every = self.edges()

        def slot(edge):
            u = 2**20 if edge < 2**-6 or edge >= 1 - 2**-6 else 2**14
            return int(edge * u), u

        frames, before = [], dict(pairwise(reversed(every)))
        for low, high in pairwise(edges):
            k, u = slot(low)
            k_last, u_last = slot(before[high])
            width = (k_last + 1) / u_last - k / u
            unit = 1
            while unit * 2 * width <= 1:
                unit *= 2
            frames.append((k / u * unit, unit))
        return frames

    def groups(self):
        a, place = self.arrays, {1: 0, 0: 0}
        for g, (start, stop) in enumerate(pairwise(a["offsets"])):
            kind = int(a["integer"][g])
            columns = a["integers" if kind else "floats"][:, place[kind] : place[kind] + stop - start]
            place[kind] += stop - start
            yield self.keys[g], kind, a["cells"][start:stop], a["rows"][start:stop], columns, g

    def means(self, frames):
        """Rows, mean score and mean residual of every group."""
        for key, kind, cells, rows, columns, _ in self.groups():
            k, u = np.array([frames[cell] for cell in cells]).T
            if kind:
                n0, n1 = columns[0], columns[7]
                first = columns[1] + columns[8] + (columns[2] + columns[9]) / 2**31
                f = (((n0 + n1) * k + first) / u).sum()
                total, e = (n0 + n1).sum(), n1.sum() - f
            else:
                total, f, e = columns[0].sum(), ((columns[0] * k + columns[1]) / u).sum(), columns[3].sum()
            yield key, rows.sum(), f / total, e / total


def test_a_reader_written_from_the_page(tmp_path):
    y, f, w = data(40, weights=True)
    summary = summarize(y, f, bins=12, exact=True)
    reader = Reader(encode(summary))
    assert reader.keys == [[]]
    assert reader.header["axes"] == []
    edges, _ = reader.edges()
    np.testing.assert_array_equal(edges, summary.ruler.edges)
    frames = reader.frames()
    np.testing.assert_array_equal(frames, np.array([summary.ruler.k, summary.ruler.unit]).T)
    ((key, n, mean, residual),) = reader.means(frames)
    assert (key, n) == ([], len(f))
    assert (mean, residual) == pytest.approx((f.mean(), (y - f).mean()), abs=1e-12)
    high, _, _, low, _, _ = reader.arrays["extremes"][0]
    assert high - low == pytest.approx(ecce(y, f).range, abs=1e-13)

    record = Record({"de": summary, None: summarize(y, f, sample_weight=w, bins=12)}, axes=["country"])
    reader = Reader(encode(record))
    assert reader.header["axes"] == ["country"]
    found = {key[0]: (n, mean, residual) for key, n, mean, residual in reader.means(frames)}
    assert found["de"] == pytest.approx((len(f), f.mean(), (y - f).mean()), abs=1e-12)
    weighted = (np.average(f, weights=w), np.average(y - f, weights=w))
    assert found[None] == pytest.approx((len(f), *weighted), abs=1e-12)
    bins = np.searchsorted(uniform_edges(12)[1:-1], [edges[cell] for cell in summary.cells], side="right")
    assert len(set(bins)) == 12

    coarse = summary.coarsen(min_rows=7)
    reader = Reader(encode(coarse))
    frames = reader.frames()
    np.testing.assert_array_equal(reader.edges()[0], coarse.ruler.edges)
    np.testing.assert_array_equal(frames, np.array([coarse.ruler.k, coarse.ruler.unit]).T)
    ((_, n, mean, residual),) = reader.means(frames)
    assert (n, mean, residual) == pytest.approx((len(f), f.mean(), (y - f).mean()), abs=1e-10)


def test_the_digests_of_the_page():
    y, f, w = data(40, weights=True)
    summary = summarize(y, f, bins=(12, 37), exact=True)
    reader = Reader(encode(summary))
    a = reader.arrays
    h = hashlib.sha256(b"((12, 37), True, False, 0)")
    for part in (a["starts"], a["cells"], a["rows"], a["integers"], a["extremes"]):
        h.update(part.tobytes())
    assert h.hexdigest() == reader.header["digest"] == summary.digest
    weighted = summarize(y, f, sample_weight=w, bins=12).coarsen(min_rows=3)
    reader = Reader(encode(weighted))
    a = reader.arrays
    h = hashlib.sha256(b"((12,), False, False, 0)")
    for part in (a["starts"], a["cells"], a["rows"], a["floats"]):
        h.update(part.tobytes())
    assert h.hexdigest() == reader.header["digest"] == weighted.digest
    parts = {0.5: summarize(y, f), "ä": summarize(y, f, sample_weight=w), None: summarize(y, f, exact=True)}
    record = Record(parts, axes=["key"])
    reader = Reader(encode(record))
    named = json.dumps({"axes": ["key"], "bins": [], "keys": reader.keys}, separators=(",", ":"))
    h = hashlib.sha256(named.encode())
    order = "starts integer soft exponent offsets cells rows integers floats extremes total_extremes"
    for name in order.split():
        h.update(reader.arrays[name].tobytes())
    assert h.hexdigest() == reader.header["digest"] == record.digest
