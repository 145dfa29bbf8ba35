"""Theorem 4.5: LS-ECE is continuous where ECE jumps."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.findings import Finding, claim
from reproductions.lab import Lab
from reproductions.logit_smoothing.finite import Finite, draw
from reproductions.style import BLUE, GREEN, VERMILION, muted

BANDWIDTH = 0.1
REACHES = np.geomspace(1e-1, 1e-5, 9)  # of the logits


def bound(noise: str, reach: float, bandwidth: float) -> float:
    """The most that LS-ECE can change when logits move by `reach`: ∫|p_ξ(u) − p_ξ(u − reach)| du, as |y − ρ(u)| ≤ 1."""
    if noise == "uniform":
        return 2 * min(1.0, reach / bandwidth)
    return 2 * math.erf(reach / (2 * math.sqrt(2) * bandwidth))


def theorem_4_5(lab: Lab) -> Iterator[Finding]:
    """Split the ties of random predictors by less and less, in logits; ECE keeps its jump, LS-ECE's change goes to 0."""
    rng, laws = lab.rng("continuity"), lab.either(40, 200)
    jump, changes = [], []
    for _ in lab.steps(range(laws)):
        law = _discontinuous(rng)
        direction = rng.permutation(np.linspace(-1, 1, len(law.mass)))
        jump.append([_moved(law, reach * direction).true_ece() - law.true_ece() for reach in REACHES])
        changes.append([[_change(law, reach * direction, noise) for reach in REACHES] for noise in ("gaussian", "uniform")])
    ece, smooth = np.array(jump).max(axis=0), np.array(changes).max(axis=0)
    with lab.figure("theorem-4-5", height=3.4) as figure:
        _draw(figure, ece, smooth)
    yield claim(
        f"ECE of {laws} tied predictors, ties split by 1e-5 in logits",
        "jumps",
        f"by up to {ece[-1]:.3f}, at least {np.array(jump)[:, -1].min():.1e}",
        holds=bool(np.array(jump)[:, -1].min() > REACHES[-1]),
    )
    for row, noise in zip(smooth, ("gaussian", "uniform"), strict=True):
        limits = np.array([bound(noise, reach, BANDWIDTH) for reach in REACHES])
        yield claim(
            f"LS-ECE of the same, {noise} noise, σ = {BANDWIDTH}",
            "continuous",
            f"changes by {row[0]:.2g} at 0.1, {row[-1]:.2g} at 1e-5; at most {np.max(row / limits):.2f} of its bound",
            holds=bool(np.all(row <= limits)),
        )


def _discontinuous(rng: np.random.Generator) -> Finite:
    """A random finite distribution with a jump worth seeing."""
    while True:
        law = draw(rng)
        if trueness.ece_continuity_gap(law.truth, law.prediction, mass=law.mass) > 0.01:
            return law


def _moved(law: Finite, by: Floats) -> Finite:
    """The predictions moved by so much in logits."""
    odds = law.prediction / (1 - law.prediction) * np.exp(by)
    return law.moved(odds / (1 + odds) - law.prediction)


def _change(law: Finite, by: Floats, noise: Any) -> float:
    settings: dict[str, Any] = {"bandwidth": BANDWIDTH, "noise": noise, "sample_weight": law.mass}
    after = trueness.logit_smoothed_ece(law.truth, _moved(law, by).prediction, **settings)
    return abs(after - trueness.logit_smoothed_ece(law.truth, law.prediction, **settings))


def _draw(figure: Any, ece: Floats, smooth: Floats) -> None:
    ax = figure.subplots()
    ax.plot(REACHES, ece, "o-", color=BLUE, markersize=4, label="ECE")
    ax.plot(REACHES, smooth[0], "s--", color=VERMILION, markersize=4, label="LS-ECE, Gaussian noise")
    ax.plot(REACHES, smooth[1], "^-.", color=GREEN, markersize=4, label="LS-ECE, uniform noise")
    limits = [bound("gaussian", reach, BANDWIDTH) for reach in REACHES]
    ax.plot(REACHES, limits, color=muted(ax), linestyle=":", label="bound, Gaussian noise")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("δ, how far the logits are moved")
    ax.set_ylabel("largest change")
    figure.legend(loc="outside right center")
