"""The soft-label paper redone: every printed cell has its line, every difference its reason, the theory its oracle."""

import numpy as np
import pytest
from scipy.stats import foldnorm

from reproductions import Lab, reproduce
from reproductions.soft_labels import PAPER, tables, theory
from reproductions.soft_labels.propositions import threshold_limit
from reproductions.soft_labels.ranking import PAIRS, right
from reproductions.soft_labels.setting import METRICS, MODELS, SIGNALS, Sample, draw, measure, predict

pytestmark = pytest.mark.full

SMECE, ECE, OPEN = METRICS
THEORY = ("closed form", "exact", "normal law")
FIGURES = {"experiment-2", "experiment-3", "experiment-4", "outcomes", "proposition-3", "soft-reliability"}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return reproduce("soft-labels", quick=True, out=tmp_path_factory.mktemp("soft-labels"))


@pytest.fixture(scope="module")
def lines(found):
    return {finding.what: finding for findings in found.findings.values() for finding in findings}


# ------------------------------------------------------------------------------------------------------------ the run


def test_everything_runs_without_data(found):
    assert not found.missing
    assert list(found.findings) == [experiment.title for experiment in PAPER.experiments]
    assert all(found.findings.values())


def test_figures_are_written(found):
    assert {path.rsplit("/", 1)[1] for path in found.figures} == {f"{name}.png" for name in FIGURES}
    for path in found.figures:
        with open(path, "rb") as stream:
            assert stream.read(8) == b"\x89PNG\r\n\x1a\n"


def test_every_difference_has_its_reason(found):
    findings = [finding for group in found.findings.values() for finding in group]
    assert len(findings) == len({(finding.what, finding.paper) for finding in findings})
    assert not [finding for finding in findings if finding.verdict in ("differs", "fails") and not finding.why]


def cells():
    """Name of the line and printed text of every cell of Tables 2 to 8."""
    for model, (soft, hard, soft_rank, hard_rank) in tables.TABLE_2.items():
        yield from ((f"SMECE of {model}", soft), (f"ECE of {model}", hard))
        yield from ((f"rank of {model} by SMECE", soft_rank), (f"rank of {model} by ECE", hard_rank))
    for number, table in ((3, tables.TABLE_3), (4, tables.TABLE_4)):
        for model, row in table.items():
            yield from ((f"Table {number}: {model}, k = {k:g}", cell) for k, cell in zip(SIGNALS, row, strict=True))
    for metric, row in tables.TABLE_5.items():
        yield from ((f"Table 5: {metric}, k = {k:g}", cell) for k, cell in zip(SIGNALS, row, strict=True))
    for (i, j), row in tables.TABLE_6.items():
        yield from ((f"Table 6: {i} vs {j}, {metric}", cell) for metric, cell in zip((SMECE, ECE), row, strict=True))
    for number, table in ((7, tables.TABLE_7), (8, tables.TABLE_8)):
        for model, row in table.items():
            for at, n in enumerate((500, 1000, 2000, 5000, 10000)):
                yield f"Table {number}: {model}, n = {n}, mean", row[2 * at]
                yield f"Table {number}: {model}, n = {n}, std", row[2 * at + 1]


def test_every_printed_cell_has_its_line_and_its_theory(lines):
    printed = list(cells())
    assert len(printed) == 20 + 30 + 30 + 12 + 20 + 50 + 50
    for what, paper in printed:
        assert lines[what].paper == paper
        if "rank" not in what:
            assert any(f"{what}, {kind}" in lines for kind in THEORY), what


def test_theory_differs_from_print_only_where_print_errs(lines):
    """D's SMECE where the last bin matters, the one accuracy it touches, and a cell that Table 5 contradicts."""
    differing = {what for what, finding in lines.items() if what.endswith(THEORY) and finding.verdict == "differs"}
    expected = {"SMECE of D, closed form", "Table 5: SMECE, k = 1, normal law", "Table 6: C vs E, ECE, normal law"}
    expected |= {f"Table 3: D, k = {k}, closed form" for k in (1, 2, 5)}
    expected |= {
        f"Table 7: D, n = {n}, {kind}" for n in (500, 1000, 2000, 5000, 10000) for kind in ("mean, closed form", "std, exact")
    }
    assert differing == expected


