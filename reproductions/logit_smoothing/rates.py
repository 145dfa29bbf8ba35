"""Theorems 5.3 and 5.4: how fast LS-ECE of a sample comes to that of the population, and to the true ECE."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.findings import Finding, claim, printed
from reproductions.lab import Lab
from reproductions.logit_smoothing.gaussians import Pair
from reproductions.logit_smoothing.slopes import slope
from reproductions.style import CYCLE, muted

OVERCONFIDENT = Pair(mu=1.0, s=2.0)  # true probability ρ(h/2)
CALIBRATED = Pair(mu=1.0, s=math.sqrt(2))  # true probability ρ(h)
BANDWIDTHS = (0.05, 0.1, 0.2, 0.4)
POWERS = {"n^(−1/5)": 1 / 5, "n^(−1/3)": 1 / 3, "n^(−1/2)": 1 / 2}
MARKS = ("o-", "s--", "^-.", "D:")

Bandwidth = Callable[[int], float]  # σ by the number of draws


def fixed(sigma: float) -> Bandwidth:
    """The same σ for every n."""
    return lambda n: sigma


def falling(power: float) -> Bandwidth:
    """σ = n^(−power)."""
    return lambda n: float(n**-power)


def calibrated_with(sigma: float) -> Pair:
    """A pair that is calibrated once noise of this σ is added: LS-ECE of the population is 0."""
    return Pair(mu=(CALIBRATED.s**2 + sigma**2) / 2, s=CALIBRATED.s)


def theorem_5_3(lab: Lab) -> Iterator[Finding]:
    """E|LS-ECE of n draws − LS-ECE of the population| over n and σ."""
    sizes, repeats = _sizes(lab), lab.either(100, 400)
    noise, model = {}, {}
    for sigma in lab.steps(BANDWIDTHS):
        pair = calibrated_with(sigma)
        noise[sigma] = _errors(lab.rng(f"calibrated, {sigma}"), pair, sizes, repeats, fixed(sigma), pair.ls_ece(sigma))
        rng, goal = lab.rng(f"over-confident, {sigma}"), OVERCONFIDENT.ls_ece(sigma)
        model[sigma] = _errors(rng, OVERCONFIDENT, sizes, repeats, fixed(sigma), goal)
    with lab.figure("theorem-5-3", height=3.6) as figure:
        _draw_rates(figure, sizes, noise, model)
    for sigma in BANDWIDTHS:
        exponent = slope(sizes, noise[sigma])
        yield printed(f"exponent of n, calibrated under the noise, σ = {sigma}", "-0.5", exponent.value, error=exponent.error)
    for sigma in BANDWIDTHS:
        exponent = slope(sizes, model[sigma])
        yield claim(
            f"exponent of n, over-confident, σ = {sigma}",
            "-0.5 or below",
            str(exponent),
            holds=exponent.value - 3 * exponent.error <= -0.5,
        )
    last = slope(BANDWIDTHS, [noise[sigma][-1] for sigma in BANDWIDTHS])
    yield printed(f"exponent of σ, calibrated under the noise, n = {sizes[-1]}", "-0.5", last.value, error=last.error)
    yield _constant(sizes[-1], noise)
    yield _bounded(sizes, [*noise.items(), *model.items()])


def _sizes(lab: Lab) -> tuple[int, ...]:
    return lab.either((1_000, 2_000, 4_000, 8_000), (1_000, 3_000, 10_000, 30_000, 100_000))


def _errors(
    rng: np.random.Generator,
    pair: Pair,
    sizes: Sequence[int],
    repeats: int,
    bandwidth: Bandwidth,
    goal: float,
    noise: Any = "gaussian",
) -> list[Floats]:
    """|LS-ECE of n draws − goal| for every n, so many times each."""

    def once(n: int) -> float:
        y, f = pair.draw(rng, n)
        return abs(trueness.logit_smoothed_ece(y, f, bandwidth=bandwidth(n), noise=noise) - goal)

    return [np.array([once(n) for _ in range(repeats)]) for n in sizes]


def _constant(n: int, noise: dict[float, list[Floats]]) -> Finding:
    """Closed form beside the simulation."""
    ratios, errors = [], []
    for sigma, errors_by_size in noise.items():
        seen, goal = errors_by_size[-1], calibrated_with(sigma).pure_noise(sigma, n)
        ratios.append(seen.mean() / goal)
        errors.append(seen.std(ddof=1) / math.sqrt(len(seen)) / goal)
    return claim(
        f"mean error against √(2/πn) ∫√V(u) du, n = {n}",
        "O(1/√(nσ))",
        f"ratio {min(ratios):.3f} to {max(ratios):.3f} ± {max(errors):.3f}",
        holds=all(abs(ratio - 1) < 0.02 + 3 * error for ratio, error in zip(ratios, errors, strict=True)),
    )


def _bounded(sizes: Sequence[int], parts: list[tuple[float, list[Floats]]]) -> Finding:
    scaled = [seen.mean() * math.sqrt(n * sigma) for sigma, errors in parts for n, seen in zip(sizes, errors, strict=True)]
    return claim(
        "mean error times √(nσ), all n and σ",
        "bounded",
        f"{min(scaled):.3f} to {max(scaled):.3f}",
        holds=max(scaled) < 1,
    )


def theorem_5_4(lab: Lab) -> Iterator[Finding]:
    """LS-ECE of n draws with σ → 0 against the true ECE."""
    sizes, repeats = _sizes(lab), lab.either(60, 300)
    seen: dict[str, dict[str, list[Floats]]] = {}
    for name, pair in {"calibrated": CALIBRATED, "over-confident": OVERCONFIDENT}.items():
        goal, seen[name] = pair.ls_ece(0), {}
        for label, power in POWERS.items():
            rng = lab.rng(f"{name} {label}")
            seen[name][label] = _errors(rng, pair, sizes, repeats, falling(power), goal)
    yield claim(
        "true ECE of the two populations",
        "(closed form)",
        f"{CALIBRATED.ls_ece(0):.0f} and {OVERCONFIDENT.ls_ece(0):.6f}",
        holds=CALIBRATED.ls_ece(0) < 1e-15,
    )
    for name, by_label in seen.items():
        for label, errors in by_label.items():
            exponent = slope(sizes, errors)
            yield claim(
                f"|LS-ECE − ECE|, {name}, σ = {label}",
                "→ 0",
                f"exponent {exponent}; {errors[-1].mean():.4f} at n = {sizes[-1]}, {_parts(name, sizes[-1], POWERS[label])}",
                holds=exponent.value + 3 * exponent.error < 0,
            )
    yield from _too_narrow(lab, sizes, repeats, seen)


def _parts(name: str, n: int, power: float) -> str:
    """What is known of the error in closed form: smoothing, and sampling where the population is calibrated."""
    sigma = falling(power)(n)
    if name == "calibrated":
        return f"closed form {CALIBRATED.pure_noise(sigma, n):.4f} of sampling, {CALIBRATED.ls_ece(sigma):.4f} of smoothing"
    return f"closed form {abs(OVERCONFIDENT.ls_ece(sigma) - OVERCONFIDENT.ls_ece(0)):.4f} of smoothing"


def _too_narrow(lab: Lab, sizes: Sequence[int], repeats: int, seen: dict[str, dict[str, list[Floats]]]) -> Iterator[Finding]:
    """σ = 1/n, which the theorem leaves out."""
    few = [n for n in sizes if n <= 10_000]
    errors = _errors(lab.rng("too narrow"), CALIBRATED, few, repeats, falling(1.0), 0.0, "uniform")
    limit, last = CALIBRATED.crumbs(1.0), errors[-1]
    error = last.std(ddof=1) / math.sqrt(len(last))
    yield claim(
        "|LS-ECE − ECE|, calibrated, σ = 1/n, uniform noise",
        "σ must be ω(1/n)",
        f"stays: {last.mean():.4f} ± {error:.4f} at n = {few[-1]}, limit {limit:.4f} in closed form",
        holds=abs(last.mean() - limit) < 3 * error + 0.002,
    )
    with lab.figure("theorem-5-4", height=3.6) as figure:
        _draw_consistency(figure, sizes, seen, few, errors)


def _logarithmic(ax: Any, sizes: Sequence[int]) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(sizes, [f"{n:,}".replace(",", " ") for n in sizes])
    ax.minorticks_off()
    ax.set_xlabel("n")
    ax.figure.get_layout_engine().set(wspace=0.06)  # the ticks at the panels' ends are long


def _draw_rates(figure: Any, sizes: Sequence[int], noise: dict[float, list[Floats]], model: dict[float, list[Floats]]) -> None:
    left, right = figure.subplots(1, 2, sharey=True)
    fine = np.geomspace(sizes[0], sizes[-1], 50)
    for sigma, color, mark in zip(BANDWIDTHS, CYCLE, MARKS, strict=False):
        pair = calibrated_with(sigma)
        left.plot(fine, [pair.pure_noise(sigma, n) for n in fine], color=color, linewidth=0.8, alpha=0.6)
        left.plot(sizes, [part.mean() for part in noise[sigma]], mark[0], color=color, markersize=5, label=f"σ = {sigma}")
        right.plot(sizes, [part.mean() for part in model[sigma]], mark, color=color, markersize=5, linewidth=1)
    guide = 0.25 / np.sqrt(fine)
    right.plot(fine, guide, color=muted(right), linewidth=0.8, linestyle=(0, (4, 3)), label="slope −1/2")
    for ax, title in ((left, "calibrated under the noise (lines: closed form)"), (right, "over-confident")):
        ax.set_title(title)
        _logarithmic(ax, sizes)
    left.set_ylabel("E|LS-ECE of n draws − population's|")
    figure.legend(loc="outside lower center", ncols=5)


def _draw_consistency(
    figure: Any, sizes: Sequence[int], seen: dict[str, dict[str, list[Floats]]], few: Sequence[int], stuck: list[Floats]
) -> None:
    left, right = figure.subplots(1, 2, sharey=True)
    for ax, (name, by_label) in zip((left, right), seen.items(), strict=True):
        for (label, errors), color, mark in zip(by_label.items(), CYCLE, MARKS, strict=False):
            shown = f"σ = {label}" if ax is left else "_again"
            ax.plot(sizes, [part.mean() for part in errors], mark, color=color, markersize=5, label=shown)
        ax.set_title(name)
        _logarithmic(ax, sizes)
    left.plot(few, [part.mean() for part in stuck], MARKS[3], color=CYCLE[3], markersize=5, label="σ = 1/n")
    left.axhline(CALIBRATED.crumbs(1.0), color=CYCLE[3], linewidth=0.8, alpha=0.6)
    left.set_ylabel("E|LS-ECE of n draws − true ECE|")
    figure.legend(loc="outside lower center", ncols=4)
