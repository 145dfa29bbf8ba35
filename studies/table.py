"""The study's figures as a page: one figure and one paragraph, what would have been missed, then every cell with its error."""

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from studies import figure, judge, losses
from studies.known import KNOWN
from studies.share import Share, merged

SECTIONS: dict[str, tuple[str, str]] = {
    "size": (
        "Size: how often a test rejects a calibrated model",
        "Wanted: at most α; at least 0.7 α where scores are continuous and n ≥ 300.",
    ),
    "size, harder": (
        "Size in harder worlds",
        "Calibrated still: hard labels of rare events among soft ones, saturated scores, atoms, weights of heavy tails that"
        " grow with the score, resampled confidences of ImageNet classifiers, few rows, repeated rows. Wanted: at most α.",
    ),
    "coverage": (
        "Coverage of 0.95 intervals, and their mean width",
        "Scores and truth on the left; share of intervals that hold the truth ± its standard error · mean width.",
    ),
    "coverage, harder": (
        "Coverage in harder worlds",
        'Among them truths off by 0.5 to 3 noise floors of ECCE-R ("shift of 2 floors"), where intervals are hardest put.',
    ),
    "bands": (
        "Bars and bands of reliability diagrams",
        "Share of bins whose bar holds the mean of what was expected of their rows, wanted at least 0.95; and how often the"
        " smooth curve's confidence band holds the truth at a score. The latter is pointwise and has a bias that shrinks"
        " with n: nothing is claimed of it here.",
    ),
    "groups": (
        "Many groups",
        "`group_tests` of n groups of 100 rows each, Holm's adjustment: the share of samples in which any calibrated group is"
        " blamed at 0.05, wanted at most 0.05; and in which one group, off by half an outcome's standard deviation, is found.",
    ),
    "bootstrap": ("The percentile bootstrap, for comparison", "Of it nothing is claimed."),
    "power": (
        "Power at α = 0.05",
        "Uniform scores; beside ours Spiegelhalter's and the Hosmer–Lemeshow test (10 groups, 10 degrees of freedom).",
    ),
    "size of every part": (
        "Size of the combined test and its parts",
        "Wanted: at most α.",
    ),
    "power of every part": (
        "Power of every part",
        "Share of samples of 1000 rows that a test rejects at 0.05; the combination with 499 draws. The last rows: what"
        " each test loses against the best of ours but the combination. Other packages' tests stand beside them;"
        " relplot, netcal, calibre and torchmetrics have none.",
    ),
}


_SHOWN = "Dots: coverage of intervals, wanted at least 0.95; size of tests, wanted at most 0.05"
_LOST = "; power that each test loses against the best single one."
CLAIMING = 7  # tables that hold claims, whether or not all are here: limits do not depend on what was run


@dataclass(frozen=True, slots=True)
class Found:
    """What one part of the study found, and when, by which command and from what share of its jobs."""

    shares: tuple[Share, ...]
    date: str
    plan: str
    done: float

    def __str__(self) -> str:
        took = "" if self.done == 1 else f", stopped after {self.done:.0%} of its jobs"
        return f"plan {self.plan}, {self.date}{took}"


