"""Figures 11–34 on held-out images: seven classifiers on ImageNet's validation set, all classes, five classes, every class.

The paper has a ResNet-18 on the 1.28 million training images. Here each class has 50 images and the networks are others, so
numbers cannot agree; what is held against the paper is its sizes, through intervals, and its statements.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import trueness
from reproductions.arrays import Floats, Ints
from reproductions.cumulative import drawing
from reproductions.cumulative.bins import STRATEGIES, ece1_and_ece2
from reproductions.cumulative.captions import CAPTIONS
from reproductions.cumulative.curves import ROUNDING
from reproductions.cumulative.laws import law_of
from reproductions.cumulative.synthetic import Sample
from reproductions.findings import Finding, claim
from reproductions.lab import Lab
from reproductions.style import BLUE, CYCLE, LINES, VERMILION

MODELS = (
    "tv_resnet101", "tv_densenet161", "tv_inception_v3", "tf_inception_v3", "resnet34", "mobilenetv3_large_100",
    "efficientnet_b1",
)  # fmt: skip
SHOWN = MODELS[0]  # torchvision's, as the paper's ResNet-18 is
ORIGIN = (
    "columns true_label, pred_label and confidence of that model, gzipped; from the folder results of "
    "github.com/hollance/reliability-diagrams, MIT, where files are named after the model alone"
)
CLASSES = {"night snake": 60, "sidewinder": 68, "Eskimo dog": 248, "wild boar": 342, "sunglasses": 837}
FEW, MANY = (2, 4, 8, 16, 32), tuple(2**power for power in range(3, 11))
SHADES = (*CYCLE, "0.35")
DASHES = (*LINES, (0, (3, 1)))


class Predictions(NamedTuple):
    """The validation images of one classifier."""

    label: Ints
    predicted: Ints
    y: Floats  # 1 where the two agree
    f: Floats

    def of(self, label: int) -> Sample:
        """The images of a class, as the paper takes them: by what they show."""
        return Sample(self.y[self.label == label], self.f[self.label == label])


def load(lab: Lab, model: str) -> Predictions:
    """A classifier's file: true label, predicted label, confidence."""
    label, predicted, f = np.loadtxt(lab.file(f"imagenet_{model}.csv.gz", ORIGIN), delimiter=",", skiprows=1, unpack=True)
    return Predictions(label.astype(np.int64), predicted.astype(np.int64), (label == predicted).astype(np.float64), f)


def load_all(lab: Lab) -> dict[str, Predictions]:
    """All seven."""
    return {model: load(lab, model) for model in MODELS}


def spreads(data: Sample, counts: Sequence[int]) -> list[float]:
    """Largest over smallest value across the numbers of bins: of ECE¹ and ECE², with both kinds of bins."""
    ratios = []
    for strategy in STRATEGIES:
        pairs = np.array([ece1_and_ece2(data, bins, strategy) for bins in counts])
        ratios += (pairs.max(axis=0) / pairs.min(axis=0)).tolist()
    return ratios


# ------------------------------------------------------------------------------------------------------- all classes


def all_images(lab: Lab) -> Iterator[Finding]:
    """Figures 31–34: all images at once."""
    networks = load_all(lab)
    for model, each in networks.items():
        error = trueness.ecce(each.y, each.f)
        x = error.range / error.sigma
        log10 = law_of("ECCE-R").logsf(x) / math.log(10)
        yield claim(
            f"Figure 34, {model}: ECCE-MAD, ECCE-R and p",
            "0.03306 = 111.7 σ_n both; zero to double precision",
            f"{error.mad:.5f} = {error.mad / error.sigma:.2f} σ_n, {error.range:.5f} = {x:.2f} σ_n; 10^{log10:.3f}",
            holds=log10 < math.log10(ROUNDING) and error.range < 1.01 * error.mad,
        )
    yield _narrow(networks)
    yield _top_third(networks)
    _draw_panels(
        lab, "figures-31-34", Sample(networks[SHOWN].y, networks[SHOWN].f), 128, MANY, f"all classes, {SHOWN}, n = 50,000"
    )
    _draw_all_networks(lab, networks)


