"""What an assessment says in words: first what the test says, how large the error is, and where; last its notes."""

from collections.abc import Sequence

from trueness._text import number, show_points
from trueness.data.certainties import Contradictions
from trueness.inference.evidence import Evidence
from trueness.inference.gap import WorstGap
from trueness.inference.outcome import WAVES, CalibrationTest, TestPart
from trueness.metrics.cumulative import WorstInterval
from trueness.summary.ruler import SLOTS
from trueness.summary.spans import from_cells
from trueness.summary.summary import Summary

RANGE = "ecce_r"  # the part that knows of a range
_NOTHING = 1e-300


def finding(
    test: CalibrationTest, worst: WorstInterval | None, gap: WorstGap | None, *, alpha: float, high: float | None
) -> str:
    """What was found; `high` is the largest SmoothECE that is not excluded, None where that is not known."""
    if not test.pvalue < alpha:
        rest = "" if high is None else f"; a SmoothECE up to {number(high)} is not excluded"
        return f"No miscalibration beyond noise was found, which does not show that there is none{rest}"
    seen = test.seen(alpha) or test.parts[:1]
    if worst is None or gap is None or all(part.name != RANGE for part in seen):
        return _led_by(seen[0])
    low, high_end = worst.ends
    where = f"between {low} and {high_end}" if worst.high > worst.first else f"of {low}"
    way, estimate = _direction(worst), show_points(gap.estimated)
    if gap.at_least > 0:
        size = f"at least {show_points(gap.at_least)} points too {way}, estimated {estimate}"
    else:
        size = f"too {way}, by an estimated {estimate} points"
    return f"{_way(worst, seen)}: predictions {where} are {size}"


def also(test: CalibrationTest, worst: WorstInterval | None, *, alpha: float) -> str:
    """What else was seen beside that which the first sentence says; nothing where that is all."""
    seen = test.seen(alpha)
    lead = next((part for part in seen if part.name == RANGE), seen[0] if seen else None)
    rest = [part.words for part in seen if part is not lead and _tells_more(part, lead, worst)]
    return f" Also seen: {' · '.join(rest)}." if rest else ""


def words_of(test: CalibrationTest, worst: WorstInterval | None, *, alpha: float) -> str:
    """What was seen, in a few words; nothing where nothing was."""
    seen = test.seen(alpha)
    lead = next((part for part in seen if part.name == RANGE), seen[0] if seen else None)
    return " · ".join(part.words for part in seen if part.words and (part is lead or _tells_more(part, lead, worst)))


def _tells_more(part: TestPart, lead: TestPart | None, worst: WorstInterval | None) -> bool:
    """Whether it says something of its own: groups of scores and trends do not, nor a place in the range that was named."""
    if part.near is not None and worst is not None and lead is not None and lead.name == RANGE:
        return not (worst.first <= part.near <= worst.high and part.direction == lead.direction)
    return part.name == "cox" or part.near is not None or part.place == WAVES


def _direction(worst: WorstInterval) -> str:
    return "high" if worst.mean_gap < 0 else "low"


def _way(worst: WorstInterval, seen: Sequence[TestPart]) -> str:
    """Above one half too high is over-confident, too low under-confident; elsewhere, or where slopes say otherwise, such words
    would say the opposite."""
    way = _direction(worst)
    denied = "too moderate" if way == "high" else "too extreme"
    if worst.first <= 0.5 or any(part.direction == denied for part in seen):
        return f"Too {way}"
    return "Over-confident" if way == "high" else "Under-confident"


def _led_by(part: TestPart) -> str:
    """A sentence of what one part saw, where no range is known to be off."""
    if part.name == "cox" and part.direction.startswith("too ") and part.place.startswith("slope"):
        slope = part.place.removeprefix("slope").strip()
        size = f" is {slope}, where 1 is right" if slope else " is not 1, as it should be"
        return f"{part.direction.capitalize()}: the calibration slope of the predictions{size}"
    if part.name == "cox" and part.direction:
        return f"{part.direction.capitalize()}: predictions are {part.place} {part.direction}"
    if part.name == "kernel" and part.direction:
        return f"{part.direction.capitalize()} in places: predictions {part.place} are {part.direction}"
    return f"Off in places: predictions are too high for some scores and too low for others ({part.words or part.name})"


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
