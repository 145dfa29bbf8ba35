"""confidence_interval against the formulas of MATH 7, recomputed here row by row, and against plain draws of its noise."""

import json
import math
from dataclasses import replace

import brute
import nulls
import numpy as np
import pytest
from pairs import pairwise
from scipy import special, stats

import trueness
from trueness import TruenessError, brownian, confidence_interval, summarize
from trueness.data.sample import as_sample
from trueness.inference.evidence import evidence

LAWS = {"ecce_mad": brownian.max_abs, "ecce_r": brownian.range}
KINDS = [  # metrics that have an interval, with options
    ("binned_ece", {}),
    ("binned_ece", {"bins": 8, "strategy": "quantile"}),
    ("binned_ece", {"bins": 10, "closed": "right"}),
    ("soft_mean_ece", {}),
    ("smooth_ece", {}),
    ("smooth_ece", {"bandwidth": 0.05}),
    ("logit_smoothed_ece", {}),
    ("logit_smoothed_ece", {"bandwidth": 1.0}),
    ("logit_smoothed_ece", {"noise": "uniform", "bandwidth": 1.0}),
    ("ecce_mad", {}),
    ("ecce_r", {}),
]
SLOW = [("smooth_ece", {"scale": "logit"}), ("weak_calibration_error", {})]  # the same, seconds each
L2 = ("binned_ece", {"norm": "l2"})


def rows(n, seed=0, slope=1.0, shift=0.0):
    """Uniform scores; outcomes with log-odds ``slope`` times those of the score, and ``shift`` likelier."""
    rng = np.random.default_rng([n, seed])
    f = rng.random(n)
    truth = special.expit(slope * special.logit(f)) + shift
    return (rng.random(n) < truth).astype(int), f


def weights(n):
    return np.random.default_rng([n, 99]).gamma(2.0, size=n) + 0.1


def noisy(f, options):
    """E ρ(h + ξ) of each prediction, ξ the noise LS-ECE puts on its logit h."""
    h = np.log(f) - np.log1p(-f)
    sigma = options.get("bandwidth", 1 / 15)
    if options.get("noise") == "uniform":  # ∫ρ = ln(1 + e^h)
        return (np.logaddexp(0, h + sigma / 2) - np.logaddexp(0, h - sigma / 2)) / sigma
    xi, share = np.polynomial.hermite_e.hermegauss(60)
    return special.expit(h[:, None] + sigma * xi) @ (share / share.sum())


def reach_of(y, f, w, level, prediction=None, *, value=0.0, labels=None):
    """κz²/(2n_e) + z·√(share·V + (κz/2n_e)²), V = max(BS, V₂) + T²/n_e of weights, κ = Σw²|1−2f|/Σw²: a function of the share.

    MATH 7 but for κ, which is |1 − 2f̄| there and vanishes for sure predictions of both kinds. ``prediction`` replaces f in the
    residual of BS; ``labels`` is how far the variance of soft labels exceeds BS.
    """
    z = stats.norm.ppf((1 + level) / 2)
    total = math.fsum(w)
    residual = y - (f if prediction is None else prediction)
    bs, v2 = math.fsum((w * residual) ** 2) / total**2, math.fsum(w * w * f * (1 - f)) / total**2
    effective = total**2 / math.fsum(w * w)
    kappa = math.fsum(w * w * abs(1 - 2 * f)) / math.fsum(w * w)
    variance = max(bs, v2) if labels is None else bs + labels / total**2
    if len(set(w)) > 1:
        variance += value**2 / effective
    bent = kappa * z / (2 * effective)

    def reach(share=1.0):
        return bent * z + z * math.sqrt(share * variance + bent**2)

    reach.variance = variance
    return reach


def upper_limit(value, reach, noise):
    """The largest ∫|g| that may be behind an integral of this value, with |g| x times its standard deviation everywhere.

    Its mean is E|x + Z| of a normal Z; its variance that of certain signs times (dE/dx)², and that of noise alone times what is
    left of Var|x + Z|. ``noise`` are mean and variance of draws of noise alone, ``reach`` a function of a share of variance.
    """
    scale, certain = noise[0] / math.sqrt(2 / math.pi), reach.variance

    def lowest(x):
        mean, slope = stats.foldnorm.mean(x), 2 * stats.norm.cdf(x) - 1
        rest = (stats.foldnorm.var(x) - slope**2) / stats.foldnorm.var(0)
        return mean * scale - reach(min(slope**2 + rest * noise[1] / certain, 1))

    x = (value + reach()) / scale
    if x >= 6:
        return min(value + reach(), 1.0)
    places = np.linspace(0, 6, 601)
    last = max(k for k, place in enumerate(places) if lowest(place) <= value)
    low, high = places[last], places[min(last + 1, 600)]
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if lowest(middle) <= value else (low, middle)
    return min(low * scale, value + reach(), 1.0)


def check_noise(q, draws, tail, of=1999):
    """Whether q may be the larger of the (1 − tail) quantiles of some kinds of noise, each estimated from ``of`` draws."""
    shares = [np.mean(values > q) for values in draws]
    largest = int(np.argmax(shares))
    assert nulls.same_share(shares[largest], len(draws[largest]), tail, of), shares


# --------------------------------------------------------------------------------------------------- what holds always


QUICK = [*KINDS, L2, ("binned_ece", {"norm": "l2", "debias": True})]


@pytest.mark.parametrize(
    ("metric", "options", "n", "truth"),
    [*((*kind, 60, {"shift": 0.3}) for kind in (*QUICK, SLOW[1])), *((*kind, 1000, {}) for kind in QUICK), (*SLOW[0], 24, {})],
)
def test_contains_the_value_and_stays_within_0_and_1(metric, options, n, truth):
    y, f = rows(n, **truth)
    result = confidence_interval(y, f, metric=metric, options=options, rng=0)
    assert 0 <= result.low <= result.value <= result.high <= 1
    assert result.low < result.high
    assert result.value == pytest.approx(getattr(trueness, metric)(y, f, **options), rel=1e-12)
    assert (result.metric, result.level, result.n, result.seed) == (metric, 0.95, n, 0)
    assert result.resamples >= 1999
    assert result.method


