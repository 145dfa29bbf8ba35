"""Rows that come in clusters: draws flip whole clusters, and nothing is surer than for independent rows."""

import hashlib
import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit, ndtri, stdtrit
from scipy.stats import binom

from trueness import (
    assess,
    calibration_test,
    confidence_interval,
    group_tests,
    noise_floor,
    summarize,
)
from trueness.data.sample import as_sample
from trueness.errors import InputError
from trueness.inference.simulation import Needs, Resampling
from trueness.metrics.registry import METRICS, bind

NORMS = ("binned_ece", "soft_mean_ece", "smooth_ece", "logit_smoothed_ece", "ecce_mad", "ecce_r", "weak_calibration_error")


def world(seed, clusters=60, repeats=5, likeness=0.5, scores=None, shared=False):
    """A calibrated model on rows that come in clusters, whose outcomes are alike by a latent correlation."""
    rng = np.random.default_rng(seed)
    sizes = np.broadcast_to(repeats, (clusters,))
    g = np.repeat(np.arange(clusters), sizes)
    one = (lambda n: rng.random(n)) if scores is None else (lambda n: rng.beta(*scores, n))
    f = one(clusters)[g] if shared else one(len(g))
    latent = math.sqrt(likeness) * rng.standard_normal(clusters)[g] + math.sqrt(1 - likeness) * rng.standard_normal(len(g))
    return (latent < ndtri(f)).astype(np.int64), f, g


Y, F, G = world(3)


def resampling(y, f, g, metric="ecce_r", w=None):
    return Resampling(as_sample(y, f, w, cluster=g), [bind(metric, None, what="metric")])


@pytest.mark.parametrize("clusters", [12, 50, 3000])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_draw_is_the_sum_of_clusters_with_random_signs(clusters, weighted):
    rng = np.random.default_rng(clusters)
    n = 4000
    g, f = rng.integers(0, clusters, n), np.round(rng.random(n), 2)
    y, w = (rng.random(n) < f).astype(float), rng.random(n) + 0.5 if weighted else None
    points = as_sample(y, f, w, cluster=g).points()
    signs = points.sampler._signs(np.random.default_rng(0), 3)
    drawn, flips = points.sampler.null(np.random.default_rng(0), 3), points.sampler.flips(np.random.default_rng(0), 3)

    w = np.ones(n) if w is None else w / w.mean()
    e = w * (y - f)
    c = math.sqrt(max(1.0, np.sum(w**2 * f * (1 - f)) / np.sum(e**2)))
    named = sorted(np.unique(g).tolist(), key=lambda name: hashlib.md5(str(name).encode(), usedforsecurity=False).digest())
    units = signs.shape[1]
    place = {name: k % units for k, name in enumerate(named)}
    k = np.array([place[name] for name in g.tolist()])
    assert units == min(len(named), 1024)
    scores = np.unique(f)
    for draw, row, centred in zip(signs.astype(float), drawn, flips, strict=True):
        sums = np.array([np.sum((draw[k] * e)[f == x]) for x in scores])
        assert row == pytest.approx(c * sums, abs=1e-4)
        share = np.bincount(k, w, minlength=units) / w.sum()
        total = np.array([np.sum(e[f == x]) for x in scores])
        leverage = draw / (1 - share)
        sums = np.array([np.sum((leverage[k] * e)[f == x]) for x in scores])
        assert centred == pytest.approx(c * (sums - leverage @ share * total), abs=1e-4)


def test_signs_have_mean_0_and_variance_1_and_six_sizes_where_there_are_few():
    rng = np.random.default_rng(0)
    for clusters, sizes in ((39, 6), (40, 2)):
        y, f, g = world(1, clusters)
        sampler = as_sample(y, f, cluster=g).points().clustered
        signs = sampler._signs(rng, 4000)
        assert len(np.unique(np.round(signs, 6))) == sizes
        assert abs(signs.mean()) < 0.02
        assert signs.var() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("metric", ["binned_ece", "ecce_mad", "ecce_r", "weak_calibration_error"])
