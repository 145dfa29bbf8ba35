"""Sums over equal-width bins straight from the rows: exact, alike in every engine, and only where no row must be judged."""

from fractions import Fraction

import numpy as np
import pytest

from trueness import binned_ece, soft_mean_ece, summarize
from trueness.engines.arrays import bins as engine
from trueness.engines.arrays import compiled, workers
from trueness.errors import InputError
from trueness.inputs.rows import read_rows

RNG = np.random.default_rng(8)
MANY = (1 << 17) + 1234


def at_every_edge(bins):
    edges = np.arange(bins + 1) / bins
    near = [edges, np.nextafter(edges, 2), np.nextafter(edges, -1), [-0.0, 5e-324, 1.0], np.repeat(0.29, 40), RNG.random(500)]
    f = np.clip(np.concatenate(near), -0.0, 1.0)
    return RNG.integers(0, 2, len(f)), RNG.permutation(f)


def both(monkeypatch, y, f, bins):
    sums = []
    for chosen in (None, compiled):
        monkeypatch.setattr(engine, "accelerator", lambda n, chosen=chosen: chosen)
        sums.append(engine.bin_sums(read_rows(y, f), bins))
    return sums


@pytest.mark.parametrize("score", [np.float32, np.float64])
@pytest.mark.parametrize("label", [bool, np.uint8, np.int8, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("bins", [1, 15, 100])
def test_the_same_bits_and_no_more_than_one_rounding(monkeypatch, bins, label, score):
    y, f = at_every_edge(bins)
    y, f = y.astype(label), f.astype(score)
    monkeypatch.setattr(engine, "_PIECE", 100)
    plain, fast = both(monkeypatch, y, f, bins)
    for one, other in zip(plain, fast, strict=True):
        assert np.array_equal(one, other)
    of = np.searchsorted((np.arange(bins + 1) / bins)[1:-1], f.astype(np.float64), side="right")
    for k in range(bins):
        rows = of == k
        exact = sum((Fraction(float(b)) - Fraction(float(a)) for a, b in zip(f[rows], y[rows], strict=True)), Fraction(0))
        assert plain.n[k] == rows.sum()
        assert plain.outcomes[k] == y[rows].sum()
        assert abs(float(Fraction(plain.gap[k]) - exact)) <= rows.sum() * 2.0**-46 + 1e-15


@pytest.mark.parametrize("value", [np.nan, -0.1, 1.5, 1 + 2**-52])
def test_rows_that_must_be_judged_first(monkeypatch, value):
    y, f = at_every_edge(15)
    for column in (f, y := y.astype(float)):
        spoilt = column.copy()
        spoilt[7] = value
        given = (y, spoilt) if column is f else (spoilt, f)
        assert both(monkeypatch, *given, 15) == [None, None]
    y[3] = 0.5
    assert both(monkeypatch, y, f, 15) == [None, None]


def test_rows_that_cannot_be_used_are_told_as_ever():
    f, y = RNG.random(MANY), RNG.integers(0, 2, MANY)
    f[77] = np.nan
    with pytest.raises(InputError, match="row 77"):
        binned_ece(y, f)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_show(monkeypatch, threads):
    f = RNG.beta(2, 50, 3000)
    y = (RNG.random(3000) < f).astype(int)
    expected = engine.bin_sums(read_rows(y, f), 15)
    monkeypatch.setattr(engine, "_PIECE", 64)
    monkeypatch.setattr(workers.os, "sched_getaffinity", lambda pid: range(threads))
    for one, other in zip(engine.bin_sums(read_rows(y, f), 15), expected, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("options", [{}, {"bins": 37}, {"bins": 257}, {"norm": "l2", "debias": True}, {"norm": "max"}])
@pytest.mark.parametrize("scores", ["uniform", "rare", "rounded"])
def test_values_of_many_rows_are_those_of_their_summary(scores, options):
    f = {"uniform": RNG.random, "rare": lambda n: RNG.beta(2, 200, n), "rounded": lambda n: RNG.random(n).round(2)}[scores](
        MANY
    )
    y = RNG.random(MANY) < f
    bins = options.get("bins", 15)
    summary = summarize(y, f, bins=bins)
    assert binned_ece(y, f, **options) == pytest.approx(binned_ece(summary, **options), rel=0, abs=1e-13)
    assert soft_mean_ece(y, f, bins=bins) == pytest.approx(soft_mean_ece(summary, bins=bins), rel=0, abs=1e-13)
