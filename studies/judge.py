"""What may be blamed on chance: exact binomial limits shared among all cells of a table."""

from scipy.stats import binom

FAMILY = 0.05  # chance that any cell of a table is blamed though all are right


def most(trials: int, rate: float, cells: int) -> int:
    """Events that a true rate of at most `rate` exceeds, in any of so many cells, with probability 0.05 at most."""
    return int(binom.ppf(1 - FAMILY / cells, trials, rate))


def fewest(trials: int, rate: float, cells: int) -> int:
    """Events that a true rate of at least `rate` falls short of, in any of so many cells, with probability 0.05 at most."""
    return int(binom.ppf(FAMILY / cells, trials, rate))


def error(events: int, trials: int) -> float:
    """Standard error of a share; at 0 or all, that of one event."""
    share = min(max(events, 1), max(trials - 1, 1)) / trials
    return float((share * (1 - share) / trials) ** 0.5)
