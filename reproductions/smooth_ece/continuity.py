"""Figure 3: a small push of every prediction, which binned ECE takes for a large miscalibration and SmoothECE does not."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import trueness
from reproductions.findings import Finding, claim, printed
from reproductions.lab import Lab
from reproductions.smooth_ece.rows import Rows, calibrated
from reproductions.style import BLUE, VERMILION

N = 500  # the paper gives no size; calibrated rows of this one have the printed 0.06
BINS = 20
PAIR = 2 / BINS  # two neighbouring bins: one takes the negatives, one the positives
LIMIT = 0.05


def figure_3(lab: Lab) -> Iterator[Finding]:
    """Three distributions, each a small push away from the one before."""
    draws = lab.either(60, 400)
    table = np.array([_measures(_three(calibrated(lab.rng(f"figure 3, {i}"), N))) for i in lab.steps(range(draws))])
    mean, spread = table.mean(axis=0), table.std(axis=0, ddof=1)
    error = spread * math.sqrt(1 + 1 / draws)  # the paper's number comes from one draw, ours from many
    yield printed("binned ECE of distribution 1, 20 bins", "0.06", mean[0, 0], error=error[0, 0])
    yield printed("the same by the normal approximation", "0.06", calibrated_ece(N, BINS))
    yield printed("binned ECE of distribution 3, 20 bins", "0.31", mean[0, 2], error=error[0, 2])
    yield printed("the same for the distribution itself, closed form", "0.31", separated_ece())
    yield claim(
        "SmoothECE stays nearly constant",
        "nearly constant",
        f"{mean[1, 0]:.4f}, {mean[1, 1]:.4f}, {mean[1, 2]:.4f}; one draw ± {spread[1].max():.4f}",
        holds=bool(np.ptp(mean[1]) < 0.05 * np.ptp(mean[0])),
    )
    three = _three(calibrated(lab.rng("figure 3, 0"), N))
    yield from _pushes(three)
    _draw(lab, three)


def _three(first: Rows) -> tuple[Rows, Rows, Rows]:
    return first, Rows(first.y, pushed(first, 0.5)), Rows(first.y, pushed(first, 1.0))


def pushed(rows: Rows, share: float) -> Any:
    """Positives to the right and negatives to the left, this share of the way into bins of their own.

    The whole way squeezes the positives of two neighbouring bins into the right one and the negatives into the left one.
    """
    x = np.mod(rows.f, PAIR)
    return rows.f + share * np.where(rows.y == 1, (PAIR - x) / 2, -x / 2)


def separated_ece() -> float:
    """Binned ECE of distribution 3 for uniform calibrated predictions.

    No bin holds both outcomes, so it is E|y − f'|: E 2f(1 − f) = 1/3 before the push, which takes away PAIR/4 on average and
    gives back the covariance of f with its place x within the pair, PAIR²/12.
    """
    return 1 / 3 - PAIR / 4 + PAIR**2 / 12


def calibrated_ece(n: int, bins: int) -> float:
    """Mean binned ECE of n calibrated uniform rows: √(2/π) times the standard deviations of the bins' sums."""
    edges = np.arange(bins + 1) / bins
    variance = np.diff(edges**2 / 2 - edges**3 / 3)  # ∫ f(1 − f) over the bin
    return float(math.sqrt(2 / math.pi) * np.sqrt(variance / n).sum())


def _measures(three: tuple[Rows, ...]) -> list[list[float]]:
    return [
        [trueness.binned_ece(*rows, bins=BINS) for rows in three],
        [trueness.smooth_ece(*rows) for rows in three],
    ]


def _pushes(three: tuple[Rows, Rows, Rows]) -> Iterator[Finding]:
    first, _, last = three
    step = last.f - first.f
    furthest = float(np.abs(step).max())
    yield claim("no prediction moves further than 0.05", "at most 0.05", f"{furthest:.4f}", holds=furthest <= LIMIT)
    right, left = step[first.y == 1], step[first.y == 0]
    yield claim(
        "positives move right, negatives left",
        "each of them",
        f"{right.min():.4f} to {right.max():.4f}; {left.min():.4f} to {left.max():.4f}",
        holds=bool(right.min() >= 0 and left.max() <= 0),
    )
    bin_of = np.floor(last.f * BINS)
    shared = set(bin_of[last.y == 1]) & set(bin_of[last.y == 0])
    yield claim("distribution 3: no bin holds both outcomes", "disjoint bins", f"{len(shared)} bins do", holds=not shared)


def _draw(lab: Lab, three: tuple[Rows, ...]) -> None:
    rng = lab.rng("figure 3, jitter")
    with lab.figure("figure-3", width=8.4, height=7.6) as figure:
        axes = figure.subplots(3, 3, height_ratios=(1, 2, 2))
        for column, rows in enumerate(three):
            top, middle, bottom = axes[:, column]
            for outcome, color, marker in ((0, BLUE, "o"), (1, VERMILION, "^")):
                f = rows.f[rows.y == outcome]
                top.plot(f, outcome + rng.uniform(-0.22, 0.22, len(f)), marker, color=color, markersize=1.8, alpha=0.7)
            top.set_yticks([0, 1])
            top.set_ylim(-0.45, 1.45)
            top.set_xticks(np.linspace(0, 1, 5))
            top.set_xlabel("prediction")
            top.set_ylabel("outcome")
            top.set_title(f"distribution {column + 1}")
            smooth: Any = trueness.reliability_curve(*rows, kind="smooth")
            binned: Any = trueness.reliability_curve(*rows, kind="binned", bins=BINS)
            smooth.plot(middle).set_title(f"SmoothECE {smooth.smooth_ece:.3f}")
            binned.plot(bottom).set_title(f"ECE, {BINS} bins: {binned.binned_ece:.3f}")
            for ax in (middle, bottom):
                ax.get_legend().remove()
