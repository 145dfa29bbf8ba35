"""Figures 8–10: what happens to binned and cumulative errors as the sample grows, calibrated or not."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.cumulative import drawing
from reproductions.cumulative.expectations import (
    Binned,
    binned_errors,
    cumulative_errors,
    expected_errors,
    floors,
    limiting_error,
    limits,
)
from reproductions.cumulative.laws import moments
from reproductions.cumulative.synthetic import KINDS, PLACES, outcomes, probabilities, scores, uniforms
from reproductions.findings import Finding, claim
from reproductions.lab import Lab

REALISATIONS = 9
LARGE = 131_072
ERRORS = ("ECE¹", "ECE²", "ECCE-MAD", "ECCE-R", "ECCE-MAD / σ_n", "ECCE-R / σ_n")
PANELS = {"figure-8": ERRORS[:2], "figure-9": ERRORS[2:4], "figure-10": ERRORS[4:]}
STATES = {True: "calibrated", False: "miscalibrated"}
# The last tick of each axis of Figure 8 and the next that is not there: the curves end between the two.
AXES = {("ECE¹", True): (0.07, 0.08), ("ECE²", True): (0.010, 0.012)} | {
    ("ECE¹", False): (0.10, 0.12),
    ("ECE²", False): (0.0175, 0.0200),
}


@dataclass(frozen=True, slots=True)
class Growth:
    """Averages over nine realisations, and for the binned errors what they should be."""

    sizes: tuple[int, ...]
    average: Mapping[tuple[str, bool, str], Floats]  # error, calibrated, kind; over the sizes
    mean: Mapping[tuple[str, bool, str], Floats]  # ECE¹ and ECE² only
    spread: Mapping[tuple[str, bool, str], Floats]  # of one realisation


def growth(lab: Lab) -> Iterator[Finding]:
    """Nine realisations for each n, all from the paper's seed."""
    growth = grow(lab)
    for name, errors in PANELS.items():
        _draw(lab, name, errors, growth)
    yield from _figure_8(growth)
    yield from _figure_9(growth)
    yield from _figure_10(growth)


def grow(lab: Lab) -> Growth:
    """All averages of Figures 8–10."""
    sizes = tuple(2**power for power in range(12, lab.either(18, 21) + 1))
    columns: dict[str, dict[tuple[str, bool, str], list[float]]] = {"average": {}, "mean": {}, "spread": {}}
    for n in lab.steps(sizes):
        u = uniforms(REALISATIONS * n).reshape(REALISATIONS, n)
        for kind in KINDS:
            f = scores(kind, n)
            for calibrated, chance in ((True, f), (False, probabilities(kind, n))):
                averages = np.mean([_errors(outcomes(row, chance), f) for row in u], axis=0)
                mean, spread = expected_errors(f, chance)
                for name, values in (("average", averages), ("mean", mean), ("spread", spread)):
                    for error, value in zip(ERRORS, values, strict=False):
                        columns[name].setdefault((error, calibrated, kind), []).append(float(value))
    arrays = {name: {key: np.array(values) for key, values in by.items()} for name, by in columns.items()}
    return Growth(sizes, arrays["average"], arrays["mean"], arrays["spread"])


def _errors(y: Floats, f: Floats) -> tuple[float, ...]:
    """In the order of ERRORS."""
    cumulative = trueness.ecce(y, f)
    mad, spread, sigma = cumulative.mad, cumulative.range, cumulative.sigma
    return (*binned_errors(y, f), mad, spread, mad / sigma, spread / sigma)


