"""Tests of calibration that other installed packages offer; those that resample n × n matrices are left out for their cost."""

import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

# relplot, netcal, calibre and torchmetrics offer no test of calibration.
NAMES = ("probcal: Cox, likelihood ratio", "probcal: Spiegelhalter", "probcal: Hosmer-Lemeshow", "probcal: SKCE, linear")


def tests() -> dict[str, Callable[[Any, Any], float]]:
    """p-value of outcomes and predictions, by name; nothing where the package is missing."""
    if importlib.util.find_spec("probcal") is None:
        return {}
    from probcal.metrics.binned import hosmer_lemeshow
    from probcal.metrics.kernel import skce_test
    from probcal.metrics.regression import calibration_test
    from probcal.metrics.smooth import spiegelhalter_z

    functions: tuple[Callable[[Any, Any], Any], ...] = (
        calibration_test,
        spiegelhalter_z,
        hosmer_lemeshow,
        lambda y, f: skce_test(y, f, method="asymptotic"),
    )
    return {name: _quiet(function) for name, function in zip(NAMES, functions, strict=True)}


def _quiet(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], float]:
    def pvalue(y: Any, f: Any) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return float(function(y, f).p_value)
            except (ValueError, ArithmeticError):  # one class alone, for example: no rejection
                return 1.0

    return pvalue
