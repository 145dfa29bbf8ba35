"""One function a curve."""

from typing import Any

import numpy as np

from trueness._text import percent, told_apart
from trueness.curves.binned_curve import BinnedCurve
from trueness.curves.cumulative_curve import CumulativeCurve
from trueness.curves.isotonic_curve import IsotonicCurve
from trueness.curves.local_curve import ENOUGH, LocalCurve
from trueness.curves.smooth_curve import SmoothCurve
from trueness.curves.sweep import BinSweep
from trueness.errors import InputError
from trueness.plots.style import BLUE, GREEN, ORANGE, VERMILION, axes, legend, muted, strip, unit_square

_THINNEST, _WIDEST = 0.5, 3.5
_FAINTEST = 0.4


def draw(curve: Any, ax: Any = None, **options: Any) -> Any:
    """Draw any curve; returns the Axes."""
    for kind, function in _BY_KIND.items():
        if isinstance(curve, kind):
            return function(curve, ax, **options)
    raise InputError(
        f"curve: a {type(curve).__name__} is not a curve. Pass what reliability_curve or cumulative_curve returns."
    )


def draw_local(
    curve: LocalCurve,
    ax: Any = None,
    *,
    color: Any = BLUE,
    label: str | None = None,
    bands: bool = True,
    style: Any = None,
    window: tuple[float, float] | None = None,
) -> Any:
    """The local curve: fainter and thinner where fewer rows tell; both bands, named for what they are; or dots.

    With a `style` of line, for several in one diagram, it is as wide everywhere.
    """
    ax = axes(ax)
    unit_square(ax, soft=curve.soft, window=curve.window if window is None else window)
    name = f"SmoothECE {curve.smooth_ece:.3g}" if label is None else label
    if curve.dots:
        _draw_dots(curve, ax, color, name, bands=bands)
    else:
        strip(ax, curve.score, curve.density, muted(ax))
        if bands:
            _draw_bands(curve, ax, color)
        if style is None:
            _draw_fading(curve, ax, color, name)
        else:
            ax.plot(curve.score, curve.outcome, color=color, linestyle=style, linewidth=2, label=name, zorder=3)
    legend(ax)
    return ax


def _draw_bands(curve: LocalCurve, ax: Any, color: Any) -> None:
    share = percent(curve.level)
    if not np.isnan(curve.consistency_low).all():
        areas = [(curve.simultaneous_low, curve.simultaneous_high, f"if perfect ({share}, everywhere)", 0.12)]
        if curve.band == "pointwise":
            areas.append((curve.consistency_low, curve.consistency_high, f"if perfect ({share})", 0.22))
        for low, high, label, alpha in areas:
            ax.fill_between(curve.score, low, high, color=muted(ax), alpha=alpha, linewidth=0, label=label)
    name = f"confidence ({share}{', everywhere' if curve.band == 'simultaneous' else ''})"
    ax.fill_between(curve.score, curve.confidence_low, curve.confidence_high, color=color, alpha=0.25, linewidth=0, label=name)


def _draw_fading(curve: LocalCurve, ax: Any, color: Any, label: str) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    line = np.stack([curve.score, curve.outcome], axis=1)
    segments = np.stack([line[:-1], line[1:]], axis=1)
    seen = ~np.isnan(segments).any(axis=(1, 2))
    if not seen.any():
        ax.text(0.5, 0.5, f"fewer than {ENOUGH:.0f} rows near any score", transform=ax.transAxes, ha="center", va="center")
        return
    rows = (curve.effective[:-1] + curve.effective[1:])[seen] / 2
    share = np.sqrt(rows / rows.max())
    # Mixed with the ground, not transparent: pieces that overlap would show.
    depth = (_FAINTEST + (1 - _FAINTEST) * share)[:, None]
    colors = depth * np.array(to_rgb(color)) + (1 - depth) * np.array(to_rgb(ax.get_facecolor()))
    lines = LineCollection(
        list(segments[seen]), colors=colors, linewidths=_THINNEST + (_WIDEST - _THINNEST) * share, capstyle="round",
        label="_curve", zorder=3,
    )  # fmt: skip
    ax.add_collection(lines)
    ax.plot([], [], color=color, linewidth=_WIDEST, label=label)


