"""How often each test rejects a calibrated model."""

from typing import Any

import numpy as np

from studies import harder
from studies.share import Share
from studies.worlds import SCORES
from trueness import calibration_test
from trueness.data.sample import as_sample
from trueness.inference.evidence import evidence

ALPHAS = (0.05, 0.01, 0.001)
ROWS = (50, 100, 300, 1_000, 10_000, 100_000)
WORLDS = (*SCORES, "weights", "soft")
TESTS = ("ecce_r", "ecce_mad", "binned_ece", "smooth_ece", "logit_smoothed_ece")
CUMULATIVE = TESTS[:2]
CONTINUOUS = {"weights", "soft"} | {name for name, scores in SCORES.items() if scores.continuous}

# Worlds as hard as were found; the numbers of rows at which they are.
HARDER: dict[str, tuple[int, ...]] = {
    "uniform": (10, 20, 40),
    "Beta(1,20)": (10, 20, 40),
    "mixed labels": (200, 1_000),
    "soft, rare": (200, 600, 2_000),
    "soft, small variance": (200, 1_000),
    "saturated": (200,),
    "atoms and continuum": (40, 200, 1_000),
    "Pareto weights": (200, 1_000, 5_000),
    "heavy weights, f = 0": (200, 1_000),
    **dict.fromkeys(harder.RESAMPLED, (40, 200, 1_000)),
    **dict.fromkeys(harder.CLUSTERED, (300, 3_000)),
}
HARDER_ALPHAS = ALPHAS[:2]
HARDER_TESTS = (*CUMULATIVE, "combined")
RESAMPLES = 499  # of the combined test


def cells() -> list[dict[str, Any]]:
    """Every cell of the table."""
    return [{"scores": world, "n": n} for world in WORLDS for n in ROWS]


def cells_but_soft() -> list[dict[str, Any]]:
    """Those whose outcomes can be drawn."""
    return [cell for cell in cells() if cell["scores"] != "soft"]


def harder_cells() -> list[dict[str, Any]]:
    """Cells of the harder worlds; their numbers do not depend on what can be drawn here."""
    return [{"scores": world, "n": n} for world, numbers in HARDER.items() for n in numbers]


def rows(world: str, n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Outcomes of a calibrated model, its predictions, and weights."""
    f = SCORES[world].draw(rng, n) if world in SCORES else rng.random(n)
    if world == "soft":
        return rng.beta(5 * f + 1e-9, 5 * (1 - f) + 1e-9), f, None
    return (rng.random(n) < f).astype(int), f, np.exp(rng.standard_normal(n)) if world == "weights" else None


def once(cell: dict[str, Any], seed: int) -> dict[str, float]:
    """p-values of the cumulative tests of one sample."""
    y, f, w = rows(cell["scores"], cell["n"], np.random.default_rng(seed))
    return {name: calibration_test(y, f, sample_weight=w, statistic=name, rng=seed).pvalue for name in CUMULATIVE}


def once_every(cell: dict[str, Any], seed: int) -> dict[str, float]:
    """p-values of every test of one sample."""
    y, f, w = rows(cell["scores"], cell["n"], np.random.default_rng(seed))
    results = evidence(as_sample(y, f, w), metrics=TESTS, intervals=False, rng=seed)
    return {name: each.test.pvalue for name, each in zip(TESTS, results, strict=True) if each.test}


def once_harder(cell: dict[str, Any], seed: int) -> dict[str, float]:
    """p-values of one sample of a harder world; none where it cannot be drawn here, or its clusters cannot be told."""
    drawn = harder.sample(cell["scores"], cell["n"], seed)
    if drawn is None:
        return {}
    given = harder.clusters(drawn) | {"sample_weight": drawn.w, "rng": seed}
    tests = HARDER_TESTS if np.isin(drawn.y, (0, 1)).all() else CUMULATIVE
    return {
        name: calibration_test(
            drawn.y, drawn.f, statistic=name, **({"resamples": RESAMPLES} if name == "combined" else {}), **given
        ).pvalue
        for name in tests
    }


def shares(cell: dict[str, Any], what: str, values: list[float]) -> list[Share]:
    """Rejections of a cell at every level."""
    lower = cell["scores"] in CONTINUOUS and cell["n"] >= 300
    return [_share("size", cell, what, values, alpha, 0.7 * alpha if lower else None) for alpha in ALPHAS]


def harder_shares(cell: dict[str, Any], what: str, values: list[float]) -> list[Share]:
    """Rejections of a cell of the harder worlds."""
    return [_share("size, harder", cell, what, values, alpha, None) for alpha in HARDER_ALPHAS]


def _share(table: str, cell: dict[str, Any], what: str, values: list[float], alpha: float, least: float | None) -> Share:
    return Share(
        table=table,
        what=f"{what}, α = {alpha}",
        world=cell["scores"],
        n=cell["n"],
        events=sum(p <= alpha + 1e-12 for p in values),
        trials=len(values),
        at_most=alpha,
        at_least=least,
    )
