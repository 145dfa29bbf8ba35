r"""Gaussian smoothing in the cosine basis, and integrals of absolute values.

On a window mapped to [0, 1] the reflected Gaussian kernel is diagonal in cos(πkt):

    Σ_i m_i K̃_σ(t, x_i) = a_0 + 2 Σ_{k≥1} exp(−σ²π²k²/2) a_k cos(πkt),    a_k = Σ_i m_i cos(πk x_i)

so the coefficients a_k, found once, serve every σ. All reflections are included exactly.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from trueness._types import Floats, Ints

CELLS_PER_BANDWIDTH = 8  # with moments to order 5 the grid then shows below 1e-9
_REACH = 8.6  # exp(−8.6²/2) is below float64's resolution
_DERIVATIVE_SIGN = (1, -1, -1, 1, 1, -1)  # of cos, sin alternating: cos, −sin, −cos, sin, cos, −sin


def cosine_coefficients(moments: Floats) -> Floats:
    """a_k for k below the number of cells, from the moments [p, cell] of masses on equal cells of [0, 1]."""
    from scipy.fft import dct, dst

    cells = moments.shape[1]
    a = np.zeros(cells)
    argument = np.pi * np.arange(cells) / cells
    factor = np.full(cells, 0.5)  # scipy's transforms carry a factor 2
    for p, row in enumerate(moments):
        if p:
            factor *= argument / p
        if p % 2 == 0:
            a += _DERIVATIVE_SIGN[p] * factor * dct(row, type=2)
        else:
            a[1:] += _DERIVATIVE_SIGN[p] * factor[1:] * dst(row, type=2)[:-1]
    return a


def intervals_for(sigma: float, nodes: int = 12) -> int:
    """Steps of [0, 1] that resolve features of width σ with so many nodes, a power of two."""
    return 1 << max(4, math.ceil(math.log2(nodes / sigma)))


def smoothed(a: Floats, sigma: float, intervals: int) -> tuple[Floats, Floats, Floats]:
    """The smoothed measure and its first two derivatives at the ends of equal intervals of [0, 1]."""
    from scipy.fft import dct, dst

    last = min(len(a) - 1, intervals - 1, int(_REACH / (np.pi * sigma)))
    frequency = np.pi * np.arange(last + 1)
    damped = a[: last + 1] * np.exp(-0.5 * (sigma * frequency) ** 2)
    padded = np.zeros((3, intervals + 1))
    padded[0, : last + 1] = damped
    padded[1, : last + 1] = -frequency * damped
    padded[2, : last + 1] = -frequency * frequency * damped
    value, second = dct(padded[[0, 2]], type=1)
    first = np.zeros(intervals + 1)
    first[1:-1] = dst(padded[1, 1:-1], type=1)
    return value, first, second


def absolute_integral(q: Floats, q1: Floats, q2: Floats, step: float) -> float:
    """∫|q| from q and its first two derivatives at equal steps, by quintic Hermite pieces cut at their sign changes.

    A plain trapezoid rule on |q| would err at every sign change.
    """
    d, dd = q1 * step, q2 * (step * step)
    whole = (q[:-1] + q[1:]) / 2 + (d[:-1] - d[1:]) / 10 + (dd[:-1] + dd[1:]) / 120  # the quintic's integral
    pieces = np.abs(whole)
    same = q[:-1] * q[1:]
    crossing = np.flatnonzero(same < 0)
    if len(crossing):
        c = _quintic(q, d, dd, crossing)
        part = _antiderivative(c, _root(c))
        pieces[crossing] = np.abs(part) + np.abs(whole[crossing] - part)
    # Equal signs at both ends, but falling towards 0 and away from it: the piece may cross twice.
    dips = np.flatnonzero((same > 0) & (q[:-1] * d[:-1] < 0) & (q[1:] * d[1:] > 0))
    if len(dips):
        c = _quintic(q, d, dd, dips)
        for i in np.flatnonzero(_crosses_twice(c)):
            pieces[dips[i]] = _cut_at_roots(c[:, i])
    return float(pieces.sum() * step)


def _quintic(q: Floats, d: Floats, dd: Floats, at: Ints) -> Floats:
    """Coefficients of the polynomial on [0, 1] with given values and derivatives at both ends, for chosen intervals."""
    c0, c1, c2 = q[at], d[at], dd[at] / 2
    value = q[at + 1] - (c0 + c1 + c2)
    slope = d[at + 1] - (c1 + 2 * c2)
    bend = dd[at + 1] - 2 * c2
    return np.array(
        [
            c0,
            c1,
            c2,
            10 * value - 4 * slope + bend / 2,
            -15 * value + 7 * slope - bend,
            6 * value - 3 * slope + bend / 2,
        ]
    )


def _crosses_twice(c: Floats) -> NDArray[np.bool_]:
    """Whether a piece with equal signs at both ends has the other sign where its slope is about 0."""
    s = c[1] / (c[1] - np.arange(6) @ c)
    return np.asarray(np.sign(c[0]) * _polynomial(c, s)[0] < 0)


def _cut_at_roots(c: Floats) -> float:
    roots = np.roots(c[::-1])
    inside = np.sort(roots[(np.abs(roots.imag) < 1e-12) & (roots.real > 0) & (roots.real < 1)].real)
    bounds = np.concatenate([[0.0], inside, [1.0]])
    return float(np.abs(np.diff(_antiderivative(c[:, None], bounds))).sum())


def _antiderivative(c: Floats, s: Floats) -> Floats:
    total = np.zeros(len(s))
    for p in range(5, -1, -1):
        total = (total + c[p] / (p + 1)) * s
    return total


def _polynomial(c: Floats, s: Floats) -> tuple[Floats, Floats]:
    """Value and slope by Horner's rule."""
    value, slope = c[5].copy(), np.zeros(c.shape[1])
    for p in range(4, -1, -1):
        slope = slope * s + value
        value = value * s + c[p]
    return value, slope


