"""Lemma 25, claim 27 and algorithms 1 and 2: the reflected kernel, and SmoothECE on a grid with it."""

import math
from collections.abc import Iterator

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.findings import Finding, claim
from reproductions.lab import Lab
from reproductions.smooth_ece.rows import Rows, anything, calibrated, sine

MEAN_DISTANCE = math.sqrt(2 / math.pi)  # E|Z| of a standard normal Z
ENDS_LOST = (
    "a score at 0 or 1 is its own mirror image and should count twice in the reflected sequence; the wrapping of algorithm 1 "
    "lists it once, so half of its residual is lost."
)
T = (np.arange(20_000) + 0.5) / 20_000  # where kernels are integrated


def reflected(t: Floats, f: float, sigma: float) -> Floats:
    """The Gaussian around f, folded back into [0, 1] at both ends (eq. 2)."""
    images = 2 * np.arange(-math.ceil(5 * sigma) - 1, math.ceil(5 * sigma) + 2)
    where = np.concatenate([images + f, images - f])
    return np.asarray(np.exp(-0.5 * ((t[:, None] - where) / sigma) ** 2).sum(axis=1) / math.sqrt(2 * math.pi * sigma**2))


def lemma_25(lab: Lab) -> Iterator[Finding]:
    """Mass, mean distance and steadiness of the reflected kernel."""
    rng = lab.rng("lemma 25")
    count = lab.either(100, 1000)
    cases = [(*np.sort(rng.random(2)), math.exp(rng.uniform(math.log(0.02), 0.0))) for _ in range(count)]
    cases += [(0.5, 0.5 + 1e-3, 0.05)]  # far from both ends, close together: where the third bound is tightest
    mass, moment, change = np.array([_properties(*case) for case in lab.steps(cases)]).T
    off = float(np.abs(mass - 1).max())
    yield claim("1: the kernel's mass is 1", "1", f"1 ± {off:.0e}", holds=off < 1e-6)
    yield claim(
        "2: mean distance / σ",
        "at most √(2/π) = 0.7979",
        f"at most {moment.max():.4f}",
        holds=moment.max() <= MEAN_DISTANCE + 1e-6,
    )
    why = (
        f"the integral is twice the total variation, and the proof bounds the total variation once. Between N(0, σ²) and "
        f"N(ε, σ²) it is 2(2Φ(ε/2σ) − 1) ≤ √(2/π) ε/σ: {MEAN_DISTANCE:.4f} in place of 0.5. Lemma 8 asks for no more than 1."
    )
    yield claim("3: ∫|K(t, t₀) − K(t, t₁)|dt · σ/|t₀ − t₁|", "at most 1/2", f"up to {change.max():.4f}",
                holds=change.max() <= 0.5, why=why)  # fmt: skip
    yield claim(
        "3 for the total variation, half of it",
        "at most 1/2",
        f"at most {change.max() / 2:.4f}; 1/√(2π) = {MEAN_DISTANCE / 2:.4f}",
        holds=change.max() / 2 <= MEAN_DISTANCE / 2 + 1e-6,
    )
    gap = max(_semigroup(*case) for case in ((0.3, 0.1, 0.05), (0.02, 0.3, 0.1), (0.97, 0.02, 0.5)))
    yield claim("claim 27: smoothing twice is smoothing once, at √(σ₁² + σ₂²)", "equal", f"to {gap:.0e}", holds=gap < 1e-9)
    yield _two_reflections()


def _properties(t0: float, t1: float, sigma: float) -> tuple[float, float, float]:
    k0, k1 = reflected(T, t0, sigma), reflected(T, t1, sigma)
    change = np.abs(k0 - k1).mean() * sigma / (t1 - t0) if t1 > t0 else 0.0
    return float(k0.mean()), float((np.abs(T - t0) * k0).mean() / sigma), float(change)


def _semigroup(f: float, first: float, second: float) -> float:
    """How far ∫K̃(t, u) K̃(u, f) du is from the one wider kernel, at a few t."""
    points = np.array([0.0, 0.21, 0.5, 0.83, 1.0])
    once = reflected(points, f, math.hypot(first, second))
    twice = [float((reflected(T, t, second) * reflected(T, f, first)).mean()) for t in points]
    return float(np.abs(once - twice).max() / once.max())


def _two_reflections() -> Finding:
    """Appendix C: one reflection at either end leaves out what the Gaussian has beyond [−1, 2]."""
    from scipy.stats import norm

    lost = norm.sf(1 / 0.38) + norm.sf(2 / 0.38)  # at t = 0 or 1, where it is most
    return claim(
        "appendix C: two reflections are enough, σ < 0.38",
        "error below σ² = 0.144",
        f"at most {lost:.4f} of the mass is left out",
        holds=bool(lost < 0.38**2),
    )


def algorithms(lab: Lab) -> Iterator[Finding]:
    """Algorithms 1 and 2 on a grid, against SmoothECE without one."""
    rng = lab.rng("algorithms")
    sets = [sine(rng), calibrated(rng, 400), *(_inside(anything(rng, 300)) for _ in range(lab.either(4, 20)))]
    for epsilon in (0.05, 0.01):
        off = [abs(algorithm_2(rows, epsilon) - trueness.smooth_ece(*rows)) for rows in lab.steps(sets)]
        yield claim(
            f"algorithm 2 with ε = {epsilon:g}, scores inside (0, 1)",
            "error up to ε",
            f"largest error {max(off):.4f} in {len(sets)} sets",
            holds=max(off) <= epsilon,
        )
    ends = Rows(np.array([1.0, 0.0]), np.zeros(2))
    ours, theirs = trueness.smooth_ece(*ends, bandwidth=0.1), algorithm_1(ends, 0.1, 0.01)
    yield claim(
        "algorithm 1 at σ = 0.1, ε = 0.01, scores of exactly 0",
        "error up to ε",
        f"{theirs:.4f}; SmoothECE is {ours:.4f}",
        holds=abs(theirs - ours) <= 0.01,
        why=ENDS_LOST,
    )


def _inside(rows: Rows) -> Rows:
    return Rows(rows.y, np.clip(rows.f, 0.05, 0.95))


def algorithm_1(rows: Rows, sigma: float, epsilon: float) -> float:
    """SmoothECE at σ: residuals rounded to a grid, reflected T times, convolved with a Gaussian, summed over [0, 1)."""
    from scipy.signal import fftconvolve

    M = math.ceil(1 / (sigma * epsilon))
    turns = math.ceil(math.sqrt(math.log(2 / epsilon)))
    h = np.bincount(np.rint(M * rows.f).astype(np.int64), rows.f - rows.y, minlength=M + 1) / len(rows.f)
    j = np.mod(np.arange(-turns * M, (turns + 1) * M + 1), 2 * M)
    wrapped = h[np.where(j > M, 2 * M - j, j)]
    reach = min(math.ceil(9 * sigma * M), turns * M)
    K = np.exp(-0.5 * (np.arange(-reach, reach + 1) / (M * sigma)) ** 2)
    smoothed = fftconvolve(wrapped, K / K.sum(), mode="same")
    return float(np.abs(smoothed[turns * M : (turns + 1) * M]).sum())


def algorithm_2(rows: Rows, epsilon: float) -> float:
    """The fixed point by bisection, to ε."""
    low, high = 0.0, 1.0
    while high - low > epsilon:
        sigma = (high + low) / 2
        if algorithm_1(rows, sigma, epsilon) < sigma:
            high = sigma
        else:
            low = sigma
    return high
