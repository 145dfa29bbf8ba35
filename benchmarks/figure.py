"""How cost grows with the number of rows, as a figure."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.item import ENGINES, NUMBA, PLAIN
from benchmarks.table import Row
from trueness.plots.style import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION

_OTHERS = (VERMILION, GREEN, ORANGE, PURPLE, SKY)
_MARKERS = ("s", "^", "D", "v", "P", "X", "*", "<", ">", "h")
_PANELS = ("binned_ece", "smooth_ece", "ecce_r", ENGINES)


def draw(rows: Sequence[Row], path: Path) -> None:
    """Write the figure: time over the time of reading, by number of rows; one panel a measure, one line whoever computed it."""
    from matplotlib.figure import Figure

    panels = [name for name in _PANELS if any(row.measure == name for row in rows)]
    figure = Figure(figsize=(10.4, 3.6 * -(-len(panels) // 2)), layout="constrained")
    axes = figure.subplots(-(-len(panels) // 2), 2, sharex=True, sharey=True, squeeze=False).ravel()
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    for ax, name in zip(axes, panels, strict=False):
        found = [row for row in rows if row.measure == name and row.case == "uniform" and row.ratio is not None]
        names = list(dict.fromkeys(row.by for row in found))
        others = [by for by in names if by not in (NUMBA, PLAIN)]
        for by in names:
            line = sorted((row.rows, row.ratio or 0.0) for row in found if row.by == by)
            if by in (NUMBA, PLAIN):
                style = {"color": BLUE, "linestyle": "-" if by == NUMBA else "--", "linewidth": 2.0, "marker": "o"}
            else:
                k = others.index(by)
                style = {"color": _OTHERS[k % len(_OTHERS)], "linestyle": ":", "marker": _MARKERS[k % len(_MARKERS)]}
            ax.plot(*zip(*line, strict=True), label=by, markersize=4.5, **style)
        ax.axhline(1.0, color="0.5", linewidth=0.8)
        ax.set(xscale="log", yscale="log", title=name, xlabel="rows", ylabel="time over that of reading")
        ax.tick_params(labelbottom=True, labelleft=True)
        ax.legend(fontsize="x-small", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