def _figure_8(growth: Growth) -> Iterator[Finding]:
    for (error, calibrated), (tick, beyond) in AXES.items():
        values = np.concatenate([growth.average[error, calibrated, kind] for kind in KINDS])
        top = values.max() + 0.05 * (values.max() - values.min())  # the margin an axis leaves by default
        yield claim(
            f"Figure 8, {error}, {STATES[calibrated]}: the axis",
            f"ticks up to {tick:g}",
            f"values {values.min():.4f} to {values.max():.4f}",
            holds=bool(tick <= top < beyond),
        )
    floor, n = floors(), growth.sizes[-1]
    for error, limit, word in (("ECE¹", floor.ece1, "Corollary 4"), ("ECE²", floor.ece2, "Corollary 2, (8) = 1/96")):
        last = [growth.mean[error, True, kind][-1] for kind in KINDS]
        yield claim(
            f"{word}: floor of {error} with 16 draws a bin, n = {n:,}",
            "bounded away from 0",
            f"limit {limit:.6f}; expected {min(last):.6f} to {max(last):.6f}",
            holds=all(abs(value / limit - 1) < 1e-3 for value in last),
        )
    yield from _against_expectation(growth)
    for kind in KINDS:
        limit = limiting_error(scores(kind, n), probabilities(kind, n))
        yield claim(
            f"Theorem 8: expected ECE², {kind}, n = {n:,}",
            f"(14): {limit:.6f}",
            f"(18): {growth.mean['ECE²', False, kind][-1]:.6f}",
            holds=abs(growth.mean["ECE²", False, kind][-1] / limit - 1) < 0.02,
        )


def _against_expectation(growth: Growth) -> Iterator[Finding]:
    for error in ERRORS[:2]:
        keys = [key for key in growth.mean if key[0] == error]
        z = np.array([(growth.average[key] - growth.mean[key]) / growth.spread[key] * math.sqrt(REALISATIONS) for key in keys])
        yield claim(
            f"Figure 8, {error}: averages of nine against their exact expectation",
            "(no number)",
            f"{z.size} averages, at most {np.abs(z).max():.2f} standard errors away",
            holds=bool(np.abs(z).max() < 4),
        )
    yield claim(
        "Figure 8: miscalibrated over calibrated, expected, largest n",
        "quite similar",
        "; ".join(f"{kind} " + ", ".join(f"{e} ×{_ratio(growth, e, kind):.2f}" for e in ERRORS[:2]) for kind in KINDS),
        holds=all(_ratio(growth, error, kind) < 2 for error in ERRORS[:2] for kind in KINDS),
    )


def _ratio(growth: Growth, error: str, kind: str) -> float:
    return float(growth.mean[error, False, kind][-1] / growth.mean[error, True, kind][-1])


def _figure_9(growth: Growth) -> Iterator[Finding]:
    for error in ERRORS[2:4]:
        law = moments(error)
        slopes = [_slope(growth.sizes, growth.average[error, True, kind]) for kind in KINDS]
        x = np.log(growth.sizes)
        wobble = law.deviation / law.mean / math.sqrt(REALISATIONS * float(np.sum((x - x.mean()) ** 2)))
        yield claim(
            f"Corollary 7, Figure 9, {error}, calibrated: slope of log {error} over log n",
            "to 0, as σ_n: −½",
            f"{min(slopes):.3f} to {max(slopes):.3f}, ± {wobble:.2g}",
            holds=all(abs(slope + 0.5) < 3 * wobble for slope in slopes),
        )
    large = np.array(growth.sizes) >= LARGE
    for error in ERRORS[2:4]:
        flat = [growth.average[error, False, kind][large] for kind in KINDS]
        falls = [growth.average[error, True, kind][large] for kind in KINDS]
        yield claim(
            f"Figure 9, {error}, miscalibrated: from n = {LARGE:,} on",
            "flat as n becomes large",
            f"{min(v.min() for v in flat):.4f} to {max(v.max() for v in flat):.4f}; calibrated falls to "
            f"{max(v[-1] for v in falls):.4f}",
            holds=all(v.max() / v.min() < 1.25 for v in flat),
        )
    yield _same_distribution(growth)
    yield from _theorem_11(growth)


def _same_distribution(growth: Growth) -> Finding:
    """The staircase reads seven octal digits of j·8⁷/n, and below n = 8⁷ the last of them are always 0.

    So the chances change with n: the left part of the lower plots shows this, not noise.
    """
    exact = {
        n: float(cumulative_errors(probabilities("square-rooted", n), scores("square-rooted", n)).mad) for n in growth.sizes
    }
    return claim(
        "Figures 8–10: the miscalibrated distribution changes with n",
        "Figure 2 depicts n = 32,768 (a remark of ours)",
        "exact ECCE-MAD, square-rooted: " + ", ".join(f"{exact[n]:.4f}" for n in growth.sizes),
        holds=max(exact.values()) / min(exact.values()) > 1.01,
    )


