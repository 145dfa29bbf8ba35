"""The noise floor against plain simulation: outcomes drawn row by row, the metric of each, and their mean."""

import functools
import itertools
import math

import nulls
import numpy as np
import pytest

import trueness
from trueness import TruenessError, noise_floor

METRICS = ("binned_ece", "smooth_ece", "logit_smoothed_ece", "ecce_mad", "ecce_r")


def scores(kind, n, seed=7):
    rng = np.random.default_rng([n, seed])
    if kind == "uniform":
        return rng.random(n)
    if kind == "ten values":
        return rng.integers(0, 10, size=n) / 10 + 0.05
    return rng.beta(0.4, 1.2, n) if kind == "skewed" else rng.beta(2, 200, n)


def weights(n):
    return np.random.default_rng([n, 8]).gamma(1.5, size=n) + 0.05


# A bandwidth that no draw of SmoothECE goes below, by scores and rows.
FINEST = {("rare", 200): 2e-3, ("rare", 3000): 1e-3, ("skewed", 200): 8e-3, ("uniform", 200): 8e-3, ("ten values", 200): 8e-3}
DRAWS = {"binned_ece": 16_000, "ecce_mad": 10_000, "ecce_r": 10_000, "smooth_ece": 2500, "logit_smoothed_ece": 2500}


def draws_for(metric, kind, n):
    """Few rows are cheap to draw; few events vary more."""
    factor = 3 if n < 1000 else 1
    if kind == "rare":
        factor *= 2 if n < 1000 or metric == "binned_ece" else 1
    return factor * DRAWS[metric]


