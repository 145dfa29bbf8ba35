"""``python -m benchmarks``: one table of ratios measured in one run, and the speed targets beside it."""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import trueness
from benchmarks import classes, costs, engines, floor, gpu, ours, peers, waiting
from benchmarks.data import DESCRIPTIONS, MONTE_CARLO_ROWS, make, power, sizes
from benchmarks.disk import OnDisk, disk_lines, measure_disk, render_disk
from benchmarks.item import INSTALL, WAITING, Item
from benchmarks.page import write
from benchmarks.table import HEAD, RIGHT, Row, best_times, duration, render, render_targets, rows_of
from benchmarks.targets import TARGETS, WAITING_SIZES, Line, classes_line, import_lines, memory_line
from benchmarks.timing import SLOW, Plan, clock, measure
from trueness.engines.arrays import workers

MEASURES = ("summarize", "binned_ece", "smooth_ece", "ecce_r", "logit_smoothed_ece", "engines")
FAMILIES = (WAITING, *MEASURES, "classes", "disk", "memory", "import", "gpu")
ENGINE_PACKAGES = ("numba", "duckdb", "polars", "pandas", "pyarrow", "dask", "pyspark", "torch", "triton")
PACKAGES = ("numpy", "scipy", *ENGINE_PACKAGES, "relplot", "probcal", "calibre", "torchmetrics", "netcal", "scikit-learn")
EVERY_CASE = 10**7  # rows up to which all kinds of scores are run

HOW = (
    "best: shortest of several runs, after a first that is not counted.  CPU: least seconds of all threads together.\n"
    "× read: best over the shortest read of these rows.  × ours: best over that of the reference line.\n"
    "median: median run over the median of the reads just before its runs.\n"
    "Items take turns, with a read before each run. What takes over {slow:g} s is run once; over {cap:g} s it is stopped.\n"
    "Below {pays} rows the compiled kernels are not used, and both lines of trueness time the same code."
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What to run."""

    sizes: tuple[int, ...]
    disk: tuple[int, ...]
    pairs: tuple[int, ...]
    monte_carlo_rows: int
    quick: bool
    only: frozenset[str]
    seed: int
    plan: Plan


@dataclass(slots=True)
class Found:
    """Everything measured."""

    rows: list[Row]
    disk: list[OnDisk]
    device: list[gpu.OnDevice]
    batch: float | None  # ms of an update on a device
    lines: list[Line]
    remarks: list[str]


def parse(words: list[str] | None) -> tuple[Settings, argparse.Namespace]:
    """Settings from the command line, and what was given there, such as where the JSON and the figure go."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--sizes", type=sizes, help="row counts, 1e4,1e5,1e6,1e7,1e8 unless told")
    parser.add_argument("--disk", type=sizes, help="rows of Parquet on disk, 1e7,1e8 unless told; 1e9 takes 9 GB")
    parser.add_argument("--pairs", type=sizes, help="pairs on a CUDA device, 4e8,1e9 unless told")
    parser.add_argument("--quick", action="store_true", help="1e4 and 1e5 rows and few repeats: seconds, for a look")
    names = ", ".join(FAMILIES)
    parser.add_argument("--only", action="append", choices=FAMILIES, metavar="NAME", help=f"one of {names}; repeatable")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write everything measured there as well")
    parser.add_argument("--figure", type=Path, metavar="PATH", help="draw the waiting times (png, svg or pdf)")
    parser.add_argument("--write", type=Path, action="append", default=[], metavar="PAGE", help="put the tables into a page")
    parser.add_argument("--seed", type=int, default=0, help="of the rows")
    parser.add_argument("--cap", type=float, default=120.0, help="seconds after which one run is stopped")
    given = parser.parse_args(words)
    if given.cap <= 0 or given.seed < 0:
        parser.error("--cap must be positive and --seed not negative")
    plan = Plan(budget=0.1, least=2, most=10, cap=given.cap) if given.quick else Plan(cap=given.cap)
    settings = Settings(
        sizes=given.sizes or (sizes("1e4,1e5") if given.quick else sizes("1e4,1e5,1e6,1e7,1e8")),
        disk=given.disk or (sizes("1e5") if given.quick else sizes("1e7,1e8")),
        pairs=given.pairs or (sizes("1e6") if given.quick else sizes("4e8,1e9")),
        monte_carlo_rows=MONTE_CARLO_ROWS // 50 if given.quick else MONTE_CARLO_ROWS,
        quick=given.quick,
        only=frozenset(given.only or FAMILIES),
        seed=given.seed,
        plan=plan,
    )
    return settings, given


