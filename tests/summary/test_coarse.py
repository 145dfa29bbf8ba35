"""Coarsened summaries: no cell of few rows, the same totals and means, and an error where an answer is lost."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness
from trueness import Record, Summary, binned_ece, brier_score, ecce, smooth_ece, summarize
from trueness.errors import InputError, SummaryError
from trueness.summary.coarse import CoarseRuler, merged_cells, merged_ruler
from trueness.summary.invariants import fault_of
from trueness.summary.ruler import ruler


def scores(kind, n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "uniform": lambda: rng.random(n),
        "rare": lambda: rng.beta(2, 200, n),
        "both ends": lambda: rng.beta(0.1, 0.1, n),
        "ties": lambda: rng.integers(0, 101, n) / 100,
        "sparse": lambda: np.append(rng.beta(2, 200, n), [0.3, 0.61, 0.999999, 1.0]),
    }[kind]()


KINDS = ["uniform", "rare", "both ends", "ties", "sparse"]


def rows(kind, *, weighted=False, soft=False):
    f = scores(kind)
    rng = np.random.default_rng(1)
    y = np.clip(f + 0.2 * rng.normal(size=len(f)), 0, 1) if soft else (rng.random(len(f)) < f**1.2).astype(float)
    return y, f, rng.exponential(size=len(f)) if weighted else None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [{}, {"weighted": True}, {"soft": True}, {"weighted": True, "soft": True}])
@pytest.mark.parametrize("min_rows", [2, 10, 300])
def test_totals_and_means_stay(kind, labels, min_rows):
    y, f, w = rows(kind, **labels)
    fine = summarize(y, f, sample_weight=w, exact=True)
    coarse = fine.coarsen(min_rows=min_rows)
    assert coarse.rows.min() >= min_rows
    assert coarse.n == fine.n
    assert fault_of(coarse) is None
    assert coarse.extremes is None
    assert coarse.exact == fine.exact
    assert set(coarse.ruler.edges) <= set(fine.ruler.edges)
    w = np.ones(len(f)) if w is None else w
    m, c = coarse.moments, coarse.columns
    total = w.sum()
    assert m.weight.sum() == pytest.approx(total, rel=1e-13)
    assert (m.weight * m.mean).sum() / total == pytest.approx(np.average(f, weights=w), abs=1e-12)
    assert m.e.sum() / total == pytest.approx(np.average(y - f, weights=w), abs=1e-12)
    assert c.wy2.sum() == pytest.approx((w * y**2).sum(), rel=1e-12)
    assert brier_score(coarse) == pytest.approx(brier_score(fine), abs=1e-12)
    # Every cell holds the moments of its rows.
    located = coarse.ruler.locate(f)
    for cell, column in [(located.cell, w), (located.cell, w * (y - f))]:
        by_cell = np.bincount(cell, column, minlength=coarse.ruler.cells)[coarse.cells]
        assert (m.weight if column is w else m.e) == pytest.approx(by_cell, abs=1e-9)
    centre = m.mean[np.searchsorted(coarse.cells, located.cell)]
    spread = np.bincount(located.cell, w * (f - centre) ** 2, minlength=coarse.ruler.cells)[coarse.cells]
    assert m.spread == pytest.approx(spread, rel=1e-5, abs=1e-9)


def test_counts_are_exact_and_sums_are_rounded_once():
    y, f, _ = rows("uniform")
    fine = summarize(y, f)
    coarse = fine.coarsen(min_rows=50)
    assert coarse.sums[0].sum() == fine.sums[0].sum()
    assert coarse.sums[7].sum() == fine.sums[7].sum()
    widths = 1 / coarse.ruler.unit[coarse.cells]
    of = np.searchsorted(coarse.ruler.edges, f, side="right") - 1
    for label in (0, 1):
        here = np.bincount(of[y == label], f[y == label], minlength=coarse.ruler.cells)[coarse.cells]
        n, first = coarse.sums[7 * label], coarse.sums[7 * label + 1] + coarse.sums[7 * label + 2] / 2**31
        got = (n * coarse.ruler.k[coarse.cells] + first) / coarse.ruler.unit[coarse.cells]
        assert np.all(np.abs(got - here) <= 2**-32 * (widths + n * 2.0**-14) + 1e-12)


def test_as_few_cells_are_merged_as_will_do():
    f = np.concatenate([np.full(20, 0.11), [0.31, 0.312], np.full(20, 0.5), [0.9]])
    fine = summarize(np.zeros(len(f)), f)
    coarse = fine.coarsen(min_rows=2)
    assert coarse.rows.tolist() == [20, 2, 21]
    assert fine.ruler.cells - coarse.ruler.cells == np.diff(fine.cells[[1, 2]])[0] + np.diff(fine.cells[[3, 4]])[0]
    assert fine.coarsen(min_rows=1) == fine
    assert summarize(np.zeros(20), np.full(20, 0.5)).coarsen(min_rows=20).ruler == ruler()
    twice = coarse.coarsen(min_rows=22)
    assert twice.rows.tolist() == [22, 21] or twice.rows.min() >= 22
    assert twice.n == fine.n


@pytest.mark.parametrize("labels", [{}, {"weighted": True, "soft": True}])
def test_in_two_steps_or_one(labels):
    y, f, w = rows("both ends", **labels)
    fine = summarize(y, f, sample_weight=w)
    steps = fine.coarsen(min_rows=5).coarsen(min_rows=40)
    assert steps.rows.min() >= 40
    direct = fine.moved(steps.ruler)
    np.testing.assert_array_equal(direct.cells, steps.cells)
    np.testing.assert_array_equal(direct.rows, steps.rows)
    assert np.abs(direct.moments.mean - steps.moments.mean).max() < 1e-9
    assert fault_of(steps) is None


def test_binned_errors_where_the_bins_are_left_and_an_error_where_not():
    rng = np.random.default_rng(2)
    f = rng.random(10_000)
    y = (rng.random(10_000) < f).astype(float)
    for min_rows, left, lost in ((15, (10, 15, 100), (64,)), (110, (10, 15), (100,)), (550, (5, 15), (10, 100))):
        coarse = summarize(y, f).coarsen(min_rows=min_rows)
        for bins in left:
            assert coarse.ruler.has(bins)
            assert binned_ece(coarse, bins=bins) == pytest.approx(binned_ece(y, f, bins=bins), abs=1e-12)
        for bins in lost:
            assert not coarse.ruler.has(bins)
            with pytest.raises(InputError, match=f"{bins} equal-width bins are not unions of this summary's cells"):
                binned_ece(coarse, bins=bins)


def test_bins_that_were_asked_for_are_kept_where_they_can_be():
    rng = np.random.default_rng(2)
    f, y = rng.random(4000), rng.integers(0, 2, 4000)
    coarse = summarize(y, f, bins=7).coarsen(min_rows=15)
    assert binned_ece(coarse, bins=7) == pytest.approx(binned_ece(y, f, bins=7), abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_ecce_keeps_a_bracket_that_holds(kind):
    y, f, _ = rows(kind)
    exact = ecce(y, f)
    fine, coarse = summarize(y, f), summarize(y, f).coarsen(min_rows=25)
    low, high = ecce(coarse).bracket.range
    assert low <= exact.range <= high
    assert high - low >= ecce(fine).bracket.range[1] - ecce(fine).bracket.range[0] - 1e-12
    assert ecce(coarse).range <= exact.range + 1e-12


@pytest.mark.parametrize(("min_rows", "within"), [(5, 2e-3), (20, 0.02)])
def test_smooth_measures_where_cells_are_narrow_beside_the_bandwidth(min_rows, within):
    rng = np.random.default_rng(3)
    f = rng.random(20_000)
    y = (rng.random(20_000) < np.clip(f + 0.05 * np.sin(9 * f), 0, 1)).astype(float)
    coarse = summarize(y, f).coarsen(min_rows=min_rows)
    assert smooth_ece(coarse) == pytest.approx(smooth_ece(y, f), rel=within)
    assert any("cells were merged, each to at least" in note for note in coarse.notes)


def test_wide_cells_are_points_to_smooth_measures():
    """By its spread a cell wider than the bandwidth once gave six times the error."""
    y, f, _ = rows("sparse")
    fine, coarse = summarize(y, f), summarize(y, f).coarsen(min_rows=20)
    assert np.diff(coarse.ruler.edges)[coarse.cells].max() > 0.5
    assert smooth_ece(coarse) == pytest.approx(smooth_ece(fine), rel=0.3)


def test_an_assessment_leaves_out_what_merged_cells_cannot_answer(tmp_path):
    y, f, _ = rows("sparse")
    coarse = summarize(y[-400:], f[-400:]).coarsen(min_rows=20)
    assert not coarse.ruler.has(15)
    found = trueness.assess(coarse)
    assert "binned_ece" not in {line.name for line in found.metrics}
    assert "binned_ece is left out: no edges of 15 bins" in found.notes
    found.report(tmp_path / "a.html")
    with pytest.raises(InputError, match=r"15 equal-width bins are not unions.*Some were merged"):
        trueness.assess(coarse, metrics=["binned_ece"])


def test_what_adds():
    y, f, _ = rows("uniform")
    a, b = summarize(y[:1500], f[:1500]), summarize(y[1500:], f[1500:])
    coarse = (a + b).coarsen(min_rows=10)
    to = coarse.ruler
    assert (a.moved(to) + b.moved(to)).rows.tolist() == coarse.rows.tolist()
    for other in (b, b.coarsen(min_rows=10)):
        with pytest.raises(SummaryError, match=r"different rulers do not add.*add before coarsening"):
            coarse + other


def test_files_and_pickles(tmp_path):
    y, f, _ = rows("sparse")
    coarse = summarize(y, f, bins=12).coarsen(min_rows=10)
    coarse.save(tmp_path / "a.tns")
    back = Summary.load(tmp_path / "a.tns")
    assert back == coarse == pickle.loads(pickle.dumps(coarse))  # noqa: S301
    assert back.ruler == coarse.ruler
    assert back.notes == coarse.notes
    assert coarse != summarize(y, f, bins=12)
    assert repr(coarse).startswith(f"<Summary of {len(f)} rows in {len(coarse.cells)} of {coarse.ruler.cells} cells")


def test_a_record_has_the_same_cells_for_all_keys(tmp_path):
    y, f, _ = rows("both ends")
    record = Record(
        {k: summarize(y[k::4], f[k::4]) for k in range(4)}, axes=["k"], extremes=summarize(y, f, exact=True).extremes
    )
    coarse = record.coarsen(min_rows=8)
    assert coarse.extremes is None
    assert min(part.rows.min() for part in coarse.values()) >= 8
    assert len({part.ruler for part in coarse.values()}) == 1
    assert coarse.total().n == len(f)
    assert coarse.total().moments.e.sum() == pytest.approx((y - f).sum(), abs=1e-9)
    coarse.save(tmp_path / "a.tns")
    assert Record.load(tmp_path / "a.tns") == coarse
    with pytest.raises(SummaryError, match=r"key 'b' holds 1 rows in all, fewer than 2"):
        Record({"a": summarize([0, 1], [0.1, 0.2]), "b": summarize([0], [0.5])}, axes=["k"]).coarsen(min_rows=2)


@pytest.mark.parametrize("min_rows", [0, -1, 2.5, True, None, "10"])
def test_min_rows_that_are_none(min_rows):
    with pytest.raises(InputError, match="min_rows"):
        summarize([0, 1], [0.2, 0.3]).coarsen(min_rows=min_rows)


def test_too_few_rows():
    with pytest.raises(SummaryError, match="the summary holds 2 rows in all, fewer than 3"):
        summarize([0, 1], [0.2, 0.3]).coarsen(min_rows=3)
    with pytest.raises(TypeError):
        summarize([0, 1], [0.2, 0.3]).coarsen(3)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2), st.integers(1, 5)), min_size=1, max_size=40),
    st.integers(1, 8),
    st.lists(st.integers(0, 2), min_size=31, max_size=31),
)
def test_no_stretch_leaves_a_key_few_rows(events, min_rows, worth):
    by_cell = {}
    for cell, key, count in events:
        by_cell[cell, key] = by_cell.get((cell, key), 0) + count
    totals = {key: sum(n for (_, k), n in by_cell.items() if k == key) for _, key in by_cell}
    by_cell = {place: n for place, n in by_cell.items() if totals[place[1]] >= min_rows}
    if not by_cell:
        return
    cells = sorted((cell, key, n) for (cell, key), n in by_cell.items())
    runs = merged_cells(cells, np.array(worth), min_rows)
    left = {}
    for cell, key, n in cells:
        (run,) = [k for k, (a, b) in enumerate(runs) if a <= cell <= b]
        left[run, key] = left.get((run, key), 0) + n
    assert min(left.values()) >= min_rows
    assert all(a <= b for a, b in runs)
    assert all(one[1] < other[0] for one, other in pairwise(runs))


def test_frames_hold_their_cells():
    on = ruler((7,))
    runs = [(0, 5), (100, 40_000), (40_500, on.cells - 1)]
    coarse = merged_ruler(on, runs)
    assert isinstance(coarse, CoarseRuler)
    low, high = coarse.edges[:-1] * coarse.unit - coarse.k, coarse.edges[1:] * coarse.unit - coarse.k
    assert low.min() >= 0
    assert high.max() <= 1
    assert np.all(np.log2(coarse.unit) == np.round(np.log2(coarse.unit)))
    f = np.random.default_rng(0).random(1000)
    located = coarse.locate(f)
    np.testing.assert_array_equal(located.cell, np.searchsorted(coarse.edges, f, side="right") - 1)
    np.testing.assert_allclose((located.r + coarse.k[located.cell]) / coarse.unit[located.cell], f, rtol=1e-15)
