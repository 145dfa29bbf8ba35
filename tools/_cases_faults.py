"""Cases of input that makes no sense: rows, options and tables of classes, each refused in words."""

import datetime
import decimal
import fractions
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import trueness
from tools._data import Case, each_of, rows, summary

Y = np.array([0, 1, 1, 0, 1, 0])
F = np.array([0.1, 0.8, 0.6, 0.3, 0.9, 0.2])
W = np.array([1.0, 2.0, 0.5, 1.0, 1.0, 3.0])
PROBA = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]])
NAN, INF = float("nan"), float("inf")
Thunk = Callable[[], Any]


def cases() -> Iterator[Case]:
    """All of them."""
    yield from each_of(_rows, _indexes, _options, _inference, _answers, _classes, _recalibration)


def _put(column: Any, value: Any, place: int = 2) -> Any:
    """A column with another value in one place."""
    changed = column.astype(np.result_type(column, type(value)) if not isinstance(value, str) else object)
    changed[place] = value
    return changed


# Rows


def _rows() -> Iterator[Case]:
    calls: Mapping[str, Callable[..., Any]] = {
        "smooth_ece": lambda y, f, w=None: trueness.smooth_ece(y, f, sample_weight=w),
        "log_loss": lambda y, f, w=None: trueness.log_loss(y, f, sample_weight=w),
        "summarize": lambda y, f, w=None: trueness.summarize(y, f, sample_weight=w),
        "summarize-drop": lambda y, f, w=None: trueness.summarize(y, f, sample_weight=w, nan="drop"),
        "assess": lambda y, f, w=None: trueness.assess(y, f, sample_weight=w).to_dict()["verdict"],
    }
    for name, given in {**_OUTCOMES, **_PREDICTIONS, **_WEIGHTS, **_TOGETHER}.items():
        for call, function in calls.items():
            yield f"bad-rows/{name}/{call}", lambda function=function, given=given: function(*given())


