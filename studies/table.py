"""The study's figures as a page, each with its standard error, judged by limits shared among all cells."""

from collections import defaultdict
from datetime import date
from pathlib import Path
from typing import Any

from studies import judge, power, size
from studies.worlds import SCORES

LEVEL = 0.95


class Results:
    """Counts of every cell."""

    def __init__(self) -> None:
        self.samples: dict[tuple[str, str, str, int], list[Any]] = defaultdict(list)  # part, row, what, n

    def add(self, part: str, cell: dict[str, Any], samples: list[dict[str, Any]]) -> None:
        """The samples of one job."""
        row = cell["scores"] if part.startswith("size") else f"{cell.get('scores', 'uniform')}, {cell['truth']}"
        for sample in samples:
            for what, value in sample.items():
                self.samples[part, row, what, cell["n"]].append(value)

    def of(self, *parts: str) -> dict[tuple[str, str, int], list[Any]]:
        """Samples of some parts by row, what and n; of a test in two parts, both."""
        merged: dict[tuple[str, str, int], list[Any]] = defaultdict(list)
        for (part, row, what, n), values in self.samples.items():
            if part in parts:
                merged[row, what, n] += values
        return merged

    def sizes(self) -> list["Share"]:
        """Rejections of calibrated models."""
        samples = self.of("size", "size of every test")
        cells = len(samples) * len(size.ALPHAS)
        shares = []
        for (row, what, n), values in samples.items():
            continuous = row in ("weights", "soft") or SCORES[row].continuous
            for alpha in size.ALPHAS:
                events = sum(p <= alpha for p in values)
                low = judge.fewest(len(values), 0.7 * alpha, 2 * cells) if continuous and n >= 300 else 0
                high = judge.most(len(values), alpha, 2 * cells)
                shares.append(Share(row, f"{what}, α = {alpha}", n, events, len(values), low <= events <= high))
        return shares

    def coverages(self) -> list["Share"]:
        """Intervals that hold the truth."""
        samples = self.of("coverage", "coverage of wCE")
        shares = []
        for (row, what, n), values in samples.items():
            hits = sum(hit for hit, _ in values)
            width = sum(width for _, width in values) / len(values)
            right = len(values) - hits <= judge.most(len(values), 1 - LEVEL, len(samples))
            shares.append(Share(row, what, n, hits, len(values), right, width))
        return shares

    def bootstraps(self) -> list["Share"]:
        """The same of the percentile bootstrap, which is not judged."""
        shares = []
        for (row, what, n), values in self.of("coverage of the bootstrap").items():
            hits = sum(hit for hit, _ in values)
            width = sum(width for _, width in values) / len(values)
            shares.append(Share(row, f"{what}, bootstrap", n, hits, len(values), True, width))
        return shares

    def powers(self) -> list["Share"]:
        """Rejections at 0.05, of models that are off and of one that is not."""
        shares = []
        for (row, what, n), values in self.of("power").items():
            shares.append(Share(row, what, n, sum(p <= power.ALPHA for p in values), len(values), True))
        return shares

    def wrong(self) -> list["Share"]:
        """Cells beyond their limits."""
        return [cell for cell in self.sizes() + self.coverages() if not cell.right]

    def verdict(self) -> str:
        """One sentence."""
        total = f"{len(self.sizes())} cells of size and {len(self.coverages())} of coverage"
        wrong = self.wrong()
        return f"{len(wrong)} of {total} beyond their limits" if wrong else f"all of {total} within their limits"


class Share:
    """A share of samples in one cell."""

    def __init__(self, row: str, what: str, n: int, events: int, trials: int, right: bool, width: float | None = None) -> None:
        self.row, self.what, self.n, self.events, self.trials, self.right, self.width = (
            row,
            what,
            n,
            events,
            trials,
            right,
            width,
        )

    def __str__(self) -> str:
        share = f"{self.events / self.trials:.4f} ± {judge.error(self.events, self.trials):.4f} of {self.trials}"
        width = "" if self.width is None else f" · {self.width:.2g}"
        return f"{share}{width}{'' if self.right else ' **beyond its limit**'}"


def write(out: Path, results: Results, command: str, share: float) -> None:
    """The page; `share` of the plan's jobs were run."""
    took = "" if share == 1 else f", stopped after {share:.0%} of its jobs"
    lines = [
        "# Do the tests and intervals keep their word?",
        "",
        f"`{command}`, {date.today().isoformat()}{took}. Seeds are fixed.",
        "Figures are shares ± standard error of so many samples.",
        "",
        f"**Verdict: {results.verdict()}.** A cell is beyond its limit when chance alone would put any cell of its table there",
        "with probability below 0.05 (exact binomial limits, shared among all cells).",
        "",
        "## Size: how often a test rejects a calibrated model",
        "",
        "Wanted: at most α; at least 0.7 α where scores are continuous and n ≥ 300.",
        *_tables(results.sizes()),
        "## Coverage of 0.95 intervals, and their mean width",
        "",
        "Scores and truth on the left; share of intervals that hold the truth ± its standard error · mean width.",
        *_tables(results.coverages()),
        "## The percentile bootstrap, for comparison",
        *_tables(results.bootstraps()),
        "## Power at α = 0.05",
        "",
        "Uniform scores; beside ours Spiegelhalter's and the Hosmer–Lemeshow test (10 groups, 10 degrees of freedom).",
        *_tables(results.powers()),
    ]
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _tables(shares: list[Share]) -> list[str]:
    """One table for each thing judged: rows by world, columns by n."""
    lines = []
    for what in dict.fromkeys(share.what for share in shares):
        own = [share for share in shares if share.what == what]
        columns = sorted({share.n for share in own})
        cell = {(share.row, share.n): str(share) for share in own}
        lines += [
            "",
            f"### {what}",
            "",
            "| | " + " | ".join(f"n = {n}" for n in columns) + " |",
            "|---" * (len(columns) + 1) + "|",
        ]
        for row in dict.fromkeys(share.row for share in own):
            lines.append(f"| {row} | " + " | ".join(cell.get((row, n), "") for n in columns) + " |")
    return [*lines, ""]
