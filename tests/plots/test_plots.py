"""Drawings: what is drawn is what the curve holds, and nothing else changes."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

import trueness
from trueness import (
    CalibrationDisplay,
    TruenessError,
    bin_sweep,
    compare,
    cumulative_curve,
    plot_compare,
    plot_pair,
    reliability_curve,
)
from trueness.demo import make_demo


@pytest.fixture(autouse=True)
def _closed():
    mpl.use("Agg")
    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before
    plt.close("all")


def data(kind: str):
    rng = np.random.default_rng(2)
    f = {
        "plain": rng.random(300),
        "ends": rng.choice([0.0, 1.0], 300),
        "ten": rng.integers(1, 10, 300) / 10,
        "constant": np.full(300, 0.3),
        "few": rng.random(50),
    }.get(kind, rng.random(300))
    y = (rng.random(len(f)) < f).astype(float)
    if kind == "soft":
        y = np.clip(f + rng.normal(0, 0.05, len(f)), 0, 1)
    return (np.ones(len(f)), f) if kind == "one class" else (y, f)


KINDS = ("plain", "ends", "ten", "constant", "few", "soft", "one class")


def drawn(ax, label):
    return next(line for line in ax.lines if line.get_label().startswith(label))


@pytest.mark.parametrize("kind", ["plain", "few", "soft", "one class"])
def test_local_diagram_shows_the_curve_where_rows_are(kind) -> None:
    curve = reliability_curve(*data(kind))
    ax = curve.plot()
    lines = next(c for c in ax.collections if isinstance(c, LineCollection))
    segments = np.array(lines.get_segments())
    both = ~np.isnan(curve.outcome[:-1]) & ~np.isnan(curve.outcome[1:])
    np.testing.assert_array_equal(segments[:, 0], np.stack([curve.score[:-1][both], curve.outcome[:-1][both]], axis=1))
    np.testing.assert_array_equal(segments[:, 1], np.stack([curve.score[1:][both], curve.outcome[1:][both]], axis=1))
    widths, rows = np.array(lines.get_linewidths()), (curve.effective[:-1] + curve.effective[1:])[both]
    assert np.all((widths >= 0.5) & (widths <= 3.5))
    assert widths.argmax() == rows.argmax()
    assert np.all(np.diff(lines.get_colors()[rows.argsort(), 0]) <= 1e-12)  # from white towards blue
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"SmoothECE {curve.smooth_ece:.3g}" in labels
    for label in ("if perfect (95 %)", "if perfect (95 %, everywhere)"):
        assert (label in labels) == (kind != "soft")


@pytest.mark.parametrize("kind", ["ends", "ten", "constant"])
def test_few_scores_are_dots_with_their_intervals(kind) -> None:
    curve = reliability_curve(*data(kind))
    ax = curve.plot()
    points = next(c for c in ax.containers if hasattr(c, "has_yerr"))
    np.testing.assert_array_equal(points[0].get_xdata(), curve.score)
    np.testing.assert_array_equal(points[0].get_ydata(), curve.outcome)
    bars = np.array([bar[:, 1] for bar in points[2][0].get_segments()])
    np.testing.assert_allclose(bars, np.stack([curve.confidence_low, curve.confidence_high], axis=1), atol=1e-12)


def test_local_diagram_shows_its_bands_under_their_names() -> None:
    for band in ("pointwise", "simultaneous"):
        curve = reliability_curve(*data("plain"), band=band)
        bands = {each.get_label(): each.get_paths()[0].vertices for each in curve.plot().collections}
        wide = {"if perfect (95 %, everywhere)": (curve.simultaneous_low, curve.simultaneous_high)}
        if band == "pointwise":
            wide["if perfect (95 %)"] = curve.consistency_low, curve.consistency_high
        name = "confidence (95 %)" if band == "pointwise" else "confidence (95 %, everywhere)"
        for label, limits in {**wide, name: (curve.confidence_low, curve.confidence_high)}.items():
            ends = set(map(tuple, bands[label]))
            seen = ~np.isnan(limits[0])
            assert all(set(zip(curve.score[seen], limit[seen], strict=True)) <= ends for limit in limits)


def test_axes_go_as_far_as_the_scores_do() -> None:
    rng = np.random.default_rng(0)
    f = rng.beta(2, 200, 3000)
    curve = reliability_curve((rng.random(3000) < f).astype(int), f)
    ax = curve.plot()
    low, high = curve.window
    assert low == 0
    assert np.nanmax(curve.score[~np.isnan(curve.outcome)]) < high < 0.2
    assert ax.get_xlim() == ax.get_ylim() == pytest.approx((-0.02 * high, 1.02 * high))
    assert 4 <= len(ax.get_xticks()) <= 8
    labels = [label.get_text() for label in cumulative_curve((f > 0.02), f).plot().get_xticklabels()]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("kind", KINDS)
def test_smooth_diagram_shows_the_curve(kind) -> None:
    curve = reliability_curve(*data(kind), kind="smooth")
    ax = curve.plot()
    lines = next(c for c in ax.collections if isinstance(c, LineCollection))
    segments = np.array(lines.get_segments())
    seen = ~np.isnan(curve.outcome)
    both = seen[:-1] & seen[1:]
    np.testing.assert_array_equal(segments[:, 0], np.stack([curve.score[:-1][both], curve.outcome[:-1][both]], axis=1))
    np.testing.assert_array_equal(segments[:, 1], np.stack([curve.score[1:][both], curve.outcome[1:][both]], axis=1))
    widths = np.array(lines.get_linewidths())
    assert np.all((widths >= 0.5) & (widths <= 3.5))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"SmoothECE {curve.smooth_ece:.3g}" in labels
    assert ("if perfect (95 %)" in labels) == (kind != "soft")


def test_smooth_diagram_shows_both_bands_under_their_names() -> None:
    curve = reliability_curve(*data("plain"), kind="smooth")
    bands = {each.get_label(): each.get_paths()[0].vertices for each in curve.plot().collections}
    for label, low, high in (
        ("if perfect (95 %)", curve.consistency_low, curve.consistency_high),
        ("confidence (95 %)", curve.confidence_low, curve.confidence_high),
    ):
        ends = set(map(tuple, bands[label]))
        for limit in (low, high):
            assert set(zip(curve.score, limit, strict=True)) <= ends


@pytest.mark.parametrize("kind", KINDS)
def test_other_diagrams_show_their_curves(kind) -> None:
    y, f = data(kind)
    binned = reliability_curve(y, f, kind="binned")
    points = next(c for c in binned.plot().containers if hasattr(c, "has_yerr"))[0]
    held = binned.rows > 0
    np.testing.assert_array_equal(points.get_xdata(), binned.prediction[held])
    np.testing.assert_array_equal(points.get_ydata(), binned.outcome[held])
    isotonic = reliability_curve(y, f, kind="isotonic")
    np.testing.assert_array_equal(drawn(isotonic.plot(), "isotonic").get_ydata(), isotonic.outcome)
    cumulative = cumulative_curve(y, f)
    line = drawn(cumulative.plot(), "ECCE-R")
    np.testing.assert_array_equal(line.get_xdata(), cumulative.share)
    np.testing.assert_array_equal(line.get_ydata(), cumulative.difference)


def test_the_worst_interval_is_marked_where_it_is() -> None:
    y, f, _ = make_demo()
    curve = cumulative_curve(y, f)
    ax = curve.plot()
    span = next(patch for patch in ax.patches if "too high" in patch.get_label())
    low, high = span.get_x(), span.get_x() + span.get_width()
    assert low == pytest.approx(np.mean(f <= curve.ecce.worst.low), abs=1e-9)
    assert high == pytest.approx(np.mean(f <= curve.ecce.worst.high), abs=1e-9)


def test_pair_sweep_and_comparison() -> None:
    y, f, truth = make_demo(2000)
    assert len(plot_pair(y, f).axes) == 2
    ax = bin_sweep(y, f).plot()
    np.testing.assert_array_equal(drawn(ax, "binned ECE").get_ydata(), bin_sweep(y, f).binned_ece)
    figure = plot_compare(y, {"model": f, "truth": truth})
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == [
        f"model: SmoothECE {trueness.smooth_ece(y, f):.3g}",
        f"truth: SmoothECE {trueness.smooth_ece(y, truth):.3g}",
    ]
    assert sum(label.get_text().startswith("noise") for label in figure.axes[1].get_legend().get_texts()) == 1
    with pytest.raises(TruenessError, match="told apart"):
        plot_compare(y, {str(k): f for k in range(7)})


NAMES = {
    "_hidden": "_hidden",
    "$x^$": "$x^$",
    "50 % of $5 and $6": "50 % of $5 and $6",
    "a\ud800b": "a\\ud800b",
    "two\nlines": "two\\nlines",
    "n" * 150 + "m" * 150: "nnnnnnnnnnnn…mmmmmmmmmmm",
}


@pytest.mark.parametrize("way", ["plot_compare", "Comparison.plot"])
def test_names_are_shown_as_they_are(way, tmp_path) -> None:
    y, f, _ = make_demo(500)
    predictions = {name: f ** (1 + k / 10) for k, name in enumerate(NAMES)}
    figure = plot_compare(y, predictions) if way == "plot_compare" else compare(y, predictions, metrics=["brier_score"]).plot()
    for ax in figure.axes:
        texts = [text for text in ax.get_legend().get_texts() if not text.get_text().startswith("noise")]
        assert [text.get_text().strip().rpartition(": ")[0] for text in texts] == list(NAMES.values())
        assert not any(text.get_parse_math() for text in texts)
    figure.savefig(tmp_path / "compare.svg")  # draws every letter, as text that can be read again
    figure.canvas.draw()
    for ax in figure.axes:
        box = ax.get_legend().get_window_extent()
        assert box.width < 1.1 * ax.get_window_extent().width


def test_predictors_need_names_of_their_own() -> None:
    y, f = data("few")
    with pytest.raises(TruenessError, match=r"predictions: two of the names 1, '1' print the same"):
        plot_compare(y, {1: f, "1": f**2})
    with pytest.raises(
        TruenessError, match=r"predictions: a list does not name its predictors\. Pass y_true and \{name: y_prob\}"
    ):
        plot_compare(y, [f, f**2])
    with pytest.raises(TruenessError, match=r"predictions\['two.+lines'\]: 50 of 50 values are outside"):
        plot_compare(y, {"two\nlines": f + 2})


def test_given_axes_are_used_and_nothing_is_shown() -> None:
    y, f = data("plain")
    figure, ax = plt.subplots()
    assert reliability_curve(y, f).plot(ax) is ax
    assert plt.get_fignums() == [figure.number]


def test_dark_styles_stay_legible() -> None:
    with plt.style.context("dark_background"):
        ax = reliability_curve(*data("plain")).plot()
        assert mpl.colors.to_rgb(drawn(ax, "_diagonal").get_color()) == (1.0, 1.0, 1.0)


def test_display_in_the_manner_of_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    y = np.where(rng.random(300) < 1 / (1 + np.exp(-x[:, 0])), "yes", "no")
    model = LogisticRegression().fit(x, y)
    display = CalibrationDisplay.from_estimator(model, x, y, kind="binned", bins=5)
    direct = CalibrationDisplay.from_predictions(y == "yes", model.predict_proba(x)[:, 1], kind="binned", bins=5)
    np.testing.assert_array_equal(display.curve.outcome, direct.curve.outcome)
    assert display.figure_ is display.ax_.figure
    masked = np.ma.array(y, mask=np.arange(300) == 7)
    for labels in (masked, pd.Series(y).where(np.arange(300) != 7)):
        with pytest.raises(TruenessError, match=r"y: 1 of 300 values is missing or not finite \(first: row 7"):
            CalibrationDisplay.from_estimator(model, x, labels, kind="binned")
    turned = pd.Series(y).sample(frac=1, random_state=0)
    with pytest.raises(TruenessError, match=r"y: \d+ of 300 index labels are not in the order of X"):
        CalibrationDisplay.from_estimator(model, pd.DataFrame(x), turned, kind="binned")
    three = LogisticRegression().fit(x, rng.integers(0, 3, 300))
    with pytest.raises(TruenessError, match="two classes"):
        CalibrationDisplay.from_estimator(three, x, y)
