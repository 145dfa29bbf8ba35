"""Binned calibration errors: ECE in its variants, and SMECE for soft labels."""

import math
from typing import Literal, NamedTuple

import numpy as np

from trueness._types import Array, Floats, Ints, Values
from trueness.data.points import Points
from trueness.data.row_sample import RowSample, residuals
from trueness.data.sample import Given, Sample, as_sample
from trueness.errors import InputError
from trueness.metrics.contrast import IntegralContrast, bins_kernel
from trueness.metrics.drawing import Drawing, Noise, Norm, Options, Partition, normal_quantile, order_statistic
from trueness.metrics.registry import Metric, register
from trueness.options import check_bins, check_choice, check_flag
from trueness.summary.ruler import uniform_edges

# A quantile boundary is reached at jW/B up to rounding, so that weights times a constant give the same bins.
_REACHED = 1 - 1e-9
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


class BinnedNorm(Norm):
    """Gaps of bins on many draws at once."""

    def __init__(self, points: Points, partition: Partition, *, norm: str, weighting: str, debias: bool) -> None:
        super().__init__(points)
        bin_of, width = partition
        self.starts = np.flatnonzero(np.append(True, bin_of[1:] != bin_of[:-1]))
        self.weight = np.add.reduceat(points.weight, self.starts)
        self.score = np.add.reduceat(points.weight * points.score, self.starts) / self.weight
        self.norm = norm
        self.share = self.weight / points.total if weighting == "mass" else width[bin_of[self.starts]]
        self.debias = debias
        self.suffix = ", squared norm" if norm == "l2" else ""

    def gaps(self, e: Array) -> Floats:
        """ȳ − f̄ of each bin that holds rows."""
        return np.asarray(np.add.reduceat(e, self.starts, axis=1, dtype=np.float64) / self.weight)

    def direction_variance(self, z: float) -> float:
        """Variance of T_n away from 0, in the worst direction the data allow: √share·(ȳ − f̄) of any one bin as far as z
        standard errors go, and no less than what the gaps seen say, shares of the bins counted as random."""
        points = self.points
        gap = self.gaps(points.e[None, :])[0]
        mean = gap + self.score
        w2, binomial, squares = (
            np.add.reduceat(column, self.starts) for column in (points.w2, points.binomial, points.squares)
        )
        n = self.weight**2 / w2
        middle = (n * mean + z * z / 2) / (n + z * z)
        reach = z * np.sqrt(n * np.maximum(mean * (1 - mean), 0.0) + z * z / 4) / (n + z * z)
        nearest = np.clip(0.5, middle - reach, middle + reach)  # Wilson's interval: the mean outcome closest to one half
        outcome = np.maximum(nearest * (1 - nearest), binomial / w2)  # of a row, whichever way it is judged
        worst = float(np.max(outcome * w2 / self.weight) / points.total)
        if points.clustered is not None:  # bins vary together: the direction in which clusters differ most
            worst = max(worst, float(np.linalg.norm(self.gaps(points.clustered.deviations()) * np.sqrt(self.share), 2)) ** 2)
        size = float(np.sqrt((self.share * gap**2).sum()))
        if size == 0:
            return worst
        u = gap / size  # a row adds u·r − T·u²/2 − T/2 to T_n
        centre = size * (u**2 + 1) / 2
        own = (u**2 * squares - 2 * u * centre * gap * w2 + centre**2 * w2).sum() / points.total**2
        return max(worst, float(own))

    def noise(self, e: Array) -> Floats:
        """The norm of each draw; with `debias` the metric."""
        gap = self.gaps(e)
        if self.norm == "max":
            return np.asarray(np.abs(gap).max(axis=1))
        if self.norm == "l1":
            return np.asarray(np.abs(gap) @ self.share)
        squares = gap**2
        if self.debias:
            mean = gap + self.score
            others = np.maximum(self.weight - 1, 1)
            squares = np.where(self.weight > 1, squares - mean * (1 - mean) / others, 0)
        return np.sqrt(np.maximum(squares @ self.share, 0.0))

    def limits(self, value: float, high: float, noise: Noise, alpha: float) -> tuple[float, float]:
        """Limits for the true value.

        Those of l2 are from T_n² = T² + 2T·⟨u, ε⟩ + ‖ε‖², with ε the noise of the bins and u the direction of their gaps:
        ⟨u, ε⟩ is about normal with a variance of at most the largest bin's; quantiles of ‖ε‖² come from the draws. Each of the
        two is given half of the error on either side.
        """
        if self.norm != "l2":
            return super().limits(value, high, noise, alpha)
        squared = float((self.gaps(self.points.e[None, :])[0] ** 2 * self.share).sum())
        z = normal_quantile(alpha / 4)
        slack = z * math.sqrt(self.direction_variance(z))
        most = max(order_statistic(values, alpha / 4) for values in noise.kinds) ** 2
        low = math.sqrt(slack**2 + squared - most) - slack if squared > most else 0.0
        return low, slack + math.sqrt(slack**2 + squared)


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
