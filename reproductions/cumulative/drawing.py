"""How the three kinds of scores look in every figure, and panels that several figures share."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.cumulative.synthetic import KINDS
from reproductions.style import BLUE, GREEN, VERMILION, unit_square

LOOKS: Mapping[str, dict[str, Any]] = {
    "equispaced": {"color": BLUE, "linestyle": "-", "marker": "o"},
    "squared": {"color": VERMILION, "linestyle": "--", "marker": "s"},
    "square-rooted": {"color": GREEN, "linestyle": (0, (1, 1)), "marker": "^"},
}
LINES = 20  # bootstrap lines of a reliability diagram


def powers_of_two(ax: Any, sizes: Sequence[int], label: str) -> None:
    """A logarithmic axis with a tick at every other power."""
    ax.set_xscale("log", base=2)
    ax.set_xticks(list(sizes)[::2], [f"$2^{{{size.bit_length() - 1}}}$" for size in list(sizes)[::2]])
    ax.minorticks_off()
    ax.set_xlabel(label)


def by_kind(ax: Any, x: Sequence[int], series: Mapping[str, Floats]) -> None:
    """One line for each kind of scores."""
    for kind in KINDS:
        ax.plot(x, series[kind], label=kind, markersize=3.5, linewidth=1.3, **LOOKS[kind])


def legend_below(figure: Any, ax: Any) -> None:
    """One legend for all panels, under them."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))


def reliability(ax: Any, y: Floats, f: Floats, bins: int, strategy: str, rng: np.random.Generator) -> None:
    """A reliability diagram over twenty lines of resampled rows, in grey as in the paper."""
    unit_square(ax)
    settings: dict[str, Any] = {"kind": "binned", "bins": bins, "strategy": strategy}
    for _ in range(LINES):
        drawn = rng.integers(0, len(f), len(f))
        ax.plot(*_line(trueness.reliability_curve(y[drawn], f[drawn], **settings)), color="0.75", linewidth=0.8, zorder=2)
    curve = trueness.reliability_curve(y, f, **settings)
    ax.plot(*_line(curve), "o:", color=BLUE, markersize=3, linewidth=1.0, zorder=3)


def _line(curve: Any) -> tuple[Floats, Floats]:
    """Mean prediction and share of successes of the bins that hold rows."""
    filled = curve.rows > 0
    return curve.prediction[filled], curve.outcome[filled]
