"""Rows on disk: what a summary costs beside DuckDB's bare scan, and how much memory it holds, in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.data import power
from benchmarks.engines import folder
from benchmarks.table import duration, render, times
from benchmarks.targets import Line

_SCAN_LIMIT, _ECCE_LIMIT, _MEMORY_LIMIT = 8, 12, 512
_TARGET_ROWS = 10**8

_MEASURE = """
import json, resource, sys, time
import duckdb
path = sys.argv[1]

def clock(call):
    start = time.perf_counter()
    return call(), time.perf_counter() - start

con = duckdb.connect()
con.execute("SET enable_progress_bar = false")
scan = min(clock(lambda: con.sql(f"SELECT sum(p), sum(y) FROM '{path}'").fetchall())[1] for _ in range(3))
con.close()
import trueness
try:
    import trueness.engines.arrays.compiled
except ImportError:
    pass
summary, once = clock(lambda: trueness.summarize_files(path, outcome="y", prediction="p"))
exact, twice = clock(lambda: trueness.summarize_files(path, outcome="y", prediction="p", exact=True))
found = trueness.ecce(exact)
assert found.bracket is None
if sys.platform == "linux":  # what getrusage tells there may be the memory of the process that started this one
    peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
facts = {"rows": summary.n, "scan": scan, "summary": once, "with_ecce": twice, "peak_mib": peak, "ecce_r": found.range}
print(json.dumps(facts))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnDisk:
    """What came of one file."""

    rows: int
    file_mb: float
    scan: float
    summary: float
    with_ecce: float
    peak_mib: float
    ecce_r: float

    def to_dict(self) -> dict[str, float]:
        """For JSON."""
        return asdict(self)


def write_rows(n: int) -> Path:
    """A Parquet file of n uniform scores and outcomes that lie a little beside them."""
    import duckdb

    path = folder() / f"disk-{n}.parquet"
    with duckdb.connect() as con:
        con.execute("SELECT setseed(0.5)")
        con.execute(
            f"COPY (SELECT p, (random() < p + 0.05 * sin(6 * p))::UTINYINT AS y FROM (SELECT random() AS p FROM range({n}))) "  # noqa: S608
            f"TO '{path}' (FORMAT parquet)"
        )
    return path


def measure_disk(sizes: tuple[int, ...], tell: Callable[[str], None]) -> list[OnDisk]:
    """Each number of rows in turn; a file is removed when it is done with."""
    found = []
    for n in sizes:
        tell(f"{power(n)} rows on disk")
        path = write_rows(n)
        try:
            done = subprocess.run([sys.executable, "-c", _MEASURE, str(path)], capture_output=True, text=True, check=True)
            found.append(OnDisk(file_mb=path.stat().st_size / 1e6, **json.loads(done.stdout.splitlines()[-1])))
        finally:
            path.unlink()
    return found


def render_disk(found: list[OnDisk]) -> str:
    """For people."""
    head = ("rows on disk", "file", "scan", "summary", "with exact ECCE", "peak memory")
    body = [
        (
            power(row.rows),
            f"{row.file_mb:.0f} MB",
            duration(row.scan),
            f"{times(row.summary / row.scan)} × scan",
            f"{times(row.with_ecce / row.scan)} × scan",
            f"{row.peak_mib:.0f} MiB",
        )
        for row in found
    ]
    return render(head, body, right=(1, 2, 3, 4, 5))


def disk_lines(found: list[OnDisk]) -> list[Line]:
    """The targets."""
    by_rows = {row.rows: row for row in found}
    row = by_rows.get(_TARGET_ROWS)
    where = f"{power(_TARGET_ROWS)} rows of Parquet"
    missing = "" if row else f"not measured: needs --disk {power(_TARGET_ROWS)}"

    def line(work: str, target: str, value: float | None, limit: float) -> Line:
        met = None if value is None else value <= limit
        return Line(work=f"{where}, {work}", family="disk", target=target, measured=value, met=met, why=missing)

    return [
        line("summary", f"≤ {_SCAN_LIMIT} × DuckDB's scan", row and row.summary / row.scan, _SCAN_LIMIT),
        line("with exact ECCE", f"≤ {_ECCE_LIMIT} × DuckDB's scan", row and row.with_ecce / row.scan, _ECCE_LIMIT),
        line("peak memory", f"≤ {_MEMORY_LIMIT} MiB", row and row.peak_mib, _MEMORY_LIMIT),
    ]
