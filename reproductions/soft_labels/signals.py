"""Experiments 1 and 2: single runs of 5 000 rows, at k = 2 and over six k (Tables 2, 3 and 4)."""

from collections.abc import Iterator, Mapping

import numpy as np

from reproductions.arrays import Floats
from reproductions.findings import Finding, claim, printed
from reproductions.lab import Lab
from reproductions.soft_labels.beside import CLOSED, HARD, OPEN, mean_cell, name_of, open_bin, readings
from reproductions.soft_labels.drawing import draw_law, draw_model, legend_below
from reproductions.soft_labels.setting import METRICS, MODELS, SIGNALS, draw, measure
from reproductions.soft_labels.tables import TABLE_2, TABLE_3, TABLE_4
from reproductions.soft_labels.theory import chance_below, law, limit, shortfall

N = 5_000
Columns = Mapping[float, Floats]  # k: a row of values a measure


def experiment_1(lab: Lab) -> Iterator[Finding]:
    """Table 2 and what section 6 says of it."""
    k = 2.0
    sample = draw(lab.rng("experiment 1"), N, k)
    values = measure(sample)
    for column, metric in enumerate((CLOSED, HARD)):
        for model in MODELS:
            yield from _cells(TABLE_2[model][column], values, model, metric, k, f"{metric} of ")
    for column, metric in enumerate((CLOSED, HARD)):
        ranks = np.argsort(np.argsort(values[METRICS.index(metric)])) + 1
        for model, rank in zip(MODELS, ranks, strict=True):
            yield _rank(TABLE_2[model][2 + column], int(rank), model, metric)
    yield from _said_of_table_2(values, sample.x)


def _cells(
    paper: str, values: Floats, model: str, metric: str, k: float, before: str = "", after: str = ""
) -> Iterator[Finding]:
    """One printed value of one run, in each reading of it."""
    place = list(MODELS).index(model)
    for reading in readings(model, metric, k):
        ours = float(values[METRICS.index(reading), place])
        what = f"{before}{name_of(reading, model)}{after}"
        yield from mean_cell(what, paper, ours, law(model, reading, k, N), (1, 1), open_bin(model, reading, k, N))


def _rank(paper: str, ours: int, model: str, metric: str) -> Finding:
    tie = chance_below("C", "E", HARD, 2.0, N)
    apart = limit("C", HARD, 2.0) - limit("E", HARD, 2.0)
    why = f"C and E are {apart:.4f} apart in the limit: C comes first in {tie:.0%} of runs." if model in "CE" else ""
    return claim(f"rank of {model} by {metric}", paper, str(ours), holds=str(ours) == paper, why=why)


def _said_of_table_2(values: Floats, x: Floats) -> Iterator[Finding]:
    a, b = values[METRICS.index(HARD), :2]
    yield printed("ECE of A in the limit, closed form", "0.1151", shortfall(2.0))
    yield printed(
        "A's ECE over B's (section 6.2)", "29", a / b,
        why=f"0.1159 / 0.0401 is {0.1159 / 0.0401:.1f}: a point is missing. The limit is {shortfall(2) / shortfall(6):.1f}.",
    )  # fmt: skip
    certain = np.log(9.0) / 2  # σ(2x) = 0.9
    yield printed(
        "share of x with σ(2x) in 0.1 to 0.9 (section 6.1)", "60%", 100 * certain / 3,
        why=f"σ(2x) lies there for |x| < ln 9 / 2 = {certain:.4f} of 3, which is {certain / 3:.1%}; "
        f"60 % would take k = {np.log(9) / 1.8:.2f}.",
    )  # fmt: skip
    far = np.abs(1 / (1 + np.exp(-2 * x)) - (x >= 0)).mean()
    yield claim(
        "A's ECE is the mean of |σ(2x) − 1[x ≥ 0]| (section 6.2)", "approximately", f"to {abs(far - a):.0e}: 0.5 is a bin edge",
        holds=bool(abs(far - a) < 1e-12),
    )  # fmt: skip
    order = "".join(np.array(list(MODELS))[np.argsort(values[METRICS.index(CLOSED)])])
    c, d, left_open = limit("C", CLOSED, 2.0), limit("D", CLOSED, 2.0), limit("D", OPEN, 2.0)
    yield claim(
        "SMECE recovers the ranking A > B ≈ C > D > E", "yes (captions of Tables 1 and 2)", " > ".join(order),
        holds=order in ("ABCDE", "ACBDE"),
        why=f"At k = 2 C is farther from its labels than D: {c:.4f} against {d:.4f} ({left_open:.4f} with the last bin open). "
        "Table 2 itself ranks D third and C fourth, and Table 6 has C before D in no run.",
    )  # fmt: skip


def experiment_2(lab: Lab) -> Iterator[Finding]:
    """Tables 3 and 4 and what section 7 says of them."""
    columns = {k: measure(draw(lab.rng(f"experiment 2, k = {k:g}"), N, k)) for k in lab.steps(SIGNALS)}
    for number, metric, table in ((3, CLOSED, TABLE_3), (4, HARD, TABLE_4)):
        for model in MODELS:
            for k, paper in zip(SIGNALS, table[model], strict=True):
                yield from _cells(paper, columns[k], model, metric, k, f"Table {number}: ", f", k = {k:g}")
    yield from _said_of_a(columns)
    yield from _said_of_large_k()
    yield _identity(columns)
    _draw(lab, columns)


