"""The lines of the table, for people and as JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from benchmarks.data import Data, power
from benchmarks.targets import NUMPY, READ, Key, Line, Times
from benchmarks.timing import Timed

HEAD = ("rows", "scores", "measure", "by", "best", "CPU", "× read", "median", "× ours", "value", "agrees")
RIGHT = (0, 4, 5, 6, 7, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table."""

    rows: int
    case: str
    measure: str
    by: str
    seconds: float | None = None  # shortest run
    cpu: float | None = None  # least CPU seconds of a run
    read: float | None = None  # shortest *read* on the same rows
    median_ratio: float | None = None  # median run over median *read*
    faster: float | None = None  # its shortest run over ours
    value: float | None = None
    agrees: bool | None = None
    note: str = ""
    runs: int = 0

    @property
    def ratio(self) -> float | None:
        """Shortest run over shortest *read*."""
        return None if self.seconds is None or self.read is None else self.seconds / self.read

    @property
    def alone(self) -> float | None:
        """Seconds on a machine that does nothing else: of a busy one CPU time is less, of several threads wall time is."""
        return self.seconds if self.seconds is None or self.cpu is None else min(self.seconds, self.cpu)

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {**asdict(self), "ratio": self.ratio}

    def cells(self) -> tuple[str, ...]:
        """For people."""
        numbers = (duration(self.seconds), duration(self.cpu), times(self.ratio), times(self.median_ratio), times(self.faster))
        value = "" if self.value is None else f"{self.value:.10g}"
        return (power(self.rows), self.case, self.measure, self.by, *numbers, value, self.note)


def rows_of(found: Sequence[Timed], data: Data) -> list[Row]:
    """The lines of one set of rows, *read* first; each value is checked against that of trueness."""
    read = min(second for entry in found for second in entry.reads)
    values = {id(entry): entry.item.value(entry.result, data) for entry in found if entry.times}
    ours: dict[str, Timed] = {}
    for entry in found:
        if entry.item.ours and entry.times:
            ours.setdefault(entry.item.measure, entry)
    total = float(data.y.sum() + data.f.sum())
    facts = {"rows": len(data), "case": data.case}
    reads = sum(len(entry.reads) for entry in found)
    lines = [Row(**facts, measure=READ, by=NUMPY, seconds=read, read=read, value=total, runs=reads)]
    order = list(dict.fromkeys(entry.item.measure for entry in found))
    for entry in sorted(found, key=lambda entry: order.index(entry.item.measure)):
        item = entry.item
        if entry.best is None:
            lines.append(Row(**facts, measure=item.measure, by=item.by, note=entry.note))
            continue
        value, near, note, reference = values[id(entry)], None, "", ours.get(item.measure)
        if reference is entry:
            note = "reference"
        elif reference is not None:
            near, note = item.check(entry.result if item.checks_result else value, data, values[id(reference)])
        lines.append(
            Row(
                **facts,
                measure=item.measure,
                by=item.by,
                seconds=entry.best,
                cpu=min(entry.cpu),
                read=read,
                median_ratio=entry.median_ratio,
                faster=None if reference is None else entry.best / min(reference.times),
                value=value,
                agrees=near,
                note="; ".join(part for part in (note, entry.note) if part),
                runs=len(entry.times),
            )
        )
    return lines


def best_times(lines: Iterable[Row]) -> Times:
    """Shortest runs, as the targets look them up."""
    return {
        Key(row.case, row.rows, row.measure, row.by): (row.seconds, row.seconds if row.cpu is None else row.cpu)
        for row in lines
        if row.seconds is not None
    }


def duration(seconds: float | None) -> str:
    """Seconds in a unit that suits them.

    Examples
    --------
    >>> duration(12.34), duration(0.01234), duration(0.00001234), duration(None)
    ('12.3 s', '12.3 ms', '12.3 µs', '')
    """
    if seconds is None:
        return ""
    size, unit = (1.0, "s") if seconds >= 1 else (1e-3, "ms") if seconds >= 1e-3 else (1e-6, "µs")
    return f"{times(seconds / size)} {unit}"


def times(ratio: float | None) -> str:
    """A ratio to three digits.

    Examples
    --------
    >>> times(2.4567), times(1234.5), times(None)
    ('2.46', '1234', '')
    """
    return "" if ratio is None else f"{ratio:.3g}" if ratio < 1000 else f"{ratio:.0f}"


def render(head: Sequence[str], body: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Columns aligned, a rule under the head.

    Examples
    --------
    >>> print(render(("by", "best"), [("NumPy", "1 s")], right=(1,)))
    by     best
    -----  ----
    NumPy   1 s
    """
    widths = [max(len(row[column]) for row in (head, *body)) for column in range(len(head))]
    lines = [head, ["-" * width if name else "" for name, width in zip(head, widths, strict=True)], *body]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def render_targets(lines: Sequence[Line]) -> str:
    """The targets, each with measured figure and verdict."""
    verdict = {True: "yes", False: "NO", None: "–"}
    body = [
        (line.work, times(line.measured) or "–", times(line.cpu), line.target, verdict[line.met], line.why) for line in lines
    ]
    return render(("target", "measured", "by CPU", "wanted", "met", ""), body, right=(1, 2))
