"""What docstrings need before they are read as pages: authors' initials, properties, and the fields of results."""

import dataclasses
import inspect
import re
from typing import Any

from sphinx.application import Sphinx

_FIELD = re.compile(
    r"^    (?P<name>\w+): (?P<type>[^=#\n]+?)(?: = [^#\n]*)?(?:  # (?P<said>.*))?$"
)


def prepare(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Run before the sections of a docstring are read."""
    # A reference that begins with an author's initial is no list that begins with J.
    lines[:] = [re.sub(r"^(?=[A-Z]\. )", r"\\", line) for line in lines]
    if what in ("property", "attribute"):
        lines.insert(
            0, "\\ "
        )  # an escaped space; else what stands before a colon is taken for a type
    if what == "class" and dataclasses.is_dataclass(thing):
        found = fields(thing)
        if found:
            lines += ["", "Attributes", "----------"]
            for field, kind, said in found:
                lines += [
                    f"{field} : {kind}",
                    *([f"    {said[0].upper()}{said[1:]}."] if said else []),
                ]
            lines.append("")


def fields(thing: type) -> list[tuple[str, str, str]]:
    """Name, type and comment of every public field of a dataclass, in the order of its source."""
    shown = {field.name for field in dataclasses.fields(thing) if field.repr}
    found = [_FIELD.match(line) for line in inspect.getsource(thing).splitlines()]
    return [
        (match["name"], match["type"].strip('"'), match["said"] or "")
        for match in found
        if match and match["name"] in shown
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register."""
    app.connect("autodoc-process-docstring", prepare, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