def _narrow(networks: dict[str, Predictions]) -> Finding:
    """The same statement for all classes and for single ones."""
    all_of_them = np.array([spreads(Sample(each.y, each.f), MANY) for each in networks.values()])
    single = np.array([spreads(each.of(label), FEW) for each in networks.values() for label in CLASSES.values()])
    return claim(
        "Figures 31 and 11–27: largest over smallest ECE as m varies, m = 8…1024 for all classes, 2…32 for one",
        "narrow for all classes, wide for each single one",
        f"median of seven networks {np.median(all_of_them):.2f} (up to {all_of_them.max():.2f}) against "
        f"{np.median(single):.2f} (up to {single.max():.1f})",
        holds=bool(np.median(all_of_them) < np.median(single)),
    )


def _top_third(networks: dict[str, Predictions]) -> Finding:
    gaps = {}
    for model, each in networks.items():
        top = each.f >= np.quantile(each.f, 2 / 3)
        f = each.f[top]
        gaps[model] = (float(f.min()), float((each.y[top] - f).mean()), math.sqrt(float(np.sum(f * (1 - f)))) / len(f))
    return claim(
        "Figure 34: the third with the highest scores",
        "from 0.97 up, well calibrated",
        "; ".join(f"{model} from {low:.2f} up: {100 * gap:+.1f} points" for model, (low, gap, _) in gaps.items()),
        holds=None,
        why="The paper's images are those its network was trained on; these are held out, and the networks are others. The "
        "highest third of each is off by many standard errors: "
        + ", ".join(f"{gap / error:+.0f}" for _, gap, error in gaps.values())
        + f". {sum(gap < 0 for _, gap, _ in gaps.values())} of the networks are over-confident there, the others "
        "under-confident.",
    )


def _draw_all_networks(lab: Lab, networks: dict[str, Predictions]) -> None:
    with lab.figure("figure-34-all", width=7.2, height=4.4) as figure:
        ax = figure.subplots()
        ax.axhline(0, color="0.6", linewidth=0.8)
        for number, (model, each) in enumerate(networks.items()):
            curve = trueness.cumulative_curve(each.y, each.f)
            ax.plot(curve.share, curve.difference, color=SHADES[number], linestyle=DASHES[number], linewidth=1.4, label=model)
        ax.set(
            xlim=(0, 1), xlabel="share of the 50,000 images, in order of the score", ylabel="cumulative outcomes − predictions"
        )
        figure.legend(loc="outside right center")


# ------------------------------------------------------------------------------------------------------ five classes


def classes(lab: Lab) -> Iterator[Finding]:
    """Figures 11–30: the classes the paper chose."""
    networks = load_all(lab)
    told = {caption.of: caption for caption in CAPTIONS}
    for number, (name, label) in enumerate(lab.steps(list(CLASSES.items()))):
        first = 11 + 4 * number
        ends = {model: _intervals(each.of(label)) for model, each in networks.items()}
        paper = (float(told[name].mad.value), float(told[name].range.value))
        inside = [
            all(low <= value <= high for value, (_, low, high) in zip(paper, pair, strict=True)) for pair in ends.values()
        ]
        shown = [f"{value:.3f} [{low:.3f}, {high:.3f}]" for value, low, high in ends[SHOWN]]
        test = trueness.calibration_test(*networks[SHOWN].of(label), rng=0)
        yield claim(
            f"Figure {first + 3}, {name}: ECCE-MAD and ECCE-R, here of 50 held-out images with 95 % intervals, {SHOWN}",
            f"{told[name].mad.value} and {told[name].range.value} (n = 1,300)",
            f"{shown[0]}, {shown[1]}; p = {test.pvalue:.2g}; both printed values inside for {sum(inside)} of 7 networks",
            holds=inside[MODELS.index(SHOWN)],
        )
        title = f"{name}, {SHOWN}, n = 50"
        _draw_panels(lab, f"figures-{first}-{first + 3}", networks[SHOWN].of(label), 8, FEW, title)


def _intervals(data: Sample) -> list[tuple[float, float, float]]:
    intervals = [trueness.confidence_interval(*data, metric=metric, rng=0) for metric in ("ecce_mad", "ecce_r")]
    return [(each.value, each.low, each.high) for each in intervals]


def _draw_panels(lab: Lab, name: str, data: Sample, bins: int, counts: Sequence[int], title: str) -> None:
    """The four figures of a class in one: errors over m, both reliability diagrams, the cumulative plot."""
    rng = lab.rng(name)
    with lab.figure(name, width=8.2, height=7.6) as figure:
        panels = figure.subplots(2, 2)
        _draw_sweep(panels[0][0], data, counts)
        for ax, (strategy, words) in zip((panels[0][1], panels[1][0]), STRATEGIES.items(), strict=True):
            drawing.reliability(ax, *data, bins, strategy, rng)
            ax.set_title(f"{bins} bins of {words}")
        trueness.cumulative_curve(*data).plot(panels[1][1])
        figure.suptitle(f"{title}; grey: {drawing.LINES} bootstrap lines", fontsize="medium")


