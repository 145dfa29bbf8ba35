"""How long one waits, by the number of rows, as a figure."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.data import DESCRIPTIONS
from benchmarks.item import NUMBA, WAITING
from benchmarks.table import Row
from trueness.plots.style import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION

_OURS = {"assess": (BLUE, "o"), "compare": (SKY, "s"), "confidence_interval": (GREEN, "^")}
_OTHERS = {"relplot": (VERMILION, "D"), "probcal": (ORANGE, "v"), "calibre": (PURPLE, "P")}


def draw(rows: Sequence[Row], path: Path) -> None:
    """Write the figure: seconds of waiting, one panel a kind of scores, one line an answer."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 4.2), layout="constrained")
    for ax, case in zip(figure.subplots(1, 2, sharex=True, sharey=True), ("uniform", "rare"), strict=True):
        for by, name, color, marker in _lines():
            found = [row for row in rows if row.case == case and row.measure == f"{WAITING}, {name}" and row.by == by]
            line = sorted((row.rows, row.alone) for row in found if row.alone is not None)
            if line:
                ours = by == NUMBA
                style = {"color": color, "marker": marker, "linestyle": "-" if ours else ":", "linewidth": 2.0 if ours else 1.2}
                ax.plot(*zip(*line, strict=True), label=name if ours else by, markersize=4.5, **style)
        ax.set(xscale="log", yscale="log", title=DESCRIPTIONS[case], xlabel="rows", ylabel="seconds of waiting")
        ax.tick_params(labelbottom=True, labelleft=True)
        ax.spines[["top", "right"]].set_visible(False)
    handles = {line.get_label(): line for ax in figure.axes for line in ax.lines}
    if handles:
        figure.legend(handles.values(), handles, fontsize="small", frameon=False, loc="outside right center")
    figure.savefig(path, dpi=120)


def _lines() -> list[tuple[str, str, str, str]]:
    ours = [(NUMBA, name, *style) for name, style in _OURS.items()]
    return [*ours, *((by, "assess", *style) for by, style in _OTHERS.items())]
