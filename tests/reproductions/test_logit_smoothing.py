"""The logit-smoothing paper's experiments: the whole quick run, and the closed forms they lean on against brute force."""

import itertools
import math
from pathlib import Path

import brute
import numpy as np
import pytest

import reproductions
import trueness
from reproductions import reproduce
from reproductions.lab import Lab
from reproductions.logit_smoothing import cifar, continuity, densities, finite, imagenet, jumps, slopes, square, two_points
from reproductions.logit_smoothing.classifiers import Rows
from reproductions.logit_smoothing.finite import Finite
from reproductions.logit_smoothing.gaussians import Pair, mean_deviation

pytestmark = pytest.mark.full

# The paper's statements that do not hold as they stand; the reasons are in the table.
FAILS = {
    "Theorem 3.2: where (3.1) holds, ECE jumps",
    "exponent of n, P(|h(X)| > x) = (1 + x)^(−1/2), exact",
    "|ECE − LS-ECE, uniform noise| of every model, 10 to 100 bins",
    "Figure 4: |ECE − LS-ECE, Gaussian noise|, 1 bin, σ = 1",
    "Figure 5 against Figure 4, 1 bin, σ = 1",
    "the same with 1 bin, σ = 1",
}
FIGURES = {
    "theorem-3-2",
    "proposition-3-5",
    "theorem-4-5",
    "lemma-5-2",
    "theorem-5-3",
    "theorem-5-4",
    "figure-2",
    "figure-3",
    "figure-4",
    "figure-5",
    "figure-4-models",
}


@pytest.fixture(scope="module")
def quick(shared, tmp_path_factory):
    return reproduce("logit-smoothing", quick=True, data=shared / "data", out=tmp_path_factory.mktemp("figures"))


@pytest.fixture(scope="module")
def findings(quick):
    return {finding.what: finding for found in quick.findings.values() for finding in found}


def test_every_part_ran(quick):
    assert not quick.missing
    assert len(quick.findings) == 10


def test_figures(quick):
    assert {Path(path).stem for path in quick.figures} == FIGURES
    assert all(Path(path).stat().st_size > 10_000 for path in quick.figures)


def test_nothing_differs_without_its_reason(findings):
    bad = {what: finding for what, finding in findings.items() if finding.verdict in ("differs", "fails")}
    assert set(bad) == FAILS
    assert all(finding.why for finding in bad.values())


@pytest.mark.parametrize(
    "what",
    [
        "binned ECE, even numbers of bins",
        "exponent of n, h(X) ~ N(0, 1), exact, n from 1e7 to 1e8",
        "exponent of n, calibrated under the noise, σ = 0.1",
        "exponent of n, calibrated under the noise, σ = 0.4",
        "exponent of σ, calibrated under the noise, n = 8000",
    ],
)
def test_printed_numbers(findings, what):
    assert findings[what].verdict == "matches"


def test_without_data_the_files_are_named(monkeypatch):
    experiments = [
        part for part in reproductions.logit_smoothing.PAPER.experiments if "CIFAR" in part.title or "Net" in part.title
    ]
    paper = reproductions.Paper(title="", citation="", experiments=tuple(experiments))
    monkeypatch.setattr("reproductions.logit_smoothing.PAPER", paper)
    told = " ".join(reproduce("logit-smoothing", quick=True).missing.values())
    for file in (*cifar.MODELS.values(), *imagenet.MODELS.values()):
        assert file in told
    assert "github.com/hollance/reliability-diagrams" in told


@pytest.mark.parametrize("run", [two_points.definition_3_1, two_points.figure_2, square.proposition_3_5])
def test_the_same_seed_gives_the_same_findings(run):
    first, again = (list(run(Lab(quick=True, seed=3))) for _ in range(2))
    assert first == again


def test_another_seed_gives_other_draws():
    first, other = (list(two_points.figure_2(Lab(quick=True, seed=seed))) for seed in (3, 4))
    assert first != other


# ------------------------------------------------------------------------------------------------- finite distributions


def partitions(points):
    """All ways to take a list apart."""
    if not points:
        yield []
        return
    first, *rest = points
    for part in partitions(rest):
        yield [[first], *part]
        for i in range(len(part)):
            yield [*part[:i], [first, *part[i]], *part[i + 1 :]]


def ece_of_groups(at, groups):
    return sum(abs(sum(at.mass[i] * (at.truth[i] - at.prediction[i]) for i in group)) for group in groups)


