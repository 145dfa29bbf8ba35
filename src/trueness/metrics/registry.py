"""One entry a metric: what the laws, `assess`, the command line, the report and the docs know of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from trueness.metrics.binned import binned_ece, soft_mean_ece
from trueness.metrics.cumulative import ecce_mad, ecce_r
from trueness.metrics.distance import distance_to_calibration, weak_calibration_error
from trueness.metrics.logit_smoothed import logit_smoothed_ece
from trueness.metrics.scores import brier_score, decompose, log_loss
from trueness.metrics.smooth import smooth_ece, smooth_ece_area

Options = Mapping[str, Any]
_NONE: Options = MappingProxyType({})


def _none() -> Options:
    return _NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A measure of outcomes against predictions."""

    name: str
    label: str  # short title for tables
    function: Callable[..., Any]
    bounds: tuple[float, float]
    best: float
    needs: Literal["summary", "rows"]  # "summary": a summary can answer, rows too
    interval: Literal["flips", "brownian", "bandwidths"] | None = None  # which construction of a confidence interval
    rows_options: Options = field(default_factory=_none)  # option → values with which even a summary metric needs rows
    counts_options: Options = field(default_factory=_none)  # option → values that need hard labels without weights
    variants: tuple[Options, ...] = (_NONE,)  # settings that the laws are tested for

    def takes_summary(self, options: Options = _NONE) -> bool:
        """Whether a summary can answer with these options."""
        return self.needs == "summary" and not _among(options, self.rows_options)

    def takes_weights_and_soft_labels(self, options: Options = _NONE) -> bool:
        """Whether weights and soft labels are allowed with these options."""
        return not _among(options, self.counts_options)


def _among(options: Options, special: Options) -> bool:
    return any(options.get(name) in values for name, values in special.items())


_ALL = (
    Metric(
        name="binned_ece",
        label="binned ECE (15 bins)",
        function=binned_ece,
        bounds=(0, 1),
        best=0,
        needs="summary",
        interval="flips",
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
    ),
    Metric(
        name="soft_mean_ece",
        label="soft mean ECE (10 bins)",
        function=soft_mean_ece,
        bounds=(0, 1),
        best=0,
        needs="summary",
        interval="flips",
    ),
    Metric(
        name="smooth_ece",
        label="SmoothECE",
        function=smooth_ece,
        bounds=(0, 1),
        best=0,
        needs="summary",
        interval="bandwidths",
        variants=({}, {"bandwidth": 0.05}, {"scale": "logit"}),
    ),
    Metric(
        name="smooth_ece_area",
        label="area of the smooth diagram",
        function=smooth_ece_area,
        bounds=(0, 1),
        best=0,
        needs="summary",
        variants=({}, {"bandwidth": 0.05}),
    ),
    Metric(
        name="logit_smoothed_ece",
        label="LS-ECE (bandwidth 1/15)",
        function=logit_smoothed_ece,
        bounds=(0, 1),
        best=0,
        needs="summary",
        interval="flips",
        rows_options={"method": ("monte-carlo",)},
        variants=({}, {"bandwidth": 1.0}, {"noise": "uniform"}),
    ),
    Metric(
        name="ecce_mad",
        label="ECCE-MAD",
        function=ecce_mad,
        bounds=(0, 1),
        best=0,
        needs="summary",
        interval="brownian",
    ),
    Metric(name="ecce_r", label="ECCE-R", function=ecce_r, bounds=(0, 1), best=0, needs="summary", interval="brownian"),
    Metric(
        name="weak_calibration_error",
        label="weak calibration error",
        function=weak_calibration_error,
        bounds=(0, 1),
        best=0,
        needs="rows",
        interval="flips",
    ),
    Metric(
        name="distance_to_calibration",
        label="distance to calibration",
        function=distance_to_calibration,
        bounds=(0, 1),
        best=0,
        needs="rows",
    ),
    Metric(name="brier_score", label="Brier score", function=brier_score, bounds=(0, 1), best=0, needs="summary"),
    Metric(name="log_loss", label="log loss", function=log_loss, bounds=(0, float("inf")), best=0, needs="rows"),
    Metric(
        name="decompose",
        label="score decomposition",
        function=decompose,
        bounds=(0, float("inf")),
        best=0,
        needs="rows",
        variants=({}, {"score": "log"}),
    ),
)

METRICS: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in _ALL})
