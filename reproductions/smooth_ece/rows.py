"""The rows of the experiments: the paper's data, and random rows for what it proves of any distribution."""

import csv
import gzip
from typing import NamedTuple

import numpy as np

from reproductions.arrays import Floats
from reproductions.lab import Lab


class Rows(NamedTuple):
    """Outcomes and predictions."""

    y: Floats
    f: Floats


def imagenet(lab: Lab) -> Rows:
    """Top class of ResNet-34 on the 50 000 validation images: was it right, and how sure was the model."""
    path = lab.file(
        "imagenet_resnet34.csv.gz",
        "columns true_label, pred_label and confidence of ResNet-34, gzipped; from the folder results of "
        "github.com/hollance/reliability-diagrams",
    )
    with gzip.open(path, "rt", newline="") as stream:
        rows = [(row["true_label"] == row["pred_label"], row["confidence"]) for row in csv.DictReader(stream)]
    return _arrays(rows)


def flares(lab: Lab) -> Rows:
    """DAFFS forecasts of a C1.0+ solar flare for each of 731 days."""
    path = lab.file("solar_flares_c1.csv", "columns DAFFS and rlz.C1; github.com/TimoDimi/replication_DGJ20")
    with open(path, newline="") as stream:
        return _arrays([(row["rlz.C1"], row["DAFFS"]) for row in csv.DictReader(stream)])


def rain(lab: Lab) -> Rows:
    """Forecasts for Tampere, 2003, of more than 0.2 mm within 24 hours; days without forecast or observation left out."""
    path = lab.file("rain_finland_2003.txt", "www.cawcr.gov.au/projects/verification/POP3/POP3.html")
    with open(path) as stream:
        days = [line.split() for line in stream.readlines()[1:] if line.strip()]
    pairs = [(float(day[3]), float(day[4])) for day in days]  # observed mm, probability of no rain; 999 and −999: missing
    # As issued: 1 − 0.9 is the float below 0.1, which bins put elsewhere.
    return _arrays([(mm > 0.2, round(1 - dry, 12)) for mm, dry in pairs if mm != 999 and dry != -999])


def _arrays(pairs: list[tuple[object, object]]) -> Rows:
    y, f = np.array(pairs, dtype=np.float64).T
    return Rows(y, f)


def timid(rng: np.random.Generator, n: int = 400) -> Rows:
    """For figure 1, whose rows the paper does not describe: predictions held back, as by too strong a penalty."""
    f = rng.random(n)
    odds = (f / (1 - f)) ** 3
    return Rows(drawn(rng, odds / (1 + odds)), f)


def sine_truth(f: Floats) -> Floats:
    """Figure 2d's line: (z + 1)/2 with z = (2f − 1) + 0.2 sin(4π(2f − 1)), which is f + 0.1 sin(8πf)."""
    x = 2 * f - 1
    return (x + 0.2 * np.sin(4 * np.pi * x) + 1) / 2


def sine(rng: np.random.Generator, n: int = 1000) -> Rows:
    """Figure 2d: uniform predictions whose outcomes follow the line."""
    f = rng.random(n)
    return Rows(drawn(rng, sine_truth(f)), f)


def calibrated(rng: np.random.Generator, n: int) -> Rows:
    """Uniform predictions that are right."""
    f = rng.random(n)
    return Rows(drawn(rng, f), f)


def drawn(rng: np.random.Generator, truth: Floats) -> Floats:
    """Outcomes with these probabilities."""
    return (rng.random(len(truth)) < truth).astype(np.float64)


def anything(rng: np.random.Generator, n: int) -> Rows:
    """Rows of a random kind.

    Predictions of a random beta law; a third of the time rounded to tenths, a third of the time with some at 0 and at 1. The
    truth is the prediction plus a random wave, of any height up to one half.
    """
    a, b = np.exp(rng.uniform(-1.5, 1.5, 2))
    f = rng.beta(a, b, n)
    kind = rng.integers(3)
    if kind == 1:
        f = np.round(f, 1)
    elif kind == 2:
        f = np.where(rng.random(n) < 0.2, np.round(f), f)
    wave = rng.uniform(0, 0.5) * np.sin(rng.uniform(1, 12) * f + rng.uniform(0, 2 * np.pi))
    return Rows(drawn(rng, np.clip(f + wave, 0, 1)), f)


def ece(rows: Rows) -> float:
    """ECE forecast by forecast: predictions that are equal, and no others, are pooled."""
    _, score_of = np.unique(np.round(rows.f, 12), return_inverse=True)
    return float(np.abs(np.bincount(score_of, rows.y - rows.f)).sum() / len(rows.f))


def sine_smooth_ece(sigma: float) -> float:
    """SmoothECE of figure 2d's distribution itself at bandwidth σ.

    The residual is 0.1 sin(8πf), whose cosine coefficients are 1.6/(π(64 − k²)) for odd k and 0 for even k; the kernel damps
    the k-th by exp(−σ²π²k²/2).
    """
    k = np.arange(1, 4 + int(9 / (np.pi * sigma)), 2)
    a = np.exp(-0.5 * (sigma * np.pi * k) ** 2) * 1.6 / (np.pi * (64 - k**2))
    t = (np.arange(4096) + 0.5) / 4096
    return float(np.abs(2 * a @ np.cos(np.pi * np.outer(k, t))).mean())


def sine_fixed_point() -> float:
    """SmoothECE of figure 2d's distribution."""
    from scipy.optimize import brentq

    return float(brentq(lambda sigma: sine_smooth_ece(sigma) - sigma, 1e-3, 0.5))