def test_repeating_every_row_within_its_cluster_tells_nothing_more(metric):
    """Draws of rows given five times are those of the rows given once, five times as large.

    Smooth metrics look closer where there are more rows.
    """
    y, f, g = Y[::5], F[::5], G[::5]
    once, often = (
        resampling(*(np.repeat(column, times) for column in (y, f, g)), metric).draw(7, 199, [Needs(flips=True)])[0]
        for times in (1, 5)
    )
    assert often.null == pytest.approx(once.null, rel=1e-5)
    assert often.perfect == pytest.approx(once.perfect, rel=1e-5)


@pytest.mark.parametrize("statistic", ["ecce_r", "ecce_mad", "smooth_ece", "combined", "cox", "spiegelhalter", "brier_score"])
def test_p_is_never_below_that_of_independent_rows(statistic):
    shared = {"statistic": statistic, "rng": 1, "resamples": 199}
    alone, own = calibration_test(Y, F, **shared), calibration_test(Y, F, **shared, cluster=np.arange(len(Y)))
    clustered = calibration_test(Y, F, **shared, cluster=G)
    assert min(own.pvalue, clustered.pvalue) >= alone.pvalue
    assert (own.clusters, clustered.clusters, alone.clusters) == (len(Y), 60, 0)
    assert clustered.method == "simulated"
    assert "60 clusters flipped whole" in clustered.reason
    assert clustered.to_dict()["clusters"] == 60
    assert "clusters" not in alone.to_dict()
    for part in clustered.parts:
        (rival,) = (each for each in alone.parts if each.name == part.name)
        assert part.pvalue >= rival.pvalue


def test_few_clusters_are_said_to_be_few():
    y, f, g = world(5, 19, 10)
    assert "19 clusters flipped whole, below 20: approximate" in calibration_test(y, f, cluster=g, rng=0).reason
    assert "approximate" in confidence_interval(y, f, cluster=g, rng=0).method


@pytest.mark.parametrize("metric", NORMS)
def test_intervals_and_floors_are_never_closer_than_those_of_independent_rows(metric):
    y, f, g = world(2, likeness=0.8, shared=True)
    alone, by_clusters = (confidence_interval(y, f, metric=metric, rng=0, cluster=each) for each in (None, g))
    assert by_clusters.low <= alone.low <= alone.high < by_clusters.high
    assert by_clusters.clusters == 60
    assert "60 clusters flipped whole" in by_clusters.method
    assert "clusters" not in alone.to_dict()
    floors = [noise_floor(y, f, metric=metric, rng=0, resamples=99, cluster=each) for each in (None, g)]
    assert floors[1] > floors[0]


def test_the_upper_limit_of_one_bin_is_its_formula():
    """T = |Σwr|/W: what a cluster adds is its own sum, less its share of the whole."""
    w = np.where(G % 2, 1.0, 3.0)
    found = confidence_interval(Y, F, metric="binned_ece", options={"bins": 1}, rng=0, cluster=G, sample_weight=w)
    w = w / w.mean()
    e, total = w * (Y - F), w.sum()
    value = abs(e.sum()) / total
    v, own = np.sum(w**2 * F * (1 - F)), np.sum(e**2)
    shares = [np.sum(w[g == G]) / total for g in range(60)]
    sums = np.array([(np.sum(e[g == G]) - share * e.sum()) / (1 - share) for g, share in enumerate(shares)])
    by_clusters = max(1.0, v / own) * np.sum(sums**2) / total**2
    z, student = -ndtri(0.025), -stdtrit(59, 0.025)
    independent = max(own, v) / total**2 + value**2 * np.sum(w**2) / total**2
    variance = max(independent, by_clusters * (student / z) ** 2)
    kappa = np.sum(w**2 * np.abs(1 - 2 * F)) / np.sum(w**2)
    skew = kappa * z * np.sum(w**2) / (2 * total**2) * variance / independent
    assert found.value == pytest.approx(value)
    assert found.high == pytest.approx(value + skew * z + z * math.sqrt(variance + skew**2), rel=1e-4)


