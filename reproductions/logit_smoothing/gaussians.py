"""A population with everything in closed form: the logit is N(±μ, s²) given the label."""

import math
from dataclasses import dataclass

import numpy as np

from reproductions.arrays import Floats

_STEPS = 40_001


@dataclass(frozen=True, slots=True)
class Pair:
    """h | Y = y ~ N((2y − 1)μ, s²), either label with probability ½.

    With noise N(0, σ²) the true probability at logit u is ρ(βu), β = 2μ/(s² + σ²): predictions are over-confident where
    β < 1, and calibrated once noise is added where 2μ = s² + σ².
    """

    mu: float
    s: float

    def draw(self, rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        """Labels and predictions of n draws."""
        y = rng.integers(0, 2, n).astype(np.float64)
        h = (2 * y - 1) * self.mu + self.s * rng.standard_normal(n)
        return y, 1 / (1 + np.exp(-h))

    def ls_ece(self, sigma: float) -> float:
        """E|ρ(βU) − ρ(U)|, the integral of an even function over its positive half; the true ECE at σ = 0."""
        u = self._half_line(sigma)
        beta = 2 * self.mu / (self.s**2 + sigma**2)
        gap = np.abs(np.tanh(beta * u / 2) - np.tanh(u / 2)) / 2
        return float(np.trapezoid(gap * (self._density(u, 1, sigma**2) + self._density(u, -1, sigma**2)), u))

    def pure_noise(self, sigma: float, n: int) -> float:
        """E LS-ECE of n draws where the population's is 0, for large nσ.

        The integrand at u is then a mean of n terms with mean 0 and variance V(u) = E[(Y − ρ(u))² φ_σ(u − h)²], hence
        √(2/(πn)) ∫√V du; the square of a normal density is one of half the variance, divided by 2√π σ.
        """
        u = self._half_line(sigma)
        one = self._density(u, 1, sigma**2 / 2) / (1 + np.exp(u)) ** 2
        zero = self._density(u, -1, sigma**2 / 2) / (1 + np.exp(-u)) ** 2
        variance = (one + zero) / (4 * math.sqrt(math.pi) * sigma)
        return 2 * math.sqrt(2 / (math.pi * n)) * float(np.trapezoid(np.sqrt(variance), u))

    def crumbs(self, share: float) -> float:
        """Limit of E LS-ECE of n draws with uniform noise of width share/n, where the population is calibrated.

        At u lie N ~ Poisson(share·p(u)) draws, B ~ Binomial(N, ρ(u)) of them ones: (1/share) ∫ E|B − Nρ| du.
        """
        from scipy.stats import poisson

        u = self._half_line(0)
        expected = share * (self._density(u, 1, 0) + self._density(u, -1, 0)) / 2
        total = np.zeros_like(u)
        for count in range(1, 12):
            total += poisson.pmf(count, expected) * mean_deviation(count, 1 / (1 + np.exp(-u)))
        return 2 * float(np.trapezoid(total, u)) / share

    def _half_line(self, sigma: float) -> Floats:
        return np.linspace(0, self.mu + 12 * math.hypot(self.s, sigma), _STEPS)

    def _density(self, u: Floats, side: int, extra: float) -> Floats:
        variance = self.s**2 + extra
        density: Floats = np.exp(-((u - side * self.mu) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
        return density


def mean_deviation(n: int, p: Floats) -> Floats:
    """E|B − np| of B ~ Binomial(n, p), 0 < p < 1: 2ν(1 − p)·P(B = ν) with ν = ⌊np⌋ + 1 (De Moivre)."""
    from scipy.special import gammaln

    nu = np.floor(n * p) + 1
    ways = gammaln(n + 1) - gammaln(nu + 1) - gammaln(n - nu + 1)
    deviation: Floats = 2 * nu * (1 - p) * np.exp(ways + nu * np.log(p) + (n - nu) * np.log1p(-p))
    return deviation
