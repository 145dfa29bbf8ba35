"""What was measured, put into pages between ``<!-- benchmarks: NAME -->`` and ``<!-- benchmarks: end -->``."""

import re
from collections.abc import Mapping
from pathlib import Path

_PLACE = re.compile(r"(<!-- benchmarks: ([a-z, ]+) -->\n).*?(\n<!-- benchmarks: end -->)", re.DOTALL)


def filled(page: str, sections: Mapping[str, str]) -> str:
    """The page with what is new in its places; a place whose section was not measured stays as it is.

    Examples
    --------
    >>> old = "<!-- benchmarks: disk -->\\nold\\n<!-- benchmarks: end -->"
    >>> filled(old, {"disk": "| new |"}) == old.replace("old", "| new |")
    True
    """

    def place(found: re.Match[str]) -> str:
        text = sections.get(found[2])
        if text is None:
            return found[0]
        table = text if text.startswith("|") else f"```text\n{text}\n```"
        return f"{found[1]}{table}{found[3]}"

    return _PLACE.sub(place, page)


def write(path: Path, sections: Mapping[str, str]) -> None:
    """Put the sections into a page."""
    path.write_text(filled(path.read_text(encoding="utf-8"), sections), encoding="utf-8")
