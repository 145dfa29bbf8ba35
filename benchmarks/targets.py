"""The speed targets, each with what was measured in this run."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import NamedTuple

from benchmarks.data import power
from benchmarks.item import ENGINES, NUMBA, PLAIN, WAITING

READ, NUMPY = "read", "NumPy"
FLOOR = "C, AVX2"
PARQUET = "Parquet file"
TENSORS = "torch, CPU"
SORTING = "argsort + cumsum"
BINNING = ("torchmetrics", "netcal", "scikit-learn")
WAITING_SIZES = (10**3, 10**4, 10**5, 10**6)
BIG = 10**7


class Key(NamedTuple):
    """What was timed."""

    case: str
    rows: int
    measure: str
    by: str


Times = Mapping[Key, tuple[float, float]]  # shortest time and least CPU seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One target and what came of it."""

    work: str
    family: str
    target: str
    measured: float | None = None
    cpu: float | None = None  # the same ratio of CPU seconds
    met: bool | None = None
    why: str = ""  # why nothing was measured, or what was compared

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Our time over another's (at most), or the fastest other's over ours (at least)."""

    work: str
    target: str
    limit: float
    ours: Key
    others: tuple[Key, ...]
    least: bool = False
    elsewhere: bool = False  # in other processes, whose CPU seconds are not seen

    def line(self, times: Times) -> Line:
        """What came of it."""
        facts = {"work": self.work, "family": self.ours.measure.partition(",")[0], "target": self.target}
        ran = [key for key in self.others if key in times]
        if self.ours not in times or not ran:
            key = self.others[0] if self.ours in times else self.ours
            return Line(**facts, why=f"not measured: {key.measure} by {key.by}, {power(key.rows)} rows")
        fastest = min(ran, key=lambda key: times[key])
        ours, others = times[self.ours], times[fastest]
        wall, cpu = ((b / a if self.least else a / b) for a, b in zip(ours, others, strict=True))
        why = f"against {fastest.by}" if len(self.others) > 1 else ""
        met = wall >= self.limit if self.least else wall <= self.limit
        return Line(**facts, measured=wall, cpu=None if self.elsewhere else cpu, met=met, why=why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """CPU seconds of an answer beyond what summarizing its rows costs."""

    name: str
    limit: float
    case: str
    rows: int

    def line(self, times: Times) -> Line:
        """What came of it."""
        keys = [Key(self.case, self.rows, f"{WAITING}, {name}", NUMBA) for name in (self.name, "summarize")]
        facts = {
            "work": f"{self.name}, {self.case}, {power(self.rows)} rows",
            "family": WAITING,
            "target": f"≤ {self.limit:g} CPU s beyond summarizing",
        }
        if not all(key in times for key in keys):
            return Line(**facts, why=f"not measured: needs {power(self.rows)} rows")
        (wall, cpu), (_, summary) = (times[key] for key in keys)
        beyond = max(cpu - summary, 0.0)
        return Line(**facts, measured=beyond, met=beyond <= self.limit, why=f"waited {wall:.3g} s, {cpu:.3g} CPU s in all")


def _ratios() -> Iterator[Ratio]:
    def key(measure: str, by: str = NUMBA, case: str = "uniform", rows: int = BIG) -> Key:
        return Key(case, rows, measure, by)

    read, where = (key(READ, NUMPY),), f"{power(BIG)} rows"
    summary = key("summarize")
    yield Ratio(work=f"summarize, {where}", target="≤ 1.3 × floor", limit=1.3, ours=summary, others=(key("summarize", FLOOR),))
    for measure, by, limit in (("weighted", NUMBA, 14), ("soft", NUMBA, 14), ("", PLAIN, 22)):
        name = f"summarize, {measure}" if measure else "summarize"
        work = f"{name}, {where}" + ("" if by == NUMBA else ", without numba")
        yield Ratio(work=work, target=f"≤ {limit} × read", limit=limit, ours=key(name, by), others=read)
    peers = tuple(key("binned_ece", by) for by in BINNING)
    target = "≥ 12 × faster than the fastest"
    yield Ratio(work=f"binned_ece, {where}", target=target, limit=12, ours=key("binned_ece"), others=peers, least=True)
    for rows, limit in ((BIG, 120), (10**4, 6)):
        ours, relplot = (key("smooth_ece", by, rows=rows) for by in (NUMBA, "relplot"))
        work, target = f"smooth_ece, {power(rows)} rows", f"≥ {limit} × faster than relplot"
        yield Ratio(work=work, target=target, limit=limit, ours=ours, others=(relplot,), least=True)
    for case in ("uniform", "rounded", "rare"):
        ours, sorting = (key("ecce_r", by, case) for by in (NUMBA, SORTING))
        work, target = f"ecce_r, {case}, {where}", f"≥ 25 × faster than {SORTING}"
        yield Ratio(work=work, target=target, limit=25, ours=ours, others=(sorting,), least=True)
    more = key("ecce_r", rows=10 * BIG)
    work = f"ecce_r, {power(10 * BIG)} rows over {power(BIG)}"
    yield Ratio(work=work, target="≤ 15 ×", limit=15, ours=more, others=(key("ecce_r"),))
    arrays, file = key(ENGINES), key(ENGINES, PARQUET)
    target = "≤ 1.2 × summarize of the same arrays"
    yield Ratio(work=f"CPU tensors, {where}", target=target, limit=1.2, ours=key(ENGINES, TENSORS), others=(arrays,))
    for by, limit in (("polars, lazy", 3), ("DuckDB, over Parquet", 5), ("Spark, one process", 12)):
        facts = {"work": f"{by}, {where}", "target": f"≤ {limit} × the file", "limit": limit}
        yield Ratio(**facts, ours=key(ENGINES, by), others=(file,), elsewhere=by.startswith("Spark"))


def _waits() -> Iterator[Wait]:
    for name, limit in (("confidence_interval", 0.08), ("assess", 0.4), ("compare", 1.2)):
        for case in ("uniform", "rare"):
            for rows in WAITING_SIZES:
                yield Wait(name=name, limit=limit, case=case, rows=rows)


TARGETS = (*_ratios(), *_waits())
MEMORY_MIB = 64
IMPORT_MS, EVERY_NAME_MS = 60, 120
CLASSES_LIMIT = 100


def memory_line(found: Mapping[str, float], rows: int) -> Line:
    """Extra memory of `summarize`: the worst of its paths."""
    worst = max(found, key=lambda kind: found[kind])
    return Line(
        work=f"extra memory of summarize, {power(rows)} rows",
        family="memory",
        target=f"≤ {MEMORY_MIB} MiB",
        measured=found[worst],
        met=found[worst] <= MEMORY_MIB,
        why="MiB: " + "; ".join(f"{kind} {peak:.1f}" for kind, peak in found.items()),
    )


def import_lines(found: Mapping[str, float]) -> list[Line]:
    """CPU time of ``import trueness`` beyond ``import numpy``, and with every public name loaded."""
    works = {"trueness": ("import trueness", IMPORT_MS), "every name": ("every public name loaded", EVERY_NAME_MS)}
    lines = []
    for name, (work, limit) in works.items():
        more = 1000 * (found[name] - found["numpy"])
        facts = {"work": f"{work}, beyond import numpy", "family": "import", "target": f"≤ {limit} ms"}
        why = f"CPU ms, medians: numpy {1000 * found['numpy']:.0f}, with it {1000 * found[name]:.0f}"
        lines.append(Line(**facts, measured=more, met=more <= limit, why=why))
    return lines


def classes_line(rows: int, classes: int, seconds: float, read: float) -> Line:
    """The class-wise table: SmoothECE, ECCE-R and p for every class."""
    ratio = seconds / read
    return Line(
        work=f"class-wise table, {power(rows)} × {power(classes)}",
        family="classes",
        target=f"≤ {CLASSES_LIMIT} × reading it",
        measured=ratio,
        met=ratio <= CLASSES_LIMIT,
        why=f"CPU s: {seconds:.3g}, reading {read:.3g}",
    )
