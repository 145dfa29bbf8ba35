"""One HTML file that needs nothing else: an assessment (``html``) or a comparison (``compare``), with its diagrams (``svg``)
and what each column means (``words``).
"""

from trueness.report.compare import notebook_comparison, render_comparison, write_comparison
from trueness.report.html import notebook, render, write_report

__all__ = ["notebook", "notebook_comparison", "render", "render_comparison", "write_comparison", "write_report"]
