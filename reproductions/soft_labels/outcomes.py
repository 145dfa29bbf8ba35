"""What ECE does when outcomes are drawn from the posterior instead of thresholded (sections 1.4 and 3)."""

from collections.abc import Iterator, Mapping

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.findings import Finding, claim
from reproductions.lab import Lab
from reproductions.soft_labels.beside import HARD
from reproductions.soft_labels.setting import BINS, MODELS, draw
from reproductions.soft_labels.theory import law, shortfall
from reproductions.style import BLUE, VERMILION

SIZES = (500, 1_000, 2_000, 5_000, 10_000)
N = 1_000


def drawn_outcomes(lab: Lab) -> Iterator[Finding]:
    """The same five models, with outcomes that happen as often as the posterior says."""
    runs = lab.either(40, 400)
    a = {n: np.array([_values(lab, n, 2.0, run, "A")[0] for run in range(runs)]) for n in lab.steps(SIZES)}
    means = [float(values.mean()) for values in a.values()]
    known = {n: law("A", HARD, 2.0, n, drawn=True) for n in SIZES}
    steps = [abs(mean - known[n].mean) / known[n].sd * np.sqrt(runs) for mean, n in zip(means, SIZES, strict=True)]
    power = float(np.polyfit(np.log(SIZES), np.log(means), 1)[0])
    seen = f"{means[0]:.4f} at n = 500, {means[-1]:.4f} at 10 000: n to the power {power:.2f}"
    yield claim("ECE of A tends to 0 as n grows (section 1.4)", "yes", seen, holds=abs(power + 0.5) < 0.08)
    yield claim(
        "ECE of A at n = 10 000, normal law: Σ √(2 E[p(1 − p); b] / πn)", "no number",
        f"{means[-1]:.4f}, by the law {known[10_000].mean:.4f}", holds=max(steps) < 4,
    )  # fmt: skip
    yield claim(
        "the gap does not shrink with n (section 3.2)", "yes", seen, holds=power > -0.05,
        why="Eq. 3 sets the label against the frequency of outcomes at that label. When outcomes are drawn from the label the "
        f"two are equal, and eq. 3 is 0. What stays is the gap to a thresholded outcome, {shortfall(2.0):.4f} at every n.",
    )  # fmt: skip
    yield from _rankings(lab, runs)
    yield _two_models(lab)
    _draw(lab, a)


def _values(lab: Lab, n: int, k: float, run: int, models: str) -> list[float]:
    """ECE of some models in one run, outcomes drawn with probability σ(kx)."""
    rng = lab.rng(f"drawn outcomes, n = {n}, k = {k:g}, run {run}")
    sample = draw(rng, n, k)
    y = (rng.random(n) < sample.soft).astype(np.float64)
    return [trueness.binned_ece(y, sample.predictions[model], bins=BINS) for model in models]


def _rankings(lab: Lab, runs: int) -> Iterator[Finding]:
    """With outcomes drawn, the misranking is one of few rows; that of Tables 2 to 6 comes from thresholding the label."""
    for k in (0.5, 2.0):
        first = {}
        for n in (50, 200, N):
            values = np.array([_values(lab, n, k, run, "".join(MODELS)) for run in lab.steps(range(runs))])
            first[n] = float((values.argmin(axis=1) == 0).mean())
        yield claim(
            f"ECE misranks models at finite n, k = {k:g}, outcomes drawn (section 1.4)", "systematically",
            "A first in " + ", ".join(f"{share:.0%} of runs at n = {n}" for n, share in first.items()),
            holds=min(first.values()) < 0.5,
            why="Even at n = 50 it is first in most runs.",
        )  # fmt: skip


def _two_models(lab: Lab) -> Finding:
    n = 10_000
    y = (lab.rng("section 3.3").random(n) < 0.51).astype(np.float64)
    modest, bold = (trueness.binned_ece(y, np.full(n, f), bins=BINS) for f in (0.51, 0.99))
    return claim(
        "p* = 0.51: ECE prefers a model that says 0.99 to one that says 0.51 (section 3.3)", "in expectation",
        f"ECE {bold:.3f} and {modest:.3f}, n = 10 000", holds=bold < modest,
        why="ECE compares the means of a bin, not single rows: |0.51 − ȳ| tends to 0 and |0.99 − ȳ| to 0.48. "
        "The mean of |f − y| does prefer 0.99 (0.4902 against 0.4998), but that is not ECE.",
    )  # fmt: skip


def _draw(lab: Lab, a: Mapping[int, Floats]) -> None:
    grid = np.unique(np.geomspace(400, 12_500, 60).astype(int))
    with lab.figure("outcomes", width=5.6, height=3.8) as figure:
        ax = figure.subplots()
        flat, falling = [shortfall(2.0)] * len(grid), [law("A", HARD, 2.0, int(n), drawn=True).mean for n in grid]
        ax.plot(grid, flat, color=VERMILION, linestyle="--", label="outcomes thresholded: 1[x ≥ 0], closed form")
        ax.plot(grid, falling, color=BLUE, label="outcomes drawn, normal law")
        means, spread = ([float(f(values)) for values in a.values()] for f in (np.mean, np.std))
        label = "outcomes drawn, runs: mean ± standard deviation"
        ax.errorbar(SIZES, means, yerr=spread, fmt="o", color=BLUE, markerfacecolor="none", capsize=2, label=label)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks(SIZES, [f"{n:,}".replace(",", " ") for n in SIZES])
        ax.set_yticks([0.005, 0.01, 0.02, 0.05, 0.1], ["0.005", "0.01", "0.02", "0.05", "0.1"])
        ax.minorticks_off()
        ax.set_xlabel("rows n")
        ax.set_ylabel("ECE of A at k = 2")
        ax.legend(loc="lower left")
