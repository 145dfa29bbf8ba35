"""An assessment as a page of text."""

import textwrap
from collections.abc import Sequence
from typing import Any

_GROUPS = 12


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned to the left, a rule under the head.

    Examples
    --------
    >>> print(table(("metric", "value"), [("ecce_r", "0.024")]))
    metric  value
    ------  -----
    ecce_r  0.024
    """
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)


def page(found: Any) -> str:
    """Verdict, table, worst range, groups and notes, at most 100 columns wide."""
    head = ("metric", "value", f"{100 * found.level:.4g} % interval", "noise floor", "p")
    parts = [
        textwrap.fill(found.verdict, width=100),
        table(head, [line.cells for line in found.metrics]),
        textwrap.fill(f"n = {found.n}. Test: {found.test.method} ({found.test.reason}).", width=100),
    ]
    if found.error.worst is not None:
        parts.append(f"Largest total error: {found.error.worst!r}")
    if found.groups is not None:
        parts.append(_groups(found.groups))
    notes = (clean(note, most=1000) for note in found.notes)  # a summary's file may hold any text
    parts += [textwrap.fill(f"Note: {note}", width=100, subsequent_indent="  ") for note in notes]
    return "\n\n".join(parts[:2]) + "\n\n" + "\n".join(parts[2:])


def _groups(groups: Any) -> str:
    from trueness.inference.significance import show_pvalue

    tested = sorted((each for each in groups if each.test is not None), key=lambda each: each.test.log10_pvalue)
    small = [each for each in groups if each.test is None]
    rows = []
    for each in [*tested, *small][:_GROUPS]:
        name = clean("(missing)" if each.group is None else str(each.group))
        if each.test is None:
            rows.append((name, str(each.n), "–", "–", each.reason))
            continue
        raw = each.test.shown.removeprefix("= ")
        adjusted = show_pvalue(each.adjusted_pvalue, each.adjusted_log10_pvalue)
        rows.append((name, str(each.n), f"{each.test.value:.4f}", raw, adjusted))
    shown = "\n" + table(("group", "rows", "ECCE-R", "p", "p, Holm"), rows)
    hidden = len(groups) - len(rows)
    return shown + (f"\n… and {hidden} more groups" if hidden else "")


def clean(text: str, most: int = 40) -> str:
    """A name from data on one line: control characters as escapes, the middle left out where it is long."""
    text = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    tail = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - tail]}…{text[-tail:]}"