@pytest.mark.parametrize(("metric", "options"), [*KINDS, SLOW[1], L2])
def test_a_higher_level_gives_a_wider_interval(metric, options):
    y, f = rows(800, slope=0.4) if metric != "weak_calibration_error" else rows(100, shift=0.4)
    levels = (0.5, 0.95, 0.99) if metric != "weak_calibration_error" else (0.6, 0.9)
    found = [confidence_interval(y, f, metric=metric, options=options, level=level, rng=0) for level in levels]
    lows, highs = [each.low for each in found], [each.high for each in found]
    assert lows == sorted(lows, reverse=True)
    assert highs == sorted(highs)
    assert lows[0] > lows[-1]
    assert highs[0] < highs[-1]


@pytest.mark.parametrize(("metric", "options"), [*KINDS, L2])
def test_an_interval_of_clearly_wrong_predictions_excludes_0(metric, options):
    y, f = rows(1500, shift=0.3)
    assert confidence_interval(y, f, metric=metric, options=options, rng=0).low > 0.1


@pytest.mark.parametrize(("metric", "options"), [*(kind for kind in KINDS if kind[1].get("bandwidth") != 1.0), L2])
def test_of_calibrated_predictions_reaches_0(metric, options):
    """One sample each, of those in which a valid interval does. (LS-ECE with much noise is not 0 then: MATH 4.)"""
    y, f = rows(1200, seed=1)
    assert confidence_interval(y, f, metric=metric, options=options, rng=0).low == 0


# -------------------------------------------------------------------------------------------------------- upper limit


def noise_of(metric, options, y, f, w, draws):
    """Of the norm of flipped residuals and of residuals under calibration the smaller mean and the larger variance."""
    if metric == "logit_smoothed_ece":
        sigma, noise = options.get("bandwidth", 1 / 15), options.get("noise", "gaussian")
        norm = lambda e: nulls.logit_norms(e, f, w, sigma=sigma, noise=noise)  # noqa: E731
    elif metric == "smooth_ece":
        norm = lambda e: nulls.smooth_norm(nulls.cosines(e, f, w, finest=options["bandwidth"]), options["bandwidth"])  # noqa: E731
    else:
        bins = options.get("bins", 10 if metric == "soft_mean_ece" else 15)
        cells = brute.quantile_cells(f, np.ones(len(f)) if w is None else w, bins) if "strategy" in options else None
        norm = lambda e: nulls.binned(e, f, w, bins=bins, cells=cells)  # noqa: E731
    return typical(kinds_of_noise(y, f, w, draws, norm))


def typical(kinds):
    return min(float(drawn.mean()) for drawn in kinds), max(float(drawn.var()) for drawn in kinds)


INTEGRALS = [kind for kind in KINDS if not kind[0].startswith("ecce") and kind != ("smooth_ece", {})]


@pairwise("kind, weighted, data", INTEGRALS, (False, True), ("rare", "overconfident", "calibrated"))
def test_upper_limit(kind, weighted, data):
    """V₂ is the larger where events are rarer than predicted, BS where predictions are over-confident."""
    metric, options = kind
    y, f = rows(400, slope=0.4 if data == "overconfident" else 1.0)
    if data == "rare":
        rng = np.random.default_rng(3)
        f = rng.beta(2, 60, 400)
        y = (rng.random(400) < f / 3).astype(int)
    w = weights(400) if weighted else None
    result = confidence_interval(y, f, metric=metric, options=options, sample_weight=w, rng=0)
    prediction = noisy(f, options) if metric == "logit_smoothed_ece" else None
    weight = np.ones(400) if w is None else w
    reach = reach_of(y, f, weight, 0.95, prediction, value=result.value)
    expected = upper_limit(result.value, reach, noise_of(metric, options, y, f, w, 2000))
    assert result.value < expected
    assert result.high == pytest.approx(expected, rel=0.01)
    assert result.high <= result.value + reach() + 1e-9


@pairwise("metric, data, level", LAWS, ("rare", "overconfident", "weights", "ties"), (0.95, 0.8))
def test_upper_limit_of_ecce(metric, data, level):
    """No less than that of every range, and hardly more."""
    y, f = rows(400, slope=0.4)
    w = np.ones(400)
    if data == "rare":
        rng = np.random.default_rng(3)
        f = rng.beta(2, 60, 400)
        y = (rng.random(400) < f / 3).astype(int)
    elif data != "overconfident":
        w = np.random.default_rng(0).lognormal(sigma=1.5, size=400)
        f = np.ceil(f * 8) / 9 if data == "ties" else f
    result = confidence_interval(y, f, metric=metric, level=level, sample_weight=None if w.min() == 1 else w, rng=0)
    expected = nulls.ecce_upper_limit(y, f, w, level, spread=metric == "ecce_r")
    assert expected - 1e-12 <= result.high
    assert result.high - result.value <= 1.02 * (expected - result.value)
    assert result.high <= result.value + reach_of(y, f, w, level, value=result.value)() + 1e-12


@pytest.mark.parametrize(("metric", "options"), [("binned_ece", {}), ("logit_smoothed_ece", {"bandwidth": 2.0})])
def test_upper_limit_of_weighted_ties(metric, options):
    """Rows with the same score and unlike weights; BS decides."""
    y, f = rows(400, slope=-0.5)
    f, w = np.ceil(f * 8) / 9, np.random.default_rng(0).lognormal(sigma=1.5, size=400)
    result = confidence_interval(y, f, metric=metric, options=options, sample_weight=w, rng=0)
    prediction = noisy(f, options) if metric == "logit_smoothed_ece" else None
    reach = reach_of(y, f, w, 0.95, prediction, value=result.value)
    assert result.high == pytest.approx(upper_limit(result.value, reach, noise_of(metric, options, y, f, w, 2000)), rel=0.01)


@pytest.mark.parametrize("truth", [{}, {"slope": 0.3}])
def test_upper_limit_of_smooth_ece(truth):
    """The largest bandwidth σ at which smECE_σ and its noise leave σ possible; bandwidths of our own."""
    y, f = rows(400, **truth)
    result = confidence_interval(y, f, rng=0)
    rng = np.random.default_rng(0)
    ladder = np.geomspace(0.03, 0.3, 30)
    drawn = [nulls.cosines(e, f, finest=0.03) for e in (nulls.flipped(rng, y, f, 300), nulls.residuals(rng, f, 300))]
    seen = nulls.cosines((y - f)[None, :], f, finest=0.03)
    reach = reach_of(y, f, np.ones(400), 0.95)
    highest = 0.0
    for sigma in ladder:
        noise = typical([nulls.smooth_norm(a, sigma) for a in drawn])
        if upper_limit(float(nulls.smooth_norm(seen, sigma)[0]), reach, noise) >= sigma:
            highest = sigma
    step = ladder[1] / ladder[0]
    assert highest / step < result.high < highest * step * 1.03
    assert result.high < result.value + reach()


