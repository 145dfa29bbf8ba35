"""The same summary as from arrays, whatever the format."""

import os
import subprocess
import sys

import numpy as np
import pytest
from data_files import COLUMNS, SOFT, F, G, N, W, Y, write_csv, write_parquet

from trueness import summarize, summarize_files


def test_hard_labels(write):
    path = write({"y": Y, "other": G, "p": F})
    assert summarize_files(path, **COLUMNS) == summarize(Y, F)


def test_soft_labels_and_weights(write):
    path = write({"w": W, "p": F, "y": SOFT})
    found = summarize_files(path, **COLUMNS, weight="w")
    expected = summarize(SOFT, F, sample_weight=W)
    assert found.n == expected.n
    assert found.rejected == expected.rejected == {"zero weight": int((W == 0).sum())}
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12)


def test_groups(write):
    found = summarize_files(write({"y": Y, "p": F, "g": G}), **COLUMNS, by="g")
    assert set(found) == {"de", "fr", "NA"}  # a country, not a missing value
    assert all(found[group] == summarize(Y[group == G], F[group == G]) for group in found)


def test_groups_of_two_columns(write):
    other = (F > 0.5).astype(int)
    found = summarize_files(write({"y": Y, "p": F, "g": G, "h": other}), **COLUMNS, by=["g", "h"])
    assert len(found) == 6
    for (group, high), summary in found.items():
        at = (group == G) & (other == int(high))
        assert summary == summarize(Y[at], F[at])


def test_float32_keeps_its_rounding(tmp_path):
    almost = np.array([0.2, np.nextafter(np.float32(1), np.float32(2))], dtype=np.float32)
    path = write_parquet(tmp_path / "a.parquet", {"y": [0, 1], "p": almost})
    found = summarize_files(path, **COLUMNS)
    assert found == summarize([0, 1], almost)
    assert found.clipped == 1


def test_progress_counts_rows(tmp_path):
    calls = []
    path = write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F}, row_group_size=100)
    summarize_files(path, **COLUMNS, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (N, N)
    assert calls == sorted(calls)


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="counts what the system lists")
def test_summaries_of_files_hold_nothing(tmp_path):
    """In a process of its own: what other tests leave to be collected is not ours."""
    paths = [write_csv(tmp_path / "a.csv", {"y": Y, "p": F}), write_parquet(tmp_path / "a.parquet", {"y": Y, "p": F})]
    (tmp_path / "b.csv").write_text("y,p\n1,0.5\n1,0.5,\n")
    program = f"""
import gc, os
from pathlib import Path
import trueness

def summed(path):
    try:
        return trueness.summarize_files(path, outcome="y", prediction="p")
    except trueness.TruenessError as error:
        return str(error)

def held():
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return len(os.listdir("/proc/self/task")), pages * os.sysconf("SC_PAGE_SIZE")

paths = {[*map(str, paths), str(tmp_path / "b.csv")]!r}
kept = [summed(path) for path in paths * 10]
threads, size = held()
kept += [summed(path) for path in paths * 40]
more, larger = held()
print(more - threads, larger - size, sum("line 3" in str(each) for each in kept))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    threads, size, told = map(int, found.stdout.split())
    assert told == 50
    assert threads <= 2
    assert size < 64 << 20  # a connection and its threads would be 6 MB each, seven hundred in all
