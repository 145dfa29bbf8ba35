"""Figures 4 and 5: how far ECE is from LS-ECE and SmoothECE over seven models on ImageNet, mean ± one standard deviation."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.findings import Finding, claim
from reproductions.lab import Lab
from reproductions.logit_smoothing.classifiers import BINS, CLOSE, Rows, Sweep, read, smoothed, sweep
from reproductions.style import BLUE, GREEN, ORANGE, VERMILION

MODELS = {
    "EfficientNet-B1": "imagenet_efficientnet_b1.csv.gz",
    "MobileNetV3-L": "imagenet_mobilenetv3_large_100.csv.gz",
    "ResNet-34": "imagenet_resnet34.csv.gz",
    "Inception-v3 (tf)": "imagenet_tf_inception_v3.csv.gz",
    "DenseNet-161": "imagenet_tv_densenet161.csv.gz",
    "Inception-v3 (tv)": "imagenet_tv_inception_v3.csv.gz",
    "ResNet-101": "imagenet_tv_resnet101.csv.gz",
}
MEASURES = {"gaussian": "LS-ECE, Gaussian noise", "uniform": "LS-ECE, uniform noise", "smooth": "SmoothECE"}

Away = Mapping[str, Floats]  # |ECE − measure| in points, by model and bins


def figures_4_and_5(lab: Lab) -> Iterator[Finding]:
    """Binned ECE against LS-ECE with either noise, and against SmoothECE."""
    rows = read(lab, MODELS)
    sweeps = {name: sweep(rows[name]) for name in lab.steps(list(rows))}
    binned = np.array([seen.binned for seen in sweeps.values()])
    away = {
        "gaussian": np.abs(binned - np.array([seen.gaussian for seen in sweeps.values()])),
        "uniform": np.abs(binned - np.array([seen.uniform for seen in sweeps.values()])),
        "smooth": np.abs(binned - np.array([[seen.smooth] for seen in sweeps.values()])),
    }
    top = 1.05 * max(float((part.mean(axis=0) + part.std(axis=0)).max()) for part in away.values())
    for number, noise in (("4", "gaussian"), ("5", "uniform")):
        with lab.figure(f"figure-{number}", width=5.8, height=3.6) as figure:
            _draw_means(figure, away, noise, top)
    with lab.figure("figure-4-models", width=8.6, height=4.4) as figure:
        _draw_models(figure, sweeps)
    yield from _means(away, float(binned.mean()))
    yield from _every_model(lab, rows, away)
    yield _one_bin(rows, away["gaussian"][:, 0])
    yield from _either_noise(lab, rows, binned, away)
    yield from _best(sweeps)


def _means(away: Away, level: float) -> Iterator[Finding]:
    """The figures' curves from 10 bins, and at 1 bin where they stay low."""
    for kind, name in MEASURES.items():
        number = 5 if kind == "uniform" else 4
        mean, spread = away[kind].mean(axis=0), away[kind].std(axis=0)
        worst = 1 + int(mean[1:].argmax())
        yield claim(
            f"Figure {number}: |ECE − {name}|, 10 to 100 bins",
            "near-identical",
            f"at most {mean[worst]:.2f} ± {spread[worst]:.2f} points, at {BINS[worst]} bins; ECE is {level:.1f} on average",
            holds=bool(mean[1:].max() < CLOSE),
        )
        if kind != "gaussian":
            yield claim(
                f"Figure {number}: |ECE − {name}|, 1 bin",
                "near-identical",
                f"{mean[0]:.2f} ± {spread[0]:.2f} points",
                holds=bool(mean[0] < CLOSE),
            )


