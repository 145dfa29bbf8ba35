"""The continuity gap of Theorem 3.10 against sums over groups of equal predictions."""

import brute
import numpy as np
import pytest
from datasets import SAMPLES, sample

from trueness import ece_continuity_gap, summarize
from trueness.errors import TruenessError

EXACT = {"abs": 1e-12, "rel": 0}


@pytest.mark.parametrize("name", SAMPLES)
def test_values(name):
    y, f, w = sample(name)
    value = ece_continuity_gap(y, f, mass=w)
    assert value == pytest.approx(brute.ece_continuity_gap(y, f, w), **EXACT)
    assert value >= 0


def test_two_points():
    # MATH 4: g = 1/2 everywhere, truth 0 or 1: the error is 0, the distance 1/2
    assert ece_continuity_gap([0.0, 1.0], [0.5, 0.5]) == 0.5
    assert ece_continuity_gap([0.0, 1.0], [0.5, 0.5], mass=[0.5, 0.5]) == 0.5
    # moved apart by however little, nothing cancels
    assert ece_continuity_gap([0.0, 1.0], [0.5 - 1e-9, 0.5 + 1e-9]) == 0.0


def test_masses():
    # groups .2 (truths .1, .5; masses .25, .5) and .7: distance .025 + .15 + .05, error |-.025 + .15| + .05
    gap = ece_continuity_gap([0.1, 0.5, 0.9], [0.2, 0.2, 0.7], mass=[0.25, 0.5, 0.25])
    assert gap == pytest.approx(0.225 - 0.175, **EXACT)


def test_no_gap_where_the_error_has_one_sign_in_each_group():
    rng = np.random.default_rng(9)
    f = np.round(rng.random(100), 1)
    assert ece_continuity_gap(np.clip(f + 0.1 * (f > 0.5), 0, 1), f) == pytest.approx(0.0, abs=1e-15)


def test_bad_masses():
    with pytest.raises(TruenessError, match="mass"):
        ece_continuity_gap([0.0, 1.0], [0.5, 0.5], mass=[-1.0, 1.0])


def test_a_summary_is_refused_by_the_names_of_the_arguments():
    with pytest.raises(TruenessError, match="Pass truth and y_prob"):
        ece_continuity_gap(summarize([0], [0.5]), None)
