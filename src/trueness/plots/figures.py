"""Figures of several axes: the pair, and several predictors together."""

from collections.abc import Mapping
from typing import Any

from trueness._types import Rng, Values
from trueness._values import show
from trueness.comparison import read_predictors
from trueness.curves.cumulative_curve import CumulativeCurve, cumulative_curve
from trueness.curves.local_curve import LocalCurve, local_curve, local_curves, window_of
from trueness.data.row_sample import RowSample
from trueness.data.sample import Given, as_sample
from trueness.errors import InputError
from trueness.inputs.arguments import Reading
from trueness.plots.draw import draw_cumulative, draw_local
from trueness.plots.style import CYCLE, LINES, legend, legend_name


def plot_pair(
    y_true: Given,
    y_prob: Values | None = None,
    *,
    sample_weight: Values | None = None,
    rng: Rng = 0,
    level: float = 0.95,
    figure: Any = None,
) -> Any:
    """The local reliability curve and the cumulative plot side by side; returns the Figure.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays.
    y_prob : array-like
        Predicted probabilities.
    sample_weight : array-like, optional
        Weights ≥ 0.
    rng : None, int or numpy Generator
        Randomness of the consistency band.
    level : float
        Level of the bands, a fraction.
    figure : matplotlib Figure, optional
        Where to draw.

    Returns
    -------
    matplotlib Figure
    """
    sample = as_sample(y_true, y_prob, sample_weight)
    return draw_pair(local_curve(sample, rng=rng, level=level), cumulative_curve(sample), figure=figure)


def draw_pair(
    local: LocalCurve,
    cumulative: CumulativeCurve,
    *,
    figure: Any = None,
    labels: tuple[str | None, str | None] = (None, None),
) -> Any:
    """Two curves side by side."""
    figure = _figure(figure)
    left, right = figure.subplots(1, 2)
    draw_local(local, left, label=labels[0])
    draw_cumulative(cumulative, right, label=labels[1])
    return figure


def plot_compare(
    y_true: Values, predictions: Mapping[str, Values], *, sample_weight: Values | None = None, figure: Any = None
) -> Any:
    """Local and cumulative curves of several predictors on the same rows; returns the Figure.

    Parameters
    ----------
    y_true : array-like
        Outcomes in {0, 1} or soft labels in [0, 1].
    predictions : mapping of str to array-like
        Predicted probabilities by name; at most six can be told apart.
    sample_weight : array-like, optional
        Weights ≥ 0.
    figure : matplotlib Figure, optional
        Where to draw.

    Returns
    -------
    matplotlib Figure
    """
    return draw_compare(read_predictors(y_true, predictions, sample_weight, Reading(), "plot_compare"), figure=figure)


def draw_compare(predictions: Mapping[str, RowSample], *, figure: Any = None) -> Any:
    """Curves of several predictors whose rows are read."""
    if not 1 <= len(predictions) <= len(CYCLE):
        raise InputError(f"predictions: {len(predictions)} given. Pass one to {len(CYCLE)}: more could not be told apart.")
    figure = _figure(figure)
    left, right = figure.subplots(1, 2)
    curves = local_curves(list(predictions.values()))
    window = window_of(curves)
    for (name, data), local, color, style in zip(predictions.items(), curves, CYCLE, LINES, strict=False):
        shown = legend_name(name)
        label = f"{shown}: SmoothECE {local.smooth_ece:.3g}"
        draw_local(local, left, color=color, bands=False, label=label, style=style, window=window)
        curve = cumulative_curve(data)
        draw_cumulative(curve, right, color=color, worst=False, label=f"{shown}: ECCE-R {curve.ecce.range:.3g}")
        right.lines[-1].set_linestyle(style)
    for ax in (left, right):
        _once(ax)
        legend(ax)
    right.set_xticks(right.get_xticks(), [f"{tick:.1f}" for tick in right.get_xticks()])
    right.set_xlabel("share of rows, by score")
    return figure


def _once(ax: Any) -> None:
    """Keep the first of parts that every predictor drew, such as the noise triangle."""
    seen = set()
    for part in [*ax.patches, *ax.lines]:
        label = part.get_label()
        if label in seen and (label.startswith("_") or label.startswith("noise")):
            part.remove()
        seen.add(label)


def _figure(figure: Any) -> Any:
    if figure is not None:
        if not hasattr(figure, "add_subplot"):
            raise InputError(f"figure: {show(figure)} is not a figure. Pass for example that of plt.figure().")
        return figure
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(9.6, 4.6), layout="constrained")
