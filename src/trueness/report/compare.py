"""A comparison as HTML: a page, or a notebook's cell."""

import os
from html import escape
from typing import Any

from trueness._atomic import write_atomically
from trueness._text import clean
from trueness.comparison import Comparison
from trueness.curves.local_curve import LocalCurve, local_curves
from trueness.options import check_path, check_text
from trueness.report.html import part
from trueness.report.svg import dot, several_svg

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9")
DASHES = ("none", "7 4", "8 3 2 3", "2 3", "12 3 3 3", "1 2")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def write_comparison(comparison: Comparison, path: str | os.PathLike[str], *, title: str = "Comparison") -> None:
    """Write the page; the file appears whole or not at all."""
    write_atomically(check_path("path", path), render_comparison(comparison, title=title).encode("utf-8"))


def render_comparison(comparison: Comparison, *, title: str = "Comparison") -> str:
    """The page as text; it has no script."""
    name = escape(clean(check_text("title", title), 200))
    head = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}</title><style>{part('page.css')}</style></head>"
    )
    verdict = f'<p class="verdict">{escape(comparison.verdict)}</p>'
    settings = [
        ("rows used", str(comparison.n)),
        ("level of intervals", f"{comparison.level:g}"),
        ("seed", str(comparison.seed)),
    ]
    settings += [("note", note) for note in comparison.notes]
    method = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in settings)
    body = f"<h1>{name}</h1>{verdict}{_tables(comparison)}{_diagram(comparison)}<h2>How this was computed</h2><dl>{method}</dl>"
    return f"{head}<body><main>{body}</main></body></html>\n"


def notebook_comparison(comparison: Comparison) -> str:
    """Verdict, tables and diagram for a notebook's cell."""
    verdict = f"<p><strong>{escape(comparison.verdict)}</strong></p>"
    return (
        f'<div class="trueness"><style>{part("notebook.css")}</style>{verdict}{_tables(comparison)}{_diagram(comparison)}</div>'
    )


def _tables(comparison: Comparison) -> str:
    tables = [*comparison.value_tables(), *comparison.difference_tables()]
    return "".join(_table(head, rows, title) for title, head, rows in tables)


def _table(head: Any, rows: Any, caption: str) -> str:
    names = "".join(f'<th scope="col"{_right(k, head)}>{escape(name)}</th>' for k, name in enumerate(head))
    lines = []
    for row in rows:
        cells = [f'<td class="number">{escape(cell)}</td>' for cell in row]
        cells[_named(head)] = f'<th scope="row">{escape(row[_named(head)])}</th>'
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="scroll"><table><caption>{escape(caption)}</caption><thead><tr>{names}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _named(head: Any) -> int:
    """The column that names a row."""
    return 1 if head[0] == "rank" else 0


def _right(column: int, head: Any) -> str:
    return "" if column == _named(head) else ' class="number"'


def _stroke(colour: str, dash: str) -> str:
    return f'fill="none" stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dash}"'


def _sample(curve: LocalCurve, colour: str, dash: str) -> str:
    """How a predictor is drawn, for the legend."""
    return dot("17 5", colour) if curve.dots else f'<path d="M1 5H33" {_stroke(colour, dash)}/>'


def _diagram(comparison: Comparison) -> str:
    """Curves of as many predictors as can be told apart."""
    shown = dict(list(comparison.predictions.items())[: len(COLOURS)])
    made = local_curves(list(shown.values()), level=comparison.level, rng=comparison.seed)
    curves = dict(zip(shown, made, strict=True))
    lines = list(zip(curves.values(), COLOURS, DASHES, strict=False))
    legend = "".join(
        f'<li><svg width="34" height="10" aria-hidden="true">{_sample(*line)}</svg> {escape(clean(name))}</li>'
        for name, line in zip(curves, lines, strict=False)
    )
    more = len(comparison.predictions) - len(shown)
    rest = f" {more} more are not drawn." if more else ""
    return (
        f'<h2>Where</h2><div class="pair"><figure class="one">{several_svg(lines)}<ul class="legend">{legend}</ul>'
        f"<figcaption>What happened near each prediction.{rest}</figcaption></figure></div>"
    )
