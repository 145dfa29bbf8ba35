"""Definition 3.1 and Figure 2: two points, predicted alike or nearly so."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.findings import Finding, claim, printed
from reproductions.lab import Lab
from reproductions.logit_smoothing.finite import Finite
from reproductions.style import BLUE, GREEN, VERMILION

ALPHA = 1e-3
BINS = range(1, 101)
SAMPLES = 1_000
DRAWS = 10_000

# The rows of a sample are copies of two: what they weigh is all that is random.
LABELS = np.array([0.0, 1.0])
SCORES = 1 / (1 + np.exp(-ALPHA * np.array([-0.5, 0.5])))


def closed_form(sigma: float) -> float:
    """LS-ECE of the population: E|ρ(αU/σ²) − ρ(U)| with U = ±α/2 + σN(0, 1).

    The log-likelihood ratio of the two points at u is αu/σ². Zero at σ = √α, where it is u itself.
    """
    u = np.linspace(0, ALPHA / 2 + 12 * sigma, 40_001)
    density = sum(np.exp(-0.5 * ((u - x) / sigma) ** 2) for x in (-ALPHA / 2, ALPHA / 2)) / (sigma * math.sqrt(2 * math.pi))
    gap = np.abs(np.tanh(ALPHA * u / (2 * sigma**2)) - np.tanh(u / 2)) / 2
    return float(np.trapezoid(gap * density, u))  # the integrand is even: twice the half, times ½ for each point


def definition_3_1(lab: Lab) -> Iterator[Finding]:
    """ECE at g = ½ and beside it."""
    half = Finite(mass=np.array([0.5, 0.5]), truth=LABELS, prediction=np.array([0.5, 0.5]))
    yield claim("ECE at g = ½", "0", f"{half.true_ece():g}", holds=half.true_ece() == 0)
    moves = (1e-1, 1e-3, 1e-6, 1e-9)
    beside = [half.moved(np.array([-e, e])).true_ece() for e in moves]
    away = max(abs(value - (0.5 - e)) for value, e in zip(beside, moves, strict=True))
    yield claim(
        "ECE at g = ½ ∓ ε, ε from 0.1 to 1e-9",
        "½ − ε",
        f"{beside[0]:g} to {beside[-1]:.9f}, away by {away:.0e}",
        holds=away < 1e-15,
    )
    gap = trueness.ece_continuity_gap(half.truth, half.prediction)
    yield claim("the jump, as ece_continuity_gap has it", "½", f"{gap:g}", holds=gap == 0.5)


def figure_2(lab: Lab) -> Iterator[Finding]:
    """Binned ECE and LS-ECE of 1000 draws, bins 1 to 100, σ = 1/bins."""
    ones = int(lab.rng("two points").binomial(SAMPLES, 0.5))
    weight = np.array([SAMPLES - ones, ones], dtype=np.float64)
    binned = np.array([trueness.binned_ece(LABELS, SCORES, bins=bins, sample_weight=weight) for bins in BINS])
    smooth = np.array([_smoothed(weight, 1 / bins) for bins in BINS])
    sampled = _sampled(lab, weight)
    population = np.array([closed_form(1 / bins) for bins in BINS])
    with lab.figure("figure-2") as figure:
        _draw(figure, binned, smooth, sampled)
    yield from _binned_findings(binned, ones)
    yield from _smooth_findings(smooth, sampled, population, weight)


def _smoothed(weight: Floats, sigma: float) -> float:
    return trueness.logit_smoothed_ece(LABELS, SCORES, bandwidth=sigma, sample_weight=weight)


def _sampled(lab: Lab, weight: Floats) -> Floats:
    """The paper's estimator: 10 000 noisy logits for each σ."""
    rng = lab.rng("noisy logits")
    settings: dict[str, Any] = {"sample_weight": weight, "method": "monte-carlo", "draws": DRAWS, "rng": rng}
    return np.array([trueness.logit_smoothed_ece(LABELS, SCORES, bandwidth=1 / bins, **settings) for bins in lab.steps(BINS)])


