"""The paper on SmoothECE, redone quickly: its printed numbers, reasons for what differs, and the pieces by themselves."""

import math

import brute
import numpy as np
import pytest
from datasets import figures

import trueness
from reproductions import Lab, Reproduction, reproduce
from reproductions.smooth_ece import PAPER, continuity, diagrams, distance, kernel, sampling
from reproductions.smooth_ece.rows import (
    Rows,
    anything,
    calibrated,
    ece,
    flares,
    imagenet,
    rain,
    sine,
    sine_fixed_point,
    sine_smooth_ece,
    sine_truth,
)

pytestmark = pytest.mark.full

FIGURES = ("figure-1", "figure-2a", "figure-2b", "figure-2c", "figure-2d", "figure-3")
FIGURES += ("lemma-1", "lemma-10", "theorem-6", "theorem-9", "theorem-17")
NEEDS_DATA = {"2a": "imagenet_resnet34.csv.gz", "2b": "solar_flares_c1.csv", "2c": "rain_finland_2003.txt"}


@pytest.fixture(scope="module")
def redone(shared, tmp_path_factory) -> Reproduction:
    return reproduce("smooth-ece", quick=True, data=shared / "data", out=tmp_path_factory.mktemp("smooth-ece"))


def everything(redone: Reproduction) -> dict[str, object]:
    return {f"{title} | {found.what}": found for title, findings in redone.findings.items() for found in findings}


def test_every_experiment_ran_and_drew(redone):
    assert not redone.missing
    assert list(redone.findings) == [experiment.title for experiment in PAPER.experiments]
    assert all(redone.findings.values())
    names = [path.replace("\\", "/").rsplit("/", 1)[1] for path in redone.figures]
    assert sorted(names) == sorted(f"{name}.png" for name in FIGURES)


def test_what_differs_has_a_reason(redone):
    unexplained = [found for found in everything(redone).values() if found.verdict in ("differs", "fails") and not found.why]
    assert not unexplained


@pytest.mark.parametrize(
    ("what", "paper"),
    [
        ("Figure 2a: ResNet-34 on ImageNet | images", "50000"),
        ("Figure 2b: solar flares, DAFFS | days", "731"),
        ("Figure 2b: solar flares, DAFFS | days with a flare, %", "25.7"),
        ("Figure 2c: rain in Tampere | days", "346"),
        ("Figure 3: continuity | binned ECE of distribution 1, 20 bins", "0.06"),
        ("Figure 3: continuity | binned ECE of distribution 3, 20 bins", "0.31"),
        ("Figure 3: continuity | the same for the distribution itself, closed form", "0.31"),
    ],
)
def test_printed_numbers(redone, what, paper):
    found = everything(redone)[what]
    assert (found.paper, found.verdict) == (paper, "matches")


def test_what_does_not_hold_is_known(redone):
    off = {what.split(" | ")[1] for what, found in everything(redone).items() if found.verdict in ("differs", "fails")}
    assert off == {
        "the model",  # a misprint
        "algorithm 1 at σ*, ε = 0.001; 59 forecasts are 0 or 1",
        "theorem 20: dCE ≤ wCE, for f ∈ {0.4, 0.6} and P(y = 1) = ½",
        "footnote 2: area / σ for f = 1/2, P(y = 1) = 1/2",
        "E d_h(κ(f), f) ≲ smECE_h for h = logit: f = 10⁻⁶, P(y = 1) = 0.01",
        "algorithm 1 at σ = 0.1, ε = 0.01, scores of exactly 0",
        "3: ∫|K(t, t₀) − K(t, t₁)|dt · σ/|t₀ − t₁|",
    }


def test_the_same_seed_gives_the_same():
    run = [list(kernel.algorithms(Lab(quick=True, seed=seed))) for seed in (3, 3, 4)]
    assert run[0] == run[1] != run[2]


def test_without_data_the_files_are_named(monkeypatch):
    quick = [experiment for experiment in PAPER.experiments if experiment.title.startswith("Figure 2")]
    few = type(PAPER)(title=PAPER.title, citation=PAPER.citation, experiments=tuple(quick))
    monkeypatch.setattr("reproductions.smooth_ece.PAPER", few)
    redone = reproduce("smooth-ece", quick=True)
    assert {title.split()[1].rstrip(":") for title in redone.missing} == set(NEEDS_DATA)
    for title, need in redone.missing.items():
        assert NEEDS_DATA[title.split()[1].rstrip(":")] in need
        assert "--data" in need
    assert [title.split(":")[0] for title in redone.findings] == ["Figure 2d"]


@pytest.mark.parametrize(
    ("read", "name"),
    [(imagenet, "imagenet_resnet34.csv.gz"), (flares, "solar_flares_c1.csv:DAFFS"), (rain, "rain_finland_2003.txt")],
)
def test_the_real_rows_are_those_of_the_reference(shared, read, name):
    rows, known = read(Lab(data=str(shared / "data"))), figures()[name]
    assert len(rows.f) == known["n"]
    assert trueness.smooth_ece(*rows) == pytest.approx(known["smooth_ece"], rel=1e-8)
    assert trueness.smooth_ece_area(*rows) == pytest.approx(known["smooth_ece_area"], rel=1e-6)
    assert trueness.binned_ece(*rows, bins=20) == pytest.approx(known["ece_width_20"], abs=1e-12)


