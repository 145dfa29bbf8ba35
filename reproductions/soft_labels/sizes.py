"""Experiment 4: mean and standard deviation over 500 runs at five sample sizes (Tables 7 and 8)."""

from collections.abc import Iterator, Mapping

import numpy as np

from reproductions.arrays import Floats
from reproductions.findings import Finding, claim, printed
from reproductions.lab import Lab
from reproductions.soft_labels.beside import CLOSED, HARD, OPEN, mean_cell, name_of, open_bin, readings, spread_cell
from reproductions.soft_labels.drawing import draw_law, draw_model, legend_below
from reproductions.soft_labels.setting import METRICS, MODELS, draw, measure
from reproductions.soft_labels.tables import TABLE_7, TABLE_8
from reproductions.soft_labels.theory import law, shortfall

K, RUNS = 2.0, 500
SIZES = (500, 1_000, 2_000, 5_000, 10_000)
Columns = Mapping[int, Floats]  # n: runs × measures × models


def experiment_4(lab: Lab) -> Iterator[Finding]:
    """Both tables and what section 9 says of them."""
    runs = lab.either(30, RUNS)
    columns = dict(zip(SIZES, np.split(np.array(list(_values(lab, runs))), len(SIZES)), strict=True))
    for number, metric, table in ((7, CLOSED, TABLE_7), (8, HARD, TABLE_8)):
        for model in MODELS:
            for place, n in enumerate(SIZES):
                yield from _cells(number, table[model][2 * place : 2 * place + 2], columns[n], model, metric, n)
    yield from _said(columns)
    _draw(lab, columns)


def _values(lab: Lab, runs: int) -> Iterator[Floats]:
    streams = {n: lab.rng(f"experiment 4, n = {n}") for n in SIZES}
    for turn in lab.steps(range(len(SIZES) * runs)):
        n = SIZES[turn // runs]
        yield measure(draw(streams[n], n, K))


def _cells(number: int, paper: tuple[str, ...], values: Floats, model: str, metric: str, n: int) -> Iterator[Finding]:
    """Mean and standard deviation, in each reading of the cell."""
    for reading in readings(model, metric, K):
        ours = values[:, METRICS.index(reading), list(MODELS).index(model)]
        what = f"Table {number}: {name_of(reading, model)}, n = {n}"
        known, runs, why = law(model, reading, K, n), (RUNS, len(values)), open_bin(model, reading, K, n)
        yield from mean_cell(f"{what}, mean", paper[0], float(ours.mean()), known, runs, why)
        yield from spread_cell(f"{what}, std", paper[1], float(ours.std(ddof=1)), known, runs, why)


def _said(columns: Columns) -> Iterator[Finding]:
    zero = all(not values[:, METRICS.index(CLOSED), 0].any() for values in columns.values())
    runs = sum(len(values) for values in columns.values())
    yield claim("A's SMECE is 0 in every run", "yes", f"{'exactly 0.0' if zero else 'not'} in {runs} runs", holds=zero)
    hard = {n: values[:, METRICS.index(HARD)] for n, values in columns.items()}
    a = [float(values[:, 0].mean()) for values in hard.values()]
    steps = [
        abs(mean - shortfall(K)) / law("A", HARD, K, n).sd * np.sqrt(len(hard[n])) for mean, n in zip(a, SIZES, strict=True)
    ]
    yield claim(
        "A's mean ECE does not move with n", "0.1149 to 0.1152",
        f"{min(a):.4f} to {max(a):.4f}; closed form {shortfall(K):.5f} at every n", holds=max(steps) < 4,
    )  # fmt: skip
    ratio = float(hard[10_000][:, 0].std(ddof=1) / hard[500][:, 0].std(ddof=1))
    error = ratio * float(np.sqrt(1 / RUNS + 1 / len(hard[500])))
    yield printed(
        "A's std at n = 10 000 over that at 500", "0.2", ratio, error=error, why="In theory √(500 / 10 000) = 0.2236."
    )
    yield printed("A's std at n = 10 000 over that at 500, closed form", "0.2", float(np.sqrt(500 / 10_000)))
    yield _rate(columns)
    yield _of_e(hard)


def _rate(columns: Columns) -> Finding:
    """The slope of ln std against ln n."""
    spread = np.array([values[:, :2].std(axis=0, ddof=1).ravel() for values in columns.values()])
    moving = spread[:, spread.min(axis=0) > 0]
    slopes = np.polyfit(np.log(SIZES), np.log(moving), 1)[0]
    runs = len(next(iter(columns.values())))
    error = np.sqrt(1 / (2 * runs)) / (np.std(np.log(SIZES)) * np.sqrt(len(SIZES)))
    return claim(
        "spread falls as n to the power −½, as a std does", "variances as O(n^−1/2)",
        f"powers {slopes.min():.2f} to {slopes.max():.2f} ± {error:.1g}", holds=bool(np.abs(slopes + 0.5).max() < 4 * error),
    )  # fmt: skip


def _of_e(hard: Mapping[int, Floats]) -> Finding:
    few, many = (law("E", HARD, K, n).mean for n in (500, 10_000))
    means = [float(values[:, 4].mean()) for values in hard.values()]
    return claim(
        "the means of all other models are flat in n", "E: 0.2546 at n = 500, 0.2501 at 10 000",
        f"E: {means[0]:.4f} and {means[-1]:.4f}; A to C do not move", holds=abs(few - many) < 1e-3,
        why="In E's two middle bins the gap is small beside its noise, and the absolute value turns noise into error: by the "
        f"normal law {few:.4f} at n = 500 and {many:.4f} at 10 000. D has one such bin (ECE "
        f"{law('D', HARD, K, 500).mean:.4f} and {law('D', HARD, K, 10_000).mean:.4f}); A, B and C have none.",
    )  # fmt: skip


def _draw(lab: Lab, columns: Columns) -> None:
    ticks = np.arange(len(SIZES))
    with lab.figure("experiment-4", width=8.2, height=4.6) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for ax, metric, table in zip(axes, (CLOSED, HARD), (TABLE_7, TABLE_8), strict=True):
            for place, model in enumerate(MODELS):
                values = np.array([columns[n][:, METRICS.index(metric), place] for n in SIZES])
                x = ticks + 0.12 * (place - 2)
                draw_law(ax, model, x, [law(model, metric, K, n).mean for n in SIZES])
                draw_model(ax, model, x, values.mean(axis=1), table[model][::2], spread=values.std(axis=1, ddof=1))
            ax.set_xticks(ticks, [f"{n:,}".replace(",", " ") for n in SIZES])
            ax.set_xlabel("rows n")
            ax.set_title(f"{metric} at k = 2: mean ± standard deviation of a run")
        draw_law(axes[0], "D", ticks + 0.12, [law("D", OPEN, K, n).mean for n in SIZES], last_bin_open=True)
        axes[0].set_ylabel("calibration error")
        legend_below(figure, "printed mean")
