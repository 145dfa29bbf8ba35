"""The array engine: compiled kernels against plain NumPy, chunks and threads against one piece, bounded memory."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness import binned_ece, ecce, ecce_r, logit_smoothed_ece, smooth_ece, summarize
from trueness.engines.arrays import compiled, grid, plain, workers
from trueness.engines.arrays import summarize as arrays
from trueness.errors import TruenessError
from trueness.inputs.rows import read_rows
from trueness.summary.ruler import ruler


@pytest.fixture
def engine(monkeypatch):
    """Choose the path through the engine: engine("plain") or engine("compiled")."""

    def choose(name):
        chosen = {"plain": None, "compiled": compiled}[name]
        for module in (arrays, grid):
            monkeypatch.setattr(module, "accelerator", lambda n: chosen)

    return choose


def at_every_edge(bins, seed=0):
    rng = np.random.default_rng(seed)
    edges = ruler(bins).edges
    near = [edges, np.nextafter(edges, 2), np.nextafter(edges, -1), [-0.0, 5e-324, 2**-1022, 1 - 2**-53]]
    # Positions in a slot whose first, second and third power lie at a half, where rounding turns, or a float beside it.
    halves = (np.arange(64) + 0.5) / 2**31
    halves = np.concatenate([position for power in (1, 2, 3) for position in (halves ** (1 / power), 1 - halves)])
    halves = np.concatenate([halves, np.nextafter(halves, 0), np.nextafter(halves, 1)])
    near += [halves / 2**20, (4096 + halves) / 2**14, (2**20 - 1 + halves) / 2**20]
    near += [np.repeat([0.0, 1.0, 0.29, 1 / 3, 0.5], 300), rng.beta(0.1, 0.1, 10_000)]
    f = np.clip(np.concatenate(near), -0.0, 1)
    return (rng.random(len(f)) < f).astype(np.int64), rng.permutation(f), rng


LABELS = {
    "int64": lambda y: y,
    "bool": lambda y: y.astype(bool),
    "uint8": lambda y: y.astype(np.uint8),
    "int8": lambda y: y.astype(np.int8),
    "float64": lambda y: y.astype(np.float64),
    "float32": lambda y: y.astype(np.float32),
    "list": lambda y: y.tolist(),
    "strided": lambda y: np.repeat(y, 2)[::2],
    "reversed view": lambda y: y[::-1].copy()[::-1],
    "big-endian": lambda y: y.astype(">i4"),
}


@pytest.mark.parametrize("bins", [(), (12, 37, 9973)])
@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("score", [np.float64, np.float32, np.float16])
def test_compiled_sums_have_the_same_bits(engine, bins, label, score):
    y, f, _ = at_every_edge(bins)
    y, f = LABELS[label](y), f.astype(score)
    f.flags.writeable = False
    engine("plain")
    plain = summarize(y, f, bins=bins)
    engine("compiled")
    compiled = summarize(y, f, bins=bins)
    assert plain == compiled
    assert plain.notes == compiled.notes
    assert plain == summarize(np.asarray(y).astype(float), f.astype(np.float64), bins=bins)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_float_sums_agree(engine, soft, weighted):
    y, f, rng = at_every_edge((12,))
    y = np.where(rng.random(len(y)) < 0.5, y, rng.random(len(y))) if soft else y.astype(float)
    w = np.where(rng.random(len(y)) < 0.1, 0, rng.exponential(size=len(y))) if weighted else None
    results = []
    for name in ("plain", "compiled"):
        engine(name)
        results.append(summarize(y, f, sample_weight=w, bins=12))
    plain, compiled = results
    assert np.array_equal(plain.cells, compiled.cells)
    assert np.array_equal(plain.rows, compiled.rows)
    assert dict(plain.rejected) == dict(compiled.rejected)
    assert plain.soft == compiled.soft == soft
    np.testing.assert_allclose(plain.sums, compiled.sums, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["plain", "compiled"])
@pytest.mark.parametrize("weighted", [False, True])
def test_odd_rows_are_counted_alike(engine, name, weighted):
    rng = np.random.default_rng(1)
    n = 5000
    f, y = rng.random(n), (rng.random(n) < 0.5).astype(float)
    w = rng.random(n) if weighted else None
    f[10], f[20], f[30], y[40], y[10], f[4999] = np.nan, np.inf, 1 + 2**-52, np.nan, np.nan, -1e-16
    expected = {"prediction missing or not finite": 2, "outcome missing or not finite": 1}
    if weighted:
        w[50], w[60], w[70] = np.nan, np.inf, 0.0
        expected |= {"weight missing or not finite": 2, "zero weight": 1}
    engine(name)
    summary = summarize(y, f, sample_weight=w, nan="drop")
    assert dict(summary.rejected) == expected
    assert summary.clipped == 2
    assert summary.rows_in == n
    keep = np.isfinite(f) & np.isfinite(y) & (np.isfinite(w) & (w > 0) if weighted else True)
    same = summarize(y[keep], np.clip(f[keep], 0, 1), sample_weight=w[keep] if weighted else None)
    assert same == summary
    f[100] = 1.5
    with pytest.raises(TruenessError, match=r"y_prob: 1 of 5000 values is outside \[0, 1\] \(first: row 100, value 1.5\)"):
        summarize(y, f, sample_weight=w, nan="drop")


@pytest.mark.parametrize("name", ["plain", "compiled"])
def test_a_late_soft_label_restarts_in_float64(engine, name):
    engine(name)
    rng = np.random.default_rng(2)
    f = rng.random(300_000)
    y = (rng.random(len(f)) < f).astype(float)
    y[-1] = 0.25
    summary = summarize(y, f)
    assert summary.soft
    assert not summary.exact
    assert summary.n == len(f)


@pytest.mark.parametrize("name", ["plain", "compiled"])
@pytest.mark.parametrize("constant", [0.1, 0.3, 1.0])
def test_float_sums_do_not_drift_on_one_score(engine, name, constant):
    """Adding 0.1 ten million times in sequence is off by 1.6e-10; the order of rows must not show beyond 1e-12."""
    engine(name)
    n = 1_000_000
    y = np.full(n, 0.25)
    y[: n // 2] = 0.5
    for labels in (y, y[::-1]):
        summary = summarize(labels, np.full(n, constant), sample_weight=np.full(n, 0.1))
        total = summary.sums.sum(axis=1)
        assert total[0] == pytest.approx(0.1 * n, rel=1e-13)
        assert total[3] == pytest.approx(0.1 * n * (0.375 - constant), rel=1e-12)


@given(st.integers(1, 400), st.integers(1, 7))
def test_chunk_and_thread_cuts_do_not_show(n, threads):
    rng = np.random.default_rng(n)
    f = rng.random(n).round(2)
    y = rng.random(n) < f
    whole = summarize(y, f)
    before = arrays.accelerator, arrays._PIECE, arrays._HARD_THREADS, plain.CHUNK
    try:
        arrays.accelerator, arrays._PIECE, arrays._HARD_THREADS = (lambda n: compiled), 64, threads
        assert summarize(y, f) == whole
    finally:
        arrays.accelerator, arrays._PIECE, arrays._HARD_THREADS, plain.CHUNK = before
    assert summarize(iter(np.array_split(y, threads)), iter(np.array_split(f, threads))) == whole


def test_more_rows_than_one_segment(monkeypatch):
    rng = np.random.default_rng(3)
    f = rng.random(1000)
    y = rng.random(1000) < f
    whole = summarize(y, f)
    monkeypatch.setattr(arrays, "SEGMENT", 300)
    assert summarize(y, f) == whole


@pytest.mark.parametrize("name", ["plain", "compiled"])
@pytest.mark.parametrize("kind", ["float64", "float32", "weighted", "soft"])
def test_extra_memory_stays_below_64_mib(engine, name, kind):
    """Whatever n: 6·10⁶ rows, whose float64 copy alone would take 48 MB a column."""
    engine(name)
    rng = np.random.default_rng(4)
    n = 6_000_000
    f = rng.random(n, dtype=np.float32 if kind == "float32" else np.float64)
    y = rng.random(n) if kind == "soft" else (rng.random(n, dtype=np.float32) < f).astype(np.uint8)
    w = rng.random(n) if kind == "weighted" else None
    summarize(y[:100_000], f[:100_000], sample_weight=None if w is None else w[:100_000])  # tables and kernels made once
    tracemalloc.start()
    try:
        summarize(y, f, sample_weight=w)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 64 * 2**20


def test_four_hundred_thousand_hundreds_of_rows_in_one_cell():
    """4·10⁷ float32 rows of 0.3: a float32 count would stick at 2²⁴."""
    n = 40_000_000
    f = np.full(n, 0.3, dtype=np.float32)
    y = np.zeros(n, dtype=np.uint8)
    y[: n * 3 // 10] = 1
    assert binned_ece(y, f) < 1e-6
    assert summarize(y, f).n == n


@pytest.mark.parametrize("name", ["plain", "compiled"])
@pytest.mark.parametrize("weights", [[1e300, 2e300, 5e299], [1e-300, 2e-300, 5e-301], [1e300, 1e-300, 1e300]])
def test_extreme_weights(engine, name, weights):
    engine(name)
    y, f = [0, 1, 1], [0.2, 0.6, 0.7]
    plain = np.array(weights) / max(weights)
    result, expected = ecce(y, f, sample_weight=weights), ecce(y, f, sample_weight=plain)
    assert result.range == pytest.approx(expected.range, rel=1e-12)
    assert result.sigma == pytest.approx(expected.sigma, rel=1e-12)
    summary = summarize(y, f, sample_weight=weights)
    assert ecce(summary).sigma == pytest.approx(expected.sigma, rel=1e-12)
    merged = summarize(y[:1], f[:1], sample_weight=weights[:1]) + summarize(y[1:], f[1:], sample_weight=weights[1:])
    assert smooth_ece(merged) == pytest.approx(smooth_ece(y, f, sample_weight=plain), rel=1e-9)


def test_weights_whose_sum_overflows_are_an_error():
    with pytest.raises(TruenessError, match=r"sample_weight.*overflow.*1e\+308"):
        summarize([0, 1, 1], [0.2, 0.6, 0.7], sample_weight=[1e308, 1e308, 1.0])


def test_streams_of_chunks():
    rng = np.random.default_rng(5)
    f = rng.random(1000)
    y = (rng.random(1000) < f).astype(float)
    parts = [slice(0, 400), slice(400, 400), slice(400, 1000)]
    assert summarize((y[s] for s in parts), (f[s] for s in parts)) == summarize(y, f)
    y[700] = np.nan
    whole = summarize(iter([y[:650], y[650:]]), iter([f[:650], f[650:]]), nan="drop")
    assert whole.rows_in == 1000
    assert whole.n == 999
    with pytest.raises(TruenessError, match="no rows"):
        summarize(iter([np.full(3, np.nan)]), iter([np.full(3, 0.5)]), nan="drop")


def test_compiled_is_loaded_only_for_sizes_that_pay():
    script = (
        "import sys, numpy as np, trueness\n"
        "f = np.linspace(0, 1, 200_000); y = (f > 0.5)\n"
        "trueness.summarize(y, f); assert 'numba' not in sys.modules\n"
        "f = np.linspace(0, 1, 5_000_000); y = (f > 0.5)\n"
        "trueness.summarize(y, f); assert 'numba' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_folder_called_numba_is_not_numba(monkeypatch):
    from importlib.machinery import ModuleSpec

    monkeypatch.delitem(sys.modules, "trueness.engines.arrays.compiled")
    monkeypatch.setattr(workers, "find_spec", lambda name: ModuleSpec(name, None, is_package=True))
    assert workers.accelerator(10**9) is None


def test_without_numba_the_answer_is_the_same():
    script = (
        "import sys; sys.modules['numba'] = None\n"
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'numba' else find(name, *a)\n"
        "import numpy as np, trueness\n"
        "rng = np.random.default_rng(0); f = rng.random(5_000_000); y = rng.random(5_000_000) < f\n"
        "print(trueness.summarize(y, f).digest)\n"
    )
    plain = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.strip()
    rng = np.random.default_rng(0)
    f = rng.random(5_000_000)
    assert summarize(rng.random(5_000_000) < f, f).digest == plain


# ------------------------------------------------------------------------------------------------------ second passes


@pytest.mark.parametrize("cells", [1, 64, 2**14])
def test_grid_moments_against_direct_sums(engine, cells):
    rng = np.random.default_rng(6)
    x = np.concatenate([rng.random(3000), [0.0, 1.0]])
    masses = rng.normal(size=(2, len(x)))
    for name in ("plain", "compiled"):
        engine(name)
        tables = grid.grid_moments(len(x), lambda a, b: (x[a:b], (masses[0, a:b], masses[1, a:b])), cells)
        k = np.minimum(np.floor(x * cells).astype(int), cells - 1)
        d = x * cells - k - 0.5
        for table, mass in zip(tables, masses, strict=True):
            for p in range(grid.ORDERS):
                assert table[p] == pytest.approx(np.bincount(k, mass * d**p, minlength=cells), abs=1e-12)


@pytest.mark.parametrize("label", [bool, np.uint8, np.int8, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("score", [np.float32, np.float64])
def test_residuals_on_a_grid_have_the_same_bits(engine, label, score):
    y, f, _ = at_every_edge(())
    y, f = y[: 1 << 15].astype(label), f[: 1 << 15].astype(score)  # one piece: pieces are added in another order
    rows = read_rows(y, f)
    e = y.astype(np.float64) - f.astype(np.float64)
    tables = [*grid.grid_moments(len(f), lambda a, b: (f[a:b].astype(np.float64), (e[a:b],)), 2**12)]
    for name in ("plain", "compiled"):
        engine(name)
        tables.append(grid.residual_moments(rows, 2**12))
    assert np.array_equal(tables[0], tables[1])
    assert np.array_equal(tables[0], tables[2])


@pytest.mark.parametrize("name", ["plain", "compiled"])
@pytest.mark.parametrize("kind", ["hard", "weighted", "soft"])
def test_any_number_of_threads_gives_the_same_bits(engine, monkeypatch, name, kind):
    """Sums of floats depend on how rows are parted, which therefore does not depend on the machine's cores."""
    engine(name)
    rng = np.random.default_rng(13)
    f = rng.random((1 << 18) + 77)
    y = np.clip(0.98 * f + 0.1 * rng.normal(size=len(f)), 0, 1) if kind == "soft" else rng.random(len(f)) < 0.98 * f
    w = rng.random(len(f)) + 0.5 if kind == "weighted" else None
    results = set()
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("TRUENESS_THREADS", threads)
        values = [each(y, f, sample_weight=w) for each in (smooth_ece, logit_smoothed_ece, binned_ece, ecce_r)]
        results.add((summarize(y, f, sample_weight=w, exact=True).digest, *values))
    assert len(results) == 1


