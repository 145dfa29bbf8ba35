"""Cells that are known to fail: shown, counted and named, not judged. Patterns of table, what, world and truth; the reason."""

KNOWN: dict[tuple[str, str, str, str], str] = {}
