"""SmoothECE: calibration error of the outcomes smoothed by a Gaussian kernel (Błasiok & Nakkiran 2024)."""

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from trueness._types import Floats, Ints, Values
from trueness.data.masses import Masses
from trueness.data.points import Points
from trueness.data.sample import Given, Sample, as_sample
from trueness.data.scales import LOGIT, PROBABILITY, UNIT, Scale, Window
from trueness.errors import InputError, NeedsRowsError
from trueness.metrics.drawing import Drawing, Noise, Norm, Options, Partition, order_statistic
from trueness.metrics.registry import Metric, register
from trueness.options import check_bandwidth, check_choice
from trueness.smoothing.cosine import CELLS_PER_BANDWIDTH, smoothed_cells, smoothed_rows
from trueness.smoothing.fixed_point import fixed_point
from trueness.smoothing.integral import linear_integrals
from trueness.smoothing.smoothed import grid_cells, identity_link, scattered_integral, smoothed_masses, window_for

ScaleOption = Literal["probability", "logit"] | Callable[[Any], Any]

_LADDER = (1 << 14, 1 << 17, 1 << 20)  # grids tried in turn until the bandwidth is resolved
_SHORT = 1 << 12  # tried first where rows are few, and the bandwidth is hardly small
_FEW = 1 << 15  # rows whose distinct scores are faster looked at than a fine grid is filled
_FEW_SCORES = 64
_NOTHING = 1e-15
_FURTHEST = 1e9
# Of draws: bandwidths of the ladder, cosines at most and in all for all points, nodes a bandwidth, kernel widths (and the
# same in frequency) beyond which a kernel is below 1e-6, rungs looked at between two, cells of a first look.
BANDWIDTHS = 24
_COSINES, _TABLE = 1 << 14, 1 << 26
_NODES = 4
_REACH = 5.3
_BETWEEN = 8
_CELLS = 4096
_MOST_GROUPS = 8192
_NARROW = 5e-4  # a bandwidth of about ten cells
_WANTED = "Pass a function that maps an array of scores to finite values that increase with the score."


def smooth_ece(
    y_true: Given,
    y_prob: Values | None = None,
    *,
    bandwidth: float | None = None,
    scale: ScaleOption = "probability",
    sample_weight: Values | None = None,
) -> float:
    r"""Calibration error of the outcomes smoothed over neighbouring scores.

    .. math:: \mathrm{smECE}_\sigma = \int_0^1 \Bigl|\frac1W \sum_i w_i\,\tilde K_\sigma(t, f_i)\,(y_i - f_i)\Bigr|\,dt,
              \qquad \mathrm{smECE} = \text{the } \sigma^* \text{ with } \mathrm{smECE}_{\sigma^*} = \sigma^*

    with the Gaussian kernel reflected at 0 and 1. Zero is best. There are no bins and, with ``bandwidth=None``, nothing to
    choose; the value is a consistent measure of the distance to calibration. On calibrated data it is not 0 but shrinks
    with n: compare it with its noise floor.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays. From a summary the value is good
        to 1e-6 of itself while the bandwidth spans 10 cells (0.0006 in the middle, 0.00001 within 1/64 of either end); on
        the logit scale to 2e-4, less where scores below 0.001 meet a bandwidth of a few thousandths.
    y_prob : array-like
        Predicted probabilities.
    bandwidth : float, optional
        Use this σ instead of the fixed point.
    scale : {"probability", "logit"} or callable
        Where the kernel lives. "logit" smooths in ln(f/(1−f)) with a plain Gaussian (scores clipped to
        [1e-10, 1 − 1e-10]); an increasing function of the score smooths on its values (rows only).
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    float

    References
    ----------
    J. Błasiok, P. Nakkiran (2024). Smooth ECE: principled reliability diagrams via kernel smoothing. ICLR.

    Examples
    --------
    >>> round(smooth_ece([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9]), 6)
    0.14913
    >>> smooth_ece([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0])
    0.0
    """
    sample = as_sample(y_true, y_prob, sample_weight)
    return _smooth(sample, _scale(scale, sample), None if bandwidth is None else check_bandwidth(bandwidth))


