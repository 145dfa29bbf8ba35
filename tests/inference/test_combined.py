"""Cox, Spiegelhalter, Neyman, Hosmer-Lemeshow, kernel, and the test that combines them, against plain formulas."""

import json
import math
import re

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import chi2, norm

from trueness import TruenessError, calibration_test, group_tests, summarize
from trueness.data.sample import as_sample
from trueness.inference.combination import joint_pvalue
from trueness.inference.residual_statistics import COMBINED
from trueness.inference.slope import fitted_line

NAMES = ("cox", "spiegelhalter", "neyman", "hosmer_lemeshow", "kernel", "combined")
TEST = np.random.default_rng(4)
F = np.round(TEST.random(400), 2) * 0.98 + 0.01  # with ties
Y = (TEST.random(400) < F**1.3).astype(int)
W = np.exp(TEST.standard_normal(400))


def brute(name, y, f, w):
    """The statistics row by row, as they are defined."""
    order = np.argsort(f, kind="stable")
    y, f, w = y[order], f[order], w[order] / w.mean()
    r, v = w * (y - f), w * w * f * (1 - f)
    if name == "cox":
        x = np.stack([np.ones(len(f)), logit(f)])
        u = x @ r
        return u @ np.linalg.inv((x * v) @ x.T) @ u
    if name == "spiegelhalter":
        return abs(np.sum(r * (1 - 2 * f))) / np.sqrt(np.sum(v * (1 - 2 * f) ** 2))
    if name == "neyman":
        u = np.array([v[f < x].sum() + v[f == x].sum() / 2 for x in f]) / v.sum()
        z = [np.sum(r * np.cos(np.pi * k * u)) / np.sqrt(np.sum(v * np.cos(np.pi * k * u) ** 2)) for k in range(17)]
        return max(sum(a * a - 1 for a in z[:m]) / math.sqrt(2 * m) for m in range(1, 18))
    if name == "hosmer_lemeshow":
        middle = np.array([w[f < x].sum() + w[f == x].sum() / 2 for x in f]) / w.sum()
        found = []
        for bins in (64, 32, 16, 8, 4, 2, 1):
            group = np.floor(np.floor(middle * 64) / (64 // bins))
            cells = [group == g for g in np.unique(group)]
            square = sum(r[c].sum() ** 2 / v[c].sum() for c in cells)
            found.append((square - len(cells)) / math.sqrt(2 * len(cells)))
        return max(found)
    return (
        sum(r[i] * r[j] * math.exp(-(((f[i] - f[j]) / 0.03) ** 2) / 2) for i in range(len(f)) for j in range(len(f)))
        / w.sum() ** 2
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMES[:-1])
def test_values_are_those_of_the_definition(name, weighted):
    w = W if weighted else np.ones(len(F))
    found = calibration_test(Y, F, statistic=name, sample_weight=w if weighted else None, rng=0, resamples=99)
    assert found.method == "simulated"
    assert found.value == pytest.approx(brute(name, Y, F, w), rel=1e-6)


def test_tails():
    cox = calibration_test(Y, F, statistic="cox", method="asymptotic")
    assert cox.pvalue == pytest.approx(chi2.sf(brute("cox", Y, F, np.ones(400)), 2), rel=1e-9)
    found = calibration_test(Y, F, statistic="spiegelhalter", method="asymptotic")
    assert found.pvalue == pytest.approx(2 * norm.sf(brute("spiegelhalter", Y, F, np.ones(400))), rel=1e-9)
    constant = np.full(2000, 0.3)
    y = (np.arange(2000) < 650).astype(int)
    alike = calibration_test(y, constant, statistic="cox", method="asymptotic")
    assert alike.pvalue == pytest.approx(chi2.sf((650 - 600) ** 2 / 420, 1), rel=1e-9)
    with pytest.raises(TruenessError, match="no limit law"):
        calibration_test(Y, F, statistic="neyman", method="asymptotic")
    with pytest.raises(TruenessError, match="combined test is simulated"):
        calibration_test(Y, F, statistic="combined", method="asymptotic")
    assert calibration_test(Y[:50], np.full(50, 0.5), statistic="spiegelhalter", rng=0).pvalue == 1


def test_joint_pvalue_is_the_rank_of_the_smallest_rank():
    rng = np.random.default_rng(2)
    values = [rng.standard_normal(60) for _ in range(3)]
    ranks = [[sum(b >= a for b in each) / 60 for a in each] for each in values]
    smallest = [min(rank[i] for rank in ranks) for i in range(60)]
    pvalue, own = joint_pvalue(values)
    assert pvalue == sum(each <= smallest[0] for each in smallest) / 60
    assert own == [rank[0] for rank in ranks]


def test_size_of_the_combined_test():
    """400 calibrated samples of 50 rows: by its binomial law 5 % is exceeded 35 times with probability 1e-4."""
    rng, rejected = np.random.default_rng(5), 0
    for seed in range(400):
        f = rng.beta(1, 6, 50)
        y = (rng.random(50) < f).astype(int)
        rejected += calibration_test(y, f, statistic="combined", resamples=99, rng=seed).pvalue <= 0.05
    assert rejected <= 38


@pytest.mark.parametrize("name", NAMES)
def test_rows_and_summary_agree(name):
    rng = np.random.default_rng(3)
    f = rng.random(20_000)
    y = (rng.random(20_000) < np.clip(f + 0.02 * np.sin(20 * f), 0, 1)).astype(int)
    rows = calibration_test(y, f, statistic=name, rng=0, resamples=199)
    cells = calibration_test(summarize(y, f), statistic=name, rng=0, resamples=199)
    if name != "combined":
        assert cells.value == pytest.approx(rows.value, rel=0.05, abs=0.05)
    for part in rows.parts:  # the p of a part without a law is a rank among few draws, on other groups of scores
        assert next(p.value for p in cells.parts if p.name == part.name) == pytest.approx(part.value, rel=0.05, abs=0.05)


def test_far_tail_parts_and_words():
    rng = np.random.default_rng(3)
    f = rng.random(20_000)
    y = (rng.random(20_000) < f**3).astype(int)
    found = calibration_test(y, f, statistic="combined", rng=0, resamples=199)
    assert found.log10_pvalue < -300
    assert found.pvalue > 0
    assert found.shown.startswith("= ")
    assert {part.name for part in found.parts} == set(COMBINED)
    lawful = min(part.log10_pvalue for part in found.parts)
    assert found.log10_pvalue == pytest.approx(lawful + math.log10(2))
    held = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert held["parts"][0]["name"] == found.parts[0].name
    assert "cox = " in repr(found)
    assert calibration_test(y, f, statistic="combined", rng=0, resamples=199).to_dict() == found.to_dict()
    assert "parts" not in calibration_test(y, f).to_dict()


def test_every_part_says_what_it_saw():
    rng = np.random.default_rng(3)
    f = rng.random(8000)

    def words(truth):
        y = (rng.random(8000) < truth).astype(int)
        return {part.name: part.words for part in calibration_test(y, f, statistic="combined", rng=0, resamples=199).parts}

    slope = words(expit(0.7 * logit(f)))["cox"]
    assert re.fullmatch(r"slope 0\.\d\d: too extreme", slope)
    assert float(slope[6:10]) == pytest.approx(0.7, abs=0.06)
    assert re.fullmatch(r"slope 1\.\d\d: too moderate", words(expit(1.4 * logit(f)))["cox"])
    assert re.fullmatch(r"on the whole [45](\.\d)? points too low", words(expit(logit(f) + 0.3))["cox"])
    narrow = words(f - 0.4 * ((f > 0.5) & (f < 0.53)))
    assert re.fullmatch(r"near 0\.5\d? too high", narrow["kernel"])
    assert re.fullmatch(r"range 0\.\d\d–0\.\d\d too high", narrow["ecce_r"])
    assert words(f + 0.4 * f * (1 - f) * np.sin(8 * np.pi * f))["neyman"] == "waves"


def test_the_slope_is_that_of_the_largest_likelihood():
    """Both derivatives of the likelihood are 0 there."""
    points = as_sample(Y, F).points()
    line = fitted_line(points)
    p = expit(line.intercept + line.slope * logit(F))
    assert np.sum(Y - p) == pytest.approx(0, abs=1e-7)
    assert np.sum((Y - p) * logit(F)) == pytest.approx(0, abs=1e-7)
    assert fitted_line(as_sample([0, 1, 1, 0], [0.4] * 4).points()) is None
    assert fitted_line(as_sample([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]).points()) is None


@pytest.mark.parametrize("name", ["cox", "spiegelhalter", "neyman", "hosmer_lemeshow", "kernel"])
def test_the_simulated_null_is_that_of_every_outcome_there_is(name):
    """Ten scores, 1024 outcomes and the chance of each: what draws of the p-value may miss is known (4 standard errors)."""
    f = np.array([0.05, 0.11, 0.2, 0.28, 0.4, 0.47, 0.6, 0.71, 0.83, 0.9])
    every = np.array([[i >> k & 1 for k in range(10)] for i in range(1024)])
    chance = np.prod(np.where(every == 1, f, 1 - f), axis=1)
    values = np.array([brute(name, y, f, np.ones(10)) for y in every])
    for y in every[[3, 77, 500, 801]]:
        own = brute(name, y, f, np.ones(10))
        expected = chance[values >= own - 1e-5 * values.std() - 2e-6 * abs(own)].sum()
        found = calibration_test(y, f, statistic=name, rng=1, resamples=3999)
        assert found.pvalue == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 3999) + 1 / 4000)