def _draw_dots(curve: LocalCurve, ax: Any, color: Any, label: str, *, bands: bool) -> None:
    if bands and not np.isnan(curve.consistency_low).all():
        name = f"if perfect ({percent(curve.level)}, everywhere)"
        ax.vlines(
            curve.score, curve.simultaneous_low, curve.simultaneous_high, color=muted(ax), alpha=0.25, linewidth=6, label=name
        )
    y = curve.outcome
    reach = np.maximum(np.stack([y - curve.confidence_low, curve.confidence_high - y]), 0.0)
    ax.errorbar(
        curve.score, y, yerr=reach if bands else None, fmt="o", color=color, markersize=4, linewidth=1.2, capsize=2,
        label=label, zorder=3,
    )  # fmt: skip


def draw_smooth(curve: SmoothCurve, ax: Any = None, *, color: Any = BLUE, label: str | None = None, bands: bool = True) -> Any:
    """The smooth reliability curve: wider where there are more scores; both bands, named for what they are."""
    from matplotlib.collections import LineCollection

    ax = axes(ax)
    unit_square(ax, soft=curve.soft)
    strip(ax, curve.score, curve.density, muted(ax))
    if bands:
        if not np.isnan(curve.consistency_low).all():
            ax.fill_between(
                curve.score, curve.consistency_low, curve.consistency_high, color=muted(ax), alpha=0.18, linewidth=0,
                label=f"if perfect ({percent(curve.level)})",
            )  # fmt: skip
        ax.fill_between(
            curve.score, curve.confidence_low, curve.confidence_high, color=color, alpha=0.25, linewidth=0,
            label=f"confidence ({percent(curve.level)})",
        )  # fmt: skip
    line = np.stack([curve.score, curve.outcome], axis=1)
    segments = np.stack([line[:-1], line[1:]], axis=1)
    density = (curve.density[:-1] + curve.density[1:]) / 2
    share = np.sqrt(density / density.max()) if density.max() > 0 else np.ones(len(density))
    name = f"SmoothECE {curve.smooth_ece:.3g}" if label is None else label
    seen = ~np.isnan(segments).any(axis=(1, 2))
    lines = LineCollection(
        list(segments[seen]), colors=color, linewidths=_THINNEST + (_WIDEST - _THINNEST) * share[seen],
        capstyle="round", label=name, zorder=3,
    )  # fmt: skip
    ax.add_collection(lines)
    legend(ax)
    return ax


def draw_binned(curve: BinnedCurve, ax: Any = None, *, color: Any = BLUE, label: str | None = None) -> Any:
    """The bins that hold rows, with their intervals; the bars below show how many rows."""
    ax = axes(ax)
    unit_square(ax, soft=curve.soft)
    filled = curve.rows > 0
    middle = (curve.left + curve.right) / 2
    if curve.rows.max() > 0:
        ax.bar(
            middle, 0.1 * curve.weight / curve.weight.max(), width=curve.right - curve.left, bottom=-0.02, color=muted(ax),
            alpha=0.25, linewidth=0, zorder=0, label="_rows",
        )  # fmt: skip
    x, y = curve.prediction[filled], curve.outcome[filled]
    reach = np.maximum(np.stack([y - curve.low[filled], curve.high[filled] - y]), 0.0)
    kind = "equal width" if curve.strategy == "uniform" else "equal weight"
    name = f"ECE {curve.binned_ece:.3g} ({curve.bins} bins, {kind})" if label is None else label
    ax.errorbar(x, y, yerr=reach, fmt="o", color=color, markersize=4, linewidth=1.2, capsize=2, label=name, zorder=3)
    legend(ax)
    return ax