def smooth_ece_area(
    y_true: Given, y_prob: Values | None = None, *, bandwidth: float | None = None, sample_weight: Values | None = None
) -> float:
    r"""Area between the smooth reliability curve and the diagonal, weighted by the density of the scores.

    .. math:: \int_0^1 |\hat y_\sigma(t) - t|\,\delta_\sigma(t)\,dt

    the number a reader of the smooth reliability diagram sees, within :math:`0.8\,\sigma` of :math:`\mathrm{smECE}_\sigma`
    (eq. 7 of the paper). Zero is best. The smoothing bends the curve towards the mean, so a calibrated model has a positive
    area at any fixed bandwidth; use `smooth_ece` as the measure.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays.
    y_prob : array-like
        Predicted probabilities.
    bandwidth : float, optional
        σ; by default the fixed point of `smooth_ece`.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    float

    References
    ----------
    J. Błasiok, P. Nakkiran (2024). Smooth ECE: principled reliability diagrams via kernel smoothing. ICLR.

    Examples
    --------
    >>> round(smooth_ece_area([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], bandwidth=0.1), 6)
    0.170657
    """
    sample = as_sample(y_true, y_prob, sample_weight)
    sigma = _smooth(sample, PROBABILITY, None) if bandwidth is None else check_bandwidth(bandwidth)
    if sigma < _NOTHING:
        return 0.0
    masses = sample.masses(PROBABILITY, ("outcome", "counter"))
    if sigma < CELLS_PER_BANDWIDTH / _LADDER[-1]:
        return scattered_integral(masses, sigma, identity_link)
    return smoothed_masses(masses, UNIT, grid_cells(UNIT, sigma), identity_link).integral(sigma)


def _scale(scale: ScaleOption, sample: Sample) -> Scale:
    if not callable(scale):
        check_choice("scale", scale, ("probability", "logit"))
        return _SCALES[scale]
    if not sample.has_rows:
        raise NeedsRowsError("scale: a function of the score needs the rows themselves. Pass y_true and y_prob.")
    return scale_of(scale, sample.rows("scale").arrays.f)


_SCALES = {"probability": PROBABILITY, "logit": LOGIT}


def scale_of(scale: Callable[[Any], Any], scores: Floats) -> Scale:
    """A scale from a function of the score, checked at these scores and along [0, 1]."""

    def position(f: Floats) -> Floats:
        try:
            with np.errstate(all="ignore"):  # what is not finite is refused below
                return np.asarray(scale(f.copy()), dtype=np.float64)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise InputError(f"scale: the function failed on an array of scores ({error}). {_WANTED}") from error

    scores = np.unique(np.concatenate([scores + 0.0, np.linspace(0, 1, 1025)]))
    x = position(scores)
    if x.shape != scores.shape or not np.all(np.abs(x) <= _FURTHEST):
        raise InputError(f"scale: the function's values are not finite numbers up to {_FURTHEST:g}, one a score. {_WANTED}")
    # Values of neighbouring floats may round to the same.
    rises = (np.diff(x) > 0) | ((np.diff(x) == 0) & (np.diff(scores) < 1e-12))
    if not rises.all():
        place = int(np.argmin(rises))
        between = f"score {scores[place]} to {scores[place + 1]}"
        raise InputError(f"scale: the function does not increase from {between}. {_WANTED}")
    return Scale("function", position)


def _smooth(sample: Sample, scale: Scale, bandwidth: float | None) -> float:
    masses = sample.masses(scale, ("residual",))
    if bandwidth is not None:
        return min(_at(masses, bandwidth), 1.0)  # no residual exceeds 1; rounding may
    value = _fixed_point(masses)
    finer = masses.at_resolution(value)
    return value if finer is masses else _fixed_point(finer)


def _at(masses: Masses, bandwidth: float) -> float:
    window = window_for(masses, bandwidth)
    if bandwidth < CELLS_PER_BANDWIDTH * window.length / _LADDER[-1]:
        return scattered_integral(masses, bandwidth)
    return smoothed_masses(masses, window, grid_cells(window, bandwidth)).integral(bandwidth)


def _fixed_point(masses: Masses) -> float:
    window = window_for(masses, 1.0)  # no residual exceeds 1, and neither does the bandwidth
    few = masses.rows <= _FEW
    for cells in (_SHORT, *_LADDER) if few else _LADDER:
        curve = smoothed_masses(masses, window, cells)
        if not curve.any:
            return 0.0
        # Calibrated rows give about this much, others at least the net error.
        guess = max((0.03 / masses.rows) ** (1 / 3), abs(float(curve.coefficients[0][0])))
        root = fixed_point(curve.integral, guess, curve.finest)
        if root is not None:
            return root
        if few and masses.pointwise and _by_scores(sums := masses.points()[1][0]):
            return _scattered_fixed_point(masses, sums)
    return _scattered_fixed_point(masses, masses.points()[1][0])


def _by_scores(sums: Floats) -> bool:
    """Whether the scores' own sums lead to the fixed point faster than a finer grid."""
    high = float(np.abs(sums).sum())
    return len(sums) <= _FEW_SCORES or high - abs(float(sums.sum())) <= _NOTHING


