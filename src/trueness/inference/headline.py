"""Is it off, and what is certain of where: the test behind a verdict, and the gap in the worst range."""

from typing import NamedTuple

from trueness.data.sample import Sample
from trueness.inference.clustering import tested
from trueness.inference.gap import WorstGap, worst_gap
from trueness.inference.intervals import draws_for
from trueness.inference.outcome import CalibrationTest
from trueness.inference.significance import bind_statistic, outcome_by_residuals
from trueness.inference.simulation import Resampling
from trueness.metrics.cumulative import ecce

STATISTIC = "combined"


class Headline(NamedTuple):
    """The combined test, and the gap in the worst range of the rows that no certain prediction was wrong for."""

    test: CalibrationTest
    gap: WorstGap | None  # None where nothing is off


def headline(sample: Sample, *, alpha: float, seed: int) -> Headline:
    """Test and gap from the same draws."""
    draws, bound = draws_for(alpha), bind_statistic(STATISTIC, None)

    def outcome(part: Sample) -> CalibrationTest:
        return outcome_by_residuals(STATISTIC, Resampling(part, [bound]), "auto", draws, seed)

    test = tested(sample, outcome)
    if test.rest is not None and (rest := sample.without_contradictions) is not None:
        sample = rest
    worst = ecce(sample).worst
    return Headline(test, None if worst is None else worst_gap(worst, Resampling(sample, [bound]), alpha, draws, seed))
