"""Image classifiers: which, their rows, and the three measures over bins and 1/σ from 1 to 100.

The paper's models are others: on CIFAR ResNet-32, VGG-16 and MobileNetV2, on ImageNet ResNet-18, ResNet-50, EfficientNet,
MobileNetV3, ViT and RegNet.
"""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.lab import Lab

ORIGIN = (
    "columns true_label, pred_label and confidence of that model, gzipped; from the folder results of "
    "github.com/hollance/reliability-diagrams, MIT, where files are named after the model alone"
)
BINS = (1, *range(10, 101, 10))
CLOSE = 1.0  # points: how "nearly the same" and "near-identical" are read

Noise = Literal["gaussian", "uniform"]


@dataclass(frozen=True, slots=True)
class Rows:
    """Whether the top class was right, and its confidence."""

    y: Floats
    f: Floats


@dataclass(frozen=True, slots=True)
class Sweep:
    """The three measures over `BINS`, in points (per cent)."""

    binned: Floats
    gaussian: Floats
    uniform: Floats
    smooth: float


def read(lab: Lab, files: Mapping[str, str]) -> dict[str, Rows]:
    """Every model's rows."""
    origin = f"of {', '.join(files.values())}: {ORIGIN}"
    paths = {name: lab.file(file, origin) for name, file in files.items()}
    classifiers = {}
    for name, path in paths.items():
        with gzip.open(path, "rt") as lines:
            true, predicted, confidence = np.loadtxt(lines, delimiter=",", skiprows=1).T
        classifiers[name] = Rows(y=(true == predicted).astype(np.float64), f=confidence)
    return classifiers


def sweep(rows: Rows) -> Sweep:
    """All bins, both kinds of noise at σ = 1/bins."""
    return Sweep(
        binned=100 * np.array([trueness.binned_ece(rows.y, rows.f, bins=bins) for bins in BINS]),
        gaussian=smoothed(rows, "gaussian"),
        uniform=smoothed(rows, "uniform"),
        smooth=100 * trueness.smooth_ece(rows.y, rows.f),
    )


def smoothed(rows: Rows, noise: Noise, widened: float = 1.0) -> Floats:
    """LS-ECE in points at σ = widened/bins."""
    values = [trueness.logit_smoothed_ece(rows.y, rows.f, bandwidth=widened / bins, noise=noise) for bins in BINS]
    return 100 * np.array(values)
