"""Which of several predictors is off by less: intervals for differences on the same rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from trueness._json import plain
from trueness._types import Rng
from trueness.data.row_sample import RowSample
from trueness.errors import InputError
from trueness.inference.evidence import DEFAULT, evidence
from trueness.inference.simulation import Progress
from trueness.metrics.drawing import normal_quantile
from trueness.metrics.registry import bind
from trueness.metrics.scores import log_losses, square_losses
from trueness.options import check_level, check_seed

SCORES = {"brier_score": square_losses, "log_loss": log_losses}
_FEWEST = 10  # events, and rows without one, from which a mean difference is about normal


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How much larger a metric is for predictor a than for predictor b, with the range the data allow."""

    metric: str
    a: str
    b: str
    value_a: float
    value_b: float
    low: float
    high: float
    level: float
    method: str

    @property
    def value(self) -> float:
        """The difference of the two values."""
        return self.value_a - self.value_b

    @property
    def distinguishable(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0

    def __repr__(self) -> str:
        limits = f"{self.level:.4g} interval {self.low:.4g} to {self.high:.4g}"
        words = f"{self.metric}: {self.a} − {self.b} = {self.value:.4g}, {limits}"
        if math.isnan(self.low):
            return f"{self.metric}: {self.a} − {self.b} = {self.value:.4g}, no interval ({self.method})"
        return words if self.distinguishable else f"{words}: not distinguishable"

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary; None where a number is not finite."""
        fields = asdict(self) | {"value": self.value, "distinguishable": self.distinguishable}
        return {name: plain(value) for name, value in fields.items()}


def differences(
    predictions: Mapping[str, RowSample],
    *,
    metrics: Sequence[str] = (*DEFAULT, *SCORES),
    level: float = 0.95,
    rng: Rng = None,
    progress: Progress | None = None,
) -> list[Difference]:
    """Every metric's difference for every pair of predictors on the same rows, each with an interval of its own level.

    A difference of calibration errors gets [L_a − U_b, U_a − L_b] from intervals whose errors add up to that of the level:
    valid always, also when both are calibrated, and wide. Scores are means over rows: a paired normal interval.
    """
    alpha, seed = 1 - check_level(level), check_seed(rng)
    if len(predictions) < 2:
        raise InputError(f"predictions: {len(predictions)} given. Pass at least two predictors to compare.")
    errors = [name for name in metrics if name not in SCORES]
    for name in errors:
        bind(name, None, what="metrics").require_interval()
    seeds = np.random.SeedSequence(seed).generate_state(len(predictions), np.uint64) >> np.uint64(1)
    limits = {}
    for number, (name, data) in enumerate(predictions.items()):
        results = evidence(data, metrics=errors, level=1 - alpha / 2, tests=False, rng=int(seeds[number])) if errors else []
        limits[name] = {metric: each.interval for metric, each in zip(errors, results, strict=True)}
        if progress is not None:
            progress(number + 1, len(predictions))
    result = []
    for metric in metrics:
        for a, b in combinations(predictions, 2):
            pair: dict[str, Any] = {"metric": metric, "a": a, "b": b, "level": 1 - alpha}
            if metric in SCORES:
                result.append(Difference(**pair, **_paired(metric, predictions[a], predictions[b], alpha)))
            else:
                result.append(Difference(**pair, **_bounded(limits[a][metric], limits[b][metric])))
    return result


def _bounded(a: Any, b: Any) -> dict[str, Any]:
    method = "limits of both intervals" if not math.isnan(a.low + b.low) else a.method
    return {"value_a": a.value, "value_b": b.value, "low": a.low - b.high, "high": a.high - b.low, "method": method}


def _paired(metric: str, a: RowSample, b: RowSample, alpha: float) -> dict[str, Any]:
    loss_a, loss_b = (SCORES[metric](each.arrays.y.astype(np.float64), each.arrays.f) for each in (a, b))
    w = np.ones(len(loss_a)) if a.arrays.w is None else a.arrays.w
    total = float(w.sum())
    values = {"value_a": float((w * loss_a).sum()) / total, "value_b": float((w * loss_b).sum()) / total}
    if not all(map(math.isfinite, values.values())):
        gap_is = values["value_a"] - values["value_b"]  # infinite where one is, not a number where both are
        return {**values, "low": gap_is, "high": gap_is, "method": "an event of predicted probability 0 was observed"}
    y = a.arrays.y
    rarer = len(y) if a.arrays.soft else min(int((y > 0).sum()), int((y == 0).sum()))
    if rarer < _FEWEST:
        return {**values, "low": math.nan, "high": math.nan, "method": f"too few outcomes of one kind: {rarer}"}
    gap = loss_a - loss_b
    mean = float((w * gap).sum()) / total
    error = normal_quantile(alpha / 2) * math.sqrt(float((w**2 * (gap - mean) ** 2).sum())) / total
    return {**values, "low": mean - error, "high": mean + error, "method": "paired normal"}
