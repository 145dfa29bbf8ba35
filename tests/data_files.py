"""Columns of numbers written to files of every kind that is read."""

import csv
import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trueness import summarize_files
from trueness.engines.files.open_files import open_files
from trueness.errors import InputError
from trueness.inputs.arguments import Columns, Reading, column_names
from trueness.summary.ruler import ruler

RNG = np.random.default_rng(5)
N = 500
F = RNG.random(N)
F[:6] = [0.0, 1.0, 0.5, 1 / 15, 5e-324, 1 - 2**-53]
Y = (RNG.random(N) < F).astype(np.int64)
SOFT = np.clip(F + RNG.normal(0, 0.1, N), 0, 1)
W = RNG.integers(0, 4, N) * 0.5
G = RNG.choice(["de", "fr", "NA"], N)


def cells(value):
    """A value as text that reads back exactly."""
    return repr(value.item()) if isinstance(value, np.number) else str(value)


def write_csv(path, columns, delimiter=",", newline="\n", bom=False):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=newline)
    writer.writerow(columns)
    writer.writerows(zip(*[map(cells, column) for column in columns.values()], strict=True))
    content = (b"\xef\xbb\xbf" if bom else b"") + text.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def write_json(path, columns, array=False):
    rows = [dict(zip(columns, map(_item, row), strict=True)) for row in zip(*columns.values(), strict=True)]
    text = json.dumps(rows) if array else "\n".join(map(json.dumps, rows)) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def _item(value):
    return value.item() if isinstance(value, np.generic) else value


def write_parquet(path, columns, **options):
    pq.write_table(pa.table(dict(columns)), path, **options)
    return path


WRITERS = {
    "a.csv": write_csv,
    "a.csv.gz": write_csv,
    "a.tsv": lambda path, columns: write_csv(path, columns, "\t"),
    "semicolon.csv": lambda path, columns: write_csv(path, columns, ";"),
    "pipe.txt": lambda path, columns: write_csv(path, columns, "|"),
    "caret.csv": lambda path, columns: write_csv(path, columns, "^"),
    "windows.csv": lambda path, columns: write_csv(path, columns, newline="\r\n", bom=True),
    "a.json": lambda path, columns: write_json(path, columns, array=True),
    "a.ndjson": write_json,
    "a.jsonl.gz": write_json,
    "a.parquet": write_parquet,
    "groups.parquet": lambda path, columns: write_parquet(path, columns, row_group_size=100),
}
COLUMNS = {"outcome": "y", "prediction": "p"}


def in_pieces(paths, rows, *, prediction="p", weight=None, by=None, nan="raise", resume=None, exact=False):
    """What `summarize_files` gives, so many rows reduced at a time."""
    columns = Columns(outcome="y", prediction=prediction, weight=weight, by=column_names(by))
    with open_files(paths, columns, Reading(nan=nan), piece_rows=rows) as files:
        if by:
            return files.record(ruler(), exact=exact)
        return files.summary(ruler(), resume=resume and str(resume), exact=exact)


def message(*arguments, **options):
    with pytest.raises(InputError) as caught:
        summarize_files(*arguments, **{**COLUMNS, **options})
    return str(caught.value)
