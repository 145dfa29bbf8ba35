"""Cases of whole results: curves, assessments, comparisons, summaries, figures, pages, classes, laws, and real data."""

import copy
import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import trueness
from tools._cases_measures import SOURCES, VARIANTS, Options, group_summaries, groups_of, tensor
from tools._data import (
    CLASSIFIERS,
    FORECASTERS,
    HUGE,
    LARGE,
    PREDICTORS,
    RECIDIVISM,
    SMALL,
    Case,
    each_of,
    measured,
    real,
    real_table,
    rows,
    said,
    summary,
    weights_of,
)


def cases() -> Iterator[Case]:
    """All of them."""
    yield from each_of(
        _curves, _answers, _comparisons, _summaries, _figures, _pages, _classes, _recalibration, _laws, _continuity, _real
    )


# Curves


def _curves() -> Iterator[Case]:
    options: tuple[Options, ...] = (
        {"kind": "local", "rng": 0},
        {"kind": "local", "bandwidth": 0.1, "scale": "logit", "band": "simultaneous", "level": 0.8},
        {"kind": "smooth", "rng": 0},
        {"kind": "smooth", "bandwidth": 0.1, "level": 0.8},
        {"kind": "binned"},
        {"kind": "binned", "bins": 7, "strategy": "quantile", "level": 0.9},
        {"kind": "binned", "bins": 4},
        {"kind": "isotonic", "rng": 0},
    )
    for each in options:
        for kind in SMALL:
            for source in SOURCES:
                yield f"curve/{said(each)}/{kind}/{source}", partial(measured, "reliability_curve", kind, source, **each)
        yield f"curve/{said(each)}/big/rows", partial(measured, "reliability_curve", "big", "rows", **each)
    for kind in (*SMALL, *LARGE):
        for source in SOURCES:
            yield f"curve/cumulative/{kind}/{source}", partial(measured, "cumulative_curve", kind, source)
    sweeps: tuple[Options, ...] = ({}, {"bins": (5, 10)}, {"norm": "l2", "weighting": "width", "bins": (1, 4, 20)})
    for each in (*sweeps, {"strategy": "quantile", "bins": (3, 9)}):
        for kind in ("hard", "soft", "weights", "ties", "n2"):
            for source in SOURCES:
                yield f"sweep/{said(each)}/{kind}/{source}", partial(measured, "bin_sweep", kind, source, **each)
    yield "curve/table", lambda: measured("reliability_curve", "n40", "rows", kind="binned").table()
    yield "curve/to_dict", lambda: measured("reliability_curve", "n40", "rows", kind="binned").to_dict()


# Whole answers


def _answers() -> Iterator[Case]:
    for kind in SMALL:
        yield f"assess/{kind}/rows", partial(measured, "assess", kind, "rows", rng=0)
    for kind in ("hard", "soft", "weights", "soft-weights", "ties", "contradicted", "rare", "n1", "n40"):
        yield f"assess/{kind}/summary", partial(measured, "assess", kind, "summary", rng=0)
    yield "assess/big/rows", partial(measured, "assess", "big", "rows")
    yield "assess/n40/level", partial(measured, "assess", "n40", "rows", level=0.8, rng=5)
    few = ("ecce_mad", "weak_calibration_error", "soft_mean_ece")
    yield "assess/n40/metrics", partial(measured, "assess", "n40", "rows", metrics=few)
    yield "assess/n40/by", lambda: trueness.assess(rows("n40").y, rows("n40").f, by=groups_of(40, "letters"))
    yield "assess/weights/by", lambda: measured("assess", "weights", "rows", by=groups_of(1500, "missing"))
    yield "assess/hard/groups-of-summaries", lambda: trueness.assess(group_summaries("hard"))
    yield "assess/hard/to_dict", lambda: measured("assess", "hard", "rows").to_dict()
    yield "assess/hard/item", lambda: measured("assess", "hard", "rows")["binned_ece"]
    yield "assess/hard/curves", lambda: _curves_of(measured("assess", "hard", "rows", rng=3))
    yield "assess/drop", lambda: trueness.assess(_with_holes(rows("hard").y.astype(float)), rows("hard").f, nan="drop")
    yield "assess/pos_label", lambda: trueness.assess(np.where(rows("n40").y, "yes", "no"), rows("n40").f, pos_label="yes")


def _curves_of(result: Any) -> Any:
    return [result.smooth_curve, result.cumulative_curve, result.test, result.significant, result.error]


def _with_holes(x: Any) -> Any:
    return np.where(np.arange(len(x)) % 50 == 7, np.nan, x)


