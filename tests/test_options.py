"""Options that are none are refused, each by one rule and in one wording wherever it is taken."""

import numpy as np
import pytest

from trueness import logit_smoothed_ece, noise_floor
from trueness.errors import InputError
from trueness.options import check_bandwidth, check_choice, check_count, check_level, check_options, check_rng, check_seed

Y, F = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]


@pytest.mark.parametrize("rng", [-1, 1.0, True, "0", [1], np.float64(1), np.bool_(True)])
def test_one_rule_for_seeds_and_generators(rng):
    told = set()
    for check in (check_rng, check_seed, lambda rng: logit_smoothed_ece(Y, F, rng=rng), lambda rng: noise_floor(Y, F, rng=rng)):
        with pytest.raises(InputError, match="rng: ") as caught:
            check(rng)
        told.add(str(caught.value))
    assert told == {f"rng: {rng!r} is not None, a whole number from 0 on, or a numpy.random.Generator."}


def test_seeds_and_generators():
    assert check_seed(np.int32(7)) == 7
    assert check_rng(7).random() == np.random.default_rng(7).random()
    generator = np.random.default_rng(7)
    assert check_rng(generator) is generator
    assert check_seed(generator) == np.random.default_rng(7).integers(2**63)
    assert check_seed(None) != check_seed(None)
    assert 0 <= check_seed(None) < 2**63


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "10", None, np.float64(10)])
def test_counts_are_named(value):
    for name, call in {
        "draws": lambda: logit_smoothed_ece(Y, F, method="monte-carlo", draws=value),
        "resamples": lambda: noise_floor(Y, F, resamples=value),
        "laps": lambda: check_count("laps", value),
    }.items():
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value) == f"{name}: {value!r} is not a positive whole number."
    assert check_count("laps", np.int8(3)) == 3


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, True, "0.9", None, float("nan")])
def test_levels_are_fractions(level):
    with pytest.raises(InputError, match=r"is not a fraction in \(0, 1\)"):
        check_level(level)


def test_levels_end_where_too_many_draws_would_be_needed():
    assert check_level(np.float32(0.5)) == 0.5
    with pytest.raises(InputError, match=r"beyond 0\.9999"):
        check_level(0.99999)
    assert check_level(0.99999, highest=0.999995) == 0.99999


@pytest.mark.parametrize("value", [0, -1.0, True, "1", None, float("inf"), float("nan")])
def test_bandwidths_are_positive(value):
    with pytest.raises(InputError, match=r"is not a positive number\. Pass"):
        check_bandwidth(value)
    with pytest.raises(InputError, match=r"is not a positive number from 1 to 2\. Pass"):
        check_bandwidth(value, 1, 2)


def test_choices():
    check_choice("kind", "a", ("a", "b"))
    with pytest.raises(InputError, match=r"^kind: 'c' is not one of 'a', 'b'\.$"):
        check_choice("kind", "c", ("a", "b"))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"nan": "Drop"}, "nan='Drop' is not a choice"),
        ({"nan": "raise", "align": 1}, "align=1 is not a choice"),
        ({"nan": "raise", "pos_label": float("nan")}, "pos_label=nan is not a label"),
        ({"nan": "raise", "pos_label": [1]}, r"pos_label=\[1\] is not a label"),
    ],
)
def test_how_rows_are_read(options, text):
    with pytest.raises(InputError, match=text):
        check_options(**options)
