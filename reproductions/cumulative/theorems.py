"""Section 2: what the theorems say of the cumulative errors, in numbers."""

from collections.abc import Iterator

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.cumulative.expectations import cumulative_errors
from reproductions.cumulative.laws import law_of, moments
from reproductions.cumulative.synthetic import BASE, KINDS, outcomes, sample, scores
from reproductions.findings import Finding, claim, printed
from reproductions.lab import Lab

# ∫ s(1 − s) dF(s) for scores u, u² and √u of uniform u.
SPREAD = {"equispaced": 1 / 6, "squared": 2 / 15, "square-rooted": 1 / 6}
CHUNK = 256


def theorems(lab: Lab) -> Iterator[Finding]:
    """The scale of the noise, the limit laws, and ECCE-R as a maximum over intervals."""
    yield from _means()
    yield from _scale()
    yield from _convergence(lab)
    yield _intervals()


def _means() -> Iterator[Finding]:
    for error, name, short, long, form in (
        ("ECCE-MAD", "max |B|", "1.25", "1.2533", "√(π/2)"),
        ("ECCE-R", "range of B", "1.60", "1.5958", "2√(2/π)"),
    ):
        mean = moments(error).mean
        yield printed(f"Theorem 6: mean of the {name}, {form}, from its law", short, mean)
        yield printed(f"Section 3.1: mean of the {name}, {form}, from its law", long, mean)


def _scale() -> Iterator[Finding]:
    """σ_n of (13), and its bound."""
    for kind, spread in SPREAD.items():
        sigma = trueness.ecce(*sample(kind, BASE)).sigma
        yield claim(
            f"Theorem 5, (13): σ_n of {kind} scores, n = {BASE:,}",
            f"≤ 1/(2√n) = {0.5 / np.sqrt(BASE):.6f}",
            f"{sigma:.6f}; √(∫s(1−s)dF/n) = {np.sqrt(spread / BASE):.6f}",
            holds=sigma <= 0.5 / np.sqrt(BASE) and abs(sigma / np.sqrt(spread / BASE) - 1) < 1e-3,
        )


def drawn(f: Floats, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """ECCE-MAD/σ_n, ECCE-R/σ_n and C_n of calibrated samples."""
    sigma = np.sqrt(np.sum(f * (1 - f))) / len(f)
    parts = []
    for start in range(0, draws, CHUNK):
        y = outcomes(rng.random((min(CHUNK, draws - start), len(f))), f)
        parts.append(np.stack([*cumulative_errors(y, f), np.sum(y - f, axis=1) / len(f)]))
    mad, spread, last = np.concatenate(parts, axis=1)
    return mad / sigma, spread / sigma, last


def _convergence(lab: Lab) -> Iterator[Finding]:
    from scipy.stats import kstest

    draws, n = lab.either(1000, 10_000), 4_096
    # Draws wander by 1.95/√draws once in a thousand times; a walk of n steps lies 0.58/√n inside of the motion on each side.
    allowed = 1.95 / np.sqrt(draws) + 2 * 0.58 / np.sqrt(n)
    for kind in lab.steps(list(KINDS)):
        f = scores(kind, n)
        mad, spread, last = drawn(f, draws, lab.rng(f"theorem 6, {kind}"))
        ratio, error = float(last.var() / (np.sum(f * (1 - f)) / n**2)), np.sqrt(2 / draws)
        yield claim(
            f"Theorem 5: variance of C_n over (13), {kind}, n = {n:,}, {draws:,} draws",
            "1",
            f"{ratio:.3f} ± {error:.2g}",
            holds=abs(ratio - 1) < 3 * error,
        )
        for name, values in (("ECCE-MAD", mad), ("ECCE-R", spread)):
            apart = float(kstest(values, law_of(name).cdf).statistic)
            yield claim(
                f"Theorem 6: law of {name}/σ_n, {kind}, n = {n:,}, {draws:,} draws",
                "that of Brownian motion",
                f"mean {values.mean():.3f} ± {values.std() / np.sqrt(draws):.2g} (limit {moments(name).mean:.3f}); "
                f"distribution functions at most {apart:.3f} apart ({allowed:.3f} allowed)",
                holds=apart < allowed,
            )


def largest_over_intervals(y: Floats, f: Floats) -> float:
    """max over intervals I of |Σ_{j∈I} (y_j − f_j)|/n, each of them looked at."""
    c = np.append(0.0, np.cumsum(y - f)) / len(f)
    return float(np.abs(c[:, None] - c[None, :]).max())


def _intervals() -> Finding:
    differences = []
    for kind in KINDS:
        y, f = sample(kind, 1_024)
        differences.append(abs(trueness.ecce_r(y, f) - largest_over_intervals(y, f)))
    return claim(
        "Section 2.1.2: ECCE-R is the largest total over any interval, n = 1,024, all 524,800 intervals",
        "equal",
        f"at most {max(differences):.1g} apart",
        holds=max(differences) < 1e-12,
    )
