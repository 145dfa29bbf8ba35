"""What an assessment says first: what the test says, how large the error is, and where."""

from trueness._text import number
from trueness.data.certainties import Contradictions
from trueness.metrics.cumulative import CumulativeError, WorstInterval


def finding(error: CumulativeError, *, significant: bool, high: float | None) -> str:
    """What was found; `high` is the largest SmoothECE that is not excluded, None where that is not known."""
    if not significant or error.worst is None:
        rest = "" if high is None else f"; a SmoothECE up to {number(high)} is not excluded"
        return f"No miscalibration beyond noise was found, which does not show that there is none{rest}"
    worst = error.worst
    gap = 100 * abs(worst.mean_gap)
    points = f"{gap:.0f}" if gap >= 99.5 else f"{gap:.2g}"
    low, high_end = worst.ends
    where = f"between {low} and {high_end}" if worst.high > worst.first else f"of {low}"
    return f"{_way(worst)}: predictions {where} are {points} points too {'high' if worst.mean_gap < 0 else 'low'}"


def _way(worst: WorstInterval) -> str:
    """Above one half too high is over-confident, too low under-confident; elsewhere such words would say the opposite."""
    low, high = worst.first, worst.high
    if (low + high) / 2 < 0.55 or high - low > 0.75:
        return "Too high" if worst.mean_gap < 0 else "Too low"
    return "Over-confident" if worst.mean_gap < 0 else "Under-confident"


def certainties(wrong: Contradictions) -> str:
    """Certain predictions that were wrong, in words with their count."""
    counts = ((wrong.failed, "of 1 did not happen"), (wrong.happened, "of 0 did happen"))
    parts = [f"{count} prediction{'' if count == 1 else 's'} {what}" for count, what in counts if count]
    bound = "at least " if wrong.at_least else ""
    return f"Certain and wrong: {bound}{' and '.join(parts)}, which calibrated predictions never do."


def others(n: int, wrong: Contradictions) -> str:
    """The rows that are left of so many."""
    count = n - wrong.total
    return "The other rows" if wrong.at_least else f"The other {count} row{'' if count == 1 else 's'}"
