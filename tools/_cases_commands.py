"""Cases of the command line, run in this process: exit codes, what is printed, what is written, and how faults are told."""

import contextlib
import gzip
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import trueness
from tools._data import FLARES, RECIDIVISM, SHARED, Case, columns, each_of, real_file

ROWS = ("a.csv", "-y", "y", "-p", "p")
COMMANDS = ("demo", "assess", "report", "check", "compare", "summarize", "merge", "reproduce")


def cases() -> Iterator[Case]:
    """All of them."""
    yield from each_of(_commands, _results, _real_data, _papers)


def _commands() -> Iterator[Case]:
    yield "cli/write", _written
    for name, words in {**_GOOD, **_BAD}.items():
        yield f"cli/{name}", partial(command, words)
    yield "cli/stdin", partial(command, ("assess", "-", *ROWS[1:]), stdin=True)
    yield "cli/stdin/merge", partial(command, ("merge", "-", "-o", "x.tns"), stdin=True)


def _results() -> Iterator[Case]:
    """What the commands have written."""
    yield "cli/groups.json", lambda: json.loads(Path("groups/groups.json").read_text(encoding="utf-8"))
    yield "cli/week.tns", lambda: trueness.Summary.load("week.tns")
    yield "cli/report.html", lambda: Path("out.html").read_text(encoding="utf-8").count("<tr>")
    yield "cli/left-behind", lambda: sorted(name for name in os.listdir() if name.endswith((".tmp", ".resume", ".lock")))


def _real_data() -> Iterator[Case]:
    for name, words in _REAL.items():
        yield f"cli/real/{name}", partial(_real, words)


def _papers() -> Iterator[Case]:
    for paper in ("soft-labels", "smooth-ece"):
        yield f"cli/reproduce/{paper}", partial(_reproduced, paper, f"drawn-{paper}")
    for paper in ("logit-smoothing", "smooth-ece", "cumulative"):
        yield f"cli/reproduce/{paper}/real", partial(_reproduced_with_data, paper)


def command(words: Sequence[str], *, stdin: bool = False) -> dict[str, Any]:
    """One command: its exit code and what it prints, parsed where that is JSON."""
    from trueness.cli import main

    out, err, before = io.StringIO(), io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(Path("a.csv").read_bytes() if stdin else b""))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(list(words))
    finally:
        sys.stdin = before
    printed = out.getvalue()
    as_json = "--json" in words and code in (0, 1) and printed
    return {"exit": code, "stdout": json.loads(printed) if as_json else printed, "stderr": err.getvalue()}


def _real(words: Sequence[str]) -> Any:
    return command([str(real_file(word)) if word in (FLARES, RECIDIVISM) else word for word in words])


def _reproduced(paper: str, out: str, *further: str) -> Any:
    result = command(["reproduce", paper, "--quick", "--json", "-o", out, *further])
    return result | {"figures": sorted(os.listdir(out))}


def _reproduced_with_data(paper: str) -> Any:
    real_file(RECIDIVISM)
    return _reproduced(paper, f"drawn-{paper}-real", "--data", str(SHARED / "data"))


def _written() -> list[str]:
    """Files that the commands read."""
    import pandas as pd

    frame = pd.DataFrame(columns(1500)).assign(id=np.arange(1500), r=np.sqrt(columns(1500)["p"]), z=columns(1500)["y"] + 1)
    frame["q"] = frame["p"] ** 2
    half, order = len(frame) // 2, np.random.default_rng(3).permutation(len(frame))
    tables = {
        "a.csv": frame,
        "b.csv": frame.assign(p=frame["q"]),
        "day1.csv": frame[:half],
        "day2.csv": frame[half:],
        "shuffled.csv": frame.iloc[order],
        "repeated.csv": frame.assign(id=0),
        "other.csv": frame.assign(y=1 - frame["y"]),
        "one.csv": frame[:1],
        "few.csv": frame[:105].assign(g=np.where(np.arange(105) < 100, "many", "few")),
        "many.csv": frame.assign(g=np.arange(len(frame)) % 150),
    }
    for name, table in tables.items():
        table.to_csv(name, index=False)
    frame.to_csv("semicolon.txt", index=False, sep=";")
    frame.to_parquet("a.parquet")
    frame[["y", "p"]].to_json("a.ndjson", orient="records", lines=True, double_precision=15)
    Path("a.csv.gz").write_bytes(gzip.compress(Path("a.csv").read_bytes(), mtime=0))
    Path("text.tns").write_text("not a summary", encoding="utf-8")
    return sorted(tables)