def _theorem_11(growth: Growth) -> Iterator[Finding]:
    n = growth.sizes[-1]
    nearness = 1e-3 if n == 8**PLACES else 0.06  # before that the staircase is another
    f, chance = scores("square-rooted", n), probabilities("square-rooted", n)
    exact = cumulative_errors(chance, f)
    sigma = math.sqrt(float(np.sum(chance * (1 - chance)))) / n
    for error, value, limit in (("ECCE-MAD", float(exact.mad), limits()[0]), ("ECCE-R", float(exact.range), limits()[1])):
        average = float(growth.average[error, False, "square-rooted"][-1])
        # Each is the expected curve's plus at most the largest deviation of a Brownian motion (twice that for the range).
        reach = 3 * sigma * moments(error).mean
        yield claim(
            f"Theorem 11: {error} of square-rooted scores, n = {n:,}",
            f"{'(20)' if error == 'ECCE-MAD' else '(21)'}: {limit:.6f} as n grows",
            f"exact at this n {value:.6f}; average of nine {average:.6f}",
            holds=abs(value / limit - 1) < nearness and abs(average - value) < reach,
        )


def _figure_10(growth: Growth) -> Iterator[Finding]:
    for error in ERRORS[4:]:
        law = moments(error)
        values = np.array([growth.average[error, True, kind] for kind in KINDS])
        z = (values - law.mean) / law.deviation * math.sqrt(REALISATIONS)
        yield claim(
            f"Figure 10, {error}, calibrated",
            f"hovers around {law.mean:.4f}",
            f"{values.min():.3f} to {values.max():.3f}, mean {values.mean():.3f}; at most {np.abs(z).max():.2f} standard "
            "errors away",
            holds=bool(np.abs(z).max() < 3.5),
        )
    for error in ERRORS[4:]:
        last = [_slope(growth.sizes[-4:], growth.average[error, False, kind][-4:]) for kind in KINDS]
        times = [growth.average[error, False, kind][-1] / moments(error).mean for kind in KINDS]
        yield claim(
            f"Figure 10, {error}, miscalibrated, last four n",
            "increases explosively",
            f"slope on log scales {min(last):.2f} to {max(last):.2f}; {min(times):.0f} to {max(times):.0f} times the "
            "calibrated mean",
            holds=min(times) > 3 and max(last) > 0.3,
        )
    yield _one_sigma(growth.sizes[0])


def _one_sigma(n: int) -> Finding:
    f = scores("equispaced", n)
    u = uniforms(REALISATIONS * n).reshape(REALISATIONS, n)
    sigmas = {trueness.ecce(outcomes(row, f), f).sigma for row in u}
    return claim(
        "Figure 10: values of σ_n among nine realisations",
        "a different one for each",
        f"{len(sigmas)}",
        holds=len(sigmas) == REALISATIONS,
        why="σ_n of (13) is made of the scores alone, and all nine realisations have the same scores. So Figure 10 is Figure 9 "
        "divided by one number for each n.",
    )


def _slope(sizes: tuple[int, ...], values: Floats) -> float:
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def _draw(lab: Lab, name: str, errors: tuple[str, ...], growth: Growth) -> None:
    floor: Binned = floors()
    level = {"ECE¹": floor.ece1, "ECE²": floor.ece2} | {error: moments(error).mean for error in ERRORS[4:]}
    with lab.figure(name, height=5.8) as figure:
        panels = figure.subplots(2, 2, sharex=True)
        for row, (calibrated, words) in zip(panels, STATES.items(), strict=True):
            for ax, error in zip(row, errors, strict=True):
                drawing.by_kind(ax, growth.sizes, {kind: growth.average[error, calibrated, kind] for kind in KINDS})
                if error in level:
                    label = "limit when calibrated"
                    ax.axhline(level[error], color="0.3", linewidth=0.9, linestyle=(0, (6, 2)), label=label, zorder=1)
                ax.set_ylim(0, 1.08 * ax.dataLim.y1)
                ax.set_title(words)
                ax.set_ylabel(f"average {error}".replace("σ_n", "$\\sigma_n$"))
        for ax in panels[1]:
            drawing.powers_of_two(ax, growth.sizes, "n (sample size)")
        drawing.legend_below(figure, panels[0][0])
