"""How the five models look in every figure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from reproductions.soft_labels.setting import MODELS
from reproductions.style import BLUE, GREEN, LINES, ORANGE, PURPLE, VERMILION

COLORS: Mapping[str, str] = MappingProxyType(dict(zip(MODELS, (BLUE, VERMILION, GREEN, ORANGE, PURPLE), strict=True)))
STYLES: Mapping[str, Any] = MappingProxyType(dict(zip(MODELS, LINES, strict=False)))
MARKS: Mapping[str, str] = MappingProxyType(dict(zip(MODELS, "osD^v", strict=True)))


def title_of(model: str) -> str:
    """A letter and what it stands for."""
    return f"{model}: {MODELS[model]}"


def draw_model(ax: Any, model: str, x: Any, ours: Any, cells: Sequence[str], *, spread: Any = None) -> None:
    """Values here, with the spread of a run where there are several, and the printed cells as dots in them."""
    ax.errorbar(
        x,
        ours,
        yerr=spread,
        fmt=MARKS[model],
        color=COLORS[model],
        markersize=6.5,
        markerfacecolor="none",
        capsize=2,
        linewidth=1.2,
    )
    ax.plot(x, [float(cell) for cell in cells], ".", color="black", markersize=4, zorder=4)


def draw_law(ax: Any, model: str, x: Any, values: Any, *, last_bin_open: bool = False) -> None:
    """What theory says of a model, as a line."""
    style = (
        {"color": "black", "linestyle": ":", "linewidth": 0.9} if last_bin_open else {"color": COLORS[model], "linewidth": 1.3}
    )
    ax.plot(x, values, **({"linestyle": STYLES[model]} | style))


def legend_below(figure: Any, dots: str) -> None:
    """What is what, under all axes, where it hides nothing."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=COLORS[model], linestyle=STYLES[model], marker=MARKS[model], markerfacecolor="none", label=name)
        for model, name in ((model, title_of(model)) for model in MODELS)
    ]
    handles += [
        Line2D([], [], color="black", linestyle=":", linewidth=0.9, label="D, last bin open"),
        Line2D([], [], color="black", linestyle="none", marker=".", label=dots),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, handlelength=2.8)