def jobs(settings: Settings) -> Iterator[tuple[str, int, list[Item]]]:
    """Which items run on which rows."""
    summaries = [*ours.summaries(), *floor.items(), *peers.brier()]
    ecce = [*ours.ecce_r(), *peers.ecce_r()]
    smooth = [*ours.smooth_ece(), *peers.smooth_ece()]
    binned = [*ours.binned_ece(), *peers.binned_ece()]
    cases = {
        "uniform": [*summaries, *ours.float_summaries(), *peers.float_brier(), *binned, *smooth, *ecce],
        "rounded": [*summaries, *ecce],
        "rare": [*summaries, *ours.smooth_ece(), *ecce],  # relplot stops at σ = 1/1024, above the value of rare events
        "miscalibrated": [*binned, *smooth, *ecce],
    }
    for n in settings.sizes:
        if n <= EVERY_CASE:
            yield from ((case, n, items) for case, items in cases.items())
        else:
            yield "uniform", n, [*summaries, *binned, *smooth, *ecce]
        yield "uniform", n, engines.engines(spark=not settings.quick)
    for n in WAITING_SIZES[: 1 if settings.quick else None]:
        yield from ((case, n, waiting.items()) for case in ("uniform", "rare"))
    yield "uniform", settings.monte_carlo_rows, [*ours.logit_smoothed_ece(), *peers.logit_smoothed_ece()]


def tell(text: str) -> None:
    """Progress, on stderr."""
    print(f"… {text}", file=sys.stderr, flush=True)


def run(settings: Settings) -> Found:
    """Everything that was asked for."""
    found = Found([], [], [], None, [], _compile_remarks(settings))
    for case, n, items in jobs(settings):
        chosen = [item for item in items if item.family in settings.only]
        if chosen:
            data = make(case, n, settings.seed)
            found.rows += rows_of(measure(chosen, data, settings.plan, tell), data)
    if "disk" in settings.only:
        found.disk = measure_disk(settings.disk, tell)
    if "gpu" in settings.only:
        if gpu.device() is None:
            found.remarks.append("gpu: no CUDA device here")
        else:
            found.device, found.batch = gpu.measure_gpu(settings.pairs, tell), gpu.batch_ms()
    lines = _lines(found, settings)
    found.lines = [line for line in lines if line.family in settings.only]
    return found


def _lines(found: Found, settings: Settings) -> list[Line]:
    """The targets; those that need runs of their own are measured here."""
    measured = best_times(found.rows)
    lines = [target.line(measured) for target in TARGETS]
    if "classes" in settings.only:
        tell("class-wise table")
        size = (2000, 20) if settings.quick else (classes.ROWS, classes.CLASSES)
        lines.append(classes_line(*size, *classes.class_seconds(*size, settings.seed)))
    if "memory" in settings.only:
        tell("memory of summarize")
        n = min(settings.sizes[-1], EVERY_CASE)
        lines.append(memory_line(costs.extra_memory(make("uniform", n, settings.seed)), n))
    if "import" in settings.only:
        tell("import in fresh processes")
        lines += import_lines(costs.import_seconds(3 if settings.quick else 11))
    return [*lines, *disk_lines(found.disk), *gpu.gpu_lines(found.device, found.batch)]


