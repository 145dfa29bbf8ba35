"""The cumulative paper's experiments: a quick run as a whole, and their pieces against brute force."""

import itertools
import math
import random
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import trueness
from reproductions import Lab, cumulative, reproduce
from reproductions.cumulative import captions, expectations, imagenet, laws, power, synthetic, theorems
from reproductions.cumulative.bins import ece1_and_ece2

pytestmark = pytest.mark.full

MATCHES = {
    "Figure 7: ECCE-MAD": "0.01243",
    "Figure 7: ECCE-MAD / σ_n": "5.512",
    "Figure 7: p of ECCE-MAD": "7.1e-8",
    "Figure 7: ECCE-R": "0.02291",
    "Figure 7: ECCE-R / σ_n": "10.16",
    "Figure 14, night snake: p of ECCE-MAD = 6.607 σ_n": "7.8e-11",
    "Figure 14, night snake: p of ECCE-R = 6.780 σ_n": "4.8e-11",
    "Figure 18, sidewinder: p of ECCE-MAD = 5.446 σ_n": "1.0e-7",
    "Figure 22, Eskimo dog: p of ECCE-MAD = 4.274 σ_n": "3.8e-5",
    "Figure 22, Eskimo dog: p of ECCE-R = 5.186 σ_n": "8.6e-7",
    "Section 3.1: mean of the max |B|, √(π/2), from its law": "1.2533",
    "Section 3.1: mean of the range of B, 2√(2/π), from its law": "1.5958",
}
FAILS = (
    "Figure 2, equispaced: score + t is a probability",
    "Figure 2, squared: score + t is a probability",
    "Figure 10: values of σ_n",
    "Figure 8: telling the two apart by ECE¹ or ECE²",
    "Figure 30, sunglasses: p of ECCE-MAD = 8.004 σ_n",
    "Figure 30, sunglasses: p of ECCE-R = 8.008 σ_n",
)


@pytest.fixture(scope="module")
def found(shared, tmp_path_factory):
    return reproduce("cumulative", quick=True, data=shared / "data", out=tmp_path_factory.mktemp("cumulative"))


def by_name(found):
    return {finding.what: finding for findings in found.findings.values() for finding in findings}


def test_every_experiment_runs_and_draws(found):
    assert not found.missing
    assert len(found.findings) == len(cumulative.PAPER.experiments)
    assert all(findings for findings in found.findings.values())
    names = {re.sub(r".*/|\.png", "", path) for path in found.figures}
    wanted = {f"figure-{number}" for number in (*range(1, 11), 35, 36)} | {"figures-11-14", "figures-27-30", "figures-31-34"}
    assert wanted <= names


def test_printed_numbers_match(found):
    table = by_name(found)
    for what, paper in MATCHES.items():
        assert (table[what].paper, table[what].verdict) == (paper, "matches"), table[what]
    assert table["Figure 7: p of ECCE-R"].ours == "1.202e-23"
    assert table["Figure 34, all classes: p of ECCE-R = 111.7 σ_n"].ours == "10^-2710.866"


def test_what_fails_is_known_and_explained(found):
    off = [finding for finding in by_name(found).values() if finding.verdict in ("differs", "fails")]
    assert len(off) == len(FAILS)
    for finding, start in zip(off, FAILS, strict=True):
        assert finding.what.startswith(start)
        assert re.search(r"\d", finding.why) or "scores alone" in finding.why or "true class" in finding.why


def test_the_same_seed_gives_the_same_findings():
    one, two, other = (list(theorems.theorems(Lab(quick=True, seed=seed))) for seed in (3, 3, 4))
    assert one == two
    assert one != other


def test_parts_without_their_data_are_listed(monkeypatch, tmp_path):
    real = replace(cumulative.PAPER, experiments=cumulative.PAPER.experiments[-3:])
    monkeypatch.setattr(cumulative, "PAPER", real)
    for data in (None, tmp_path):
        found = reproduce("cumulative", quick=True, data=data)
        assert not found.findings
        assert list(found.missing) == [experiment.title for experiment in real.experiments]
        assert all("imagenet_tv_resnet101.csv.gz" in need and "hollance" in need for need in found.missing.values())


# ----------------------------------------------------------------------------------------------- the synthetic data


def test_uniforms_are_those_of_the_random_module():
    twin = random.Random(987654321)
    assert synthetic.uniforms(3000).tolist() == [twin.random() for _ in range(3000)]


@pytest.mark.parametrize("n", [64, 1000, 32_768])
def test_the_staircase_is_read_from_octal_digits(n):
    digits = [format(round(j * 8**7 / n), "o") for j in range(n)]
    values = sorted(int("".join("0" if digit == "0" else "1" for digit in text), 2) / (2**7 * (1 - 2**-7)) for text in digits)
    np.testing.assert_allclose(synthetic.staircase(n), values, rtol=1e-15)


def test_shifts_and_chances():
    n = 32_768
    t = synthetic.shifts(n)
    assert t[0] == 0
    assert t[100] == pytest.approx(synthetic.staircase(n)[100] - 1 + math.exp(-math.exp(2) * 100 / n), abs=1e-15)
    for kind, score in (("equispaced", 0.5 / n), ("squared", (0.5 / n) ** 2), ("square-rooted", math.sqrt(0.5 / n))):
        assert synthetic.scores(kind, n)[0] == score
        chance = synthetic.probabilities(kind, n)
        assert 0 <= chance.min() <= chance.max() <= 1
        # clipping moves no outcome
        u = synthetic.uniforms(n)
        assert np.array_equal(synthetic.sample(kind, n).y == 1, u <= synthetic.scores(kind, n) + t)