@pytest.mark.parametrize("metric", ["binned_ece", "ecce_r", "logit_smoothed_ece"])
@pytest.mark.parametrize("source", ["rows", "summary"])
def test_upper_limit_of_sure_predictions_that_were_right(metric, source):
    """Of 199 sure rows none was wrong: at an error rate of 3.68/199 that happens in 2.5 % of samples."""
    f, y = np.append(np.ones(199), 0.5), np.append(np.ones(199, dtype=int), 0)
    result = confidence_interval(*((summarize(y, f),) if source == "summary" else (y, f)), metric=metric, rng=0)
    assert result.high > 3.68 / 200


FROM_CELLS = ("binned_ece", "smooth_ece", "logit_smoothed_ece", "ecce_mad", "ecce_r")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", FROM_CELLS)
def test_upper_limit_from_cells(metric, weighted):
    y, f = rows(900)
    w = weights(900) if weighted else None
    from_rows = confidence_interval(y, f, metric=metric, sample_weight=w, rng=0)
    from_cells = confidence_interval(summarize(y, f, sample_weight=w), metric=metric, rng=0)
    ratio = (from_cells.high - from_cells.value) / (from_rows.high - from_rows.value)
    # Residuals of a weighted cell are flipped as if there were many: of few in a narrow kernel that is a little careful.
    assert 0.98 < ratio < (1.3 if weighted and metric == "logit_smoothed_ece" else 1.05 if weighted else 1.02)


# ------------------------------------------------------------------------------------------------ lower limit: ECCE


@pairwise("metric, weighted, level", LAWS, (False, True), (0.95, 0.8))
def test_lower_limit_of_ecce_against_plain_draws(metric, weighted, level):
    """The larger of the law's quantile times √BS and the quantile of ECCE at y* ~ Bernoulli(f)."""
    y, f = rows(600, slope=0.5)
    w = weights(600) if weighted else None
    weight = np.ones(600) if w is None else w
    result = confidence_interval(y, f, metric=metric, sample_weight=w, level=level, rng=0)
    assert result.low > 0
    tail = (1 - level) / 2
    flip = LAWS[metric].isf(tail) * math.sqrt(math.fsum((weight * (y - f)) ** 2)) / math.fsum(weight)
    drawn = nulls.ecce(nulls.residuals(np.random.default_rng(0), f, 8000, w), f, w)[int(metric == "ecce_r")]
    q = result.value - result.low
    assert q >= flip * (1 - 1e-9)
    if q > flip * (1 + 1e-9):
        check_noise(q, [drawn], tail)
    else:
        assert np.mean(drawn > q) <= tail + 4 * math.sqrt(tail / 1999)


@pytest.mark.parametrize("metric", LAWS)
def test_lower_limit_of_ecce_where_the_draws_decide(metric):
    """Scores near 1/2 and outcomes closer to them than chance would have it: V₂ exceeds BS."""
    f = np.linspace(0.05, 0.95, 400)
    y = (f + 0.12 > 0.5).astype(int)
    result = confidence_interval(y, f, metric=metric, rng=1)
    flip = LAWS[metric].isf(0.025) * math.sqrt(math.fsum((y - f) ** 2)) / 400
    q = result.value - result.low
    assert result.low > 0
    assert q > 1.1 * flip
    check_noise(q, [nulls.ecce(nulls.residuals(np.random.default_rng(0), f, 20_000), f)[int(metric == "ecce_r")]], 0.025)


@pytest.mark.parametrize("metric", LAWS)
@pytest.mark.parametrize("source", ["rows", "many rows", "summary"])
def test_lower_limit_of_ecce_with_many_scores_is_the_laws(metric, source):
    """Up to the discreteness of thousands of steps."""
    n = 101_000 if source == "many rows" else 9000
    y, f = rows(n, slope=0.6)
    data = (summarize(y, f),) if source == "summary" else (y, f)
    result = confidence_interval(*data, metric=metric, rng=0)
    scale = math.sqrt(max(math.fsum((y - f) ** 2), math.fsum(f * (1 - f)))) / n
    assert (result.value - result.low) / scale == pytest.approx(LAWS[metric].isf(0.025), rel=0.02)
    assert result.low > 0


# -------------------------------------------------------------------------------------- lower limit: draws of noise


def kinds_of_noise(y, f, w, draws, norm, seed=0):
    """Norms of flipped residuals and of residuals under calibration."""
    rng = np.random.default_rng(seed)
    return [norm(nulls.flipped(rng, y, f, draws, w)), norm(nulls.residuals(rng, f, draws, w))]


BINNED = ({}, {"bins": 8, "strategy": "quantile"}, {"bins": 5})


@pairwise("weighted, options, size", (False, True), BINNED, ((300, 0.95), (300, 0.8), (3000, 0.8)))
def test_lower_limit_of_binned_ece(weighted, options, size):
    n, level = size
    y, f = rows(n, slope=0.35)
    w = weights(n) if weighted else None
    bins, cells = options.get("bins", 15), None
    if options.get("strategy") == "quantile":
        cells = brute.quantile_cells(f, np.ones(n) if w is None else w, bins)
    draws = 4000 if n < 1000 else 1500
    drawn = kinds_of_noise(y, f, w, draws, lambda e: nulls.binned_signed(e, y, f, w, bins=bins, cells=cells))
    result = confidence_interval(y, f, metric="binned_ece", options=options, sample_weight=w, level=level, rng=3)
    assert result.low > 0
    check_noise(result.value - result.low, drawn, (1 - level) / 2)


def test_lower_limit_of_binned_ece_where_the_null_decides():
    """Rare events, none of them observed: flips alone would say there is no noise to speak of."""
    f = np.full(300, 0.02) + np.linspace(0, 1e-3, 300)
    y = np.zeros(300, dtype=int)
    flips, null = kinds_of_noise(y, f, None, 8000, lambda e: nulls.binned(e, f, bins=1))
    assert np.quantile(flips, 0.975) < np.quantile(null, 0.975) / 3
    y, f = np.append(y, np.repeat([0, 1], [10, 190])), np.append(f, np.full(200, 0.5))  # something to be seen above it
    drawn = kinds_of_noise(y, f, None, 8000, lambda e: nulls.binned(e, f, bins=10))
    result = confidence_interval(y, f, metric="soft_mean_ece", rng=0)
    check_noise(result.value - result.low, drawn, 0.025)