def _comparisons() -> Iterator[Case]:
    for kind in ("n40", "hard", "soft", "weights", "ties"):
        yield f"compare/{kind}", partial(_compared, kind)
    yield "compare/three", lambda: _compared("n40", names=("a", "b", "c"))
    yield "compare/many", lambda: _compared("n40", names=tuple("abcdefgh"), metrics=("ecce_r", "brier_score"))
    yield "compare/metrics", lambda: _compared("hard", metrics=("ecce_mad", "log_loss", "weak_calibration_error"), level=0.8)
    yield "compare/to_dict", lambda: _compared("n40", metrics=("ecce_r", "log_loss")).to_dict()
    yield "compare/drop", lambda: _compared("hard", change=_with_holes, nan="drop", metrics=("ecce_r", "binned_ece"))


def _compared(kind: str, *, names: tuple[str, ...] = ("a", "b"), change: Callable[[Any], Any] = np.copy, **options: Any) -> Any:
    y, f, _ = rows(kind)
    given = {name: change(f ** (1 + 0.3 * number)) for number, name in enumerate(names)}
    return trueness.compare(y, given, **weights_of(kind), **options)


# Summaries


def _summaries() -> Iterator[Case]:
    for kind in (*SMALL, *LARGE, *HUGE):
        yield f"summary/{kind}", partial(summary, kind)
        yield f"summary/{kind}/bits", partial(_digest, kind)
    for kind in HUGE:
        for name in ("smooth_ece", "ecce", "binned_ece", "brier_score"):
            yield f"summary/{kind}/{name}", partial(measured, name, kind, "rows")
    for kind in ("hard", "soft", "weights", "huge-weights", "n1"):
        yield f"summary/{kind}/file", partial(_saved, kind)
        yield f"summary/{kind}/copy", lambda kind=kind: copy.deepcopy(summary(kind)) == summary(kind)
        yield f"summary/{kind}/added-to-hard", lambda kind=kind: _valued(summary(kind) + summary("hard"))
        yield f"summary/{kind}/added-to-weights", lambda kind=kind: _valued(summary("weights") + summary(kind))
    yield "summary/sum", lambda: _valued(sum([summary("hard"), summary("ties"), summary("n1")]))
    yield "summary/parts", lambda: _halves("hard") == summary("hard")
    yield (
        "summary/equal",
        lambda: [summary("hard") == summary("ties"), summary("hard") == 1, summary("hard") == summary("hard")],
    )
    yield "summary/drop", lambda: trueness.summarize(_with_holes(rows("hard").y * 1.0), rows("hard").f, nan="drop")
    yield "summary/pos_label", lambda: trueness.summarize(rows("hard").y + 1, rows("hard").f, pos_label=2)
    yield "summary/clipped", lambda: trueness.summarize([0, 1, 1], [-1e-17, 1 + 2**-52, 0.5])


def _digest(kind: str) -> str:
    return str(summary(kind).digest)


def _halves(kind: str) -> Any:
    y, f, _ = rows(kind)
    return trueness.summarize(y[::2], f[::2]) + trueness.summarize(y[1::2], f[1::2])


def _valued(result: Any) -> dict[str, Any]:
    return {"summary": result, "smooth_ece": trueness.smooth_ece(result), "ecce": trueness.ecce(result)}


def _saved(kind: str) -> Any:
    """Written, read back, and the same; the size of a file tells its form."""
    summary(kind).save("kept.tns")
    result = trueness.Summary.load("kept.tns")
    return {"equal": result == summary(kind), "found": result, "bytes": Path("kept.tns").stat().st_size}


# Figures and pages


def _figures() -> Iterator[Case]:
    for kind in ("hard", "soft", "weights", "n1", "ends"):
        for source in SOURCES:
            yield f"figure/pair/{kind}/{source}", partial(_drawn, partial(measured, "plot_pair", kind, source, rng=0))
        yield f"figure/assess/{kind}", partial(_drawn, lambda kind=kind: measured("assess", kind, "rows").plot())
        for curve in ("smooth", "binned", "isotonic"):
            case = partial(trueness.CalibrationDisplay.from_predictions, rows(kind).y, rows(kind).f, kind=curve)
            yield f"figure/display/{curve}/{kind}", partial(_drawn, lambda case=case: case().figure_)
        yield f"figure/cumulative/{kind}", partial(_drawn, lambda kind=kind: measured("cumulative_curve", kind, "rows").plot())
    yield "figure/sweep", partial(_drawn, lambda: measured("bin_sweep", "hard", "rows").plot())
    y, f, _ = rows("hard")
    yield "figure/compare", partial(_drawn, lambda: trueness.plot_compare(y, {"a": f, "b": f**2, "c": f**3}))
    yield "figure/compare/result", partial(_drawn, lambda: _compared("n40", metrics=("ecce_r",)).plot())
    yield "figure/estimator", partial(_drawn, _of_estimator)


