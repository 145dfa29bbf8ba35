"""A display in scikit-learn's manner."""

from typing import Any

import numpy as np

from trueness._types import Values
from trueness._values import native, show
from trueness.curves.reliability import reliability_curve
from trueness.data.row_sample import RowSample
from trueness.data.sample import Given, copies
from trueness.errors import InputError
from trueness.inputs.align import aligned
from trueness.inputs.arguments import Reading
from trueness.inputs.containers import as_column
from trueness.inputs.labels import Observed
from trueness.inputs.rows import NAMES, read_rows
from trueness.plots.draw import draw


class CalibrationDisplay:
    """A reliability curve and where it was drawn: `curve`, `ax_` and `figure_`.

    Make one with `from_predictions` or `from_estimator`.
    """

    def __init__(self, curve: Any) -> None:
        self.curve = curve

    def plot(self, ax: Any = None) -> "CalibrationDisplay":
        """Draw the curve."""
        self.ax_ = draw(self.curve, ax)
        self.figure_ = self.ax_.figure
        return self

    @classmethod
    def from_predictions(
        cls,
        y_true: Given,
        y_prob: Values | None,
        *,
        sample_weight: Values | None = None,
        ax: Any = None,
        kind: str = "local",
        **options: Any,
    ) -> "CalibrationDisplay":
        """Draw outcomes against predictions; `kind` and options as for `reliability_curve`."""
        return cls(reliability_curve(y_true, y_prob, kind=kind, sample_weight=sample_weight, **options)).plot(ax)  # type: ignore[arg-type]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Values,
        *,
        sample_weight: Values | None = None,
        ax: Any = None,
        kind: str = "local",
        **options: Any,
    ) -> "CalibrationDisplay":
        """Draw outcomes against `estimator.predict_proba(X)` of its second class."""
        if not hasattr(estimator, "predict_proba"):
            raise InputError(f"estimator: a {type(estimator).__name__} has no predict_proba. Pass a fitted classifier.")
        (_, labels), _ = aligned([X, y], ("X", "y"), None)
        proba = np.asarray(estimator.predict_proba(X))
        if proba.ndim != 2 or proba.shape[1] != 2:
            raise InputError(f"estimator: predict_proba gives shape {proba.shape}; two classes are wanted. Use one_vs_rest.")
        labels, looked_at = copies(labels, 2)
        _require_classes(looked_at, list(estimator.classes_))
        event = Reading(pos_label=native(estimator.classes_[1]))
        rows = read_rows(labels, proba[:, 1], sample_weight, event, names=("y", *NAMES[1:]))
        return cls.from_predictions(RowSample(rows), None, ax=ax, kind=kind, **options)


def _require_classes(labels: Any, classes: list[Any]) -> None:
    """Labels that the estimator does not know would count as the other class."""
    column = as_column(labels, "y")
    unknown = [label for label in Observed().add(column).counts if label not in classes]
    if unknown:
        known = ", ".join(map(show, classes))
        raise InputError(f"y: {show(unknown[0])} is not a class of the estimator, which are {known}. Pass labels among these.")