@pytest.mark.parametrize("options", [{}, {"bandwidth": 0.4}, {"noise": "uniform", "bandwidth": 0.3}])
@pytest.mark.parametrize("weighted", [False, True])
def test_lower_limit_of_logit_smoothed_ece(options, weighted):
    """Norms of ∫ |(1/W) Σ ε w r p_ξ(u − h)| du, without the part of LS-ECE that calibrated predictions have too."""
    y, f = rows(500, slope=0.25)
    w = weights(500) if weighted else None
    sigma, noise = options.get("bandwidth", 1 / 15), options.get("noise", "gaussian")
    drawn = kinds_of_noise(y, f, w, 3000, lambda e: nulls.logit_norms(e, f, w, sigma=sigma, noise=noise))
    result = confidence_interval(y, f, metric="logit_smoothed_ece", options=options, sample_weight=w, rng=3)
    assert result.low > 0
    check_noise(result.value - result.low, drawn, 0.025)


@pytest.mark.parametrize("bandwidth", [0.3, 0.05, 2e-3])
def test_lower_limit_of_smooth_ece_at_a_bandwidth(bandwidth):
    y, f = rows(500, shift=0.45)

    drawn = kinds_of_noise(y, f, None, 3000 if bandwidth > 0.01 else 800, lambda e: nulls.smooth_signed(e, y, f, bandwidth))
    result = confidence_interval(y, f, options={"bandwidth": bandwidth}, rng=3)
    assert result.low > 0
    check_noise(result.value - result.low, drawn, 0.025)


@pytest.mark.full
@pytest.mark.parametrize("bandwidth", [0.01, 2e-4])
def test_lower_limit_of_smooth_ece_at_a_narrow_bandwidth(bandwidth):
    """More rows than groups of neighbours may stand for, and kernels narrower than such a group."""
    y, f = rows(2500, shift=0.45)
    value = nulls.smooth_norm_direct((y - f)[None, :], f, bandwidth)[0]
    result = confidence_interval(y, f, options={"bandwidth": bandwidth}, level=0.8, rng=3)
    assert result.value == pytest.approx(value, rel=1e-3)
    drawn = kinds_of_noise(y, f, None, 150, lambda e: nulls.smooth_signed(e, y, f, bandwidth))
    assert result.low > 0
    check_noise(result.value - result.low, drawn, 0.1)


@pytest.mark.full
@pytest.mark.parametrize("bandwidth", [0.05, 1e-3])
def test_lower_limit_of_logit_smoothed_ece_with_little_noise(bandwidth):
    y, f = rows(5000, slope=0.1)
    result = confidence_interval(y, f, metric="logit_smoothed_ece", options={"bandwidth": bandwidth}, level=0.8, rng=3)
    drawn = kinds_of_noise(y, f, None, 120, lambda e: nulls.logit_norms(e, f, sigma=bandwidth))
    assert result.low > 0
    check_noise(result.value - result.low, drawn, 0.1)


@pytest.mark.full
@pytest.mark.parametrize("truth", [{"slope": 0.3}, {"shift": 0.15}])
def test_lower_limit_of_smooth_ece(truth):
    """max_σ min(σ, smECE_σ − q_σ) on bandwidths from that of noise up, against the same on bandwidths of our own.

    Other bandwidths move it by as much as one is apart from the next; quantiles that hold for one bandwidth at a time are an
    upper bound. What counts is noise with the signs kept that are beyond doubt.
    """
    y, f = rows(600, **truth)
    rng = np.random.default_rng(0)
    ladder = np.geomspace(0.036, 0.5, 24)
    noise = [
        np.stack([nulls.smooth_signed(e, y, f, sigma) for sigma in ladder], axis=1)
        for e in (nulls.flipped(rng, y, f, 1999), nulls.residuals(rng, f, 1999))
    ]
    curve = [nulls.smooth_norm(nulls.cosines((y - f)[None, :], f, finest=0.03), sigma)[0] for sigma in ladder]
    place = math.ceil(2000 * 0.975) - 1
    together, alone = [], []
    for drawn in noise:
        mean, spread = drawn.mean(axis=0), drawn.std(axis=0)
        together.append(mean + np.sort(((drawn - mean) / spread).max(axis=1))[place] * spread)
        alone.append(np.sort(drawn, axis=0)[place])
    expected = np.max(np.minimum(ladder, curve - np.max(together, axis=0)))
    most = np.max(curve - np.max(alone, axis=0))
    step = ladder[1] / ladder[0]
    result = confidence_interval(y, f, rng=1)
    assert expected > 0.02
    assert expected / step < result.low < min(expected * step, most * 1.05)


@pytest.mark.full
def test_lower_limit_of_weak_calibration_error():
    """A linear programme for every draw, so few of them."""
    y, f = rows(50, shift=0.45)
    rng = np.random.default_rng(0)
    drawn = [
        np.array([brute.weak_calibration_error(f + each, f) for each in e])
        for e in (nulls.flipped(rng, y, f, 150), nulls.residuals(rng, f, 150))
    ]
    result = confidence_interval(y, f, metric="weak_calibration_error", level=0.8, rng=0)
    assert result.low > 0
    check_noise(result.value - result.low, drawn, 0.1)


# ---------------------------------------------------------------------------------------------------------- l2


@pytest.mark.parametrize(("strategy", "slope"), [("uniform", 1.0), ("quantile", 0.5)])
def test_l2_covers(strategy, slope):
    """60 samples of known truth with ten scores, one a bin: enough cover at 0.8 (exact binomial limit of 1 in 1000)."""
    rng = np.random.default_rng(0)
    scores = np.arange(10) / 10 + 0.05
    truth = special.expit(slope * special.logit(scores))
    target = math.sqrt(np.mean((truth - scores) ** 2))
    options, covered = {"bins": 10, "norm": "l2", "strategy": strategy}, 0
    at = np.repeat(np.arange(10), 40)
    for seed in range(60):
        y = rng.random(400) < truth[at]
        result = confidence_interval(y, scores[at], metric="binned_ece", options=options, level=0.8, rng=seed)
        covered += result.low <= target <= result.high
    assert covered >= stats.binom.ppf(0.001, 60, 0.8)