def _one_bin(rows: Mapping[str, Rows], away: Floats) -> Finding:
    """σ = 1: LS-ECE of perfect models with the same confidences says what the noise does by itself."""
    alone, less = (
        100 * np.array([trueness.logit_smoothed_ece(part.f, part.f, bandwidth=sigma) for part in rows.values()])
        for sigma in (1.0, 0.1)
    )
    return claim(
        "Figure 4: |ECE − LS-ECE, Gaussian noise|, 1 bin, σ = 1",
        "near-identical",
        f"{away.mean():.2f} ± {away.std():.2f} points",
        holds=bool(away.mean() < CLOSE),
        why="Noise of σ = 1 miscalibrates by itself: with the labels replaced by the confidences, which makes each model "
        f"perfect, LS-ECE is {alone.min():.1f} to {alone.max():.1f} points at σ = 1, and at most {less.max():.2f} at σ = 0.1.",
    )


def _every_model(lab: Lab, rows: Mapping[str, Rows], away: Away) -> Iterator[Finding]:
    """The text says near-identical for all models, not on average."""
    names = list(rows)
    for kind, name in MEASURES.items():
        worst = int(away[kind][:, 1:].max(axis=1).argmax())
        place = 1 + int(away[kind][worst, 1:].argmax())
        yield claim(
            f"|ECE − {name}| of every model, 10 to 100 bins",
            "near-identical",
            f"at most {away[kind][worst, place]:.2f} points: {names[worst]}, {BINS[place]} bins",
            holds=bool(away[kind][worst, place] < CLOSE),
            why=_floors(lab, rows[names[worst]], BINS[place]) if kind == "uniform" else "",
        )


def _floors(lab: Lab, rows: Rows, bins: int) -> str:
    """What chance adds: the measures' means if the confidences were right."""

    def floor(metric: Any, **options: Any) -> float:
        settings: dict[str, Any] = {"metric": metric, "options": options, "resamples": 20, "rng": lab.rng("noise floor")}
        return 100 * trueness.noise_floor(rows.y, rows.f, **settings)

    narrow = floor("logit_smoothed_ece", bandwidth=1 / bins, noise="uniform")
    wide = floor("logit_smoothed_ece", bandwidth=1 / bins)
    return (
        "So narrow a window holds few images, and chance shows: were the confidences right, LS-ECE would be "
        f"{narrow:.2f} points with uniform noise, {wide:.2f} with Gaussian noise of the same σ, which is √12 times as wide, "
        f"and ECE {floor('binned_ece', bins=bins):.2f}."
    )


def _either_noise(lab: Lab, rows: Mapping[str, Rows], binned: Floats, away: Away) -> Iterator[Finding]:
    """Appendix D: does the distribution of the noise matter?"""
    goal, rng = away["gaussian"].mean(axis=0), lab.rng("published kernel")
    apart = np.abs(away["uniform"].mean(axis=0) - goal)
    as_wide = np.array([smoothed(part, "uniform", widened=math.sqrt(12)) for part in rows.values()])
    alike = np.abs(np.abs(binned - as_wide).mean(axis=0) - goal)
    as_coded = np.array([[100 * wide_kernel(part, 1 / bins, rng) for bins in BINS] for part in rows.values()])
    coded = np.abs(np.abs(binned - as_coded).mean(axis=0) - goal)
    yield claim(
        "Figure 5 against Figure 4, 10 to 100 bins",
        "essentially the same",
        f"means differ by at most {apart[1:].max():.2f} points",
        holds=bool(apart[1:].max() < CLOSE),
    )
    yield claim(
        "Figure 5 against Figure 4, 1 bin, σ = 1",
        "essentially the same",
        f"{away['uniform'][:, 0].mean():.2f} and {away['gaussian'][:, 0].mean():.2f} points",
        holds=bool(apart[0] < CLOSE),
        why="Uniform noise of width σ has a standard deviation of σ/√12, less than a third of the Gaussian's: next line.",
    )
    yield claim(
        "Figure 5 with uniform noise of width √12·σ, as wide as the Gaussian",
        "essentially the same",
        f"means differ by at most {alike.max():.2f} points from 1 to 100 bins",
        holds=bool(alike.max() < CLOSE),
    )
    yield claim(
        "Figure 5 with the published code's kernel, twice as wide as its noise, 10 to 100 bins",
        "essentially the same",
        f"means differ by at most {coded[1:].max():.2f} points (at 1 bin {coded[0]:.2f})",
        holds=bool(coded[1:].max() < CLOSE),
    )