_OUTCOMES: Mapping[str, Thunk] = {
    "y-nan": lambda: (_put(Y, NAN), F),
    "y-inf": lambda: (_put(Y, INF), F),
    "y-two": lambda: (_put(Y, 2), F),
    "y-minus-one": lambda: (np.where(Y, 1, -1), F),
    "y-one-and-two": lambda: (Y + 1, F),
    "y-above": lambda: (_put(Y, 1.5), F),
    "y-text": lambda: (np.where(Y, "yes", "no"), F),
    "y-text-numbers": lambda: (Y.astype(str), F),
    "y-bytes": lambda: (np.where(Y, b"yes", b"no"), F),
    "y-objects": lambda: ([0, 1, "x", None, 1, 0], F),
    "y-none": lambda: ([0, 1, None, 0, 1, 0], F),
    "y-true-false": lambda: ((Y == 1).tolist(), F),
    "y-decimal": lambda: ([decimal.Decimal(int(each)) for each in Y], F),
    "y-masked": lambda: (np.ma.masked_array(Y, Y == 7), F),
    "y-masked-some": lambda: (np.ma.masked_array(Y, [False, True, False, False, False, False]), F),
    "y-category": lambda: (_series(np.where(Y, "yes", "no")).astype("category"), F),
    "y-missing": lambda: (_series([0, 1, None, 0, 1, 0]).astype("Int64"), F),
    "y-dates": lambda: ([datetime.date(2020, 1, 1 + each) for each in range(6)], F),
    "y-datetime64": lambda: (np.arange(6).astype("datetime64[D]"), F),
    "y-complex": lambda: (Y + 0j, F),
    "y-fields": lambda: (np.zeros(6, dtype=[("a", float), ("b", float)]), F),
    "y-mapping": lambda: ({"y": Y}, F),
    "y-set": lambda: ({0, 1}, F),
    "y-string": lambda: ("011010", F),
    "y-number": lambda: (1, F),
}
_PREDICTIONS: Mapping[str, Thunk] = {
    "f-nan": lambda: (Y, _put(F, NAN)),
    "f-inf": lambda: (Y, _put(F, INF)),
    "f-above": lambda: (Y, _put(F, 1.2)),
    "f-below": lambda: (Y, _put(F, -0.1)),
    "f-percent": lambda: (Y, 100 * F),
    "f-logits": lambda: (Y, np.log(F / (1 - F))),
    "f-logarithms": lambda: (Y, np.log(F)),
    "f-thousands": lambda: (Y, 1000 * F),
    "f-last-place": lambda: (Y, _put(_put(F, 1 + 2**-52), -1e-17, 3)),
    "f-text": lambda: (Y, F.astype(str)),
    "f-words": lambda: (Y, ["low", "high", "high", "low", "high", "low"]),
    "f-none": lambda: (Y, [0.1, None, 0.6, 0.3, 0.9, 0.2]),
    "f-fractions": lambda: (Y, [fractions.Fraction(1, 3)] * 6),
    "f-labels": lambda: (Y, Y),
    "f-booleans": lambda: (Y, Y == 1),
    "f-table": lambda: (Y, np.stack([1 - F, F], axis=1)),
    "f-row": lambda: (Y, F[None, :]),
    "f-column": lambda: (Y, F[:, None]),
    "f-cube": lambda: (Y, F.reshape(1, 2, 3)),
    "f-masked": lambda: (Y, np.ma.masked_greater(F, 0.85)),
    "f-complex": lambda: (Y, F + 0j),
    "f-absent": lambda: (Y, None),
    "f-number": lambda: (Y, 0.5),
    "f-frame": lambda: (Y, _frame()),
    "f-lazy": lambda: (Y, _lazy()),
    "f-sparse": lambda: (Y, _sparse()),
    "f-arrow-null": lambda: (Y, _arrow([0.1, None, 0.6, 0.3, 0.9, 0.2])),
    "f-generator": lambda: (iter(Y), (each for each in F)),
}
_WEIGHTS: Mapping[str, Thunk] = {
    "w-negative": lambda: (Y, F, _put(W, -1.0)),
    "w-nan": lambda: (Y, F, _put(W, NAN)),
    "w-inf": lambda: (Y, F, _put(W, INF)),
    "w-zero": lambda: (Y, F, 0 * W),
    "w-some-zero": lambda: (Y, F, W * Y),
    "w-short": lambda: (Y, F, W[:-1]),
    "w-text": lambda: (Y, F, ["a"] * 6),
    "w-number": lambda: (Y, F, 2.0),
    "w-booleans": lambda: (Y, F, Y == 1),
    "w-huge": lambda: (Y, F, 1e308 * W),
    "w-tiny": lambda: (Y, F, 1e-320 * W),
    "w-table": lambda: (Y, F, np.stack([W, W], axis=1)),
}
_TOGETHER: Mapping[str, Thunk] = {
    "empty": lambda: ([], []),
    "lengths": lambda: (Y, F[:-1]),
    "swapped": lambda: (F, Y),
    "several": lambda: (_put(Y, NAN), _put(_put(F, 1.7), NAN, 4), _put(W, -1.0)),
    "all-missing": lambda: (Y, np.full(6, NAN)),
    "same-iterator": lambda: (lambda both: (both, both))(iter([0, 1])),
    "chunks-of-other-number": lambda: (iter([Y, Y]), iter([F])),
    "chunks-of-other-type": lambda: (iter([Y, Y.astype(str)]), iter([F, F])),
    "chunks-and-values": lambda: (iter([Y, 1]), iter([F, 0.5])),
    "no-chunks": lambda: (iter([]), iter([])),
}


def _series(values: Any, index: Any = None) -> Any:
    import pandas as pd

    return pd.Series(values, index=index)


def _frame() -> Any:
    import pandas as pd

    return pd.DataFrame({"a": F, "b": F})


