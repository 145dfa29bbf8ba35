"""Size and power of every test and of their combination, as a part of the study, and which tests to combine.

`python -m studies --only "size of every part" --only "power of every part"` measures what users get;
`python -m studies.omnibus` other combinations, on fewer draws.
"""

from typing import Any

import click
import numpy as np
from scipy.special import expit, logit

from studies import peers, shared
from studies.share import Share
from trueness import calibration_test, summarize
from trueness.data.sample import as_sample
from trueness.inference.combination import joint_pvalue
from trueness.inference.evidence import evidence
from trueness.inference.residual_statistics import PARTS, together
from trueness.inference.simulation import null_draws

ALPHA, GROUPS = 0.05, 512
ROWS = 1000
RESAMPLES = 499  # of the combined test; its size is exact for any number
ALPHAS = (0.05, 0.01)
BY_DRAWS = ("ecce_mad", "smooth_ece")  # besides the statistics of residuals
TESTS = (*BY_DRAWS, *PARTS)
Array = np.ndarray[Any, Any]

COMBINATIONS = {
    "E+C": ("ecce_r", "cox"),
    "C+N+H": ("cox", "neyman", "hosmer_lemeshow"),
    "E+C+N+H": ("ecce_r", "cox", "neyman", "hosmer_lemeshow"),
    "E+C+H+K": ("ecce_r", "cox", "hosmer_lemeshow", "kernel"),
    "E+C+N+H+K": ("ecce_r", "cox", "neyman", "hosmer_lemeshow", "kernel"),
}


def _uniform(rng: np.random.Generator, n: int) -> Array:
    return rng.random(n)


def _top(rng: np.random.Generator, n: int) -> Array:
    return rng.beta(4, 0.7, n)


def _rare(rng: np.random.Generator, n: int) -> Array:
    return rng.beta(1, 20, n)


def _slope(f: Array, slope: float, shift: float = 0.0) -> Array:
    return np.asarray(expit(slope * logit(np.clip(f, 1e-12, 1 - 1e-12)) + shift))


ALTERNATIVES: dict[str, tuple[Any, Any]] = {
    "shift .22": (_uniform, lambda f: _slope(f, 1, 0.22)),
    "shift -.22": (_uniform, lambda f: _slope(f, 1, -0.22)),
    "slope .8": (_uniform, lambda f: _slope(f, 0.8)),
    "slope 1.25": (_uniform, lambda f: _slope(f, 1.25)),
    "slope .8, shift .15": (_uniform, lambda f: _slope(f, 0.8, 0.15)),
    "1 wave": (_uniform, lambda f: f + 0.25 * f * (1 - f) * np.sin(2 * np.pi * f)),
    "2 waves": (_uniform, lambda f: f + 0.35 * f * (1 - f) * np.sin(4 * np.pi * f)),
    "3 waves": (_uniform, lambda f: f + 0.4 * f * (1 - f) * np.sin(6 * np.pi * f)),
    "10 waves": (_uniform, lambda f: f + 0.5 * f * (1 - f) * np.sin(20 * np.pi * f)),
    "step of 5 %, -.3": (_uniform, lambda f: f - 0.3 * ((f > 0.5) & (f < 0.55))),
    "step of 5 %, +.2": (_uniform, lambda f: f + 0.2 * ((f > 0.2) & (f < 0.25))),
    "range .6 to .9, -.06": (_uniform, lambda f: f - 0.06 * ((f > 0.6) & (f < 0.9))),
    "range .1 to .4, +.06": (_uniform, lambda f: f + 0.06 * ((f > 0.1) & (f < 0.4))),
    "tail f > .9, -.08": (_uniform, lambda f: f - 0.08 * (f > 0.9)),
    "tail f < .05, +.05": (_uniform, lambda f: f + 0.05 * (f < 0.05)),
    "top label, tail f > .97, -.03": (_top, lambda f: f - 0.03 * (f > 0.97)),
    "top label, slope .85": (_top, lambda f: _slope(f, 0.85)),
    "top label, f - .025": (_top, lambda f: np.clip(f - 0.025, 0, 1)),
    "rare x 1.4": (_rare, lambda f: np.minimum(1.4 * f, 1)),
    "rare / 1.5": (_rare, lambda f: f / 1.5),
    "rare, slope .75": (_rare, lambda f: _slope(f, 0.75)),
    "asymmetric f^1.2": (_uniform, lambda f: f**1.2),
}