def l2_limits(y, f, level, draws=8_000):
    """(T_n² − c − T²)² ≤ d² + 4z²m·T², solved for T: c = Σpv, d a quantile of Σpε² − c, m the largest pv. One score a bin."""
    z, n = stats.norm.ppf((1 + level) / 2), len(f)
    scores, at, size = np.unique(f, return_inverse=True, return_counts=True)
    mean = np.bincount(at, y) / size
    rest = float((size * (mean - scores) ** 2).sum()) / n
    noise = [
        np.stack([e[:, at == b].sum(axis=1) for b in range(len(scores))], axis=1)
        for e in kinds_of_noise(y, f, None, draws, np.array)
    ]
    squares = [(e**2 / size).sum(axis=1) / n for e in noise]
    within = float((size / (size - 1) * mean * (1 - mean)).sum()) / n
    edge = z * np.sqrt(size * mean * (1 - mean) + z * z / 4) / (size + z * z)
    middle = (size * mean + z * z / 2) / (size + z * z)
    near = np.clip(0.5, middle - edge, middle + edge)
    m = np.max(np.maximum(near * (1 - near), scores * (1 - scores))) / n
    limits = []
    for side in (-1, 1):
        c = max(s.mean() for s in squares) if side < 0 else min(within, *(s.mean() for s in squares))
        d = max(np.quantile(-side * (s - s.mean()), (1 + level) / 2) for s in squares)
        b = rest - c + 2 * z * z * m
        limits.append(
            math.sqrt(max(b + side * math.sqrt(b * b - (rest - c) ** 2 + d * d), 0)) if side > 0 or rest - c > d else 0.0
        )
    return limits


@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize("slope", [1.0, 0.4])
def test_l2_limits(slope, level):
    rng = np.random.default_rng(1)
    f = np.repeat(np.arange(10) / 10 + 0.05, 60)
    y = (rng.random(600) < special.expit(slope * special.logit(f))).astype(int)
    result = confidence_interval(y, f, metric="binned_ece", options={"bins": 10, "norm": "l2"}, level=level, rng=0)
    low, high = l2_limits(y, f, level)
    assert (result.low > 0) == (slope < 1)
    assert result.low == pytest.approx(low, rel=0.03)
    assert result.high == pytest.approx(high, rel=0.02)


def test_l2_is_for_the_truth_at_these_scores():
    """A score that few rows have and that is far off moves the error of the population, not that of what was asked about."""
    rng = np.random.default_rng(4)
    hits = 0
    for seed in range(60):
        f = np.where(rng.random(1000) < 0.001, 0.9, 0.05)
        truth = np.where(f == 0.9, 0.0, 0.05)
        y = (rng.random(1000) < truth).astype(int)
        found = confidence_interval(y, f, metric="binned_ece", options={"norm": "l2"}, rng=seed)
        hits += found.low <= trueness.binned_ece(truth, f, norm="l2") <= found.high
    assert hits >= 54


# ------------------------------------------------------------------------------------------------------- soft labels


@pytest.mark.parametrize("metric", ["binned_ece", "soft_mean_ece", "smooth_ece", "logit_smoothed_ece", "ecce_mad", "ecce_r"])
@pytest.mark.parametrize("source", ["rows", "summary"])
def test_soft_labels_have_intervals(metric, source):
    _, f = rows(300)
    y = np.clip(f**1.3 + np.random.default_rng(0).normal(0, 0.05, 300), 0, 1)
    hard = (y > 0.5).astype(int)
    soft, other = (
        confidence_interval(*((labels, f) if source == "rows" else (summarize(labels, f),)), metric=metric, rng=0)
        for labels in (y, hard)
    )
    assert 0 <= soft.low <= soft.value <= soft.high <= 1
    assert soft.low > 0
    assert soft.method != other.method
    assert "soft labels" in soft.method


@pytest.mark.parametrize("kind", ["many", "few", "mixed"])
@pytest.mark.parametrize("metric", ["binned_ece", "smooth_ece", "logit_smoothed_ece", "ecce_r"])
def test_upper_limit_of_soft_labels(metric, kind):
    """Their own variance where residuals show it, else the larger of two estimates; labels of 0 and 1 count as events."""
    _, f = rows(300)
    f = 0.1 + 0.3 * f if kind == "few" else f
    sign = np.where(np.arange(300) < 5, 1, -1) if kind == "few" else np.where(np.arange(300) % 2, -1, 1)
    y = np.clip(f + 0.05 * sign, 0.001, 0.999)
    if kind == "mixed":
        y[:10], f[:10] = 0.0, np.linspace(0.05, 0.2, 10)
    variance, believed = nulls.label_variance(y, f)
    assert believed == (kind != "few")
    more = variance - math.fsum((y - f) ** 2)
    assert (more > 1e-6) == (kind != "many")
    result = confidence_interval(y, f, metric=metric, rng=0)
    prediction = noisy(f, {}) if metric == "logit_smoothed_ece" else None
    reach = reach_of(y, f, np.ones(300), 0.95, prediction, labels=more)
    # LS-ECE counts what the noise on its logits adds to each label; ECCE what lies in a range.
    assert 0.7 * reach() < result.high - result.value <= reach() * (1.05 if metric == "logit_smoothed_ece" else 1) + 1e-12


