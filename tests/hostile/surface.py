"""What is public, found by looking: functions, constructors and methods, each with the parameters it takes.

A new public function falls under the sweep by being public. One with a parameter that no clean value is known for fails with
the name of that parameter; nothing else needs to be told.
"""

import importlib.util
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from typing import Any

from hostile.clean import CLEAN, OWN, RIVAL, F, World, Y, sums_in_tensors

import trueness

# Given besides what is required, because without them there is nothing to compute, the draws are another each time, or a
# call takes a second: it is not the metrics that are swept.
GIVEN = frozenset({"y_prob", "rng", "metric", "metrics"})
QUICK: dict[str, Any] = {"resamples": 19}  # fewer draws than by default: a sweep makes thousands of calls

# How else a function may be called: what is then given, by the name of the way.
WAYS: dict[str, dict[str, dict[str, Callable[[World], Any]]]] = {
    "assess": {
        "frame": {"y_true": lambda w: w.frame, "outcome": lambda w: "y", "prediction": lambda w: "p", "by": lambda w: "g"},
        "summary": {"y_true": lambda w: w.summary()},
    },
    "group_tests": {"record": {"y_true": lambda w: w.by_group()}},
    "reliability_curve": {"binned": {"kind": lambda w: "binned"}},
}
TOGETHER: dict[str, dict[str, tuple[str, ...]]] = {"binned_ece": {"debias": ("norm",)}}  # options that need another
NEEDED: dict[str, tuple[str, ...]] = {"group_tests": ("by",)}  # optional by signature, needed in this way of calling
NOT_WITH: dict[str, tuple[str, ...]] = {  # parameters that belong to another way of calling
    "assess": ("outcome", "prediction", "weight"),
    "assess[frame]": ("y_prob", "sample_weight"),
    "assess[summary]": ("y_prob", "sample_weight", "by", "cluster", "outcome", "prediction", "weight", "nan", "pos_label"),
    "group_tests[record]": ("y_prob", "sample_weight", "by", "cluster"),
    "reliability_curve": ("bins", "strategy"),
    "reliability_curve[binned]": ("bandwidth", "scale", "band", "rng"),
}
LEFT_OUT = {  # with the reason
    "Summary.moved": "a step between the rooms of the house: takes what the library itself has made",
    "Summary.of_cells": "a step between the rooms of the house: takes what the library itself has made",
    "Summary.without_labels": "a step between the rooms of the house: takes what the library itself has made",
    "torch.CalibrationSummary.all_reduce": "needs a group of processes",
    "torch.CalibrationSummary.forward": "refuses every call",
}

# Constructors in scikit-learn's manner keep what they are given; what is done with the object next judges it.
NEXT: dict[str, Callable[[Any], Any]] = {
    "CalibrationDisplay": lambda display: display.plot(),
    "SmoothRecalibrator": lambda model: model.fit(F, Y),
}

INSTANCES: dict[str, Callable[[World], Any]] = {
    "Assessment": lambda w: _assessment(),
    "CalibrationDisplay": lambda w: trueness.CalibrationDisplay(w.curve()),
    "CalibrationTest": lambda w: trueness.calibration_test(Y, F, rng=0),
    "Comparison": lambda w: _comparison(),
    "CumulativeError": lambda w: trueness.ecce(Y, F),
    "Decomposition": lambda w: trueness.decompose(Y, F),
    "GroupTests": lambda w: trueness.group_tests(w.by_group(), rng=0, resamples=19),
    "Interval": lambda w: trueness.confidence_interval(Y, F, metric="ecce_r", rng=0),
    "Record": lambda w: w.by_group(),
    "SmoothRecalibrator": lambda w: trueness.SmoothRecalibrator().fit(F, Y),
    "Summary": lambda w: w.summary(),
    "brownian.max_abs": lambda w: trueness.brownian.max_abs,
    "brownian.range": lambda w: trueness.brownian.range,
    "torch.CalibrationSummary": lambda w: sums_in_tensors(),
}


@cache
def _assessment() -> Any:
    return trueness.assess(Y, F, metrics=["ecce_r"])


@cache
def _comparison() -> Any:
    return trueness.compare(Y, {"a": F, "b": RIVAL}, metrics=["binned_ece", "ecce_r"])