def _said_of_a(columns: Columns) -> Iterator[Finding]:
    soft, hard = METRICS.index(CLOSED), METRICS.index(HARD)
    zeros = [float(values[soft, 0]) for values in columns.values()]
    yield claim("A's SMECE is exactly 0 at every k", "yes", f"{zeros.count(0.0)} of {len(zeros)}", holds=not any(zeros))
    a, e = columns[0.5][hard, 0], columns[0.5][hard, 4]
    yield claim("ECE of A exceeds that of E at k = 0.5", "0.3287 > 0.2555", f"{a:.4f} > {e:.4f}", holds=bool(a > e))
    a, b = columns[50.0][hard, :2]
    yield claim(
        "ECE has the right ranking at k = 50", "yes (caption of Table 4)", f"A {a:.4f}, B {b:.4f}", holds=bool(a < b),
        why=f"B stays before A: with s(c) = (ln 2 − ln(1 + e⁻³ᶜ)) / 3c, A's ECE is s(k) = {shortfall(50):.4f} and B's is "
        f"s(3k) = {shortfall(150):.4f}, a third of it at any large k. Table 4 has 0.0041 and 0.0013, Table 5 has 0.900.",
    )  # fmt: skip


def _said_of_large_k() -> Iterator[Finding]:
    gaps = [max(abs(limit(model, CLOSED, k) - limit(model, HARD, k)) for model in MODELS) for k in SIGNALS]
    yield claim(
        "SMECE tends to ECE as k grows (Remark 3)", "nearly identical at k = 50",
        f"largest difference {gaps[0]:.4f} at k = 0.5, {gaps[-1]:.4f} at 50: ln 2 / 3k",
        holds=gaps == sorted(gaps, reverse=True) and abs(gaps[-1] - np.log(2) / 150) < 1e-9,
    )  # fmt: skip
    grid = np.geomspace(0.5, 5000, 401)
    b, c = ([limit(model, CLOSED, k) for k in grid] for model in "BC")
    yield claim(
        "SMECE of B and C vanishes as k grows", "yes",
        f"B {b[-1]:.5f}, C {c[-1]:.5f} at k = 5000; C first rises, to {max(c):.4f}", holds=max(b[-1], c[-1]) < 1e-4,
    )  # fmt: skip
    plateau = [limit("D", CLOSED, k) for k in grid]
    yield claim(
        "SMECE of D lies in 0.075 to 0.150 at any k", "yes", f"{min(plateau):.4f} to {max(plateau):.4f}",
        holds=min(plateau) >= 0.075 and max(plateau) <= 0.15 + 1e-12,
    )  # fmt: skip


def _identity(columns: Columns) -> Finding:
    """A, B and C cross the label at the bin edge 0.5, so that |f − t| adds up without cancelling, in every sample."""
    apart, printed_apart = 0.0, 0.0
    for place, k in enumerate(SIGNALS):
        (_, b, c, *_), (a_hard, b_hard, c_hard, *_), _ = columns[k]
        apart = max(apart, abs(a_hard - b_hard - b), abs(c_hard - a_hard - c))
        a_hard, b_hard, c_hard = (float(TABLE_4[model][place]) for model in "ABC")
        b, c = (float(TABLE_3[model][place]) for model in "BC")
        printed_apart = max(printed_apart, abs(a_hard - b_hard - b), abs(c_hard - a_hard - c))
    return claim(
        "SMECE of B = ECE of A − ECE of B, of C = ECE of C − ECE of A, row by row",
        f"printed columns: to {printed_apart:.4f}", f"to {apart:.0e}", holds=apart < 1e-12 and printed_apart < 1.5e-4 + 1e-9,
    )  # fmt: skip


def _draw(lab: Lab, columns: Columns) -> None:
    grid = np.geomspace(0.4, 62, 200)
    with lab.figure("experiment-2", width=8.2, height=4.6) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for ax, metric, table in zip(axes, (CLOSED, HARD), (TABLE_3, TABLE_4), strict=True):
            for place, model in enumerate(MODELS):
                draw_law(ax, model, grid, [limit(model, metric, k) for k in grid])
                draw_model(ax, model, SIGNALS, [columns[k][METRICS.index(metric), place] for k in SIGNALS], table[model])
            ax.set_xscale("log")
            ax.set_xticks(SIGNALS, [f"{k:g}" for k in SIGNALS])
            ax.minorticks_off()
            ax.set_xlabel("signal-to-noise ratio k")
            ax.set_title(f"{metric}, against {'the posterior' if metric == CLOSED else 'the thresholded outcome'}")
        draw_law(axes[0], "D", grid, [limit("D", OPEN, k) for k in grid], last_bin_open=True)
        axes[0].set_ylabel("calibration error")
        legend_below(figure, "printed")
