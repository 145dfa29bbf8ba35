"""Predictions mended by the smooth reliability curve (Błasiok & Nakkiran 2024, theorem 17), in scikit-learn's manner."""

from typing import Any, Self

import numpy as np

from trueness._types import Floats, Rng, Values
from trueness.curves.smooth_curve import smooth_curve
from trueness.data.row_sample import RowSample
from trueness.errors import InputError
from trueness.inputs.rows import read_predictions, read_rows
from trueness.options import check_bandwidth, check_seed
from trueness.smoothing.cosine import smoothed_nodes
from trueness.smoothing.kernel import WIDEST

_STEPS = 4096


class SmoothRecalibrator:
    r"""Recalibrate predictions by what happened near them.

    With σ the bandwidth of `smooth_ece`, :math:`\hat y_\sigma` the smooth reliability curve of the fitted rows, and π the
    reflection at 0 and 1:

    .. math:: \kappa(f) = \hat y_\sigma\bigl(\pi(f + \sigma\eta)\bigr), \quad \eta \sim N(0, 1)

    is calibrated for the fitted distribution and moves predictions by at most 2·smECE on average (theorem 17): `sample` draws
    it. `predict` returns its mean over η, which is deterministic and outside the theorem.

    Parameters
    ----------
    bandwidth : float, optional
        σ; by default the fixed point of `smooth_ece`, and no less than 1e-4.

    Examples
    --------
    >>> from trueness.demo import make_demo
    >>> y_true, y_prob, _ = make_demo()
    >>> model = SmoothRecalibrator().fit(y_prob, y_true)
    >>> [round(float(p), 2) for p in model.predict([0.3, 0.75])]
    [0.32, 0.66]
    """

    def __init__(self, bandwidth: float | None = None) -> None:
        self.bandwidth = bandwidth

    def fit(self, y_prob: Values, y_true: Values, sample_weight: Values | None = None) -> Self:
        """Learn the smooth curve from predictions and outcomes; note the order, which is scikit-learn's (X, y)."""
        bandwidth = None if self.bandwidth is None else check_bandwidth(self.bandwidth, largest=WIDEST)
        data = RowSample(read_rows(y_true, y_prob, sample_weight))
        curve = smooth_curve(data, bandwidth=bandwidth)
        self.bandwidth_ = curve.bandwidth
        self.smooth_ece_ = curve.smooth_ece
        self.n_features_in_ = 1
        defined = ~np.isnan(curve.outcome)
        self._t = np.arange(_STEPS + 1) / _STEPS
        self._curve = np.interp(self._t, curve.score[defined], curve.outcome[defined])
        self._mean = np.clip(smoothed_nodes(self._curve, self.bandwidth_), 0.0, 1.0)
        return self

    def predict(self, y_prob: Values) -> Floats:
        """The mean of the recalibrated prediction: an array in the order of the rows, whatever they were kept in."""
        return np.interp(self._checked(y_prob), self._t, self._mean)

    def sample(self, y_prob: Values, *, rng: Rng = None) -> Floats:
        """The randomised prediction of the theorem; pass a seed for the same draw again."""
        f = self._checked(y_prob)
        noise = np.random.default_rng(check_seed(rng)).standard_normal(len(f))
        return np.interp(_reflected(f + self.bandwidth_ * noise), self._t, self._curve)

    def _checked(self, y_prob: Values) -> Floats:
        if not hasattr(self, "bandwidth_"):
            raise _not_fitted()
        return read_predictions(y_prob)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name."""
        return {"bandwidth": self.bandwidth}

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name."""
        for name, value in params.items():
            if name != "bandwidth":
                raise InputError(f"{name}: SmoothRecalibrator has no such parameter; it takes bandwidth.")
            self.bandwidth = value
        return self

    def __repr__(self) -> str:
        return f"SmoothRecalibrator({'' if self.bandwidth is None else f'bandwidth={self.bandwidth!r}'})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        inputs = InputTags(one_d_array=True, two_d_array=False)
        return Tags(
            estimator_type="regressor", target_tags=TargetTags(required=True), input_tags=inputs, regressor_tags=RegressorTags()
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "bandwidth_")


def _not_fitted() -> Exception:
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return InputError("this SmoothRecalibrator is not fitted yet. Call fit(y_prob, y_true) first.")
    error: Exception = NotFittedError("this SmoothRecalibrator is not fitted yet. Call fit(y_prob, y_true) first.")
    return error


def _reflected(x: Floats) -> Floats:
    """Back into [0, 1] by reflection at both ends."""
    x = np.abs(x) % 2.0
    return np.asarray(np.where(x > 1, 2 - x, x))
