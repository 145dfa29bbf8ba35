"""A share of samples: what a study counts, claims about it, and how it is kept."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any


def error(events: int, trials: int) -> float:
    """Standard error of a share; at 0 or all, that of one event."""
    share = min(max(events, 1), max(trials - 1, 1)) / trials
    return float((share * (1 - share) / trials) ** 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How often something happened in the samples of one cell, and how often it should."""

    table: str
    what: str
    world: str
    truth: str = ""
    n: int
    events: int
    trials: int
    at_most: float | None = None  # claimed of the true rate
    at_least: float | None = None
    width: float | None = None  # mean width of intervals

    @property
    def row(self) -> str:
        """World and truth in words."""
        return ", ".join(each for each in (self.world, self.truth) if each)

    def __str__(self) -> str:
        share = f"{self.events / self.trials:.4f} ± {error(self.events, self.trials):.4f} of {self.trials}"
        return share if self.width is None else f"{share} · {self.width:.2g}"

    def to_dict(self) -> dict[str, Any]:
        """The fields that say something."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "")}


def merged(shares: Iterable[Share]) -> list[Share]:
    """Shares of the same cell as one."""
    cells: dict[tuple[Any, ...], Share] = {}
    for share in shares:
        key = (share.table, share.what, share.world, share.truth, share.n, share.at_most, share.at_least)
        cells[key] = _sum(cells[key], share) if key in cells else share
    return list(cells.values())


def _sum(a: Share, b: Share) -> Share:
    trials = a.trials + b.trials
    width = None if a.width is None or b.width is None else (a.width * a.trials + b.width * b.trials) / trials
    return replace(a, events=a.events + b.events, trials=trials, width=width)