@dataclass(frozen=True, kw_only=True)
class Target:
    """Something public that can be called, and how it is called cleanly."""

    name: str  # as in the documentation, without "trueness."
    way: str = ""
    bind: Callable[[World], Callable[..., Any]] = field(repr=False)
    signature: inspect.Signature = field(repr=False)
    hints: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return f"{self.name}[{self.way}]" if self.way else self.name

    @property
    def parameters(self) -> list[str]:
        """Those that are swept."""
        named = [
            name for name, each in self.signature.parameters.items() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        ]
        return [name for name in named if name not in NOT_WITH.get(str(self), ())]

    def clean(self, name: str, world: World) -> Any:
        """A clean value for a parameter."""
        ways = WAYS.get(self.name, {}).get(self.way, {})
        make = ways.get(name) or OWN.get(self.name, {}).get(name) or CLEAN.get(name)
        if make is None:
            raise LookupError(
                f"add a clean value for parameter {name} of trueness.{self.name} to CLEAN in tests/hostile/clean.py"
            )
        return make(world)

    def arguments(self, world: World, *more: str) -> dict[str, Any]:
        """A clean call: what is required, the way's own, and those named besides."""
        given: dict[str, Any] = {name: QUICK[name] for name in self.parameters if name in QUICK}
        wanted = {*more, *WAYS.get(self.name, {}).get(self.way, {}), *NEEDED.get(str(self), ())}
        for name in more:
            wanted.update(TOGETHER.get(self.name, {}).get(name, ()))
        for name in self.parameters:
            required = self.signature.parameters[name].default is inspect.Parameter.empty
            if required or name in wanted or name in GIVEN:
                given[name] = self.clean(name, world)
        return given

    def call(self, world: World, arguments: dict[str, Any]) -> Any:
        """What it answers."""
        answer = self.bind(world)(**arguments)
        return NEXT[self.name](answer) if self.name in NEXT else answer


def targets() -> list[Target]:
    """Everything public that can be called."""
    found = [target for name, thing in _public() for target in _of(name, thing)]
    ways = [
        Target(name=each.name, way=way, bind=each.bind, signature=each.signature, hints=each.hints)
        for each in found
        for way in WAYS.get(each.name, ())
    ]
    return [*found, *ways]


def _public() -> Iterator[tuple[str, Any]]:
    for name in trueness.__all__:
        thing = getattr(trueness, name)
        if isinstance(thing, types.ModuleType):
            yield from ((f"{name}.{inner}", getattr(thing, inner)) for inner in thing.__all__)
        else:
            yield name, thing
    if importlib.util.find_spec("torch") is not None:
        from trueness import torch

        yield from ((f"torch.{name}", getattr(torch, name)) for name in torch.__all__)


def _of(name: str, thing: Any) -> Iterator[Target]:
    if inspect.isfunction(thing):
        yield Target(name=name, bind=lambda world: thing, signature=inspect.signature(thing), hints=_hints(thing))
    elif inspect.isclass(thing):
        yield from _of_class(name, thing)
    else:  # an object that is public itself, such as a law
        yield from _methods(name, type(thing))


def _of_class(name: str, kind: type) -> Iterator[Target]:
    if issubclass(kind, BaseException) or (name not in INSTANCES and not _methods_of(kind)):
        return
    if not is_dataclass(kind) and not name.startswith("brownian."):  # results are made by the library alone
        yield Target(name=name, bind=lambda world: kind, signature=inspect.signature(kind), hints=_hints(kind.__init__))
    if not name.startswith("brownian."):  # the class of the laws: the laws themselves are swept
        yield from _methods(name, kind)


def _methods(name: str, kind: type) -> Iterator[Target]:
    for method in _methods_of(kind):
        full = f"{name}.{method}"
        if full in LEFT_OUT:
            continue
        if name not in INSTANCES:
            raise LookupError(f"add a clean instance of trueness.{name} to INSTANCES in tests/hostile/surface.py")
        bound = inspect.getattr_static(kind, method)
        on_class = isinstance(bound, classmethod | staticmethod)
        function = getattr(kind, method)
        signature = inspect.signature(function)
        if not on_class:
            signature = signature.replace(parameters=list(signature.parameters.values())[1:])
        yield Target(name=full, bind=_binder(name, kind, method, on_class), signature=signature, hints=_hints(function))


def _binder(name: str, kind: type, method: str, on_class: bool) -> Callable[[World], Callable[..., Any]]:
    return lambda world: getattr(kind if on_class else INSTANCES[name](world), method)


def _methods_of(kind: type) -> list[str]:
    """Public methods that are written here, not inherited from a library."""
    methods = []
    for name in dir(kind):
        value = inspect.getattr_static(kind, name)
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if not name.startswith("_") and inspect.isfunction(function) and function.__module__.startswith("trueness"):
            methods.append(name)
    return methods


def _hints(function: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(inspect.unwrap(getattr(function, "__func__", function)))
    except NameError:  # a name that only type checkers import
        return {}
