"""How close predicted probabilities come to what then happens: calibration, measured exactly."""

from trueness.engines.arrays import summarize
from trueness.errors import TruenessError, TruenessWarning
from trueness.metrics.binned import binned_ece, soft_mean_ece
from trueness.metrics.continuity import ece_continuity_gap
from trueness.metrics.cumulative import CumulativeError, ecce, ecce_mad, ecce_r
from trueness.metrics.distance import distance_to_calibration, weak_calibration_error
from trueness.metrics.logit_smoothed import logit_smoothed_ece
from trueness.metrics.scores import Decomposition, brier_score, decompose, log_loss
from trueness.metrics.smooth import smooth_ece, smooth_ece_area
from trueness.multiclass import one_vs_rest, top_k, top_label
from trueness.summary import Summary

__version__ = "0.1.0"

__all__ = [
    "CumulativeError",
    "Decomposition",
    "Summary",
    "TruenessError",
    "TruenessWarning",
    "binned_ece",
    "brier_score",
    "decompose",
    "distance_to_calibration",
    "ecce",
    "ecce_mad",
    "ecce_r",
    "ece_continuity_gap",
    "log_loss",
    "logit_smoothed_ece",
    "one_vs_rest",
    "smooth_ece",
    "smooth_ece_area",
    "soft_mean_ece",
    "summarize",
    "top_k",
    "top_label",
    "weak_calibration_error",
]