def _lazy() -> Any:
    import polars as pl

    return pl.LazyFrame({"a": F})


def _sparse() -> Any:
    from scipy.sparse import csr_array

    return csr_array(F[None, :])


def _arrow(values: Any) -> Any:
    import pyarrow as pa

    return pa.array(values)


def _indexes() -> Iterator[Case]:
    orders: Mapping[str, tuple[Any, Any]] = {
        "same": (range(6), range(6)),
        "permuted": (range(6), [5, 4, 3, 2, 1, 0]),
        "other": (range(6), range(10, 16)),
        "partly": (range(6), range(3, 9)),
        "repeated": (range(6), [0, 0, 1, 2, 3, 4]),
        "text": (list("abcdef"), list("fedcba")),
        "float": (range(6), np.arange(6) + 0.0),
    }
    for name, (ours, theirs) in orders.items():
        for align in (None, "position", "index", "label"):
            case = partial(_aligned, ours, theirs, align=align)
            yield f"index/{name}/align={align}", case
        yield f"index/{name}/smooth_ece", lambda a=ours, b=theirs: trueness.smooth_ece(_series(Y, a), _series(F, b))


def _aligned(ours: Any, theirs: Any, **options: Any) -> Any:
    return trueness.summarize(_series(Y, ours), _series(F, theirs), **options)


# Options


def _options() -> Iterator[Case]:
    for name, options in _OPTIONS.items():
        for option, values in options.items():
            for number, value in enumerate(values):
                yield f"bad-option/{name}/{option}/{number}", partial(_with_option, name, option, value)
    yield "bad-option/binned_ece/quantile-right", lambda: trueness.binned_ece(Y, F, strategy="quantile", closed="right")
    yield "bad-option/reliability_curve/isotonic-bins", lambda: trueness.reliability_curve(Y, F, kind="isotonic", bins=4)
    yield "bad-option/reliability_curve/binned-rng", lambda: trueness.reliability_curve(Y, F, kind="binned", rng=0)
    yield "bad-option/plot_compare/none", lambda: trueness.plot_compare(Y, {})
    yield "bad-option/plot_compare/many", lambda: trueness.plot_compare(Y, dict.fromkeys("abcdefg", F))
    yield "bad-option/brownian/text", lambda: trueness.brownian.range.sf("x")


_OPTIONS: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "binned_ece": {
        "bins": (0, -1, 1.5, "15", True, 16385, None, (5,)),
        "strategy": ("equal", None),
        "norm": ("l3", 1),
        "weighting": ("rows",),
        "closed": ("both",),
        "debias": (True, "yes", 1),
        "bin": (5,),
    },
    "soft_mean_ece": {"bins": (0, 2.0)},
    "smooth_ece": {"bandwidth": (0, -0.1, NAN, INF, "x", True), "scale": ("log", 3, np.negative, np.log, len, np.floor)},
    "smooth_ece_area": {"bandwidth": (0.0, "wide")},
    "logit_smoothed_ece": {
        "bandwidth": (0, 1e-12, 2000, None),
        "noise": ("normal",),
        "method": ("exact",),
        "draws": (0, 1.5, True),
        "rng": (-1, "x", 1.5, True),
    },
    "decompose": {"score": ("spherical", None)},
    "reliability_curve": {
        "kind": ("spline", None),
        "bins": (5,),
        "strategy": ("quantile",),
        "bandwidth": (-1,),
        "level": (0, 1, 95, "x", 0.99999),
        "rng": (-3,),
    },
    "bin_sweep": {"bins": ((), (0,), 5, ("a",)), "norm": ("l4",), "strategy": ("x",)},
    "summarize": {"bins": (0, -2, 1.5, "7", (3, 0)), "nan": ("keep", None), "align": ("rows",), "pos_label": (7, NAN, [1])},
}


def _with_option(name: str, option: str, value: Any) -> Any:
    return getattr(trueness, name)(Y, F, **{option: value})


