"""LS-ECE: expected calibration error after noise on the logits (Chidambaram et al. 2024)."""

import math
from functools import cached_property
from typing import Any, Literal

import numpy as np

from trueness._types import Array, Floats, Generator, Ints, Rng, Values
from trueness.data.binomials import Draws, single
from trueness.data.masses import Masses
from trueness.data.points import Points
from trueness.data.sample import Given, as_sample
from trueness.data.scales import LOGIT, Window, logit
from trueness.metrics.contrast import IntegralContrast, Kernel
from trueness.metrics.drawing import Drawing, IntegralNorm, Options, Partition, Statistic
from trueness.metrics.registry import Metric, register
from trueness.options import check_bandwidth, check_choice, check_count, check_rng
from trueness.smoothing.draws import STEPS, DrawGrid, by_point, crossing_sizes, linear_integrals, mean_sizes, middles, nodes_for
from trueness.smoothing.kernel import Lattice, gaussian, lattice
from trueness.smoothing.smoothed import grid_cells, sigmoid, sigmoid_link, smoothed_masses, window_for

_BLOCK = 1 << 21  # kernel values held at a time by the Monte Carlo estimator
# Of draws: kernel widths beyond which a kernel is below 1e-9, steps of a grid at most, nodes in a narrow bandwidth, in an
# ordinary one at least, logits within which the sigmoid hardly bends, groups of the middle half of rows, of all at most.
_REACH = 6.6
_MOST_STEPS = 1 << 13
_NARROW_NODES = 8
_CONTRAST_NODES, _MOST_CONTRAST_NODES, _NEAR = 2.0, 4096, 4.5  # a bandwidth, in all, and kernel widths to the last
_LEAST_NODES = 4
_BEND = 0.5
_HALF_GROUPS, _MOST_GROUPS = 64, 2048
NARROW = 0.02  # bandwidths up to this are drawn more finely
WIDEST_LINK = 4.0  # wider noise than this bends the sigmoid within one step of the lattice


def logit_smoothed_ece(
    y_true: Given,
    y_prob: Values | None = None,
    *,
    bandwidth: float = 1 / 15,
    noise: Literal["gaussian", "uniform"] = "gaussian",
    method: Literal["integral", "monte-carlo"] = "integral",
    draws: int = 10_000,
    rng: Rng = None,
    sample_weight: Values | None = None,
) -> float:
    r"""Calibration error of the predictions after a little noise on their logits.

    .. math:: \mathrm{LS\text{-}ECE}_\xi = \int \Bigl|\frac1W \sum_i w_i\,(y_i - \rho(u))\,p_\xi(u - h_i)\Bigr|\,du, \qquad
              h_i = \ln\frac{f_i}{1 - f_i}, \quad \rho(u) = \frac{1}{1 + e^{-u}}

    Continuous in the predictions, unlike binned ECE. Smaller is better, but a calibrated model does not get 0: the noise
    itself moves predictions (0.069 at bandwidth 1). Scores are clipped to [1e-10, 1 − 1e-10] for the logit only.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays. From a summary the value is good
        to 3e-5 of itself with Gaussian noise of the default bandwidth, to 3e-3 with uniform noise; not where the scores that
        matter lie within 4e-5 of 0 or 1, which the summary's notes say.
    y_prob : array-like
        Predicted probabilities.
    bandwidth : float
        σ in units of the logit, from 1e-10 to 1000: standard deviation of Gaussian noise, or full width of uniform noise. The
        paper's 1/bins. Gaussian noise needs about 1e-4 where scores spread over the whole range.
    noise : {"gaussian", "uniform"}
        Distribution of the noise ξ.
    method : {"integral", "monte-carlo"}
        Integrate exactly, or draw noisy predictions as the paper does (needs rows; slow and noisy, for comparison).
    draws : int
        Draws of the Monte Carlo method.
    rng : None, int or numpy Generator
        Randomness of the Monte Carlo method.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    float

    References
    ----------
    M. Chidambaram, H. Lee, C. McSwiggen, S. Rezchikov (2024). How flawed is ECE? An analysis via logit smoothing. ICML.

    Examples
    --------
    >>> round(logit_smoothed_ece([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9]), 6)
    0.250133
    """
    sigma = check_bandwidth(bandwidth, smallest=1e-10, largest=1000)
    check_choice("noise", noise, ("gaussian", "uniform"))
    check_choice("method", method, ("integral", "monte-carlo"))
    draws, generator = check_count("draws", draws), check_rng(rng)
    sample = as_sample(y_true, y_prob, sample_weight)
    if method == "monte-carlo":
        rows = sample.rows('method="monte-carlo"').arrays
        return _monte_carlo(rows.y, logit(rows.f), rows.w, sigma, noise, draws, generator)
    masses = sample.masses(LOGIT, ("outcome", "counter"), resolution=sigma)
    return _gaussian(masses, sigma) if noise == "gaussian" else _uniform(masses, sigma)


