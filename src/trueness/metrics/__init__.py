"""One file a family of measures, each ending in its registry entries; a new family is listed here."""

from trueness.metrics import binned, smooth  # isort: skip
from trueness.metrics import logit_smoothed, cumulative, distance, scores, continuity  # isort: skip

__all__ = ["binned", "continuity", "cumulative", "distance", "logit_smoothed", "scores", "smooth"]