@dataclass
class Results:
    """Every part's shares, and what is to be said of them."""

    parts: dict[str, Found] = field(default_factory=dict)

    @cached_property
    def tables(self) -> dict[str, list[Share]]:
        """Shares by table, in the page's order."""
        shares = merged(share for found in self.parts.values() for share in found.shares)
        tables = {name: [share for share in shares if share.table == name] for name in SECTIONS}
        return {name: listed for name, listed in tables.items() if listed}

    @cached_property
    def judged(self) -> dict[str, list[judge.Judged]]:
        """Claims of each table, those known to fail left out."""
        tables = {
            name: judge.judged([share for share in listed if not known(share)], CLAIMING)
            for name, listed in self.tables.items()
        }
        return {name: claims for name, claims in tables.items() if claims}

    def wrong(self) -> list[judge.Judged]:
        """Claims beyond their limits."""
        return [claim for claims in self.judged.values() for claim in claims if not claim.right]

    def known(self) -> list[Share]:
        """Cells that are known to fail."""
        return [share for listed in self.tables.values() for share in listed if known(share)]

    def verdict(self) -> str:
        """One sentence."""
        cells = sum(claim.level == "one cell" for claims in self.judged.values() for claim in claims)
        pools = sum(len(claims) for claims in self.judged.values()) - cells
        total, wrong = f"{cells} claims about cells and {pools} about pools of them", len(self.wrong())
        besides = f"; {len(self.known())} cells are known to fail and listed" if self.known() else ""
        return (f"{wrong} of {total} beyond their limits" if wrong else f"all of {total} within their limits") + besides

    def to_json(self) -> str:
        """What can be read back; a cell a line."""
        parts = []
        for name, found in self.parts.items():
            cells = ",\n".join(json.dumps(share.to_dict(), ensure_ascii=False) for share in found.shares)
            head = json.dumps({"date": found.date, "plan": found.plan, "done": found.done})[:-1]
            parts.append(f'{json.dumps(name)}: {head}, "shares": [\n{cells}\n]}}')
        return "{" + ",\n".join(parts) + "}\n"

    @classmethod
    def from_json(cls, text: str) -> "Results":
        """What `to_json` wrote."""
        parts = json.loads(text)
        return cls(
            {
                name: Found(tuple(Share(**share) for share in part["shares"]), part["date"], part["plan"], part["done"])
                for name, part in parts.items()
            }
        )


def known(share: Share) -> str | None:
    """Why a cell is known to fail; None where it is not."""
    cell = (share.table, share.what, share.world, share.truth)
    for patterns, reason in KNOWN.items():
        if all(fnmatchcase(each, pattern) for each, pattern in zip(cell, patterns, strict=True)):
            return reason
    return None


def write(out: Path, results: Results, left_out: Sequence[str] = ()) -> None:
    """The page, its figure and its figures as JSON, the latter two in the folder `_static` beside it."""
    static = out.parent / "_static"
    static.mkdir(parents=True, exist_ok=True)
    picture, numbers = static / f"{out.stem}.png", static / f"{out.stem}.json"
    figure.draw(results.tables, picture)
    numbers.write_text(results.to_json(), encoding="utf-8")
    lines = [
        "# Do the tests and intervals keep their word?",
        "",
        f"![{_SHOWN}{_LOST if 'power of every part' in results.tables else '.'}](_static/{picture.name})",
        "",
        _paragraph(results),
        "",
        *([f"Left out: {'; '.join(left_out)}.", ""] if left_out else []),
        *_seen(results),
        *_known(results),
    ]
    for name, shares in results.tables.items():
        title, text = SECTIONS[name]
        parts = "; ".join(
            f"{part}: {found}" for part, found in results.parts.items() if any(share.table == name for share in found.shares)
        )
        lines += [f"## {title}", "", text, "", f"({parts}.)", ""]
        lines += losses.table(shares) if name == "power of every part" else _tables(shares, _blamed(results, name))
    out.write_text("\n".join(lines).replace("\n\n\n", "\n\n") + "\n", encoding="utf-8")


def _paragraph(results: Results) -> str:
    sentences = [
        f"**Verdict: {results.verdict()}.**",
        "Every figure is a share of simulated samples ± its standard error; seeds are fixed, and `python -m"
        " studies` repeats them.",
        "A claim is beyond its limit when chance alone would put any on this page there with probability below 0.05 (exact"
        " binomial limits, shared among all tables, cells and pools).",
    ]
    sentences += _sensitivity(results)
    sentences += losses.sentences(results.tables.get("power of every part", []))
    right = " on the right an alternative, and the bar is their mean." if "power of every part" in results.tables else ""
    sentences.append(
        "In the figure a dot is a world at one number of rows, all truths together, where 200 samples or more were drawn"
        f"{';' if right else '.'}{right}"
    )
    return "\n".join(sentences)


