"""The validity study as a list of jobs: run in parallel, kept as they finish, and written as one table."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import click

from studies import coverage, power, size
from studies.table import Results, write

# Samples a cell, by part of the study and number of rows. "full" is what the published table shows.
PLANS: dict[str, dict[str, dict[int, int]]] = {
    "full": {
        "size": {50: 4000, 100: 4000, 300: 4000, 1_000: 4000, 10_000: 3000, 100_000: 1000},
        "size of every test": {50: 400, 100: 400, 300: 400, 1_000: 300, 10_000: 120, 100_000: 40},
        "coverage": {50: 500, 200: 500, 1_000: 300, 5_000: 150, 50_000: 60},
        "coverage of wCE": {50: 60, 200: 60, 1_000: 20, 5_000: 20, 50_000: 20},
        "coverage of the bootstrap": {50: 40, 200: 40, 1_000: 40, 5_000: 20},
        "power": {300: 400, 1_000: 400, 3_000: 200},
    },
    "quick": {
        "size": {50: 40, 100: 40, 300: 40, 1_000: 40, 10_000: 20, 100_000: 4},
        "size of every test": {50: 8, 300: 8, 1_000: 4},
        "coverage": {50: 10, 200: 10, 1_000: 6, 5_000: 3},
        "coverage of wCE": {50: 3, 200: 3},
        "coverage of the bootstrap": {50: 5, 200: 5},
        "power": {300: 10, 1_000: 10},
    },
}
_BLOCK = 20  # samples a job


def jobs(plan: str) -> Iterator[dict[str, Any]]:
    """Every job; its seeds follow from its place, whatever the plan."""
    for part, counts in PLANS[plan].items():
        for number, cell in enumerate(_cells(part)):
            samples = counts.get(cell["n"], 0)
            for first in range(0, samples, _BLOCK):
                last = min(first + _BLOCK, samples)
                yield {"part": part, "cell": cell, "number": number, "first": first, "last": last}


def _cells(part: str) -> list[dict[str, Any]]:
    if part.startswith("size"):
        return [cell for cell in size.cells() if part == "size" or cell["scores"] != "soft"]
    return power.cells() if part == "power" else coverage.cells()


def work(job: dict[str, Any]) -> list[Any]:
    """The samples of one job."""
    part, cell = job["part"], job["cell"]
    found: list[Any] = []
    for sample in range(job["first"], job["last"]):
        seed = ((list(PLANS["full"]).index(part) * 1000 + job["number"]) << 24) + sample
        if part.startswith("size"):
            found.append(size.once(cell, seed, every=part != "size"))
        elif part == "power":
            found.append(power.once(cell, seed))
        else:
            kind = {"coverage": "auto", "coverage of wCE": "slow"}.get(part, "bootstrap")
            found.append(coverage.once(cell, seed, kind=kind))
    return found


def key(job: dict[str, Any]) -> str:
    """A job's name in the file of finished jobs."""
    return json.dumps([job["part"], job["cell"], job["first"], job["last"]], sort_keys=True)


def finished(kept: Path) -> dict[str, list[Any]]:
    """Jobs done before; a line cut short by an interruption is done again."""
    done: dict[str, list[Any]] = {}
    if kept.exists():
        for line in kept.read_text().splitlines():
            try:
                name, result = json.loads(line)
            except json.JSONDecodeError:
                continue
            done[name] = result
    return done


@click.command()
@click.option("--plan", type=click.Choice(list(PLANS)), default="full", show_default=True, help="How many samples.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    default=Path(".studies.jsonl"),
    show_default=True,
    help="Finished jobs; a run goes on from it.",
)
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("validity.md"), show_default=True, help="The table.")
def main(plan: str, workers: int, keep: Path, out: Path) -> None:
    """Size of the tests, coverage of the intervals and power, as one table."""
    done = finished(keep)
    wanted = list(jobs(plan))
    missing = [job for job in wanted if key(job) not in done]
    began = time.monotonic()
    bar = click.progressbar(length=len(missing), label="jobs")
    with ProcessPoolExecutor(workers) as pool, keep.open("a") as file, bar:
        futures = {pool.submit(work, job): job for job in missing}
        for future in as_completed(futures):
            name, result = key(futures[future]), future.result()
            done[name] = result
            file.write(json.dumps([name, result]) + "\n")
            file.flush()
            bar.update(1)
    results = Results()
    for job in wanted:
        results.add(job["part"], job["cell"], done[key(job)])
    command = "python -m studies" + ("" if plan == "full" else f" --plan {plan}")
    write(out, results, command, time.monotonic() - began if len(missing) == len(wanted) else None)
    click.echo(f"{out}: {results.verdict()}")
