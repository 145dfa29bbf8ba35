"""Diagrams as SVG text: drawn from a curve's numbers, readable without a script."""

from collections.abc import Sequence

import numpy as np

from trueness._types import Floats, Ints
from trueness.curves.binned_curve import BinnedCurve
from trueness.curves.cumulative_curve import CumulativeCurve, thinned
from trueness.curves.smooth_curve import SmoothCurve

SIZE, LEFT, BOTTOM, TOP, RIGHT = 420, 58, 46, 12, 12
_MOST = 600  # points of a line
WIDE = SIZE - LEFT - RIGHT
TALL = SIZE - BOTTOM - TOP


def _n(x: float) -> str:
    """A coordinate: two decimals are a hundredth of a pixel."""
    return f"{x:.2f}".rstrip("0").rstrip(".")


class Frame:
    """A map from data to the drawing."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.x, self.y = x, y

    def point(self, x: float, y: float) -> str:
        """A point as 'x y'."""
        return f"{_n(self.across(x))} {_n(self.up(y))}"

    def across(self, x: float) -> float:
        """Horizontal place."""
        return LEFT + (x - self.x[0]) / (self.x[1] - self.x[0]) * WIDE

    def up(self, y: float) -> float:
        """Vertical place."""
        return TOP + (self.y[1] - y) / (self.y[1] - self.y[0]) * TALL

    def path(self, x: Floats, y: Floats) -> str:
        """A line, broken where a value is missing."""
        parts, pen = [], False
        for a, b in zip(x, y, strict=True):
            if np.isnan(b):
                pen = False
                continue
            parts.append(("L" if pen else "M") + self.point(a, b))
            pen = True
        return "".join(parts)

    def band(self, x: Floats, low: Floats, high: Floats) -> str:
        """A filled area between two lines, in pieces where values are missing."""
        defined = ~(np.isnan(low) | np.isnan(high))
        edges = np.flatnonzero(np.diff(np.concatenate([[False], defined, [False]]).astype(int)))
        pieces = []
        for a, b in zip(edges[::2], edges[1::2], strict=True):
            there = [self.point(x[i], high[i]) for i in range(a, b)]
            back = [self.point(x[i], low[i]) for i in range(b - 1, a - 1, -1)]
            pieces.append("M" + "L".join(there + back) + "Z")
        return "".join(pieces)


UNIT_SQUARE = Frame((0.0, 1.0), (0.0, 1.0))


def _svg(name: str, title: str, body: str) -> str:
    return (
        f'<svg id="{name}" class="diagram" viewBox="0 0 {SIZE} {SIZE}" role="img" aria-labelledby="{name}-title">'
        f'<title id="{name}-title">{title}</title>{body}</svg>'
    )


def _axes(
    frame: Frame, x_ticks: Sequence[tuple[float, str]], y_ticks: Sequence[tuple[float, str]], x_name: str, y_name: str
) -> str:
    base, left = TOP + TALL, LEFT
    parts = [f'<path class="axis" d="M{left} {TOP}V{base}H{left + WIDE}"/>']
    for value, label in x_ticks:
        place = _n(frame.across(value))
        parts.append(
            f'<path class="axis" d="M{place} {base}v4"/><text x="{place}" y="{base + 17}" text-anchor="middle">{label}</text>'
        )
    for value, label in y_ticks:
        place = _n(frame.up(value))
        text = f'<text x="{left - 7}" y="{place}" dy=".35em" text-anchor="end">{label}</text>'
        parts.append(f'<path class="axis" d="M{left} {place}h-4"/>{text}')
    middle = LEFT + WIDE / 2
    parts.append(f'<text x="{_n(middle)}" y="{SIZE - 8}" text-anchor="middle">{x_name}</text>')
    parts.append(f'<text transform="translate(13 {_n(TOP + TALL / 2)}) rotate(-90)" text-anchor="middle">{y_name}</text>')
    return "".join(parts)


_QUARTERS = [(q / 4, f"{q / 4:g}") for q in range(5)]


def _unit_axes(soft: bool) -> str:
    name = "mean soft label" if soft else "share that happened"
    diagonal = f'<path class="guide" d="M{UNIT_SQUARE.point(0, 0)}L{UNIT_SQUARE.point(1, 1)}"/>'
    return _axes(UNIT_SQUARE, _QUARTERS, _QUARTERS, "prediction", name) + diagonal


def smooth_svg(curve: SmoothCurve) -> str:
    """The smooth reliability diagram; the parts a script may redraw have names."""
    kept = drawn(curve)
    x, density = curve.score[kept], curve.density[kept] / max(float(curve.density.max()), 1e-300) * 0.1
    consistency = UNIT_SQUARE.band(x, curve.consistency_low[kept], curve.consistency_high[kept])
    confidence = UNIT_SQUARE.band(x, curve.confidence_low[kept], curve.confidence_high[kept])
    body = [
        f'<path id="density" class="density" d="{UNIT_SQUARE.band(x, np.zeros(len(x)), density)}"/>',
        f'<path id="consistency" class="consistency" d="{consistency}"/>',
        f'<path id="confidence" class="confidence" d="{confidence}"/>',
        _unit_axes(curve.soft),
        f'<path id="smooth-line" class="line" d="{UNIT_SQUARE.path(x, curve.outcome[kept])}"/>',
        '<circle id="smooth-dot" class="dot" r="4" visibility="hidden"/>',
    ]
    return _svg("smooth", "Smooth reliability diagram: what happened against what was predicted", "".join(body))


def several_svg(lines: Sequence[tuple[SmoothCurve, str, str]]) -> str:
    """Smooth curves on one diagram, each with its colour and dashes."""
    body = [_unit_axes(any(curve.soft for curve, _, _ in lines))]
    for curve, colour, dash in lines:
        kept = drawn(curve)
        path = UNIT_SQUARE.path(curve.score[kept], curve.outcome[kept])
        body.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2.2" stroke-dasharray="{dash}"/>')
    return _svg("several", "Smooth reliability curves: what happened against what was predicted", "".join(body))


def drawn(curve: SmoothCurve) -> Ints:
    """Points of the smooth curve that are drawn: a pixel shows no more."""
    return thinned(np.nan_to_num(curve.outcome, nan=-1.0), _MOST)


def cumulative_svg(curve: CumulativeCurve) -> str:
    """The cumulative plot with the worst range marked."""
    frame = Frame((0.0, 1.0), cumulative_range(curve))
    ticks = []
    for share in np.linspace(0, 1, 6):
        place = min(int(np.searchsorted(curve.share, share)), len(curve.score) - 1)
        ticks.append((float(share), f"{curve.score[place]:.2f}"))
    step = _step(frame.y[1] - frame.y[0])
    values = np.arange(np.ceil(frame.y[0] / step), np.floor(frame.y[1] / step) + 1) * step
    body, kept = [], thinned(curve.difference, 2 * _MOST)
    if curve.ecce.worst is not None:
        a, b = map(frame.across, curve.worst_shares)
        body.append(f'<rect class="worst" x="{_n(a)}" y="{TOP}" width="{_n(b - a)}" height="{TALL}"/>')
    if curve.sigma > 0:
        tip = [frame.point(0, 2 * curve.sigma), frame.point(0, -2 * curve.sigma), frame.point(0.06, 0)]
        body.append(f'<path class="noise" d="M{"L".join(tip)}Z"/>')
    body += [
        _axes(
            frame,
            ticks,
            [(float(v), f"{v:.4g}") for v in values],
            "score, in equal steps of rows",
            "cumulative outcomes − predictions",
        ),
        f'<path class="guide" d="M{frame.point(0, 0)}L{frame.point(1, 0)}"/>',
        f'<path id="cumulative-line" class="line thin" d="{frame.path(curve.share[kept], curve.difference[kept])}"/>',
        '<circle id="cumulative-dot" class="dot" r="4" visibility="hidden"/>',
    ]
    return _svg("cumulative", "Cumulative differences: a stretch that falls has predictions too high", "".join(body))


def cumulative_range(curve: CumulativeCurve) -> tuple[float, float]:
    """The vertical range of the cumulative plot."""
    low = min(float(curve.difference.min()), -2 * curve.sigma) * 1.08
    high = max(float(curve.difference.max()), 2 * curve.sigma) * 1.08
    return (low, high) if high > low else (-1e-12, 1e-12)


def binned_svg(curve: BinnedCurve) -> str:
    """The binned diagram."""
    return _svg("binned", "Binned reliability diagram", f'{_unit_axes(curve.soft)}<g id="bins">{bin_marks(curve)}</g>')


def bin_marks(curve: BinnedCurve) -> str:
    """Points with their intervals, for the bins that hold rows."""
    parts = []
    for x, y, low, high, rows in zip(curve.prediction, curve.outcome, curve.low, curve.high, curve.rows, strict=True):
        if rows > 0:
            across = _n(UNIT_SQUARE.across(x))
            if not np.isnan(low):
                parts.append(f'<path class="bar" d="M{across} {_n(UNIT_SQUARE.up(low))}V{_n(UNIT_SQUARE.up(high))}"/>')
            parts.append(f'<circle class="mark" cx="{across}" cy="{_n(UNIT_SQUARE.up(y))}" r="3.5"/>')
    return "".join(parts)


def _step(span: float) -> float:
    """A round step that cuts a span into about five."""
    if span <= 0:
        return 1.0
    raw = span / 5
    power = 10.0 ** np.floor(np.log10(raw))
    return float(power * min((1, 2, 5, 10), key=lambda k: abs(k * power - raw)))
