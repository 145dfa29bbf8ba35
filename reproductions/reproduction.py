"""Run a paper's experiments and put the findings in one table."""

import os
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

from reproductions.findings import Finding
from reproductions.lab import Lab, MissingDataError, Paper
from trueness.errors import InputError

PAPERS: Mapping[str, str] = MappingProxyType(
    {
        "soft-labels": "reproductions.soft_labels",
        "logit-smoothing": "reproductions.logit_smoothing",
        "smooth-ece": "reproductions.smooth_ece",
        "cumulative": "reproductions.cumulative",
    }
)

_WIDTHS = (46, 22, 26)
_LEGEND = (
    "matches: rounds to the printed digits · ±: a standard error of the difference · within error: no farther than three",
    "other data: seen on other rows than the paper's, and so neither for it nor against it",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What came of a paper's experiments: findings by experiment, and the parts that need data that was not given."""

    paper: str
    title: str
    citation: str
    findings: Mapping[str, tuple[Finding, ...]]
    missing: Mapping[str, str]
    figures: tuple[str, ...]
    seed: int
    quick: bool

    @property
    def counts(self) -> dict[str, int]:
        """How many findings have each verdict."""
        return dict(Counter(finding.verdict for findings in self.findings.values() for finding in findings))

    def to_dict(self) -> dict[str, Any]:
        """All of it, safe for JSON."""
        return {
            "paper": self.paper,
            "title": self.title,
            "citation": self.citation,
            "seed": self.seed,
            "quick": self.quick,
            "counts": self.counts,
            "findings": {title: [finding.to_dict() for finding in findings] for title, findings in self.findings.items()},
            "missing": dict(self.missing),
            "figures": list(self.figures),
        }

    def __repr__(self) -> str:
        told = ", ".join(f"{count} {verdict}" for verdict, count in self.counts.items())
        return f"{self.paper}: {told or 'nothing ran'}{f', {len(self.missing)} without their data' if self.missing else ''}"

    def __str__(self) -> str:
        lines = [self.title, self.citation, f"{'quick' if self.quick else 'full'} run, seed {self.seed}", *_LEGEND]
        for title, findings in self.findings.items():
            lines += ["", title, _line("", "paper", "here", "verdict")]
            for finding in findings:
                lines += _rows(finding)
        for title, need in self.missing.items():
            lines += ["", title, *textwrap.wrap(f"not run: {need}", 118, initial_indent="  ", subsequent_indent="  ")]
        return "\n".join([*lines, "", repr(self)])


def _rows(finding: Finding) -> list[str]:
    error = "" if finding.error is None else f" ± {finding.error:.1g}"
    cells = (finding.what, finding.paper, finding.ours + error)
    parts = [textwrap.wrap(text, width) or [""] for text, width in zip(cells, _WIDTHS, strict=True)]
    height = max(len(part) for part in parts)
    padded = [[*part, *[""] * (height - len(part))] for part in parts]
    verdicts = [finding.verdict, *[""] * (height - 1)]
    lines = [_line(*row) for row in zip(*padded, verdicts, strict=True)]
    return [*lines, *textwrap.wrap(finding.why, 112, initial_indent="      ", subsequent_indent="      ")]


def _line(what: str, paper: str, ours: str, verdict: str) -> str:
    return f"  {what:<{_WIDTHS[0]}}  {paper:<{_WIDTHS[1]}}  {ours:<{_WIDTHS[2]}}  {verdict}".rstrip()


def reproduce(
    paper: str,
    *,
    quick: bool = False,
    data: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    form: str = "png",
    seed: int = 0,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> Reproduction:
    """Redo a paper's experiments.

    Parameters
    ----------
    paper : str
        ``"soft-labels"``, ``"logit-smoothing"``, ``"smooth-ece"`` or ``"cumulative"``.
    quick : bool
        Fewer draws, at most three minutes; the errors beside the values grow accordingly.
    data : path, optional
        Folder with the real data; parts that need a file that is not there say which and where it comes from.
    out : path, optional
        Folder for the figures, made when it is not there; without it no figure is kept.
    form : str
        ``"png"`` or ``"svg"``.
    seed : int
        Of all draws.
    progress : callable, optional
        Called with what is done, how much of it, and of how much.

    Returns
    -------
    Reproduction
        Prints as the table.
    """
    if paper not in PAPERS:
        raise InputError(f"paper: {paper!r} is none of {', '.join(PAPERS)}.")
    if form not in ("png", "svg"):
        raise InputError(f"form: {form!r} is neither 'png' nor 'svg'.")
    if data is not None and not os.path.isdir(data):
        raise InputError(f"data: {os.fspath(data)!r} is not a folder.")
    described: Paper = import_module(PAPERS[paper]).PAPER
    if out is not None:
        os.makedirs(out, exist_ok=True)
    lab = Lab(
        quick=quick,
        data=None if data is None else os.fspath(data),
        out=None if out is None else os.fspath(out),
        form=form,
        seed=seed,
        progress=progress,
    )
    findings: dict[str, tuple[Finding, ...]] = {}
    missing: dict[str, str] = {}
    for experiment in described.experiments:
        lab.doing = experiment.title
        try:
            findings[experiment.title] = tuple(experiment.run(lab))
        except MissingDataError as need:
            missing[experiment.title] = str(need)
    return Reproduction(
        paper=paper,
        title=described.title,
        citation=described.citation,
        findings=MappingProxyType(findings),
        missing=MappingProxyType(missing),
        figures=tuple(lab.figures),
        seed=seed,
        quick=quick,
    )
