"""The study in one figure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from studies import losses
from studies.share import Share
from trueness.plots.style import BLUE, ORANGE, VERMILION

_ORDINARY, _HARDER = (BLUE, "o", "ordinary worlds"), (VERMILION, "^", "harder worlds")
_LOWEST, _HIGHEST = 0.84, 0.12  # ends of the axes of coverage and of size
_FEWEST = 200  # samples below which a dot would show little but noise


def draw(tables: Mapping[str, Sequence[Share]], path: Path) -> None:
    """Write the figure: coverage of intervals, size of tests, power lost against the best single test."""
    from matplotlib.figure import Figure

    lost = losses.losses(tables.get("power of every part", []))
    sheet = Figure(figsize=(12.4 if lost else 9.6, 4.4), layout="constrained")
    left, middle, *others = sheet.subplots(1, 3 if lost else 2)
    coverage = [(tables.get("coverage", []), _ORDINARY), (tables.get("coverage, harder", []), _HARDER)]
    _strips(left, coverage, (_LOWEST, 1.0))
    left.axvline(0.95, color="0.35", linewidth=1, linestyle=(0, (4, 3)))
    left.set(
        xlim=(_LOWEST - 0.005, 1.005), title="intervals of 0.95 that hold the truth", xlabel="coverage, wanted at least 0.95"
    )
    sizes = [
        ([share for share in tables.get(name, []) if share.what.endswith("α = 0.05")], style)
        for name, style in (("size", _ORDINARY), ("size of every part", _ORDINARY), ("size, harder", _HARDER))
    ]
    _strips(middle, sizes, (0.0, _HIGHEST))
    middle.axvline(0.05, color="0.35", linewidth=1, linestyle=(0, (4, 3)))
    middle.set(xlim=(-0.004, _HIGHEST + 0.004), title="calibrated models rejected at 0.05", xlabel="size, wanted at most 0.05")
    for right in others:
        _lost(right, lost)
        right.set(xlim=(-0.03, 1.03), title="power lost against the best single test", xlabel="loss, a dot an alternative")
    for ax in (left, middle, *others):
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x", color="0.9", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.title.set_fontsize("medium")
    handles = {
        each.get_label(): each for ax in (left, middle) for each in ax.collections if not each.get_label().startswith("_")
    }
    if handles:
        sheet.legend(handles.values(), handles, loc="outside lower center", ncols=2, frameon=False)
    sheet.savefig(path, dpi=120)


def _strips(ax: Any, groups: Sequence[tuple[Sequence[Share], tuple[str, str, str]]], ends: tuple[float, float]) -> None:
    """A strip of dots for each construction: a dot is a world at one n; what lies beyond an end is drawn on it."""
    names = list(dict.fromkeys(share.what.partition(", α")[0] for shares, _ in groups for share in shares))
    rng = np.random.default_rng(0)
    for shares, (color, marker, label) in groups:
        pools: dict[tuple[str, str, int], list[Share]] = defaultdict(list)
        for share in shares:
            pools[share.what.partition(", α")[0], share.world, share.n].append(share)
        told = {key: pool for key, pool in pools.items() if sum(share.trials for share in pool) >= _FEWEST}
        if not told:
            continue
        x = [sum(share.events for share in pool) / sum(share.trials for share in pool) for pool in told.values()]
        y = [len(names) - 1 - names.index(what) for what, _, _ in told]
        spread = rng.uniform(-0.28, 0.28, len(y))
        ax.scatter(
            np.clip(x, *ends), np.array(y) + spread, s=15, color=color, marker=marker, alpha=0.65, linewidths=0, label=label
        )
    ax.set_yticks(range(len(names)), names[::-1], fontsize="small")


def _lost(ax: Any, lost: Mapping[str, Sequence[float]]) -> None:
    names = sorted(lost, key=lambda name: float(np.mean(lost[name])))
    rng = np.random.default_rng(0)
    for place, name in enumerate(reversed(names)):
        ours = name == losses.COMBINED
        color = BLUE if ours else ORANGE if ":" in name else "0.45"
        y = place + rng.uniform(-0.24, 0.24, len(lost[name]))
        ax.scatter(lost[name], y, s=13, color=color, alpha=0.7, linewidths=0, label="_")
        mean = float(np.mean(lost[name]))
        ax.plot([mean, mean], [place - 0.36, place + 0.36], color=color, linewidth=2.4)
    ax.set_yticks(range(len(names)), names[::-1], fontsize="small")
    for tick, name in zip(ax.get_yticklabels(), names[::-1], strict=True):
        tick.set_fontweight("bold" if name == losses.COMBINED else "normal")
