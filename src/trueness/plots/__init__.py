"""Curves drawn with matplotlib: nothing is computed here, nothing global is changed, nothing shown or saved."""

from trueness.plots.display import CalibrationDisplay
from trueness.plots.draw import draw
from trueness.plots.figures import draw_compare, draw_pair, plot_compare, plot_pair

__all__ = ["CalibrationDisplay", "draw", "draw_compare", "draw_pair", "plot_compare", "plot_pair"]
