"""How often each interval holds the truth, and how wide it is."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from studies import harder
from studies.share import Share
from studies.worlds import SHAPES, TRUTHS, population, truth
from trueness import confidence_interval
from trueness.data.sample import as_sample
from trueness.inference.evidence import evidence
from trueness.metrics.registry import METRICS

LEVEL = 0.95
ROWS = (50, 200, 1_000, 5_000, 50_000)
INTERVALS: dict[str, tuple[str, dict[str, Any]]] = {
    "binned_ece": ("binned_ece", {}),
    "binned_ece, quantile": ("binned_ece", {"strategy": "quantile"}),
    "binned_ece, l2": ("binned_ece", {"norm": "l2"}),
    "soft_mean_ece": ("soft_mean_ece", {}),
    "smooth_ece": ("smooth_ece", {}),
    "logit_smoothed_ece": ("logit_smoothed_ece", {}),
    "ecce_mad": ("ecce_mad", {}),
    "ecce_r": ("ecce_r", {}),
}
FURTHER = ("weights", "soft labels")
SLOW = {"weak_calibration_error": ("weak_calibration_error", {})}
BOOTSTRAP = ("binned_ece", "smooth_ece", "ecce_r")
CLUSTERED = ("binned_ece", "smooth_ece", "ecce_r")

_FEW = (10, 20, 40)
_ORDINARY = (200, 1_000)
# Worlds as hard as were found, what is true in them, and the numbers of rows at which they are.
HARDER: tuple[tuple[str, tuple[str, ...], tuple[int, ...]], ...] = (
    ("uniform", ("calibrated", "shift", "slope .6"), _FEW),
    ("Beta(2,200)", ("calibrated", "x 1.5"), _FEW),
    ("uniform", ("step", "2 waves", "10 waves"), _ORDINARY),
    ("uniform", harder.LOCAL, (*_ORDINARY, 5_000)),
    ("mixed labels", ("calibrated", "rare events x 3"), _ORDINARY),
    ("soft, rare", ("calibrated", "x 1.5"), (200, 600)),
    ("soft, small variance", ("calibrated", "shift"), _ORDINARY),
    ("saturated", ("1.6 errors expected",), (200,)),
    ("rare outliers", ("outliers off",), (1_000,)),
    ("atoms and continuum", ("calibrated", "slope .6", "step"), _ORDINARY),
    ("Pareto weights", ("calibrated", "shift", "slope .6"), _ORDINARY),
    ("heavy weights, f = 0", (".2 too low",), (1_000,)),
    *((name, ("calibrated", "slope .6"), _ORDINARY) for name in harder.RESAMPLED),
    *((name, ("calibrated", "shift"), (1_000,)) for name in harder.CLUSTERED),
)


def cells() -> list[dict[str, Any]]:
    """Every cell of the table."""
    plain = [{"scores": scores, "truth": name, "n": n} for scores in SHAPES for name in TRUTHS for n in ROWS]
    further = [{"scores": f"uniform, {kind}", "truth": name, "n": n} for kind in FURTHER for name in TRUTHS for n in ROWS[:4]]
    return plain + further


def plain_cells() -> list[dict[str, Any]]:
    """Those of hard labels without weights."""
    return [cell for cell in cells() if cell["scores"] in SHAPES]


def harder_cells() -> list[dict[str, Any]]:
    """Cells of the harder worlds."""
    return [{"scores": world, "truth": name, "n": n} for world, truths, numbers in HARDER for name in truths for n in numbers]


@cache
def true_value(scores: str, name: str, which: str) -> float:
    """The metric of the population."""
    metric, options = (INTERVALS | SLOW)[which]
    y, f = population(scores, name)
    return float(METRICS[metric].function(y, f, **options))


@cache
def harder_value(world: str, name: str, which: str, n: int) -> float:
    """The metric of the population of a harder world."""
    metric, options = INTERVALS[which]
    y, f, w = harder.worlds()[world].population(n, harder.TRUTHS[name])
    return float(METRICS[metric].function(y, f, sample_weight=w, **options))


def given_scores(which: str) -> bool:
    """Whether the target is given these scores and bins: a bin that no row visits may be off by any amount."""
    return which.endswith(("quantile", "l2"))


def once(cell: dict[str, Any], seed: int) -> dict[str, tuple[bool, float]]:
    """Whether each interval of one sample holds the truth, and its width."""
    return _checked(cell, seed, INTERVALS)


def once_slow(cell: dict[str, Any], seed: int) -> dict[str, tuple[bool, float]]:
    """The same of the metric whose draws are slow."""
    return _checked(cell, seed, SLOW)


def once_bootstrap(cell: dict[str, Any], seed: int) -> dict[str, tuple[bool, float]]:
    """The same of the percentile bootstrap."""
    y, f, w, _ = rows(cell, seed)
    return {
        name: _hit(
            confidence_interval(y, f, metric=name, method="bootstrap", rng=seed, sample_weight=w),
            true_value(cell["scores"], cell["truth"], name),
        )
        for name in BOOTSTRAP
    }


def rows(cell: dict[str, Any], seed: int) -> tuple[Any, Any, Any, Any]:
    """Outcomes, predictions, weights, and what was expected."""
    rng = np.random.default_rng(seed)
    scores, _, further = cell["scores"].partition(", ")
    shape = SHAPES[scores]
    f = rng.beta(*shape, cell["n"])
    eta = truth(cell["truth"], f, shape)
    y: Any = (rng.random(cell["n"]) < eta).astype(int)
    if further == "soft labels":
        y = rng.beta(5 * eta + 1e-9, 5 * (1 - eta) + 1e-9)
    w = rng.exponential(1, cell["n"]) if further == "weights" else None
    return y, f, w, eta


def _checked(cell: dict[str, Any], seed: int, metrics: Mapping[str, Any]) -> dict[str, tuple[bool, float]]:
    y, f, w, eta = rows(cell, seed)
    results = evidence(as_sample(y, f, w), metrics=list(metrics.values()), rng=seed, tests=False)
    checked = {}
    for name, result in zip(metrics, results, strict=True):
        if result.interval:
            given, scores = given_scores(name), cell["scores"].partition(", ")[0]
            target = sample_value(name, eta, f, w) if given else true_value(scores, cell["truth"], name)
            checked[name] = _hit(result.interval, target)
    return checked


def sample_value(which: str, eta: Any, f: Any, w: Any) -> float:
    """The metric of what was expected of these rows."""
    metric, options = INTERVALS[which]
    return float(METRICS[metric].function(eta, f, sample_weight=w, **options))


def once_harder(cell: dict[str, Any], seed: int) -> dict[str, tuple[bool, float]]:
    """The same in a harder world; nothing where it cannot be drawn here."""
    world, name, n = cell["scores"], cell["truth"], cell["n"]
    drawn = harder.sample(world, n, seed, name)
    if drawn is None:
        return {}
    checked = {}
    for which, interval in _intervals(drawn, seed).items():
        if interval is not None and not np.isnan(interval.low):
            given = given_scores(which)
            target = sample_value(which, drawn.expected, drawn.f, drawn.w) if given else harder_value(world, name, which, n)
            checked[which] = _hit(interval, target)
    return checked


def _intervals(drawn: harder.Rows, seed: int) -> dict[str, Any]:
    if drawn.cluster is not None:
        given = {"sample_weight": drawn.w, "rng": seed, **harder.clusters(drawn)}
        return {name: confidence_interval(drawn.y, drawn.f, metric=name, **given) for name in CLUSTERED}
    sample = as_sample(drawn.y, drawn.f, drawn.w)
    results = evidence(sample, metrics=list(INTERVALS.values()), rng=seed, tests=False)
    return {name: result.interval for name, result in zip(INTERVALS, results, strict=True)}


def _hit(interval: Any, target: float) -> tuple[bool, float]:
    return bool(interval.low - 1e-12 <= target <= interval.high + 1e-12), interval.high - interval.low


def shares(cell: dict[str, Any], what: str, values: list[Any]) -> list[Share]:
    """Intervals that hold the truth."""
    return [_share("coverage", cell, what, values, LEVEL)]


def harder_shares(cell: dict[str, Any], what: str, values: list[Any]) -> list[Share]:
    """The same in the harder worlds."""
    return [_share("coverage, harder", cell, what, values, LEVEL)]


def bootstrap_shares(cell: dict[str, Any], what: str, values: list[Any]) -> list[Share]:
    """The same of the percentile bootstrap, of which nothing is claimed."""
    return [_share("bootstrap", cell, f"{what}, bootstrap", values, None)]


def _share(table: str, cell: dict[str, Any], what: str, values: list[Any], least: float | None) -> Share:
    return Share(
        table=table,
        what=what,
        world=cell["scores"],
        truth=cell["truth"],
        n=cell["n"],
        events=sum(hit for hit, _ in values),
        trials=len(values),
        at_least=least,
        width=sum(width for _, width in values) / len(values),
    )