def _draw_sweep(ax: Any, data: Sample, counts: Sequence[int]) -> None:
    for strategy, line, marker in zip(STRATEGIES, ("-", "--"), ("o", "s"), strict=True):
        pairs = np.array([ece1_and_ece2(data, bins, strategy) for bins in counts])
        for error, color, values in zip(("ECE¹", "ECE²"), (BLUE, VERMILION), pairs.T, strict=True):
            ax.plot(
                counts,
                values,
                color=color,
                linestyle=line,
                marker=marker,
                markersize=3.5,
                label=f"{error}, {STRATEGIES[strategy]}",
            )
    drawing.powers_of_two(ax, counts, "m (number of bins)")
    ax.set_ylim(bottom=0)
    ax.set_ylabel("binned error")
    ax.legend(loc="best")


# ------------------------------------------------------------------------------------------------------- every class


def every_class(lab: Lab) -> Iterator[Finding]:
    """A test of each of the thousand classes, by what images show and by what was predicted."""
    networks = load_all(lab)
    resamples = lab.either(199, 1999)
    pvalues: dict[str, dict[str, Floats]] = {"true": {}, "predicted": {}}
    for model, each in lab.steps(list(networks.items())):
        for by, groups in (("true", each.label), ("predicted", each.predicted)):
            tests = trueness.group_tests(each.y, each.f, by=groups.tolist(), statistic="ecce_r", resamples=resamples, rng=0)
            pvalues[by][model] = np.sort([group.test.pvalue for group in tests if group.test is not None])
    for model in MODELS:
        shares = [float((pvalues[by][model] <= 0.05).mean()) for by in pvalues]
        counts = [len(pvalues[by][model]) for by in pvalues]
        yield claim(
            f"Section 3.2, {model}: classes with p ≤ 0.05, by true and by predicted class",
            "the five shown are off (5 % if none were)",
            f"{shares[0]:.1%} of {counts[0]:,} and {shares[1]:.1%} of {counts[1]:,}",
            holds=min(share - 3 * math.sqrt(0.05 * 0.95 / n) for share, n in zip(shares, counts, strict=True)) > 0.05,
        )
    yield _by_true_class()
    _draw_every_class(lab, pvalues)


def _by_true_class() -> Finding:
    """A classifier that always gives (0.6, 0.4) and is right about it.

    Calibration says how often a prediction is right, not how often an image of a known class is recognised: given the true
    class, the null hypothesis of Section 2 fails; given the predicted class it holds. Both are tested above.
    """
    label, f = np.repeat([0, 1], [600, 400]), np.full(1_000, 0.6)
    y = (label == 0).astype(np.float64)
    overall, first, second = (trueness.ecce_mad(y[part], f[part]) for part in (label >= 0, label == 0, label == 1))
    return claim(
        "Section 3.2 looks at the images of one true class: a calibrated classifier can be far off on each of them",
        "(not in the paper)",
        f"always (0.6, 0.4) for two classes of shares 0.6 and 0.4: ECCE-MAD {overall:.1g}; on its classes {first:.1f} and "
        f"{second:.1f}",
        holds=overall < 0.01 and first > 0.1 and second > 0.1,
    )


def _draw_every_class(lab: Lab, pvalues: dict[str, dict[str, Floats]]) -> None:
    with lab.figure("every-class", width=9.6, height=4.2) as figure:
        panels = figure.subplots(1, 2, sharey=True)
        for ax, (by, of) in zip(panels, pvalues.items(), strict=True):
            ax.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle=(0, (4, 3)), label="if every class were calibrated")
            for number, (model, values) in enumerate(of.items()):
                share = np.arange(1, len(values) + 1) / len(values)
                ax.step(values, share, where="post", color=SHADES[number], linestyle=DASHES[number], linewidth=1.3, label=model)
            ax.set(title=f"classes by {by} label", xlabel="p of ECCE-R", xlim=(0, 1), ylim=(0, 1.02))
        panels[0].set_ylabel("share of classes with at most this p")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center")