@functools.cache
def ecce_draws(kind, n, weighted):
    f, w = scores(kind, n), weights(n) if weighted else None
    rng = np.random.default_rng(1)
    blocks = range(draws_for("ecce_r", kind, n) // 500)
    return np.concatenate([nulls.ecce(nulls.residuals(rng, f, 500, w), f, w) for _ in blocks], axis=1)


def simulate(metric, kind, n, weighted):
    """The metric of many draws under calibration."""
    if metric in ("ecce_mad", "ecce_r"):
        return ecce_draws(kind, n, weighted)[int(metric == "ecce_r")]
    f, w = scores(kind, n), weights(n) if weighted else None
    rng, values = np.random.default_rng(1), []
    for _ in range(draws_for(metric, kind, n) // 500):
        e = nulls.residuals(rng, f, 500, w)
        if metric == "logit_smoothed_ece":
            values.append(nulls.logit_smoothed(e, f, w))
        elif metric == "smooth_ece":
            settings = {"finest": FINEST.get((kind, n), 5e-3), "length": 0.25 if kind == "rare" else 1.0}
            values.append(nulls.smooth(e, f, w, **settings, steps=12))
        else:
            values.append(nulls.binned(e, f, w))
    return np.concatenate(values)


@pytest.mark.full
@pytest.mark.parametrize("n", [200, 3000])
@pytest.mark.parametrize(
    ("kind", "weighted"), [("uniform", False), ("skewed", False), ("rare", False), ("ten values", False), ("uniform", True)]
)
@pytest.mark.parametrize("metric", METRICS)
def test_within_2_percent_of_plain_simulation(metric, kind, weighted, n):
    f = scores(kind, n)
    y = np.random.default_rng(2).random(n) < f
    drawn = simulate(metric, kind, n, weighted)
    expected = drawn.mean()
    assert drawn.std() / math.sqrt(len(drawn)) < 0.005 * expected  # the simulation itself is good enough to tell
    w, resamples = weights(n) if weighted else None, draws_for(metric, kind, n)
    assert noise_floor(y, f, metric=metric, sample_weight=w, resamples=resamples, rng=3) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("kind", ["uniform", "rare"])
def test_the_simulations_here_are_of_the_metrics(kind):
    """So that the comparison above means something: single draws against the public functions."""
    f, w = scores(kind, 200), weights(200)
    y = nulls.outcomes(np.random.default_rng(4), f, 5)
    e = (y - f) * w
    mad, spread = nulls.ecce(e, f, w)
    found = {
        "binned_ece": nulls.binned(e, f, w),
        "smooth_ece": nulls.smooth(e, f, w, finest=FINEST[kind, 200], length=0.25 if kind == "rare" else 1.0),
        "logit_smoothed_ece": nulls.logit_smoothed(e, f, w),
        "ecce_mad": mad,
        "ecce_r": spread,
    }
    for metric, drawn in found.items():
        assert drawn == pytest.approx([getattr(trueness, metric)(each, f, sample_weight=w) for each in y], rel=1e-3)


OTHERS = [
    ("binned_ece", {"bins": 7, "strategy": "quantile"}),
    ("binned_ece", {"norm": "l2"}),
    ("binned_ece", {"norm": "l2", "debias": True}),
    ("soft_mean_ece", {}),
    ("smooth_ece", {"bandwidth": 0.05}),
    ("smooth_ece", {"scale": "logit"}),
    ("logit_smoothed_ece", {"bandwidth": 1.0}),
    ("logit_smoothed_ece", {"noise": "uniform"}),
    ("weak_calibration_error", {}),
    ("brier_score", {}),
    ("log_loss", {}),
]


@pytest.mark.parametrize(("metric", "options"), [*((metric, {}) for metric in METRICS), *OTHERS])
def test_the_mean_over_all_outcomes(metric, options):
    """Six rows, two of them with the same score: E T(y*, f) is a sum over 64 outcomes."""
    f = np.array([0.13, 0.21, 0.37, 0.37, 0.64, 0.83])
    share, value = np.zeros(64), np.zeros(64)
    for k, outcome in enumerate(itertools.product((0, 1), repeat=6)):
        share[k] = np.prod(np.where(outcome, f, 1 - f))
        value[k] = getattr(trueness, metric)(np.array(outcome), f, **options)
    expected = share @ value
    error = math.sqrt(share @ (value - expected) ** 2 / 4000)
    floor = noise_floor([0, 1, 0, 1, 1, 0], f, metric=metric, options=options, resamples=4000, rng=6)
    assert abs(floor - expected) < 4 * error + 0.003 * expected  # draws of SmoothECE are interpolated


@pytest.mark.full
@pytest.mark.parametrize(("metric", "options"), OTHERS)
def test_other_metrics_and_options(metric, options):
    """Few draws of the public metric: within 4 standard errors of both simulations, and 2 %."""
    f = scores("uniform", 120)
    rng, function = np.random.default_rng(5), getattr(trueness, metric)
    drawn = np.array([function(y, f, **options) for y in nulls.outcomes(rng, f, 400)])
    floor = noise_floor(drawn[:120] > 0, f, metric=metric, options=options, resamples=1999, rng=6)
    assert abs(floor - drawn.mean()) < 4 * drawn.std() * math.sqrt(1 / 400 + 1 / 1999) + 0.02 * drawn.mean()


@pytest.mark.full
@pytest.mark.parametrize("bandwidth", [0.01, 1e-3, 2e-4])
def test_smooth_ece_at_a_narrow_bandwidth(bandwidth):
    """From rows the bandwidth asked for is the one used, however narrow."""
    f, rng = scores("uniform", 2500), np.random.default_rng(5)
    y = nulls.outcomes(rng, f, 2000 if bandwidth == 0.01 else 80)
    if bandwidth == 0.01:
        drawn = nulls.smooth_norm(nulls.cosines(y - f, f, finest=bandwidth), bandwidth)
        assert drawn[:3] == pytest.approx([trueness.smooth_ece(each, f, bandwidth=bandwidth) for each in y[:3]], rel=2e-3)
    else:
        drawn = np.array([trueness.smooth_ece(each, f, bandwidth=bandwidth) for each in y])
    assert drawn.std() / math.sqrt(len(drawn)) < 0.005 * drawn.mean()
    floor = noise_floor(y[0], f, options={"bandwidth": bandwidth}, resamples=2000, rng=6)
    assert floor == pytest.approx(drawn.mean(), rel=0.02)


@pytest.mark.full
@pytest.mark.parametrize("bandwidth", [0.1, 1e-3])
def test_logit_smoothed_ece_at_a_narrow_bandwidth(bandwidth):
    f = scores("uniform", 12_000)
    y = nulls.outcomes(np.random.default_rng(5), f, 1000 if bandwidth == 0.1 else 30)
    drawn = nulls.logit_smoothed(y - f, f, sigma=bandwidth)
    assert drawn[:3] == pytest.approx([trueness.logit_smoothed_ece(e, f, bandwidth=bandwidth) for e in y[:3]], rel=1e-3)
    assert drawn.std() / math.sqrt(len(drawn)) < 0.005 * drawn.mean()
    options = {"bandwidth": bandwidth}
    floor = noise_floor(
        y[0], f, metric="logit_smoothed_ece", options=options, resamples=1000 if bandwidth == 0.1 else 100, rng=6
    )
    assert floor == pytest.approx(drawn.mean(), rel=0.02)


@pytest.mark.full
@pytest.mark.parametrize(("n", "kind", "weighted"), [(6000, "uniform", False), (6000, "rare", False), (6000, "uniform", True)])
def test_ecce_with_more_rows_but_few_events(n, kind, weighted):
    """Thousands of distinct scores, but as few events as the limit law is trusted with: V = 59 and, weighted, 64."""
    f = scores(kind, n)
    w = np.random.default_rng([n, 9]).lognormal(sigma=1.8, size=n) if weighted else None
    rng = np.random.default_rng(5)
    blocks = [nulls.ecce(nulls.residuals(rng, f, 250, w), f, w) for _ in range(48)]
    for metric, drawn in zip(("ecce_mad", "ecce_r"), np.concatenate(blocks, axis=1), strict=True):
        assert drawn.std() / math.sqrt(len(drawn)) < 0.0055 * drawn.mean()
        floor = noise_floor(f > 0.5, f, metric=metric, sample_weight=w, resamples=4000, rng=6)
        assert floor == pytest.approx(drawn.mean(), rel=0.02), metric


@pytest.mark.parametrize(("metric", "mean"), [("ecce_mad", math.sqrt(math.pi / 2)), ("ecce_r", math.sqrt(8 / math.pi))])
def test_ecce_of_many_rows_is_the_mean_of_its_law(metric, mean):
    """E max|B| = √(π/2) and E range(B) = √(8/π) (Feller 1951)."""
    f = scores("uniform", 200_000)
    y = np.random.default_rng(1).random(len(f)) < f
    sigma = math.sqrt(math.fsum(f * (1 - f))) / len(f)
    assert noise_floor(y, f, metric=metric, rng=0) == pytest.approx(mean * sigma, rel=0.01)
    assert noise_floor(trueness.summarize(y, f), metric=metric, rng=0) == pytest.approx(mean * sigma, rel=0.01)


@pytest.mark.parametrize("metric", METRICS)
def test_from_a_summary(metric):
    f = scores("uniform", 3000)
    y = np.random.default_rng(1).random(len(f)) < f
    cells = trueness.summarize(y, f)
    halves = trueness.summarize(y[:1000], f[:1000]) + trueness.summarize(y[1000:], f[1000:])
    assert noise_floor(halves, metric=metric, rng=0, resamples=199) == noise_floor(cells, metric=metric, rng=0, resamples=199)


@pytest.mark.full
@pytest.mark.parametrize("metric", METRICS)
def test_from_a_summary_as_from_rows(metric):
    f = scores("uniform", 3000)
    y = np.random.default_rng(1).random(len(f)) < f
    rows, cells = (noise_floor(*data, metric=metric, rng=0, resamples=3000) for data in ((y, f), (trueness.summarize(y, f),)))
    assert cells == pytest.approx(rows, rel=0.03)  # each within its own draws of the same figure


@pytest.mark.full
@pytest.mark.parametrize(
    ("metric", "options", "rel"),
    [("logit_smoothed_ece", {"bandwidth": 1e-3}, 0.015), ("smooth_ece", {"scale": "logit"}, 0.04)],
)
def test_groups_of_neighbours_are_narrower_than_the_kernel(metric, options, rel):
    rng = np.random.default_rng(0)
    f = rng.random(12_000)
    y = (rng.random(len(f)) < f).astype(int)
    drawn = [getattr(trueness, metric)((rng.random(len(f)) < f).astype(int), f, **options) for _ in range(20)]
    assert noise_floor(y, f, metric=metric, options=options, rng=0, resamples=200) == pytest.approx(np.mean(drawn), rel=rel)


@pytest.mark.parametrize("metric", ["smooth_ece", "ecce_r", "log_loss"])
def test_does_not_look_at_the_outcomes(metric):
    f = scores("uniform", 400)
    floors = {noise_floor(y, f, metric=metric, rng=0, resamples=99) for y in (f > 0.5, f < 0.5, np.zeros(400), np.ones(400))}
    assert len(floors) == 1


def test_of_certain_predictions_is_zero():
    f = np.repeat([0.0, 1.0], [30, 50])
    for metric in (*METRICS, "weak_calibration_error", "brier_score", "log_loss"):
        assert noise_floor(f, f, metric=metric, rng=0, resamples=50) == pytest.approx(0, abs=1e-9)  # logits are clipped


@pytest.mark.parametrize("metric", METRICS)
def test_refuses_soft_labels(metric):
    f = scores("uniform", 50)
    for data in ((f**2, f), (trueness.summarize(f**2, f),)):
        with pytest.raises(TruenessError, match="soft labels"):
            noise_floor(*data, metric=metric, rng=0)


def test_is_never_negative():
    assert noise_floor([0, 1], [1 - 2**-53] * 2, metric="brier_score", rng=0) >= 0


def test_same_seed_same_number():
    f = scores("uniform", 300)
    y = f > 0.5
    for metric in METRICS:
        first, again, other = (noise_floor(y, f, metric=metric, rng=seed, resamples=199) for seed in (1, 1, 2))
        assert isinstance(first, float)
        assert first == again != other
        generators = [noise_floor(y, f, metric=metric, rng=np.random.default_rng(5), resamples=199) for _ in range(2)]
        assert generators[0] == generators[1]
    shuffled = np.random.default_rng(3).permutation(300)
    assert noise_floor(y[shuffled], f[shuffled], rng=1, resamples=199) == noise_floor(y, f, rng=1, resamples=199)


def test_weights_without_scale_and_zero_weights():
    f = scores("uniform", 300)
    y, w = f > 0.5, weights(300)
    expected = noise_floor(y, f, sample_weight=w, rng=1, resamples=199)
    assert noise_floor(y, f, sample_weight=1000 * w, rng=1, resamples=199) == pytest.approx(expected, rel=1e-9)
    w[::3] = 0
    kept = w > 0
    without = noise_floor(y[kept], f[kept], sample_weight=w[kept], rng=1, resamples=199)
    assert noise_floor(y, f, sample_weight=w, rng=1, resamples=199) == without


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", [100, 3000])
def test_progress_is_monotone_and_complete(metric, n):
    f, calls = scores("uniform", n), []
    noise_floor(f > 0.5, f, metric=metric, rng=0, resamples=700, progress=lambda *call: calls.append(call))
    done, total = zip(*calls, strict=True)
    assert set(total) == {total[0]}
    assert list(done) == sorted(done)
    assert done[-1] == total[0]
    assert done[0] > 0


def test_bad_arguments():
    f = scores("uniform", 50)
    y = f > 0.5
    for argument, bad in {
        "metric": {"metric": "decompose"},
        "options": {"options": {"bins": 3}},
        "resamples": {"resamples": 0},
        "rng": {"rng": -1},
    }.items():
        with pytest.raises(TruenessError, match=argument):
            noise_floor(y, f, **bad)
    with pytest.raises(TruenessError, match="metric"):
        noise_floor(y, f, metric="nonsense")
    with pytest.raises(TruenessError, match="resamples"):
        noise_floor(y, f, resamples=True)
    with pytest.raises(TruenessError, match="y_prob"):
        noise_floor(y)
    with pytest.raises(TruenessError, match="bins"):
        noise_floor(y, f, metric="binned_ece", options={"bins": 0})
    with pytest.raises(TruenessError, match="rows"):
        noise_floor(trueness.summarize(y, f), metric="log_loss")
