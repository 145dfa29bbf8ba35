"""Extremes that a second pass over the rows tells: exact from every engine, however few rows are held at once."""

import gc
import pickle
from functools import partial

import dask.dataframe as dd
import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trueness import (
    Summary,
    assess,
    calibration_test,
    cumulative_curve,
    ecce,
    ecce_mad,
    ecce_r,
    group_tests,
    summarize,
    summarize_files,
    summarize_frame,
)
from trueness.engines import exact
from trueness.engines.files import summarize_files as files
from trueness.engines.files.open_files import open_files
from trueness.errors import InputError
from trueness.inputs.rows import Arrays
from trueness.summary.record import total_of
from trueness.summary.ruler import SLOTS, places, ruler

NAMES = {"outcome": "y", "prediction": "p"}
N = 20_000


def scores(kind, rng, n=N):
    return {
        "calibrated": lambda: rng.random(n),
        "ties": lambda: rng.integers(0, 101, n) / 100,
        "rare": lambda: rng.beta(5, 500, n),
        "one slot": lambda: 0.5 + 1e-6 * rng.random(n),
        "neighbours": lambda: 0.7 + 2.0**-53 * rng.integers(0, 4000, n),
        "below the ruler": lambda: 10.0 ** rng.uniform(-300, -7, n),
        "near one": lambda: 1 - 2.0**-53 * rng.integers(0, 5000, n),
        "ends": lambda: rng.integers(0, 2, n).astype(float),
        "one score": lambda: np.full(n, 0.3),
    }[kind]()


KINDS = ["calibrated", "ties", "rare", "one slot", "neighbours", "below the ruler", "near one", "ends", "one score"]


def table(kind, seed=1):
    rng = np.random.default_rng(seed)
    f = scores(kind, rng)
    y = (rng.random(N) < np.clip(f * rng.choice([0.9, 1.0, 1.3]), 0, 1)).astype(float)
    y[rng.integers(0, N, 40)] = 1.0
    return pa.table(
        {
            "p": f,
            "y": y,
            "s": np.clip(y * 0.8 + 0.1 * rng.random(N), 0, 1),
            "w": rng.integers(1, 4, N) * 1.5,
            "g": pa.array(rng.choice(np.array(["a", "b", None], dtype=object), N)),
            "h": rng.integers(0, 3, N),
        }
    )


def brute(y, f, w=None):
    """Highest and lowest C_k, by sorting all rows."""
    w = np.ones(len(f)) if w is None else w
    order = np.argsort(f, kind="stable")
    last = np.append(np.diff(f[order]) > 0, True)
    c = np.cumsum((w * (y - f))[order])[last] / w.sum()
    return max(c.max(), 0.0), min(c.min(), 0.0)


def by_parquet(rows, tmp_path, **settings):
    pq.write_table(rows, tmp_path / "a.parquet", row_group_size=3000)
    return summarize_files(tmp_path / "a.parquet", **settings)


def by_csv(rows, tmp_path, **settings):
    rows.to_pandas().to_csv(tmp_path / "a.csv", index=False)
    return summarize_files(tmp_path / "a.csv", **settings)


def of_frame(made):
    return lambda rows, tmp_path, **settings: summarize_frame(made(rows), **settings)


CONNECTION = duckdb.connect()  # before DuckDB 1.5 a relation does not keep its own

ENGINES = {
    "pandas": of_frame(lambda rows: rows.to_pandas()),
    "polars lazy": of_frame(lambda rows: pl.from_arrow(rows).lazy()),
    "duckdb": of_frame(lambda rows: CONNECTION.from_arrow(rows)),
    "dask": of_frame(lambda rows: dd.from_pandas(rows.to_pandas(), npartitions=5, sort=False)),
    "parquet": by_parquet,
    "arrow": of_frame(lambda rows: rows),
    "polars": of_frame(pl.from_arrow),
    "csv": by_csv,
}
PASSES = list(ENGINES)[:5]  # engines with a second pass of their own
LABELS = [("y", None), ("y", "w"), ("s", None), ("s", "w")]
HELD = [500, 1 << 22]

