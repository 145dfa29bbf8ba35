"""Curves against plain sums over rows."""

import json

import brute
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import beta, binomtest

import trueness
from trueness import TruenessError, cumulative_curve, reliability_curve, summarize
from trueness.curves.binned_curve import binned_curve
from trueness.curves.cumulative_curve import thinned
from trueness.curves.smooth_curve import smooth_curve
from trueness.curves.sweep import bin_sweep


def sample(kind: str, n: int = 400, seed: int = 0):
    rng = np.random.default_rng(seed)
    f = rng.random(n)
    if kind == "ties":
        f = rng.integers(0, 11, n) / 10
    y = (rng.random(n) < f**1.3).astype(float)
    if kind == "soft":
        y = np.clip(f + rng.normal(0, 0.1, n), 0, 1)
    return y, f, rng.exponential(1, n) if kind == "weights" else None


KINDS = ("plain", "ties", "soft", "weights")


def reflected(t, f, sigma):
    """The kernel by its definition, with far more reflections than matter."""
    total = np.zeros((len(t), len(f)))
    for k in range(-12, 13):
        for centre in (f - 2 * k, -f - 2 * k):
            total += np.exp(-0.5 * ((t[:, None] - centre) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
    return total


def wilson_by_hand(p, n):
    """The two p₀ with (p − p₀)² = z²p₀(1 − p₀)/n."""
    z = 1.959963984540054
    ends = [np.roots([1 + z * z / k, -2 * q - z * z / k, q * q]).real for q, k in zip(p, n, strict=True)]
    return np.clip(np.sort(ends, axis=1).T, 0, 1)


@pytest.mark.parametrize("sigma", [None, 0.03, 0.7])
@pytest.mark.parametrize("kind", KINDS)
def test_smooth_curve_is_the_kernel_mean(kind, sigma) -> None:
    y, f, w = sample(kind)
    curve = reliability_curve(y, f, kind="smooth", bandwidth=sigma, sample_weight=w)
    assert curve.smooth_ece == pytest.approx(trueness.smooth_ece(y, f, sample_weight=w), rel=1e-12)
    assert curve.bandwidth == pytest.approx(curve.smooth_ece if sigma is None else sigma)
    w = np.ones(len(f)) if w is None else w
    kernel = reflected(curve.score, f, curve.bandwidth)
    near = kernel @ w
    np.testing.assert_allclose(curve.density, near / w.sum(), rtol=1e-6, atol=1e-9)
    outcome = kernel @ (w * y) / near
    np.testing.assert_allclose(curve.outcome, outcome, rtol=1e-6, atol=1e-8)
    low, high = wilson_by_hand(outcome, near**2 / (kernel**2 @ w**2))
    np.testing.assert_allclose(curve.confidence_high, high, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(curve.confidence_low, low, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", ["plain", "ties", "weights"])
def test_consistency_band_holds_the_curves_of_perfect_predictions(kind) -> None:
    y, f, w = sample(kind, n=200)
    curve = reliability_curve(y, f, kind="smooth", bandwidth=0.1, sample_weight=w)
    w = np.ones(len(f)) if w is None else w
    kernel = reflected(curve.score, f, 0.1) * w
    rng = np.random.default_rng(1)
    drawn = (rng.random((4000, len(f))) < f) @ kernel.T / kernel.sum(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    spread = (high - low).max()
    np.testing.assert_allclose(curve.consistency_low, low, atol=0.12 * spread)
    np.testing.assert_allclose(curve.consistency_high, high, atol=0.12 * spread)


def test_soft_labels_have_no_consistency_band() -> None:
    y, f, _ = sample("soft")
    assert all(np.isnan(reliability_curve(y, f, kind=kind).consistency_low).all() for kind in ("local", "smooth"))
    assert len(reliability_curve(y, f, kind="isotonic").consistency_low) == 0


def test_a_summary_gives_the_same_smooth_curve() -> None:
    y, f, _ = sample("plain", n=3000)
    rows, cells = reliability_curve(y, f, kind="smooth"), reliability_curve(summarize(y, f), kind="smooth")
    np.testing.assert_allclose(cells.outcome, rows.outcome, atol=1e-7)
    np.testing.assert_allclose(cells.confidence_low, rows.confidence_low, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_binned_curve_lists_every_bin(kind, strategy) -> None:
    y, f, w = sample(kind)
    curve = reliability_curve(y, f, kind="binned", bins=7, strategy=strategy, sample_weight=w)
    assert all(len(column) == 7 for column in curve.table().values())
    ones = np.ones(len(f)) if w is None else w
    at = brute.uniform_cells(f, 7) if strategy == "uniform" else brute.quantile_cells(f, ones, 7)
    for b in range(7):
        here = at == b
        assert curve.rows[b] == here.sum()
        assert curve.weight[b] == pytest.approx(ones[here].sum())
        if here.any():
            assert curve.prediction[b] == pytest.approx(np.average(f[here], weights=ones[here]))
            assert curve.outcome[b] == pytest.approx(np.average(y[here], weights=ones[here]), abs=1e-12)
            assert curve.left[b] <= f[here].min()
            assert f[here].max() <= curve.right[b]
    held = curve.rows > 0
    gap = np.abs(curve.outcome - curve.prediction)[held]
    assert curve.binned_ece == pytest.approx((gap * curve.weight[held]).sum() / curve.weight.sum(), rel=1e-9)
    for b in np.flatnonzero(held):
        here = ones[at == b]
        rows = here.sum() ** 2 / (here**2).sum()
        if kind in ("plain", "ties"):
            exact = binomtest(round(curve.outcome[b] * rows), round(rows)).proportion_ci(method="exact")
            assert (curve.low[b], curve.high[b]) == pytest.approx((exact.low, exact.high), abs=1e-9)
            continue
        happened = curve.outcome[b] * rows
        low = beta.ppf(0.025, happened, rows - happened + 1) if happened > 0 else 0.0
        high = beta.ppf(0.975, happened + 1, rows - happened) if happened < rows else 1.0
        assert (curve.low[b], curve.high[b]) == pytest.approx((low, high), abs=1e-9)


def test_empty_bins_are_kept() -> None:
    curve = reliability_curve([0, 1], [0.05, 0.95], kind="binned", bins=10)
    assert curve.rows.tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert np.isnan(curve.outcome[1:9]).all()
    assert np.isnan(curve.low[1:9]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_isotonic_curve_is_the_isotonic_fit(kind) -> None:
    y, f, w = sample(kind)
    curve = reliability_curve(y, f, kind="isotonic", sample_weight=w)
    fit, weight = np.asarray(brute.isotonic(y, f, w)), np.ones(len(f)) if w is None else w
    pieces = zip(curve.score[::2], curve.score[1::2], curve.outcome[::2], curve.weight[::2], strict=True)
    covered = np.zeros(len(f), dtype=int)
    for left, right, height, share in pieces:
        inside = (f >= left) & (f <= right)
        covered += inside
        np.testing.assert_allclose(fit[inside], height, atol=1e-10)
        assert share == pytest.approx(weight[inside].sum() / weight.sum())
    assert np.all(covered == 1)  # every score in one piece
    assert curve.decomposition == trueness.decompose(y, f, sample_weight=w)


@pytest.mark.parametrize("kind", KINDS)
def test_cumulative_curve_is_the_running_sum(kind) -> None:
    y, f, w = sample(kind)
    curve = cumulative_curve(y, f, sample_weight=w)
    np.testing.assert_allclose(curve.difference, brute.cumulative_differences(y, f, w)[1], atol=1e-12)
    assert curve.share[0] == 0
    assert curve.share[-1] == pytest.approx(1)
    assert curve.ecce == trueness.ecce(y, f, sample_weight=w)


@pytest.mark.parametrize("n", [3000, 150_000])
def test_thinning_keeps_the_extremes(n) -> None:
    y, f, _ = sample("plain", n=n)
    curve = cumulative_curve(y, f)
    assert len(curve.share) <= 2000 + 4
    assert curve.difference.max() - curve.difference.min() == pytest.approx(trueness.ecce_r(y, f), abs=1e-12)
    assert np.all(np.diff(curve.share) >= 0)
    assert np.all(np.diff(curve.score) >= 0)
    few = thinned(np.sin(np.arange(100_000) / 7.0))
    assert {0, 99_999} <= set(few.tolist())


def test_sweep_lists_the_metrics() -> None:
    y, f, w = sample("weights")
    sweep = bin_sweep(y, f, bins=(2, 12), norm="l2", strategy="quantile", sample_weight=w)
    assert sweep.binned_ece[1] == trueness.binned_ece(y, f, bins=12, norm="l2", strategy="quantile", sample_weight=w)
    assert sweep.logit_smoothed_ece[0] == trueness.logit_smoothed_ece(y, f, bandwidth=1 / 2, sample_weight=w)
    assert sweep.smooth_ece == trueness.smooth_ece(y, f, sample_weight=w)


@pytest.mark.parametrize(
    ("y", "f"),
    [
        ([1], [0.3]),
        ([0, 1] * 50, [0.0, 1.0] * 50),
        ([1, 0] * 50, [0.0, 1.0] * 50),
        ([0, 1, 1] * 30, [0.3] * 90),
        ([1] * 40, list(np.linspace(0, 1, 40))),
        (list(np.linspace(0, 1, 40)), list(np.linspace(0, 1, 40))),
    ],
    ids=["one row", "ends", "contradicted ends", "constant", "one class", "soft and equal"],
)
def test_extreme_data_and_json(y, f) -> None:
    for kind in ("local", "smooth", "binned", "isotonic"):
        json.dumps(reliability_curve(y, f, kind=kind).to_dict(), allow_nan=False)
    json.dumps(cumulative_curve(y, f).to_dict(), allow_nan=False)


def test_same_seed_same_band() -> None:
    y, f, _ = sample("plain")
    a, b, c = (reliability_curve(y, f, kind="smooth", rng=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(a.consistency_low, b.consistency_low)
    assert (a.consistency_low != c.consistency_low).any()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kind": "spline"}, "kind"),
        ({"kind": "smooth", "bins": 5}, "bins"),
        ({"kind": "binned", "bandwidth": 0.1}, "bandwidth"),
        ({"level": 95}, "fraction"),
        ({"kind": "binned", "bins": 0}, "bins"),
    ],
)
def test_bad_options_are_named(options, says) -> None:
    with pytest.raises(TruenessError, match=says):
        reliability_curve([0, 1], [0.2, 0.7], **options)


@pytest.mark.parametrize("options", [{"kind": "isotonic"}, {"kind": "binned", "strategy": "quantile"}])
def test_what_needs_rows_says_so(options) -> None:
    with pytest.raises(TruenessError, match="needs the rows"):
        reliability_curve(summarize([0, 1], [0.2, 0.7]), **options)


def test_a_bin_of_one_row_has_the_interval_of_one_row() -> None:
    for options in ({"sample_weight": [1, 2, 1.0]}, {}):
        found = binned_curve([0, 1, 1], [0.05, 0.55, 0.95], bins=10, **options)
        held = found.rows > 0
        np.testing.assert_allclose(found.low[held], [0, 0.025, 0.025])
        np.testing.assert_allclose(found.high[held], [0.975, 1, 1])
        found.plot()


@pytest.mark.parametrize("kind", ["weights", "soft"])
def test_intervals_of_weighted_and_soft_bins_cover(kind) -> None:
    """Normal limits covered .3 to .8 of such bins: few rows weigh, or all that are there agree."""
    rng, covered = np.random.default_rng(0), []
    for _ in range(60):
        f = rng.beta(1, 30, 400)
        w = rng.pareto(2, 400) + 0.1 if kind == "weights" else None
        y = (rng.random(400) < f).astype(float)
        if kind == "soft":
            y = rng.binomial(5, f) / 5
        found = binned_curve(y, f, bins=20, sample_weight=w)
        held = found.rows > 0
        truth = np.bincount(np.minimum((f * 20).astype(int), 19), f if w is None else w * f, 20)[held] / found.weight[held]
        covered += ((found.low[held] <= truth) & (truth <= found.high[held])).tolist()
    assert np.mean(covered) >= 0.95


def rare_event(n):
    """A rare event, its curve, where rows are near, and the kernels there."""
    rng = np.random.default_rng(0)
    f = rng.beta(1, 30, n)
    y = (rng.random(n) < 1.1 * f).astype(float)
    found = smooth_curve(y, f)
    t, sigma = found.score, found.bandwidth
    weights = sum(np.exp(-0.5 * ((t[:, None] - sign * f) / sigma) ** 2) for sign in (1, -1)) / (sigma * np.sqrt(2 * np.pi))
    near = weights.sum(axis=1)
    seen = near / len(f) > 1e-3
    return rng, y, f, found, seen, weights[seen], near[seen]


def test_confidence_band_of_a_rare_event_where_rows_are_few() -> None:
    _, y, _, found, seen, weights, near = rare_event(6000)
    low, high = wilson_by_hand(weights @ y / near, near**2 / (weights**2).sum(axis=1))
    np.testing.assert_allclose(found.confidence_low[seen], low, atol=0.01)
    np.testing.assert_allclose(found.confidence_high[seen], high, atol=0.01)


@pytest.mark.full
def test_consistency_band_of_a_rare_event_where_rows_are_few() -> None:
    rng, _, f, found, seen, weights, near = rare_event(20_000)
    drawn = (rng.random((999, len(f))) < f) @ weights.T / near
    # Where an event is expected once in forty draws a quantile jumps: it lies between those a little to either side.
    for band, tail in ((found.consistency_low, 0.025), (found.consistency_high, 0.975)):
        low, high = np.quantile(drawn, [tail - 0.012, tail + 0.012], axis=0)
        assert (band[seen] >= low - 0.01).all()
        assert (band[seen] <= high + 0.01).all()


def test_both_extremes_within_one_cell_stay_in_order() -> None:
    rng = np.random.default_rng(0)
    f = 0.5 + 1e-6 * rng.random(150_000)
    found = cumulative_curve(rng.random(150_000) < 0.5, f)
    assert np.all(np.diff(found.share) >= 0)
    assert np.all(np.diff(found.score[1:]) >= 0)


def test_generators_are_read_once():
    """A generator is gone after one reading: every function turns its arguments into a sample once."""
    rng = np.random.default_rng(0)
    f = rng.random(300)
    y = (rng.random(300) < f).astype(int)

    def given():
        return iter(y.tolist()), iter(f.tolist())

    for make in (
        cumulative_curve,
        trueness.bin_sweep,
        lambda *data: reliability_curve(*data, rng=0),
        lambda *data: reliability_curve(*data, kind="smooth", rng=0),
        lambda *data: reliability_curve(*data, kind="binned"),
        lambda *data: reliability_curve(*data, kind="binned", strategy="quantile"),
        lambda *data: reliability_curve(*data, kind="isotonic", rng=0),
    ):
        assert make(*given()).to_dict() == make(y, f).to_dict()
    assert trueness.plot_pair(*given()) is not None
    plt.close("all")


@pytest.mark.parametrize(
    "make",
    [*(lambda *d, k=k: reliability_curve(*d, kind=k) for k in ("local", "smooth", "binned", "isotonic")), cumulative_curve],
)
def test_arrays_of_a_curve_cannot_be_edited_in_place(make):
    curve = make(*sample("plain")[:2])
    for array in curve.table().values():
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