def _root(c: Floats) -> Floats:
    """The sign change in each piece, whose ends differ in sign; the integral is flat there, so a few steps are enough."""
    low, high = np.zeros(c.shape[1]), np.ones(c.shape[1])
    s: Floats
    sign = np.sign(c[0])
    s = c[0] / (c[0] - c.sum(axis=0))
    for _ in range(3):
        value, slope = _polynomial(c, s)
        before = sign * value > 0
        low, high = np.where(before, s, low), np.where(before, high, s)
        newton = s - np.divide(value, slope, out=np.full_like(value, np.inf), where=slope != 0)
        s = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
    return s


def fixed_point(curve: Callable[[float], float], guess: float, finest: float, tolerance: float = 1e-13) -> float | None:
    """The σ with curve(σ) = σ for a non-increasing curve; None when it lies below `finest`.

    Each evaluation bounds the root from both sides: it lies between σ and curve(σ). Curves are close to powers of σ, so
    the secant is taken between logarithms.
    """
    previous: tuple[float, float] | None = None
    low, high = 0.0, math.inf
    x = max(guess, finest)
    for _ in range(100):
        value = curve(x)
        low, high = max(low, min(x, value)), min(high, max(x, value))
        if high < finest or (x == finest and value < x):
            return None
        if high - low <= tolerance * high or value <= 0:
            return low
        gap = math.log(value / x)
        step = math.log(x) + gap  # where a flat curve would have its fixed point
        if previous is not None and gap != previous[1]:
            step = math.log(x) - gap * (math.log(x) - previous[0]) / (gap - previous[1])
        previous = (math.log(x), gap)
        guess = math.exp(min(step, math.log(high)))
        x = max(guess if low <= guess <= high else math.sqrt(low * high) or high / 2, finest)
    return (low + high) / 2