@pytest.mark.parametrize("name", ["plain", "compiled"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -0.1, 1.5, 1 + 2**-52])
def test_residuals_of_rows_that_must_be_judged_first(engine, name, value):
    engine(name)
    y, f, _ = at_every_edge(())
    for column in (f, y := y.astype(float)):
        spoilt = column.copy()
        spoilt[-1] = value
        assert grid.residual_moments(read_rows(*((y, spoilt) if column is f else (spoilt, f))), 64) is None
    assert grid.residual_moments(read_rows(y, f, np.ones(len(f))), 64) is None


@pytest.mark.parametrize("name", ["plain", "compiled"])
def test_rows_in_slots(engine, name):
    engine(name)
    _, f, rng = at_every_edge(())
    slots = rng.choice(48_640, 5000, replace=False)
    expected = np.flatnonzero(np.isin(ruler().slot_of_cell[ruler().locate(f).cell], slots))
    assert np.array_equal(grid.rows_in_slots(f, ruler(), slots), expected)


@pytest.mark.parametrize("name", ["plain", "compiled"])
@pytest.mark.parametrize("threads", [1, 3])
def test_lone_scores(engine, monkeypatch, name, threads):
    engine(name)
    monkeypatch.setattr(grid, "_PIECE", 64)
    monkeypatch.setenv("TRUENESS_THREADS", str(threads))
    rng = np.random.default_rng(9)
    f = np.concatenate([rng.random(300).round(2), rng.random(300), [0.3, 0.1 + 0.2, 0.0, -0.0, 1.0]])
    cell, slot = ruler().locate(f).cell, ruler().slots(f)
    lone = grid.lone_scores(f, ruler())
    for c, s in set(zip(cell.tolist(), slot.tolist(), strict=True)):
        scores = np.unique(f[slot == s])
        assert np.array_equal(lone[c], scores[0] if len(scores) == 1 else np.nan, equal_nan=True)
    assert np.isnan(np.delete(lone, np.unique(cell))).all()


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_refined_cells_and_runs_against_direct_sums(engine, soft, weighted):
    rng = np.random.default_rng(7)
    crowd = 0.3 + 0.001 * rng.random(1000)
    f = np.concatenate([rng.random(3000).round(2), rng.random(2000), crowd, [0.0, -0.0, 1.0]])
    y = rng.random(len(f)) if soft else (rng.random(len(f)) < f).astype(np.uint8)
    w = rng.exponential(size=len(f)) if weighted else None
    weight = np.ones(len(f)) if w is None else w
    e = weight * (y - f)
    runs = grid.collapse(f, y, w, soft=soft)
    scores, at = np.unique(f, return_inverse=True)
    assert np.array_equal(runs.f, scores)
    for got, term in [(runs.weight, weight), (runs.e, e), (runs.positive, np.maximum(e, 0))]:
        assert got == pytest.approx(np.bincount(at, term), abs=1e-12)
    on, parts = ruler(), 8
    located = on.locate(f)
    numbers = np.full(on.cells, -1, dtype=np.int64)
    chosen = np.unique(located.cell)[::3]
    numbers[chosen] = np.arange(len(chosen))
    part = numbers[located.cell] * parts + np.minimum((located.r * parts).astype(int), parts - 1)
    here = numbers[located.cell] >= 0
    for name in ("plain", "compiled"):
        engine(name)
        table = grid.refine_cells(f, y, w, on, numbers, parts, soft=soft)
        for column, term in enumerate([weight, e, np.maximum(e, 0)]):
            expected = np.bincount(part[here], term[here], minlength=len(table))
            assert table[:, column] == pytest.approx(expected, abs=1e-12)
        for i in np.unique(part[here]):
            inside = f[here & (part == i)]
            assert (table[i, 3], table[i, 4]) == (inside.min(), inside.max())