_GOOD: Mapping[str, Sequence[str]] = {
    "version": ("--version",),
    "help": ("--help",),
    **{f"help/{name}": (name, "--help") for name in COMMANDS},
    "demo": ("demo", "-o", "demo.html"),
    "assess": ("assess", *ROWS),
    "assess/json": ("assess", *ROWS, "--json"),
    "assess/weight": ("assess", *ROWS, "-w", "w", "--json"),
    "assess/soft": ("assess", "a.csv", "-y", "s", "-p", "p"),
    "assess/by": ("assess", *ROWS, "--by", "g", "--level", "0.9", "--rng", "5"),
    "assess/by/json": ("assess", *ROWS, "--by", "g", "--by", "h", "--json"),
    "assess/by/many": ("assess", "many.csv", *ROWS[1:], "--by", "g"),
    "assess/drop": ("assess", "a.csv", "-y", "y", "-p", "m", "--nan", "drop"),
    "assess/pos-label": ("assess", "a.csv", "-y", "t", "-p", "p", "--pos-label", "yes"),
    "assess/pos-label/number": ("assess", "a.csv", "-y", "z", "-p", "p", "--pos-label", "2"),
    "assess/parquet": ("assess", "a.parquet", *ROWS[1:]),
    "assess/ndjson": ("assess", "a.ndjson", *ROWS[1:]),
    "assess/gzip": ("assess", "a.csv.gz", *ROWS[1:]),
    "assess/delimiter": ("assess", "semicolon.txt", *ROWS[1:], "--delimiter", ";"),
    "assess/pattern": ("assess", "day?.csv", *ROWS[1:]),
    "assess/one": ("assess", "one.csv", *ROWS[1:]),
    "report": ("report", *ROWS, "--by", "g", "-o", "out.html", "--title", "A <title>"),
    "report/json": ("report", *ROWS, "-o", "out2.html", "--json"),
    "check/passes": ("check", *ROWS, "--max", "smooth_ece=0.5", "--max", "brier_score=0.9"),
    "check/fails": ("check", *ROWS, "--max", "smooth_ece=0.001", "--max", "log_loss=0.1", "--max", "ecce_r=0.9"),
    "check/alpha": ("check", *ROWS, "--alpha", "0.01"),
    "check/alpha/by": ("check", *ROWS, "--alpha", "0.01", "--by", "g"),
    "check/alpha/few": ("check", "few.csv", *ROWS[1:], "--alpha", "0.0001", "--by", "g"),
    "check/upper": ("check", *ROWS, "--max", "smooth_ece=0.02", "--upper"),
    "check/upper/one": ("check", "one.csv", *ROWS[1:], "--max", "smooth_ece=1", "--upper"),
    "check/json": ("check", *ROWS, "--max", "smooth_ece=0.02", "--alpha", "0.01", "--json"),
    "compare": ("compare", "a.csv", "-y", "y", "-p", "p", "-p", "q"),
    "compare/json": ("compare", "a.csv", "-y", "y", "-p", "p", "-p", "q", "-p", "r", "--json"),
    "compare/files": ("compare", "a.csv", "b.csv", "-y", "y", "-p", "p"),
    "compare/key": ("compare", "a.csv", "shuffled.csv", "-y", "y", "-p", "p", "--key", "id"),
    "compare/drop": ("compare", "a.csv", "-y", "y", "-p", "p", "-p", "m", "--nan", "drop"),
    "compare/weight": ("compare", "a.csv", "-y", "y", "-p", "p", "-p", "q", "-w", "w", "--level", "0.8"),
    "summarize/1": ("summarize", "day1.csv", *ROWS[1:], "-o", "day1.tns"),
    "summarize/2": ("summarize", "day2.csv", *ROWS[1:], "-o", "day2.tns", "--resume"),
    "summarize/bins": ("summarize", *ROWS, "--bins", "7", "-o", "bins.tns", "--memory-limit", "1GB"),
    "summarize/weight": ("summarize", *ROWS, "-w", "w", "-o", "weight.tns"),
    "summarize/drop": ("summarize", "a.csv", "-y", "y", "-p", "m", "--nan", "drop", "-o", "drop.tns"),
    "summarize/by": ("summarize", *ROWS, "--by", "g", "-o", "groups"),
    "merge": ("merge", "day?.tns", "-o", "week.tns"),
    "assess/summary": ("assess", "week.tns"),
    "assess/summaries": ("assess", "day1.tns", "day2.tns", "--json"),
    "assess/summary/weight": ("assess", "weight.tns", "--json"),
    "report/summary": ("report", "week.tns", "-o", "week.html"),
    "check/summary": ("check", "week.tns", "--max", "smooth_ece=0.02"),
}
_BAD: Mapping[str, Sequence[str]] = {
    "bad/nothing": (),
    "bad/command": ("asess", *ROWS),
    "bad/option": ("assess", *ROWS, "--levle", "0.9"),
    "bad/json-errors": ("assess", "absent.csv", *ROWS[1:], "--error-format", "json"),
    "bad/json-errors/usage": ("--error-format", "json", "assess", "a.csv"),
    "bad/error-format": ("assess", *ROWS, "--error-format", "xml"),
    "bad/no-file": ("assess",),
    "bad/no-outcome": ("assess", "a.csv", "-p", "p"),
    "bad/no-prediction": ("assess", "a.csv", "-y", "y"),
    "bad/two-predictions": ("assess", *ROWS, "-p", "q"),
    "bad/absent": ("assess", "absent.csv", *ROWS[1:]),
    "bad/pattern": ("assess", "absent*.csv", *ROWS[1:]),
    "bad/column": ("assess", "a.csv", "-y", "y", "-p", "score"),
    "bad/holes": ("assess", "a.csv", "-y", "y", "-p", "m"),
    "bad/labels": ("assess", "a.csv", "-y", "t", "-p", "p"),
    "bad/labels/number": ("assess", "a.csv", "-y", "z", "-p", "p"),
    "bad/pos-label": ("assess", "a.csv", "-y", "t", "-p", "p", "--pos-label", "maybe"),
    "bad/outside": ("assess", "a.csv", "-y", "y", "-p", "id"),
    "bad/nan": ("assess", *ROWS, "--nan", "keep"),
    "bad/level": ("assess", *ROWS, "--level", "95"),
    "bad/level/text": ("assess", *ROWS, "--level", "high"),
    "bad/rng": ("assess", *ROWS, "--rng", "-1"),
    "bad/delimiter": ("assess", *ROWS, "--delimiter", "||"),
    "bad/kinds": ("assess", "a.csv", "a.parquet", *ROWS[1:]),
    "bad/same-file": ("assess", "a.csv", "a.csv", *ROWS[1:]),
    "bad/summary-options": ("assess", "week.tns", "-y", "y"),
    "bad/summary-nan": ("assess", "week.tns", "--nan", "drop"),
    "bad/summary-text": ("assess", "text.tns"),
    "bad/report/folder": ("report", *ROWS, "-o", "absent/out.html"),
    "bad/report/directory": ("report", *ROWS, "-o", "groups"),
    "bad/report/input": ("report", *ROWS, "-o", "a.csv"),
    "bad/report/empty": ("report", *ROWS, "-o", ""),
    "bad/check/nothing": ("check", *ROWS),
    "bad/check/metric": ("check", *ROWS, "--max", "smoth_ece=0.1"),
    "bad/check/value": ("check", *ROWS, "--max", "smooth_ece=x"),
    "bad/check/negative": ("check", *ROWS, "--max", "smooth_ece=-1"),
    "bad/check/no-value": ("check", *ROWS, "--max", "smooth_ece"),
    "bad/check/upper": ("check", *ROWS, "--max", "brier_score=1", "--upper"),
    "bad/check/several": ("check", *ROWS, "--max", "decompose=1"),
    "bad/check/alpha": ("check", *ROWS, "--alpha", "5"),
    "bad/check/summary": ("check", "week.tns", "--max", "log_loss=0.02"),
    "bad/compare/one": ("compare", *ROWS),
    "bad/compare/none": ("compare", "a.csv", "-y", "y"),
    "bad/compare/twice": ("compare", *ROWS, "-p", "p"),
    "bad/compare/lengths": ("compare", "a.csv", "day1.csv", *ROWS[1:]),
    "bad/compare/order": ("compare", "a.csv", "shuffled.csv", *ROWS[1:]),
    "bad/compare/key": ("compare", "a.csv", "repeated.csv", *ROWS[1:], "--key", "id"),
    "bad/compare/keys": ("compare", "a.csv", "day1.csv", *ROWS[1:], "--key", "id"),
    "bad/compare/outcomes": ("compare", "a.csv", "other.csv", *ROWS[1:], "--key", "id"),
    "bad/compare/no-key": ("compare", "a.csv", "b.csv", *ROWS[1:], "--key", "number"),
    "bad/compare/summaries": ("compare", "day1.tns", "day2.tns", *ROWS[1:]),
    "bad/summarize/no-out": ("summarize", *ROWS),
    "bad/summarize/bins": ("summarize", *ROWS, "--bins", "0", "-o", "x.tns"),
    "bad/summarize/by-file": ("summarize", *ROWS, "--by", "g", "-o", "a.csv"),
    "bad/summarize/memory": ("summarize", *ROWS, "--memory-limit", "much", "-o", "x.tns"),
    "bad/summarize/resume-by": ("summarize", *ROWS, "--by", "g", "--resume", "-o", "x"),
    "bad/merge/rulers": ("merge", "day1.tns", "bins.tns", "-o", "x.tns"),
    "bad/merge/rows": ("merge", "a.csv", "-o", "x.tns"),
    "bad/merge/text": ("merge", "day1.tns", "text.tns", "-o", "x.tns"),
    "bad/merge/absent": ("merge", "absent.tns", "-o", "x.tns"),
    "bad/merge/twice": ("merge", "day1.tns", "day1.tns", "-o", "x.tns"),
    "bad/reproduce/paper": ("reproduce", "calibration"),
    "bad/reproduce/out": ("reproduce", "soft-labels", "-o", "a.csv"),
}
_REAL: Mapping[str, Sequence[str]] = {
    "recidivism": ("assess", RECIDIVISM, "-y", "two_year_recid", "-p", "logitpredprobs", "--by", "race", "--json"),
    "recidivism/text": ("assess", RECIDIVISM, "-y", "two_year_recid", "-p", "gbmpredprobs"),
    "recidivism/compare": ("compare", RECIDIVISM, "-y", "two_year_recid", "-p", "logitpredprobs", "-p", "mturkpredprobs"),
    "flares": ("assess", FLARES, "-y", "rlz.C1", "-p", "AMOS", "--nan", "drop", "--json"),
    "flares/holes": ("assess", FLARES, "-y", "rlz.C1", "-p", "AMOS"),
    "flares/outside": ("check", FLARES, "-y", "rlz.C1", "-p", "MCSTAT", "--alpha", "0.1"),
}