@pytest.mark.parametrize("seed", range(40))
def test_the_jump_is_the_best_of_all_ways_to_split_the_ties(seed):
    at = finite.draw(np.random.default_rng(seed))
    levels = [list(np.flatnonzero(at.prediction == p)) for p in np.unique(at.prediction)]
    assert at.true_ece() == pytest.approx(ece_of_groups(at, levels), abs=1e-14)
    ways = itertools.product(*(list(partitions(level)) for level in levels))
    best = max(ece_of_groups(at, [group for part in way for group in part]) for way in ways)
    gap = trueness.ece_continuity_gap(at.truth, at.prediction, mass=at.mass)
    assert best - at.true_ece() == pytest.approx(gap, abs=1e-13)
    assert at.opposed() == (gap > finite.SAME)


def test_criterion_by_hand():
    # one level set, p = 0.3; mean truth 0.5, hence | |0.2| − |0.1| | and | |0.2| − |0.3| |, each of mass 1/2
    pair = Finite(mass=np.array([0.5, 0.5]), truth=np.array([0.4, 0.6]), prediction=np.array([0.3, 0.3]))
    assert pair.sizes() == pytest.approx([0.05, 0.05])
    assert pair.true_ece() == pytest.approx(0.2)
    assert not pair.opposed()
    for by in ([0, 1e-6], [1e-6, 0], [-1e-6, 1e-6]):  # however it is moved
        assert pair.moved(np.array(by)).true_ece() == pytest.approx(0.2, abs=2e-6)
    assert trueness.ece_continuity_gap(pair.truth, pair.prediction) == pytest.approx(0, abs=1e-15)


def test_points_without_mass_have_no_say():
    at = Finite(mass=np.array([1.0, 0.0]), truth=np.array([0.4, 0.0]), prediction=np.array([0.3, 0.3]))
    assert at.sizes().max() == 0
    assert not at.opposed()
    nothing = Finite(mass=np.array([1.0, 0.0]), truth=np.array([0.4, 0.0]), prediction=np.array([0.3, 0.8]))
    assert nothing.sizes() == pytest.approx([0, 0])


def test_splits_take_all_points_apart_first():
    moves = finite.splits(np.random.default_rng(0), 5, 1e-3, 7)
    assert moves.shape == (7, 5)
    assert len(set(moves[0])) == 5
    assert np.abs(moves).max() <= 1e-3


def test_what_is_looked_at_has_all_kinds():
    seen = jumps.look(Lab(quick=True), 300)
    assert seen.jumps.any()
    assert (~seen.jumps & (seen.size > finite.SAME)).any()
    assert (seen.size <= finite.SAME).any()


# ------------------------------------------------------------------------------------------------------- Proposition 3.5


@pytest.mark.parametrize("cells", [4, 16, 100])
def test_square_by_quadrature(cells):
    x = (np.arange(20_000 * cells) + 0.5) / (20_000 * cells)
    low, high = (square.perturbed(x, np.full(len(x), above), cells) for above in (False, True))
    assert np.abs(low - x).max() < 1 / cells
    assert np.abs(high - x).max() < 1 / cells
    assert not set(low) & set(high)
    by_hand = np.mean((1 - x) * low + x * (1 - high))
    assert square.closed_form(1 / cells) == pytest.approx(by_hand, abs=1e-8)
    at = square.atoms(cells)
    assert at.mass.sum() == pytest.approx(1)
    assert at.true_ece() == pytest.approx(by_hand, abs=1e-8)


# ------------------------------------------------------------------------------------------------------------ continuity


@pytest.mark.parametrize("noise", ["gaussian", "uniform"])
@pytest.mark.parametrize("reach", [1e-3, 0.05, 0.5])
def test_bound_by_quadrature(noise, reach):
    u, step = np.linspace(-3, 3, 600_001, retstep=True)

    def density(at):
        if noise == "uniform":
            return (np.abs(at) <= 0.05) / 0.1
        return np.exp(-((at / 0.1) ** 2) / 2) / (0.1 * math.sqrt(2 * math.pi))

    total = np.abs(density(u) - density(u - reach)).sum() * step
    assert continuity.bound(noise, reach, 0.1) == pytest.approx(total, rel=2e-3, abs=3e-4)


# ------------------------------------------------------------------------------------------------------------ two points


@pytest.mark.parametrize("sigma", [1.0, 0.1, 0.02])
def test_two_points_closed_form(sigma):
    expected = brute.ls_ece_gaussian(two_points.LABELS, two_points.SCORES, sigma=sigma)
    assert two_points.closed_form(sigma) == pytest.approx(expected, rel=1e-6)


def test_two_points_are_calibrated_under_noise_of_the_root():
    assert two_points.closed_form(math.sqrt(two_points.ALPHA)) < 1e-12


# -------------------------------------------------------------------------------------------------------------- Gaussians


