"""How often each test rejects a calibrated model."""

from typing import Any

import numpy as np

from studies.worlds import SCORES
from trueness import calibration_test
from trueness.data.sample import as_sample
from trueness.inference.evidence import evidence

ALPHAS = (0.05, 0.01, 0.001)
ROWS = (50, 100, 300, 1_000, 10_000, 100_000)
WORLDS = (*SCORES, "weights", "soft")
TESTS = ("ecce_r", "ecce_mad", "binned_ece", "smooth_ece", "logit_smoothed_ece")
CUMULATIVE = TESTS[:2]


def cells() -> list[dict[str, Any]]:
    """Every cell of the table."""
    return [{"scores": world, "n": n} for world in WORLDS for n in ROWS]


def rows(world: str, n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Outcomes of a calibrated model, its predictions, and weights."""
    f = SCORES[world].draw(rng, n) if world in SCORES else rng.random(n)
    if world == "soft":
        return rng.beta(5 * f + 1e-9, 5 * (1 - f) + 1e-9), f, None
    return (rng.random(n) < f).astype(int), f, np.exp(rng.standard_normal(n)) if world == "weights" else None


def once(cell: dict[str, Any], seed: int, *, every: bool) -> dict[str, float]:
    """p-values of one sample: of the cumulative tests, or of every test."""
    rng = np.random.default_rng(seed)
    y, f, w = rows(cell["scores"], cell["n"], rng)
    if every and cell["scores"] != "soft":
        results = evidence(as_sample(y, f, w), metrics=TESTS, intervals=False, rng=seed)
        return {name: each.test.pvalue for name, each in zip(TESTS, results, strict=True) if each.test}
    return {name: calibration_test(y, f, sample_weight=w, statistic=name, rng=seed).pvalue for name in CUMULATIVE}
