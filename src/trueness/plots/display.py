"""A display in scikit-learn's manner."""

from typing import Any

import numpy as np

from trueness.curves.reliability import reliability_curve
from trueness.errors import InputError
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
        cls, y_true: Any, y_prob: Any, *, sample_weight: Any = None, ax: Any = None, kind: str = "smooth", **options: Any
    ) -> "CalibrationDisplay":
        """Draw outcomes against predictions; `kind` and options as for `reliability_curve`."""
        return cls(reliability_curve(y_true, y_prob, kind=kind, sample_weight=sample_weight, **options)).plot(ax)  # type: ignore[arg-type]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, ax: Any = None, kind: str = "smooth", **options: Any
    ) -> "CalibrationDisplay":
        """Draw outcomes against `estimator.predict_proba(X)` of its second class."""
        proba = estimator.predict_proba(X)
        if proba.ndim != 2 or proba.shape[1] != 2:
            raise InputError(f"estimator: predict_proba gives shape {proba.shape}; two classes are wanted. Use one_vs_rest.")
        positive = estimator.classes_[1]
        return cls.from_predictions(
            np.asarray(y) == positive, proba[:, 1], sample_weight=sample_weight, ax=ax, kind=kind, **options
        )
