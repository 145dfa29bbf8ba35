"""How often each test finds a model that is off, beside two classical tests."""

from typing import Any

import numpy as np
from scipy.stats import chi2, norm

from studies.share import Share
from studies.size import TESTS
from studies.worlds import truth
from trueness.data.sample import as_sample
from trueness.inference.evidence import evidence

ALPHA = 0.05
ROWS = (300, 1_000, 3_000)
TRUTHS = ("calibrated", "shift", "slope .9", "slope .6", "wave")
PEERS = ("Spiegelhalter", "Hosmer-Lemeshow")


def cells() -> list[dict[str, Any]]:
    """Every cell of the table."""
    return [{"truth": name, "n": n} for name in TRUTHS for n in ROWS]


def spiegelhalter(y: Any, f: Any) -> float:
    """Two-sided normal test of the Brier score's linear part."""
    weight = 1 - 2 * f
    z = np.sum((y - f) * weight) / np.sqrt(np.sum(weight**2 * f * (1 - f)))
    return float(2 * norm.sf(abs(z)))


def hosmer_lemeshow(y: Any, f: Any, groups: int = 10) -> float:
    """Chi-square over groups of equal size; no parameter was fitted, so the degrees of freedom are the groups."""
    order = np.argsort(f, kind="stable")
    total = 0.0
    for part in np.array_split(order, groups):
        variance = np.sum(f[part] * (1 - f[part]))
        total += np.sum(y[part] - f[part]) ** 2 / variance
    return float(chi2.sf(total, groups))


def once(cell: dict[str, Any], seed: int) -> dict[str, float]:
    """p-values of one sample with uniform scores."""
    rng = np.random.default_rng(seed)
    f = rng.random(cell["n"])
    y = (rng.random(cell["n"]) < truth(cell["truth"], f, (1.0, 1.0))).astype(int)
    results = evidence(as_sample(y, f), metrics=TESTS, intervals=False, rng=seed)
    ours = {name: each.test.pvalue for name, each in zip(TESTS, results, strict=True) if each.test}
    return ours | {"Spiegelhalter": spiegelhalter(y, f), "Hosmer-Lemeshow": hosmer_lemeshow(y, f)}


def shares(cell: dict[str, Any], what: str, values: list[float]) -> list[Share]:
    """Rejections at 0.05, of models that are off and of one that is not."""
    events = sum(p <= ALPHA for p in values)
    return [
        Share(table="power", what=what, world="uniform", truth=cell["truth"], n=cell["n"], events=events, trials=len(values))
    ]
