"""Figure 3: one model on each of the two CIFAR data sets."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.findings import Finding, claim
from reproductions.lab import Lab
from reproductions.logit_smoothing.classifiers import BINS, CLOSE, Rows, Sweep, read, sweep
from reproductions.style import BLUE, GREEN, VERMILION

MODELS = {
    "DenseNet-40 on CIFAR-10": "cifar10_densenet40.csv.gz",
    "ResNet-110 on CIFAR-100": "cifar100_resnet110.csv.gz",
}


def figure_3(lab: Lab) -> Iterator[Finding]:
    """Binned ECE and LS-ECE, the latter as an integral and from draws."""
    rows = read(lab, MODELS)
    sweeps = {name: sweep(part) for name, part in rows.items()}
    draws = lab.either(1_000, 10_000)
    sampled = {name: _sampled(lab, name, rows[name], draws) for name in lab.steps(list(rows))}
    with lab.figure("figure-3", height=3.4) as figure:
        _draw(figure, sweeps, sampled, draws)
    for name, seen in sweeps.items():
        yield from _of_one(name, rows[name], seen)
    yield _scatter(sweeps, sampled, draws)


def _of_one(name: str, rows: Rows, seen: Sweep) -> Iterator[Finding]:
    gap = 100 * abs(float(np.mean(rows.y - rows.f)))
    yield claim(
        f"binned ECE of {name}, 1 to 100 bins",
        "nearly the same",
        f"{seen.binned.min():.2f} to {seen.binned.max():.2f} points (|ȳ − f̄| = {gap:.2f} is the least it can be)",
        holds=bool(np.ptp(seen.binned) < CLOSE),
    )
    away = np.abs(seen.gaussian - seen.binned)
    yield claim(
        f"LS-ECE of {name} beside it",
        "tracks it quite closely",
        f"{seen.gaussian.min():.2f} to {seen.gaussian.max():.2f}, away by at most {away.max():.2f} points "
        f"(from 10 bins {away[1:].max():.2f})",
        holds=bool(away.max() < CLOSE),
    )
    yield claim(
        f"SmoothECE of {name}",
        "(not in the figure)",
        f"{seen.smooth:.2f} points",
        holds=bool(np.abs(seen.smooth - seen.binned).max() < CLOSE),
    )


def _sampled(lab: Lab, name: str, rows: Rows, draws: int) -> Floats:
    """The paper's estimator, in points."""
    settings: dict[str, Any] = {"method": "monte-carlo", "draws": draws, "rng": lab.rng(name)}
    return 100 * np.array([trueness.logit_smoothed_ece(rows.y, rows.f, bandwidth=1 / bins, **settings) for bins in BINS])


def _scatter(sweeps: Mapping[str, Sweep], sampled: Mapping[str, Floats], draws: int) -> Finding:
    """What of the waviness of LS-ECE is the draws' own."""
    off = np.array([sampled[name] - seen.gaussian for name, seen in sweeps.items()])
    level = np.array([seen.gaussian for seen in sweeps.values()]) / 100
    spread = 100 * np.sqrt(level * (1 - level) / draws)  # at least the standard error: terms lie in [0, 1]
    noise = float(np.sqrt(np.mean(off**2)))
    return claim(
        f"LS-ECE from {draws} draws (the paper: 10000)",
        "more variance, of small scale",
        f"{noise:.2f} points of noise about the integral, which has none",
        holds=bool(np.all(np.abs(off) <= 4 * spread)) and noise < CLOSE,
    )


def _draw(figure: Any, sweeps: Mapping[str, Sweep], sampled: Mapping[str, Floats], draws: int) -> None:
    panels = figure.subplots(1, len(sweeps))
    for ax, (name, seen) in zip(panels, sweeps.items(), strict=True):
        ax.plot(BINS, seen.binned, "o-", color=BLUE, markersize=4, label="binned ECE")
        ax.plot(BINS, seen.gaussian, "s--", color=VERMILION, markersize=3, label="LS-ECE, integral")
        ax.plot(BINS, sampled[name], "^", color=VERMILION, markersize=5, markerfacecolor="none", label=f"LS-ECE, {draws} draws")
        ax.axhline(seen.smooth, color=GREEN, linestyle="-.", linewidth=1.2, zorder=1, label="SmoothECE")
        ax.set_title(name)
        ax.set_ylim(0, 1.3 * seen.binned.max())
        ax.set_xlabel("bins (1/σ)")
    panels[0].set_ylabel("calibration error (%)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
