"""Diagrams as SVG text: drawn from a curve's numbers, readable without a script."""

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from trueness._text import even_ticks, told_apart
from trueness._types import Floats, Ints
from trueness.curves.binned_curve import BinnedCurve
from trueness.curves.cumulative_curve import CumulativeCurve, thinned
from trueness.curves.local_curve import LocalCurve, window_of

SIZE, LEFT, BOTTOM, TOP, RIGHT = 420, 66, 46, 12, 20
_MOST = 600  # points of a line
_STOPS, _FAINTEST = 25, 0.4  # of a line that fades
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


def _unit_axes(soft: bool, frame: Frame = UNIT_SQUARE) -> str:
    name = "mean soft label" if soft else "share that happened"
    low, high = frame.x
    ticks = _QUARTERS if frame is UNIT_SQUARE else [(tick, f"{tick:.6g}") for tick in even_ticks(low, high)]
    diagonal = f'<path class="guide" d="M{frame.point(low, low)}L{frame.point(high, high)}"/>'
    return _axes(frame, ticks, ticks, "prediction", name) + diagonal


def square(window: tuple[float, float]) -> Frame:
    """The frame of a reliability diagram: the unit square, or the part of it where something is."""
    return UNIT_SQUARE if window == (0.0, 1.0) else Frame(window, window)


_CLIP = f'<clipPath id="inside"><rect x="{LEFT}" y="{TOP}" width="{WIDE}" height="{TALL}"/></clipPath>'
_DIAGRAM = "Reliability diagram: what happened against what was predicted"


def local_svg(curve: LocalCurve) -> str:
    """The reliability diagram; the parts a script may redraw have names."""
    frame = square(curve.window)
    if curve.dots:
        body = [_unit_axes(curve.soft, frame), *_dots(frame, curve)]
    else:
        kept = drawn(curve)
        x, floor = curve.score[kept], np.full(len(kept), frame.y[0])
        hill = floor + curve.density[kept] / max(float(curve.density.max()), 1e-300) * 0.1 * (frame.y[1] - frame.y[0])
        areas = {
            "density": (floor, hill),
            "everywhere": (curve.simultaneous_low[kept], curve.simultaneous_high[kept]),
            "consistency": (curve.consistency_low[kept], curve.consistency_high[kept]),
            "confidence": (curve.confidence_low[kept], curve.confidence_high[kept]),
        }
        body = [f'<path id="{name}" class="{name}" d="{frame.band(x, *limits)}"/>' for name, limits in areas.items()]
        name, fade = _fade(frame, curve)
        path = frame.path(x, curve.outcome[kept])
        line = f'{fade}<path id="local-line" class="line" d="{path}" style="stroke:url(#{name})"/>'
        group = '<g clip-path="url(#inside)">'
        body = [group, *body, "</g>", _unit_axes(curve.soft, frame), group, line, "</g>"]
    dot = '<circle id="local-dot" class="dot" r="4" visibility="hidden"/>'
    return _svg("local", _DIAGRAM, "".join([_CLIP, *body, dot]))


def _fade(frame: Frame, curve: LocalCurve) -> tuple[str, str]:
    """A stroke that is fainter where fewer rows tell, and its name, which no other on a page shares."""
    seen = np.flatnonzero(~np.isnan(curve.outcome))
    if not len(seen):
        return "none", ""
    x = curve.score[seen]
    at = seen[np.searchsorted(x, np.linspace(x[0], x[-1], _STOPS)).clip(0, len(x) - 1)]
    depth = _FAINTEST + (1 - _FAINTEST) * np.sqrt(curve.effective[at] / curve.effective[seen].max())
    stops = "".join(
        f'<stop class="fade" offset="{_n(k / (_STOPS - 1))}" stop-opacity="{_n(each)}"/>' for k, each in enumerate(depth)
    )
    ends = f'x1="{_n(frame.across(x[0]))}" x2="{_n(frame.across(x[-1]) + 0.01)}"'
    name = f"fade-{crc32((ends + stops).encode()):x}"
    return name, f'<linearGradient id="{name}" gradientUnits="userSpaceOnUse" {ends}>{stops}</linearGradient>'


def _dots(frame: Frame, curve: LocalCurve) -> list[str]:
    """Scores one by one, each with where it would lie if perfect, its interval and its mean outcome."""
    parts = []
    for k, score in enumerate(curve.score):
        across = _n(frame.across(score))
        if not np.isnan(curve.simultaneous_low[k]):
            ends = f"{_n(frame.up(curve.simultaneous_low[k]))}V{_n(frame.up(curve.simultaneous_high[k]))}"
            parts.append(f'<path class="range" d="M{across} {ends}"/>')
        parts.append(mark(frame, score, curve.outcome[k], curve.confidence_low[k], curve.confidence_high[k]))
    return parts


def several_svg(lines: Sequence[tuple[LocalCurve, str, str]]) -> str:
    """Curves on one diagram, each with its colour and dashes; dots where scores are few."""
    frame = square(window_of([curve for curve, _, _ in lines]))
    body = [_CLIP, _unit_axes(any(curve.soft for curve, _, _ in lines), frame)]
    for curve, colour, dash in lines:
        if curve.dots:
            body += [dot(frame.point(*point), colour) for point in zip(curve.score, curve.outcome, strict=True)]
            continue
        kept = drawn(curve)
        path = frame.path(curve.score[kept], curve.outcome[kept])
        style = f'fill="none" stroke="{colour}" stroke-width="2.2" stroke-dasharray="{dash}"'
        body.append(f'<path clip-path="url(#inside)" d="{path}" {style}/>')
    return _svg("several", _DIAGRAM, "".join(body))


def dot(place: str, colour: str) -> str:
    """A dot of this colour."""
    return f'<path d="M{place}h0" fill="none" stroke="{colour}" stroke-width="7" stroke-linecap="round"/>'


def drawn(curve: LocalCurve) -> Ints:
    """Points of the curve that are drawn: a pixel shows no more."""
    return thinned(np.nan_to_num(curve.outcome, nan=-1.0), _MOST)


def cumulative_svg(curve: CumulativeCurve) -> str:
    """The cumulative plot with the worst range marked."""
    frame = Frame((0.0, 1.0), cumulative_range(curve))
    shares = np.linspace(0, 1, 6)
    places = np.minimum(np.searchsorted(curve.share, shares), len(curve.score) - 1)
    ticks = list(zip(shares.tolist(), told_apart(curve.score[places].tolist()), strict=True))
    values = even_ticks(*frame.y)
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
            [(v, f"{v:.4g}") for v in values],
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
    columns = (curve.prediction, curve.outcome, curve.low, curve.high)
    return "".join(mark(UNIT_SQUARE, *point) for point in zip(*columns, strict=True) if not np.isnan(point[1]))


def mark(frame: Frame, x: float, y: float, low: float, high: float) -> str:
    """A point with its interval."""
    across = _n(frame.across(x))
    bar = "" if np.isnan(low) else f'<path class="bar" d="M{across} {_n(frame.up(low))}V{_n(frame.up(high))}"/>'
    return f'{bar}<circle class="mark" cx="{across}" cy="{_n(frame.up(y))}" r="3.5"/>'
