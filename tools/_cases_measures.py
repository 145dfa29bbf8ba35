"""Cases of what measures: the public names, metrics with their options, tests, intervals, noise floors, groups."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

import trueness
from tools._data import LARGE, SMALL, Case, each_of, measured, rows, said, summary, weights_of

Options = Mapping[str, Any]
SOURCES = ("rows", "summary")

VARIANTS: Mapping[str, tuple[Options, ...]] = {
    "binned_ece": (
        {},
        {"bins": 1},
        {"bins": 37},
        {"bins": 100},
        {"bins": 16384},
        {"norm": "l2"},
        {"norm": "max"},
        {"weighting": "width"},
        {"weighting": "width", "norm": "l2"},
        {"norm": "l2", "debias": True},
        {"closed": "right"},
        {"closed": "right", "bins": 4, "norm": "max"},
        {"strategy": "quantile"},
        {"strategy": "quantile", "bins": 4},
        {"strategy": "quantile", "bins": 4, "weighting": "width", "norm": "l2"},
        {"strategy": "quantile", "bins": 7, "norm": "l2", "debias": True},
    ),
    "soft_mean_ece": ({}, {"bins": 7}, {"bins": 64}),
    "smooth_ece": (
        {},
        {"bandwidth": 0.05},
        {"bandwidth": 0.001},
        {"bandwidth": 1e-5},
        {"scale": "logit"},
        {"scale": "logit", "bandwidth": 0.3},
        {"scale": np.sqrt},
    ),
    "smooth_ece_area": ({}, {"bandwidth": 0.05}),
    "logit_smoothed_ece": (
        {},
        {"bandwidth": 1.0},
        {"bandwidth": 0.01},
        {"noise": "uniform"},
        {"noise": "uniform", "bandwidth": 0.5},
        {"method": "monte-carlo", "draws": 300, "rng": 0},
        {"method": "monte-carlo", "noise": "uniform", "draws": 300, "rng": 0},
    ),
    "ecce": ({},),
    "ecce_mad": ({},),
    "ecce_r": ({},),
    "weak_calibration_error": ({},),
    "distance_to_calibration": ({},),
    "brier_score": ({},),
    "log_loss": ({},),
    "decompose": ({}, {"score": "log"}),
}
# Statistics that are drawn, with options; an interval exists for some of them.
STATISTICS: tuple[tuple[str, Options], ...] = (
    ("ecce_r", {}),
    ("ecce_mad", {}),
    ("smooth_ece", {}),
    ("smooth_ece", {"bandwidth": 0.05}),
    ("smooth_ece", {"scale": "logit"}),
    ("binned_ece", {}),
    ("binned_ece", {"bins": 4, "norm": "l2"}),
    ("binned_ece", {"bins": 4, "strategy": "quantile"}),
    ("binned_ece", {"bins": 4, "closed": "right", "norm": "max"}),
    ("binned_ece", {"bins": 4, "norm": "l2", "debias": True}),
    ("soft_mean_ece", {}),
    ("logit_smoothed_ece", {}),
    ("logit_smoothed_ece", {"bandwidth": 0.5, "noise": "uniform"}),
    ("weak_calibration_error", {}),
    ("brier_score", {}),
    ("log_loss", {}),
)
INTERVALS = (*STATISTICS[:4], *STATISTICS[5:8], *STATISTICS[10:14])


def cases() -> Iterator[Case]:
    """All of them."""
    yield from each_of(_names, _metrics, _tests, _intervals, _floors, _groups)


# Names


def _names() -> Iterator[Case]:
    yield "name/all", lambda: sorted(trueness.__all__)
    yield "name/dir", lambda: dir(trueness)
    yield "name/version", lambda: trueness.__version__
    yield "name/absent", lambda: trueness.no_such_name
    for name in sorted(trueness.__all__):
        yield f"name/{name}", partial(_described, name)
    yield "name/torch.CalibrationSummary", lambda: _members(_torch_class())


def _torch_class() -> Any:
    from trueness.torch import CalibrationSummary

    return CalibrationSummary


def _described(name: str) -> Any:
    thing = getattr(trueness, name)
    if isinstance(thing, ModuleType):
        return {"names": sorted(thing.__all__)}
    return _members(thing) if inspect.isclass(thing) else {"parameters": _parameters(thing)}


def _members(thing: type) -> dict[str, Any]:
    """Public attributes of a class of the library, methods with their parameters."""
    known = {name for base in thing.__mro__ if base.__module__.startswith("trueness") for name in vars(base)}
    bases = [base.__name__ for base in thing.__mro__ if not base.__module__.startswith("trueness")]
    return {
        "not ours": bases,
        "parameters": _parameters(thing),
        "members": {name: _parameters(getattr(thing, name)) for name in sorted(known) if not name.startswith("_")},
    }


def _parameters(call: Any) -> list[str]:
    """Names, kinds and defaults; annotations may name a module and are left out."""
    if not callable(call):
        return []
    try:
        named = inspect.signature(call).parameters.values()
    except ValueError:
        return ["(unknown)"]
    return [f"{each.kind.name} {each.name}" + ("" if each.default is each.empty else f" = {each.default!r}") for each in named]


# Metrics


def _metrics() -> Iterator[Case]:
    for name, variants in VARIANTS.items():
        for options in variants:
            kinds = (*SMALL, *LARGE) if options in ({}, {"noise": "uniform"}, {"scale": "logit"}) else SMALL
            for kind in kinds:
                for source in sources_of(name, options, kind):
                    yield f"metric/{name}/{said(options)}/{kind}/{source}", partial(measured, name, kind, source, **options)
    for kind in ("hard", "soft", "weights"):
        fine = partial(summary, kind, (37, 7))
        yield f"metric/binned_ece/bins=37/{kind}/fine-summary", lambda fine=fine: trueness.binned_ece(fine(), bins=37)
        yield f"metric/soft_mean_ece/bins=7/{kind}/fine-summary", lambda fine=fine: trueness.soft_mean_ece(fine(), bins=7)
    for form, make in _FORMS.items():
        yield f"form/{form}/smooth_ece", partial(_of_form, trueness.smooth_ece, make)
        yield f"form/{form}/ecce", partial(_of_form, trueness.ecce, make)
        yield f"form/{form}/summarize", partial(_of_form, trueness.summarize, make)


def sources_of(name: str, options: Options, kind: str) -> tuple[str, ...]:
    """Rows and summaries; where a summary is refused, a few kinds are enough to show it."""
    rows_only = ("weak_calibration_error", "distance_to_calibration", "log_loss", "decompose")
    refused = name in rows_only or not {"quantile", "right", "monte-carlo", np.sqrt, 37, 7}.isdisjoint(options.values())
    return ("rows",) if refused and kind not in ("hard", "soft", "weights") else SOURCES


def _of_form(call: Callable[..., Any], make: Callable[[Any], Any]) -> Any:
    return call(make(rows("hard").y), make(rows("hard").f))


def _pandas(x: Any) -> Any:
    import pandas as pd

    return pd.Series(x)


def _polars(x: Any) -> Any:
    import polars as pl

    return pl.Series(x)


def _arrow(x: Any) -> Any:
    import pyarrow as pa

    return pa.chunked_array([pa.array(x[:700]), pa.array(x[700:])])


def tensor(x: Any) -> Any:
    """An array as a tensor."""
    import torch

    return torch.as_tensor(x)


_FORMS: Mapping[str, Callable[[Any], Any]] = {
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "object": lambda x: x.astype(object),
    "column": lambda x: x[:, None],
    "reversed": lambda x: x[::-1],
    "masked": np.ma.masked_array,
    "generator": lambda x: iter(x.tolist()),
    "chunks": lambda x: iter([x[:1000], x[1000:]]),
    "float16": lambda x: x.astype(np.float16),
    "big-endian": lambda x: x.astype(">f8"),
    "pandas": _pandas,
    "pandas-nullable": lambda x: _pandas(x).convert_dtypes(),
    "polars": _polars,
    "arrow": _arrow,
    "torch": tensor,
}


# Tests, intervals, floors


def _tests() -> Iterator[Case]:
    kinds = [kind for kind in SMALL if kind not in ("huge-weights", "float32")]
    for kind in (*kinds, *LARGE):
        for source in SOURCES:
            for name in ("ecce_r", "ecce_mad"):
                case = partial(measured, "calibration_test", kind, source, statistic=name, resamples=199, rng=0)
                yield f"test/{name}/auto/{kind}/{source}", case
            asked = partial(measured, "calibration_test", kind, source, method="asymptotic")
            yield f"test/ecce_r/asymptotic/{kind}/{source}", asked
    for name, options in STATISTICS:
        for kind in ("hard", "calibrated", "weights", "ties", "rare", "n40", "soft"):
            for source in sources_of(name, options, kind):
                settings = {"statistic": name, "options": options, "method": "simulated", "resamples": 199, "rng": 1}
                case = partial(measured, "calibration_test", kind, source, **settings)
                yield f"test/{name}/{said(options)}/simulated/{kind}/{source}", case
    area = partial(measured, "calibration_test", "n40", "rows", statistic="smooth_ece_area", resamples=19, rng=0)
    yield "test/smooth_ece_area/n40/rows", area
    for kind in ("whole-weights", "weights", "hard"):
        for source in SOURCES:
            case = partial(measured, "calibration_test", kind, source, weight_kind="frequency", resamples=199, rng=0)
            yield f"test/ecce_r/frequency/{kind}/{source}", case
    yield "test/progress", partial(_progress, "calibration_test", method="simulated")


def _progress(function: str, **options: Any) -> Any:
    """What a function tells while it draws."""
    told: list[tuple[Any, Any]] = []
    measured(function, "n40", "rows", rng=0, progress=lambda done, total: told.append((done, total)), **options)
    return told


def _intervals() -> Iterator[Case]:
    for name, options in INTERVALS:
        for kind in ("hard", "calibrated", "soft", "weights", "rare", "n40"):
            for source in sources_of(name, options, kind):
                case = partial(measured, "confidence_interval", kind, source, metric=name, options=options, rng=0)
                yield f"interval/{name}/{said(options)}/{kind}/{source}", case
    for kind in ("n1", "n2", "ties", "ends", "contradicted", "one-score", "one-class", "matched", "mixed", "soft-weights"):
        for name in ("smooth_ece", "ecce_r", "binned_ece"):
            for source in SOURCES:
                case = partial(measured, "confidence_interval", kind, source, metric=name, rng=2)
                yield f"interval/{name}/edge/{kind}/{source}", case
    for level in (0.5, 0.8, 0.999):
        case = partial(measured, "confidence_interval", "n40", "rows", metric="ecce_r", level=level, rng=0)
        yield f"interval/ecce_r/level={level}/n40", case
    for name in ("binned_ece", "ecce_mad", "brier_score", "log_loss"):
        for kind in ("n40", "n40-weights", "n40-soft"):
            case = partial(measured, "confidence_interval", kind, "rows", metric=name, method="bootstrap", rng=0)
            yield f"interval/{name}/bootstrap/{kind}", case
    yield "interval/progress", partial(_progress, "confidence_interval", metric="binned_ece")


def _floors() -> Iterator[Case]:
    for name, options in STATISTICS:
        for kind in ("hard", "weights", "ties", "n40", "soft"):
            for source in sources_of(name, options, kind):
                case = partial(measured, "noise_floor", kind, source, metric=name, options=options, resamples=99, rng=0)
                yield f"floor/{name}/{said(options)}/{kind}/{source}", case
    for kind in LARGE:
        yield f"floor/ecce_r/law/{kind}", partial(measured, "noise_floor", kind, "rows", metric="ecce_r", rng=0)
    yield "floor/progress", partial(_progress, "noise_floor", resamples=99)


def _groups() -> Iterator[Case]:
    settings = {"resamples": 199, "rng": 0}
    for kind in ("hard", "weights", "soft", "n40", "ends"):
        for by in ("letters", "numbers", "missing", "many"):
            case = partial(_group_tests, kind, by, **settings)
            yield f"groups/{kind}/{by}", case
        yield f"groups/{kind}/summaries", partial(_group_summaries, kind, **settings)
    for name in ("smooth_ece", "binned_ece", "brier_score"):
        yield f"groups/hard/{name}", partial(_group_tests, "hard", "letters", statistic=name, **settings)
    yield "groups/item", lambda: _group_tests("hard", "letters", **settings)["b"]
    yield "groups/to_dict", lambda: _group_tests("hard", "missing", **settings).to_dict()
    yield "groups/length", lambda: [each.group for each in _group_tests("hard", "missing", **settings)]
    yield "groups/frequency", partial(_group_tests, "whole-weights", "letters", weight_kind="frequency", **settings)


def groups_of(n: int, by: str) -> Any:
    """The group of each of n rows."""
    number = np.arange(n) * 7 % 11
    if by == "letters":
        return np.where(number < 4, "a", "b")
    if by == "missing":
        return [None if each == 3 else "abc"[each % 3] for each in number.tolist()]
    return number % 3 if by == "numbers" else np.arange(n) % 25


def _group_tests(kind: str, by: str, **options: Any) -> Any:
    y, f, _ = rows(kind)
    return trueness.group_tests(y, f, by=groups_of(len(y), by), **weights_of(kind), **options)


def group_summaries(kind: str) -> dict[str, Any]:
    """A summary for each of two groups."""
    y, f, w = rows(kind)
    by = groups_of(len(y), "letters")
    weights = {name: {} if w is None else {"sample_weight": w[by == name]} for name in ("a", "b")}
    return {name: trueness.summarize(y[by == name], f[by == name], **weights[name]) for name in ("a", "b")}


def _group_summaries(kind: str, **options: Any) -> Any:
    return trueness.group_tests(group_summaries(kind), **options)
