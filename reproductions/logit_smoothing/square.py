"""Proposition 3.5: ECE jumps at a predictor none of whose level sets has mass, and LS-ECE does not."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.findings import Finding, claim
from reproductions.lab import Lab
from reproductions.logit_smoothing.finite import Finite
from reproductions.style import BLUE, GREEN, ORANGE, VERMILION, muted

CELLS = (4, 8, 16, 32, 64, 128, 256, 512)  # 1/δ
BANDWIDTH = 0.2


def perturbed(x1: Floats, above: Any, cells: int) -> Floats:
    """g_δ of A.6 to A.8 with δ = 1/cells; `above` tells where x₂ ≥ ½."""
    delta = 1 / cells
    cell = np.minimum(np.floor(x1 * cells), cells - 1)
    return np.asarray(np.where(above, cell + delta / 4, cell + 1 - delta / 4) * delta)


def atoms(cells: int) -> Finite:
    """The distribution as g_δ sees it: in each cell of x₁ one value where x₂ < ½ (Y = 0), one where x₂ ≥ ½ (Y = 1)."""
    middle = (np.arange(cells) + 0.5) / cells
    mass = np.concatenate([1 - middle, middle]) / cells
    above = np.repeat([False, True], cells)
    return Finite(mass=mass, truth=above.astype(np.float64), prediction=perturbed(np.tile(middle, 2), above, cells))


def closed_form(delta: Floats) -> Floats:
    """ECE(g_δ): the sums over the cells, done."""
    return 1 / 3 + delta / 2 - delta**2 / 12


def proposition_3_5(lab: Lab) -> Iterator[Finding]:
    """ECE of g(x) = x₁ and of its perturbations g_δ: from their atoms, in closed form, and from draws."""
    n, rng = lab.either(200_000, 2_000_000), lab.rng("the square")
    x1 = rng.random(n)
    above = rng.random(n) < x1  # x₂ ≥ ½, and so Y
    test = trueness.calibration_test(above, x1)
    yield claim("ECE at g(x) = x₁", "0", f"p = {test.pvalue:.2g} of ECCE-R on {n} draws", holds=test.pvalue > 1e-3)
    exact = np.array([atoms(cells).true_ece() for cells in CELLS])
    drawn = np.array([_from_draws(x1, above, cells) for cells in lab.steps(CELLS)])
    formula = closed_form(1 / np.array(CELLS))
    smooth = np.array([_smoothed(atoms(cells)) for cells in CELLS])
    yield claim(
        "ECE(g_δ) for δ from 1/4 to 1/512",
        "at least 1/3 − 2δ",
        f"1/3 + δ/2 − δ²/12: {exact[0]:.4f} to {exact[-1]:.4f}",
        holds=bool(np.abs(exact - formula).max() < 1e-12 and np.all(exact >= 1 / 3 - 2 / np.array(CELLS))),
    )
    yield claim(
        "ECE(g_δ) as δ → 0",
        "does not go to 0",
        f"goes to 1/3 = ‖g* − g‖₁ ({2 * exact[-1] - exact[-2]:.5f} extrapolated)",
        holds=abs(2 * exact[-1] - exact[-2] - 1 / 3) < 1e-5,
    )
    away = float(np.max(np.abs(drawn[:, 0] - formula) / drawn[:, 1]))
    yield claim(
        "the same from draws, with 2/δ bins",
        "(eq. A.9)",
        f"within {away:.1f} standard errors at all {len(CELLS)} δ",
        holds=away < 4,
    )
    yield _continuous(smooth, _calibrated())
    with lab.figure("proposition-3-5", height=3.4) as figure:
        _draw(figure, drawn, smooth)


def _from_draws(x1: Floats, above: Any, cells: int) -> tuple[float, float, float]:
    """Binned ECE of g_δ with 2/δ bins, which hold one value each; its standard error; and with 1/δ bins, which mix two."""
    f = perturbed(x1, above, cells)
    apart = trueness.binned_ece(above, f, bins=2 * cells)
    error = float(np.std(np.abs(above - f))) / math.sqrt(len(f))  # Y is constant at each value: ECE is the mean of |Y − g_δ|
    return apart, error, trueness.binned_ece(above, f, bins=cells)


def _smoothed(law: Finite) -> float:
    return trueness.logit_smoothed_ece(law.truth, law.prediction, bandwidth=BANDWIDTH, sample_weight=law.mass)


def _calibrated(points: int = 100_000) -> float:
    """LS-ECE of g(x) = x₁, whose true probability is x₁."""
    x1 = (np.arange(points) + 0.5) / points
    return trueness.logit_smoothed_ece(x1, x1, bandwidth=BANDWIDTH)


def _continuous(smooth: Floats, limit: float) -> Finding:
    """Theorem 4.5 on the same predictors."""
    away = np.abs(smooth - limit)
    return claim(
        f"LS-ECE(g_δ), σ = {BANDWIDTH}, against LS-ECE(g)",
        "continuous (Theorem 4.5)",
        f"away by {away[0]:.3f} at δ = 1/{CELLS[0]}, {away[-1]:.1e} at δ = 1/{CELLS[-1]}",
        holds=bool(np.all(np.diff(away) < 0) and away[-1] < 1e-3),
    )


def _draw(figure: Any, drawn: Floats, smooth: Floats) -> None:
    ax = figure.subplots()
    delta = 1 / np.array(CELLS)
    fine = np.geomspace(delta.min(), delta.max(), 200)
    ax.plot(fine, closed_form(fine), color=BLUE, label="ECE(g_δ) = 1/3 + δ/2 − δ²/12")
    ax.plot(delta, drawn[:, 0], "o", color=BLUE, markersize=5, markerfacecolor="none", label="from draws, 2/δ bins")
    low = fine[fine < 1 / 6]
    ax.plot(low, 1 / 3 - 2 * low, color=muted(ax), linestyle=":", label="the paper's bound 1/3 − 2δ")
    ax.plot(delta, drawn[:, 2], "^-.", color=ORANGE, markersize=5, label="from draws, 1/δ bins")
    ax.plot(delta, smooth, "s--", color=VERMILION, markersize=4, label=f"LS-ECE(g_δ), σ = {BANDWIDTH}")
    ax.plot(delta.min() / 2, 0, "D", color=GREEN, markersize=6, clip_on=False, label="ECE at g itself: 0")
    ax.set_xscale("log", base=2)
    ax.set_xlim(delta.min() / 2, delta.max() * 1.15)
    ax.set_ylim(0, 0.48)
    ax.set_xlabel("δ, how far the predictions are moved")
    ax.set_ylabel("calibration error")
    figure.legend(loc="outside right center")