def _inference() -> Iterator[Case]:
    for name, call in _INFERENCE.items():
        yield f"bad-inference/{name}", call


_INFERENCE: Mapping[str, Thunk] = {
    "test/statistic": lambda: trueness.calibration_test(Y, F, statistic="ece"),
    "test/statistic-number": lambda: trueness.calibration_test(Y, F, statistic=3),
    "test/statistic-several": lambda: trueness.calibration_test(Y, F, statistic="decompose"),
    "test/options": lambda: trueness.calibration_test(Y, F, statistic="binned_ece", options=5),
    "test/options-unknown": lambda: trueness.calibration_test(Y, F, statistic="binned_ece", options={"bin": 5}),
    "test/options-none": lambda: trueness.calibration_test(Y, F, statistic="ecce_r", options={"bins": 5}),
    "test/options-monte-carlo": lambda: trueness.calibration_test(
        Y, F, statistic="logit_smoothed_ece", options={"method": "monte-carlo"}
    ),
    "test/options-value": lambda: trueness.calibration_test(Y, F, statistic="binned_ece", options={"bins": 0}),
    "test/method": lambda: trueness.calibration_test(Y, F, method="exact"),
    "test/method-no-law": lambda: trueness.calibration_test(Y, F, statistic="smooth_ece", method="asymptotic"),
    "test/resamples": lambda: trueness.calibration_test(Y, F, resamples=0),
    "test/resamples-float": lambda: trueness.calibration_test(Y, F, resamples=10.0),
    "test/rng": lambda: trueness.calibration_test(Y, F, rng=-1),
    "test/rng-text": lambda: trueness.calibration_test(Y, F, rng="seed"),
    "test/rng-generator": lambda: trueness.calibration_test(Y, F, rng=np.random.default_rng(0), resamples=99),
    "test/weight_kind": lambda: trueness.calibration_test(Y, F, weight_kind="count"),
    "test/frequency": lambda: trueness.calibration_test(
        *rows("n40-weights")[:2], sample_weight=rows("n40-weights").w, weight_kind="frequency"
    ),
    "test/soft-simulated": lambda: trueness.calibration_test(*rows("n40-soft")[:2], method="simulated"),
    "test/soft-statistic": lambda: trueness.calibration_test(*rows("n40-soft")[:2], statistic="brier_score"),
    "interval/metric": lambda: trueness.confidence_interval(Y, F, metric="ece"),
    "interval/metric-none": lambda: trueness.confidence_interval(Y, F, metric="brier_score"),
    "interval/metric-several": lambda: trueness.confidence_interval(Y, F, metric="distance_to_calibration"),
    "interval/norm": lambda: trueness.confidence_interval(Y, F, metric="binned_ece", options={"norm": "max"}),
    "interval/weighting": lambda: trueness.confidence_interval(Y, F, metric="binned_ece", options={"weighting": "width"}),
    "interval/method": lambda: trueness.confidence_interval(Y, F, method="wald"),
    "interval/level-0": lambda: trueness.confidence_interval(Y, F, level=0),
    "interval/level-95": lambda: trueness.confidence_interval(Y, F, level=95),
    "interval/level-text": lambda: trueness.confidence_interval(Y, F, level="high"),
    "interval/level-true": lambda: trueness.confidence_interval(Y, F, level=True),
    "interval/level-most": lambda: trueness.confidence_interval(Y, F, level=0.99999),
    "interval/rows": lambda: trueness.confidence_interval(summary("n40"), metric="weak_calibration_error"),
    "interval/bootstrap-summary": lambda: trueness.confidence_interval(summary("n40"), method="bootstrap"),
    "floor/metric": lambda: trueness.noise_floor(Y, F, metric="x"),
    "floor/resamples": lambda: trueness.noise_floor(Y, F, resamples=-5),
    "floor/soft": lambda: trueness.noise_floor(*rows("n40-soft")[:2]),
    "floor/options": lambda: trueness.noise_floor(Y, F, metric="binned_ece", options={"bins": "many"}),
    "groups/by": lambda: trueness.group_tests(Y, F),
    "groups/by-length": lambda: trueness.group_tests(Y, F, by=["a", "b"]),
    "groups/summary": lambda: trueness.group_tests({"a": summary("n40"), "b": 3}),
    "groups/summary-and-by": lambda: trueness.group_tests({"a": summary("n40")}, by=["a"]),
    "groups/one-summary": lambda: trueness.group_tests(summary("n40"), by=["a"]),
    "groups/statistic": lambda: trueness.group_tests(Y, F, by=Y, statistic="x"),
    "groups/unhashable": lambda: trueness.group_tests(Y, F, by=[[1]] * 6),
    "groups/absent": lambda: trueness.group_tests(rows("n40").y, rows("n40").f, by=rows("n40").y, rng=0)["z"],
    "continuity/lengths": lambda: trueness.ece_continuity_gap([0.5], [0.5, 0.6]),
    "continuity/mass": lambda: trueness.ece_continuity_gap([0.5, 0.4], [0.5, 0.6], mass=[-1, 1]),
    "continuity/summary": lambda: trueness.ece_continuity_gap(summary("n40"), None),
}


