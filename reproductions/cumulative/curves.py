"""Figure 2: the chances of success; Figure 7: cumulative differences, observed and exact."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.cumulative.drawing import LOOKS, legend_below
from reproductions.cumulative.expectations import cumulative_errors
from reproductions.cumulative.synthetic import BASE, KINDS, probabilities, sample, scores, shifts
from reproductions.findings import Finding, claim, printed
from reproductions.lab import Lab
from reproductions.style import BLUE, VERMILION

SIZES = (8_192, BASE, 131_072)
ROUNDING = 1e-15  # what 1 − F cannot tell from zero in double precision: a sum of terms near 1 loses some units of 1.1e-16


def chances(lab: Lab) -> Iterator[Finding]:
    """Figure 2. A score and its shift may add up to less than nothing."""
    with lab.figure("figure-2", width=9.9, height=3.4) as figure:
        for ax, kind in zip(figure.subplots(1, 3, sharey=True), KINDS, strict=True):
            f = scores(kind, BASE)
            ax.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle=(0, (4, 3)), label="calibrated")
            ax.plot(f, probabilities(kind, BASE), ".", markersize=1.2, color=LOOKS[kind]["color"], rasterized=True)
            ax.set(title=kind, xlabel="score", xlim=(0, 1), ylim=(-0.02, 1.02), aspect="equal")
            ax.legend(loc="upper left")
        figure.axes[0].set_ylabel("chance of success")
    for kind in KINDS:
        f, t = scores(kind, BASE), shifts(BASE)
        total = f + t
        exact, added = cumulative_errors(probabilities(kind, BASE), f), cumulative_errors(total, f)
        yield claim(
            f"Figure 2, {kind}: score + t is a probability",
            "0 ≤ score + t ≤ 1",
            f"{total.min():.4f} to {total.max():.4f}; {(total < 0).mean():.2%} below 0",
            holds=bool(total.min() >= 0 and total.max() <= 1),
            why=f"Where the sum is negative no success ever comes, so the chance is 0: the exact ECCE-R is {exact.range:.5f}, "
            f"that of the sums {added.range:.5f} (ECCE-MAD {exact.mad:.5f} and {added.mad:.5f}). Chances here are never "
            "below 0; outcomes are the same either way.",
        )


def cumulative_plots(lab: Lab) -> Iterator[Finding]:
    """Figure 7 as printed, and the same for all nine data sets."""
    y, f = sample("square-rooted", BASE)
    mad, spread = (trueness.calibration_test(y, f, statistic=name, method="asymptotic") for name in ("ecce_mad", "ecce_r"))
    yield printed("Figure 7: ECCE-MAD", "0.01243", mad.value)
    yield printed("Figure 7: ECCE-MAD / σ_n", "5.512", mad.standardized)
    yield printed("Figure 7: p of ECCE-MAD", "7.1e-8", mad.pvalue)
    yield printed("Figure 7: ECCE-R", "0.02291", spread.value)
    yield printed("Figure 7: ECCE-R / σ_n", "10.16", spread.standardized)
    yield claim("Figure 7: p of ECCE-R", "zero to double precision", f"{spread.pvalue:.4g}", holds=spread.pvalue < ROUNDING)
    _draw_figure_7(lab)
    _draw_nine(lab)
    yield from (_follows(kind, n) for n in SIZES for kind in KINDS)


def _draw_figure_7(lab: Lab) -> None:
    y, f = sample("square-rooted", BASE)
    seen = trueness.cumulative_curve(y, f)
    # The exact curve has no noise of its own; the triangle is that of the observed one.
    exact = replace(trueness.cumulative_curve(probabilities("square-rooted", BASE), f), sigma=seen.sigma)
    with lab.figure("figure-7", width=9.0, height=3.8) as figure:
        panels = figure.subplots(1, 2, sharey=True)
        for ax, curve, title in zip(panels, (seen, exact), ("observed", "exact"), strict=True):
            curve.plot(ax)
            ax.set_title(f"{title}, square-rooted scores, n = {BASE:,}")
        panels[1].set_ylabel("")


def _draw_nine(lab: Lab) -> None:
    with lab.figure("figure-7-all", width=9.9, height=7.6) as figure:
        panels = figure.subplots(len(SIZES), len(KINDS), sharex=True, sharey="row")
        for row, n in zip(panels, lab.steps(SIZES), strict=True):
            for ax, kind in zip(row, KINDS, strict=True):
                _overlay(ax, *sample(kind, n), probabilities(kind, n))
                ax.set_title(f"{kind}, n = {n:,}")
            row[0].set_ylabel("cumulative difference")
        for ax in panels[-1]:
            ax.set_xlabel("share of the scores, in order")
        legend_below(figure, panels[0][0])


def _overlay(ax: Any, y: Floats, f: Floats, chance: Floats) -> None:
    seen, exact = trueness.cumulative_curve(y, f), trueness.cumulative_curve(chance, f)
    ax.axhline(0, color="0.6", linewidth=0.8)
    ax.fill([0, 0, 0.06], [-2 * seen.sigma, 2 * seen.sigma, 0], color="0.75", linewidth=0, label="noise: ± 2σ")
    ax.plot(seen.share, seen.difference, color=BLUE, linewidth=1.2, label="observed")
    ax.plot(exact.share, exact.difference, color=VERMILION, linewidth=1.2, linestyle="--", label="exact")
    ax.set_xlim(0, 1)


def _follows(kind: str, n: int) -> Finding:
    """The observed curve less the exact one is a sum of centred outcomes: its largest deviation has a law."""
    y, f = sample(kind, n)
    chance = probabilities(kind, n)
    away = float(cumulative_errors(y, chance).mad)
    sigma = math.sqrt(float(np.sum(chance * (1 - chance)))) / n
    p = trueness.brownian.max_abs.sf(away / sigma)
    error = trueness.ecce(y, f)
    return claim(
        f"Figure 7 for {kind} scores, n = {n:,}: observed follows exact",
        "but for the expected fluctuations",
        f"at most {away:.4f} = {away / sigma:.2f} σ apart, p = {p:.2g}; ECCE-MAD {error.mad:.4f} = "
        f"{error.mad / error.sigma:.2f} σ_n, ECCE-R {error.range:.4f} = {error.range / error.sigma:.2f} σ_n",
        holds=p > 0.001,
    )
