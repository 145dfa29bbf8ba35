"""Figures 1 and 2: the binned and the smooth diagram side by side."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.findings import Finding, claim, printed
from reproductions.lab import Lab
from reproductions.smooth_ece.kernel import ENDS_LOST, MEAN_DISTANCE, algorithm_1
from reproductions.smooth_ece.rows import Rows, ece, flares, imagenet, rain, sine, sine_fixed_point, sine_truth, timid
from reproductions.style import GREEN

BINS = range(10, 25)


def figure_1(lab: Lab) -> Iterator[Finding]:
    """Predictions that are too timid."""
    rows = timid(lab.rng("figure 1"))
    yield from _pair(lab, "figure-1", rows)
    yield _area(rows)


def figure_2a(lab: Lab) -> Iterator[Finding]:
    """ImageNet."""
    rows = imagenet(lab)
    yield printed("images", "50000", len(rows.f))
    yield claim(
        "the model",
        "ResNet32",
        f"ResNet-34, right on {100 * rows.y.mean():.2f} %",
        holds=False,
        why="a slip of the text: the results it names hold no ResNet-32, but a ResNet-34 of this accuracy.",
    )
    yield from _pair(lab, "figure-2a", rows)
    yield from _measure(rows)


def figure_2b(lab: Lab) -> Iterator[Finding]:
    """Solar flares."""
    rows = flares(lab)
    yield printed("days", "731", len(rows.f))
    yield printed("days with a flare, %", "25.7", 100 * float(rows.y.mean()))
    yield from _pair(lab, "figure-2b", rows)
    yield from _measure(rows)
    yield _sensitivity(rows)


def figure_2c(lab: Lab) -> Iterator[Finding]:
    """Rain in Tampere."""
    rows = rain(lab)
    yield printed("days", "346", len(rows.f))
    scores = np.unique(rows.f)
    between = int(np.sum(np.abs(scores * 10 - np.round(scores * 10)) > 1e-7))
    yield claim("forecasts", "multiples of 10 %", f"{len(scores)} values, {between} between tenths", holds=between == 0)
    yield from _pair(lab, "figure-2c", rows)
    yield from _measure(rows)
    yield _one_float_down(rows)
    aligned, exact = trueness.binned_ece(*rows, bins=11), ece(rows)
    yield claim(
        "bins that are aligned serve such forecasts",
        "one bin a forecast",
        f"ECE {aligned:.5f} with 11 bins, {exact:.5f} forecast by forecast",
        holds=abs(aligned - exact) < 1e-12,
    )
    value = trueness.smooth_ece(*rows)
    theirs = algorithm_1(rows, value, 0.001)
    yield claim(
        f"algorithm 1 at σ*, ε = 0.001; {int(np.isin(rows.f, (0, 1)).sum())} forecasts are 0 or 1",
        "error up to ε",
        f"{theirs:.5f}; SmoothECE is {value:.5f}",
        holds=abs(theirs - value) <= 0.001,
        why=ENDS_LOST,
    )


def figure_2d(lab: Lab) -> Iterator[Finding]:
    """A sine on the diagonal: the distribution itself, and a thousand rows of it."""
    rows = sine(lab.rng("figure 2d"))
    yield from _pair(lab, "figure-2d", rows, truth=sine_truth)
    slope = 1 - 0.8 * math.pi  # of f + 0.1 sin(8πf) at f = 1/8
    yield claim("the true line is not monotone", "falls in places", f"its slope at 1/8 is {slope:.3f}", holds=slope < 0)
    curve: Any = trueness.reliability_curve(*rows, kind="smooth")
    rising = np.diff(curve.outcome) > 0
    agree = float(np.mean(rising == (np.diff(sine_truth(curve.score)) > 0)))
    peaks = int(np.sum(rising[:-1] & ~rising[1:]))
    yield claim(
        "the smooth diagram falls there too",
        "falls in places",
        f"{peaks} peaks; rises and falls with the line on {agree:.0%}",
        holds=peaks > 0 and agree > 0.5,
    )
    population = sine_fixed_point()
    draws = [trueness.smooth_ece(*sine(lab.rng(f"figure 2d, {i}"))) for i in lab.steps(range(lab.either(50, 400)))]
    mean, spread = float(np.mean(draws)), float(np.std(draws))
    yield claim(
        "the distribution's SmoothECE is at most its ECE, 0.2/π",
        f"at most {0.2 / math.pi:.5f}",
        f"{population:.5f} (closed form)",
        holds=population <= 0.2 / math.pi,
    )
    yield claim(
        "a thousand rows come close to it",
        "plug-in estimate",
        f"{mean:.4f}, standard deviation {spread:.4f}",
        holds=abs(mean - population) < 2 * spread,
    )
    yield _area(rows)


def _pair(lab: Lab, name: str, rows: Rows, truth: Any = None) -> Iterator[Finding]:
    """Draw the two diagrams, and hold the smooth one to its own bandwidth."""
    bins = cross_validated_bins(rows)
    binned: Any = trueness.reliability_curve(*rows, kind="binned", bins=bins)
    smooth: Any = trueness.reliability_curve(*rows, kind="smooth")
    titles = (f"binned: ECE {binned.binned_ece:.3f} with {bins} bins", "smooth")
    with lab.figure(name, height=3.55) as figure:
        for ax, curve, title in zip(figure.subplots(1, 2), (binned, smooth), titles, strict=True):
            if truth is not None:
                t = np.linspace(0, 1, 400)
                ax.plot(t, truth(t), color=GREEN, linewidth=1.4, linestyle="-.", zorder=2, label="true line")
            curve.plot(ax)
            ax.set_title(title)
        figure.axes[0].get_legend().remove()  # the title and the other panel's legend say it
    yield claim(
        "the diagram is drawn at the bandwidth σ*",
        "σ* = smECE",
        f"{smooth.bandwidth:.5f}; binned beside it: ECE {binned.binned_ece:.5f} with {bins} bins",
        holds=math.isclose(smooth.bandwidth, trueness.smooth_ece(*rows), rel_tol=1e-9),
    )


def _measure(rows: Rows) -> Iterator[Finding]:
    value, exact, net = trueness.smooth_ece(*rows), ece(rows), abs(float(np.mean(rows.y - rows.f)))
    yield claim(
        "SmoothECE lies between the net error and the ECE",
        f"{net:.5f} to {exact:.5f}",
        f"{value:.5f}",
        holds=net - 1e-12 <= value <= exact + 1e-12,
    )
    yield _area(rows)


def _area(rows: Rows) -> Finding:
    value, area = trueness.smooth_ece(*rows), trueness.smooth_ece_area(*rows)
    return claim(
        "the diagram's area is about smECE: within 0.8 σ*",
        f"{value:.5f} ± {MEAN_DISTANCE * value:.5f}",
        f"{area:.5f}",
        holds=abs(area - value) <= MEAN_DISTANCE * value,
    )


def _one_float_down(rows: Rows) -> Finding:
    """Section 1, on the forecasts as floats happen to give them: 1 − p, where p is the probability of no rain."""
    floats = 1 - np.round(1 - rows.f, 12)
    binned = [trueness.binned_ece(rows.y, f, bins=10) for f in (rows.f, floats)]
    smooth = [trueness.smooth_ece(rows.y, f) for f in (rows.f, floats)]
    return claim(
        f"ECE is discontinuous: forecasts moved by {np.abs(floats - rows.f).max():.0e}, 10 bins",
        "an infinitesimal change may change it",
        f"ECE {binned[0]:.4f} to {binned[1]:.4f}; SmoothECE {smooth[0]:.4f} to {smooth[1]:.4f}",
        holds=abs(binned[1] - binned[0]) > 1e-3 and abs(smooth[1] - smooth[0]) < 1e-12,
    )


def _sensitivity(rows: Rows) -> Finding:
    values = [trueness.binned_ece(*rows, bins=bins) for bins in BINS]
    wide = max(values) / min(values) - 1
    return claim(
        f"binned ECE depends on the bins, {BINS[0]} to {BINS[-1]} of them",
        "overly sensitive",
        f"{min(values):.4f} to {max(values):.4f}, {wide:.0%} apart",
        holds=wide > 0.05,
    )


def cross_validated_bins(rows: Rows) -> int:
    """The number of bins whose means of the residual predict held-out residuals best: five folds in the order of the rows."""
    errors = [_held_out_error(rows.f, rows.y - rows.f, bins) for bins in BINS]
    return BINS[int(np.argmin(errors))]


def _held_out_error(f: Floats, residual: Floats, bins: int, folds: int = 5) -> float:
    bin_of = np.searchsorted(np.arange(1, bins) / bins, f, side="right")
    total = 0.0
    for left_out in np.array_split(np.arange(len(f)), folds):
        kept = np.ones(len(f), dtype=bool)
        kept[left_out] = False
        count = np.bincount(bin_of[kept], minlength=bins)
        mean = np.bincount(bin_of[kept], residual[kept], minlength=bins) / np.maximum(count, 1)  # 0 where a bin is empty
        total += float(np.mean((residual[left_out] - mean[bin_of[left_out]]) ** 2))
    return total / folds
