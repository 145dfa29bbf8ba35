"""The soft reliability diagram (Remark 2): mean soft label against mean prediction, bin by bin."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.findings import Finding, claim
from reproductions.lab import Lab
from reproductions.soft_labels.drawing import title_of
from reproductions.soft_labels.setting import BINS, MODELS, Sample, draw, measure
from reproductions.style import BLUE, VERMILION
from trueness.plots import draw as draw_curve

# label: colour and marker of the bins
LOOKS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "against the thresholded outcome, 95 % interval": (VERMILION, "s"),
        "against the posterior (soft reliability diagram)": (BLUE, "o"),
    }
)


def soft_diagram(lab: Lab) -> Iterator[Finding]:
    """Where each model lies, against the posterior and against the thresholded outcome."""
    sample = draw(lab.rng("diagram"), 5_000, 2.0)
    excess = {model: _excess(sample, model) for model in MODELS}
    a, c, d = (excess[model] for model in "ACD")
    yield claim(
        "A lies on the diagonal", "exactly", f"largest distance {np.nanmax(np.abs(a)):.0e}", holds=not np.nan_to_num(a).any()
    )
    filled = c[~np.isnan(c)]
    low, high = filled[: len(filled) // 2], filled[len(filled) // 2 :]
    yield claim(
        "C lies symmetric about the diagonal", "yes",
        f"prediction − label {low.min():+.3f} to {low.max():+.3f} below 0.5, {high.min():+.3f} to {high.max():+.3f} above",
        holds=bool((low > 0).all() and (high < 0).all() and np.abs(low + high[::-1]).max() < 0.02),
    )  # fmt: skip
    yield claim(
        "D lies above the diagonal everywhere", "uniformly", f"prediction − label {np.nanmin(d):+.3f} to {np.nanmax(d):+.3f}",
        holds=bool(np.nanmin(d) > 0),
    )  # fmt: skip
    _draw(lab, sample)


def _excess(sample: Sample, model: str) -> Floats:
    """Mean prediction − mean soft label of each bin; NaN where a bin is empty."""
    table = trueness.reliability_curve(sample.soft, sample.predictions[model], kind="binned", bins=BINS).table()
    return np.asarray(table["prediction"] - table["outcome"], dtype=np.float64)


def _draw(lab: Lab, sample: Sample) -> None:
    soft, hard, _ = measure(sample)
    with lab.figure("soft-reliability", width=10.4, height=3.1) as figure:
        panels = figure.subplots(1, len(MODELS), sharey=True)
        for column, (ax, model) in enumerate(zip(panels, MODELS, strict=True)):
            for labels, (color, mark) in zip((sample.hard, sample.soft), LOOKS.values(), strict=True):
                curve = trueness.reliability_curve(labels, sample.predictions[model], kind="binned", bins=BINS)
                draw_curve(curve, ax, color=color, label="_curve")
                ax.containers[-1].lines[0].set_marker(mark)
            ax.set_title(f"{title_of(model)}\nSMECE {soft[column]:.4f}, ECE {hard[column]:.4f}")
            ax.set_ylabel("mean label of the bin" if column == 0 else "")
            ax.set_xlabel("mean prediction of the bin")
        _legend(figure)


def _legend(figure: Any) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], color=color, marker=mark, markersize=4, linestyle="none", label=name)
        for name, (color, mark) in list(LOOKS.items())[::-1]
    ]
    handles.append(Patch(color="black", alpha=0.45, linewidth=0, label="share of rows"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