@pytest.mark.parametrize("sigma", [0.1, 0.7])
def test_pair_against_the_metric_on_soft_labels(sigma):
    pair = Pair(mu=1.0, s=2.0)
    h = np.linspace(-13, 13, 20_001)
    mass = np.exp(-((h - 1) ** 2) / 8) + np.exp(-((h + 1) ** 2) / 8)
    truth, f = 1 / (1 + np.exp(-h / 2)), 1 / (1 + np.exp(-h))  # the likelihood ratio of the two labels at h is h/2
    assert pair.ls_ece(sigma) == pytest.approx(
        trueness.logit_smoothed_ece(truth, f, bandwidth=sigma, sample_weight=mass), rel=1e-5
    )


def test_pair_without_noise_is_the_true_ece():
    pair = Pair(mu=1.0, s=2.0)
    h = np.random.default_rng(1).normal(1, 2, 1_000_000)  # by symmetry one label is enough
    gap = np.abs(1 / (1 + np.exp(-h / 2)) - 1 / (1 + np.exp(-h)))
    assert pair.ls_ece(0) == pytest.approx(gap.mean(), abs=5 * gap.std() / 1000)


def test_pure_noise_against_draws():
    rng, pair = np.random.default_rng(2), Pair(mu=1.045, s=math.sqrt(2))  # 2μ = s² + 0.3²
    seen = np.array([trueness.logit_smoothed_ece(*pair.draw(rng, 5_000), bandwidth=0.3) for _ in range(200)])
    assert pair.ls_ece(0.3) < 1e-12
    assert pair.pure_noise(0.3, 5_000) == pytest.approx(seen.mean(), rel=0.04)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_mean_deviation_by_its_sum(n):
    for p in (0.01, 0.3, 0.5, 0.77):
        by_hand = sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) * abs(k - n * p) for k in range(n + 1))
        assert mean_deviation(n, np.array([p]))[0] == pytest.approx(by_hand, rel=1e-10)


# -------------------------------------------------------------------------------------------------------------- densities


@pytest.mark.parametrize("window", [densities.light, densities.heavy])
def test_windows_by_draws(window):
    rng = np.random.default_rng(3)
    size = 400_000
    side = rng.choice([-1, 1], size)
    h = rng.standard_normal(size) if window is densities.light else side * ((1 - rng.random(size)) ** -2.0 - 1)
    for u in (0.0, 0.3, 0.5, 2.0, 9.0):
        share = np.mean(np.abs(h - u) <= densities.WIDTH / 2)
        assert window(np.array([u]))[0] == pytest.approx(share, abs=5 * math.sqrt(0.25 / size))


def test_l1_error_by_draws():
    rng, n = np.random.default_rng(4), 1_000
    u, step = np.linspace(-6, 6, 12_001, retstep=True)
    truth = densities.light(u)
    errors = []
    for _ in range(60):
        h = np.sort(rng.standard_normal(n))
        count = np.searchsorted(h, u + 0.5, "right") - np.searchsorted(h, u - 0.5, "left")
        errors.append(np.abs(count / n - truth).sum() * step)
    spread = np.std(errors) / math.sqrt(len(errors))
    assert densities.l1_error(densities.light, n) == pytest.approx(np.mean(errors), abs=4 * spread)


def test_the_heavy_tail_is_all_there():
    v = np.geomspace(1e-9, 1e17, 2_000_000)
    chance = densities.heavy(v)
    total = 2 * np.trapezoid(chance, v)  # windows of width 1 count everything once
    assert total == pytest.approx(1, abs=1e-4)


# ----------------------------------------------------------------------------------------------------------------- slopes


def test_slope_of_a_power_law_and_its_error():
    rng, x = np.random.default_rng(5), np.array([10.0, 100.0, 1000.0])
    found = [slopes.slope(x, [at**-0.5 * rng.exponential(1.0, 100) for at in x]) for _ in range(300)]
    values = np.array([slope.value for slope in found])
    assert values.mean() == pytest.approx(-0.5, abs=0.01)
    assert values.std() == pytest.approx(np.mean([slope.error for slope in found]), rel=0.15)


# -------------------------------------------------------------------------------------------------------------- published


def test_the_published_kernel_by_its_definition():
    rng = np.random.default_rng(6)
    f = rng.uniform(0.05, 0.95, 300)
    rows = Rows(y=(rng.random(300) < f).astype(np.float64), f=f)
    value = imagenet.wide_kernel(rows, 0.5, np.random.default_rng(7), draws=4_000)
    h = np.log(f / (1 - f))
    again = np.random.default_rng(7)
    u = again.choice(h, 4_000) + 0.5 * again.uniform(-0.5, 0.5, 4_000)
    near = np.abs(u[:, None] - h) <= 0.5
    assert value == pytest.approx(np.abs(near @ rows.y / near.sum(axis=1) - 1 / (1 + np.exp(-u))).mean(), rel=1e-9)
