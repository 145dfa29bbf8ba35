"""Rows that come in clusters: every answer is found twice, by flipping clusters whole and as if rows were independent.

The more cautious of the two stands: repeated rows never make for more certainty.
"""

from collections.abc import Callable
from dataclasses import replace

from trueness.data.sample import Sample
from trueness.inference.outcome import CalibrationTest, TestPart


def both_ways(sample: Sample) -> list[Sample]:
    """The sample, and where its rows come in clusters the same as if every row were its own."""
    return [sample, sample.independent] if sample.clusters else [sample]


def tested(sample: Sample, test: Callable[[Sample], CalibrationTest]) -> CalibrationTest:
    """The test of a sample; of one with clusters the p-value of independent rows where that is larger."""
    found, *alone = map(test, both_ways(sample))
    return cautious_test(found, alone[0], sample.clusters) if alone else found


def cautious_test(test: CalibrationTest, alone: CalibrationTest, clusters: int) -> CalibrationTest:
    """The test by clusters, with the p-value of independent rows where that is larger."""
    if test.contradictions:  # p = 0 needs no draws
        rest = None if test.rest is None or alone.rest is None else cautious_test(test.rest, alone.rest, clusters)
        return replace(test, rest=rest, clusters=clusters)
    larger = alone.log10_pvalue > test.log10_pvalue
    rivals = {part.name: part for part in alone.parts}
    parts = sorted((_cautious_part(part, rivals[part.name]) for part in test.parts), key=lambda part: part.log10_pvalue)
    return replace(
        test,
        pvalue=max(test.pvalue, alone.pvalue),
        log10_pvalue=max(test.log10_pvalue, alone.log10_pvalue),
        reason=f"{test.reason}; p of independent rows is larger and stands" if larger else test.reason,
        parts=tuple(parts),
        clusters=clusters,
    )


def _cautious_part(part: TestPart, alone: TestPart) -> TestPart:
    larger = alone.log10_pvalue > part.log10_pvalue
    return replace(part, pvalue=alone.pvalue, log10_pvalue=alone.log10_pvalue, resamples=alone.resamples) if larger else part