# Every kind of scores on every such engine; labels, weights and how many rows are held take turns.
CASES = [
    (engine, kind, *LABELS[(i + j) % 4], HELD[(i // 2 + j) % 2])
    for i, engine in enumerate(PASSES)
    for j, kind in enumerate(KINDS)
]
CASES += [("arrow", "rare", "y", None, 500), ("polars", "ties", "s", "w", 500), ("csv", "calibrated", "y", "w", 500)]


@pytest.fixture
def held(monkeypatch):
    """Say how many rows may be held at once."""

    def limited(rows):
        monkeypatch.setattr(exact, "_IN_MEMORY", rows)
        monkeypatch.setattr(exact, "PIECE", 6000)
        monkeypatch.setattr(files, "open_files", partial(open_files, piece_rows=6000))

    return limited


def agrees(found, y, f, w=None):
    high, low = brute(y, f, w)
    assert found.bracket is None
    assert found.mad == pytest.approx(max(high, -low), abs=2e-13)
    assert found.range == pytest.approx(high - low, abs=2e-13)
    expected = ecce(y, f, sample_weight=w)
    assert (found.worst is None) == (expected.worst is None)
    if found.worst is not None and expected.range > 1e-9:
        weight = np.ones(len(f)) if w is None else w
        begins = [found.worst.low, -1.0] if found.worst.low == 0 else [found.worst.low]  # from the origin, scores of 0 as well
        sums = [(weight * (y - f))[(f > low) & (f <= found.worst.high)].sum() / weight.sum() for low in begins]
        assert any(abs(each) == pytest.approx(expected.range, abs=1e-11) for each in sums)


@pytest.mark.parametrize(("engine", "kind", "outcome", "weight", "rows_held"), CASES)
def test_every_engine_gives_the_exact_errors(tmp_path, held, engine, kind, outcome, weight, rows_held):
    held(rows_held)
    rows = table(kind)
    found = ENGINES[engine](rows, tmp_path, outcome=outcome, prediction="p", weight=weight, exact=True)
    w = None if weight is None else rows[weight].to_numpy()
    agrees(ecce(found), rows[outcome].to_numpy(), rows["p"].to_numpy(), w)
    assert (ecce_mad(found), ecce_r(found)) == (ecce(found).mad, ecce(found).range)


@pytest.mark.parametrize("kind", KINDS)
def test_arrays(held, kind):
    held(500)
    rows = table(kind)
    y, f, w = (rows[name].to_numpy() for name in ("y", "p", "w"))
    agrees(ecce(summarize(y, f, exact=True)), y, f)
    agrees(ecce(summarize(y, f, sample_weight=w, exact=True)), y, f, w)


@pytest.mark.parametrize(
    ("engine", "by", "weight"), list(zip(ENGINES, ["g", "h", ["g", "h"], "g"] * 2, [None, "w"] * 4, strict=True))
)
def test_with_groups_the_extremes_are_those_of_all_rows(tmp_path, engine, by, weight):
    rows = table("one slot", seed=3)
    found = ENGINES[engine](rows, tmp_path, **NAMES, by=by, weight=weight, exact=True)
    y, f, w = rows["y"].to_numpy(), rows["p"].to_numpy(), None if weight is None else rows[weight].to_numpy()
    agrees(ecce(found.total()), y, f, w)
    assert total_of(found) == found.total()
    assert total_of(dict(found)).extremes is None  # some may have been taken out or put in
    assert all(ecce(part).bracket is not None for part in found.values())
    back = pickle.loads(pickle.dumps(found))  # noqa: S301
    assert back == found
    assert back.total() == found.total()


def test_tests_of_a_record():
    rows = table("calibrated").slice(0, 6000)
    found = summarize_frame(rows, **NAMES, by="h", exact=True)
    assert assess(found).error == ecce(found.total())
    assert assess(dict(found)).error.bracket is not None
    assert all(each.test.pvalue_bounds is not None for each in group_tests(found, statistic="ecce_r", rng=0))
    assert group_tests(found, rng=0) == group_tests(dict(found), rng=0)


def test_no_more_rows_are_held_than_allowed(tmp_path, monkeypatch, held):
    """Rows that one cut leaves too many are cut again."""
    held(500)
    taken, levels = [], []
    keep, deepen = exact.InPieces.scores, exact.InPieces.sums

    def scores(self, among):
        for part in keep(self, among):
            taken.extend(part.f)
            yield part

    def sums(self, among, parts):
        levels.append(parts)
        return deepen(self, among, parts)

    monkeypatch.setattr(exact.InPieces, "scores", scores)
    monkeypatch.setattr(exact.InPieces, "sums", sums)
    for kind in KINDS:
        taken.clear()
        by_parquet(table(kind), tmp_path, **NAMES, exact=True)
        assert len(set(taken)) <= 500, kind  # scores: rows of the same one are held together
    assert max(levels) > 64
    assert levels.count(64) >= 1


# A summary is a value


def test_what_becomes_of_the_frame_does_not_matter():
    """Once, equal summaries gave different errors: it depended on whether the frame was alive when one was first asked."""
    rows = table("one slot")
    frame = rows.to_pandas()
    first, second = (summarize_frame(frame, **NAMES) for _ in range(2))
    kept = summarize_frame(frame, **NAMES, exact=True)
    asked = ecce(first)
    frame["p"] = 1 - frame["p"]
    del frame
    gc.collect()
    assert first == second
    assert ecce(first) == ecce(second) == asked
    assert asked.bracket is not None
    agrees(ecce(kept), rows["y"].to_numpy(), rows["p"].to_numpy())


def test_extremes_are_part_of_the_value(tmp_path):
    rows = table("one slot")
    bare, found = (summarize(rows["y"], rows["p"], exact=exactly) for exactly in (False, True))
    assert bare != found
    assert bare.digest != found.digest
    found.save(tmp_path / "a.tns")
    for same in (pickle.loads(pickle.dumps(found)), Summary.load(tmp_path / "a.tns"), sum([found])):  # noqa: S301
        assert same == found
        assert same.extremes == found.extremes
        assert ecce(same) == ecce(found)
    both = found + summarize([1], [0.5], exact=True)
    assert both.extremes is None
    assert both == bare + summarize([1], [0.5])
    assert ecce(both).bracket.range[0] <= ecce(np.append(rows["y"], 1.0), np.append(rows["p"], 0.5)).range
    assert ecce(bare).bracket.range[0] <= ecce(found).range <= ecce(bare).bracket.range[1]


def test_nothing_of_a_source_is_kept(tmp_path):
    """300 summaries of files once held 2 700 threads."""
    import threading

    path = tmp_path / "a.parquet"
    pq.write_table(table("calibrated").slice(0, 300), path)
    summarize_files(path, **NAMES)
    gc.collect()
    before = len(list((tmp_path / "/proc/self/task").iterdir())) if (tmp_path / "/proc/self/task").exists() else 0
    kept = [summarize_files(path, **NAMES, exact=True) for _ in range(20)]
    assert len({summary.digest for summary in kept}) == 1
    after = len(list((tmp_path / "/proc/self/task").iterdir())) if before else 0
    assert after <= before + 2
    assert threading.active_count() < 20


def test_scaled_weights_have_a_bracket():
    f = np.array([0.2, 0.7, 0.7001])
    found = summarize([0, 1, 0], f, sample_weight=[1e-200, 3e-200, 1e-200], exact=True)
    assert found.exponent
    assert found.extremes is None
    assert ecce(found).bracket is not None


def test_what_can_be_read_only_once():
    rows = table("calibrated").slice(0, 200)
    with pytest.raises(InputError, match=r"exact: a RecordBatchReader can be read only once.*exact=False"):
        summarize_frame(rows.to_reader(), **NAMES, exact=True)
    with pytest.raises(InputError, match=r"exact: iterators can be read only once.*exact=False"):
        summarize(iter([[0, 1]]), iter([[0.5, 0.5]]), exact=True)
    assert assess(rows.to_reader(), **NAMES).error.bracket is not None
    assert assess(pl.from_arrow(rows).lazy(), **NAMES).error.bracket is None
    columns = {"y": iter(rows["y"].to_pylist()), "p": iter(rows["p"].to_pylist())}  # which become lists when they are read
    agrees(ecce(summarize_frame(columns, **NAMES, exact=True)), rows["y"].to_numpy(), rows["p"].to_numpy())


def test_rows_that_change_between_the_passes(monkeypatch):
    class Other(exact.InPieces):
        def scores(self, among):
            yield from (part._replace(e=part.e + 1) for part in super().scores(among))

    monkeypatch.setattr(exact, "InPieces", Other)
    rows = table("calibrated")
    with pytest.raises(InputError, match="other rows came when they were read again: the input changed"):
        summarize(rows["y"], rows["p"], exact=True)


def test_a_fault_of_the_second_pass_is_told(monkeypatch):
    monkeypatch.setattr("trueness.engines.frames.lazy._place", lambda parts: nw.col("absent"))
    frame = pl.from_arrow(table("calibrated")).lazy()
    assert summarize_frame(frame, **NAMES).n == N
    with pytest.raises(Exception, match="absent"):
        summarize_frame(frame, **NAMES, exact=True)


# What is made of the extremes


@pytest.mark.parametrize(("engine", "many"), [(engine, (100, 5000)[k % 2]) for k, engine in enumerate(ENGINES)])
def test_the_first_of_equal_extremes(tmp_path, held, engine, many):
    """Where C stays at its highest over several scores, the worst interval ends at the first."""
    held(500)
    f = np.repeat([0.1, 0.3, 0.7, 0.9], many)
    y = np.concatenate([np.arange(many) < rate * many - 0.5 for rate in (0.4, 0.3, 0.7, 0.9)]).astype(float)
    rows = pa.table({"p": f, "y": y})
    worst = ecce(ENGINES[engine](rows, tmp_path, **NAMES, exact=True)).worst
    assert (worst.low, worst.high, worst.share) == (0.0, 0.1, pytest.approx(0.25))


def test_a_value_and_its_p_are_of_one_statistic():
    rows = table("one slot")
    bare, found = (summarize(rows["y"], rows["p"], exact=exactly) for exactly in (False, True))
    tests = [calibration_test(each, rng=0) for each in (bare, found)]
    assert tests[0].value == pytest.approx(tests[1].value)
    assert tests[0].pvalue == tests[1].pvalue
    assert "from the cells" in tests[1].reason


@pytest.mark.parametrize("engine", ["polars lazy", "dask", "parquet"])
def test_neighbouring_scores_of_many_rows_are_held_as_two(tmp_path, monkeypatch, held, engine):
    held(100)
    f = np.where(np.arange(N) % 2, 0.3, 0.1 + 0.2)
    rng = np.random.default_rng(0)
    y = rng.random(N)
    sizes = []
    original = exact.joined

    def counted(parts):
        sizes.append(sum(len(part.f) for part in parts))
        return original(parts)

    monkeypatch.setattr(exact, "joined", counted)
    agrees(ecce(ENGINES[engine](pa.table({"p": f, "y": y}), tmp_path, **NAMES, exact=True)), y, f)
    assert sizes[-1] <= 2 * 10  # two for each piece or partition


def test_the_curve_of_a_summary_reaches_its_extremes():
    rows = table("one slot")
    curve = cumulative_curve(summarize(rows["y"], rows["p"], exact=True))
    assert curve.difference.max() - curve.difference.min() == pytest.approx(curve.ecce.range, abs=1e-12)
    assert np.all(np.diff(curve.share) >= 0)


@pytest.mark.parametrize("parts", [1, 2, 64, 1 << 36])
def test_places_follow_the_scores(parts):
    edges = ruler().edges
    f = np.unique(np.concatenate([edges, np.nextafter(edges, 2)[:-1], np.nextafter(edges, -1)[1:], [5e-324, 1e-300]]))
    f = f[(f >= 0) & (f <= 1)]
    number = places(f, parts)
    assert np.all(np.diff(number) >= 0)
    assert number[0] == 0
    assert number[-1] == SLOTS * parts - 1
    np.testing.assert_array_equal(number // parts, ruler().slots(f))


def test_sums_over_places_add():
    rng = np.random.default_rng(5)
    on, f, y, w = ruler(), scores("rare", rng), rng.integers(0, 2, N).astype(float), rng.random(N)
    among = exact.Places(np.unique(places(f, 4))[::2], 4)
    pieces = [
        Arrays(f=f[a : a + 700], y=y[a : a + 700], w=w[a : a + 700], soft=False, clipped=0, rejected={})
        for a in range(0, N, 700)
    ]
    found = exact.added([exact.place_sums(piece, on, among, 32) for piece in pieces])
    number = places(f, 32)
    inside = np.isin(number // 8, among.number)
    np.testing.assert_array_equal(found.number, np.unique(number[inside]))
    for k, at in enumerate(found.number[:300]):
        of = number == at
        assert found.rows[k] == of.sum()
        assert found.weight[k] == pytest.approx(w[of].sum(), rel=1e-13)
        assert found.e[k] == pytest.approx((w * (y - f))[of].sum(), abs=1e-13)
        assert found.positive[k] == pytest.approx(np.maximum(w * (y - f), 0)[of].sum(), abs=1e-13)
        assert (found.least[k], found.most[k]) == (f[of].min(), f[of].max())
