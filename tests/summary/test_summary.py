"""Summaries: sums against plain Python arithmetic, addition, equality."""

import functools
import itertools
import operator
import pickle
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness import Record, Summary, brier_score, summarize, summarize_frame
from trueness.errors import SummaryError
from trueness.summary.file import decode, encode, read
from trueness.summary.moments import FLOAT_SUMS
from trueness.summary.ruler import ruler
from trueness.summary.summary import integer_summary

# r^j is kept to 31 bits per row, so a sum is off by at most half a unit of the last bit a row.
ROUNDING = 2.0**-32 + 1e-12


def data(n=500, seed=0, *, soft=False, weights=False):
    rng = np.random.default_rng(seed)
    f = np.concatenate([rng.random(n), rng.beta(0.2, 0.2, n).round(2), [0.0, 1.0, 0.5]])
    y = rng.random(len(f)) if soft else (rng.random(len(f)) < f).astype(float)
    return y, f, rng.exponential(size=len(f)) if weights else None


def kinds():
    return [data(), data(soft=True), data(weights=True), data(soft=True, weights=True)]


def test_integer_sums_are_those_of_the_definition():
    y, f, _ = data()
    summary = summarize(y, f)
    on = summary.ruler
    cell = on.locate(f).cell
    for row, c in enumerate(summary.cells):
        for label in (0, 1):
            here = f[(cell == c) & (y == label)]
            expected = [len(here)]
            for power in (1, 2, 3):
                total = 0
                for score in here:
                    r = float(Fraction(float(score)) * int(on.unit[c]) - int(on.k[c]))
                    r_power = {1: r, 2: r * r, 3: (r * r) * r}[power]
                    total += int(np.floor(r_power * 2.0**31 + 0.5))
                expected += [total >> 31, total & (2**31 - 1)]
            assert summary.sums[7 * label : 7 * label + 7, row].tolist() == expected


@pytest.mark.parametrize(("y", "f", "w"), kinds())
def test_float_sums_are_those_of_the_definition(y, f, w):
    summary = summarize(y, f, sample_weight=w)
    on = summary.ruler
    at = on.locate(f)
    w = np.ones(len(f)) if w is None else w
    e, r = y - f, at.r
    terms = [w, w * r, w * r**2, w * e, w * e * r, w * e * r**2, w * y**2, w * np.maximum(e, 0), w**2]
    terms += [w**2 * f * (1 - f), w**2 * e**2]
    assert len(terms) == len(FLOAT_SUMS)
    for column, term in enumerate(terms):
        expected = np.bincount(at.cell, term, minlength=on.cells)[summary.cells]
        assert np.all(np.abs(getattr(summary.columns, FLOAT_SUMS[column]) - expected) <= summary.rows * ROUNDING)
    m = summary.moments
    centre = m.mean[np.searchsorted(summary.cells, at.cell)]
    for got, term in [(m.spread, w * (f - centre) ** 2), (m.e1, w * e * (f - centre)), (m.e2, w * e * (f - centre) ** 2)]:
        expected = np.bincount(at.cell, term, minlength=on.cells)[summary.cells]
        assert got == pytest.approx(expected, rel=1e-6, abs=1e-13)
    assert m.brier == pytest.approx(float((w * e**2).sum()), rel=1e-12)


@pytest.mark.parametrize(("y", "f", "w"), kinds())
@pytest.mark.parametrize("parts", [1, 2, 7, 64])
def test_parts_in_any_order_add_up_to_the_whole(y, f, w, parts):
    whole = summarize(y, f, sample_weight=w)
    rng = np.random.default_rng(parts)
    pieces = [
        summarize(y[i], f[i], sample_weight=None if w is None else w[i]) for i in np.array_split(rng.permutation(len(f)), parts)
    ]
    merged = functools.reduce(operator.add, rng.permutation(np.array(pieces, dtype=object)))
    assert merged.n == whole.n
    assert sum(pieces) == functools.reduce(operator.add, pieces)
    if whole.exact:
        assert merged == whole
        assert merged.digest == whole.digest
    else:
        assert np.array_equal(merged.cells, whole.cells)
        assert merged.sums == pytest.approx(whole.sums, rel=1e-12, abs=1e-12)


@given(st.lists(st.tuples(st.sampled_from([0, 1]), st.floats(0, 1)), min_size=3, max_size=40), st.randoms())
def test_addition_is_associative_and_commutative_bit_for_bit(rows, random):
    y, f = map(np.array, zip(*rows, strict=True))
    cut = sorted(random.sample(range(1, len(f)), 2))
    a, b, c = (summarize(y[i:j], f[i:j]) for i, j in itertools.pairwise([0, *cut, len(f)]))
    assert (a + b) + c == a + (b + c) == c + (b + a) == summarize(y, f)


