"""What a summary says of its rows."""

import numpy as np
import pytest

from trueness import assess, logit_smoothed_ece, smooth_ece, smooth_ece_area, summarize
from trueness.summary.summary import empty_summary


def test_a_summary_of_nothing_has_no_class():
    assert empty_summary().notes == ("too few rows: 0",)


def test_swapped_arguments_are_noted():
    rng = np.random.default_rng(7)
    f = rng.random(100)
    assert any("swapped" in note for note in summarize(f, rng.random(100) < f).notes)


def scores(low, high, times, n=20_000):
    """Scores alike on the logarithmic scale, and events that many times as likely."""
    rng = np.random.default_rng(0)
    f = np.exp(rng.uniform(np.log(low), np.log(high), n))
    return (rng.random(n) < times * f).astype(int), f


RARE = "coarse on the logit scale"


@pytest.mark.parametrize(("low", "high", "times"), [(1e-9, 1e-5, 3000), (1e-6, 1e-4, 300)])
def test_a_summary_says_where_its_cells_are_coarse(low, high, times):
    y, f = scores(low, high, times, n=1000)
    summary = summarize(y, f)
    assert any(RARE in note for note in summary.notes)
    assert any(RARE in note for note in assess(summary).notes)
    assert not any(RARE in note for note in assess(y, f).notes)  # from rows nothing is coarse


@pytest.mark.parametrize(("low", "high"), [(1e-4, 1e-2), (1e-3, 0.1), (1e-2, 1.0)])
def test_what_a_summary_promises_holds_where_it_says_nothing(low, high):
    y, f = scores(low, high, 1)
    summary = summarize(y, f)
    assert summary.limits == summary.coarsen(min_rows=50).limits == ()
    assert logit_smoothed_ece(summary) == pytest.approx(logit_smoothed_ece(y, f), rel=3e-5)
    assert smooth_ece(summary, scale="logit") == pytest.approx(smooth_ece(y, f, scale="logit"), rel=2e-4)
    assert smooth_ece_area(summary) == pytest.approx(smooth_ece_area(y, f), rel=1e-6)


def test_scores_that_are_all_the_same_are_not_coarse():
    y = np.arange(1000) % 100 == 0
    for score in (0.0, 1e-9, 1e-7, 1 - 1e-7, 1.0):
        assert summarize(y, np.full(1000, score)).limits == ()


def test_a_bandwidth_of_few_cells_is_said():
    f = np.exp(np.linspace(np.log(1e-9), np.log(1e-5), 100))
    y = np.random.default_rng(1).permutation(f)
    narrow = "less than ten cells wide"
    assert any(narrow in note for note in assess(summarize(y, f)).notes)
    assert not any(narrow in note for note in assess(y, f).notes)
    assert not any(narrow in note for note in assess(summarize(*scores(1e-3, 0.5, 1, n=1000))).notes)


SHARED = "scores share cells of the summary: ECCE-R"


@pytest.mark.parametrize(("exact", "size"), [(False, "may be as large as 0.42"), (True, "is 0.2100")])
def test_what_happens_inside_cells_is_said(exact, size):
    """Events first: C goes up by 0.21 and comes back, all of it inside one cell, at whose edges few rows are tested."""
    y, f = (np.arange(400) < 120).astype(int), 0.3 + 1e-9 * np.arange(400)
    assert any(note.startswith(f"{SHARED} {size}") for note in assess(summarize(y, f, exact=exact)).notes)
    rows = assess(y, f)
    assert rows.significant
    assert not any(SHARED in note for note in rows.notes)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("digits", [1, 2, 3, 16])
@pytest.mark.parametrize("n", [100, 10_000])
def test_ordinary_scores_do_not_share_cells(n, digits, weighted, exact):
    """Equal scores do, and C does not move among them."""
    rng = np.random.default_rng(n)
    f = np.round(rng.random(n), digits)
    w = rng.random(n) if weighted else None
    assert not any(SHARED in note for note in assess(summarize(rng.random(n) < f, f, sample_weight=w, exact=exact)).notes)