@pytest.mark.parametrize("name", ["plain", "compiled"])
@pytest.mark.parametrize("scores", ["uniform", "rounded", "jittered", "rare", "twins", "constant", "ends"])
@pytest.mark.parametrize("weighted", [False, True])
def test_exact_ecce_of_many_rows_equals_a_full_sort(engine, monkeypatch, name, scores, weighted):
    """The bounded search (MATH §5) with refinement forced, against sorting everything in extended precision."""
    from trueness.data import row_extremes, row_sample

    engine(name)
    monkeypatch.setattr(row_sample, "SMALL", 1000)
    rng = np.random.default_rng(8)
    n = 200_000
    f = {
        "uniform": lambda: rng.random(n),
        "rounded": lambda: rng.random(n).round(2),
        "jittered": lambda: np.clip(rng.random(n).round(2) + 1e-9 * rng.random(n), 0, 1),
        "rare": lambda: rng.beta(5, 500, n),
        "twins": lambda: np.where(rng.random(n) < 0.5, 0.3, 0.1 + 0.2),
        "constant": lambda: np.full(n, 0.3),
        "ends": lambda: np.round(rng.random(n)),
    }[scores]()
    y = (rng.random(n) < 0.97 * f).astype(np.uint8)
    w = rng.exponential(size=n) if weighted else None
    order = np.argsort(f, kind="stable")
    weight = np.ones(n) if w is None else w
    c = np.cumsum((weight * (y - f))[order].astype(np.longdouble)) / weight.sum()
    last = np.append(f[order][1:] != f[order][:-1], True)
    c = np.append(0, c[last])
    for few in (10**9, 100):
        monkeypatch.setattr(row_extremes, "FEW", few)
        result = ecce(y, f, sample_weight=w)
        assert result.mad == pytest.approx(float(np.abs(c).max()), abs=1e-13)
        assert result.range == pytest.approx(float(c.max() - c.min()), abs=1e-13)
        if result.worst:
            # An interval that begins at the origin of C holds the scores of exactly 0 as well.
            above = f > result.worst.low if result.worst.low > 0 else np.full(n, True)
            inside = above & (f <= result.worst.high)
            total = float((weight * (y - f))[inside].sum() / weight.sum())
            assert abs(total) == pytest.approx(result.range, rel=1e-9)
            assert weight[inside].sum() / weight.sum() == pytest.approx(result.worst.share, rel=1e-9)