def _compile_remarks(settings: Settings) -> list[str]:
    """Load the kernels before anything is timed, and say what that and their compilation cost."""
    try:
        seconds = clock(lambda _: ours.load_numba(), make("uniform", 1000, 0)).seconds
    except ImportError:
        return [f"numba: not installed ({INSTALL})"]
    remarks = [f"numba: loaded in {duration(seconds)}; compiled kernels are cached on disk and not in the times above"]
    if not settings.quick:
        tell("compilation of the kernels, in a fresh process with an empty cache")
        load, build = costs.compile_seconds()
        remarks.append(f"numba: with an empty cache, loading takes {duration(load)}, compiling every kernel {duration(build)}")
    return remarks


def machine() -> dict[str, Any]:
    """Where this ran, and how busy it was."""

    def installed(package: str) -> str | None:
        try:
            return version(package)
        except PackageNotFoundError:
            return None

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = os.getloadavg() if hasattr(os, "getloadavg") else None
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": cores,
        "load": load,
        "trueness": trueness.__version__,
        "packages": {package: installed(package) for package in PACKAGES},
    }


def sections(found: Found, settings: Settings, began: dict[str, Any]) -> dict[str, str]:
    """What was measured, under the names that pages know."""
    there = ", ".join(f"{name} {number or 'absent'}" for name, number in began["packages"].items())
    load = "" if began["load"] is None else f", load {began['load'][0]:.2f} when begun"
    machine = (
        f"trueness {began['trueness']}, Python {began['python']}, {began['system']}, {began['cores']} cores{load}\n{there}"
    )
    parts = {"machine": machine}
    if WAITING in settings.only:
        parts |= {"waiting": waiting.waiting_table(found.rows, "uniform"), "rare": waiting.waiting_table(found.rows, "rare")}
    if found.rows:
        cases = "\n".join(f"{case}: {DESCRIPTIONS[case]}" for case in dict.fromkeys(row.case for row in found.rows))
        table = render(HEAD, [row.cells() for row in found.rows], RIGHT)
        parts["table"] = "\n\n".join([table, _how(settings), cases])
    if found.disk:
        parts["disk"] = render_disk(found.disk)
    if found.device:
        parts["device"] = gpu.render_gpu(found.device, str(gpu.device()))
    if found.lines:
        parts["targets"] = render_targets(found.lines)
    return parts


def report(found: Found, settings: Settings, began: dict[str, Any]) -> str:
    """All of it, for people."""
    wrong = [row for row in found.rows if row.agrees is False]
    told = [f"VALUES DISAGREE: {row.measure} by {row.by}, {row.case}, {power(row.rows)} rows" for row in wrong]
    told += [f"VALUES DISAGREE: CUDA, {row.case}, {power(row.rows)} pairs" for row in found.device if row.same is False]
    return "\n\n".join([*sections(found, settings, began).values(), "\n".join([*found.remarks, *told])])


def _how(settings: Settings) -> str:
    return HOW.format(slow=SLOW, cap=settings.plan.cap, pays=workers.PAYS_ONCE_LOADED)


def main(words: list[str] | None = None) -> int:
    """Exit code 0, or 1 when values that should agree do not; a time never decides."""
    settings, given = parse(words)
    began, start = machine(), time.perf_counter()
    found = run(settings)
    found.remarks.append(f"seed {settings.seed}, {duration(time.perf_counter() - start)} in all")
    print(report(found, settings, began))
    if given.json is not None:
        facts = {
            "machine": began,
            "sizes": settings.sizes,
            "seed": settings.seed,
            "rows": [row.to_dict() for row in found.rows],
            "disk": [row.to_dict() for row in found.disk],
            "gpu": [row.to_dict() for row in found.device],
            "targets": [line.to_dict() for line in found.lines],
            "remarks": found.remarks,
        }
        given.json.write_text(json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    if given.figure is not None:
        from benchmarks.figure import draw

        draw(found.rows, given.figure)
    for page in given.write:
        write(page, sections(found, settings, began))
    wrong = any(row.agrees is False for row in found.rows) or any(row.same is False for row in found.device)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