def _answers() -> Iterator[Case]:
    for name, call in _ANSWERS.items():
        yield f"bad-answer/{name}", call


def _columns() -> dict[str, Any]:
    return {"y": Y, "p": F}


_ANSWERS: Mapping[str, Thunk] = {
    "assess/nothing": lambda: trueness.assess(Y),
    "assess/level": lambda: trueness.assess(Y, F, level=95),
    "assess/rng": lambda: trueness.assess(Y, F, rng="x"),
    "assess/nan": lambda: trueness.assess(Y, F, nan="keep"),
    "assess/metrics": lambda: trueness.assess(Y, F, metrics=["ece"]),
    "assess/metrics-without-interval": lambda: trueness.assess(Y, F, metrics=["log_loss"]),
    "assess/no-prediction": lambda: trueness.assess(_columns(), outcome="y"),
    "assess/no-outcome": lambda: trueness.assess(_columns(), prediction="p"),
    "assess/no-column": lambda: trueness.assess(_columns(), outcome="y", prediction="q"),
    "assess/frame-and-rows": lambda: trueness.assess(_columns(), F, outcome="y", prediction="p"),
    "assess/frame-alone": lambda: trueness.assess(_columns()),
    "assess/lazy-alone": lambda: trueness.assess(_lazy()),
    "assess/summary-and-rows": lambda: trueness.assess(summary("n40"), F),
    "assess/summary-and-by": lambda: trueness.assess(summary("n40"), by=Y),
    "assess/summary-and-drop": lambda: trueness.assess(summary("n40"), nan="drop"),
    "assess/no-groups": lambda: trueness.assess({}),
    "assess/mixed-groups": lambda: trueness.assess({"a": summary("n40"), "b": 1}),
    "assess/by-length": lambda: trueness.assess(Y, F, by=["a"]),
    "assess/pos_label": lambda: trueness.assess(Y, F, pos_label="yes"),
    "assess/item": lambda: trueness.assess(Y, F)["log_loss"],
    "assess/report-folder": lambda: trueness.assess(Y, F).report("no/such/folder/page.html"),
    "compare/one": lambda: trueness.compare(Y, {"a": F}),
    "compare/none": lambda: trueness.compare(Y, {}),
    "compare/list": lambda: trueness.compare(Y, [F, F]),
    "compare/summary": lambda: trueness.compare(summary("n40"), {"a": summary("n40")}),
    "compare/lengths": lambda: trueness.compare(Y, {"a": F, "b": F[:-1]}),
    "compare/missing": lambda: trueness.compare(Y, {"a": F, "b": _put(F, NAN)}),
    "compare/no-common-row": lambda: trueness.compare(Y, {"a": np.where(Y, F, NAN), "b": np.where(Y, NAN, F)}, nan="drop"),
    "compare/metrics": lambda: trueness.compare(Y, {"a": F, "b": F}, metrics=["ece"]),
    "compare/no-metrics": lambda: trueness.compare(Y, {"a": F, "b": F}, metrics=[]),
    "compare/level": lambda: trueness.compare(Y, {"a": F, "b": F}, level=1.5),
}


