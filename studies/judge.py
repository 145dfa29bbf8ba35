"""What may be blamed on chance, in cells and in pools of cells, and what a study of this size would have missed.

A claim says that events happen at most, or at least, so often. Its limit is exact and binomial: were every claim true, any
limit of all tables together would be broken with probability 0.05 at most. A cell of few samples cannot see a small fault, so
cells are also pooled: over truths, over numbers of rows, over both. A pool of cells that all keep their word keeps it too.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy.special import betaincinv
from scipy.stats import binom

from studies.share import Share

FAMILY = 0.05  # chance that any limit is broken though all is right
SURE = 0.9  # chance with which a fault is seen that the page says would have been seen

LEVELS: dict[str, tuple[str, ...]] = {
    "one cell": ("what", "world", "truth", "n"),
    "all truths of a world at one n": ("what", "world", "n"),
    "one truth of a world at every n": ("what", "world", "truth"),
    "one world": ("what", "world"),
    "one n, all worlds": ("what", "n"),
}


def most(trials: int, rate: float, cells: int) -> int:
    """Events that a true rate of at most `rate` exceeds, in any of so many cells, with probability 0.05 at most."""
    return int(binom.ppf(1 - FAMILY / cells, trials, rate))


def fewest(trials: int, rate: float, cells: int) -> int:
    """Events that a true rate of at least `rate` falls short of, in any of so many cells, with probability 0.05 at most."""
    return int(binom.ppf(FAMILY / cells, trials, rate))


def seen_above(trials: int, limit: int) -> float:
    """The true rate from which more than `limit` events are seen with probability 0.9; 1 where none is."""
    return 1.0 if limit >= trials else float(betaincinv(limit + 1, trials - limit, SURE))


def seen_below(trials: int, limit: int) -> float:
    """The true rate up to which fewer than `limit` events are seen with probability 0.9; 0 where none is."""
    return 0.0 if limit <= 0 else float(betaincinv(limit, trials - limit + 1, 1 - SURE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A claim about a cell or a pool, and what became of it."""

    level: str
    key: tuple[str | int, ...]
    shares: tuple[Share, ...]
    upper: bool  # at most, else at least
    rate: float
    events: int
    trials: int
    limit: int
    right: bool

    @property
    def seen(self) -> float:
        """The true rate from which on this limit would have been broken with probability 0.9."""
        return seen_above(self.trials, self.limit) if self.upper else seen_below(self.trials, self.limit)

    def __str__(self) -> str:
        wanted = f"{'at most' if self.upper else 'at least'} {self.rate:g}"
        place = ", ".join(f"n = {each}" if isinstance(each, int) else each for each in self.key if each != "")
        return f"{place} ({self.level}): {self.events / self.trials:.4f} of {self.trials}, wanted {wanted}"


def judged(shares: Iterable[Share], tables: int = 1) -> list[Judged]:
    """Every claim of one of so many tables, in cells and pools; a level that parts the cells as an earlier one is left out."""
    claims = [(share, upper) for share in shares for upper in (True, False) if _rate(share, upper) is not None]
    levels: dict[str, list[list[tuple[Share, bool]]]] = {}
    partitions: set[frozenset[frozenset[int]]] = set()
    for level, names in LEVELS.items():
        pools = _pools(claims, names)
        partition = frozenset(frozenset(id(share) for share, _ in pool) for pool in pools)
        if partition not in partitions:
            partitions.add(partition)
            levels[level] = pools
    limits = tables * len(levels)
    return [_judge(level, pool, limits * len(pools)) for level, pools in levels.items() for pool in pools]


def _rate(share: Share, upper: bool) -> float | None:
    return share.at_most if upper else share.at_least


def _pools(claims: Sequence[tuple[Share, bool]], names: tuple[str, ...]) -> list[list[tuple[Share, bool]]]:
    pools: dict[tuple[object, ...], list[tuple[Share, bool]]] = defaultdict(list)
    for share, upper in claims:
        pools[(upper, _rate(share, upper), *(getattr(share, name) for name in names))].append((share, upper))
    return list(pools.values())


def _judge(level: str, pool: Sequence[tuple[Share, bool]], cells: int) -> Judged:
    (first, upper), shares = pool[0], tuple(share for share, _ in pool)
    rate = _rate(first, upper) or 0.0
    events, trials = sum(share.events for share in shares), sum(share.trials for share in shares)
    limit = (most if upper else fewest)(trials, rate, cells)
    return Judged(
        level=level,
        key=tuple(getattr(first, name) for name in LEVELS[level]),
        shares=shares,
        upper=upper,
        rate=rate,
        events=events,
        trials=trials,
        limit=limit,
        right=events <= limit if upper else events >= limit,
    )
