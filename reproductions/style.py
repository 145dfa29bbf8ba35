"""Colours, lines and the frame that figures share."""

from typing import Any

# Okabe and Ito's palette: told apart with any colour vision, and in grey by lightness.
BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"
CYCLE = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY)
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))


def muted(ax: Any) -> Any:
    """The colour of guides: that of the axes' edge."""
    return ax.spines["bottom"].get_edgecolor()


def unit_square(ax: Any) -> None:
    """A reliability diagram's frame: the unit square and its diagonal."""
    ax.plot([0, 1], [0, 1], color=muted(ax), linewidth=0.8, linestyle=(0, (4, 3)), zorder=1, label="_diagonal")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal", adjustable="box")
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1.0])
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1.0])
    ax.set_xlabel("prediction")
    ax.set_ylabel("share that happened")