def _scattered_fixed_point(masses: Masses, sums: Floats) -> float:
    """The fixed point below the grids, from the sums of each score: few distinct scores, or hardly any error."""
    low, high = abs(float(sums.sum())), float(np.abs(sums).sum())
    if high < _NOTHING:
        return 0.0
    if high - low <= _NOTHING:
        return low
    root = fixed_point(lambda sigma: scattered_integral(masses, sigma), high, 0.0)
    return high if root is None else root


class _Band(NamedTuple):
    """Bandwidths that share one window, and the cosines of the points there."""

    window: Window
    places: range  # in the ladder
    frequency: Floats
    cosines: Floats


class SmoothNorm(Norm):
    """SmoothECE of draws at a bandwidth, or its fixed point from a ladder of bandwidths that depends on the scores alone."""

    def __init__(self, points: Points, scale: Scale, bandwidth: float | None, ladder: Floats | None = None) -> None:
        super().__init__(points)
        self.scale = scale
        self.x = scale.position(points.score)
        self.reflects = scale.reflects
        self.total = points.total
        self.fixed = bandwidth is not None
        if ladder is not None:
            self.ladder = ladder
        elif bandwidth is None:
            smallest = self._typical(points.squares if points.soft else points.binomial) / 2
            self.ladder = np.geomspace(min(smallest, 0.5), 1.0, BANDWIDTHS)
        else:
            self.ladder = np.array([bandwidth])
        finest = _REACH * self._window(0.0).length / (np.pi * min(_COSINES, _TABLE // len(self.x)))
        self.clipped = bool(self.ladder[0] < finest)
        if self.clipped and bandwidth is not None:
            raise InputError(
                f"bandwidth: {bandwidth:g} is too small to be simulated on these data. Pass at least {finest:.2g}."
            )
        if self.clipped:
            self.ladder = np.geomspace(min(finest, 0.5), 1.0, BANDWIDTHS)

    @cached_property
    def bands(self) -> list[_Band]:
        """Windows and cosines, made when first drawn."""
        return list(self._bands())

    def _window(self, bandwidth: float) -> Window:
        low, high = float(self.x[0]) - _REACH * bandwidth, float(self.x[-1]) + _REACH * bandwidth
        if self.reflects:
            low, high = max(low, 0.0), min(high, 1.0)
            return Window(low, high - low if high > low else 1.0)
        return Window(low, max(high - low, 1e-300))

    def _bands(self) -> Iterator[_Band]:
        """Few windows for many bandwidths: scores near 0, say, need the whole scale for wide kernels only."""
        first = 0
        for last in range(1, len(self.ladder) + 1):
            if (
                last < len(self.ladder)
                and self._window(self.ladder[last]).length <= 1.6 * self._window(self.ladder[first]).length
            ):
                continue
            window = self._window(self.ladder[last - 1])
            count = int(_REACH * window.length / (np.pi * self.ladder[first])) + 1
            frequency = np.pi * np.arange(count + 1, dtype=np.float64)
            cosines = np.cos(np.outer((self.x - window.low) / window.length, frequency))
            yield _Band(window, range(first, last), frequency, cosines)
            first = last

    def _typical(self, variance: Floats) -> float:
        """Where √(2/π)·∫ of the standard deviation of the smoothed noise equals its bandwidth."""
        if not variance.any():
            return 1.0
        low, high = 1e-7, 1.0
        for _ in range(40):
            sigma = float(np.sqrt(low * high))
            window = self._window(sigma)
            place = (self.x - window.low) / window.length * _CELLS
            mass = np.bincount(np.clip(place.astype(np.int64), 0, _CELLS - 1), variance, minlength=_CELLS)
            s = sigma / window.length
            # The kernel squared is a kernel of width σ/√2 over 2√π·σ, reflections that overlap left out.
            spread = smoothed_cells(mass / self.total**2, s / np.sqrt(2))
            g = np.maximum(spread, 0.0) / (2 * np.sqrt(np.pi) * s)
            if np.sqrt(2 / np.pi) * float(np.sqrt(g).mean()) > sigma:
                low = sigma
            else:
                high = sigma
        return float(np.sqrt(low * high))

    def noise(self, e: Floats, nodes: int = _NODES) -> Floats:
        """∫|g_σ| of each draw for every bandwidth of the ladder, looked at on so many nodes a bandwidth."""
        from scipy.fft import next_fast_len

        values = np.empty((len(e), len(self.ladder)))
        for band in self.bands:
            a = e @ band.cosines / self.total
            for j in band.places:
                sigma = self.ladder[j] / band.window.length
                last = min(int(_REACH / (np.pi * sigma)) + 1, len(band.frequency) - 1)
                intervals = next_fast_len(max(16, last + 1, int(np.ceil(nodes / sigma))))
                values[:, j] = linear_integrals(smoothed_rows(a[:, : last + 1], sigma, intervals), 1 / intervals)
        return values

    def of(self, e: Floats) -> Floats:
        """The metric of each draw."""
        return self.metric_of(self.noise(e))

    def metric_of(self, norms: Floats) -> Floats:
        """The metric from what `noise` gave: where a curve equals the bandwidth. Between rungs a curve is nearly a power."""
        if self.fixed:
            return norms[:, 0]
        below = norms <= self.ladder  # from some rung on: normss fall and the ladder rises
        j = np.argmax(below, axis=1)
        i = np.maximum(j - 1, 0)
        rows = np.arange(len(norms))
        with np.errstate(divide="ignore", invalid="ignore"):
            gap0, gap1 = (np.log(norms[rows, rung] / self.ladder[rung]) for rung in (i, j))
            share = gap0 / (gap0 - gap1)
            between = self.ladder[i] * (self.ladder[j] / self.ladder[i]) ** share
            # Below the ladder the curve hardly moves, unless the ladder had to end too early: then it goes on as a power.
            slope = np.log(norms[:, 1] / norms[:, 0]) / np.log(self.ladder[1] / self.ladder[0])
            below_all = self.ladder[0] * (norms[:, 0] / self.ladder[0]) ** (1 / (1 - slope)) if self.clipped else norms[:, 0]
        # At the ladder's end no curve exceeds 1.
        return np.where(
            j == 0, np.where(norms[:, 0] > 0, below_all, 0.0), np.where(np.isfinite(between), between, self.ladder[i])
        )

    def limits(self, value: float, high: float, noise: Noise, alpha: float) -> tuple[float, float]:
        """The lower limit is the best of all bandwidths, each bounded by what is left there and by itself."""
        if self.fixed:
            return super().limits(value, high, noise, alpha)
        bound = np.max([_simultaneous(curves, alpha / 2) for curves in noise.kinds], axis=0)
        # Between two rungs the noise is no more than at the lower one, since norms fall with the bandwidth.
        fine = np.unique(np.concatenate([np.geomspace(a, b, _BETWEEN + 1) for a, b in pairwise(self.ladder)]))
        curve = SmoothNorm(self.points, self.scale, None, ladder=fine).noise(self.points.e[None, :], nodes=32)[0]
        rung = np.searchsorted(self.ladder, fine * (1 + 1e-12), side="right") - 1
        return float(min(np.max(np.minimum(fine, curve - bound[rung])), value)), high


def _simultaneous(curves: Floats, tail: float) -> Floats:
    """A bound on the noise at every bandwidth that holds for all of them together."""
    mean, spread = curves.mean(axis=0), curves.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    bound: Floats = mean + order_statistic(((curves - mean) / spread).max(axis=1), tail) * spread
    return bound


class SmoothDrawing(Drawing):
    """A kernel: groups of points a good deal shorter than a narrow one."""

    def cuts(self, points: Points, options: Options) -> list[Ints]:
        """Stretches of an eighth of a bandwidth, where one is given or the scale is another."""
        if options["bandwidth"] is None and options["scale"] == "probability":
            return []
        norm = self.norm(points, options, None)
        label = np.floor(norm.x * (8 / norm.ladder[0])).astype(np.int64)
        while np.count_nonzero(np.diff(label)) >= _MOST_GROUPS:
            label //= 2
        return [label]

    def is_fine(self, options: Options) -> bool:
        """A bandwidth of less than about ten cells, or another scale."""
        return (options["bandwidth"] or 1.0) < _NARROW or options["scale"] != "probability"

    def norm(self, points: Points, options: Options, partition: Partition | None) -> SmoothNorm:
        """The smoothed residuals."""
        scale = options["scale"]
        return SmoothNorm(points, scale_of(scale, points.score) if callable(scale) else _SCALES[scale], options["bandwidth"])

    statistic = norm


register(
    Metric(
        name="smooth_ece",
        label="SmoothECE",
        meaning="How far predictions are from what happened, averaged over neighbouring scores by a kernel whose width "
        "chooses itself. Zero is best. A finite sample of a perfect model gets about the noise floor.",
        function=smooth_ece,
        drawing=SmoothDrawing(),
        variants=({}, {"bandwidth": 0.05}, {"scale": "logit"}),
    )
)
register(
    Metric(
        name="smooth_ece_area",
        label="area of the smooth diagram",
        function=smooth_ece_area,
        variants=({}, {"bandwidth": 0.05}),
    )
)