def _sensitivity(results: Results) -> list[str]:
    """What coverage would have been seen, in a cell and in a pool."""
    found = _kinds(results.judged.get("coverage", []))
    seen = {
        level: statistics.median(claim.seen for claim in found[False, 0.95, level])
        for level in ("one cell", "one world")
        if (False, 0.95, level) in found
    }
    if len(seen) < 2:
        return []
    return [
        f"A true coverage of {seen['one world']:.3f} in a whole world, or of {seen['one cell']:.2f} in a single cell, would"
        f" have been seen with probability {judge.SURE} (medians; the table below has the rest)."
    ]


def _blamed(results: Results, table: str) -> set[int]:
    cells = [claim for claim in results.judged.get(table, []) if not claim.right and claim.level == "one cell"]
    return {id(share) for claim in cells for share in claim.shares}


def _seen(results: Results) -> list[str]:
    """What true size or coverage would have broken a limit with probability 0.9."""
    lines = [
        "## What this study would have missed",
        "",
        f"A fault is said to be seen when its limit is broken with probability {judge.SURE}. A cell alone sees large faults;"
        " what several cells share is seen in their pool, where it is many times smaller."
        " The median of all pools, and the worst.",
        "",
        "| table | claim | pooled | pools | samples in each | seen from (median) | seen from (worst) | beyond |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, claims in results.judged.items():
        for (upper, rate, level), pool in _kinds(claims).items():
            trials, seen = sorted(claim.trials for claim in pool), sorted(claim.seen for claim in pool)
            worst = seen[-1] if upper else seen[0]
            lines.append(
                f"| {name} | {'at most' if upper else 'at least'} {rate:g} | {level} | {len(pool)} |"
                f" {trials[0]}–{trials[-1]} | {statistics.median(seen):.3g} | {worst:.3g} |"
                f" {sum(not claim.right for claim in pool)} |"
            )
    wrong = [f"- {claim}" for claim in results.wrong()]
    return [*lines, "", *(["Beyond their limits:", "", *wrong, ""] if wrong else [])]


def _kinds(claims: Iterable[judge.Judged]) -> dict[tuple[bool, float, str], list[judge.Judged]]:
    kinds: dict[tuple[bool, float, str], list[judge.Judged]] = {}
    for claim in claims:
        if claim.upper or claim.rate > 0.5:  # that a test is not too timid is judged, and not listed here
            kinds.setdefault((claim.upper, claim.rate, claim.level), []).append(claim)
    return kinds


def _known(results: Results) -> list[str]:
    cells = results.known()
    if not cells:
        return []
    rows = [f"| {share.table} | {share.what} | {share.row} | {share.n} | {share} | {known(share)} |" for share in cells]
    return ["## Known to fail", "", "| table | of | world | n | share | why |", "|---|---|---|---|---|---|", *rows, ""]


def _tables(shares: Sequence[Share], blamed: set[int]) -> list[str]:
    """One table for each thing judged: rows by world, columns by n."""
    lines: list[str] = []
    for what in dict.fromkeys(share.what for share in shares):
        own = [share for share in shares if share.what == what]
        columns = sorted({share.n for share in own})
        cell = {(share.row, share.n): _text(share, blamed) for share in own}
        lines += [
            f"### {what}",
            "",
            "| | " + " | ".join(f"n = {n}" for n in columns) + " |",
            "|---" * (len(columns) + 1) + "|",
        ]
        for row in dict.fromkeys(share.row for share in own):
            lines.append(f"| {row} | " + " | ".join(cell.get((row, n), "") for n in columns) + " |")
        lines.append("")
    return lines


def _text(share: Share, blamed: set[int]) -> str:
    mark = " **beyond its limit**" if id(share) in blamed else " †" if known(share) else ""
    return f"{share}{mark}"


def load(out: Path) -> Results:
    """What an earlier page at this place was made of; nothing where there is none."""
    numbers = out.parent / "_static" / f"{out.stem}.json"
    return Results.from_json(numbers.read_text(encoding="utf-8")) if numbers.exists() else Results()