@pytest.mark.parametrize("off", [0.0, 0.3])
def test_limits_of_the_squared_norm_are_their_formulas(off):
    """T² − 2T·s ≤ T_n² ≤ T² + 2T·s + ‖ε‖², s from the direction of bins in which clusters differ most."""
    y, f, g = world(8, clusters=40, repeats=30, likeness=0.8, shared=True)
    f = np.clip(f - off, 0.0, 1.0)
    bound = bind("binned_ece", {"norm": "l2", "bins": 4}, what="metric")
    sample = as_sample(y, f, cluster=g)
    drawn = Resampling(sample, [bound]).draw(0, 1999, [Needs(null=False, flips=True)])[0]
    found = confidence_interval(y, f, metric="binned_ece", options={"norm": "l2", "bins": 4}, rng=0, cluster=g)

    e, bins, n = y - f, np.minimum((f * 4).astype(int), 3), len(y)
    c = math.sqrt(max(1.0, np.sum(f * (1 - f)) / np.sum(e**2)))
    sums = np.array(
        [[np.sum(e[(g == k) & (bins == b)]) - np.sum(g == k) / n * np.sum(e[bins == b]) for b in range(4)] for k in range(40)]
    )
    count = np.bincount(bins, minlength=4)
    deviations = c * 40 / 39 * sums[:, count > 0] / np.sqrt(count[count > 0] * n)
    worst, value = np.linalg.eigvalsh(deviations.T @ deviations).max(), found.value
    assert value**2 == pytest.approx(sum(np.sum(e[bins == b]) ** 2 / count[b] for b in range(4) if count[b]) / n)
    slack = -stdtrit(39, 0.025) * math.sqrt(worst)
    assert found.high == pytest.approx(min(slack + math.sqrt(slack**2 + value**2), 1.0), rel=1e-4)
    wider, slack = stdtrit(39, 0.025) / ndtri(0.025), -stdtrit(39, 0.0125) * math.sqrt(worst)
    most = (wider * np.sort(drawn.noise.flips)[math.ceil(2000 * (1 - 0.0125)) - 1]) ** 2
    low = math.sqrt(slack**2 + value**2 - most) - slack if value**2 > most else 0.0
    assert found.low == pytest.approx(low, rel=1e-4)
    assert (low > 0) == (off > 0)


@pytest.mark.parametrize("metric", ["binned_ece", "soft_mean_ece", "smooth_ece"])
def test_no_sign_is_certain_where_clusters_differ(metric):
    """Rows that are off by much keep the signs of what they show, but clusters of them need not."""
    y, f, g = world(8, clusters=40, repeats=30, shared=True)
    for cluster, same in ((None, False), (g, True)):
        drawn = resampling(y, f / 2, cluster, metric).draw(0, 99, [Needs(null=False, flips=True)])[0]
        flips = drawn.noise.flips
        each, signed = np.split(flips, 2, axis=1)
        assert np.array_equal(each, signed) == same


def test_neither_the_order_of_rows_nor_names_of_another_type_change_anything():
    order = np.random.default_rng(0).permutation(len(Y))
    settings = {"rng": 0, "resamples": 199}
    first = calibration_test(Y, F, cluster=G, **settings)
    assert calibration_test(Y[order], F[order], cluster=G[order], **settings) == first
    assert calibration_test(Y, F, cluster=[str(g) for g in G], **settings) == first
    assert calibration_test(Y, F, cluster=pd.Series(G, dtype="category"), **settings) == first


def test_weights_may_vary_within_a_cluster_and_rows_of_weight_zero_are_absent():
    w = np.random.default_rng(1).random(len(Y)) + 0.1
    w[G == 4] = 0.0
    kept = w > 0
    found = calibration_test(Y, F, cluster=G, sample_weight=w, rng=0, resamples=199)
    assert found == calibration_test(Y[kept], F[kept], cluster=G[kept], sample_weight=w[kept], rng=0, resamples=199)
    assert found.clusters == 59
    scaled = calibration_test(Y, F, cluster=G, sample_weight=w * 1e200, rng=0, resamples=199)
    assert scaled.pvalue == found.pvalue


