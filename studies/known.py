"""Cells that are known to fail: shown, counted and named, not judged. Patterns of table, what, world and truth; the reason."""

KNOWN: dict[tuple[str, str, str, str], str] = {
    ("coverage, harder", "binned_ece, l2", "rare outliers", "*"): (
        "a bin that no row of the sample visits may be off by any amount: what is held is the truth given these scores"
    ),
}