# ------------------------------------------------------------------------------------------------------ closed forms


def test_the_law_of_successes_against_all_outcomes():
    chance = np.array([[0.1, 0.5, 0.8], [0.0, 1.0, 0.3]])
    wanted = np.zeros((2, 4))
    for row, p in enumerate(chance):
        for outcome in itertools.product((0, 1), repeat=3):
            wanted[row, sum(outcome)] += np.prod([q if hit else 1 - q for q, hit in zip(p, outcome, strict=True)])
    np.testing.assert_allclose(expectations.successes(chance), wanted, atol=1e-15)


@pytest.mark.parametrize("kind", synthetic.KINDS)
def test_expected_errors_against_draws(kind):
    f, chance = synthetic.scores(kind, 128), synthetic.probabilities(kind, 128)
    mean, spread = expectations.expected_errors(f, chance)
    drawn = power.drawn_errors(f, chance, 20_000, np.random.default_rng(5))[:, :2]
    np.testing.assert_array_less(np.abs(drawn.mean(axis=0) - mean) / (np.array(spread) / math.sqrt(20_000)), 4)
    np.testing.assert_allclose(drawn.std(axis=0), spread, rtol=0.03)


@pytest.mark.parametrize("draws", [1, 2, 16])
def test_floors_against_quadrature(draws):
    nodes, weights = np.polynomial.legendre.leggauss(40)
    total = 0.0
    for piece in range(draws):  # |B/N − s| has kinks at k/N
        s = (piece + (nodes + 1) / 2) / draws
        counts = np.arange(draws + 1)[:, None]
        total += weights @ (binom.pmf(counts, draws, s) * np.abs(counts / draws - s)).sum(axis=0) / (2 * draws)
    assert expectations.floors(draws).ece1 == pytest.approx(total, rel=1e-12)
    assert expectations.floors(draws).ece2 == pytest.approx(1 / (6 * draws))
    assert expectations.floors(1).ece1 == pytest.approx(1 / 3)  # ∫ 2s(1 − s) ds


def test_limits_against_the_largest_staircase():
    n = 8**7
    c = np.cumsum(synthetic.shifts(n)) / n
    assert expectations.limits()[0] == pytest.approx(np.abs(c).max(), abs=2e-6)
    assert expectations.limits()[1] == pytest.approx(max(c.max(), 0) - min(c.min(), 0), abs=2e-6)


@pytest.mark.parametrize("kind", synthetic.KINDS)
def test_kernels_agree_with_the_library(kind):
    data = synthetic.sample(kind, 8_192)
    np.testing.assert_allclose(expectations.binned_errors(*data), ece1_and_ece2(data, 8_192 // 16, "quantile"), rtol=1e-12)
    cumulative_error = expectations.cumulative_errors(*data)
    assert cumulative_error.mad == pytest.approx(trueness.ecce_mad(*data), abs=1e-13)
    assert cumulative_error.range == pytest.approx(trueness.ecce_r(*data), abs=1e-13)
    rows = expectations.cumulative_errors(np.stack([data.y, 1 - data.y]), data.f)
    assert rows.mad[0] == cumulative_error.mad
    assert rows.range[1] == pytest.approx(trueness.ecce_r(1 - data.y, data.f), abs=1e-13)


def test_moments_of_the_laws():
    catalan = 0.915965594177219015
    mad, spread = laws.moments("ECCE-MAD"), laws.moments("ECCE-R")
    assert mad.mean == pytest.approx(math.sqrt(math.pi / 2), abs=1e-12)
    assert spread.mean == pytest.approx(2 * math.sqrt(2 / math.pi), abs=1e-12)
    assert mad.deviation**2 + mad.mean**2 == pytest.approx(2 * catalan, abs=1e-10)  # Feller's moments
    assert spread.deviation**2 + spread.mean**2 == pytest.approx(4 * math.log(2), abs=1e-10)


def test_the_largest_interval_by_brute_force():
    y, f = np.array([1.0, 0, 0, 1, 1]), np.array([0.1, 0.3, 0.5, 0.6, 0.9])
    wanted = max(abs((y - f)[a:b].sum()) / 5 for a in range(5) for b in range(a + 1, 6))
    assert theorems.largest_over_intervals(y, f) == pytest.approx(wanted)


# ------------------------------------------------------------------------------------------------ bins, captions, data


def test_ece2_is_the_square_of_the_norm():
    data = synthetic.sample("squared", 1_024)
    at = np.minimum((data.f * 10).astype(int), 9)
    gaps = [np.mean((data.y - data.f)[at == b]) for b in range(10)]
    found = ece1_and_ece2(data, 10, "uniform")
    assert found.ece1 == pytest.approx(np.mean(np.abs(gaps)))
    assert found.ece2 == pytest.approx(np.mean(np.square(gaps)))


def test_quotients_of_rounded_numbers():
    low, high = captions._quotient("0.5", "2.0")
    assert (low, high) == pytest.approx((0.45 / 2.05, 0.55 / 1.95))


def test_the_five_classes_hold_fifty_images_each(shared):
    each = imagenet.load(Lab(data=str(shared / "data")), "resnet34")
    assert len(each.f) == 50_000
    assert all(len(each.of(label).f) == 50 for label in imagenet.CLASSES.values())
    assert each.y.mean() == pytest.approx(np.mean(each.label == each.predicted))
