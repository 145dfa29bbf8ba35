"""One entry a metric, with its behaviour: what tests, intervals, `assess`, the command line, report and docs know of it.

An entry stands at the end of the metric's file: ``register(Metric(...))``.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, get_type_hints

from trueness._values import show
from trueness.data.points import Points
from trueness.data.sample import Sample
from trueness.errors import InputError
from trueness.metrics.drawing import AnyStatistic, Drawing, LimitLaw, Norm, Options, Partition, Statistic

_NONE: Options = MappingProxyType({})
_DATA = ("y_true", "y_prob", "sample_weight", "rng")


def _none() -> Options:
    return _NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A measure of outcomes against predictions."""

    name: str
    label: str  # short title for tables
    meaning: str = ""  # in plain words, for the report
    function: Callable[..., Any]
    bounds: tuple[float, float] = (0, 1)
    best: float = 0
    needs: Literal["summary", "rows"] = "summary"  # "summary": a summary can answer, rows too
    drawing: Drawing = field(default_factory=Drawing)
    rows_options: Options = field(default_factory=_none)  # option → values with which even a summary metric needs rows
    counts_options: Options = field(default_factory=_none)  # option → values that need hard labels without weights
    variants: tuple[Options, ...] = (_NONE,)  # settings that the laws are tested for

    @property
    def single(self) -> bool:
        """Whether its value is one number."""
        return _returns_float(self.function)

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval that is known to cover, with some options."""
        return type(self.drawing).norm is not Drawing.norm or self.drawing.law is not None

    @property
    def option_defaults(self) -> dict[str, Any]:
        """Options and their defaults, from the signature."""
        parameters = inspect.signature(self.function).parameters.values()
        return {each.name: each.default for each in parameters if each.name not in _DATA}

    def takes_summary(self, options: Options = _NONE) -> bool:
        """Whether a summary can answer with these options."""
        return self.needs == "summary" and not _among(options, self.rows_options)

    def takes_weights_and_soft_labels(self, options: Options = _NONE) -> bool:
        """Whether weights and soft labels are allowed with these options."""
        return not _among(options, self.counts_options)


@cache
def _returns_float(function: Callable[..., Any]) -> bool:
    return get_type_hints(function).get("return", float) is float


def _among(options: Options, special: Options) -> bool:
    return any(options.get(name) in values for name, values in special.items())


METRICS: dict[str, Metric] = {}


def register(metric: Metric) -> None:
    """Make a metric known by its name."""
    if metric.name in METRICS:
        raise ValueError(f"there is a metric {metric.name!r} already")
    METRICS[metric.name] = metric


@dataclass(frozen=True, slots=True)
class BoundMetric:
    """A metric with its options."""

    metric: Metric
    given: Options  # as they were passed
    options: Options  # all of them, defaults included

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.name

    @property
    def law(self) -> LimitLaw | None:
        """The metric's limit law."""
        return self.metric.drawing.law

    @property
    def bins(self) -> int | None:
        """How many bins it has."""
        return self.options.get("bins")

    @property
    def needs_rows(self) -> bool:
        """Whether it is drawn on runs of rows alone."""
        return not self.metric.takes_summary(self.options) and not self.metric.drawing.on_cells

    @property
    def is_fine(self) -> bool:
        """Whether rows are better than cells where there are any."""
        return self.metric.drawing.is_fine(self.options)

    def value(self, sample: Sample) -> float:
        """The metric itself, which checks its options."""
        return float(self.metric.function(sample, **self.given))

    def partition(self, points: Points) -> Partition | None:
        """The metric's bins."""
        return self.metric.drawing.partition(points, self.options)

    def cuts(self, points: Points) -> list[Any]:
        """Labels that no group of points may cross."""
        return self.metric.drawing.cuts(points, self.options)

    def read_on(self, points: Points, base: Points) -> Points:
        """Where what was observed is read."""
        return self.metric.drawing.read_on(points, base, self.options)

    def statistic(self, points: Points, partition: Partition | None) -> Statistic:
        """The metric on these points."""
        own = self.metric.drawing.statistic(points, self.options, partition)
        return AnyStatistic(points, self.metric.function, self.given) if own is None else own

    def norm(self, points: Points, partition: Partition | None) -> Norm | None:
        """What its interval is made of."""
        return self.metric.drawing.norm(points, self.options, partition)

    def require_interval(self) -> None:
        """Not every metric has an interval."""
        if not self.metric.has_interval:
            raise InputError(
                f'metric: there is no interval for {self.name} that is known to cover. Pass method="bootstrap" at most.'
            )
        if (reason := self.metric.drawing.refusal(self.options)) is not None:
            raise InputError(f"options: {reason}")

    @property
    def has_interval(self) -> bool:
        """Whether an interval is known to cover with these options."""
        return self.metric.has_interval and self.metric.drawing.refusal(self.options) is None


def bind(name: Any, options: Any, *, what: str, besides: Sequence[str] = ()) -> BoundMetric:
    """A metric of the registry whose value is one number, with options by name; `what` names the argument.

    `besides` are names that the argument takes and that are no metrics.
    """
    metric = _find(name, what, besides)
    defaults = metric.option_defaults
    given = _checked(metric, options, list(defaults))
    complete = {**defaults, **given}
    if (reason := metric.drawing.undrawable(complete)) is not None:
        raise InputError(f"options: {reason}")
    return BoundMetric(metric, given, complete)


def _find(name: Any, what: str, besides: Sequence[str]) -> Metric:
    single = [key for key, metric in METRICS.items() if metric.single]
    if isinstance(name, str) and name in METRICS and name not in single:
        raise InputError(f"{what}: {name} is not a single number. Pass one of {', '.join([*single, *besides])}.")
    if not isinstance(name, str) or name not in METRICS:
        raise InputError(f"{what}: {show(name)} is not one of {', '.join([*single, *besides])}.")
    return METRICS[name]


def _checked(metric: Metric, options: Any, allowed: list[str]) -> dict[str, Any]:
    """Options by name that the metric takes; their values are checked by the metric itself."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise InputError(
            f'options: {show(options)} is not a mapping. Pass the metric\'s options by name, for example {{"bins": 20}}.'
        )
    for name in options:
        if name not in allowed:
            takes = f"it takes {', '.join(allowed)}" if allowed else "it takes none"
            raise InputError(f"options: {metric.name} has no option {show(name)}; {takes}.")
    return dict(options)
