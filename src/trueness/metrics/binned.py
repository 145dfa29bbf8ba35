"""Binned calibration errors: ECE in its variants, and SMECE for soft labels."""

import math
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from trueness._types import Array, Floats, Ints, Values
from trueness.data.points import Points
from trueness.data.row_sample import RowSample, residuals
from trueness.data.sample import Given, Sample, as_sample
from trueness.errors import InputError
from trueness.metrics.contrast import IntegralContrast, bins_kernel
from trueness.metrics.drawing import (
    Drawing,
    IntegralNorm,
    Noise,
    Norm,
    Options,
    Partition,
    Reach,
    Typical,
    normal_quantile,
    order_statistic,
    student_quantile,
)
from trueness.metrics.registry import Metric, register
from trueness.options import check_bins, check_choice, check_flag
from trueness.summary.ruler import uniform_edges

# A quantile boundary is reached at jW/B up to rounding, so that weights times a constant give the same bins.
_REACHED = 1 - 1e-9
_BEYOND_DOUBT = 3.6  # standard errors from which a bin's gap keeps its sign
# Options with which the metric is Σ|Σwr|/W over bins that the ruler has.
_USUAL = {"strategy": "uniform", "norm": "l1", "weighting": "mass", "closed": "left", "debias": False}


def binned_ece(
    y_true: Given,
    y_prob: Values | None = None,
    *,
    bins: int = 15,
    strategy: Literal["uniform", "quantile"] = "uniform",
    norm: Literal["l1", "l2", "max"] = "l1",
    weighting: Literal["mass", "width"] = "mass",
    closed: Literal["left", "right"] = "left",
    debias: bool = False,
    sample_weight: Values | None = None,
) -> float:
    r"""Expected calibration error over bins of the score.

    .. math:: \mathrm{ECE} = \sum_b \frac{W_b}{W}\,|\bar y_b - \bar f_b|, \qquad
              \text{"l2"} = \sqrt{\textstyle\sum_b \frac{W_b}{W}(\bar y_b - \bar f_b)^2}, \qquad
              \text{"max"} = \max_b |\bar y_b - \bar f_b|

    Zero is best. The value depends on the bins: too few hide errors that cancel within a bin, too many add noise, and it
    jumps when scores cross an edge. A calibrated model has a positive value that grows with the number of bins.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays.
    y_prob : array-like
        Predicted probabilities.
    bins : int
        Number of bins, 1 to 16384.
    strategy : {"uniform", "quantile"}
        Bins of equal width, or of equal weight (rows with the same score stay together; needs rows).
    norm : {"l1", "l2", "max"}
        How the gaps of the bins are combined.
    weighting : {"mass", "width"}
        Weigh a bin by its share of the rows or by its width (the Riemann sums of the cumulative paper).
    closed : {"left", "right"}
        Bins [a, b) with the last one closed, or (a, b] with the first one closed (needs rows).
    debias : bool
        Subtract the sampling variance of each bin's squared gap ("l2", "mass", hard labels without weights).
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    float

    References
    ----------
    M. P. Naeini, G. Cooper, M. Hauskrecht (2015). Obtaining well calibrated probabilities using Bayesian binning. AAAI.

    A. Kumar, P. Liang, T. Ma (2019). Verified uncertainty calibration. NeurIPS. (debias)

    I. Arrieta-Ibarra, P. Gujral, J. Tannen, M. Tygert, C. Xu (2022). Metrics of calibration for probabilistic predictions.
    JMLR 23. (width)

    Examples
    --------
    >>> round(binned_ece([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], bins=10), 12)
    0.25
    >>> round(binned_ece([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], bins=1), 12)
    0.0
    """
    bins = check_bins(bins)
    check_choice("strategy", strategy, ("uniform", "quantile"))
    check_choice("norm", norm, ("l1", "l2", "max"))
    check_choice("weighting", weighting, ("mass", "width"))
    check_choice("closed", closed, ("left", "right"))
    check_flag("debias", debias)
    if strategy == "quantile" and closed == "right":
        raise InputError('closed: quantile bins end where a run of equal scores ends. Leave closed="left" with them.')
    sample = as_sample(y_true, y_prob, sample_weight)
    if strategy == "quantile":
        table = _quantile_bins(sample.rows('strategy="quantile"'), bins)
    elif closed == "right":
        table = _right_closed_bins(sample.rows('closed="right"'), bins)
    else:
        table = _uniform_bins(sample, bins)
    if debias and (norm != "l2" or weighting != "mass" or not table.counts):
        raise InputError(
            'debias: the correction is for norm="l2", weighting="mass", outcomes 0 or 1 and no sample_weight. '
            "Change what differs, or leave debias=False."
        )
    return _combine(table, norm, weighting, bool(debias))


