"""The speed targets, each with what was measured in this run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.data import MONTE_CARLO_ROWS, power
from benchmarks.item import NUMBA, PLAIN

READ = "read"
BINNING = ("torchmetrics", "netcal", "scikit-learn")
ESTIMATORS = ("Monte Carlo, NumPy", "Monte Carlo, torch", "Monte Carlo, torch float32")

# (case, rows, measure, by) → best seconds; *read* has no measure of its own.
Times = Mapping[tuple[str, int, str, str], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One target and what came of it."""

    work: str
    family: str
    target: str
    measured: float | None = None
    met: bool | None = None
    why: str = ""  # why nothing was measured, or what was compared

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {name: getattr(self, name) for name in ("work", "family", "target", "measured", "met", "why")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Our time against *read* (at most), or another's time against ours (at least)."""

    measure: str
    by: str
    rows: int
    against: tuple[str, ...] = (READ,)  # the fastest of them counts
    limit: float
    case: str = "uniform"

    @property
    def work(self) -> str:
        """What is promised, in words."""
        return f"{self.measure}, {self.case}, {power(self.rows)} rows, {'numba' if self.by == NUMBA else 'without numba'}"

    @property
    def target(self) -> str:
        """The bound, in words."""
        if self.against == (READ,):
            return f"≤ {self.limit:g} × read"
        return f"≥ {self.limit:g} × faster than {self.against[0] if len(self.against) == 1 else 'the fastest'}"

    def line(self, times: Times, sizes: tuple[int, ...]) -> Line:
        """What came of it; nothing where other row counts were run."""
        facts = {"work": self.work, "family": self.measure.partition(",")[0], "target": self.target}
        ours = times.get((self.case, self.rows, self.measure, self.by))
        others = {by: times.get((self.case, self.rows, READ if by == READ else self.measure, by)) for by in self.against}
        ran = {by: seconds for by, seconds in others.items() if seconds is not None}
        if self.rows not in sizes:
            return Line(**facts, why=f"not measured: needs {power(self.rows)} rows")
        if ours is None or not ran:
            return Line(**facts, why=f"not measured: no figure for {self.by if ours is None else ' or '.join(self.against)}")
        fastest = min(ran, key=lambda by: ran[by])
        absent = [by for by in self.against if by not in ran]
        why = f"against {fastest}" + (f", without {', '.join(absent)}" if absent else "") if len(self.against) > 1 else ""
        if self.against == (READ,):
            ratio = ours / ran[READ]
            return Line(**facts, measured=ratio, met=ratio <= self.limit, why=why)
        ratio = ran[fastest] / ours
        return Line(**facts, measured=ratio, met=ratio >= self.limit, why=why)


def _ratios() -> Iterator[Ratio]:
    big = 10**7
    yield Ratio(measure="summarize", by=NUMBA, rows=big, limit=2.5)
    yield Ratio(measure="summarize", by=PLAIN, rows=big, limit=15)
    yield Ratio(measure="summarize, weighted", by=NUMBA, rows=big, limit=8)
    yield Ratio(measure="summarize, soft", by=NUMBA, rows=big, limit=8)
    yield Ratio(measure="smooth_ece", by=NUMBA, rows=big, against=("relplot",), limit=100)
    yield Ratio(measure="smooth_ece", by=NUMBA, rows=10**4, against=("relplot",), limit=4)
    for case in ("uniform", "rounded", "rare"):
        for by, limit in ((NUMBA, 25), (PLAIN, 10)):
            yield Ratio(measure="ecce_r", by=by, rows=big, against=("argsort + cumsum",), limit=limit, case=case)
    yield Ratio(measure="logit_smoothed_ece", by=NUMBA, rows=MONTE_CARLO_ROWS, against=ESTIMATORS, limit=1000)
    yield Ratio(measure="binned_ece", by=NUMBA, rows=big, against=BINNING, limit=8)


RATIOS = tuple(_ratios())
MEMORY_MIB = 64
IMPORT_MS = 60


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


def import_line(found: Mapping[str, float]) -> Line:
    """Time of ``import trueness`` beyond ``import numpy``."""
    more = 1000 * (found["trueness"] - found["numpy"])
    return Line(
        work="import trueness, beyond import numpy",
        family="import",
        target=f"≤ {IMPORT_MS} ms",
        measured=more,
        met=more <= IMPORT_MS,
        why=f"medians: numpy {1000 * found['numpy']:.0f} ms, numpy and trueness {1000 * found['trueness']:.0f} ms, "
        f"with every public name loaded {1000 * found['every name']:.0f} ms",
    )


def assess_lines(found: Mapping[int, float]) -> list[Line]:
    """`assess` at 10⁶ rows, and how much more it takes than at a tenth of them."""
    rows = 10**6
    seconds, tenth = found.get(rows), found.get(rows // 10)
    missing = "" if seconds else f"not measured: needs {power(rows)} rows"
    work = f"assess, {power(rows)} rows, default intervals, tests and floors"
    grown = seconds / tenth if seconds and tenth else None
    return [
        Line(
            work=work,
            family="assess",
            target="≤ 5 s",
            measured=seconds,
            met=None if seconds is None else seconds <= 5,
            why=missing,
        ),
        Line(
            work=f"assess, {power(rows)} rows over {power(rows // 10)}",
            family="assess",
            target="≤ 10 ×",
            measured=grown,
            met=None if grown is None else grown <= 10,
            why=missing,
        ),
    ]
