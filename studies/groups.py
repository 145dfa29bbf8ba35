"""Tests of many groups: how often a calibrated one is blamed, and how often the one that is off is found."""

from typing import Any

import numpy as np

from studies import harder
from studies.share import Share
from trueness import group_tests

ALPHA = 0.05
GROUPS = (5, 20, 100, 300, 1_000)
EACH = 100  # rows
WORLDS = ("uniform", "Beta(1,20)")


def cells() -> list[dict[str, Any]]:
    """Every cell of the table; n is the number of groups."""
    return [{"scores": world, "bad": bad, "n": m} for world in WORLDS for bad in (0, 1) for m in GROUPS]


def once(cell: dict[str, Any], seed: int) -> dict[str, bool]:
    """Whether a calibrated group is blamed in one sample, and whether the bad one is found."""
    rng, m = np.random.default_rng(seed), cell["n"]
    f = harder.WORLDS[cell["scores"]].parts[0].score(rng.random((m, EACH)))
    expected = f.copy()
    if cell["bad"]:
        expected[0] = np.minimum(f[0] + 0.5 * np.sqrt(f[0] * (1 - f[0])), 1)  # off by half an outcome's spread
    y = (rng.random(f.shape) < expected).astype(int)
    tests = group_tests(y.ravel(), f.ravel(), by=np.repeat(np.arange(m), EACH), rng=seed)
    small = [each.adjusted_pvalue is not None and each.adjusted_pvalue <= ALPHA for each in tests]
    blamed = {"a calibrated group is blamed": any(small[cell["bad"] :])}
    return blamed | ({"the one bad group is found": small[0]} if cell["bad"] else {})


def shares(cell: dict[str, Any], what: str, values: list[bool]) -> list[Share]:
    """Samples in which it happened."""
    share = Share(
        table="groups",
        what=what,
        world=cell["scores"],
        truth="one bad group" if cell["bad"] else "all calibrated",
        n=cell["n"],
        events=sum(values),
        trials=len(values),
        at_most=ALPHA if what.startswith("a calibrated") else None,
    )
    return [share]