def soft_mean_ece(y_true: Given, y_prob: Values | None = None, *, bins: int = 10, sample_weight: Values | None = None) -> float:
    r"""Soft mean expected calibration error: binned error against probabilistic labels.

    .. math:: \mathrm{SMECE} = \sum_b \frac{W_b}{W}\,|\bar f_b - \bar y_b|

    with :math:`\bar y_b` the mean of the soft labels in the bin. Zero is best, and exact: predictions equal to their
    labels give 0.0. With labels in {0, 1} it is `binned_ece` with the same bins, and misleads in the same ways.
    The last bin is closed here; the paper's equation 4 leaves predictions of exactly 1 in no bin.

    Parameters
    ----------
    y_true : array-like or Summary
        Soft labels in [0, 1], or a summary in place of both arrays.
    y_prob : array-like
        Predicted probabilities.
    bins : int
        Number of equal-width bins.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    float

    References
    ----------
    M. Leznik (2026). Soft mean expected calibration error (SMECE): a calibration metric for probabilistic labels.

    Examples
    --------
    >>> soft_mean_ece([0.2, 0.7], [0.2, 0.7])
    0.0
    >>> round(soft_mean_ece([0.2, 0.7], [0.3, 0.6]), 12)
    0.1
    """
    bins = check_bins(bins)
    return _combine(_uniform_bins(as_sample(y_true, y_prob, sample_weight), bins), "l1", "mass", False)


class _Bins(NamedTuple):
    """Sums of the bins that hold rows."""

    weight: Array
    gap: Array  # Σw(y − f)
    width: Floats
    outcomes: Array  # Σwy
    counts: bool  # weights are counts of rows with hard labels


def _combine(table: _Bins, norm: str, weighting: str, debias: bool) -> float:
    gap = np.abs(table.gap) / table.weight
    if norm == "max":
        return float(gap.max())
    share = table.weight / table.weight.sum() if weighting == "mass" else table.width
    if norm == "l1":
        # mass: Σ|Σw(y−f)|/W without the detour over means
        return float(np.abs(table.gap).sum() / table.weight.sum() if weighting == "mass" else (share * gap).sum())
    squares = gap**2
    if debias:
        mean = table.outcomes / table.weight
        others = np.maximum(table.weight - 1, 1)
        squares = np.where(table.weight > 1, squares - mean * (1 - mean) / others, 0)
    return float(np.sqrt(max(float((share * squares).sum()), 0.0)))


def _uniform_bins(sample: Sample, bins: int) -> _Bins:
    width = np.full(bins, 1 / bins)
    if (sums := sample.bin_sums(bins)) is not None:
        return _filled(np.arange(bins), bins, sums.n, sums.gap, sums.outcomes, width, True)
    summary = sample.summary((bins,))
    m = summary.moments
    bin_of = summary.ruler.bin_of_cell(bins)[summary.cells]
    outcomes = summary.columns.wy2 if summary.exact else m.weight * m.mean + m.e
    return _filled(bin_of, bins, m.weight, m.e, outcomes, width, summary.exact)


def _filled(bin_of: Ints, bins: int, weight: Floats, gap: Floats, outcomes: Floats, width: Floats, counts: bool) -> _Bins:
    """Sums by bin, of the bins that hold weight."""
    total, error, positive = (np.bincount(bin_of, x, minlength=bins) for x in (weight, gap, outcomes))
    filled = total > 0
    return _Bins(total[filled], error[filled], width[filled], positive[filled], counts)


def _row_bins(sample: RowSample, bin_of: Ints, bins: int, width: Floats) -> _Bins:
    rows = sample.arrays
    n = len(rows.f)
    weight = np.ones(n) if rows.w is None else rows.w
    return _filled(bin_of, bins, weight, residuals(rows, 0, n), weight * rows.y, width, rows.w is None and not rows.soft)


