"""Differences of two predictors: coverage and width of their intervals, and power. python -m studies.pairs --help."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import click
import numpy as np
from scipy.special import expit, logit

from studies.judge import most
from trueness import compare
from trueness.inference.differences import SCORES
from trueness.metrics.registry import METRICS

Array = np.ndarray[Any, Any]
ERRORS = ("smooth_ece", "binned_ece", "logit_smoothed_ece", "ecce_mad", "ecce_r")
ALL = (*ERRORS, *SCORES)
LEVEL = 0.95
_POPULATION = 200_000
_INSIDE = 1e-6, 1 - 1e-6


class Rows(NamedTuple):
    """The chance of each outcome, and what both predictors say."""

    truth: Array
    a: Array
    b: Array


World = Callable[[np.random.Generator, int], Rows]


def _bent(truth: Array, slope: float = 1.0, shift: float = 0.0) -> Array:
    return np.asarray(expit(slope * logit(np.clip(truth, *_INSIDE)) + shift))


def _uniform(a: Callable[[Array], Array], b: Callable[[Array], Array]) -> World:
    def drawn(rng: np.random.Generator, n: int) -> Rows:
        truth = rng.random(n)
        return Rows(truth, np.clip(a(truth), 0, 1), np.clip(b(truth), 0, 1))

    return drawn


def _same(truth: Array) -> Array:
    return truth


def _noisy(spread: float, slope: float = 1.0) -> World:
    """The second is the first and a little noise."""

    def drawn(rng: np.random.Generator, n: int) -> Rows:
        truth = rng.random(n)
        a = _bent(truth, slope)
        return Rows(truth, a, np.clip(a + rng.normal(0, spread, n), *_INSIDE))

    return drawn


def _dull(rng: np.random.Generator, n: int) -> Rows:
    truth = rng.random(n)
    return Rows(truth, truth, np.where(rng.random(n) < 0.5, truth, 0.5))


def _range(rng: np.random.Generator, n: int) -> Rows:
    """The second is 10 points too high between 0.6 and 0.9."""
    b = rng.random(n)
    truth = np.where((b >= 0.6) & (b <= 0.9), b - 0.1, b)
    return Rows(truth, truth, b)


def _ten_points(rng: np.random.Generator, n: int) -> Rows:
    truth = rng.uniform(0.1, 0.9, n)
    return Rows(truth, truth, np.clip(truth + 0.1, 0, 1))


def _rare(factor: float, a: float = 1, b: float = 20) -> World:
    def drawn(rng: np.random.Generator, n: int) -> Rows:
        truth = rng.beta(a, b, n)
        return Rows(truth, truth, np.clip(truth * factor, *_INSIDE))

    return drawn


def _few_rows(wrong: float, other: float) -> World:
    """0.05 on 0.5 % of rows, of which the first says far less; elsewhere they differ by a little noise."""

    def drawn(rng: np.random.Generator, n: int) -> Rows:
        truth, few = np.clip(rng.beta(2, 3, n), *_INSIDE), rng.random(n) < 0.005
        b = np.clip(truth + rng.normal(0, 0.003, n), *_INSIDE)
        return Rows(np.where(few, 0.05, truth), np.where(few, wrong, truth), np.where(few, other, b))

    return drawn


WORLDS: dict[str, World] = {
    "both right, one dull": _dull,
    "nearly the same, right": _noisy(0.002),
    "nearly the same, off": _noisy(0.002, slope=0.7),
    "f and f + noise .02": _noisy(0.02),
    "one shifted .1": _uniform(_same, lambda f: _bent(f, shift=0.1)),
    "one shifted .3": _uniform(_same, lambda f: _bent(f, shift=0.3)),
    "one steep 1.1": _uniform(_same, lambda f: _bent(f, 1.1)),
    "shifted apart": _uniform(lambda f: _bent(f, shift=0.2), lambda f: _bent(f, shift=-0.2)),
    "flat and steep": _uniform(lambda f: _bent(f, 1 / 1.3), lambda f: _bent(f, 1.3)),
    "10 points too high": _ten_points,
    "10 points, .6 to .9": _range,
    "rare, one × 1.4": _rare(1.4),
    "rarer, one × 2": _rare(2.0, 2, 200),
    "few rows, one right": _few_rows(1e-4, 0.05),
    "few rows, none right": _few_rows(1e-6, 1e-3),
}


@cache
def true_differences(world: str) -> dict[str, float]:
    """Of the population: errors with the chance of an outcome as its label, scores on average over outcomes."""
    rows = WORLDS[world](np.random.default_rng(0), _POPULATION)
    found = {name: METRICS[name].function(rows.truth, rows.a) - METRICS[name].function(rows.truth, rows.b) for name in ERRORS}
    for name, losses in SCORES.items():
        means = []
        for f in (rows.a, rows.b):
            zero, one = losses(np.zeros(1), f), losses(np.ones(1), f)
            with np.errstate(invalid="ignore"):
                means.append(float(np.nansum((1 - rows.truth) * zero + rows.truth * one)) / _POPULATION)
        found[name] = means[0] - means[1]
    return found


class Sample(NamedTuple):
    """One sample's difference by one metric."""

    value: float
    low: float
    high: float
    pvalue: float
    found: bool  # whether it is distinguishable, its number allowed for