def test_soft_labels_flip_as_they_are():
    rng = np.random.default_rng(0)
    soft = np.clip(F + np.repeat(rng.normal(0, 0.05, 60), 5), 0.0, 1.0)
    alone, found = (calibration_test(soft, F, cluster=g, rng=0, resamples=199) for g in (None, G))
    assert found.method == "simulated"
    assert found.pvalue >= alone.pvalue
    assert confidence_interval(soft, F, cluster=G, rng=0).high >= confidence_interval(soft, F, rng=0).high
    with pytest.raises(InputError, match="soft labels are probabilities"):
        calibration_test(soft, F, cluster=G, statistic="smooth_ece")
    (part,) = calibration_test(soft, F, cluster=G, rng=0, statistic="combined").parts
    assert part.name == "ecce_r"
    assert assess(soft, F, cluster=G).test.clusters == 60


def test_certain_predictions_that_were_wrong_are_set_apart_as_ever():
    y, f = np.append(Y, [1, 0]), np.append(F, [0.0, 0.0])
    found = calibration_test(y, f, cluster=np.append(G, [0, 1]), rng=0)
    assert (found.pvalue, found.contradictions) == (0.0, 1)
    assert found.rest.clusters == 60
    assert found.rest.pvalue >= calibration_test(y, f, rng=0).rest.pvalue


def test_groups_keep_their_clusters():
    by = np.where(G < 30, "a", "b").astype(object)
    by[G == 59] = "alone"
    g = G.copy()
    tests = group_tests(np.tile(Y, 3), np.tile(F, 3), by=np.tile(by, 3), cluster=np.tile(g, 3), rng=0)
    assert [(each.group, each.test.clusters if each.test else each.reason) for each in tests] == [
        ("a", 30),
        ("alone", "one cluster"),
        ("b", 29),
    ]


def test_assess_takes_clusters_as_an_array_or_as_a_column():
    frame = pd.DataFrame({"y": Y, "p": F, "question": G, "half": np.where(G < 30, "a", "b")})
    by_array = assess(Y, F, cluster=G, by=frame["half"])
    by_column = assess(frame, outcome="y", prediction="p", cluster="question", by="half")
    assert by_array.to_dict() == by_column.to_dict()
    assert by_array.test == calibration_test(Y, F, statistic="combined", cluster=G, rng=0)
    assert by_array["ecce_r"].test == calibration_test(Y, F, cluster=G, rng=0)
    assert by_array.interval == confidence_interval(Y, F, cluster=G, rng=0)
    assert "60 clusters flipped whole" in repr(by_array)
    assert [each.test.clusters for each in by_array.groups] == [30, 30]
    json.dumps(by_array.to_dict())
    assert assess(frame, outcome="y", prediction="p", cluster=G).to_dict() == assess(Y, F, cluster=G).to_dict()


def test_what_is_off_in_all_clusters_alike_is_no_noise():
    """Twenty large clusters of independent rows: the floor is that of independent rows, not a share of the error."""
    rng = np.random.default_rng(0)
    f = rng.random(20_000)
    y = (rng.random(20_000) < np.clip(f - 0.1 * (f > 0.5), 0, 1)).astype(int)
    floors = [noise_floor(y, f, metric="binned_ece", rng=0, resamples=199, cluster=g) for g in (None, np.arange(20_000) % 20)]
    assert floors[1] < 1.5 * floors[0]


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        (G[:-1], "cluster: 299 values for 300 rows. Pass the cluster of each row."),
        (np.zeros(300), "cluster: all rows are of one cluster, so there is nothing to flip."),
        ([None, *G[1:].tolist()], r"cluster: 1 of 300 values is missing \(first: row 0\), and rows without a cluster"),
        (np.where(G > 57, np.nan, G), r"cluster: 10 of 300 values are missing \(first: row 290\)"),
        ("question", "cluster"),
        ([10**5000] * 300, "cluster: .* has no text by which to know it"),
        ([[1]] * 300, "cluster: 300 of 300 values are of a kind such as list, which cannot name a group"),
    ],
)
def test_clusters_that_cannot_be_used_are_refused(cluster, message):
    for function in (calibration_test, confidence_interval, noise_floor, assess):
        with pytest.raises(InputError, match=message):
            function(Y, F, cluster=cluster)
    with pytest.raises(InputError, match=message):
        group_tests(Y, F, by=np.zeros(300), cluster=cluster) if "nothing to flip" not in message else calibration_test(
            Y, F, cluster=cluster
        )