def _of_estimator() -> Any:
    """A classifier in scikit-learn's manner."""

    class Model:
        classes_ = ("no", "yes")

        def predict_proba(self, x: Any) -> Any:
            return np.stack([1 - x, x], axis=1)

    y = np.where(rows("hard").y, "yes", "no")
    return trueness.CalibrationDisplay.from_estimator(Model(), rows("hard").f, y, kind="binned").figure_


def _drawn(call: Callable[[], Any]) -> Any:
    """Axes of a figure: what is written at them and how much is drawn."""
    import matplotlib.pyplot as plt

    figure = call()
    figure = getattr(figure, "figure", None) or figure
    panels = []
    for ax in figure.axes:
        legend = ax.get_legend()
        labels = [] if legend is None else [text.get_text() for text in legend.get_texts()]
        drawn = {name: len(getattr(ax, name)) for name in ("lines", "collections", "patches")}
        panels.append({"x": ax.get_xlabel(), "y": ax.get_ylabel(), "legend": labels, **drawn})
    plt.close("all")
    return panels


def _pages() -> Iterator[Case]:
    for kind in ("hard", "soft", "weights", "n1"):
        yield f"page/assess/{kind}", partial(_page, partial(measured, "assess", kind, "rows"))
    yield "page/assess/groups", partial(_page, lambda: measured("assess", "n40", "rows", by=groups_of(40, "letters")))
    yield "page/assess/summary", partial(_page, partial(measured, "assess", "hard", "summary"))
    yield "page/compare", partial(_page, lambda: _compared("n40", metrics=("ecce_r", "brier_score")))
    yield "page/assess/notebook", lambda: _read(measured("assess", "n40", "rows")._repr_html_())
    yield "page/compare/notebook", lambda: _read(_compared("n40", metrics=("ecce_r",))._repr_html_())


def _page(make: Callable[[], Any]) -> Any:
    make().report("page.html", title="A <title>")
    return _read(Path("page.html").read_text(encoding="utf-8"))


def _read(page: str) -> dict[str, Any]:
    """The words of a page, its embedded numbers, and how many parts of each kind it has."""
    data = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, flags=re.DOTALL)
    parts = dict(sorted(Counter(re.findall(r"<([a-z0-9]+)", page)).items()))
    words = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    words = html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", words)))
    return {"words": words, "numbers": json.loads(data.group(1)) if data else None, "parts": parts}


# Several classes, recalibration, laws


def _classes() -> Iterator[Case]:
    rng = np.random.default_rng(3)
    proba = np.round(rng.dirichlet([1.0, 2.0, 3.0], 60), 6)
    proba[:, 2] = 1 - proba[:, 0] - proba[:, 1]
    y = rng.integers(0, 3, 60)
    tied = np.tile([[0.4, 0.4, 0.2], [0.25, 0.25, 0.5], [0.2, 0.4, 0.4]], (20, 1))
    names = np.array(["ant", "bee", "cat"])
    for what, table in {"plain": proba, "tied": tied, "float32": proba.astype(np.float32), "list": proba.tolist()}.items():
        yield f"classes/one_vs_rest/{what}", partial(trueness.one_vs_rest, y, table)
        for ties in ("all", "first"):
            yield f"classes/top_label/{what}/{ties}", partial(trueness.top_label, y, table, ties=ties)
            yield f"classes/top_k/{what}/{ties}", partial(trueness.top_k, y, table, 2, ties=ties)
    logits = np.log(proba)
    yield "classes/top_label/logits", partial(trueness.top_label, y, logits, from_logits=True)
    yield "classes/one_vs_rest/logits", partial(trueness.one_vs_rest, y, logits, from_logits=True)
    yield "classes/top_label/names", partial(trueness.top_label, names[y], proba, classes=names)
    yield "classes/one_vs_rest/names", partial(trueness.one_vs_rest, names[y], proba, classes=["ant", "bee", "cat"])
    for library in ("pandas", "polars"):
        yield f"classes/one_vs_rest/{library}", partial(_framed_classes, library, names[y], proba, names)
    yield "classes/top_label/torch", lambda: trueness.top_label(tensor(y), tensor(proba))
    yield "classes/top_k/all", partial(trueness.top_k, y, proba, 3)


def _framed_classes(library: str, y: Any, proba: Any, names: Any) -> Any:
    import pandas as pd
    import polars as pl

    table = {name: proba[:, number] for number, name in enumerate(names.tolist())}
    frame = pd.DataFrame(table) if library == "pandas" else pl.DataFrame(table)
    return [trueness.one_vs_rest(y, frame), trueness.top_label(y, frame, classes=["cat", "ant", "bee"])]


