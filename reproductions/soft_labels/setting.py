"""The paper's setting (section 5): inputs, the posterior as soft label, the thresholded outcome, and five models."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from scipy.special import expit

import trueness
from reproductions.arrays import Floats

MODELS: Mapping[str, str] = MappingProxyType(
    {"A": "posterior-matching", "B": "over-confident", "C": "under-confident", "D": "biased high", "E": "random"}
)
SCALE: Mapping[str, float] = MappingProxyType({"A": 1.0, "B": 3.0, "C": 0.4})  # the model's k over the true one
BIAS = 0.15  # of D
SIGNALS = (0.5, 1.0, 2.0, 5.0, 10.0, 50.0)  # the k of experiments 2 and 3
REACH = 3.0  # x ~ U(−3, 3)
BINS = 10

# Eq. 4 has bins [(b−1)/B, b/B): a prediction of exactly 1 is in none and adds nothing. Everywhere else, here too, the last
# bin is closed. The third measure is the paper's formula taken at its word; only D can tell it from the first.
METRICS = ("SMECE", "ECE", "SMECE, last bin open")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Rows of the simulation."""

    x: Floats
    soft: Floats  # σ(kx)
    hard: Floats  # 1[x ≥ 0]
    predictions: Mapping[str, Floats]


def sigmoid(z: Floats) -> Floats:
    """σ(z)."""
    return np.asarray(expit(z), dtype=np.float64)


def predict(model: str, k: float, x: Floats) -> Floats:
    """What A, B, C or D says at x (Table 1)."""
    if model == "D":
        return np.minimum(sigmoid(k * x) + BIAS, 1.0)
    return sigmoid(SCALE[model] * k * x)


def draw(rng: np.random.Generator, n: int, k: float) -> Sample:
    """Rows with what all five models say of them."""
    x = rng.uniform(-REACH, REACH, n)
    predictions = {model: predict(model, k, x) for model in "ABCD"} | {"E": rng.random(n)}
    return Sample(x=x, soft=sigmoid(k * x), hard=(x >= 0).astype(np.float64), predictions=predictions)


def measure(sample: Sample) -> Floats:
    """The three measures of the five models: one row a measure, one column a model."""
    predictions = [sample.predictions[model] for model in MODELS]
    soft = [trueness.soft_mean_ece(sample.soft, f, bins=BINS) for f in predictions]
    hard = [trueness.binned_ece(sample.hard, f, bins=BINS) for f in predictions]
    open_bin = [_last_bin_open(sample.soft, f) if f.max() == 1 else closed for f, closed in zip(predictions, soft, strict=True)]
    return np.array([soft, hard, open_bin])


def _last_bin_open(soft: Floats, f: Floats) -> float:
    """SMECE without the rows that are in no bin; the sum is still divided by n."""
    kept = f < 1
    return trueness.soft_mean_ece(soft[kept], f[kept], bins=BINS) * (np.count_nonzero(kept) / len(f))