def sampled(world: str, n: int, seed: int) -> dict[str, Sample]:
    """One sample."""
    rng = np.random.default_rng([seed, n, list(WORLDS).index(world)])
    rows = WORLDS[world](rng, n)
    y = (rng.random(n) < rows.truth).astype(int)
    found = compare(y, {"a": rows.a, "b": rows.b}, metrics=ALL, level=LEVEL)
    return {
        each.metric: Sample(each.value, each.low, each.high, each.pvalue, each.distinguishable) for each in found.differences
    }


def bootstrapped(world: str, n: int, seed: int, draws: int) -> dict[str, tuple[float, float]]:
    """Percentile limits from resampled pairs of rows, for comparison."""
    rng = np.random.default_rng([seed, n, list(WORLDS).index(world)])
    rows = WORLDS[world](rng, n)
    y = (rng.random(n) < rows.truth).astype(int)
    values = []
    for _ in range(draws):
        i = rng.integers(n, size=n)
        values.append([METRICS[name].function(y[i], rows.a[i]) - METRICS[name].function(y[i], rows.b[i]) for name in ERRORS])
    limits = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0).T
    return {name: (float(low), float(high)) for name, (low, high) in zip(ERRORS, limits, strict=True)}


class Cell(NamedTuple):
    """One metric in one world, at one number of rows."""

    had: list[Sample]  # with an interval
    samples: int
    found: float  # shares of samples
    significant: float
    missed: int
    limits: list[tuple[float, float]]  # of the bootstrap
    truth: float

    def line(self) -> str:
        """As a row of the table."""
        had = len(self.had)
        width = np.median([each.high - each.low for each in self.had]) if had else np.nan
        other = np.median([high - low for low, high in self.limits]) if self.limits else np.nan
        covers = np.mean([low <= self.truth <= high for low, high in self.limits]) if self.limits else np.nan
        own = 1 - self.missed / had if had else np.nan
        shares = f"{covers:8.2f}{self.significant:7.2f}{self.found:6.2f}"
        return f"{self.truth:9.4f}{own:8.3f}{1 - had / self.samples:6.2f}{width:8.4f}{other:8.4f}{shares}"


def cell_of(name: str, truth: float, found: list[dict[str, Sample]], resampled: list[dict[str, tuple[float, float]]]) -> Cell:
    """Counts of one metric."""
    own = [each[name] for each in found]
    had = [each for each in own if np.isfinite(each.low)]
    return Cell(
        had=had,
        samples=len(own),
        found=float(np.mean([each.found for each in own])),
        significant=float(np.mean([each.pvalue < 1 - LEVEL for each in own])),
        missed=sum(not each.low - 1e-12 <= truth <= each.high + 1e-12 for each in had),
        limits=[each[name] for each in resampled if name in each],
        truth=truth,
    )


@click.command()
@click.option("--samples", default=200, help="Samples a world.")
@click.option("--rows", "sizes", type=int, default=(1000, 5000), multiple=True, help="Rows of a sample.")
@click.option("--bootstrap", default=20, help="Samples a world that are bootstrapped too.")
@click.option("--draws", default=99, help="Draws of the bootstrap.")
@click.option("--world", "worlds", multiple=True, help="Only worlds whose name begins so.")
def main(samples: int, sizes: tuple[int, ...], bootstrap: int, draws: int, worlds: tuple[str, ...]) -> None:
    """Coverage, width beside the paired bootstrap's, and power; what covers too rarely is marked."""
    chosen = [name for name in WORLDS if not worlds or name.startswith(worlds)]
    cells, blamed = len(chosen) * len(sizes) * len(ALL), 0
    head = ("truth", 9), ("covers", 8), ("none", 6), ("width", 8), ("boot", 8), ("covers", 8), ("p<.05", 7), ("Holm", 6)
    click.echo(f"{'world, rows, metric':54}" + "".join(f"{title:>{width}}" for title, width in head))
    for world in chosen:
        truth = true_differences(world)
        for n in sizes:
            found = [sampled(world, n, seed) for seed in range(samples)]
            resampled = [bootstrapped(world, n, seed, draws) for seed in range(min(bootstrap, samples))]
            for name in ALL:
                cell = cell_of(name, truth[name], found, resampled)
                too_often = bool(cell.had) and cell.missed > most(len(cell.had), 1 - LEVEL, cells)
                blamed += too_often
                click.echo(f"{world:26}{n:>7} {name:20}{cell.line()}{'  too rarely' if too_often else ''}")
            one = np.mean([any(each[name].found for name in ERRORS) for each in found])
            click.echo(f"{world:26}{n:>7} {'any error':20}{'':54}{one:6.2f}")
    limit = most(samples, 1 - LEVEL, cells)
    click.echo(
        f"{blamed} of {cells} cells cover too rarely: more than {limit} misses in {samples} samples where all have intervals,"
    )
    click.echo(f"which {100 * LEVEL:g} % coverage everywhere gives any cell with probability 0.05 at most.")


if __name__ == "__main__":
    main()