def _right_closed_bins(sample: RowSample, bins: int) -> _Bins:
    bin_of = np.searchsorted(uniform_edges(bins)[1:-1], sample.arrays.f, side="left")
    return _row_bins(sample, bin_of, bins, np.full(bins, 1 / bins))


def quantile_bins(scores: Floats, weight: Floats, bins: int) -> tuple[Ints, Floats]:
    """The bin of each distinct score, and the width of each bin (0 for empty ones)."""
    reached = np.cumsum(weight)
    goals = np.arange(1, bins) * (reached[-1] / bins) * _REACHED
    # Boundary j ends the run of equal scores at which the cumulative weight first reaches its goal.
    last = np.searchsorted(reached, goals, side="left")
    bin_of_score = np.searchsorted(last, np.arange(len(scores)), side="left")
    filled, first = np.unique(bin_of_score, return_index=True)
    width = np.zeros(bins)
    width[filled] = np.diff(np.append(scores[first], 1.0))
    return bin_of_score, width


def _quantile_bins(sample: RowSample, bins: int) -> _Bins:
    rows = sample.arrays
    scores, run = np.unique(rows.f, return_inverse=True)
    bin_of_score, width = quantile_bins(scores, np.bincount(run, rows.w, minlength=len(scores)).astype(np.float64), bins)
    return _row_bins(sample, bin_of_score[run], bins, width)