def test_cross_validation_chooses_the_bins_of_the_authors_package(shared):
    # what its grid search over 10 to 24 bins finds on the same rows
    lab = Lab(data=str(shared / "data"))
    assert [diagrams.cross_validated_bins(read(lab)) for read in (imagenet, flares, rain)] == [15, 15, 10]


def test_the_sine():
    f = np.linspace(0, 1, 101)
    np.testing.assert_allclose(sine_truth(f), f + 0.1 * np.sin(8 * np.pi * f), atol=1e-12)
    assert sine_truth(f).min() >= 0
    assert sine_truth(f).max() <= 1
    grid = (np.arange(100_000) + 0.5) / 100_000
    for sigma in (0.01, 0.05, 0.2):
        assert sine_smooth_ece(sigma) == pytest.approx(trueness.smooth_ece(sine_truth(grid), grid, bandwidth=sigma), rel=1e-4)
    assert trueness.smooth_ece(sine_truth(grid), grid) == pytest.approx(sine_fixed_point(), rel=1e-4)
    assert ece(Rows(sine_truth(grid), grid)) == pytest.approx(0.2 / math.pi, rel=1e-6)


# ------------------------------------------------------------------------------------------------------- figure 3


def test_the_push_of_figure_3():
    rows = calibrated(np.random.default_rng(0), 200_000)
    moved = continuity.pushed(rows, 1.0)
    assert np.abs(moved - rows.f).max() <= 0.05
    np.testing.assert_allclose(continuity.pushed(rows, 0.5), (rows.f + moved) / 2)
    assert trueness.binned_ece(rows.y, moved, bins=20) == pytest.approx(np.abs(rows.y - moved).mean(), abs=1e-12)
    assert trueness.binned_ece(rows.y, moved, bins=20) == pytest.approx(continuity.separated_ece(), abs=0.002)


def test_binned_ece_of_calibrated_rows():
    rng = np.random.default_rng(1)
    values = [trueness.binned_ece(*calibrated(rng, 4000), bins=20) for _ in range(200)]
    assert np.mean(values) == pytest.approx(continuity.calibrated_ece(4000, 20), abs=4 * np.std(values) / math.sqrt(200))


# ------------------------------------------------------------------------------------------- kernel and algorithms


def test_the_kernel_is_that_of_smooth_ece():
    # one row: smECE_σ is |r| times the kernel's mass; two rows of opposite residual: half the integral of |K − K'|
    assert kernel.reflected(kernel.T, 0.03, 0.4).mean() == pytest.approx(1, abs=1e-9)
    for sigma in (0.05, 0.3, 1.0):
        apart = np.abs(kernel.reflected(kernel.T, 0.2, sigma) - kernel.reflected(kernel.T, 0.8, sigma)).mean()
        assert trueness.smooth_ece([1, 0], [0.2, 0.8], bandwidth=sigma) == pytest.approx(0.8 * apart / 2, rel=1e-6)


def test_algorithm_1_inside_and_at_the_ends():
    rows = sine(np.random.default_rng(2), 300)
    exact = trueness.smooth_ece(*rows, bandwidth=0.07)
    assert kernel.algorithm_1(rows, 0.07, 0.005) == pytest.approx(exact, abs=0.002)
    ends = Rows(np.array([0.0, 0.0, 1.0]), np.ones(3))
    half = kernel.algorithm_1(ends, 0.1, 0.002)
    assert half == pytest.approx(trueness.smooth_ece(*ends, bandwidth=0.1) / 2, abs=0.002)


def test_mean_error_of_calibrated_rows():
    # far from the ends ∫K² = 1/(2√π σ), and ∫√(t(1 − t))dt = π/8
    assert sampling.mean_error(1000, 0.01) == pytest.approx(
        math.sqrt(2 / math.pi) * math.pi / 8 / math.sqrt(2 * math.sqrt(math.pi) * 0.01 * 1000), rel=0.01
    )


# ------------------------------------------------------------------------------------------------------- distance


@pytest.mark.parametrize("seed", range(6))
def test_distance_is_that_of_the_other_programme(seed):
    rng = np.random.default_rng(seed)
    rows = anything(rng, 10) if seed % 2 else distance.few_scores(rng)
    assert distance.distance(rows, grid=60) == pytest.approx(brute.distance_to_calibration(*rows, grid=60), abs=1e-9)


def test_distance_by_hand():
    assert distance.distance(Rows(np.array([1.0]), np.array([0.25]))) == pytest.approx(0.75)
    assert distance.distance(Rows(np.array([0.0, 1.0]), np.array([0.5, 0.5]))) == pytest.approx(0.0, abs=1e-12)
    assert distance.distance(Rows(np.array([0.0, 1.0] * 2), np.array([0.3] * 4))) == pytest.approx(0.2)
