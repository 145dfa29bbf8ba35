"""The two laws of Brownian motion against 50-digit figures, printed p-values and each other."""

import csv
import math
from decimal import Decimal

import numpy as np
import pytest
from datasets import SHARED

from trueness import brownian

LAWS = {"max_abs": brownian.max_abs, "range": brownian.range}
SWITCH = {"max_abs": 1.15, "range": 1.5}


def reference():
    path = SHARED / "reference" / "brownian.csv"
    if not path.exists():
        pytest.skip(f"no reference figures at {path}; set TRUENESS_SHARED")
    with open(path) as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("function", "column"), [("sf", "sf"), ("cdf", "cdf"), ("logsf", "log_sf")])
def test_reference_figures_to_16_units_in_the_last_place(function, column):
    rows = reference()
    assert len(rows) == 86
    for row in rows:
        law = LAWS["max_abs" if row["dist"] == "max_abs" else "range"]
        expected = Decimal(row[column])
        value = getattr(law, function)(float.fromhex(row["x_hex"]))
        error = abs(Decimal(value) - expected)
        assert error <= 16 * Decimal(float(np.spacing(abs(float(expected))))), (row["dist"], row["x"], value)


@pytest.mark.parametrize(
    ("law", "x", "p"),
    [
        ("max_abs", 5.512, 7.1e-8),
        ("max_abs", 6.607, 7.8e-11),
        ("max_abs", 5.446, 1.0e-7),
        ("max_abs", 4.274, 3.8e-5),
        ("range", 6.780, 4.8e-11),
        ("range", 5.186, 8.6e-7),
    ],
)
def test_p_values_printed_in_the_paper(law, x, p):
    """Arrieta-Ibarra et al. (2022), figures 3 to 10, to the printed digits."""
    assert float(f"{LAWS[law].sf(x):.1e}") == p


def test_far_tails_stay_finite():
    assert brownian.max_abs.logsf(111.7) / math.log(10) == pytest.approx(-2711.167, abs=5e-4)
    assert brownian.range.logsf(111.7) / math.log(10) == pytest.approx(-2710.866, abs=5e-4)
    for law in LAWS.values():
        assert law.sf(111.7) == 0.0
        far = law.logsf(np.array([1e3, 1e6, 1e100]))
        assert np.all(np.isfinite(far))
        assert far == pytest.approx(-(np.array([1e3, 1e6, 1e100]) ** 2) / 2, rel=1e-4)


@pytest.mark.parametrize("name", LAWS)
def test_monotone_and_without_a_jump_at_the_switch(name):
    law, switch = LAWS[name], SWITCH[name]
    x = np.sort(np.concatenate([np.linspace(0.01, 45, 20_000), switch + np.linspace(-1e-3, 1e-3, 2001)]))
    assert np.all(np.diff(law.cdf(x)) >= 0)
    assert np.all(np.diff(law.sf(x)) <= 0)
    assert np.all(np.diff(law.logsf(x)) <= 0)
    below, at = np.nextafter(switch, 0), switch
    assert law.sf(below) == pytest.approx(law.sf(at), rel=4e-15)
    assert law.cdf(below) == pytest.approx(law.cdf(at), rel=4e-15)
    assert law.logsf(below) == pytest.approx(law.logsf(at), rel=8e-15)


@pytest.mark.parametrize("name", LAWS)
def test_the_tails_belong_together(name):
    law = LAWS[name]
    x = np.linspace(0.05, 8, 3000)
    assert law.sf(x) + law.cdf(x) == pytest.approx(1, abs=4e-16)
    large = x[law.sf(x) > 1e-300]
    assert np.exp(law.logsf(large)) == pytest.approx(law.sf(large), rel=1e-13)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("p", [1e-300, 1e-100, 1e-10, 1e-3, 0.025, 0.5, 0.9, 0.999999])
def test_isf_inverts_sf(name, p):
    law = LAWS[name]
    x = law.isf(p)
    assert law.logsf(x) == pytest.approx(math.log(p), rel=1e-13)
    assert isinstance(x, float)


def test_quantiles_of_the_intervals():
    """MATH §7: q_.975 of the two laws."""
    assert brownian.max_abs.isf(0.025) == pytest.approx(2.49770547, abs=5e-9)
    assert brownian.range.isf(0.025) == pytest.approx(2.73436401, abs=5e-9)


@pytest.mark.parametrize("name", LAWS)
def test_ends_and_shapes(name):
    law = LAWS[name]
    assert (law.sf(0.0), law.cdf(0.0), law.logsf(0.0)) == (1.0, 0.0, 0.0)
    assert (law.sf(-1.0), law.cdf(-1.0)) == (1.0, 0.0)
    assert (law.sf(np.inf), law.cdf(np.inf), law.logsf(np.inf)) == (0.0, 1.0, -np.inf)
    assert (law.isf(1.0), law.isf(0.0)) == (0.0, np.inf)
    assert all(math.isnan(f(np.nan)) for f in (law.sf, law.cdf, law.logsf, law.isf))
    assert np.isnan(law.isf([-0.1, 1.1])).all()
    assert law.sf([[1.0, 2.0]]).shape == (1, 2)
    assert isinstance(law.sf(1), float)
    assert law.sf([]).shape == (0,)


@pytest.mark.parametrize("name", LAWS)
def test_simulated_walks_follow_the_law(name):
    """A walk of 4000 steps is discrete: its extremes are smaller by about 0.58/√4000 at each end (0.0092 each)."""
    rng = np.random.default_rng(0)
    walks = np.cumsum(rng.choice(np.array([-1, 1], dtype=np.int8), size=(4000, 4000)), axis=1, dtype=np.int32) / np.sqrt(4000)
    if name == "max_abs":
        drawn, shift = np.abs(walks).max(axis=1), 0.0092
    else:
        drawn, shift = np.maximum(walks.max(axis=1), 0) - np.minimum(walks.min(axis=1), 0), 0.0184
    for x in (0.8, 1.2, 1.6, 2.0, 2.5):
        expected = LAWS[name].sf(x + shift)
        error = math.sqrt(expected * (1 - expected) / 4000)
        assert abs((drawn > x).mean() - expected) < 4 * error + 0.002
