"""Colours and parts that every drawing shares."""

from typing import Any

import numpy as np

from trueness._text import clean, even_ticks
from trueness._values import show
from trueness.errors import InputError

# Okabe and Ito's palette: told apart with any colour vision, and in grey by lightness.
BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
)
CYCLE = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY)
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))


def axes(ax: Any) -> Any:
    """The axes to draw on; new ones where none are given."""
    if ax is not None:
        if not hasattr(ax, "spines"):
            raise InputError(f"ax: {show(ax)} is not the axes of a figure. Pass for example those of plt.subplots().")
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(4.4, 4.4), layout="constrained")[1]


def muted(ax: Any) -> Any:
    """The colour of guides: the axes' own edge colour, so that dark styles stay legible."""
    return ax.spines["bottom"].get_edgecolor()


def unit_square(ax: Any, *, soft: bool, window: tuple[float, float] = (0.0, 1.0)) -> None:
    """A reliability diagram's frame: the unit square, or the part of it where something is, and its diagonal."""
    low, high = window
    margin = 0.02 * (high - low)
    ax.plot([low, high], [low, high], color=muted(ax), linewidth=0.8, linestyle=(0, (4, 3)), zorder=1, label="_diagonal")
    ax.set_xlim(low - margin, high + margin)
    ax.set_ylim(low - margin, high + margin)
    ax.set_aspect("equal", adjustable="box")
    ticks = [0, 0.25, 0.5, 0.75, 1.0] if (low, high) == (0.0, 1.0) else even_ticks(low, high)
    ax.set_xticks(ticks)
    ax.set_yticks(ticks)
    ax.set_xlabel("prediction")
    ax.set_ylabel("mean soft label" if soft else "share that happened")


def legend_name(name: str) -> str:
    """A name from data as a legend shows it: on one line, cut where it is long, and not hidden where it begins with _."""
    shown = clean(name, 24)
    return f" {shown}" if shown.startswith("_") else shown


def legend(ax: Any) -> None:
    """What is what, where it hides least; a dollar is a dollar."""
    handles, labels = ax.get_legend_handles_labels()
    if labels:
        drawn = ax.legend(
            handles, labels, loc="best", fontsize="small", framealpha=0.6, edgecolor="none", handlelength=1.4, borderpad=0.2
        )
        for text in drawn.get_texts():
            text.set_parse_math(False)


def strip(ax: Any, x: Any, height: Any, color: Any, *, share: float = 0.1) -> None:
    """Where the scores are: a low filled outline along the bottom of a frame that is set."""
    top = float(np.nanmax(height)) if len(height) else 0.0
    if top > 0:
        bottom, ceiling = ax.get_ylim()
        rise = share * (ceiling - bottom)
        ax.fill_between(
            x, bottom, bottom + rise * np.asarray(height) / top, color=color, alpha=0.25, linewidth=0, zorder=0,
            label="_density",
        )  # fmt: skip
