"""Recalibration by the smooth curve: the theorem on the fitted rows, and fresh data near the noise floor."""

import warnings

import numpy as np
import pandas as pd
import pytest

from trueness import SmoothRecalibrator, TruenessError, noise_floor, reliability_curve, smooth_ece
from trueness.demo import make_demo
from trueness.recalibrate import _reflected

Y, P, _ = make_demo()


def test_fresh_data_come_near_the_noise_floor() -> None:
    model = SmoothRecalibrator().fit(P, Y)
    y, p, _ = make_demo(seed=1)
    floor = noise_floor(y, p, rng=0)
    assert smooth_ece(y, p) > 3 * floor
    assert smooth_ece(y, model.sample(p, rng=0)) < 1.3 * floor
    assert smooth_ece(y, model.predict(p)) < 2 * floor  # the mean smooths a second time, and blurs the demo's steps


def test_the_theorem_on_the_fitted_rows() -> None:
    model = SmoothRecalibrator().fit(P, Y)
    draws = np.stack([model.sample(P, rng=seed) for seed in range(20)])
    assert np.abs(draws - P).mean() <= 2 * model.smooth_ece_
    # κ is calibrated for the fitted distribution: outcomes match it on average at every level, up to the draws' noise.
    for low in np.arange(0.1, 0.9, 0.2):
        here = (draws > low) & (draws <= low + 0.2)
        assert np.broadcast_to(Y, draws.shape)[here].mean() == pytest.approx(draws[here].mean(), abs=0.01)


def test_predict_is_the_mean_of_the_samples() -> None:
    model = SmoothRecalibrator(bandwidth=0.05).fit(P, Y)
    f = np.linspace(0, 1, 21)
    draws = np.stack([model.sample(f, rng=seed) for seed in range(4000)])
    np.testing.assert_allclose(model.predict(f), draws.mean(axis=0), atol=5 * draws.std(axis=0).max() / np.sqrt(4000) + 1e-4)


def test_the_curve_is_the_reliability_curve() -> None:
    model = SmoothRecalibrator().fit(P, Y)
    curve = reliability_curve(Y, P, kind="smooth")
    assert model.bandwidth_ == curve.bandwidth
    np.testing.assert_allclose(np.interp(curve.score, model._t, model._curve), curve.outcome, atol=1e-12)


def test_reflection() -> None:
    np.testing.assert_allclose(_reflected(np.array([-0.2, 0.3, 1.3, 2.4, -1.5])), [0.2, 0.3, 0.7, 0.4, 0.5])


def test_seeds_and_errors() -> None:
    model = SmoothRecalibrator().fit(P[:500], Y[:500])
    np.testing.assert_array_equal(model.sample(P[:50], rng=3), model.sample(P[:50], rng=3))
    with pytest.raises(TruenessError, match="y_prob"):
        model.predict([0.2, np.nan])
    with pytest.raises(TruenessError, match="bandwidth"):
        SmoothRecalibrator(bandwidth=-1).fit(P, Y)
    with pytest.raises(ValueError, match="not fitted"):
        SmoothRecalibrator().predict([0.2])
    with pytest.raises(TruenessError, match="no such parameter"):
        model.set_params(bins=3)


def masked(shape: tuple[int, ...]) -> np.ma.MaskedArray:
    mask = np.arange(50) == 7
    return np.ma.array(P[:50].reshape(shape), mask=mask.reshape(shape))


@pytest.mark.parametrize("shape", [(50,), (50, 1)])
def test_masked_predictions_are_missing(shape) -> None:
    model, given = SmoothRecalibrator().fit(P[:500], Y[:500]), masked(shape)
    for call in (model.predict, model.sample, lambda p: model.fit(p, Y[:50]), lambda p: model.fit(P[:50], Y[:50], p)):
        with pytest.raises(TruenessError, match=r"1 of 50 values .*\(first: row 7, value --\)"):
            call(given)


def test_indexes_that_differ_are_refused_also_of_a_frame_of_one_column() -> None:
    y, p = pd.Series(Y[:50]), pd.Series(P[:50])
    turned = p.sample(frac=1, random_state=0)
    for given in (turned, turned.to_frame()):
        with pytest.raises(TruenessError, match=r"y_prob: \d+ of 50 index labels are not in the order of y_true"):
            SmoothRecalibrator().fit(given, y)
        with pytest.raises(TruenessError, match=r"sample_weight: \d+ of 50 index labels are not in the order of y_true"):
            SmoothRecalibrator().fit(p.to_frame(), y, given)
    fitted = SmoothRecalibrator().fit(p.to_frame(), y)
    assert fitted.smooth_ece_ == smooth_ece(Y[:50], P[:50])


def test_what_comes_back_is_an_array_in_the_order_of_the_rows() -> None:
    model = SmoothRecalibrator().fit(P[:500], Y[:500])
    wanted = model.predict(P[:50])
    series = pd.Series(P[:50], index=range(50, 0, -1))
    for given in (series, series.to_frame(), P[:50].tolist(), iter(P[:50]), P[:50, None]):
        found = model.predict(given)
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("given", [0.5, None, "0.5", [], {0.5}, np.float64(0.5), [[0.1, 0.9]], np.ones((2, 2))], ids=repr)
def test_what_is_no_column_of_predictions_is_refused(given) -> None:
    model = SmoothRecalibrator().fit(P[:500], Y[:500])
    with pytest.raises(TruenessError, match="y_prob"):
        model.predict(given)


def test_estimator_checks_of_scikit_learn() -> None:
    from sklearn.base import clone
    from sklearn.exceptions import SkipTestWarning
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # it takes one column, as IsotonicRegression does: few checks apply
        results = check_estimator(SmoothRecalibrator(), on_fail=None, on_skip=None)
    failed = [f"{result['check_name']}: {result['exception']!r}" for result in results if result["status"] == "failed"]
    assert failed == []
    assert clone(SmoothRecalibrator(bandwidth=0.1)).bandwidth == 0.1
