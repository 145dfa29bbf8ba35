"""What an assessment says in words: first what the test says, how large the error is, and where; last its notes."""

from trueness._text import number
from trueness.data.certainties import Contradictions
from trueness.inference.evidence import Evidence
from trueness.metrics.cumulative import CumulativeError, WorstInterval
from trueness.summary.ruler import SLOTS
from trueness.summary.spans import from_cells
from trueness.summary.summary import Summary

_NOTHING = 1e-300


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


def remarks(summary: Summary) -> list[str]:
    """What a reader should know of the rows, beside what the summary says itself."""
    notes = []
    if summary.soft:
        notes.append("soft labels: no noise floor, and only ECCE has a test")
    if not summary.exact and not summary.soft:
        notes.append("weights are taken as importance weights")
    if summary.n >= 1000 and len(summary.cells) < min(SLOTS, 100):
        notes.append(f"many ties: the scores lie in {len(summary.cells)} cells; rows with equal scores are taken together")
    return notes


def limits(summary: Summary, smooth: Evidence, spread: Evidence) -> list[str]:
    """What numbers from sums, and this SmoothECE and ECCE-R among them, are less exact than from rows."""
    m = summary.moments
    size = 2 * m.e_positive - m.e
    ten_cells = 10 * float((size / summary.ruler.unit[summary.cells]).sum() / max(size.sum(), _NOTHING))
    narrow = [
        f"SmoothECE is less than ten cells wide where the residuals are ({ten_cells:.1g}): it and the area of its diagram need "
        "the rows to be exact"
    ]
    return [*summary.limits, *(narrow if 0 < smooth.value < ten_cells else []), *_inside_cells(summary, spread)]


def _inside_cells(summary: Summary, spread: Evidence) -> list[str]:
    """Whether ECCE-R is, or may be, further above the value that was tested than its interval allows for."""
    if spread.interval is None or spread.test is None:
        return []
    known, tested = summary.extremes is not None, spread.test.value
    reach = spread.value if known else from_cells(summary, summary.moments.mixed)[1].range
    if not reach - tested > spread.interval.high - spread.value:
        return []
    size, remedy = ("is", "") if known else ("may be as large as", ", or summarize with exact=True")
    return [
        f"scores share cells of the summary: ECCE-R {size} {number(reach)}, and p is that of {number(tested)} at the cells' "
        f"edges; pass the rows{remedy}"
    ]