def _gaussian(masses: Masses, sigma: float) -> float:
    window = window_for(masses, sigma)
    return smoothed_masses(masses, window, grid_cells(window, sigma), sigmoid_link).integral(sigma)


def _uniform(masses: Masses, sigma: float) -> float:
    """∫|(1 − ρ)A − ρB|/σ, A and B constant between the breakpoints h_i ± σ/2: exact by the antiderivative of ρ."""
    h, (outcome, counter) = masses.points()
    cuts = np.concatenate([h - sigma / 2, h + sigma / 2])
    order = np.argsort(cuts, kind="stable")
    cuts = cuts[order]
    a = np.cumsum(np.concatenate([outcome, -outcome])[order])[:-1]
    b = np.cumsum(np.concatenate([counter, -counter])[order])[:-1]
    empty = np.cumsum(np.repeat([1, -1], len(h))[order])[:-1] == 0
    a[empty] = b[empty] = 0.0
    low, high = cuts[:-1], cuts[1:]
    a, b = np.maximum(a, 0.0), np.maximum(b, 0.0)  # rounding may leave a trace of what has been taken away
    # The integrand changes sign where ρ(u) = A/(A + B), at most once in a piece.
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.log(a) - np.log(b)
    root = np.clip(np.where(np.isnan(root), low, root), low, high)
    return float((np.abs(_piece(a, b, low, root)) + np.abs(_piece(a, b, root, high))).sum() / sigma)


def _piece(a: Floats, b: Floats, low: Floats, high: Floats) -> Floats:
    """∫((1 − ρ)A − ρB) du from low to high."""
    return a * _sigmoid_integral(-high, -low) - b * _sigmoid_integral(low, high)


def _sigmoid_integral(low: Floats, high: Floats) -> Floats:
    """∫ρ du, by the antiderivative ln(1 + e^u); over a short piece by its middle, where the difference would lose digits."""
    width = high - low
    p, _, _, bend = sigmoid_link((low + high) / 2)
    short = width * (p + bend * width**2 / 24)
    return np.where(width < 1e-3, short, np.logaddexp(0, high) - np.logaddexp(0, low))


