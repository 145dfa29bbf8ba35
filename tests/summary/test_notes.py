"""What a summary says of its rows."""

import numpy as np

from trueness import summarize
from trueness.summary.summary import empty_summary


def test_a_summary_of_nothing_has_no_class():
    assert empty_summary().notes == ("too few rows: 0",)


def test_swapped_arguments_are_noted():
    rng = np.random.default_rng(7)
    f = rng.random(100)
    assert any("swapped" in note for note in summarize(f, rng.random(100) < f).notes)