@pytest.mark.parametrize("metric", LAWS)
@pytest.mark.parametrize("source", ["rows", "summary"])
def test_lower_limit_of_soft_labels_is_the_laws(metric, source):
    """MATH 7: q_flip alone, for there are no outcomes to draw."""
    _, f = rows(300)
    y = np.clip(f + np.where(f < 0.5, 0.12, -0.12), 0, 1)
    assert nulls.label_variance(y, f)[1]  # believed
    result = confidence_interval(*((y, f) if source == "rows" else (summarize(y, f),)), metric=metric, rng=0)
    q = LAWS[metric].isf(0.025) * math.sqrt(math.fsum((y - f) ** 2)) / 300
    assert result.low == pytest.approx(result.value - q, rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_lower_limit_of_soft_labels_by_flips(weighted):
    _, f = rows(900)
    y = np.clip(f**1.4 + np.random.default_rng(0).normal(0, 0.1, 900), 0.001, 0.999)  # at 0 and 1 they would be events
    w = weights(900) if weighted else None
    assert nulls.label_variance(y, f, w)[1]
    drawn = nulls.binned_signed(nulls.flipped(np.random.default_rng(1), y, f, 4000, w), y, f, w, events=False)
    result = confidence_interval(y, f, metric="binned_ece", sample_weight=w, rng=0)
    assert result.low > 0
    check_noise(result.value - result.low, [drawn], 0.025)


@pytest.mark.full
@pytest.mark.parametrize("metric", ["ecce_r", "binned_ece", "smooth_ece"])
def test_soft_labels_of_few_events_are_covered(metric):
    rng, hits = np.random.default_rng(3), 0
    for seed in range(20):
        f = rng.beta(2, 200, 50)
        y = np.where(rng.random(50) < f / 0.95, 0.95, 1e-6)
        hits += confidence_interval(y, f, metric=metric, rng=seed).low <= 1e-5
    assert hits >= 17  # P(X < 17) is 0.016 at 0.95, below 0.001 at the 0.99 that is meant


@pytest.mark.parametrize(
    "options",
    [{}, pytest.param({"noise": "uniform"}, marks=pytest.mark.full), pytest.param({"bandwidth": 0.01}, marks=pytest.mark.full)],
)
def test_soft_labels_that_hardly_vary_leave_the_scores_to_vary(options):
    """LS-ECE of right labels is what its own noise makes of these scores: it differs from sample to sample."""
    options, hits = {"bandwidth": 1 / 15, **options}, 0
    grid = (np.arange(20_000) + 0.5) / 20_000
    target = trueness.logit_smoothed_ece(grid, grid, **options)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        f = rng.random(200)
        y = np.clip(f + 1e-4 * rng.normal(size=200), 1e-6, 1 - 1e-6)
        found = confidence_interval(y, f, metric="logit_smoothed_ece", options=options, rng=seed)
        assert found.value > target
        hits += found.low <= target <= found.high
    assert hits >= 9  # P(X < 9) is 0.0002 at 0.95; none was while scores were taken as given


def test_soft_labels_that_match_exactly():
    f = np.random.default_rng(0).random(100)
    for metric in ("binned_ece", "logit_smoothed_ece", "ecce_r"):
        result = confidence_interval(f, f, metric=metric, rng=0)
        assert result.value == 0 or metric == "logit_smoothed_ece"  # which sees the noise it adds
        assert 0 <= result.low <= result.value <= result.high


# ----------------------------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize(("metric", "options"), [*KINDS, L2])
def test_the_scale_of_weights_does_not_matter(metric, options):
    y, f = rows(250, slope=0.4)
    f[:3], f[-3:], y[:3], y[-3:] = 0.0, 1.0, 0, 1
    w = weights(250)
    expected = confidence_interval(y, f, metric=metric, options=options, sample_weight=w, rng=0)
    result = confidence_interval(y, f, metric=metric, options=options, sample_weight=1e-6 * w, rng=0)
    assert (result.low, result.high) == pytest.approx((expected.low, expected.high), rel=1e-9)


@pytest.mark.parametrize("metric", ["binned_ece", "smooth_ece", "ecce_r"])
def test_a_zero_weight_is_absence(metric):
    y, f = rows(200, slope=0.4)
    w = weights(200)
    w[::4] = 0
    kept = w > 0
    with_zeros = confidence_interval(y, f, metric=metric, sample_weight=w, rng=0)
    assert with_zeros == confidence_interval(y[kept], f[kept], metric=metric, sample_weight=w[kept], rng=0)
    assert with_zeros.n == 150


@pytest.mark.parametrize("kind", ["plain", "weighted", "soft"])
@pytest.mark.parametrize("metric", ["binned_ece", "smooth_ece", "logit_smoothed_ece", "ecce_r", "weak_calibration_error"])
def test_the_order_of_rows_does_not_matter(metric, kind):
    y, f = rows(300, shift=0.4)
    f = np.ceil(f * 8) / 9
    y = np.clip(f + np.random.default_rng(1).normal(0.2, 0.1, 300), 0, 1) if kind == "soft" else y
    w = weights(300) if kind == "weighted" else np.ones(300)
    o = np.random.default_rng(0).permutation(300)
    results = [
        confidence_interval(y[at], f[at], metric=metric, sample_weight=w[at] if kind == "weighted" else None, rng=0)
        for at in (np.arange(300), o)
    ]
    assert results[0].low > 0
    assert (results[1].low, results[1].high) == pytest.approx((results[0].low, results[0].high), rel=1e-9)


# --------------------------------------------------------------------------------------------------------- summaries


def test_many_rows_and_their_merged_summary_give_the_same_binned_interval():
    metric, options = "binned_ece", {"bins": 20}
    y, f = rows(100_500, slope=0.9)
    f = np.ceil(f * 300) / 301  # few cells are quick to draw
    merged = sum(summarize(a, b) for a, b in zip(np.split(y, 3), np.split(f, 3), strict=True))
    from_rows, from_cells = (confidence_interval(*d, metric=metric, options=options, rng=5) for d in ((y, f), (merged,)))
    assert (from_rows.value, from_rows.high) == pytest.approx((from_cells.value, from_cells.high), rel=1e-12)
    assert from_rows == replace(from_cells, value=from_rows.value, high=from_rows.high)


@pytest.mark.parametrize("metric", LAWS)
def test_many_rows_and_their_merged_summary_agree(metric):
    """ECCE differs by what lies within cells, its limits' distances from it do not."""
    y, f = rows(100_500, slope=0.9)
    merged = summarize(y[:300], f[:300]) + summarize(y[300:], f[300:])
    from_rows, from_cells = (confidence_interval(*data, metric=metric, rng=5) for data in ((y, f), (merged,)))
    assert from_cells.low - from_cells.value == pytest.approx(from_rows.low - from_rows.value, rel=1e-3)
    assert from_cells.high - from_cells.value == pytest.approx(from_rows.high - from_rows.value, rel=1e-3)
    assert from_cells.value == pytest.approx(from_rows.value, rel=0.02)


@pytest.mark.parametrize("metric", ["binned_ece", "smooth_ece", "logit_smoothed_ece", "ecce_r"])
def test_a_summary_of_few_rows(metric):
    """Draws of cells and of rows are of the same noise; ECCE is read at the cells' edges."""
    y, f = rows(600, shift=0.3)
    from_rows, from_cells = (confidence_interval(*data, metric=metric, rng=5) for data in ((y, f), (summarize(y, f),)))
    assert from_cells.low == pytest.approx(from_rows.low, rel=0.05)
    assert from_cells.high == pytest.approx(from_rows.high, rel=0.01)
    halves = summarize(y[:100], f[:100]) + summarize(y[100:], f[100:])
    assert confidence_interval(halves, metric=metric, rng=5) == from_cells


# -------------------------------------------------------------------------------------------------- too few, degenerate


@pytest.mark.parametrize(("metric", "options"), [*KINDS, L2])
def test_one_row_has_no_interval(metric, options):
    for data in (([1], [0.3]), ([0.4], [0.3])):
        result = confidence_interval(*data, metric=metric, options=options, rng=0)
        assert math.isnan(result.low)
        assert math.isnan(result.high)
        assert math.isfinite(result.value)
        assert "too few rows" in result.method
        kept = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        assert (kept["low"], kept["high"]) == (None, None)
        assert "no interval" in repr(result)


@pytest.mark.parametrize(
    ("metric", "options", "bins"),
    [("binned_ece", {}, 15), ("binned_ece", {"bins": 7, "strategy": "quantile"}, 7), ("soft_mean_ece", {}, 10)],
)
def test_fewer_than_two_rows_a_bin_have_no_interval(metric, options, bins):
    y, f = rows(2 * bins)
    enough = confidence_interval(y, f, metric=metric, options=options, rng=0)
    assert not math.isnan(enough.low + enough.high)
    few = confidence_interval(y[1:], f[1:], metric=metric, options=options, rng=0)
    assert math.isnan(few.low)
    assert math.isnan(few.high)
    assert str(2 * bins - 1) in few.method
    without = confidence_interval(y, f, metric=metric, options=options, sample_weight=np.arange(2 * bins) > 0, rng=0)
    assert math.isnan(without.low)


@pytest.mark.parametrize("metric", ["smooth_ece", "ecce_r", "logit_smoothed_ece", "weak_calibration_error"])
def test_two_rows_have_one(metric):
    result = confidence_interval([0, 1], [0.2, 0.7], metric=metric, rng=0)
    assert 0 <= result.low <= result.value < result.high <= 1


CERTAIN = np.repeat([0.0, 1.0], 40)
DEGENERATE = {
    "right": (CERTAIN, CERTAIN),
    "wrong": (1 - CERTAIN, CERTAIN),
    "constant": (np.arange(80) % 10 < 3, np.full(80, 0.3)),
    "all 0": (np.zeros(80), np.linspace(0.01, 0.2, 80)),
}


@pytest.mark.parametrize(
    ("metric", "options", "data"),
    [
        (metric, options, data)
        for metric, options in (*KINDS, L2)
        for data in DEGENERATE
        if (metric, options, data) not in (("smooth_ece", {}, "wrong"), ("logit_smoothed_ece", {}, "wrong"))  # as "right"
    ],
)
def test_degenerate_data(metric, options, data):
    """Certain and right or wrong, constant, one class: limits without a warning."""
    y, f = DEGENERATE[data]
    result = confidence_interval(y, f, metric=metric, options=options, rng=0)
    assert 0 <= result.low <= result.value <= result.high <= 1


# ---------------------------------------------------------------------------------------------- arguments and results


@pytest.mark.parametrize("level", [0, 1, 5, 95, -0.5, 0.0, 1.0, True, False, math.nan, math.inf, "0.95", None, [0.9]])
def test_level_is_a_fraction(level):
    y, f = rows(50)
    with pytest.raises(TruenessError, match=r"level: .*fraction"):
        confidence_interval(y, f, level=level)


@pytest.mark.parametrize("level", [0.1, 0.3, 0.5, 0.9, 0.95, 0.99, np.float32(0.75)])
def test_level_is_recorded_as_given(level):
    y, f = rows(50)
    assert confidence_interval(y, f, metric="ecce_r", level=level, rng=0).level == level


def test_a_high_level_takes_more_draws():
    """The order statistic ⌈(draws + 1)(1 − α/2)⌉ must exist."""
    y, f = rows(100, shift=0.4)
    result = confidence_interval(y, f, metric="ecce_r", level=0.9995, rng=0)
    assert math.ceil((result.resamples + 1) * (1 - 0.0005 / 2)) <= result.resamples
    assert result.low < confidence_interval(y, f, metric="ecce_r", level=0.99, rng=0).low


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"metric": "brier_score"}, "brier_score"),
        ({"metric": "log_loss"}, "log_loss"),
        ({"metric": "smooth_ece_area"}, "smooth_ece_area"),
        ({"metric": "decompose"}, "metric: decompose"),
        ({"metric": "distance_to_calibration"}, "metric"),
        ({"metric": "nonsense"}, "metric: 'nonsense'"),
        ({"metric": "binned_ece", "options": {"norm": "max"}}, "norm"),
        ({"metric": "binned_ece", "options": {"weighting": "width"}}, "weighting"),
        ({"metric": "binned_ece", "options": {"bins": 2.5}}, "bins"),
        ({"options": {"bins": 5}}, "options: smooth_ece has no option 'bins'"),
        ({"options": 5}, "options"),
        ({"method": "percentile"}, "method: 'percentile'"),
        ({"rng": -1}, "rng: -1"),
        ({"sample_weight": [1, 2]}, "sample_weight"),
    ],
)
def test_bad_arguments_are_named(keywords, message):
    y, f = rows(40)
    with pytest.raises(TruenessError, match=message):
        confidence_interval(y, f, **keywords)


