"""The validity study as a list of jobs: run in parallel, kept as they finish, and written as one page."""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from datetime import date
from pathlib import Path
from typing import Any

import click

import trueness
from studies import harder, omnibus, table
from studies.parts import PARTS
from studies.share import Share

# Samples a cell, by part of the study and number of rows. "full" takes hours on two cores.
PLANS: dict[str, dict[str, dict[int, int]]] = {
    "full": {
        "size": {50: 4000, 100: 4000, 300: 4000, 1_000: 4000, 10_000: 3000, 100_000: 1000},
        "size of every test": {50: 300, 100: 300, 300: 300, 1_000: 200, 10_000: 150, 100_000: 100},
        "coverage": {50: 400, 200: 500, 1_000: 300, 5_000: 200, 50_000: 120},
        "coverage of wCE": {50: 100, 200: 60, 1_000: 40, 5_000: 30, 50_000: 20},
        "coverage of the bootstrap": {50: 20, 200: 20, 1_000: 12, 5_000: 6},
        "power": {300: 300, 1_000: 300, 3_000: 120},
        "size, harder worlds": {
            10: 2000,
            20: 2000,
            40: 2000,
            200: 1500,
            300: 400,
            600: 1500,
            1_000: 1000,
            2_000: 600,
            3_000: 200,
            5_000: 400,
        },
        "coverage, harder worlds": {10: 500, 20: 500, 40: 500, 200: 300, 600: 400, 1_000: 300, 5_000: 120},
        "bands": {300: 300, 1_000: 300, 5_000: 150},
        "groups": {5: 1000, 20: 500, 100: 150, 300: 60, 1_000: 30},
        "size of every part": {20: 1500, 50: 1500, 300: 1500, 1_000: 1000, 5_000: 400},
        "power of every part": {1_000: 300},
    },
    "quick": {
        "size": {50: 60, 100: 60, 300: 60, 1_000: 40, 10_000: 20, 100_000: 4},
        "size of every test": {50: 6, 300: 6, 1_000: 4},
        "coverage": {50: 6, 200: 6, 1_000: 4, 5_000: 2},
        "coverage of wCE": {50: 2, 200: 1},
        "coverage of the bootstrap": {50: 2},
        "power": {300: 8},
        "size, harder worlds": {20: 4, 200: 4, 3_000: 2},
        "coverage, harder worlds": {20: 2, 200: 2, 600: 2},
        "bands": {300: 2},
        "groups": {5: 4, 20: 1},
        "size of every part": {20: 4, 50: 4, 300: 4},
        "power of every part": {1_000: 1},
    },
}
# Rooms and files that show figures and decide none.
_SHOWING = {
    "cli",
    "curves",
    "plots",
    "report",
    "assessment.py",
    "comparison.py",
    "demo.py",
    "recalibrate.py",
    "verdict.py",
    "figure.py",
    "judge.py",
    "known.py",
    "losses.py",
    "repairs.py",
    "share.py",
    "table.py",
}
_SLICES = 20  # jobs a cell, at least: the first of every cell come first, so that a run cut short is a smaller study


