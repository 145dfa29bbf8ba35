"""Propositions 1 to 3, and the posterior of appendix A."""

from collections.abc import Iterator

import numpy as np
from scipy.special import logit
from scipy.stats import norm

import trueness
from reproductions.arrays import Floats
from reproductions.findings import Finding, claim
from reproductions.lab import Lab
from reproductions.soft_labels.setting import BINS, REACH, sigmoid
from reproductions.style import BLUE, VERMILION

THRESHOLDS = tuple(step / 20 for step in range(1, 20))


def appendix_a(lab: Lab) -> Iterator[Finding]:
    """The posterior of two normal classes with equal priors is σ(kx), k = 2μ/σ²."""
    rng = lab.rng("appendix A")
    mean, sd = rng.uniform(0.05, 3, 200), rng.uniform(0.3, 3, 200)
    x = np.linspace(-REACH, REACH, 601)[:, None]
    odds = norm.logpdf(x, mean, sd) - norm.logpdf(x, -mean, sd)  # Bayes: the priors cancel
    apart = float(np.abs(sigmoid(odds) - sigmoid(2 * mean / sd**2 * x)).max())
    yield claim("P(Y = 1 | x) = σ(2μx/σ²) (eq. 7)", "proved", f"to {apart:.0e}, 200 pairs μ, σ by 601 x", holds=apart < 1e-12)


def proposition_1(lab: Lab) -> Iterator[Finding]:
    """With labels 0 and 1 the two are one."""
    rng = lab.rng("proposition 1")
    samples = lab.either(100, 1000)
    same = 0
    for _ in lab.steps(range(samples)):
        n, bins = int(rng.integers(1, 3000)), int(rng.integers(1, 60))
        f = rng.beta(rng.uniform(0.3, 3), rng.uniform(0.3, 3), n)
        y = (rng.random(n) < f ** rng.uniform(0.5, 2)).astype(np.float64)
        same += trueness.soft_mean_ece(y, f, bins=bins) == trueness.binned_ece(y, f, bins=bins)
    yield claim(
        "SMECE = ECE for labels in {0, 1}",
        "identically",
        f"the same bits in {same} of {samples} samples",
        holds=same == samples,
    )


def proposition_2(lab: Lab) -> Iterator[Finding]:
    """Predictions equal to their labels have SMECE 0, at any n."""
    rng = lab.rng("proposition 2")
    sizes = [1, 2, 3, 10, 100, 1_000, 10_000, 100_000, *lab.either([], [1_000_000])]
    values = []
    for n in lab.steps(sizes):
        x = rng.uniform(-REACH, REACH, n)
        for labels in (sigmoid(2 * x), sigmoid(50 * x), rng.beta(0.2, 0.4, n), np.round(rng.random(n), 1)):
            values += [trueness.soft_mean_ece(labels, labels, bins=bins) for bins in (1, BINS, 15, 100)]
    zeros = values.count(0.0)
    yield claim(
        "SMECE = 0 when f = p*, at every n", "exactly", f"0.0 in {zeros} of {len(values)} samples, n = 1 to {sizes[-1]:,}",
        holds=zeros == len(values),
    )  # fmt: skip


def threshold_limit(tau: float, k: float, bins: int = BINS) -> float:
    r"""Limit of the ECE of f = σ(kx) against 1[f > τ], x uniform on (−3, 3).

    .. math:: \frac16 \sum_b \Bigl|\int_b \sigma(kx) - 1[\sigma(kx) > \tau]\,dx\Bigr|
    """
    with np.errstate(divide="ignore"):
        ends = np.clip(logit(np.arange(bins + 1) / bins) / k, -REACH, REACH)
    label = np.diff(np.logaddexp(0.0, k * ends)) / k
    outcome = np.diff(np.maximum(ends, logit(tau) / k))
    return float(np.abs(label - outcome).sum() / (2 * REACH))


def proposition_3(lab: Lab) -> Iterator[Finding]:
    """Thresholded labels: the limit, and whether it must be positive."""
    rng = lab.rng("proposition 3")
    k, n = 2.0, lab.either(200_000, 2_000_000)
    f = sigmoid(k * rng.uniform(-REACH, REACH, n))
    limits = [threshold_limit(tau, k) for tau in THRESHOLDS]
    values, errors = zip(*[_thresholded(f, tau) for tau in lab.steps(THRESHOLDS)], strict=True)
    steps = np.abs(np.subtract(values, limits)) / errors
    yield claim(
        "ECE against 1[p* > τ] tends to Σ w |p̄ − ȳ|", "proved",
        f"{n:,} rows, 19 thresholds: at most {steps.max():.1f} standard errors off", holds=bool(steps.max() < 4),
    )  # fmt: skip
    low = int(np.argmin(limits))
    yield claim(
        "that limit is positive for p* = σ(2x)",
        "> 0 at any τ",
        f"least {limits[low]:.4f}, at τ = {THRESHOLDS[low]:g}",
        holds=limits[low] > 0,
    )
    yield _counterexample()
    _draw(lab, values)


def _thresholded(f: Floats, tau: float) -> tuple[float, float]:
    """ECE of labels as predictions against their thresholded selves, and its standard error."""
    y = (f > tau).astype(np.float64)
    bin_of = np.minimum((f * BINS).astype(np.int64), BINS - 1)
    sign = np.sign(np.bincount(bin_of, f - y, minlength=BINS))
    return trueness.binned_ece(y, f, bins=BINS), float((sign[bin_of] * (f - y)).std() / np.sqrt(len(f)))


def _counterexample() -> Finding:
    """Labels 0.51 and 0.59 in shares 41 and 51 of 92: their mean is 51/92, and so is the share above 0.55."""
    f = np.repeat([0.51, 0.59], [41, 51])
    ece = trueness.binned_ece(f > 0.55, f, bins=BINS)
    return claim(
        "p̄ and ȳ agree in every bin only if all labels are 0 or 1 (appendix B)", "yes",
        f"ECE {ece:.0e} with labels 0.51 and 0.59", holds=ece > 1e-12,
        why="41 labels of 0.51 and 51 of 0.59, τ = 0.55: the mean label of their bin is 51/92, and so is the share above τ. "
        "The limit is positive when τ is an edge of the bins, or p̄ ≠ ȳ in some bin as Proposition 3 asks; not for every p*.",
    )  # fmt: skip


def _draw(lab: Lab, values: tuple[float, ...]) -> None:
    grid = np.linspace(0.002, 0.998, 499)
    with lab.figure("proposition-3", width=5.6, height=3.6) as figure:
        ax = figure.subplots()
        ax.plot(grid, [threshold_limit(tau, 2.0) for tau in grid], color=BLUE, label="limit, closed form")
        ax.plot(THRESHOLDS, values, "o", color=VERMILION, markersize=5, markerfacecolor="none", label="one large sample")
        ax.set_ylim(bottom=0)
        ax.set_xlabel("threshold τ")
        ax.set_ylabel("ECE of f = p* against 1[p* > τ]")
        ax.legend(loc="upper center")
