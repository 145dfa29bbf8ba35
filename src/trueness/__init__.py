"""How close predicted probabilities come to what then happens: calibration, measured exactly."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trueness.errors import TruenessError, TruenessWarning

if TYPE_CHECKING:
    from trueness import brownian
    from trueness.assessment import Assessment, assess
    from trueness.comparison import Comparison, compare
    from trueness.curves.cumulative_curve import cumulative_curve
    from trueness.curves.reliability import reliability_curve
    from trueness.curves.sweep import bin_sweep
    from trueness.engines.arrays.summarize import summarize
    from trueness.engines.files.summarize_files import summarize_files
    from trueness.engines.frames.dispatch import summarize_frame
    from trueness.engines.sql.text import sql
    from trueness.inference.floor import noise_floor
    from trueness.inference.groups import GroupTests, group_tests
    from trueness.inference.intervals import Interval, confidence_interval
    from trueness.inference.outcome import CalibrationTest
    from trueness.inference.significance import calibration_test
    from trueness.metrics.binned import binned_ece, soft_mean_ece
    from trueness.metrics.continuity import ece_continuity_gap
    from trueness.metrics.cumulative import CumulativeError, ecce, ecce_mad, ecce_r
    from trueness.metrics.distance import distance_to_calibration, weak_calibration_error
    from trueness.metrics.logit_smoothed import logit_smoothed_ece
    from trueness.metrics.scores import Decomposition, brier_score, decompose, log_loss
    from trueness.metrics.smooth import smooth_ece, smooth_ece_area
    from trueness.multiclass import one_vs_rest, top_k, top_label
    from trueness.plots import CalibrationDisplay, plot_compare, plot_pair
    from trueness.recalibrate import SmoothRecalibrator
    from trueness.summary.record import Record
    from trueness.summary.summary import Summary

__version__ = "0.1.0"

__all__ = [
    "Assessment",
    "CalibrationDisplay",
    "CalibrationTest",
    "Comparison",
    "CumulativeError",
    "Decomposition",
    "GroupTests",
    "Interval",
    "Record",
    "SmoothRecalibrator",
    "Summary",
    "TruenessError",
    "TruenessWarning",
    "assess",
    "bin_sweep",
    "binned_ece",
    "brier_score",
    "brownian",
    "calibration_test",
    "compare",
    "confidence_interval",
    "cumulative_curve",
    "decompose",
    "distance_to_calibration",
    "ecce",
    "ecce_mad",
    "ecce_r",
    "ece_continuity_gap",
    "group_tests",
    "log_loss",
    "logit_smoothed_ece",
    "noise_floor",
    "one_vs_rest",
    "plot_compare",
    "plot_pair",
    "reliability_curve",
    "smooth_ece",
    "smooth_ece_area",
    "soft_mean_ece",
    "sql",
    "summarize",
    "summarize_files",
    "summarize_frame",
    "top_k",
    "top_label",
    "weak_calibration_error",
]

# Where each name lives; a module is loaded when a name of it is first asked for, so that importing the package is quick.
_HOMES = {
    "assessment": ("Assessment", "assess"),
    "comparison": ("Comparison", "compare"),
    "curves.cumulative_curve": ("cumulative_curve",),
    "curves.reliability": ("reliability_curve",),
    "curves.sweep": ("bin_sweep",),
    "engines.arrays.summarize": ("summarize",),
    "engines.files.summarize_files": ("summarize_files",),
    "engines.frames.dispatch": ("summarize_frame",),
    "engines.sql.text": ("sql",),
    "inference.groups": ("GroupTests", "group_tests"),
    "inference.intervals": ("Interval", "confidence_interval"),
    "inference.floor": ("noise_floor",),
    "inference.outcome": ("CalibrationTest",),
    "inference.significance": ("calibration_test",),
    "metrics.binned": ("binned_ece", "soft_mean_ece"),
    "metrics.continuity": ("ece_continuity_gap",),
    "metrics.cumulative": ("CumulativeError", "ecce", "ecce_mad", "ecce_r"),
    "metrics.distance": ("distance_to_calibration", "weak_calibration_error"),
    "metrics.logit_smoothed": ("logit_smoothed_ece",),
    "metrics.scores": ("Decomposition", "brier_score", "decompose", "log_loss"),
    "metrics.smooth": ("smooth_ece", "smooth_ece_area"),
    "multiclass": ("one_vs_rest", "top_k", "top_label"),
    "plots": ("CalibrationDisplay", "plot_compare", "plot_pair"),
    "recalibrate": ("SmoothRecalibrator",),
    "summary.record": ("Record",),
    "summary.summary": ("Summary",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
_MODULES = ("brownian",)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"trueness.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'trueness' has no attribute {name!r}")
    value = getattr(import_module(f"trueness.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__", "__doc__"})