@pytest.mark.parametrize(
    "what",
    [
        *[f"SMECE of A{kind}" for kind in ("", ", closed form")],
        *[f"Table 3: A, k = {k:g}" for k in SIGNALS],
        *[f"Table 7: A, n = {n}, {part}" for n in (500, 10000) for part in ("mean", "std")],
        "ECE of A in the limit, closed form",
        "Table 3: D, k = 0.5",
        "Table 5: SMECE, k = 0.5",
        "Table 5: SMECE, last bin open, k = 1",
        "Table 5: ECE, k = 0.5, normal law",
        *[f"Table 6: {i} vs {j}, {metric}" for i, j in PAIRS for metric in (SMECE, ECE) if (i, j, metric) != ("C", "E", ECE)],
        *[f"Table 7: D, last bin open, n = {n}, mean, closed form" for n in (500, 10000)],
        *[f"Table 8: {model}, n = {n}, mean, closed form" for model in "ABC" for n in (5000, 10000)],
        *[f"Table 8: A, n = {n}, std, exact" for n in (500, 1000, 2000)],
    ],
)
def test_key_numbers_match(lines, what):
    assert lines[what].verdict == "matches", lines[what]


def test_what_fails_is_known(lines):
    failing = {what for what, finding in lines.items() if finding.verdict == "fails" and not what.startswith("rank")}
    assert failing == {
        "p̄ and ȳ agree in every bin only if all labels are 0 or 1 (appendix B)",
        "the gap does not shrink with n (section 3.2)",
        "p* = 0.51: ECE prefers a model that says 0.99 to one that says 0.51 (section 3.3)",
        "SMECE recovers the ranking A > B ≈ C > D > E",
        "ECE has the right ranking at k = 50",
        "C and D are too close for a scalar to tell at n = 1 000",
        "the means of all other models are flat in n",
    }


def test_the_same_seed_gives_the_same_findings():
    experiment = next(experiment for experiment in PAPER.experiments if "Table 2" in experiment.title)
    first, again, other = (list(experiment.run(Lab(quick=True, seed=seed))) for seed in (3, 3, 4))
    assert first == again
    assert first != other


# ------------------------------------------------------------------------------------------------------ the measures


def by_hand(sample: Sample, model: str, metric: str) -> float:
    """Eq. 1 and 5, a loop over bins."""
    labels, f = sample.hard if metric == ECE else sample.soft, sample.predictions[model]
    total = 0.0
    for b in range(10):
        inside = (f >= b / 10) & (f < (b + 1) / 10)
        if b == 9 and metric != OPEN:
            inside |= f == 1
        if inside.any():
            total += inside.sum() / len(f) * abs(f[inside].mean() - labels[inside].mean())
    return total


@pytest.mark.parametrize("k", SIGNALS)
def test_measures_are_those_of_the_paper(k):
    sample = draw(np.random.default_rng(5), 700, k)
    expected = [[by_hand(sample, model, metric) for model in MODELS] for metric in METRICS]
    np.testing.assert_allclose(measure(sample), expected, rtol=0, atol=1e-12)


def test_pairs_are_counted_by_hand():
    values = np.zeros((1, 3, 5))
    values[0, 0] = [0.1, 0.5, 0.3, 0.2, 0.9]  # A, then D, C, B, E
    got = dict(zip(PAIRS, right(values, SMECE)[0], strict=True))
    assert {pair for pair, is_right in got.items() if not is_right} == {("B", "D"), ("C", "D")}


# --------------------------------------------------------------------------------------------------------- the theory


def on_a_grid(k: float, n: int = 300_000) -> Sample:
    """The population, nearly: x in equal steps; E apart."""
    x = (np.arange(n) + 0.5) / n * 6 - 3
    soft = 1 / (1 + np.exp(-k * x))
    predictions = {model: predict(model, k, x) for model in "ABCD"}
    return Sample(x=x, soft=soft, hard=(x >= 0).astype(float), predictions=predictions)


@pytest.mark.parametrize("k", [*SIGNALS, 0.3])
@pytest.mark.parametrize("metric", METRICS)
def test_closed_forms_against_a_fine_grid(k, metric):
    sample = on_a_grid(k)
    for model in "ABCD":
        assert theory.limit(model, metric, k) == pytest.approx(by_hand(sample, model, metric), abs=2e-5)
    means, _ = theory.joint(metric, k, 10**12)
    np.testing.assert_allclose(means, [theory.limit(model, metric, k) for model in MODELS], atol=5e-7)