def test_integer_and_float_summaries_add_to_a_float_one():
    y, f, _ = data()
    ys, fs, w = data(seed=1, soft=True, weights=True)
    both = summarize(y, f) + summarize(ys, fs, sample_weight=w)
    direct = summarize(np.concatenate([y, ys]), np.concatenate([f, fs]), sample_weight=np.concatenate([np.ones(len(y)), w]))
    assert not both.exact
    assert both.soft
    assert np.all(np.abs(both.sums - direct.sums) <= both.rows * ROUNDING)
    assert both == summarize(ys, fs, sample_weight=w) + summarize(y, f)


def test_equality_is_of_ruler_and_sums_not_of_how_the_rows_came():
    y, f, _ = data()
    plain = summarize(y, f)
    dropped = summarize(np.append(y, np.nan), np.append(f, 0.5), nan="drop")
    assert plain == dropped
    assert hash(plain) == hash(dropped)
    assert plain.rejected != dropped.rejected
    assert plain != summarize(y, f, bins=(12,))
    assert plain != summarize(1 - y, f)
    assert plain != "a summary"


def test_different_rulers_do_not_add():
    with pytest.raises(SummaryError, match=r"bins=\(\) and bins=\(12,\).*same bins"):
        summarize([0], [0.5]) + summarize([0], [0.5], bins=12)


def test_adding_something_else():
    with pytest.raises(TypeError):
        summarize([0], [0.5]) + 1


def test_three_summaries_that_each_claim_two_billion_rows():
    """n beyond 2^32 in one cell: a single int64 of Σ floor(r·2^31 + ½) would overflow."""
    count = 2**31
    table = np.zeros((ruler().cells, 8), dtype=np.int64)
    table[ruler().row_of_cell[-1], 4:] = [count, count * 2**31 - 1, count * 2**31 - 1, count * 2**31 - 1]
    huge = integer_summary(table, ruler())
    three = huge + huge + huge
    assert three.n == 3 * count
    assert three.moments.mean[-1] == pytest.approx(1.0, abs=1e-15)
    whole, numerator = three.sums[8, -1], three.sums[9, -1]
    assert int(whole) * 2**31 + int(numerator) == 3 * (count * 2**31 - 1)
    assert sum([huge] * 8, start=0) == (three + three) + (huge + huge)


def test_counts_and_notes():
    summary = summarize([0, 1, np.nan, 1, 0], [0.5, np.inf, 0.5, 1 + 2**-52, 0.2], nan="drop")
    assert dict(summary.rejected) == {"prediction missing or not finite": 1, "outcome missing or not finite": 1}
    assert summary.rows_in == 5
    assert summary.n == 3
    notes = "\n".join(summary.notes)
    assert "1 values beyond 0 or 1 by at most 4 units" in notes
    assert "too few rows: 3" in notes
    merged = summary + summary
    assert merged.rows_in == 10
    assert merged.clipped == 2


@pytest.mark.parametrize("w", [None, [0.3, 0.1, 0.7]])
@pytest.mark.parametrize(
    ("y", "f", "note"),
    [
        ([0, 0, 0], [0.1, 0.7, 0.3], "no outcome is 1"),
        ([1, 1, 1], [0.1, 0.7, 0.3], "every outcome is 1"),
        ([1, 0, 1], [0, 1, 1], "predictions are all 0 or 1"),
    ],
)
def test_notes_on_the_data(y, f, w, note):
    assert note in " ".join(summarize(y, f, sample_weight=w).notes)


def test_an_ordinary_summary_has_no_notes():
    assert summarize(*data()[:2]).notes == ()


def test_float32_is_noted():
    y, f, _ = data()
    assert any("float32" in note for note in summarize(y, f.astype(np.float32)).notes)


def test_repr_answers_how_many_rows():
    assert repr(summarize([0, 1], [0.2, 0.7])) == "<Summary of 2 rows in 2 of 48746 cells, integer sums>"
    assert "soft labels" in repr(summarize([0.5], [0.2]))


def owners(array):
    """An array and every one whose memory it shares, as far as `.base` tells."""
    while isinstance(array, np.ndarray):
        yield array
        array = array.base


