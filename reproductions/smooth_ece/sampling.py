"""Theorem 9: how many rows SmoothECE needs."""

import math
from collections.abc import Iterator

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.findings import Finding, claim
from reproductions.lab import Lab
from reproductions.smooth_ece.kernel import reflected
from reproductions.smooth_ece.rows import calibrated, sine, sine_fixed_point, sine_smooth_ece
from reproductions.style import CYCLE, LINES

SIZES = (250, 1000, 4000, 16_000)
SCALES = (0.02, 0.05, 0.15)
MANY_ERRORS = 4  # standard errors, where several means are held against their values at once


def theorem_9(lab: Lab) -> Iterator[Finding]:
    """The error at every bandwidth from σ₀ on is of the order 1/√(σ₀m)."""
    draws = lab.either(60, 400)
    table = np.array([[_errors(lab, m, sigma, draws) for m in SIZES] for sigma in lab.steps(SCALES)])  # σ₀, m, draw
    scaled = table * np.sqrt(np.outer(SCALES, SIZES))[:, :, None]
    likely = np.quantile(scaled, 2 / 3, axis=2)
    yield claim(
        "calibrated rows: error of smECE_σ, σ ≥ σ₀, times √(σ₀m), with probability 2/3",
        "bounded",
        f"{likely.min():.3f} to {likely.max():.3f} for σ₀ {SCALES[0]:g}–{SCALES[-1]:g}, m {SIZES[0]}–{SIZES[-1]}",
        holds=bool(likely.max() < 1 and likely.max() / likely.min() < 1.5),
    )
    yield _slope(table)
    yield _against_closed_form(table)
    square = float((scaled**2).mean(axis=2).max())
    yield claim("lemma 33 as the proof uses it: E‖·‖₁² · σ₀m", "at most 1", f"at most {square:.3f}", holds=square <= 1)
    yield from _sine(lab, draws)
    _draw(lab, table)


def _errors(lab: Lab, m: int, sigma: float, draws: int) -> Floats:
    """Of calibrated rows. The distribution has SmoothECE 0, so the largest error over σ ≥ σ₀ is the value at σ₀ (lemma 1)."""
    rng = lab.rng(f"theorem 9, {m}, {sigma}")
    return np.array([trueness.smooth_ece(*calibrated(rng, m), bandwidth=sigma) for _ in range(draws)])


def _slope(table: Floats) -> Finding:
    """How fast the mean error falls with m: one slope for every σ₀, from the logarithms."""
    x = np.log(SIZES) - np.mean(np.log(SIZES))
    slopes = (np.log(table.mean(axis=2)) @ x) / (x @ x)
    spread = np.sqrt(((table.std(axis=2) / table.mean(axis=2)) ** 2 / table.shape[2]) @ x**2) / (x @ x)
    return claim(
        "slope of log error in log m",
        "−1/2",
        ", ".join(f"{slope:.3f} ± {error:.3f}" for slope, error in zip(slopes, spread, strict=True)),
        holds=bool(np.all(np.abs(slopes + 0.5) <= MANY_ERRORS * spread)),
    )


def mean_error(m: int, sigma: float) -> float:
    """Mean SmoothECE at σ of m calibrated uniform rows by the normal approximation: ∫ √(2/π · ∫K̃² f(1 − f) df / m) dt."""
    f = (np.arange(4000) + 0.5) / 4000
    t = (np.arange(200) + 0.5) / 200
    variance = np.array([float((reflected(f, point, sigma) ** 2 * f * (1 - f)).mean()) for point in t])
    return float(np.sqrt(2 / math.pi * variance / m).mean())


def _against_closed_form(table: Floats) -> Finding:
    """Where the rows are many; with few under the kernel the sums are not normal."""
    expected = np.array([mean_error(SIZES[-1], sigma) for sigma in SCALES])
    mean, error = table[:, -1].mean(axis=1), table[:, -1].std(axis=1) / math.sqrt(table.shape[2])
    return claim(
        f"mean error at m = {SIZES[-1]} beside the normal approximation",
        ", ".join(f"{value:.5f}" for value in expected),
        ", ".join(f"{value:.5f} ± {spread:.5f}" for value, spread in zip(mean, error, strict=True)),
        holds=bool(np.all(np.abs(mean - expected) <= MANY_ERRORS * error)),
    )


def _sine(lab: Lab, draws: int) -> Iterator[Finding]:
    """Figure 2d's distribution, whose SmoothECE is not 0: the error over a ladder of bandwidths, and at the fixed point."""
    m, first = 4000, 0.02
    own = sine_fixed_point()
    ladder = np.append(np.geomspace(first, 0.5, 8), own)
    truth = np.array([sine_smooth_ece(sigma) for sigma in ladder])
    rng = lab.rng("theorem 9, sine")
    worst, fixed = np.empty(draws), np.empty(draws)
    for i in lab.steps(range(draws)):
        rows = sine(rng, m)
        worst[i] = np.abs([trueness.smooth_ece(*rows, bandwidth=s) for s in ladder] - truth).max()
        fixed[i] = abs(trueness.smooth_ece(*rows) - own)
    typical = float(np.quantile(worst, 2 / 3))
    yield claim(
        f"figure 2d's distribution, σ₀ = {first}, m = {m}: error times √(σ₀m), with probability 2/3",
        "bounded by the same",
        f"{typical * math.sqrt(first * m):.3f}",
        holds=typical * math.sqrt(first * m) < 1,
    )
    share = float(np.max(fixed / worst))
    yield claim("error of the fixed point, as a share of it", "at most 1, as σ* > σ₀", f"at most {share:.3f}", holds=share <= 1)


def _draw(lab: Lab, table: Floats) -> None:
    with lab.figure("theorem-9", width=6.4, height=3.6) as figure:
        ax = figure.subplots()
        for sigma, errors, color, line in zip(SCALES, table, CYCLE, LINES, strict=False):
            low, high = np.quantile(errors, [0.1, 0.9], axis=1)
            ax.fill_between(SIZES, low, high, color=color, alpha=0.2, linewidth=0)
            ax.plot(SIZES, errors.mean(axis=1), "o", color=color, linestyle=line, markersize=4, label=f"σ₀ = {sigma:g}")
        ax.plot(SIZES, [mean_error(m, 0.02) for m in SIZES], color="0.3", linewidth=0.9, label="normal approximation")
        for sigma in SCALES[1:]:
            ax.plot(SIZES, [mean_error(m, sigma) for m in SIZES], color="0.3", linewidth=0.9)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("rows m")
        ax.set_ylabel("error of SmoothECE, calibrated rows")
        figure.legend(loc="outside right center")
