"""What was wrong in version 0.1, before and now: python -m studies.repairs. Exit code 1 where a claim is beyond its limit.

Power before is that of ECCE-R, the test by default then; now that of the combined test.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import click
import numpy as np

from studies import bands, coverage, groups, harder, judge, omnibus
from studies.share import error
from trueness import calibration_test, confidence_interval

Counts = tuple[int, int]  # events and trials
RESAMPLES = 499


@dataclass(frozen=True, slots=True)
class Repair:
    """A cell that failed, or was weak."""

    name: str
    counted: str
    published: str  # of version 0.1, in the report of the fault
    before: Counts  # by this command, before the repair
    samples: int
    once: Callable[[int], Counts]
    at_most: float | None = None
    at_least: float | None = None
    without: str = ""  # why it cannot be measured here


def size(world: str, n: int, alpha: float, seed: int) -> Counts:
    """Whether ECCE-R rejects a calibrated model; told the clusters where that can be."""
    drawn = harder.worlds()[world].draw(np.random.default_rng(seed), n)
    given = harder.clusters(drawn) if harder.CLUSTERS_CAN_BE_TOLD else {}
    return int(calibration_test(drawn.y, drawn.f, sample_weight=drawn.w, rng=seed, **given).pvalue <= alpha), 1


def holds(which: str, world: str, truth: str, n: int, seed: int, *, given: bool | None = None) -> Counts:
    """Whether an interval holds the truth, of the population or given these scores."""
    metric, options = coverage.INTERVALS[which]
    drawn = harder.worlds()[world].draw(np.random.default_rng(seed), n, harder.TRUTHS[truth])
    interval = confidence_interval(drawn.y, drawn.f, metric=metric, options=options, sample_weight=drawn.w, rng=seed)
    given = coverage.given_scores(which) if given is None else given
    target = (
        coverage.sample_value(which, drawn.expected, drawn.f, drawn.w)
        if given
        else coverage.harder_value(world, truth, which, n)
    )
    return int(interval.low - 1e-12 <= target <= interval.high + 1e-12), 1


def shown(what: str, world: str, n: int, seed: int) -> Counts:
    """Bins, or places of the smooth curve, that hold the truth of a calibrated model."""
    return bands.once({"scores": world, "truth": "calibrated", "n": n}, seed).get(what, (0, 0))


def found(m: int, seed: int) -> Counts:
    """Whether the one bad group of so many is found."""
    return int(groups.once({"scores": "uniform", "bad": 1, "n": m}, seed)["the one bad group is found"]), 1


def power(alternative: str, seed: int) -> Counts:
    """Whether the combined test sees what is off."""
    rng = np.random.default_rng(seed)
    scores, truth = omnibus.ALTERNATIVES[alternative]
    f = scores(rng, omnibus.ROWS)
    y = (rng.random(len(f)) < truth(f)).astype(int)
    return int(calibration_test(y, f, statistic="combined", resamples=RESAMPLES, rng=seed).pvalue <= 0.05), 1


_SIZE, _COVERAGE = "calibrated models rejected at 0.05", "intervals that hold the truth"
_NO_CLUSTERS = "" if harder.CLUSTERS_CAN_BE_TOLD else "not told the clusters"
REPAIRS = (
    *(
        Repair(
            f"{world}, 3000 rows",
            _SIZE,
            old,
            before,
            150,
            partial(size, world, 3_000, 0.05),
            at_most=0.05,
            without=_NO_CLUSTERS,
        )
        for world, old, before in zip(harder.CLUSTERED, (".41", ".78"), ((39, 100), (73, 100)), strict=True)
    ),
    Repair(
        "mixed hard and soft labels", _SIZE, ".36", (210, 600), 1000, partial(size, "mixed labels", 1_000, 0.05), at_most=0.05
    ),
    Repair(
        "mixed labels, ECCE-R",
        _COVERAGE,
        ".01 to .55",
        (98, 150),
        500,
        partial(holds, "ecce_r", "mixed labels", "calibrated", 1_000),
        at_least=0.95,
    ),
    Repair("soft rare labels", "… at 0.01", ".036", (24, 700), 1000, partial(size, "soft, rare", 600, 0.01), at_most=0.01),
    Repair(
        "soft rare labels, quantile bins",
        _COVERAGE,
        ".915",
        (111, 150),
        300,
        partial(holds, "binned_ece, quantile", "soft, rare", "calibrated", 600),
        at_least=0.95,
    ),
    Repair(
        "soft labels of small variance, LS-ECE",
        _COVERAGE,
        "0",
        (0, 40),
        100,
        partial(holds, "logit_smoothed_ece", "soft, small variance", "calibrated", 1_000),
        at_least=0.95,
    ),
    *(
        Repair(
            f"saturated, {n - 1} predictions of 1, binned ECE",
            _COVERAGE,
            old,
            before,
            300,
            partial(holds, "binned_ece", "saturated", "1.6 errors expected", n),
            at_least=0.95,
        )
        for n, old, before in ((200, ".82", (116, 150)), (2_000, ".77", (119, 150)))
    ),
    # What happens in a bin that no row of the sample visited cannot be known: the truth is that of these scores.
    *(
        Repair(
            f"rarely visited bin, l2 binned ECE, of {whose}",
            _COVERAGE,
            old,
            before,
            300,
            partial(holds, "binned_ece, l2", "rare outliers", "outliers off", 1_000, given=given),
            at_least=0.95 if given else None,
        )
        for whose, given, old, before in (("these scores", True, "", (0, 0)), ("all", False, ".63", (90, 150)))
    ),
    Repair(
        "heavy weights on rare rows of f = 0, ECCE-R",
        _COVERAGE,
        ".87",
        (45, 50),
        400,
        partial(holds, "ecce_r", "heavy weights, f = 0", ".2 too low", 1_000),
        at_least=0.95,
    ),
    Repair(
        "weighted bins",
        "bars that hold the truth",
        ".3 to .8",
        (439, 1_000),
        100,
        partial(shown, "quantile bins", "weighted rare", 300),
        at_least=0.95,
    ),
    *(
        Repair(
            f"smooth curve of rare scores, {place} of them below",
            "bands that hold the truth",
            ".67 to .87",
            before,
            100,
            partial(shown, f"smooth curve at {place} of the scores", "Beta(2,200)", 1_000),
        )
        for place, before in (("1%", (26, 30)), ("99%", (17, 30)))
    ),
    Repair("one bad group of 200", "found at 0.05", "0", (0, 0), 10, partial(found, 200)),
    *(
        Repair(f"power, {name}", "seen at 0.05", old, before, 100, partial(power, name))
        for name, old, before in (
            ("slope .8", ".33", (70, 200)),
            ("slope 1.25", ".24", (51, 200)),
            ("tail f > .9, -.08", ".06", (11, 200)),
        )
    ),
)


def measured(repair: Repair, share: float) -> Counts:
    """Events and trials of so large a share of the samples."""
    samples = max(round(repair.samples * share), 2)
    counts = [repair.once(seed) for seed in range(samples)]
    return sum(events for events, _ in counts), sum(trials for _, trials in counts)


def judged(repair: Repair, now: Counts) -> str:
    """What is to be said of the figure, by limits shared among all repairs; nothing of one of which nothing is claimed."""
    events, trials = now
    claims = sum(each.at_most is not None or each.at_least is not None for each in REPAIRS)
    if repair.at_most is not None:
        return "within" if events <= judge.most(trials, repair.at_most, claims) else "beyond"
    if repair.at_least is not None:
        return "within" if events >= judge.fewest(trials, repair.at_least, claims) else "beyond"
    return ""


def _text(counts: Counts) -> str:
    events, trials = counts
    return f"{events / trials:.3f} ± {error(events, trials):.3f}" if trials else "–"


@click.command()
@click.option("--quick", is_flag=True, help="A tenth of the samples: under a minute.")
def main(quick: bool) -> None:
    """Each fault of version 0.1: the figure reported of it, what this measured before the repair, and what it measures now."""
    click.echo(f"{'':52}{'0.1, reported':>15}{'before':>17}{'now':>17}{'samples':>9}  wanted")
    began, beyond = time.process_time(), []
    for repair in REPAIRS:
        now = measured(repair, 0.1 if quick else 1.0)
        verdict = judged(repair, now)
        wanted = f"at most {repair.at_most:g}" if repair.at_most else f"at least {repair.at_least:g}" if repair.at_least else ""
        click.echo(
            f"{repair.name:52}{repair.published:>15}{_text(repair.before):>17}{_text(now):>17}{now[1]:>9}"
            f"  {repair.counted}{f', {wanted}: {verdict}' if verdict else ''}{f' ({repair.without})' if repair.without else ''}"
        )
        if verdict == "beyond" and not repair.without:
            beyond.append(repair.name)
    click.echo(
        f"{time.process_time() - began:.0f} s. {len(beyond)} beyond their limits{': ' if beyond else ''}{'; '.join(beyond)}"
    )
    if beyond:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