def test_clusters_in_another_order_than_the_outcomes_are_refused():
    y, g = pd.Series(Y), pd.Series(G)[::-1]
    with pytest.raises(InputError, match="cluster: 300 of 300 index labels are not in the order of y_true"):
        calibration_test(y, F, cluster=g)


def test_limit_laws_the_bootstrap_and_summaries_have_no_clusters():
    with pytest.raises(InputError, match="limit laws hold for independent rows"):
        calibration_test(Y, F, cluster=G, method="asymptotic")
    for statistic in ("cox", "smooth_ece"):
        with pytest.raises(InputError, match="limit law"):
            calibration_test(Y, F, cluster=G, method="asymptotic", statistic=statistic)
    with pytest.raises(InputError, match="the bootstrap draws rows, not clusters"):
        confidence_interval(Y, F, cluster=G, method="bootstrap")
    with pytest.raises(InputError, match="cluster: a summary does not tell rows apart"):
        calibration_test(summarize(Y, F), cluster=G)


def test_dropped_rows_take_their_clusters_along():
    f = F.copy()
    f[G == 7] = np.nan
    kept = G != 7
    with pytest.raises(InputError, match="y_prob: 5 of 300 values are missing"):
        assess(Y, f, cluster=G)
    found, expected = assess(Y, f, cluster=G, nan="drop"), assess(Y[kept], F[kept], cluster=G[kept])
    assert found.test == expected.test
    assert found.interval == expected.interval


@pytest.mark.full
@pytest.mark.parametrize("statistic", ["ecce_r", "combined"])
@pytest.mark.parametrize("scores", [None, (1, 20), (2, 200)])
def test_a_calibrated_model_on_repeated_rows_is_rejected_no_more_often_than_said(statistic, scores):
    """Also of few events: the fewer are seen, the less the residuals vary, and draws of these alone would reject 11 %."""
    samples, pvalues = 150, []
    for seed in range(samples):
        y, f, g = world(seed, 300, 10, 0.6, scores, shared=True)
        pvalues.append(calibration_test(y, f, cluster=g, statistic=statistic, rng=seed, resamples=99).pvalue)
    assert np.count_nonzero(np.array(pvalues) <= 0.05) <= binom.isf(1e-3, samples, 0.05)


@pytest.mark.full
@pytest.mark.parametrize("metric", ["ecce_r", "smooth_ece"])
def test_intervals_of_repeated_rows_cover(metric):
    """Over-confident by a slope of .7 on the logit scale."""
    samples, missed = 150, 0
    scores = np.linspace(0, 1, 200_001)[1:-1]
    truth = METRICS[metric].function(expit(0.7 * logit(scores)), scores)
    for seed in range(samples):
        rng = np.random.default_rng(seed)
        g, f = np.repeat(np.arange(300), 10), rng.random(3000)
        latent = math.sqrt(0.5) * rng.standard_normal(300)[g] + math.sqrt(0.5) * rng.standard_normal(3000)
        found = confidence_interval(latent < ndtri(expit(0.7 * logit(f))), f, cluster=g, metric=metric, rng=seed)
        missed += not found.low <= truth <= found.high
    assert missed <= binom.isf(1e-3, samples, 0.05)
