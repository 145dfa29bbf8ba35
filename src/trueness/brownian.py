r"""The laws of the largest absolute value and of the range of a standard Brownian motion on [0, 1].

Under calibration ECCE-MAD/σ_n and ECCE-R/σ_n tend to :math:`M = \max|B|` and :math:`R = \max B - \min B`. Each law has one
series that converges fast for large x and one for small x; no probability is ever one less another that is close to it:

.. math::

    S_M(x) = 2 \sum_{k \ge 0} (-1)^k \operatorname{erfc}\frac{(2k+1)x}{\sqrt2}, \qquad
    S_R(x) = 4 \sum_{k \ge 1} (-1)^{k-1} k \operatorname{erfc}\frac{kx}{\sqrt2}

    F_M(x) = \frac4\pi \sum_{k \ge 0} \frac{(-1)^k}{2k+1} e^{-(2k+1)^2\pi^2/(8x^2)}, \qquad
    F_R(x) = 8 \sum_{k \ge 0} \Bigl[\frac1{x^2} + \frac1{(2k+1)^2\pi^2}\Bigr] e^{-(2k+1)^2\pi^2/(2x^2)}

References
----------
W. Feller (1951). The asymptotic distribution of the range of sums of independent random variables. Annals of Mathematical
Statistics 22.

I. Arrieta-Ibarra, P. Gujral, J. Tannen, M. Tygert, C. Xu (2022). Metrics of calibration for probabilistic predictions.
JMLR 23.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueness._types import Floats
from trueness.errors import InputError

__all__ = ["BrownianLaw", "max_abs", "range"]

Series = Callable[[Floats], Floats]

_TERMS = 12
_SPLIT = 2.0**27 + 1
# π² as the float nearest to it and the rest.
_PI2, _PI2_REST = 9.869604401089358, 6.265295508739711e-16


def _square(x: Floats) -> tuple[Floats, Floats]:
    """x² as the float nearest to it and the rest, exactly (Dekker): exp(−x²/2) would lose 2e-13 at x = 37 without it."""
    high = x * x
    c = _SPLIT * x
    upper = c - (c - x)
    lower = x - upper
    rest = ((upper * upper - high) + 2 * upper * lower) + lower * lower
    return high, np.where(np.isfinite(rest), rest, 0.0)


def _quotient(constant: float, rest: float, x: Floats) -> tuple[Floats, Floats]:
    """(constant + rest)/x² as a float and what it lacks."""
    high, low = _square(x)
    quotient = constant / high
    c, d = _SPLIT * quotient, _SPLIT * high
    q_upper, h_upper = c - (c - quotient), d - (d - high)
    q_lower, h_lower = quotient - q_upper, high - h_upper
    product = quotient * high
    lost = ((q_upper * h_upper - product) + q_upper * h_lower + q_lower * h_upper) + q_lower * h_lower
    lacking = ((constant - product) - lost + rest - quotient * low) / high
    return quotient, np.where(np.isfinite(lacking), lacking, 0.0)


def _numbers(x: ArrayLike, name: str) -> Floats:
    """An argument as float64, NaN where masked or None."""
    try:
        values = np.ma.asarray(x, dtype=np.float64) if isinstance(x, np.ma.MaskedArray) else np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: a {type(x).__name__} cannot be read as numbers ({error}). Pass numbers.") from error
    return np.asarray(np.ma.filled(values, np.nan))


class BrownianLaw:
    """One of the two laws; arguments are floats or arrays, and so are the results."""

    def __init__(self, name: str, switch: float, leading: float, later: Series, small: Series) -> None:
        self._name = name
        self._switch = switch  # below it the series for small x is used
        self._leading = leading  # factor of the first erfc in the series for large x
        self._later = later  # the other terms of that series over the first
        self._small = small  # the series for small x

    def __repr__(self) -> str:
        return f"<law of {self._name}>"

    def sf(self, x: ArrayLike) -> Any:
        """P(X > x).

        Examples
        --------
        >>> float(f"{max_abs.sf(5.512):.2g}")
        7.1e-08
        """
        return self._by_parts(x, below=lambda v: 1 - self._small(v), above=self._upper, at_zero=1.0, at_infinity=0.0)

    def cdf(self, x: ArrayLike) -> Any:
        """P(X ≤ x)."""
        return self._by_parts(x, below=self._small, above=lambda v: 1 - self._upper(v), at_zero=0.0, at_infinity=1.0)

    def logsf(self, x: ArrayLike) -> Any:
        """ln P(X > x), finite however large x is.

        Examples
        --------
        >>> float(round(range.logsf(111.7) / np.log(10), 3))
        -2710.866
        """
        return self._by_parts(
            x, below=lambda v: np.log1p(-self._small(v)) + 0.0, above=self._log_upper, at_zero=0.0, at_infinity=-np.inf
        )

    def isf(self, p: ArrayLike) -> Any:
        """The x with P(X > x) = p.

        Examples
        --------
        >>> round(max_abs.isf(0.025), 8), round(range.isf(0.025), 8)
        (2.49770547, 2.73436401)
        """
        p = _numbers(p, "p")
        flat = np.atleast_1d(p).ravel()
        x = np.full(flat.shape, np.nan)
        x[flat == 0], x[flat == 1] = np.inf, 0.0
        inside = (flat > 0) & (flat < 1)
        x[inside] = self._solve(flat[inside])
        return float(x[0]) if p.ndim == 0 else x.reshape(p.shape)

    def _solve(self, p: Floats) -> Floats:
        """Bisection between 0 and 40, where P falls below the smallest float; on logarithms of whichever tail is smaller."""
        low, high = np.zeros_like(p), np.full_like(p, 40.0)
        target = np.log(p)
        for _ in np.arange(64):
            middle = (low + high) / 2
            beyond = np.where(p > 0.5, self.cdf(middle) >= 1 - p, self.logsf(middle) <= target)
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return high

    def _by_parts(self, x: ArrayLike, *, below: Any, above: Any, at_zero: float, at_infinity: float) -> Any:
        values = _numbers(x, "x")
        flat = np.atleast_1d(values).ravel()
        result = np.full(flat.shape, np.nan)
        result[flat <= 0] = at_zero
        result[flat == np.inf] = at_infinity
        small = (flat > 0) & (flat < self._switch)
        large = (flat >= self._switch) & (flat < np.inf)
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):  # ends of the range round to 0
            result[small] = below(flat[small])
            result[large] = above(flat[large])
        return float(result[0]) if values.ndim == 0 else result.reshape(values.shape)

    def _upper(self, x: Floats) -> Floats:
        """The series for large x, the leading erfc as erfcx·exp(−x²/2) with x² exact."""
        from scipy.special import erfcx

        high, low = _square(x)
        lead = np.exp(-high / 2) * (1 - low / 2)
        return np.asarray(self._leading * lead * erfcx(x / np.sqrt(2)) * (1 + self._later(x)))

    def _log_upper(self, x: Floats) -> Floats:
        from scipy.special import erfcx

        high, low = _square(x)
        rest = np.log(self._leading * erfcx(x / np.sqrt(2))) - low / 2 + np.log1p(self._later(x))
        return np.asarray(rest - high / 2)


def _max_abs_later(x: Floats) -> Floats:
    from scipy.special import erfcx

    z, first = x / np.sqrt(2), erfcx(x / np.sqrt(2))
    total = np.zeros_like(x)
    for k in np.arange(1, _TERMS):
        m = 2 * k + 1
        total += (-1.0) ** k * erfcx(m * z) / first * np.exp(-(m * m - 1) * x * x / 2)
    return total


def _max_abs_small(x: Floats) -> Floats:
    q, rest = _quotient(_PI2 / 8, _PI2_REST / 8, x)
    total = np.exp(-q) * (1 - rest)
    for k in np.arange(1, _TERMS):
        m = 2 * k + 1
        total += (-1.0) ** k / m * np.exp(-m * m * q)
    return 4 / np.pi * total


def _range_later(x: Floats) -> Floats:
    from scipy.special import erfcx

    z, first = x / np.sqrt(2), erfcx(x / np.sqrt(2))
    total = np.zeros_like(x)
    for k in np.arange(2, _TERMS):
        total += (-1.0) ** (k - 1) * k * erfcx(k * z) / first * np.exp(-(k * k - 1) * x * x / 2)
    return total


def _range_small(x: Floats) -> Floats:
    q, rest = _quotient(_PI2 / 2, _PI2_REST / 2, x)
    inverse = 1 / (x * x)
    total = (inverse + 1 / _PI2) * np.exp(-q) * (1 - rest)
    for k in np.arange(1, _TERMS):
        m = 2 * k + 1
        total += (inverse + 1 / (m * m * _PI2)) * np.exp(-m * m * q)
    return 8 * total


max_abs = BrownianLaw("the largest absolute value of Brownian motion on [0, 1]", 1.15, 2.0, _max_abs_later, _max_abs_small)
range = BrownianLaw("the range of Brownian motion on [0, 1]", 1.5, 4.0, _range_later, _range_small)