WORLDS: dict[str, tuple[int, Any]] = {
    "uniform, n = 1000": (1000, _uniform),
    "uniform, n = 50": (50, _uniform),
    "rare Beta(1,20), n = 300": (300, _rare),
    "rare Beta(2,200), n = 1000": (1000, lambda rng, n: rng.beta(2, 200, n)),
    "ten values, n = 300": (300, lambda rng, n: rng.integers(0, 10, n) / 10 + 0.05),
    "constant, n = 300": (300, lambda rng, n: np.full(n, 0.3)),
    "Beta(.2,.2), n = 1000": (1000, lambda rng, n: rng.beta(0.2, 0.2, n)),
    "top label, n = 5000": (5000, _top),
}


SIZES = (*WORLDS, "weights, n = 1000", "a summary, n = 1000", "uniform, n = 20")


def size_cells() -> list[dict[str, Any]]:
    """Calibrated worlds."""
    return [{"scores": name, "n": WORLDS[name][0] if name in WORLDS else int(name.split()[-1])} for name in SIZES]


def power_cells() -> list[dict[str, Any]]:
    """What is off: alternatives, and rows of real data drawn with replacement."""
    real = [f"{name.removeprefix('imagenet_')}, resampled" for name in (*shared.CLASSIFIERS, *shared.FURTHER)]
    return [{"truth": name, "n": ROWS} for name in (*ALTERNATIVES, *real)]


def once_size(cell: dict[str, Any], seed: int) -> dict[str, float]:
    """p-values of one calibrated sample: of the combination and its parts."""
    rng, n, name = np.random.default_rng(seed), cell["n"], cell["scores"]
    f = WORLDS[name][1](rng, n) if name in WORLDS else rng.random(n)
    y = (rng.random(n) < f).astype(int)
    given: Any = (y, f)
    if name.startswith("a summary"):
        given = (summarize(y, f),)
    weights = {"sample_weight": np.exp(rng.standard_normal(n))} if name.startswith("weights") else {}
    test = calibration_test(*given, statistic="combined", resamples=RESAMPLES, rng=seed, **weights)
    alone = calibration_test(*given, statistic="spiegelhalter", rng=seed, **weights)
    return {"combined": test.pvalue, "spiegelhalter": alone.pvalue} | {part.name: part.pvalue for part in test.parts}


def once_power(cell: dict[str, Any], seed: int) -> dict[str, float]:
    """p-values of one sample that is off: of every test, the combination, and peers; nothing where the data are not here."""
    rng, name = np.random.default_rng(seed), cell["truth"]
    if name in ALTERNATIVES:
        scores, truth = ALTERNATIVES[name]
        f = scores(rng, cell["n"])
        y = (rng.random(cell["n"]) < truth(f)).astype(int)
    else:
        data = next((each for each in shared.names() if name == f"{each.removeprefix('imagenet_')}, resampled"), None)
        if data is None:
            return {}
        everything, scores = shared.load(data)
        rows = rng.integers(len(scores), size=cell["n"])
        y, f = everything[rows], scores[rows]
    test = calibration_test(y, f, statistic="combined", resamples=RESAMPLES, rng=seed)
    drawn = evidence(as_sample(y, f), metrics=BY_DRAWS, intervals=False, rng=seed)
    found = {each: result.test.pvalue for each, result in zip(BY_DRAWS, drawn, strict=True) if result.test}
    # Certainties that were wrong make p = 0: a rejection by all, whose parts are then not all told.
    parts = dict.fromkeys(PARTS, test.pvalue) | {part.name: part.pvalue for part in test.parts}
    found |= {"spiegelhalter": calibration_test(y, f, statistic="spiegelhalter", rng=seed).pvalue} | parts
    return (
        {each: found[each] for each in TESTS}
        | {"combined": test.pvalue}
        | {each: pvalue(y, f) for each, pvalue in peers.tests().items()}
    )