def simulate(k: float, n: int, runs: int, *, drawn: bool = False) -> np.ndarray:
    """SMECE and ECE of the five models in many runs: runs × measures × models. Nothing of the library."""
    rng = np.random.default_rng(17)
    values = np.empty((runs, 2, 5))
    for run in range(runs):
        x = rng.uniform(-3, 3, n)
        soft = 1 / (1 + np.exp(-k * x))
        hard = rng.random(n) < soft if drawn else x >= 0
        for at, model in enumerate(MODELS):
            f = rng.random(n) if model == "E" else predict(model, k, x)
            b = np.minimum((10 * f).astype(int), 9)
            values[run, :, at] = [np.abs(np.bincount(b, f - labels, minlength=10)).sum() / n for labels in (soft, hard)]
    return values


@pytest.mark.parametrize(("k", "n"), [(2.0, 500), (0.5, 1000), (10.0, 300)])
def test_laws_against_simulation(k, n):
    runs = 1500
    values = simulate(k, n, runs)
    for row, metric in enumerate((SMECE, ECE)):
        for at, model in enumerate(MODELS):
            law, seen = theory.law(model, metric, k, n), values[:, row, at]
            loose = 0.0 if law.kind == "closed form" else 0.02  # bins of few rows are not quite normal
            assert seen.mean() == pytest.approx(law.mean, abs=(4 / np.sqrt(runs) + loose) * law.sd + 1e-9)
            assert seen.std() == pytest.approx(law.sd, abs=(4 / np.sqrt(2 * runs) + loose) * law.sd + 1e-9)
        for i, j in PAIRS:
            seen = (values[:, row, list(MODELS).index(i)] < values[:, row, list(MODELS).index(j)]).mean()
            expected = theory.chance_below(i, j, metric, k, n)
            error = np.sqrt(expected * (1 - expected) / runs)
            assert seen == pytest.approx(expected, abs=4 * error + 0.01)  # a difference is not quite normal


def test_law_of_drawn_outcomes_against_simulation():
    runs, n = 1500, 800
    seen = simulate(2.0, n, runs, drawn=True)[:, 1, 0]
    law = theory.law("A", ECE, 2.0, n, drawn=True)
    assert seen.mean() == pytest.approx(law.mean, abs=4 * law.sd / np.sqrt(runs) + 2e-4)
    assert seen.std() == pytest.approx(law.sd, rel=0.08)


def test_folded_normal():
    centre, spread = np.array([0.3, -0.2, 0.0, 0.7, -0.1]), np.array([0.5, 0.1, 0.4, 0.0, 0.4])
    certain = np.array([False, False, False, False, True])
    sizes, covariance = theory._folded(centre, np.diag(spread**2), certain)
    known = foldnorm(np.abs(centre[:3]) / spread[:3], scale=spread[:3])
    np.testing.assert_allclose(sizes, [*known.mean(), 0.7, 0.1], rtol=1e-12)
    np.testing.assert_allclose(np.diag(covariance), [*known.var(), 0.0, 0.16], rtol=1e-10, atol=1e-15)


def test_chance_below_without_spread():
    assert theory.chance_below("A", "D", SMECE, 0.5, 1000) == 1.0  # 0 and 0.15 in every sample
    assert theory.chance_below("D", "A", SMECE, 0.5, 1000) == 0.0


@pytest.mark.parametrize("tau", [0.05, 0.3, 0.37, 0.5, 0.55, 0.93])
@pytest.mark.parametrize("k", [0.5, 2.0, 7.0])
def test_threshold_limit_against_a_fine_grid(tau, k):
    f = on_a_grid(k).soft
    y, b = f > tau, np.minimum((10 * f).astype(int), 9)
    expected = np.abs(np.bincount(b, f - y, minlength=10)).sum() / len(f)
    assert threshold_limit(tau, k) == pytest.approx(expected, abs=2e-5)


def test_the_limit_of_the_paper():
    """(ln 2 − ln(1 + e⁻⁶)) / 6 = 0.11511."""
    assert theory.shortfall(2.0) == pytest.approx(0.1151119, abs=1e-7)
    assert threshold_limit(0.5, 2.0) == pytest.approx(theory.shortfall(2.0), abs=1e-15)
