"""Lemma 5.2: the L¹ error of the density of noisy logits, exact for uniform noise."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.findings import Finding, claim, printed
from reproductions.lab import Lab
from reproductions.logit_smoothing.gaussians import mean_deviation
from reproductions.logit_smoothing.slopes import slope
from reproductions.style import BLUE, VERMILION, muted

SIZES = tuple(10**k for k in range(3, 9))
WIDTH = 1.0  # σ of the uniform noise
_FURTHEST = 1e18

Window = Callable[[Floats], Floats]


def light(u: Floats) -> Floats:
    """P(|h − u| ≤ σ/2), h ~ N(0, 1)."""
    from scipy.stats import norm

    chance: Floats = norm.sf(u - WIDTH / 2) - norm.sf(u + WIDTH / 2)
    return chance


def heavy(u: Floats) -> Floats:
    """P(|h − u| ≤ σ/2) for u ≥ 0, h symmetric with P(|h| > x) = (1 + x)^(−1/2)."""
    low, high = np.sqrt(1 + np.abs(u - WIDTH / 2)), np.sqrt(1 + u + WIDTH / 2)
    beside = WIDTH / (low * high * (low + high)) / 2  # (1/low − 1/high)/2 without its cancellation
    around = 1 - (1 / low + 1 / high) / 2
    chance: Floats = np.where(u < WIDTH / 2, around, beside)
    return chance


def l1_error(window: Window, n: int) -> float:
    """E∫|p_T − p_T̂| dt of n draws. At u lie N ~ Binomial(n, P) of them, P = P(|h − u| ≤ σ/2): ∫ E|N − nP| du/(nσ).

    The integral is the same in t and in u = ρ⁻¹(t).
    """
    v = np.linspace(0, np.log(_FURTHEST), 60_001)  # u = e^v − 1: long tails in few steps
    chance = np.maximum(window(np.expm1(v)), 1e-300)
    return 2 * float(np.trapezoid(mean_deviation(n, chance) * np.exp(v), v)) / (n * WIDTH)


def lemma_5_2(lab: Lab) -> Iterator[Finding]:
    """The exponent of n with light and with heavy tails of the logits."""
    errors = {name: [l1_error(window, n) for n in SIZES] for name, window in (("light", light), ("heavy", heavy))}
    powers = {name: _exponent(values[-2:]) for name, values in errors.items()}
    first = _exponent(errors["heavy"][:2])
    with lab.figure("lemma-5-2", width=5.6, height=3.4) as figure:
        _draw(figure, errors)
    yield printed("exponent of n, h(X) ~ N(0, 1), exact, n from 1e7 to 1e8", "-0.5", powers["light"])
    yield claim(
        "exponent of n, P(|h(X)| > x) = (1 + x)^(−1/2), exact",
        "-0.5, whatever h(X)",
        f"{powers['heavy']:.4f}, from {first:.4f} at n = 1e3 on its way to -1/3",
        holds=powers["heavy"] < -0.49,
        why="The lemma asks nothing of h(X), but the L¹ error of a density falls as n^(−1/2) only where the root of the "
        "density has an integral; with this tail it falls as n^(−1/3). Step C.3 of the proof goes from t to u = ρ⁻¹(t) without "
        "the factor 1/ρ'(u), which has no bound. Theorem 5.3 does not suffer: see the next lines.",
    )
    yield from _theorem_5_3(lab)


def _exponent(errors: Sequence[float]) -> float:
    """Between two sizes a factor of ten apart."""
    return math.log10(errors[1] / errors[0])


def _theorem_5_3(lab: Lab) -> Iterator[Finding]:
    """LS-ECE with the heavy tails: far out y − ρ(u) has one sign up to a share ρ(1 − ρ), and errors of the density cancel."""
    from scipy.special import expit

    sizes, repeats, rng = (1_000, 4_000, 16_000), lab.either(100, 400), lab.rng("heavy tails")
    for name, factor in (("calibrated", 1.0), ("over-confident", 0.5)):
        middle = (np.arange(400_000) + 0.5) / 400_000
        h = np.concatenate([-_quantile(middle), _quantile(middle)])
        goal = trueness.logit_smoothed_ece(expit(factor * h), expit(h), bandwidth=WIDTH, noise="uniform")

        def once(n: int, factor: float = factor, goal: float = goal) -> float:
            h = _quantile(rng.random(n)) * rng.choice([-1, 1], n)
            y = rng.random(n) < expit(factor * h)
            return abs(trueness.logit_smoothed_ece(y, expit(h), bandwidth=WIDTH, noise="uniform") - goal)

        exponent = slope(sizes, [np.array([once(n) for _ in range(repeats)]) for n in lab.steps(sizes)])
        yield claim(
            f"Theorem 5.3 with these tails, {name}: exponent of n",
            "-0.5 or below",
            str(exponent),
            holds=exponent.value - 3 * exponent.error <= -0.5,
        )


def _quantile(p: Floats) -> Floats:
    """Of |h|."""
    return (1 - p) ** -2.0 - 1


def _draw(figure: Any, errors: Mapping[str, Sequence[float]]) -> None:
    ax = figure.subplots()
    ax.plot(SIZES, errors["heavy"], "s--", color=VERMILION, markersize=5, label="P(|h| > x) = (1 + x)^(−1/2)")
    ax.plot(SIZES, errors["light"], "o-", color=BLUE, markersize=5, label="h ~ N(0, 1)")
    n = np.array(SIZES)
    for kind, power, style, name in (("heavy", 1 / 3, (0, (4, 3)), "slope −1/3"), ("light", 1 / 2, ":", "slope −1/2")):
        ax.plot(n, 0.6 * errors[kind][0] * (n[0] / n) ** power, color=muted(ax), linestyle=style, linewidth=1, label=name)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("n")
    ax.set_ylabel(r"$\mathrm{E} \int |p_T - p_{\hat{T}}|\, dt$")
    ax.legend(loc="lower left")