def test_a_bandwidth_too_small_to_draw_is_refused_not_replaced():
    y, f = rows(60)
    with pytest.raises(TruenessError, match="at least"):
        confidence_interval(y, f, options={"bandwidth": 1e-6})
    assert confidence_interval(y, f, options={"bandwidth": 1e-3}, rng=0).low == 0.0


def test_bad_data():
    y, f = rows(40)
    with pytest.raises(TruenessError, match="y_prob is missing"):
        confidence_interval(y)
    with pytest.raises(TruenessError, match="no rows"):
        confidence_interval([], [])
    with pytest.raises(TruenessError, match="rows"):
        confidence_interval(summarize(y, f), metric="weak_calibration_error")
    with pytest.raises(TruenessError, match="rows"):
        confidence_interval(summarize(y, f), metric="binned_ece", options={"strategy": "quantile"})


def test_the_bootstrap_is_labelled():
    y, f = rows(80, shift=0.3)
    for metric in ("ecce_r", "brier_score"):
        result = confidence_interval(y, f, metric=metric, method="bootstrap", rng=0)
        assert "not valid near zero" in result.method
        assert result.low < result.high
        assert result == confidence_interval(y, f, metric=metric, method="bootstrap", rng=result.seed)
    with pytest.raises(TruenessError, match="rows"):
        confidence_interval(summarize(y, f), metric="ecce_r", method="bootstrap")
    assert math.isnan(confidence_interval([1], [0.3], metric="ecce_r", method="bootstrap", rng=0).low)