@pytest.mark.parametrize(
    ("y", "f", "w"), [([1], [0.3], [1]), ([1, 0], [0.3, 0.3], [1, 1]), ([1, 1, 0], [0.2, 0.4, 0.4], [1e300, 1, 2])]
)
def test_few_outcomes_are_possible(y, f, w):
    """Where only a few outcomes are possible, all draws of the observed one tie with it."""
    found = calibration_test(y, f, statistic="combined", sample_weight=w, rng=0, resamples=3999)
    y, f, w = np.asarray(y), np.asarray(f), np.asarray(w) / np.max(w)
    every = np.array([[i >> k & 1 for k in range(len(f))] for i in range(1 << len(f))])
    chance = np.prod(np.where(every == 1, f, 1 - f), axis=1)
    size = np.abs((every - f) @ w)
    expected = chance[size >= np.abs((y - f) @ w) * (1 - 1e-6)].sum()
    assert found.pvalue == pytest.approx(expected, abs=0.03)


def test_scores_next_to_nothing():
    for scale in (1e-100, 1e-300, 5e-324):
        for name in NAMES:
            found = calibration_test(Y, np.full(len(Y), scale), statistic=name, rng=0, resamples=99)
            assert found.pvalue <= 0.011, (name, scale)


def test_an_unknown_name_lists_all_names():
    with pytest.raises(TruenessError, match=r"ecce_r.*cox.*combined"):
        calibration_test(Y, F, statistic="cocks")


def test_odd_data():
    for name in NAMES:
        assert calibration_test([0, 1, 1], [0.0, 1.0, 1.0], statistic=name).pvalue == 1
        wrong = calibration_test([1, *Y], [0.0, *F], statistic=name, resamples=99, rng=0)
        assert (wrong.pvalue, wrong.contradictions) == (0, 1)
        assert wrong.rest.pvalue == calibration_test(Y, F, statistic=name, resamples=99, rng=0).pvalue
        assert 0 < calibration_test([1], [0.3], statistic=name, rng=0).pvalue <= 1
        with pytest.raises(TruenessError, match="takes none"):
            calibration_test(Y, F, statistic=name, options={"bins": 3})
    soft = calibration_test(Y * 0.5 + 0.1, F, statistic="combined")
    assert [part.name for part in soft.parts] == ["ecce_r"]
    assert soft.pvalue == calibration_test(Y * 0.5 + 0.1, F).pvalue
    with pytest.raises(TruenessError, match="soft labels"):
        calibration_test(Y * 0.5, F, statistic="cox")
    groups = group_tests(Y, F, by=np.where(F < 0.5, "a", "b"), statistic="combined", rng=0, resamples=99)
    assert [each.test.statistic for each in groups] == ["combined"] * 2
