"""Theorems 3.2, 3.8 and 3.10: where the ECE of a finite distribution jumps, as predicted and as seen."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import trueness
from reproductions.arrays import Floats
from reproductions.findings import Finding, claim
from reproductions.lab import Lab
from reproductions.logit_smoothing.finite import SAME, Finite, draw, splits
from reproductions.style import BLUE, VERMILION, muted

REACH = 1e-9  # how far predictions are moved: where ECE is continuous it changes by no more than that
_SPLITS = 12


@dataclass(frozen=True, slots=True)
class Seen:
    """Of each distribution: what is predicted and what moving the predictor shows."""

    gap: Floats  # ‖g* − g‖₁ − ECE(g), from Theorem 3.10
    size: Floats  # the largest A.3; above 0 where (3.1) holds
    opposed: NDArray[np.bool_]
    highest: Floats  # largest and smallest change of ECE over the moves
    lowest: Floats

    @property
    def jumps(self) -> NDArray[np.bool_]:
        """Where ECE changed by more than a continuous function could."""
        return np.maximum(self.highest, -self.lowest) > 2 * REACH


def look(lab: Lab, count: int) -> Seen:
    """Draw distributions, predict, and move each predictor in every way that `splits` knows."""
    rng = lab.rng("finite distributions")
    rows = []
    for _ in lab.steps(range(count)):
        law = draw(rng)
        changes = [law.moved(by).true_ece() - law.true_ece() for by in splits(rng, len(law.mass), REACH, _SPLITS)]
        gap = trueness.ece_continuity_gap(law.truth, law.prediction, mass=law.mass)
        rows.append((gap, law.sizes().max(), law.opposed(), max(changes), min(changes)))
    gap, size, opposed, highest, lowest = np.array(rows).T
    return Seen(gap=gap, size=size, opposed=opposed > 0, highest=highest, lowest=lowest)


def theorem_3_2(lab: Lab) -> Iterator[Finding]:
    """Predicted discontinuities against observed jumps."""
    seen = look(lab, lab.either(2_000, 20_000))
    n, jumps = len(seen.gap), seen.jumps
    with lab.figure("theorem-3-2", height=3.3) as figure:
        _draw(figure, seen)
    away = np.abs(seen.highest - seen.gap).max()
    yield claim(
        "Theorem 3.10: ECE jumps where ‖g* − g‖₁ > ECE(g), by the difference",
        "always, and only there",
        f"{int(jumps.sum())} jumps in {n} predictors, each predicted, sizes within {away:.0e}",
        holds=bool(np.array_equal(seen.gap > SAME, jumps) and away <= 2 * REACH),
    )
    yield claim(
        "Theorem 3.2: where ECE jumps, (3.1) holds",
        "always",
        f"of {int(jumps.sum())} jumps {int((jumps & (seen.size > SAME)).sum())} with (3.1)",
        holds=bool(np.all(seen.size[jumps] > SAME)),
    )
    yield _converse(seen)
    yield claim(
        "(3.1) put right: points of one level set err to opposite sides",
        "(not in the paper)",
        f"names {int((seen.opposed == jumps).sum())} of {n} rightly",
        holds=bool(np.array_equal(seen.opposed, jumps)),
    )
    yield claim(
        "Theorem 3.8: ECE only jumps up",
        "lower semicontinuous",
        f"largest fall {max(0.0, -float(seen.lowest.min())):.0e} after moves of {REACH:.0e}",
        holds=bool(seen.lowest.min() >= -2 * REACH),
    )
    yield _untied(lab)


def _converse(seen: Seen) -> Finding:
    named, wrong = seen.size > SAME, (seen.size > SAME) & ~seen.jumps
    pair = Finite(mass=np.array([0.5, 0.5]), truth=np.array([0.4, 0.6]), prediction=np.array([0.3, 0.3]))
    apart = pair.moved(np.array([-REACH, REACH])).true_ece()
    return claim(
        "Theorem 3.2: where (3.1) holds, ECE jumps",
        "always",
        f"{int(wrong.sum())} of {int(named.sum())} predictors with (3.1) do not jump",
        holds=not wrong.any(),
        why="Two equally likely points of true probability 0.4 and 0.6, both predicted 0.3, satisfy (3.1): 0.1 and 0.3 are not "
        f"0.2. Yet ECE is {pair.true_ece():.6f} when they share a prediction and {apart:.6f} when they do not. Step A.2 of the "
        "proof takes one point out of a level set and leaves the mean of the others as it was. Tied points that err to the "
        "same side make no jump; Theorem 3.10 says so, and the two criteria are not equivalent.",
    )


def _untied(lab: Lab) -> Finding:
    """Corollary 3.4: predictors drawn from a density."""
    rng = lab.rng("without ties")
    gaps = [trueness.ece_continuity_gap(rng.random(6), rng.random(6), mass=rng.dirichlet(np.ones(6))) for _ in range(500)]
    return claim(
        "Corollary 3.4: almost no predictor is a discontinuity",
        "measure zero",
        f"{sum(gap > SAME for gap in gaps)} of {len(gaps)} drawn from a density",
        holds=max(gaps) <= SAME,
    )


def _draw(figure: Any, seen: Seen) -> None:
    left, right = figure.subplots(1, 2, sharey=True)
    show = slice(0, 1500)
    jumps = np.maximum(seen.highest, 0)[show]
    top = 1.05 * float(jumps.max())
    for ax, predicted, color, mark in ((left, seen.gap, BLUE, "o"), (right, seen.size, VERMILION, "^")):
        ax.plot([0, top], [0, top], color=muted(ax), linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        ax.plot(predicted[show], jumps, mark, color=color, markersize=3, alpha=0.5, markeredgewidth=0, zorder=2)
        ax.set_xlim(-0.01, top)
        ax.set_ylim(-0.01, top)
        ax.set_aspect("equal")
    left.set_title("Theorem 3.10")
    left.set_xlabel("‖g* − g‖₁ − ECE(g)")
    left.set_ylabel("observed jump of ECE")
    right.set_title("Theorem 3.2")
    right.set_xlabel("size of (3.1), as in A.3")
    line = {"arrowstyle": "-", "linewidth": 0.6}
    right.annotate(
        "(3.1) holds, no jump",
        (0.15, 0.002),
        (0.98 * top, 0.03),
        horizontalalignment="right",
        fontsize="small",
        arrowprops=line,
    )
