"""Certain predictions that were wrong."""

from typing import NamedTuple


class Contradictions(NamedTuple):
    """How often something happened that was given probability 0: an outcome of 1 at score 0, of 0 at score 1."""

    happened: int
    failed: int
    at_least: bool = False  # whether there may be more: sums of weights do not tell how many rows they are of

    @property
    def total(self) -> int:
        """Both."""
        return self.happened + self.failed