def draw_isotonic(curve: IsotonicCurve, ax: Any = None, *, color: Any = GREEN, label: str | None = None) -> Any:
    """The isotonic fit, with the band where it would lie if predictions were perfect."""
    ax = axes(ax)
    unit_square(ax, soft=curve.soft)
    if len(curve.consistency_score):
        ax.fill_between(
            curve.consistency_score, curve.consistency_low, curve.consistency_high, color=muted(ax), alpha=0.18, linewidth=0,
            label=f"if perfect ({percent(curve.level)})",
        )  # fmt: skip
    name = f"isotonic, MCB {curve.decomposition.miscalibration:.3g}" if label is None else label
    if curve.score[0] == curve.score[-1]:
        ax.plot(curve.score[0], curve.outcome[0], "o", color=color, label="_point", zorder=3)
    ax.plot(curve.score, curve.outcome, color=color, linewidth=2, solid_joinstyle="round", label=name, zorder=3)
    legend(ax)
    return ax


def draw_cumulative(
    curve: CumulativeCurve, ax: Any = None, *, color: Any = BLUE, label: str | None = None, worst: bool = True
) -> Any:
    """C against the share of rows; scores on the lower axis, the noise triangle at the origin, the worst interval marked."""
    ax = axes(ax)
    ax.axhline(0, color=muted(ax), linewidth=0.8, linestyle=(0, (4, 3)), zorder=1, label="_zero")
    if curve.sigma > 0:
        height = 2 * curve.sigma
        ax.fill(
            [0, 0, 0.06],
            [-height, height, 0],
            color=muted(ax),
            alpha=0.3,
            linewidth=0,
            label="noise: ± 2σ",
            zorder=0,
        )
    if worst and (widest := curve.ecce.worst) is not None:
        way = "high" if widest.mean_gap < 0 else "low"
        words = f"{widest.span}: {abs(100 * widest.mean_gap):.2g} points too {way}"
        ax.axvspan(*curve.worst_shares, color=ORANGE, alpha=0.18, linewidth=0, label=words, zorder=0)
    name = f"ECCE-R {curve.ecce.range:.3g}" if label is None else label
    ax.plot(curve.share, curve.difference, color=color, linewidth=1.5, label=name, zorder=3)
    ax.set_xlim(0, 1)
    ax.set_xlabel("score (equal steps of rows)")
    ax.set_ylabel("cumulative outcomes − predictions")
    ticks = np.linspace(0, 1, 6)
    places = np.minimum(np.searchsorted(curve.share, ticks), len(curve.score) - 1)
    ax.set_xticks(ticks, told_apart(curve.score[places].tolist()))
    legend(ax)
    return ax


def draw_sweep(curve: BinSweep, ax: Any = None) -> Any:
    """Binned ECE over the number of bins, and the measures without bins beside it."""
    ax = axes(ax)
    ax.plot(curve.bins, curve.binned_ece, "o-", color=BLUE, markersize=4, label=f"binned ECE, {curve.strategy}, {curve.norm}")
    ax.plot(curve.bins, curve.logit_smoothed_ece, "s--", color=VERMILION, markersize=4, label="LS-ECE, bandwidth 1/bins")
    ax.axhline(curve.smooth_ece, color=GREEN, linewidth=1.5, linestyle="-.", label=f"SmoothECE {curve.smooth_ece:.3g}")
    ax.set_xscale("log")
    ax.set_xticks(curve.bins, [str(int(count)) for count in curve.bins])
    ax.minorticks_off()
    ax.set_ylim(bottom=0)
    ax.set_xlabel("bins")
    ax.set_ylabel("calibration error")
    legend(ax)
    return ax


_BY_KIND: dict[type, Any] = {
    LocalCurve: draw_local,
    SmoothCurve: draw_smooth,
    BinnedCurve: draw_binned,
    IsotonicCurve: draw_isotonic,
    CumulativeCurve: draw_cumulative,
    BinSweep: draw_sweep,
}