def test_arrays_cannot_be_edited_in_place():
    y, f, w = data(weights=True)
    hard, weighted = summarize(y, f), summarize(y, f, sample_weight=w)
    made = (hard, weighted, hard + hard, hard + weighted, hard.coarsen(min_rows=5), pickle.loads(pickle.dumps(hard)))  # noqa: S301
    grouped = summarize_frame({"y": y, "p": f, "g": y}, outcome="y", prediction="p", by="g")
    for summary in (*made, decode(encode(weighted), "x"), *grouped.values()):
        digest = summary.digest
        of_ruler = (summary.ruler.edges, summary.ruler.k, summary.ruler.unit, summary.ruler.bin_of_cell(15))
        kept = (summary.cells, summary.rows, summary.sums, summary.columns.we, summary.moments.mean, *of_ruler)
        for array in itertools.chain.from_iterable(map(owners, kept)):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.flags.writeable = True
            assert memoryview(array).readonly
        assert Summary(**{f.name: getattr(summary, f.name) for f in fields(summary)}).digest == digest


def test_the_caller_keeps_its_own_arrays_and_a_summary_its_own():
    own, rejected = np.array([3]), {"prediction missing": 1}
    taken = replace(summarize([0], [0.5]), cells=own, rejected=rejected)
    own[0], rejected["prediction missing"] = 4, 7
    assert taken.cells[0] == 3
    assert taken.rejected == {"prediction missing": 1}
    assert own.flags.writeable


def test_more_rows_than_are_counted_are_refused():
    table = np.zeros((ruler().cells, 8), dtype=np.int64)
    table[-1, 0] = 2**62
    huge = integer_summary(table, ruler())
    with pytest.raises(SummaryError, match=r"9223372036854775808 rows together, more than 2\^63"):
        huge + huge
    clipped = replace(summarize([0], [0.5]), clipped=2**62)
    with pytest.raises(SummaryError, match=r"9223372036854775808 clipped values together, more than 2\^63"):
        clipped + clipped
    dropped = replace(summarize([0], [0.5]), rejected={"prediction missing": 2**63 - 2})
    with pytest.raises(SummaryError, match=r"9223372036854775808 rows together"):
        sum([dropped, summarize([0], [0.5])])
    record = Record({"a": huge, "b": huge}, axes=["g"])
    assert record.n == 2**63
    with pytest.raises(SummaryError, match="more than 2"):
        record.total()


def test_what_a_summary_was_made_from_does_not_enter_its_digest():
    """The digests of version 0.1, whose files are still read."""
    assert summarize([0, 1, np.nan, 1], [0.2, 0.7, 0.3, 0.9], nan="drop", bins=12).digest == (
        "a1e144f447cf9c17fe78cf48c142d3bb93d47e3fd8ed1d5d9adb1c8b69967526"
    )
    assert summarize([0, 0.5], [0.2, 0.7], sample_weight=[2, 1e200]).digest == (
        "b08b9f48fdd7b6fd447455fd442875485629379f036a49a52d69f171fb347e60"
    )


def test_weights_whose_sum_is_that_of_their_squares_are_not_taken_for_ones():
    w, f, y = np.array([1.5, 0.5, 0.5, 0.5]), np.full(4, 0.3), np.array([1, 0, 0, 1])
    assert brier_score(summarize(y, f, sample_weight=w)) == pytest.approx(np.average((y - f) ** 2, weights=w), abs=1e-14)


@pytest.mark.parametrize("seed", range(20))
def test_the_weighted_brier_score_of_a_summary_is_that_of_its_rows(seed):
    """Weights in all kinds of sums: Kish-normalised (Σw = Σw²), beside weights of one, in files, records and wider cells."""
    rng = np.random.default_rng(seed)
    n, half = 40, slice(0, 20)
    f = np.full(n, 0.3) if seed % 2 else rng.random(n).round(1)
    y, w = (rng.random(n) < f).astype(float), rng.exponential(size=n)
    w *= w.sum() / (w**2).sum()
    mixed = w.copy()
    mixed[half] = 1.0
    whole = summarize(y, f, sample_weight=w)
    parts = {"ones": summarize(y[half], f[half]), "weighted": summarize(y[20:], f[20:], sample_weight=w[20:])}
    record = Record(parts, axes=["g"])
    for summary, weights in (
        (whole, w),
        (decode(encode(whole), "x"), w),
        (whole.coarsen(min_rows=5), w),
        (parts["ones"] + parts["weighted"], mixed),
        (record.total(), mixed),
        (read(encode(record), "x").value.total(), mixed),
        (record.coarsen(min_rows=5).total(), mixed),
    ):
        rounding = 1e-9 if summary.ruler.starts else 1e-14  # merged integer sums are rounded once more
        assert brier_score(summary) == pytest.approx(np.average((y - f) ** 2, weights=weights), abs=rounding)
