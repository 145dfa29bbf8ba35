"""How often each interval holds the truth, and how wide it is."""

from functools import cache
from typing import Any

import numpy as np

from studies.worlds import SHAPES, TRUTHS, population, truth
from trueness import confidence_interval
from trueness.data.sample import as_sample
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
FURTHER = ("weights", "soft labels")
SLOW = {"weak_calibration_error": ("weak_calibration_error", {})}
BOOTSTRAP = ("binned_ece", "smooth_ece", "ecce_r")


def cells() -> list[dict[str, Any]]:
    """Every cell of the table."""
    plain = [{"scores": scores, "truth": name, "n": n} for scores in SHAPES for name in TRUTHS for n in ROWS]
    further = [{"scores": f"uniform, {kind}", "truth": name, "n": n} for kind in FURTHER for name in TRUTHS for n in ROWS[:4]]
    return plain + further


@cache
def true_value(scores: str, name: str, which: str) -> float:
    """The metric of the population."""
    metric, options = (INTERVALS | SLOW)[which]
    y, f = population(scores, name)
    return float(METRICS[metric].function(y, f, **options))


def once(cell: dict[str, Any], seed: int, *, kind: str) -> dict[str, tuple[bool, float]]:
    """Whether each interval of one sample holds the truth, and its width. Kinds: auto, slow, bootstrap."""
    rng = np.random.default_rng(seed)
    scores, _, further = cell["scores"].partition(", ")
    shape = SHAPES[scores]
    f = rng.beta(*shape, cell["n"])
    eta = truth(cell["truth"], f, shape)
    y: Any = (rng.random(cell["n"]) < eta).astype(int)
    if further == "soft labels":
        y = rng.beta(5 * eta + 1e-9, 5 * (1 - eta) + 1e-9)
    w = rng.exponential(1, cell["n"]) if further == "weights" else None
    if kind == "bootstrap":
        intervals = {
            name: confidence_interval(y, f, metric=name, method="bootstrap", rng=seed, sample_weight=w) for name in BOOTSTRAP
        }
    else:
        metrics = INTERVALS if kind == "auto" else SLOW
        results = evidence(as_sample(y, f, w), metrics=list(metrics.values()), rng=seed, tests=False)
        intervals = {name: result.interval for name, result in zip(metrics, results, strict=True) if result.interval}
    checked = {}
    for name, interval in intervals.items():
        # With quantile bins the target is given these scores and bins.
        given = (
            METRICS["binned_ece"].function(eta, f, strategy="quantile", sample_weight=w) if name.endswith("quantile") else None
        )
        target = true_value(scores, cell["truth"], name) if given is None else given
        checked[name] = (bool(interval.low - 1e-12 <= target <= interval.high + 1e-12), interval.high - interval.low)
    return checked