def _recalibration() -> Iterator[Case]:
    x = np.linspace(0, 1, 21)
    for kind in ("hard", "soft", "weights", "ties", "ends", "rare", "n1", "n2", "n40"):
        yield f"recalibrate/{kind}/predict", lambda kind=kind: _fitted(kind).predict(x)
        yield f"recalibrate/{kind}/sample", lambda kind=kind: _fitted(kind).sample(x, rng=4)
        yield f"recalibrate/{kind}/found", lambda kind=kind: [_fitted(kind).bandwidth_, _fitted(kind).smooth_ece_]
    yield "recalibrate/bandwidth", lambda: _fitted("hard", bandwidth=0.1).predict([0.1, 0.5])
    yield "recalibrate/column", lambda: _fitted("hard").predict(x[:, None])
    model = trueness.SmoothRecalibrator
    yield "recalibrate/repr", lambda: [repr(model()), repr(model(0.2)), model(0.2).get_params()]
    yield "recalibrate/set_params", lambda: repr(model().set_params(bandwidth=0.3))
    yield "recalibrate/clone", _cloned


def _cloned() -> Any:
    from sklearn.base import clone

    return repr(clone(trueness.SmoothRecalibrator(0.2)))


def _fitted(kind: str, **options: Any) -> Any:
    return trueness.SmoothRecalibrator(**options).fit(rows(kind).f, rows(kind).y, rows(kind).w)


def _laws() -> Iterator[Case]:
    x = np.concatenate([np.linspace(0, 5, 41), [1e-3, 1.15, 1.5, 8.0, 20.0, 37.0, 40.0, 111.7, 1e4, np.inf, -1.0, np.nan]])
    p = np.array([0, 1e-300, 1e-20, 1e-6, 0.01, 0.025, 0.3, 0.5, 0.7, 0.99, 1 - 1e-12, 1, -0.1, 1.1, np.nan])
    for name in ("max_abs", "range"):
        for function, points in {"sf": x, "cdf": x, "logsf": x, "isf": p}.items():
            yield f"brownian/{name}/{function}", partial(_law, name, function, points)
            yield f"brownian/{name}/{function}/one", partial(_law, name, function, 0.4)
        yield f"brownian/{name}/repr", partial(_law, name, "__repr__")


def _law(name: str, function: str, *x: Any) -> Any:
    return getattr(getattr(trueness.brownian, name), function)(*x)


def _continuity() -> Iterator[Case]:
    for kind in ("soft", "soft-weights", "hard", "matched", "n2"):
        y, f, w = rows(kind)
        yield f"continuity/{kind}", partial(trueness.ece_continuity_gap, y, f, mass=w)
        yield f"continuity/{kind}/rounded", partial(trueness.ece_continuity_gap, y, np.round(f, 1), mass=w)


# Real data


def _real() -> Iterator[Case]:
    for name in (*CLASSIFIERS, *FORECASTERS, *PREDICTORS):
        for metric, variants in VARIANTS.items():
            for options in variants[:2]:
                yield f"real/{name}/{metric}/{said(options)}", partial(_of_real, metric, name, **options)
        yield f"real/{name}/summary", partial(_real_summary, name)
        yield f"real/{name}/test", partial(_of_real, "calibration_test", name, resamples=199, rng=0)
        yield f"real/{name}/curve", partial(_of_real, "reliability_curve", name, rng=0)
        yield f"real/{name}/cumulative", partial(_of_real, "cumulative_curve", name)
    for name in ("imagenet_resnet34", "cifar10_densenet40", "DAFFS", "NOAA", *PREDICTORS):
        yield f"real/{name}/assess", partial(_of_real, "assess", name)
        yield f"real/{name}/interval", partial(_of_real, "confidence_interval", name, rng=0)
    yield "real/recidivism/assess-by", _by_race
    yield "real/recidivism/compare", _predictors


def _of_real(function: str, name: str, **options: Any) -> Any:
    return getattr(trueness, function)(*real(name)[:2], **options)


def _real_summary(name: str) -> Any:
    result = trueness.summarize(*real(name)[:2])
    return {"summary": result, "smooth_ece": trueness.smooth_ece(result), "ecce": trueness.ecce(result)}


def _by_race() -> Any:
    frame = real_table(RECIDIVISM)
    return trueness.assess(frame, outcome="two_year_recid", prediction="logitpredprobs", by="race")


def _predictors() -> Any:
    frame = real_table(RECIDIVISM)
    given = {name: frame[name] for name in PREDICTORS}
    return trueness.compare(frame["two_year_recid"], given, metrics=("smooth_ece", "ecce_r", "brier_score"))
