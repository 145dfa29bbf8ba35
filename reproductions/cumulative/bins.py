"""Figures 1, 35 and 36: ECE¹ and ECE² over the number of bins; Figures 3–6: reliability diagrams."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.cumulative import drawing
from reproductions.cumulative.expectations import Binned, distances
from reproductions.cumulative.synthetic import BASE, KINDS, Sample, outcomes, probabilities, sample, scores
from reproductions.findings import Finding, claim, printed
from reproductions.lab import Lab

Strategy = Literal["uniform", "quantile"]

FIGURES = {"figure-35": 8_192, "figure-1": BASE, "figure-36": 131_072}
BINS = [2**power for power in range(2, 13)]
STRATEGIES: Mapping[Strategy, str] = {"uniform": "equal width", "quantile": "equal counts"}
DIAGRAMS: Mapping[int, tuple[int, Strategy]] = {
    3: (16, "uniform"),
    4: (16, "quantile"),
    5: (64, "uniform"),
    6: (64, "quantile"),
}
Errors = dict[str, dict[tuple[Strategy, str], Floats]]  # kind, then binning and ECE¹ or ECE², over the number of bins


def ece1_and_ece2(data: Sample, bins: int, strategy: Strategy) -> Binned:
    """The Riemann sums (4) and (3): bins weighed by their width, the second without its square root."""
    settings: dict[str, Any] = {"bins": bins, "strategy": strategy, "weighting": "width"}
    return Binned(trueness.binned_ece(*data, **settings), trueness.binned_ece(*data, norm="l2", **settings) ** 2)


def errors_over_bins(lab: Lab) -> Iterator[Finding]:
    """No number of bins stands out, and the value depends on it."""
    for name, n in lab.steps(list(FIGURES.items())):
        errors = _errors(n)
        _draw_errors(lab, name, n, errors)
        yield from _spread(f"{name.replace('figure-', 'Figure ')}, n = {n:,}", errors)


def _errors(n: int) -> Errors:
    errors: Errors = {}
    for kind in KINDS:
        data = sample(kind, n)
        errors[kind] = {}
        for strategy in STRATEGIES:
            pairs = np.array([ece1_and_ece2(data, bins, strategy) for bins in BINS])
            errors[kind] |= {(strategy, "ECE¹"): pairs[:, 0], (strategy, "ECE²"): pairs[:, 1]}
    return errors


def _spread(where: str, errors: Errors) -> Iterator[Finding]:
    ratios = {(kind, *key): float(values.max() / values.min()) for kind, by in errors.items() for key, values in by.items()}
    least, most = min(ratios, key=lambda key: ratios[key]), max(ratios, key=lambda key: ratios[key])
    yield claim(
        f"{where}: ECE¹ and ECE² over m = 4…4096",
        "vary widely with m",
        f"largest over smallest: {ratios[least]:.3g} ({least[2]}, {STRATEGIES[least[1]]}, {least[0]}) to {ratios[most]:.3g} "
        f"({most[2]}, {STRATEGIES[most[1]]}, {most[0]})",
        holds=ratios[least] > 1.5,
    )
    pairs = [(by[strategy, "ECE¹"], by[strategy, "ECE²"]) for by in errors.values() for strategy in STRATEGIES]
    yield claim(
        f"{where}: Theorem 3",
        "ECE¹ ≥ ECE²",
        f"in {sum(int((one >= two).sum()) for one, two in pairs)} of {sum(len(one) for one, _ in pairs)}",
        holds=all(bool((one >= two).all()) for one, two in pairs),
    )


def _draw_errors(lab: Lab, name: str, n: int, errors: Errors) -> None:
    with lab.figure(name, height=5.8) as figure:
        panels = figure.subplots(2, 2, sharex=True)
        for row, error in zip(panels, ("ECE¹", "ECE²"), strict=True):
            for ax, strategy in zip(row, STRATEGIES, strict=True):
                drawing.by_kind(ax, BINS, {kind: errors[kind][strategy, error] for kind in KINDS})
                for kind in KINDS:
                    truth = distances(scores(kind, n), probabilities(kind, n))
                    ax.axhline(
                        truth.ece1 if error == "ECE¹" else truth.ece2,
                        color=drawing.LOOKS[kind]["color"], linewidth=0.8, alpha=0.7, label="_truth",
                    )  # fmt: skip
                ax.set_ylim(bottom=0)
                ax.set_ylabel(error)
        for ax, words in zip(panels[0], STRATEGIES.values(), strict=True):
            ax.set_title(f"bins of {words}")
        for ax in panels[1]:
            drawing.powers_of_two(ax, BINS, "m (number of bins)")
        drawing.legend_below(figure, panels[0][0])
        figure.suptitle(f"n = {n:,}; thin lines: without noise or bins", fontsize="medium")


def reliability_diagrams(lab: Lab) -> Iterator[Finding]:
    """Figures 3–6, and what twenty bootstrap lines are good for."""
    for number, (bins, strategy) in DIAGRAMS.items():
        rng = lab.rng(f"bootstrap lines of figure {number}")
        with lab.figure(f"figure-{number}", width=9.9, height=3.5) as figure:
            for ax, kind in zip(figure.subplots(1, 3), lab.steps(list(KINDS)), strict=True):
                drawing.reliability(ax, *sample(kind, BASE), bins, strategy, rng)
                ax.set_title(kind)
            words = f"n = {BASE:,}, {bins} bins of {STRATEGIES[strategy]}; grey: {drawing.LINES} bootstrap lines"
            figure.suptitle(words, fontsize="medium")
    yield from _level_of_lines(lab)


def _level_of_lines(lab: Lab) -> Iterator[Finding]:
    """A further line is above all twenty with chance 1/21, and below all of them with the same."""
    yield printed("Section 3: level of 20 bootstrap lines in %, to one side", "95", 100 * drawing.LINES / (drawing.LINES + 1))
    repeats = lab.either(200, 1000)
    below, above = (np.concatenate(shares) for shares in zip(*(_outside(lab, kind, repeats) for kind in KINDS), strict=True))
    between = 1 - below.mean() - above.mean()
    error = float(np.hypot(below.std(), above.std()) / np.sqrt(len(below)))
    yield claim(
        f"Section 3: 16 bins, bins whose expected response lies within their 20 lines, {repeats} data sets of each kind",
        "around 95 %",
        f"{100 * between:.1f} % ± {100 * error:.1g} (19/21 = {1900 / 21:.1f} %); {100 * (1 - below.mean()):.1f} % above the "
        f"lowest, {100 * (1 - above.mean()):.1f} % below the highest",
        holds=abs((below.mean() + above.mean()) / 2 - 1 / 21) < 0.01,
    )


def _outside(lab: Lab, kind: str, repeats: int) -> tuple[Floats, Floats]:
    """Shares of 16 equal-width bins whose expected response lies below and above all lines, for each of many data sets."""
    rng = lab.rng(f"level of bootstrap lines, {kind}")
    f, chance = scores(kind, BASE), probabilities(kind, BASE)
    bin_of = (f * 16).astype(int)
    rows = np.bincount(bin_of)
    truth = np.bincount(bin_of, chance) / rows
    below, above = np.empty(repeats), np.empty(repeats)
    for repeat in range(repeats):
        mean = np.bincount(bin_of, outcomes(rng.random(BASE), chance)) / rows
        drawn = rng.multinomial(BASE, rows / BASE, size=drawing.LINES)  # rows of each bin in a resampled data set
        lines = rng.binomial(drawn, mean) / drawn
        below[repeat], above[repeat] = (truth < lines.min(axis=0)).mean(), (truth > lines.max(axis=0)).mean()
    return below, above