def absent() -> list[str]:
    """What the table of power has no figures of here, each with the reason."""
    there = shared.names()
    missing = [name.removeprefix("imagenet_") for name in (*shared.CLASSIFIERS, *shared.FURTHER) if name not in there]
    data = [f"{', '.join(missing)}, resampled: their data are not here"] if missing else []
    return data + ([] if peers.tests() else ["other packages' tests: probcal is not installed"])


def size_shares(cell: dict[str, Any], what: str, values: list[float]) -> list[Share]:
    """Rejections of calibrated models."""
    return [
        Share(
            table="size of every part",
            what=f"{what}, α = {alpha}",
            world=cell["scores"].partition(", n =")[0],
            n=cell["n"],
            events=sum(p <= alpha + 1e-12 for p in values),
            trials=len(values),
            at_most=alpha,
        )
        for alpha in ALPHAS
    ]


def power_shares(cell: dict[str, Any], what: str, values: list[float]) -> list[Share]:
    """Rejections of models that are off."""
    events = sum(p <= ALPHA + 1e-12 for p in values)
    return [Share(table="power of every part", what=what, world=cell["truth"], n=cell["n"], events=events, trials=len(values))]


def pvalues(y: Array, f: Array, seed: int, draws: int) -> dict[str, float]:
    """Of every statistic, and of every combination on the same draws."""
    points = as_sample(y, f).points()
    points = points.merged(points.groups([], least=GROUPS))
    values = dict(zip(PARTS, null_draws(points, together([make(points) for make in PARTS.values()]), seed, draws), strict=True))
    ranks = dict(zip(PARTS, joint_pvalue(list(values.values()))[1], strict=True))
    return ranks | {name: joint_pvalue([values[part] for part in parts])[0] for name, parts in COMBINATIONS.items()}


def rejected(scores: Any, truth: Any, n: int, samples: int, draws: int, number: int, first: int) -> dict[str, float]:
    """How often each p-value is at most 5 %."""
    counts = dict.fromkeys((*PARTS, *COMBINATIONS), 0)
    for sample in range(samples):
        seed = ((1000 * first + number) << 20) + sample
        rng = np.random.default_rng(seed)
        f = scores(rng, n)
        y = (rng.random(n) < truth(f)).astype(int)
        for name, p in pvalues(y, f, seed, draws).items():
            counts[name] += p <= ALPHA + 1e-12
    return {name: count / samples for name, count in counts.items()}


@click.command()
@click.option("--samples", type=click.IntRange(1), default=200, show_default=True, help="Of each alternative.")
@click.option("--size-samples", type=click.IntRange(1), default=1000, show_default=True, help="Of each calibrated world.")
@click.option("--draws", type=click.IntRange(19), default=199, show_default=True, help="Of each sample.")
@click.option("--seed", "first", type=click.IntRange(0), default=0, show_default=True, help="Another one, other samples.")
def main(samples: int, size_samples: int, draws: int, first: int) -> None:
    """Size in every world, power for every alternative at n = 1000, and what each loses against the best single test."""
    names = (*PARTS, *COMBINATIONS)
    click.echo(f"{'size':32}" + "".join(f"{name[:9]:>10}" for name in names))
    for number, (world, (n, scores)) in enumerate(WORLDS.items()):
        found = rejected(scores, lambda f: f, n, size_samples, draws, number, first)
        click.echo(f"{world:32}" + "".join(f"{found[name]:10.3f}" for name in names))
    click.echo(f"\n{'power, n = 1000':32}" + "".join(f"{name[:9]:>10}" for name in names))
    losses = []
    for number, (name, (scores, truth)) in enumerate(ALTERNATIVES.items()):
        found = rejected(scores, truth, 1000, samples, draws, 100 + number, first)
        best = max(found[part] for part in PARTS)
        losses.append([best - found[each] for each in names])
        click.echo(f"{name:32}" + "".join(f"{found[each]:10.2f}" for each in names))
    for what, loss in (("largest loss", np.max(losses, axis=0)), ("mean loss", np.mean(losses, axis=0))):
        click.echo(f"{what:32}" + "".join(f"{each:10.2f}" for each in loss))


if __name__ == "__main__":
    main()
