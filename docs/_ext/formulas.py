"""Formulas drawn when the pages are built, in the colour of the text around them: nothing to load, the same everywhere."""

from functools import cache
from html import escape
from typing import Any

import ziamath
from docutils import nodes
from sphinx.application import Sphinx

ziamath.config.svg2 = False  # glyphs as paths: no ids that could clash on a page
_SIZE = 17


@cache
def drawn(tex: str, inline: bool) -> str:
    """A formula as SVG; its source is what a screen reader says."""
    formula = ziamath.Latex(tex, size=_SIZE, color="currentColor", inline=inline)
    spoken = escape(" ".join(tex.split()), quote=True)
    lowered = f"{formula.getyofst():.2f}px" if inline else "baseline"
    return formula.svg().replace(
        "<svg ", f'<svg role="img" aria-label="{spoken}" style="vertical-align: {lowered}" ', 1
    )


def _inline(writer: Any, node: nodes.Element) -> None:
    writer.body.append(f'<span class="formula">{drawn(node.astext(), True)}</span>')
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.Element) -> None:
    for part in filter(str.strip, node.astext().split("\n\n")):
        writer.body.append(f'<div class="formula">{drawn(part, False)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register."""
    app.add_html_math_renderer("drawn", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
