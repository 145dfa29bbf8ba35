"""A metric by name and options: which points it needs, and which statistic it is on them."""

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from trueness._types import Floats, Ints
from trueness.data.masses import LOGIT, PROBABILITY, logit
from trueness.data.points import Points
from trueness.data.sample import RowData
from trueness.errors import InputError
from trueness.metrics.binned import quantile_bins
from trueness.metrics.registry import METRICS, Metric
from trueness.metrics.smooth import scale_of
from trueness.metrics.statistics import (
    NARROW_LOGIT,
    WIDEST_LINK,
    AnyStatistic,
    BinnedStatistic,
    BrierStatistic,
    CumulativeStatistic,
    LogitSmoothedStatistic,
    SmoothStatistic,
    UniformNoiseStatistic,
    WeakStatistic,
)
from trueness.summary.ruler import uniform_edges
from trueness.summary.summary import Summary

_MOST_GROUPS = 8192
_NARROW = 5e-4  # a bandwidth of about ten cells


class Request:
    """A metric with its options: which points it needs, and its statistic on them."""

    def __init__(self, name: Any, options: Any, *, what: str) -> None:
        self.metric = find_metric(name, what)
        self.options = check_options(self.metric, options)

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.name

    def value(self, data: RowData | Summary) -> float:
        """The metric itself, which checks its options."""
        return float(self.metric.function(data, **self.options))

    def get(self, option: str, default: Any) -> Any:
        """An option, or the metric's default."""
        return self.options.get(option, default)

    @property
    def cumulative(self) -> bool:
        """Whether the metric reads the order of the scores: no points may be put together."""
        return self.name in ("ecce_mad", "ecce_r")

    @property
    def binned(self) -> bool:
        """Whether the metric has bins."""
        return self.name in ("binned_ece", "soft_mean_ece")

    @property
    def bins(self) -> int:
        """How many bins."""
        return int(self.get("bins", 15 if self.name == "binned_ece" else 10))

    @property
    def needs_rows(self) -> bool:
        """Whether points must be runs of rows."""
        return not self.metric.takes_summary(self.options) and self.name != "weak_calibration_error"

    @property
    def _quantile(self) -> bool:
        return bool(self.get("strategy", "uniform") == "quantile")

    def bin_of(self, points: Points) -> tuple[Ints, Floats] | None:
        """The bin of each point and the width of each bin, for binned metrics."""
        if not self.binned:
            return None
        width = np.full(self.bins, 1 / self.bins)
        if self._quantile:
            return quantile_bins(points.score, points.weight, self.bins)
        if self.get("closed", "left") == "right":
            return np.searchsorted(uniform_edges(self.bins)[1:-1], points.score, side="left"), width
        return points.bin_of(self.bins), width

    def cuts(self, points: Points) -> list[Ints]:
        """Labels that no group of points may cross: the bins, or stretches a good deal shorter than a narrow kernel."""
        bins = self.bin_of(points)
        if bins is not None:
            return [bins[0]]
        if self.name == "logit_smoothed_ece":
            parts = 8 if self.bandwidth <= NARROW_LOGIT else 2
            return [np.floor(logit(points.score) * (parts / self.bandwidth)).astype(np.int64)]
        if self.name == "smooth_ece" and (
            self.get("bandwidth", None) is not None or self.get("scale", "probability") != "probability"
        ):
            statistic = self.statistic(points, None)
            label = np.floor(statistic.x * (8 / statistic.ladder[0])).astype(np.int64)
            while np.count_nonzero(np.diff(label)) >= _MOST_GROUPS:
                label //= 2
            return [label]
        return []

    @property
    def fine(self) -> bool:
        """Whether the cells of a summary may be too wide for the kernel, so that rows are better where there are any."""
        if self.name == "logit_smoothed_ece":
            return self.bandwidth <= NARROW_LOGIT
        narrow = (self.get("bandwidth", None) or 1.0) < _NARROW
        return self.name == "smooth_ece" and (narrow or self.get("scale", "probability") != "probability")

    def _gaps(self, points: Points, bins: tuple[Ints, Floats], *, debias: bool) -> BinnedStatistic:
        norm, weighting = self.get("norm", "l1"), self.get("weighting", "mass")
        return BinnedStatistic(points, *bins, norm=norm, weighting=weighting, debias=debias)

    def statistic(self, points: Points, bins: tuple[Ints, Floats] | None) -> Any:
        """The metric on these points; `bins` as `bin_of` gave them."""
        if bins is not None:
            return self._gaps(points, bins, debias=bool(self.get("debias", False)))
        if self.cumulative:
            return CumulativeStatistic(points, spread=self.name == "ecce_r")
        if self.name == "smooth_ece":
            scale = self.get("scale", "probability")
            on = scale_of(scale, points.score) if callable(scale) else {"probability": PROBABILITY, "logit": LOGIT}[scale]
            return SmoothStatistic(points, on, self.get("bandwidth", None))
        if self.name == "weak_calibration_error":
            return WeakStatistic(points)
        if self.name == "brier_score":
            return BrierStatistic(points)
        if self.name == "logit_smoothed_ece" and self.get("noise", "gaussian") == "gaussian" and self.bandwidth <= WIDEST_LINK:
            return LogitSmoothedStatistic(points, self.bandwidth)
        return AnyStatistic(points, self.metric.function, self.options)

    @property
    def bandwidth(self) -> float:
        """The bandwidth of LS-ECE."""
        return float(self.get("bandwidth", 1 / 15))

    def noise_statistic(self, points: Points, bins: tuple[Ints, Floats] | None) -> Any:
        """The metric's norm of pure noise."""
        if bins is not None:
            return self._gaps(points, bins, debias=False)
        if self.name == "logit_smoothed_ece":
            uniform = self.get("noise", "gaussian") == "uniform"
            return (UniformNoiseStatistic if uniform else LogitSmoothedStatistic)(points, self.bandwidth)
        return self.statistic(points, bins)


def find_metric(name: Any, what: str) -> Metric:
    """A metric of the registry whose value is one number."""
    single = [key for key in METRICS if key not in ("decompose", "distance_to_calibration")]
    if isinstance(name, str) and name in METRICS and name not in single:
        raise InputError(f"{what}: {name} is not a single number. Pass one of {', '.join(single)}.")
    if not isinstance(name, str) or name not in METRICS:
        raise InputError(f"{what}: {name!r} is not one of {', '.join(single)}.")
    return METRICS[name]


def check_options(metric: Metric, options: Any) -> dict[str, Any]:
    """Options by name that the metric takes; their values are checked by the metric itself."""
    if options is None:
        return {}
    allowed = [
        p for p in inspect.signature(metric.function).parameters if p not in ("y_true", "y_prob", "sample_weight", "rng")
    ]
    if not isinstance(options, Mapping):
        raise InputError(
            f'options: {options!r} is not a mapping. Pass the metric\'s options by name, for example {{"bins": 20}}.'
        )
    for name in options:
        if name not in allowed:
            takes = f"it takes {', '.join(allowed)}" if allowed else "it takes none"
            raise InputError(f"options: {metric.name} has no option {name!r}; {takes}.")
    if options.get("method") == "monte-carlo":
        raise InputError('options: the Monte Carlo estimator adds noise of its own. Leave method="integral".')
    return dict(options)