# Several classes, recalibration


def _classes() -> Iterator[Case]:
    calls: Mapping[str, Callable[..., Any]] = {"top_label": trueness.top_label, "one_vs_rest": trueness.one_vs_rest}
    for name, (y, table, options) in _CLASSES.items():
        for call, function in calls.items():
            yield f"bad-classes/{name}/{call}", partial(function, y, table, **options)
    for number, k in enumerate((0, 4, 1.5, True, "2")):
        yield f"bad-classes/k/{number}", partial(trueness.top_k, [0, 1], PROBA, k)
    yield "bad-classes/ties", lambda: trueness.top_label([0, 1], PROBA, ties="last")
    yield "bad-classes/index", lambda: trueness.top_label(_series([0, 1], [1, 0]), _probabilities())


_CLASSES: Mapping[str, tuple[Any, Any, Mapping[str, Any]]] = {
    "lengths": ([0, 1, 2], PROBA, {}),
    "unknown-label": ([0, 3], PROBA, {}),
    "text-label": (["a", "b"], PROBA, {}),
    "missing-label": ([0, None], PROBA, {}),
    "fraction": ([0, 0.5], PROBA, {}),
    "indicator": ([[1, 0, 0], [0, 1, 0]], PROBA, {}),
    "indicator-array": (np.eye(3)[:2], PROBA, {}),
    "one-column": ([0, 1], PROBA[:, :1], {}),
    "flat": ([0, 1], PROBA[:, 0], {}),
    "cube": ([0, 1], PROBA[None], {}),
    "empty": ([], PROBA[:0], {}),
    "nan": ([0, 1], np.where(PROBA == 0.6, NAN, PROBA), {}),
    "sums": ([0, 1], PROBA * 1.1, {}),
    "logits": ([0, 1], np.log(PROBA) + 2, {}),
    "percent": ([0, 1], 100 * PROBA, {}),
    "text": ([0, 1], PROBA.astype(str), {}),
    "ragged": ([0, 1], [[0.5, 0.5], [1.0]], {}),
    "classes-short": (["a", "b"], PROBA, {"classes": ["a", "b"]}),
    "classes-twice": (["a", "b"], PROBA, {"classes": ["a", "b", "a"]}),
    "classes-string": (["a", "b"], PROBA, {"classes": "abc"}),
    "classes-other": (["a", "d"], PROBA, {"classes": ["a", "b", "c"]}),
    "from_logits": ([0, 1], PROBA, {"from_logits": "yes"}),
}


def _probabilities() -> Any:
    import pandas as pd

    return pd.DataFrame(PROBA, columns=["0", "1", "2"])


def _recalibration() -> Iterator[Case]:
    model = trueness.SmoothRecalibrator
    faults: Mapping[str, Thunk] = {
        "not-fitted": lambda: model().predict([0.5]),
        "parameter": lambda: model().set_params(width=1),
        "bandwidth": lambda: model(-1.0).fit(F, Y),
        "lengths": lambda: model().fit(F[:-1], Y),
        "predict-outside": lambda: model().fit(F, Y).predict([1.5]),
        "predict-nan": lambda: model().fit(F, Y).predict([NAN]),
        "predict-table": lambda: model().fit(F, Y).predict(np.ones((3, 2))),
        "sample-rng": lambda: model().fit(F, Y).sample([0.5], rng="x"),
    }
    for name, call in faults.items():
        yield f"bad-recalibration/{name}", call
