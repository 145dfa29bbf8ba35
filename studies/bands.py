"""How often the bands and bars of reliability diagrams hold the truth."""

from typing import Any

import numpy as np

from studies import harder
from studies.share import Share
from trueness import reliability_curve

LEVEL = 0.95
PLACES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)  # shares of the scores below which the smooth band is looked at
WORLDS = ("uniform", "Beta(1,20)", "Beta(2,200)", "top label Beta(4,.7)", "Pareto weights")
TRUTHS = ("calibrated", "shift", "slope .6")
ROWS = (300, 1_000, 5_000)
BINS = {"uniform bins": "uniform", "quantile bins": "quantile"}


def cells() -> list[dict[str, Any]]:
    """Every cell of the table."""
    hard = [{"scores": scores, "truth": name, "n": n} for scores in WORLDS for name in TRUTHS for n in ROWS]
    soft = [{"scores": "soft, rare", "truth": name, "n": n} for name in ("calibrated", "x 1.5") for n in ROWS]
    return hard + soft


def once(cell: dict[str, Any], seed: int) -> dict[str, tuple[int, int]]:
    """Of the bins and of the places of one sample, how many hold the truth, and how many there are."""
    drawn = harder.sample(cell["scores"], cell["n"], seed, cell["truth"])
    if drawn is None:
        return {}
    found = {}
    for name, strategy in BINS.items():
        bars = reliability_curve(drawn.y, drawn.f, kind="binned", bins=10, strategy=strategy, sample_weight=drawn.w)
        found[name] = _bins(bars, drawn)
    curve = reliability_curve(drawn.y, drawn.f, sample_weight=drawn.w, rng=seed)
    world, expected = harder.worlds()[cell["scores"]], harder.TRUTHS[cell["truth"]]
    for place in PLACES:
        f = world.parts[0].score(np.array([place]))
        low, high = (float(np.interp(f, curve.score, band)[0]) for band in (curve.confidence_low, curve.confidence_high))
        if not np.isnan(low + high):  # drawn there
            eta = float(expected(f, np.array([place]), cell["n"])[0])
            found[f"smooth curve at {place:.0%} of the scores"] = (int(low - 1e-12 <= eta <= high + 1e-12), 1)
    return found


def _bins(bars: Any, drawn: harder.Rows) -> tuple[int, int]:
    """Bins that hold the mean of what was expected of their rows."""
    w = np.ones(len(drawn.f)) if drawn.w is None else drawn.w
    edges = np.asarray(bars.left)
    places = np.clip(np.searchsorted(edges, drawn.f, side="right") - 1, 0, len(edges) - 1)
    weight, sums = (np.bincount(places, x, minlength=len(edges)) for x in (w, w * drawn.expected))
    shown = (weight > 0) & ~np.isnan(bars.low) & ~np.isnan(bars.high)
    truth = np.divide(sums, weight, out=np.zeros_like(sums), where=weight > 0)
    inside = (bars.low - 1e-12 <= truth) & (truth <= bars.high + 1e-12)
    return int(np.count_nonzero(inside & shown)), int(np.count_nonzero(shown))


def shares(cell: dict[str, Any], what: str, values: list[Any]) -> list[Share]:
    """Bins and places that hold the truth; of the smooth band, which leaves out its own bias, nothing is claimed."""
    share = Share(
        table="bands",
        what=what,
        world=cell["scores"],
        truth=cell["truth"],
        n=cell["n"],
        events=sum(hits for hits, _ in values),
        trials=sum(trials for _, trials in values),
        at_least=LEVEL if what in BINS else None,
    )
    return [share] if share.trials else []