class BinnedNorm(IntegralNorm):
    """Gaps of bins on many draws at once.

    Limits of l1 are those of an integral; its lower one lets a bin whose gap is beyond doubt keep its sign: noise there adds to
    |ȳ − f̄| and takes from it alike. Those of l2 are for the truth given these scores: with ε the noise of the bins and v their
    variance, T_n² − Σpv = T² + 2T·⟨u, ε⟩ + (‖ε‖² − Σpv), u the direction of the gaps: ⟨u, ε⟩ has a variance of at most the
    largest bin's p·v, and quantiles of ‖ε‖² come from the draws. As of independent numbers, the squares of both add up.
    """

    def __init__(self, points: Points, partition: Partition, *, norm: str, weighting: str, debias: bool) -> None:
        super().__init__(points)
        bin_of, width = partition
        self.starts = np.flatnonzero(np.append(True, bin_of[1:] != bin_of[:-1]))
        self.weight = np.add.reduceat(points.weight, self.starts)
        self.score = np.add.reduceat(points.weight * points.score, self.starts) / self.weight
        self.norm = norm
        self.share = self.weight / points.total if weighting == "mass" else width[bin_of[self.starts]]
        self.debias = debias
        self.suffix = ", squared norm, for the truth at these scores" if norm == "l2" else ""

    def gaps(self, e: Array) -> Floats:
        """ȳ − f̄ of each bin that holds rows."""
        return np.asarray(np.add.reduceat(e, self.starts, axis=1, dtype=np.float64) / self.weight)

    def _sums(self, *columns: Floats) -> list[Floats]:
        return [np.add.reduceat(column, self.starts) for column in columns]

    @cached_property
    def _own(self) -> Floats:
        """The gaps that were observed."""
        return np.asarray(self.gaps(self.points.e[None, :])[0])

    @cached_property
    def _certain(self) -> Ints:
        """Bins whose gaps are beyond doubt; none where rows come in clusters, of which a bin may hold few."""
        if self.points.clustered is not None:
            return np.zeros(0, dtype=np.int64)
        squares, variance = self._sums(self.points.squares, self.points.variance)
        return np.flatnonzero(np.abs(self._own) * self.weight > _BEYOND_DOUBT * np.sqrt(np.maximum(squares, variance)))

    def direction_variance(self, z: float) -> float:
        """The largest p·v of a bin, from any mean outcome within z standard errors."""
        points = self.points
        mean = self._own + self.score
        w2, variance = self._sums(points.w2, points.variance)
        n = self.weight**2 / w2
        middle = (n * mean + z * z / 2) / (n + z * z)
        reach = z * np.sqrt(n * np.maximum(mean * (1 - mean), 0.0) + z * z / 4) / (n + z * z)
        nearest = np.clip(0.5, middle - reach, middle + reach)  # Wilson's interval: the mean outcome closest to one half
        outcome = np.maximum(nearest * (1 - nearest), variance / w2)  # of a row, whichever way it is judged
        worst = float(np.max(outcome * w2 / self.weight) / points.total)
        if points.clustered is None:
            return worst
        # Bins vary together: the direction in which clusters differ most.
        return max(worst, float(np.linalg.norm(self.gaps(points.clustered.deviations()) * np.sqrt(self.share), 2)) ** 2)

    def _least_variance(self) -> float:
        """Σpv, v from the residuals of a bin about their mean; nothing of a bin of one row."""
        points = self.points
        w2, w2e, squares, count = self._sums(points.w2, points.w2e, points.squares, points.count)
        about = np.maximum(squares - 2 * self._own * w2e + self._own**2 * w2, 0.0)
        spread = np.divide(about * count, count - 1, out=np.zeros(len(count)), where=count > 1)
        return float((spread / self.weight).sum()) / points.total

    def noise(self, e: Array) -> Floats:
        """The norm of each draw; of l1 beside it the same where certain bins keep their signs; with `debias` the metric."""
        gap = self.gaps(e)
        if self.norm == "max":
            return np.asarray(np.abs(gap).max(axis=1))
        if self.norm == "l1":
            size, certain = np.abs(gap), self._certain
            norms = size @ self.share
            signed = (gap[:, certain] * np.sign(self._own[certain]) - size[:, certain]) @ self.share[certain]
            return np.stack([norms, norms + signed], axis=1)
        squares = gap**2
        if self.debias:
            mean = gap + self.score
            others = np.maximum(self.weight - 1, 1)
            squares = np.where(self.weight > 1, squares - mean * (1 - mean) / others, 0)
        return np.sqrt(np.maximum(squares @ self.share, 0.0))

    def metric_of(self, norms: Floats) -> Floats:
        """The metric is the norm."""
        return norms[:, 0] if norms.ndim > 1 else norms

    def near(self, norms: Floats, value: float) -> Floats:
        """The norms themselves."""
        return self.metric_of(norms)

    def typical_noise(self, noise: Noise) -> Typical:
        """What noise alone has."""
        return Typical.of([self.metric_of(norms) for norms in noise.kinds])

    def highest(self, value: float, reach: Reach, noise: Noise | None) -> float:
        """The upper limit."""
        if self.norm != "l2":
            return super().highest(value, reach, noise)
        tail = 0.5 * math.erfc(reach.z / math.sqrt(2))
        if noise is None:  # nothing is taken off: ‖ε‖² ≥ 0
            return max(value, self._inverted(0.0, 0.0, self._quantile(tail), 1))
        squares = [norms**2 for norms in noise.kinds]
        least = min(self._least_variance(), *(float(each.mean()) for each in squares))
        short = max(order_statistic(float(each.mean()) - each, tail) for each in squares)
        return max(value, self._inverted(least, short, reach.z, 1))

    def lowest(self, value: float, noise: Noise, alpha: float) -> float:
        """The lower limit."""
        if self.norm != "l2":
            return value - max(order_statistic(norms[:, -1], alpha / 2) for norms in noise.kinds)
        if self.points.clustered is not None:
            return self._lowest_by_clusters(noise, alpha)
        squares = [norms**2 for norms in noise.kinds]
        most = max(float(each.mean()) for each in squares)
        beyond = max(order_statistic(each - float(each.mean()), alpha / 2) for each in squares)
        return self._inverted(most, beyond, normal_quantile(alpha / 2), -1)

    def _lowest_by_clusters(self, noise: Noise, alpha: float) -> float:
        """The lower limit of l2 where ⟨u, ε⟩ and ‖ε‖² may vary together: each is given half of the error."""
        z, squared = self._quantile(alpha / 4), float((self._own**2 * self.share).sum())
        slack = z * math.sqrt(self.direction_variance(z))
        most = max(order_statistic(norms, alpha / 4) for norms in noise.kinds) ** 2
        return math.sqrt(slack**2 + squared - most) - slack if squared > most else 0.0

    def _quantile(self, tail: float) -> float:
        """Of a standard normal number, or by Student's law for the number of clusters."""
        clusters = self.points.clustered
        return normal_quantile(tail) if clusters is None else student_quantile(tail, clusters.flipped - 1)

    def _inverted(self, variance: float, deviation: float, z: float, side: int) -> float:
        """T at the end of |T_n² − variance − T²| ≤ √(deviation² + 4z²·max(pv)·T²) on one side; 0 where there is none."""
        rest = float((self._own**2 * self.share).sum()) - variance
        if side < 0 and rest <= deviation:
            return 0.0
        turn = 2 * z * z * self.direction_variance(z)
        root = math.sqrt(max((rest + turn) ** 2 - rest**2 + deviation**2, 0.0))
        return math.sqrt(max(rest + turn + side * root, 0.0))


