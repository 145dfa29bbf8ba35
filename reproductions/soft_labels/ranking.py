"""Experiment 3: which of two models each measure puts first (Tables 5 and 6)."""

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
from scipy.special import ndtr

from reproductions.arrays import Floats
from reproductions.findings import Finding, claim, printed
from reproductions.lab import Lab
from reproductions.soft_labels.beside import CLOSED, HARD, OPEN
from reproductions.soft_labels.setting import METRICS, MODELS, SIGNALS, draw, measure
from reproductions.soft_labels.tables import TABLE_5, TABLE_6, TABLE_8
from reproductions.soft_labels.theory import chance_below, law, limit
from reproductions.style import BLUE, VERMILION

N, RUNS = 1_000, 1_000
PAIRS = tuple(combinations(MODELS, 2))
TIED = ("B", "C")  # counts as right whichever comes first
Columns = Mapping[float, Floats]  # k: runs × measures × models


def experiment_3(lab: Lab) -> Iterator[Finding]:
    """Both tables and what section 8 says of them."""
    runs = lab.either(30, RUNS)
    columns = dict(zip(SIGNALS, np.split(np.array(list(_values(lab, runs))), len(SIGNALS)), strict=True))
    yield from _table_5(columns)
    yield from _table_6(columns[2.0])
    yield from _said(columns)
    _draw(lab, columns)


