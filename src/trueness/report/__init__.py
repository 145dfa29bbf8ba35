"""An assessment as one HTML file that needs nothing else."""

from trueness.report.html import notebook, render, write_report

__all__ = ["notebook", "render", "write_report"]