def jobs(plan: str, only: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Every job; its seeds follow from its place in the full study, whatever the plan."""
    listed = []
    for part, counts in PLANS[plan].items():
        for number, cell in enumerate(PARTS[part].cells() if not only or part in only else []):
            count = counts.get(cell["n"], 0)
            for slice_ in range(min(_SLICES, count)):
                first, last = (count * place // min(_SLICES, count) for place in (slice_, slice_ + 1))
                listed.append({"part": part, "cell": cell, "number": number, "first": first, "last": last})
    return sorted(listed, key=lambda job: job["first"] / PLANS[plan][job["part"]][job["cell"]["n"]])


def work(job: dict[str, Any]) -> list[Any]:
    """The samples of one job."""
    part, cell = job["part"], job["cell"]
    first = (list(PARTS).index(part) * 1000 + job["number"]) << 24
    return [PARTS[part].once(cell, first + sample) for sample in range(job["first"], job["last"])]


def key(job: dict[str, Any]) -> str:
    """A job's name in the file of finished jobs."""
    return json.dumps([job["part"], job["cell"], job["first"], job["last"]], sort_keys=True)


def finished(kept: Path) -> dict[str, list[Any]]:
    """Jobs done before; a line cut short by an interruption is done again."""
    done: dict[str, list[Any]] = {}
    lines = kept.read_text().splitlines() if kept.exists() else []
    for line in lines:
        try:
            name, result = json.loads(line)
        except json.JSONDecodeError:
            continue
        done[name] = result
    if done and done.pop("code", None) != fingerprint():
        raise click.UsageError(f"{kept} holds jobs of other code. Pass another file with --keep, or remove it.")
    return done


def fingerprint(package: Path = Path(trueness.__file__).parent, study: Path = Path(__file__).parent) -> str:
    """A digest of the code that decides the figures: a run never goes on from what other code has found."""
    digest = hashlib.sha256()
    for folder in (package, study):
        for file in sorted(folder.rglob("*.py")):
            path = file.relative_to(folder)
            if path.parts[0] not in _SHOWING:
                digest.update(path.as_posix().encode() + file.read_bytes())
    return digest.hexdigest()


def found(planned: Sequence[dict[str, Any]], done: dict[str, list[Any]], plan: str) -> dict[str, table.Found]:
    """What the jobs that are done found, by part."""
    cells: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for job in planned:
        cells[job["part"], json.dumps(job["cell"])] += done.get(key(job), [])
    shares: dict[str, list[Share]] = defaultdict(list)
    for (part, cell), samples in cells.items():
        values: dict[str, list[Any]] = defaultdict(list)
        for sample in samples:
            for what, value in sample.items():
                values[what].append(value)
        for what, listed in values.items():
            shares[part] += PARTS[part].shares(json.loads(cell), what, listed)
    today, results = date.today().isoformat(), {}
    for part in shares:
        own = [key(job) in done for job in planned if job["part"] == part]
        results[part] = table.Found(tuple(shares[part]), today, plan, sum(own) / len(own))
    return results


@click.command()
@click.option("--plan", type=click.Choice(list(PLANS)), default="full", show_default=True, help="How many samples.")
@click.option(
    "--only", type=click.Choice(list(PARTS)), multiple=True, help="Parts to run; the page keeps what it has of the others."
)
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    default=Path(".studies.jsonl"),
    show_default=True,
    help="Finished jobs; a run goes on from it.",
)
@click.option("--minutes", type=click.FloatRange(0, min_open=True), help="Begin no further job after so long.")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("validity.md"), show_default=True, help="The page.")
def main(plan: str, only: tuple[str, ...], workers: int, keep: Path, minutes: float | None, out: Path) -> None:
    """Size of the tests, coverage of the intervals and power, as one page with a figure."""
    done = finished(keep)
    planned = jobs(plan, only)
    missing = [job for job in planned if key(job) not in done]
    began = time.monotonic()
    bar = click.progressbar(length=len(missing), label="jobs")
    with ProcessPoolExecutor(workers) as pool, keep.open("a") as file, bar:
        file.write("\n" + json.dumps(["code", fingerprint()]) + "\n")  # a line that was cut short ends here
        queue, running = iter(missing), {}
        while True:
            late = minutes is not None and time.monotonic() - began > 60 * minutes
            while not late and len(running) < 2 * workers and (job := next(queue, None)) is not None:
                running[pool.submit(work, job)] = key(job)
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                name = running.pop(future)
                done[name] = future.result()
                file.write(json.dumps([name, done[name]]) + "\n")
                file.flush()
                bar.update(1)
    earlier = table.load(out).parts if only else {}
    results = table.Results({part: each for part in PARTS if (each := (earlier | found(planned, done, plan)).get(part))})
    table.write(out, results, [*harder.absent(), *omnibus.absent()])
    click.echo(f"{out}: {results.verdict()}")
    if wrong := results.wrong():
        click.echo("\n".join(map(str, wrong)))
        raise SystemExit(1)
