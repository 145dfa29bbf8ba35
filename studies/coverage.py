"""How often each interval holds the truth, and how wide it is."""

from functools import cache
from typing import Any

import numpy as np

from studies.worlds import SHAPES, TRUTHS, population, truth
from trueness import confidence_interval
from trueness.inference.evidence import evidence
from trueness.metrics.registry import METRICS

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
SLOW = {"weak_calibration_error": ("weak_calibration_error", {})}
BOOTSTRAP = ("binned_ece", "smooth_ece", "ecce_r")


def cells() -> list[dict[str, Any]]:
    """Every cell of the table."""
    return [{"scores": scores, "truth": name, "n": n} for scores in SHAPES for name in TRUTHS for n in ROWS]


@cache
def true_value(scores: str, name: str, which: str) -> float:
    """The metric of the population."""
    metric, options = (INTERVALS | SLOW)[which]
    y, f = population(scores, name)
    return float(METRICS[metric].function(y, f, **options))


def once(cell: dict[str, Any], seed: int, *, kind: str) -> dict[str, tuple[bool, float]]:
    """Whether each interval of one sample holds the truth, and its width. Kinds: auto, slow, bootstrap."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[cell["scores"]]
    f = rng.beta(*shape, cell["n"])
    eta = truth(cell["truth"], f, shape)
    y = (rng.random(cell["n"]) < eta).astype(int)
    if kind == "bootstrap":
        found = {name: confidence_interval(y, f, metric=name, method="bootstrap", rng=seed) for name in BOOTSTRAP}
    else:
        wanted = INTERVALS if kind == "auto" else SLOW
        results = evidence(y, f, metrics=list(wanted.values()), rng=seed, tests=False)
        found = {name: result.interval for name, result in zip(wanted, results, strict=True) if result.interval}
    checked = {}
    for name, interval in found.items():
        # With quantile bins the target is given these scores and bins.
        given = METRICS["binned_ece"].function(eta, f, strategy="quantile") if name.endswith("quantile") else None
        target = true_value(cell["scores"], cell["truth"], name) if given is None else given
        checked[name] = (bool(interval.low - 1e-12 <= target <= interval.high + 1e-12), interval.high - interval.low)
    return checked