def _values(lab: Lab, runs: int) -> Iterator[Floats]:
    streams = {k: lab.rng(f"experiment 3, k = {k:g}") for k in SIGNALS}
    for turn in lab.steps(range(len(SIGNALS) * runs)):
        k = SIGNALS[turn // runs]
        yield measure(draw(streams[k], N, k))


def right(values: Floats, metric: str) -> Floats:
    """Whether each pair comes in the paper's order A > B ≈ C > D > E: runs × pairs."""
    column = dict(zip(MODELS, values[:, METRICS.index(metric)].T, strict=True))
    return np.stack([(column[i] < column[j]) | ((i, j) == TIED) for i, j in PAIRS], axis=1).astype(np.float64)


def chances(metric: str, k: float) -> Floats:
    """How often each pair comes in the right order, by the normal law of the difference."""
    return np.array([1.0 if pair == TIED else chance_below(*pair, metric, k, N) for pair in PAIRS])


def _table_5(columns: Columns) -> Iterator[Finding]:
    for metric in (CLOSED, HARD):
        for k, paper in zip(SIGNALS, TABLE_5[metric], strict=True):
            why = _about_d(k) if metric == CLOSED else ""
            accuracy = right(columns[k], metric).mean(axis=1)
            yield from _accuracy(f"Table 5: {metric}, k = {k:g}", paper, accuracy, chances(metric, k), why)
            if why:
                accuracy = right(columns[k], OPEN).mean(axis=1)
                yield from _accuracy(f"Table 5: {OPEN}, k = {k:g}", paper, accuracy, chances(OPEN, k))


def _about_d(k: float) -> str:
    """Why the last bin matters at k = 1; empty where no pair's order depends on it."""
    if np.abs(chances(CLOSED, k) - chances(OPEN, k)).max() < 1e-2:
        return ""
    b, closed, left_open = limit("B", CLOSED, k), limit("D", CLOSED, k), limit("D", OPEN, k)
    return (
        f"Eq. 4 leaves the last bin open, and D's predictions of 1 are in none: its SMECE is {left_open:.4f}, always below "
        f"B's {b:.4f}, so that B vs D and C vs D are always wrong. With the last bin closed D has {closed:.4f}, and B vs D is "
        f"right in {chance_below('B', 'D', CLOSED, k, N):.0%} of runs."
    )


def _table_6(values: Floats) -> Iterator[Finding]:
    for place, (i, j) in enumerate(PAIRS):
        for metric, paper in zip((CLOSED, HARD), TABLE_6[i + j], strict=True):
            why = _about_c_and_e() if (i, j, metric) == ("C", "E", HARD) else ""
            chance = chances(metric, 2.0)[[place]]
            yield from _accuracy(f"Table 6: {i} vs {j}, {metric}", paper, right(values, metric)[:, place], chance, why)


def _about_c_and_e() -> str:
    """The printed tables against this cell."""
    others = sum(float(cells[1]) for pair, cells in TABLE_6.items() if pair != "CE")
    left = 10 * float(TABLE_5[HARD][SIGNALS.index(2.0)]) - others
    (c, c_sd), (e, e_sd) = ([float(cell) for cell in TABLE_8[model][2:4]] for model in "CE")
    first = float(ndtr((e - c) / np.hypot(c_sd, e_sd)))
    return (
        f"Table 5 contradicts it: 0.747 over ten pairs, of which the other nine sum to {others:g}, leaves {left:.2f} for this "
        f"one. So does Table 8 at n = 1 000: {c} ± {c_sd} for C and {e} ± {e_sd} for E put C first in {first:.0%} of runs."
    )


def _accuracy(what: str, paper: str, ours: Floats, each: Floats, why: str = "") -> Iterator[Finding]:
    """A share of right orders: from draws, then by the normal law; `each` has the chances of the pairs in it."""
    by_law = float(np.sqrt((each * (1 - each)).sum())) / len(each)
    sd = max(float(ours.std(ddof=1)), by_law)  # few runs may not show what is rare; pairs of one run are not independent
    sd = sd if sd > 1e-6 else 0.0
    error, theirs = (sd * float(np.sqrt(share)) or None for share in (1 / RUNS + 1 / len(ours), 1 / RUNS))
    away = f"By the normal law {each.mean():.4f}; a run's standard deviation is {sd:.3f}."
    yield printed(what, paper, float(ours.mean()), error=error, why=why or away)
    yield printed(f"{what}, normal law", paper, float(each.mean()), error=theirs, why=why or away)


def _said(columns: Columns) -> Iterator[Finding]:
    soft = columns[0.5][:, METRICS.index(CLOSED)]
    accuracy = right(columns[0.5], CLOSED).mean()
    strict = accuracy - (soft[:, 1] > soft[:, 2]).mean() / len(PAIRS)
    yield claim(
        "B and C are tied: the pair counts as right in either order", "0.900 at k = 0.5",
        f"{accuracy:.3f}; {strict:.3f} if B had to come first", holds=bool(accuracy - strict > 0.09),
    )  # fmt: skip
    first, second = (law(model, CLOSED, 2.0, N) for model in "CD")
    soft = columns[2.0][:, METRICS.index(CLOSED)]
    apart = (soft[:, 2] - soft[:, 3]).min()
    yield claim(
        "C and D are too close for a scalar to tell at n = 1 000", "0 % right by both",
        f"C above D by at least {apart:.3f} in {len(soft)} runs", holds=bool(apart <= 0),
        why=f"A tie would be right half the time. SMECE is {first.mean:.4f} ± {first.sd:.4f} for C and {second.mean:.4f} ± "
        f"{second.sd:.4f} for D: it tells them apart every time, with D the better. Only the declared order says otherwise.",
    )  # fmt: skip
    ece = right(columns[0.5], HARD).mean()
    yield claim("ECE is below chance at k = 0.5", "0.403 < 0.5", f"{ece:.3f} < 0.5", holds=bool(ece < 0.5))


def _draw(lab: Lab, columns: Columns) -> None:
    ticks = np.arange(len(SIGNALS))
    with lab.figure("experiment-3", width=5.6, height=3.8) as figure:
        ax = figure.subplots()
        for metric, color, mark, style in ((CLOSED, BLUE, "o", "-"), (HARD, VERMILION, "s", "--")):
            ours = [right(columns[k], metric).mean() for k in SIGNALS]
            ax.plot(ticks, ours, color=color, marker=mark, linestyle=style, markersize=7, markerfacecolor="none", label=metric)
        open_bins = [right(columns[k], OPEN).mean() for k in SIGNALS]
        ax.plot(ticks, open_bins, color=BLUE, marker="+", linestyle=":", markersize=9, label=OPEN)
        for number, metric in enumerate((CLOSED, HARD)):
            label = "printed" if number == 0 else "_"
            ax.plot(ticks, [float(cell) for cell in TABLE_5[metric]], ".", color="black", markersize=4, zorder=4, label=label)
        ax.set_xticks(ticks, [f"{k:g}" for k in SIGNALS])
        ax.set_xlabel("signal-to-noise ratio k")
        ax.set_ylabel("share of pairs in the right order")
        ax.set_ylim(0, 1.05)
        ax.legend(loc="lower right")