def test_the_bootstrap_is_the_percentile_bootstrap():
    y, f = rows(80, shift=0.3)
    rng = np.random.default_rng(1)
    drawn = np.array([np.mean((y[at] - f[at]) ** 2) for at in rng.integers(80, size=(4000, 80))])
    result = confidence_interval(y, f, metric="brier_score", method="bootstrap", level=0.8, rng=0)
    for limit, share in ((result.low, 0.1), (result.high, 0.9)):
        assert nulls.same_share(np.mean(drawn < limit), 4000, share, 999)


@pytest.mark.parametrize(("metric", "options"), KINDS)
def test_the_seed_gives_the_interval_again(metric, options):
    y, f = rows(150, slope=0.4)
    for rng in (None, np.random.default_rng(1)):
        result = confidence_interval(y, f, metric=metric, options=options, rng=rng)
        assert isinstance(result.seed, int)
        assert confidence_interval(y, f, metric=metric, options=options, rng=result.seed) == result


def test_results_can_be_kept_and_shown():
    y, f = rows(100)
    result = confidence_interval(y, f, rng=0)
    kept = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert tuple(kept) == ("metric", "value", "low", "high", "level", "method", "n", "resamples", "seed")
    assert "0.95 interval" in repr(result)
    assert "\n" not in repr(result)
    with pytest.raises(AttributeError):
        result.low = 0.0


def test_inputs_are_left_as_they_were():
    y, f = rows(100)
    w = np.ones(100)
    for array in (y, f, w):
        array.flags.writeable = False
    for metric in ("ecce_r", "binned_ece", "smooth_ece", "logit_smoothed_ece"):
        confidence_interval(y, f, metric=metric, sample_weight=w, rng=0)


@pytest.mark.parametrize("metric", ["ecce_r", "binned_ece", "smooth_ece"])
def test_progress_is_monotone_and_complete(metric):
    calls = []
    confidence_interval(*rows(900), metric=metric, rng=0, progress=lambda *call: calls.append(call))
    done, total = zip(*calls, strict=True)
    assert set(total) == {total[0]}
    assert list(done) == sorted(done)
    assert done[-1] == total[0]


# ---------------------------------------------------------------------------------------------------------- evidence


def with_options(metrics):
    return [(each, None) if isinstance(each, str) else each for each in metrics]


def test_evidence_has_the_values_and_formulas_of_the_single_functions():
    y, f = rows(300, slope=0.8)
    metrics = ("binned_ece", "logit_smoothed_ece", ("binned_ece", {"bins": 10}), "ecce_mad", "ecce_r")
    found = evidence(as_sample(y, f), metrics=metrics, rng=1)
    for each, (metric, options) in zip(found, with_options(metrics), strict=True):
        alone = confidence_interval(y, f, metric=metric, options=options, rng=2)
        assert each.value == alone.value == each.interval.value
        assert each.interval.high == pytest.approx(alone.high, rel=1e-12 if metric.startswith("ecce") else 0.01)
        test = trueness.calibration_test(y, f, statistic=metric, options=options, rng=3)
        assert (each.test.method, each.test.value) == (test.method, test.value)


def test_evidence_of_one_metric_makes_the_draws_of_its_interval():
    y, f = rows(300, slope=0.8)
    (found,) = evidence(as_sample(y, f), metrics=("binned_ece",), rng=1)
    assert found.interval == confidence_interval(y, f, metric="binned_ece", rng=1)


@pytest.mark.full
@pytest.mark.parametrize("n", [300, 4500])
def test_evidence_is_what_the_single_functions_say(n):
    """One pass of draws for all metrics: the same within the error of draws."""
    y, f = rows(n, slope=0.8)
    metrics = ("smooth_ece", ("binned_ece", {"bins": 10}), "ecce_mad", "ecce_r")
    metrics = metrics if n > 1000 else ("binned_ece", "logit_smoothed_ece", *metrics)
    found = evidence(as_sample(y, f), metrics=metrics, rng=1)
    for each, (metric, options) in zip(found, with_options(metrics), strict=True):
        alone = confidence_interval(y, f, metric=metric, options=options, rng=2)
        assert each.value == alone.value == each.interval.value
        assert each.interval.low == pytest.approx(alone.low, abs=0.1 * (alone.value - alone.low))
        test = trueness.calibration_test(y, f, statistic=metric, options=options, rng=3)
        assert nulls.same_share(each.test.pvalue, 1999, test.pvalue, 1999)
        floor = trueness.noise_floor(y, f, metric=metric, options=options, rng=4)
        assert each.noise_floor == pytest.approx(floor, rel=0.04)


def test_evidence_for_soft_labels():
    _, f = rows(200)
    y = np.clip(f**1.2, 0, 1)
    metrics = ("smooth_ece", "ecce_r")
    for each, metric in zip(evidence(as_sample(y, f), metrics=metrics, rng=0), metrics, strict=True):
        assert each.noise_floor is None
        assert (each.test is None) == (metric == "smooth_ece")
        assert 0 <= each.interval.low <= each.value <= each.interval.high


def test_evidence_of_one_part_alone():
    y, f = rows(200)
    (only,) = evidence(as_sample(y, f), metrics=("brier_score",), intervals=False, rng=0)
    assert only.interval is None
    assert only.test.pvalue > 0
    (only,) = evidence(as_sample(y, f), metrics=("ecce_r",), tests=False, rng=0)
    assert only.test is None
    assert only.noise_floor is None
    assert only.interval.low >= 0
    (only,) = evidence(as_sample(y, f), metrics=("brier_score",), rng=0)
    assert only.interval is None  # none is known to cover
    assert only.noise_floor > 0


def test_no_draws_are_made_that_nothing_reads(monkeypatch):
    """The limit of ECCE needs no residuals with random signs."""

    def refuse(*_):
        raise AssertionError("residuals were flipped")

    monkeypatch.setattr("trueness.data.samplers.CountSampler.flips", refuse)
    y, f = rows(400)
    for each in evidence(as_sample(y, f), metrics=("ecce_mad", "ecce_r"), rng=0):
        assert each.interval.low <= each.value <= each.interval.high
        assert each.test.resamples == 1999
    with pytest.raises(AssertionError, match="flipped"):
        evidence(as_sample(y, f), metrics=("smooth_ece",), rng=0)