class BinnedDrawing(Drawing):
    """Bins: no group of points crosses one."""

    by_cuts = True

    def partition(self, points: Points, options: Options) -> Partition:
        """The bin of each point."""
        bins, strategy = options["bins"], options.get("strategy", "uniform")
        if strategy == "quantile":
            return Partition(*quantile_bins(points.score, points.weight, bins))
        width = np.full(bins, 1 / bins)
        if options.get("closed", "left") == "right":
            return Partition(np.searchsorted(uniform_edges(bins)[1:-1], points.score, side="left"), width)
        return Partition(points.bin_of(bins), width)

    def cuts(self, points: Points, options: Options) -> list[Ints]:
        """The bins."""
        return [self.partition(points, options).bin]

    def _gaps(self, points: Points, options: Options, partition: Partition | None, *, debias: bool) -> BinnedNorm:
        bins = self.partition(points, options) if partition is None else partition
        norm, weighting = options.get("norm", "l1"), options.get("weighting", "mass")
        return BinnedNorm(points, bins, norm=norm, weighting=weighting, debias=debias)

    def statistic(self, points: Points, options: Options, partition: Partition | None) -> BinnedNorm:
        """The gaps of the bins."""
        return self._gaps(points, options, partition, debias=bool(options.get("debias", False)))

    def norm(self, points: Points, options: Options, partition: Partition | None) -> Norm:
        """The gaps of the bins, nothing taken off for their variance."""
        gaps = self._gaps(points, options, partition, debias=False)
        gaps.gives_metric = not options.get("debias", False)
        return gaps

    def contrast(self, score: Floats, options: Options) -> IntegralContrast | None:
        """The gaps of equal-width bins, which no shared cell crosses."""
        kind = [options.get(name, usual) for name, usual in _USUAL.items()]
        if kind != list(_USUAL.values()):
            return None
        edges = uniform_edges(options["bins"])[1:-1]
        return IntegralContrast(bins_kernel(np.searchsorted(edges, score, side="right"), options["bins"]))

    def refusal(self, options: Options) -> str | None:
        """Some norms have no interval."""
        if options.get("norm", "l1") != "max" and options.get("weighting", "mass") != "width":
            return None
        return (
            'an interval that is known to cover exists for norm="l1" or "l2" with weighting="mass" alone. '
            'Change these options, or pass method="bootstrap".'
        )


register(
    Metric(
        name="binned_ece",
        label="binned ECE (15 bins)",
        meaning="The same with scores sorted into bins: the mean gap between predictions and outcomes, weighted by rows. "
        "The value depends on the number of bins and grows with it on perfect predictions.",
        function=binned_ece,
        drawing=BinnedDrawing(),
        rows_options={"strategy": ("quantile",), "closed": ("right",)},
        counts_options={"debias": (True,)},
        variants=(
            {},
            {"bins": 1},
            {"bins": 37},
            {"norm": "l2"},
            {"norm": "max"},
            {"weighting": "width"},
            {"norm": "l2", "debias": True},
            {"closed": "right"},
            {"strategy": "quantile", "bins": 4},
            {"strategy": "quantile", "bins": 4, "weighting": "width", "norm": "l2"},
        ),
    )
)
register(
    Metric(
        name="soft_mean_ece",
        label="soft mean ECE (10 bins)",
        meaning="Binned error against labels that are probabilities themselves. Zero is best.",
        function=soft_mean_ece,
        drawing=BinnedDrawing(),
    )
)
