"""Every figure of ``reference/datasets.json`` for every data set, from its rows and from its summary."""

import pytest
from datasets import figures, load, names

from trueness import (
    binned_ece,
    brier_score,
    ecce,
    ecce_mad,
    ecce_r,
    logit_smoothed_ece,
    smooth_ece,
    smooth_ece_area,
    summarize,
    weak_calibration_error,
)

CELL = 2.0**-14
NAMES = names() or [pytest.param("none", marks=pytest.mark.skip(reason="no shared folder; set TRUENESS_SHARED"))]

EXACT = {"abs": 1e-12, "rel": 0}

# figure: what computes it from (y, f) or from a summary, tolerance from rows, tolerance from a summary (DESIGN 4)
FIGURES = {
    "brier": (brier_score, EXACT, EXACT),
    "smooth_ece": (smooth_ece, {"rel": 1e-8}, {"rel": 1e-8}),  # every data set here has a bandwidth above 90 cells
    "smooth_ece_at_0_05": (lambda *d: smooth_ece(*d, bandwidth=0.05), {"rel": 1e-8}, {"rel": 1e-8}),
    "smooth_ece_area": (smooth_ece_area, {"rel": 1e-6}, {"rel": 1e-6}),
    "smooth_ece_logit": (lambda *d: smooth_ece(*d, scale="logit"), {"rel": 1e-6}, {"rel": 2e-4}),
    "ecce_mad": (ecce_mad, EXACT, None),
    "ecce_r": (ecce_r, EXACT, None),
    "ecce_sigma": (lambda *d: ecce(*d).sigma, EXACT, EXACT),
    "weak_calibration_error": (weak_calibration_error, {"rel": 1e-9}, None),
}
for _s in (1.0, 0.1, 0.05):
    _ls = (lambda *d, s=_s: logit_smoothed_ece(*d, bandwidth=s), {"rel": 1e-6}, {"rel": 3e-5})
    FIGURES[f"logit_smoothed_ece_{_s}"] = _ls
for _b in (10, 15, 20):
    FIGURES |= {
        f"ece_width_{_b}": (lambda *d, b=_b: binned_ece(*d, bins=b), EXACT, EXACT),
        f"ece_width_{_b}_right_closed": (lambda *d, b=_b: binned_ece(*d, bins=b, closed="right"), EXACT, None),
        f"ece_width_{_b}_l2sq": (lambda *d, b=_b: binned_ece(*d, bins=b, norm="l2") ** 2, EXACT, EXACT),
        f"ece_width_{_b}_max": (lambda *d, b=_b: binned_ece(*d, bins=b, norm="max"), EXACT, EXACT),
    }


@pytest.mark.parametrize("name", NAMES)
def test_loader(name):
    y, f = load(name)
    expected = figures()[name]
    assert len(y) == summarize(y, f).n == expected["n"]
    assert y.mean() == pytest.approx(expected["mean_outcome"], **EXACT)
    assert f.mean() == pytest.approx(expected["mean_prediction"], **EXACT)
    assert set(expected) == {"n", "mean_outcome", "mean_prediction", *FIGURES}


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("name", NAMES)
def test_from_rows(name, figure):
    compute, tolerance, _ = FIGURES[figure]
    assert compute(*load(name)) == pytest.approx(figures()[name][figure], **tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_from_a_summary(name):
    summary, expected = summarize(*load(name)), figures()[name]
    assert expected["smooth_ece"] > 90 * CELL
    for figure, (compute, _, tolerance) in FIGURES.items():
        if tolerance is not None:
            assert compute(summary) == pytest.approx(expected[figure], **tolerance), figure
    bracket = ecce(summary).bracket
    for figure, (low, high) in (("ecce_mad", bracket.mad), ("ecce_r", bracket.range)):
        assert low - 1e-12 <= expected[figure] <= high + 1e-12, figure