def test_extreme_weights_count_alike_in_every_engine(engine):
    n = 400_000
    w = np.where(np.arange(n) % 2 == 0, 1e300, 1e-300)
    f = np.random.default_rng(4).random(n)
    y = (f > 0.5).astype(int)
    for name in ("plain", "compiled"):
        engine(name)
        summary = summarize(y, f, sample_weight=w)
        assert summary.n == n
        assert dict(summary.rejected) == {}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["plain", "compiled"])
def test_rows_left_out_are_counted_in_every_chunk(engine, name, weighted):
    engine(name)
    n = 5 * plain.CHUNK
    f, y, w = np.full(n, 0.25), np.zeros(n), np.ones(n)
    f[:: plain.CHUNK // 2] = np.nan  # two in every chunk
    w[1 :: plain.CHUNK] = 0.0
    summary = summarize(y, f, sample_weight=w if weighted else None, nan="drop")
    assert summary.rejected["prediction missing or not finite"] == 10
    assert summary.rejected.get("zero weight", 0) == (5 if weighted else 0)
    assert summary.n == n - (15 if weighted else 10)


@pytest.mark.parametrize("name", ["plain", "compiled"])
def test_candidates_are_cut_finer_before_they_are_sorted(engine, monkeypatch, name):
    from trueness.data import row_extremes, row_sample

    engine(name)
    monkeypatch.setattr(row_sample, "SMALL", 1000)
    monkeypatch.setattr(row_extremes, "FEW", 4000)
    rng = np.random.default_rng(3)
    f = 0.3 + 0.001 * rng.random(300_000)  # some sixteen cells
    y = rng.random(300_000) < f
    sizes = []
    collapse = row_extremes.collapse
    monkeypatch.setattr(row_extremes, "collapse", lambda f, *rest, **kind: sizes.append(len(f)) or collapse(f, *rest, **kind))
    found = ecce(y, f).range
    spans = row_extremes.cell_spans(summarize(y, f))
    candidates = summarize(y, f).rows[spans.may_hold(row_extremes.Extremes().over(spans.end, spans.end, spans.after))].sum()
    assert candidates > 4000
    assert sum(sizes) < candidates / 10
    order = np.argsort(f)
    c = np.append(0, np.cumsum((y - f)[order])) / len(f)
    assert found == pytest.approx(np.ptp(c), abs=1e-13)
