"""The integral of an absolute value, to high order."""

import numpy as np
from numpy.typing import NDArray

from trueness._types import Floats, Ints


def absolute_integral(q: Floats, q1: Floats, q2: Floats, step: float) -> float:
    """∫|q| from q and its first two derivatives at equal steps, by quintic Hermite pieces cut at their sign changes.

    A plain trapezoid rule on |q| would err at every sign change.
    """
    d, dd = q1 * step, q2 * (step * step)
    full = (q[:-1] + q[1:]) / 2 + (d[:-1] - d[1:]) / 10 + (dd[:-1] + dd[1:]) / 120  # the quintic's integral
    pieces = np.abs(full)
    same = q[:-1] * q[1:]
    crossing = np.flatnonzero(same < 0)
    if len(crossing):
        c = _quintic(q, d, dd, crossing)
        part = _antiderivative(c, _root(c))
        pieces[crossing] = np.abs(part) + np.abs(full[crossing] - part)
    # Equal signs at both ends, but falling towards 0 and away from it: the piece may cross twice.
    dips = np.flatnonzero((same > 0) & (q[:-1] * d[:-1] < 0) & (q[1:] * d[1:] > 0))
    if len(dips):
        c = _quintic(q, d, dd, dips)
        for i in np.flatnonzero(_crosses_twice(c)):
            pieces[dips[i]] = _cut_at_roots(c[:, i])
    return float(pieces.sum() * step)


def _quintic(q: Floats, d: Floats, dd: Floats, place: Ints) -> Floats:
    """Coefficients of the polynomial on [0, 1] with given values and derivatives at both ends, for chosen intervals."""
    c0, c1, c2 = q[place], d[place], dd[place] / 2
    value = q[place + 1] - (c0 + c1 + c2)
    slope = d[place + 1] - (c1 + 2 * c2)
    bend = dd[place + 1] - 2 * c2
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