def wide_kernel(rows: Rows, sigma: float, rng: np.random.Generator, draws: int = 10_000) -> float:
    """LS-ECE from draws as the published code has it: uniform noise on ±σ/2, but a kernel on ±σ."""
    from scipy.special import expit, logit

    h = logit(np.clip(rows.f, 1e-10, 1 - 1e-10))
    order = np.argsort(h)
    ones = np.concatenate([[0.0], np.cumsum(rows.y[order])])
    u = rng.choice(h, draws) + sigma * rng.uniform(-0.5, 0.5, draws)
    low, high = np.searchsorted(h[order], u - sigma, "left"), np.searchsorted(h[order], u + sigma, "right")
    return float(np.abs((ones[high] - ones[low]) / (high - low) - expit(u)).mean())


def _best(sweeps: Mapping[str, Sweep]) -> Iterator[Finding]:
    """Section 6.2.1 says so of three models on CIFAR."""
    names = list(sweeps)
    ece, smooth = (np.array([getattr(seen, kind) for seen in sweeps.values()]) for kind in ("binned", "gaussian"))
    by_ece, by_smooth = ([names[i] for i in values.argmin(axis=0)] for values in (ece, smooth))
    narrow = sorted({*by_ece[1:], *by_smooth[1:]})
    yield claim(
        "best calibrated of the seven, by ECE and LS-ECE, 10 to 100 bins",
        "consistent",
        " or ".join(narrow),
        holds=len(narrow) == 1,
    )
    first, second = np.sort(smooth[:, 0])[:2]
    yield claim(
        "the same with 1 bin, σ = 1",
        "consistent",
        f"{by_ece[0]} by ECE, {by_smooth[0]} by LS-ECE",
        holds=by_ece[0] == by_smooth[0],
        why=f"By LS-ECE the two are {second - first:.2f} points apart there, in values ({first:.2f} and {second:.2f}) that are "
        "mostly the noise's own.",
    )


def _draw_means(figure: Any, away: Away, noise: str, top: float) -> None:
    ax = figure.subplots()
    for kind, color, mark in ((noise, VERMILION, "s--"), ("smooth", GREEN, "o-")):
        mean, spread = away[kind].mean(axis=0), away[kind].std(axis=0)
        ax.fill_between(BINS, np.maximum(mean - spread, 0), mean + spread, color=color, alpha=0.2, linewidth=0)
        ax.plot(BINS, mean, mark, color=color, markersize=4, label=f"ECE and {MEASURES[kind]}")
    ax.set_title("seven models on ImageNet, mean ± one standard deviation")
    ax.set_xlim(0, 101)
    ax.set_ylim(0, top)
    ax.set_xlabel("bins (1/σ)")
    ax.set_ylabel("absolute difference (points)")
    ax.legend(loc="upper right")


def _draw_models(figure: Any, sweeps: Mapping[str, Sweep]) -> None:
    panels = figure.subplots(2, 4, sharex=True)
    for ax, (name, seen) in zip(panels.flat, sweeps.items(), strict=False):
        ax.plot(BINS, seen.uniform, "^:", color=ORANGE, markersize=3, label="LS-ECE, uniform noise")
        ax.plot(BINS, seen.gaussian, "s--", color=VERMILION, markersize=3, label="LS-ECE, Gaussian noise")
        ax.plot(BINS, seen.binned, "o-", color=BLUE, markersize=3, label="binned ECE")
        ax.axhline(seen.smooth, color=GREEN, linestyle="-.", linewidth=1.2, zorder=1, label="SmoothECE")
        ax.set_title(name)
        ax.set_ylim(0, 1.15 * max(seen.binned.max(), seen.gaussian.max()))
    for ax in (*panels[1, :3], panels[0, 3]):
        ax.set_xlabel("bins (1/σ)")
        ax.tick_params(labelbottom=True)
    for ax in panels[:, 0]:
        ax.set_ylabel("calibration error (%)")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    panels[1, 3].set_axis_off()
    panels[1, 3].legend(handles, labels, loc="center")