def _binned_findings(binned: Floats, ones: int) -> Iterator[Finding]:
    even, odd = binned[1::2], binned[::2]
    yield printed("binned ECE, even numbers of bins", "0.5", float(even.mean()))
    yield claim(
        "the same in closed form",
        "½ − ε",
        f"1 − ρ(α/2) = {1 - SCORES[1]:.6f} at all 50",
        holds=float(np.abs(even - (1 - SCORES[1])).max()) < 1e-12,
    )
    expected = abs(ones / SAMPLES - 0.5) * (2 - 2 * SCORES[1])  # ȳ − f̄ = (ȳ − ½)(1 − 2ε)
    noise = math.sqrt(2 / math.pi) * 0.5 / math.sqrt(SAMPLES)
    yield claim(
        "binned ECE, odd numbers of bins",
        "≈ 0",
        f"|ȳ − f̄| = {odd.max():.4f} at all 50, of which chance makes {noise:.4f} on average",
        holds=float(np.abs(odd - expected).max()) < 1e-12 and odd.max() < 4 * noise,
    )


def _smooth_findings(smooth: Floats, sampled: Floats, population: Floats, weight: Floats) -> Iterator[Finding]:
    narrow = slice(9, None)  # from 10 bins, σ ≤ 0.1
    steps = float(np.abs(np.diff(smooth[narrow])).max())
    yield claim(
        "LS-ECE, 10 to 100 bins (σ ≤ 0.1)",
        "effectively constant near zero",
        f"{smooth[narrow].min():.4f} to {smooth[narrow].max():.4f}, steps of at most {steps:.4f}",
        holds=float(smooth[narrow].max()) < 0.025,
    )
    yield claim(
        "LS-ECE at σ = 1",
        "larger where σ ≳ 1",
        f"{smooth[0]:.4f}; about σ/√(8π) (0.2σ) as the noise alone moves ρ away from ½",
        holds=bool(np.all(np.diff(smooth[:10]) < 0)),
    )
    off = np.abs(sampled - smooth)
    spread = np.sqrt(smooth * (1 - smooth) / DRAWS)  # at least the standard error: terms lie in [0, 1]
    yield claim(
        f"Figure 1's estimator, {DRAWS} draws, against the integral",
        "(unbiased)",
        f"away by at most {off.max():.4f}",
        holds=bool(np.all(off <= 4 * spread)),
    )
    away = float(np.abs(smooth - population).max())
    yield claim(
        "LS-ECE of the sample against the population's closed form",
        "consistent (Theorem 5.3)",
        f"away by at most {away:.4f}, the share of ones by {abs(weight[1] / SAMPLES - 0.5):.4f}",
        holds=away <= abs(weight[1] / SAMPLES - 0.5) + 1e-9,
    )
    yield _limits(np.array([SAMPLES / 2, SAMPLES / 2]))


def _limits(weight: Floats) -> Finding:
    root, fine = _smoothed(weight, math.sqrt(ALPHA)), _smoothed(weight, ALPHA / 10)
    return claim(
        "LS-ECE beyond the figure: at σ = √α, and far below α",
        "(not in the paper)",
        f"{root:.0e} at √α, where E[Y | u] = ρ(u); {fine:.6f} at α/10, the true ECE: noise that small mixes nothing",
        holds=root < 1e-6 and abs(fine - (1 - SCORES[1])) < 1e-4,
    )


def _draw(figure: Any, binned: Floats, smooth: Floats, sampled: Floats) -> None:
    ax = figure.subplots()
    ax.plot(BINS, binned, "-", color=BLUE, linewidth=0.9, marker="o", markersize=2.5, label="binned ECE")
    ax.plot(
        BINS, sampled, "o", color=GREEN, markersize=4, markerfacecolor="none", markeredgewidth=0.8, label="LS-ECE, 10 000 draws"
    )
    ax.plot(BINS, smooth, "--", color=VERMILION, linewidth=2, label="LS-ECE, integral")
    ax.set_xlim(0, 101)
    ax.set_ylim(0, 0.53)
    ax.set_xlabel("bins (1/σ)")
    ax.set_ylabel("calibration error")
    figure.legend(loc="outside upper center", ncols=3)