def _monte_carlo(y: Array, h: Floats, w: Floats | None, sigma: float, noise: str, draws: int, rng: Generator) -> float:
    """Mean of |Ê[Y | u] − ρ(u)| over noisy logits u, with kernel regression for the conditional mean."""
    weight = np.ones(len(h)) if w is None else w
    row = rng.choice(len(h), size=draws, p=weight / weight.sum())
    shift = rng.standard_normal(draws) if noise == "gaussian" else rng.uniform(-0.5, 0.5, draws)
    u = h[row] + sigma * shift
    total = 0.0
    step = max(1, _BLOCK // len(h))
    for start in range(0, draws, step):
        t = u[start : start + step]
        z = (t[:, None] - h) / sigma
        # Half-width σ/2 for both the noise and its kernel (the published code has σ for the kernel).
        # A draw at the very edge of its own row's kernel may round outside it; the tolerance keeps that row.
        kernel = np.exp(-0.5 * z * z) if noise == "gaussian" else (np.abs(z) <= 0.5 + 1e-9).astype(np.float64)
        kernel *= weight
        total += float(np.abs(kernel @ y / kernel.sum(axis=1) - sigmoid(t)).sum())
    return total / draws


class LogitNorm(IntegralNorm):
    """LS-ECE of draws, the noise on the logits taken out of the residual's variance."""

    gives_metric = False  # the noise on the logits adds to it

    def __init__(self, points: Points, bandwidth: float, *, uniform: bool) -> None:
        super().__init__(points)
        self.h, self.bandwidth, self.uniform = logit(points.score), bandwidth, uniform

    def squares(self) -> Floats:
        """Σw²(y − E ρ(h + ξ))²: the residual of a prediction with noise on its logit; Σw²E(y − ρ(h + ξ))² of soft labels, whose
        own noise may be less than that."""
        points, noisy, square = self.points, *self._noisy
        move = points.score - noisy
        # (y − f + move)², each with w²
        about = points.squares + move * (2 * points.w2e + move * points.w2)
        return np.asarray(np.maximum(about + (points.w2 * (square - noisy**2) if points.soft else 0.0), 0.0))

    @property
    def _noisy(self) -> tuple[Floats, Floats]:
        """E ρ(h + ξ) and its square's expectation."""
        h, sigma = self.h, self.bandwidth
        if self.uniform:
            noisy = (np.logaddexp(0, h + sigma / 2) - np.logaddexp(0, h - sigma / 2)) / sigma
            return noisy, noisy - (sigmoid(h + sigma / 2) - sigmoid(h - sigma / 2)) / sigma  # ρ² = ρ − ρ′
        xi = np.linspace(-8.0, 8.0, 41)
        density = np.exp(-0.5 * xi * xi)
        share, values = density / density.sum(), sigmoid(h[:, None] + sigma * xi)
        return np.asarray(values @ share), np.asarray(values**2 @ share)

    def limiting_noise(self, e: Array, rng: Generator) -> Floats:
        """The norm of each draw; of soft labels with random signs of w(f − ρ(u)), too: where labels hardly vary, scores do."""
        if not self.points.soft:
            return self.noise(e)
        sign = rng.standard_normal(e.shape, dtype=np.float32) * np.sqrt(self.points.w2).astype(np.float32)
        return self.noise_beside(e + sign * self.points.score, sign)

    def noise_beside(self, e: Array, weight: Array) -> Floats:
        """The norm of Σ(e − ρ(u)·weight)p(u − h) of each draw."""
        raise NotImplementedError


class GaussianLogitNorm(LogitNorm):
    """Gaussian noise: draws smoothed on a grid of logits, a narrow kernel's on a fine lattice where any kernel reaches."""

    def __init__(self, points: Points, bandwidth: float) -> None:
        super().__init__(points, bandwidth, uniform=False)
        low, high = float(self.h[0]) - _REACH * bandwidth, float(self.h[-1]) + _REACH * bandwidth
        self.window = Window(low, high - low)
        self.narrow = bandwidth <= NARROW or bandwidth < STEPS * self.window.length / _MOST_STEPS
        # Beside wide kernels the sigmoid bends, and what is looked at must show it.
        self.nodes = nodes_for(points.n) * max(1.0, bandwidth / _BEND)
        self.metric_nodes = max(_LEAST_NODES, nodes_for(points.n)) * max(1.0, bandwidth / _BEND)

    @cached_property
    def _grid(self) -> DrawGrid:
        return self._grid_in(np.float32)

    def _grid_in(self, dtype: Any) -> DrawGrid:
        place = np.clip((self.h - self.window.low) / self.window.length, 0.0, 1.0)
        return DrawGrid(place, self.bandwidth / self.window.length, self.points.total, _REACH, dtype)

    @cached_property
    def _lattice(self) -> Lattice:
        # Many narrow kernels average out: what is left of the noise is small, and so must be the error.
        grid = lattice(self.h, self.bandwidth, self.bandwidth / _NARROW_NODES, _REACH)
        return grid._replace(kernel=(grid.kernel / self.points.total).astype(np.float32))

    def _smoothed(self, masses: Array, nodes: float, grid: DrawGrid | None = None) -> Array:
        """Masses [point, draw] smoothed at the nodes: [draw, node]."""
        if self.narrow:
            return np.ascontiguousarray((self._lattice.kernel @ masses).T)
        grid = self._grid if grid is None else grid
        return grid.rung(self.bandwidth / self.window.length, nodes).smoothed(grid.coefficients(masses))

    @cached_property
    def _bias(self) -> Draws:
        """What the noise on the logits alone adds: Σw(f − ρ(u))p(u − h)/W, a difference of large sums."""
        w, f = self.points.weight, self.points.score
        above, all_of_it = self._smoothed(np.stack([w * f, w], axis=1), self.metric_nodes, self._grid_in(np.float64))
        return single(above - sigmoid(self._places(len(above))) * all_of_it)

    def _on_lattice(self, smoothed: Draws) -> Floats:
        return linear_integrals(smoothed, self.bandwidth / _NARROW_NODES, self._lattice.neighbours)

    def of(self, e: Array) -> Floats:
        """The metric of each draw.

        The bias changes sign at the same place in every draw: what a plain trapezoid rule adds there does not average out.
        """
        smoothed = self._smoothed(by_point(e), self.metric_nodes)
        smoothed += self._bias
        return self._on_lattice(smoothed) if self.narrow else crossing_sizes(smoothed)

    def noise(self, e: Array) -> Floats:
        """The norm of each draw."""
        smoothed = self._smoothed(by_point(e), self.nodes)
        return self._on_lattice(smoothed) if self.narrow else mean_sizes(smoothed)

    def noise_beside(self, e: Array, weight: Array) -> Floats:
        """The norm of each draw beside random signs of the weights."""
        smoothed = self._smoothed(by_point(e), self.nodes)
        smoothed -= single(sigmoid(self._places(smoothed.shape[1]))) * self._smoothed(by_point(weight), self.nodes)
        return self._on_lattice(smoothed) if self.narrow else mean_sizes(smoothed)

    def _places(self, count: int) -> Floats:
        """Logits at which draws are looked at."""
        return self._lattice.nodes if self.narrow else self.window.low + self.window.length * middles(count)


class UniformLogitNorm(LogitNorm):
    """Uniform noise: the smoothed draw is constant between h ± σ/2."""

    def __init__(self, points: Points, bandwidth: float) -> None:
        super().__init__(points, bandwidth, uniform=True)
        cuts = np.concatenate([self.h - bandwidth / 2, self.h + bandwidth / 2])
        self.order = np.argsort(cuts, kind="stable")
        cuts = cuts[self.order]
        self.lengths, self.link = np.diff(cuts) / (bandwidth * points.total), sigmoid(cuts)

    def noise(self, e: Array) -> Floats:
        """The norm of each draw."""
        return np.asarray(np.abs(self._smoothed(e)) @ self.lengths)

    def noise_beside(self, e: Array, weight: Array) -> Floats:
        """The norm of each draw beside random signs of the weights, ρ as if it were straight between two breakpoints."""
        above, all_of_it = self._smoothed(e), self._smoothed(weight)
        first, last = above - self.link[:-1] * all_of_it, above - self.link[1:] * all_of_it
        both = np.abs(first) + np.abs(last)
        crossing = first * last < 0
        lost = np.divide(np.abs(first * last), both, out=np.zeros_like(both), where=crossing)
        return np.asarray((both / 2 - lost) @ self.lengths)

    def _smoothed(self, e: Array) -> Floats:
        both = np.concatenate([e, -e], axis=1)[:, self.order]
        return np.asarray(np.cumsum(both, axis=1, dtype=np.float64)[:, :-1])


class LogitDrawing(Drawing):
    """Kernels on the logits: groups of points a good deal shorter than one."""

    by_cuts = True

    def cuts(self, points: Points, options: Options) -> list[Ints]:
        """Stretches of half a bandwidth, of an eighth where it is narrow or has edges; less where half of the rows are near."""
        sharp = options["bandwidth"] <= NARROW or options["noise"] == "uniform"
        h, stretch = logit(points.score), options["bandwidth"] / (8 if sharp else 2)
        if self._is_on_a_grid(options):
            # Beside a wide kernel's bias, draws differ by where residuals lie more than by how many there are.
            low, high = np.searchsorted(np.cumsum(points.weight) / points.total, (0.25, 0.75))
            stretch = min(stretch, float(max((h[high] - h[low]) / _HALF_GROUPS, (h[-1] - h[0]) / _MOST_GROUPS)) or stretch)
        return [np.floor(h / stretch).astype(np.int64)]

    def _is_on_a_grid(self, options: Options) -> bool:
        """Whether draws are smoothed together: Gaussian noise of ordinary width."""
        return bool(options["noise"] == "gaussian" and options["bandwidth"] <= WIDEST_LINK)

    def read_on(self, points: Points, base: Points, options: Options) -> Points:
        """Groups change the value of a single outcome by up to 1 %, but hardly its law: what was observed is spared that."""
        if points is base or not self._is_on_a_grid(options):
            return points
        return points if GaussianLogitNorm(base, float(options["bandwidth"])).narrow else base

    def is_fine(self, options: Options) -> bool:
        """A narrow bandwidth."""
        return bool(options["bandwidth"] <= NARROW)

    def statistic(self, points: Points, options: Options, partition: Partition | None) -> Statistic | None:
        """Together on a grid; the rest one draw after the other."""
        return GaussianLogitNorm(points, float(options["bandwidth"])) if self._is_on_a_grid(options) else None

    def norm(self, points: Points, options: Options, partition: Partition | None) -> LogitNorm:
        """The smoothed residuals."""
        kind = UniformLogitNorm if options["noise"] == "uniform" else GaussianLogitNorm
        return kind(points, float(options["bandwidth"]))

    def contrast(self, score: Floats, options: Options) -> IntegralContrast | None:
        """The smoothed residuals, and what the noise on the logits alone adds."""
        if options["noise"] != "gaussian" or options["bandwidth"] > WIDEST_LINK:
            return None
        h, sigma = logit(score), options["bandwidth"]
        low, high = float(h[0]) - _NEAR * sigma, float(h[-1]) + _NEAR * sigma
        count = min(math.ceil((high - low) / sigma * _CONTRAST_NODES), _MOST_CONTRAST_NODES)
        step = (high - low) / count
        nodes = low + step * (np.arange(count) + 0.5)
        weights = step * gaussian(nodes - h[:, None], sigma)
        return IntegralContrast(Kernel(weights, weights * (score[:, None] - sigmoid(nodes))))

    def undrawable(self, options: Options) -> str | None:
        """The paper's own estimator draws noise itself."""
        if options["method"] == "monte-carlo":
            return 'the Monte Carlo estimator adds noise of its own. Leave method="integral".'
        return None


register(
    Metric(
        name="logit_smoothed_ece",
        label="LS-ECE (bandwidth 1/15)",
        meaning="The error after a little noise on the logits, so that it cannot jump when scores move. It is not "
        "exactly zero for a perfect model, since the noise itself moves predictions.",
        function=logit_smoothed_ece,
        drawing=LogitDrawing(),
        rows_options={"method": ("monte-carlo",)},
        variants=({}, {"bandwidth": 1.0}, {"noise": "uniform"}),
    )
)
