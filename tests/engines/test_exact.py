"""Exact cumulative errors of a summary whose rows can be read again, from every engine, however few rows are held at once."""

import datetime
import decimal
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
from trueness._again import Places
from trueness.engines import again
from trueness.engines.arrays.grid import joined
from trueness.engines.files import summarize_files as files
from trueness.engines.files.open_files import open_files
from trueness.engines.files.reader import Reader
from trueness.engines.frames import memory
from trueness.inputs.rows import Arrays
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


def by_pandas(rows, tmp_path, **settings):
    by_pandas.frame = rows.to_pandas()  # held: a summary does not keep its frame
    return summarize_frame(by_pandas.frame, **settings)


def by_polars(rows, tmp_path, **settings):
    by_polars.frame = pl.from_arrow(rows)
    return summarize_frame(by_polars.frame, **settings)


def by_parquet(rows, tmp_path, **settings):
    pq.write_table(rows, tmp_path / "a.parquet", row_group_size=3000)
    return summarize_files(tmp_path / "a.parquet", **settings)


def by_csv(rows, tmp_path, **settings):
    rows.to_pandas().to_csv(tmp_path / "a.csv", index=False)
    return summarize_files(tmp_path / "a.csv", **settings)


ENGINES = {
    "arrow": lambda rows, tmp_path, **settings: summarize_frame(rows, **settings),
    "pandas": by_pandas,
    "polars": by_polars,
    "polars lazy": lambda rows, tmp_path, **settings: summarize_frame(pl.from_arrow(rows).lazy(), **settings),
    "duckdb": lambda rows, tmp_path, **settings: summarize_frame(duckdb.connect().from_arrow(rows), **settings),
    "dask": lambda rows, tmp_path, **settings: summarize_frame(
        dd.from_pandas(rows.to_pandas(), npartitions=5, sort=False), **settings
    ),
    "parquet": by_parquet,
    "csv": by_csv,
}


@pytest.fixture(params=[500, 1 << 22], ids=["few rows held", "many rows held"])
def held(request, monkeypatch):
    monkeypatch.setattr("trueness.data.extremes._IN_MEMORY", request.param)
    monkeypatch.setattr(files, "open_files", partial(open_files, piece_rows=6000))
    monkeypatch.setattr(memory, "_PIECE", 6000)
    return request.param


def agrees(found, y, f, w=None):
    high, low = brute(y, f, w)
    assert found.bracket is None
    assert found.mad == pytest.approx(max(high, -low), abs=2e-13)
    assert found.range == pytest.approx(high - low, abs=2e-13)
    expected = ecce(y, f, sample_weight=w)
    assert (found.worst is None) == (expected.worst is None)
    if found.worst is not None and expected.range > 1e-9:
        inside = (f > (found.worst.low or -1.0)) & (f <= found.worst.high)  # from the origin, scores of 0 as well
        weight = np.ones(len(f)) if w is None else w
        assert abs((weight * (y - f))[inside].sum() / weight.sum()) == pytest.approx(expected.range, abs=1e-11)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_engine_gives_the_exact_errors(tmp_path, held, engine, kind):
    rows = table(kind)
    y, f = rows["y"].to_numpy(), rows["p"].to_numpy()
    found = ENGINES[engine](rows, tmp_path, **NAMES)
    agrees(ecce(found), y, f)
    assert (ecce_mad(found), ecce_r(found)) == (ecce(found).mad, ecce(found).range)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["calibrated", "one slot", "below the ruler"])
@pytest.mark.parametrize(("outcome", "weight"), [("y", "w"), ("s", None), ("s", "w")])
def test_weights_and_soft_labels(tmp_path, held, engine, kind, outcome, weight):
    rows = table(kind, seed=2)
    found = ENGINES[engine](rows, tmp_path, outcome=outcome, prediction="p", weight=weight)
    agrees(ecce(found), rows[outcome].to_numpy(), rows["p"].to_numpy(), None if weight is None else rows[weight].to_numpy())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("by", ["g", "h", ["g", "h"]])
@pytest.mark.parametrize("weight", [None, "w"])
def test_groups_are_read_again_each_for_itself(tmp_path, held, engine, by, weight):
    rows = table("calibrated", seed=3)
    found = ENGINES[engine](rows, tmp_path, **NAMES, by=by, weight=weight)
    keys = [rows[name].to_pylist() for name in ([by] if isinstance(by, str) else by)]
    if engine == "csv":  # where groups are text
        keys = [[None if key is None else str(key) for key in column] for column in keys]
    keys = keys[0] if len(keys) == 1 else list(zip(*keys, strict=True))
    assert len(found) == len(set(keys))
    for group in list(found)[:4]:
        of = np.array([key == group for key in keys])
        w = None if weight is None else rows["w"].to_numpy()[of]
        agrees(ecce(found[group]), rows["y"].to_numpy()[of], rows["p"].to_numpy()[of], w)


def test_tests_of_groups_do_not_read_the_rows_of_each_again(tmp_path, monkeypatch):
    found = by_parquet(table("calibrated"), tmp_path, **NAMES, by="h")

    def read(*_):
        raise AssertionError("a pass for each group")

    monkeypatch.setattr(Reader, "batches", read)
    monkeypatch.setattr(Reader, "chosen", read)
    tests = group_tests(found)
    assert all(each.test.pvalue_bounds is not None for each in tests)


def test_no_more_rows_are_held_than_allowed(tmp_path, monkeypatch):
    """Rows that one cut leaves too many are cut again."""
    monkeypatch.setattr("trueness.data.extremes._IN_MEMORY", 500)
    taken, levels = [], []
    keep, deepen = again.InPieces.scores, again.InPieces.sums

    def scores(self, among):
        for part in keep(self, among):
            taken.extend(part.f)
            yield part

    def sums(self, among, parts):
        levels.append(parts)
        return deepen(self, among, parts)

    monkeypatch.setattr(again.InPieces, "scores", scores)
    monkeypatch.setattr(again.InPieces, "sums", sums)
    for kind in KINDS:
        taken.clear()
        ecce(by_parquet(table(kind), tmp_path, **NAMES))
        assert len(set(taken)) <= 500, kind  # scores: rows of the same one are held together
    assert max(levels) > 64
    assert levels.count(64) >= 1


def test_a_frame_that_is_gone_or_edited_leaves_the_bracket():
    rows = table("calibrated")
    exact = ecce(rows["y"].to_numpy(), rows["p"].to_numpy())
    frame = rows.to_pandas()
    kept, edited, lost = (summarize_frame(frame, **NAMES) for _ in range(3))
    assert ecce(kept).bracket is None
    frame["p"] = 1 - frame["p"]
    assert ecce(edited).bracket.range[0] <= exact.range <= ecce(edited).bracket.range[1]
    del frame["p"]
    assert ecce(lost).bracket is not None
    del frame
    gc.collect()
    assert ecce(kept).range == pytest.approx(exact.range, abs=1e-14)  # what was found once is known
    fresh = summarize_frame(rows.to_pandas(), **NAMES)
    gc.collect()
    assert ecce(fresh).bracket is not None


def test_groups_by_day():
    rows = table("calibrated").to_pandas()
    rows["day"] = [datetime.date(2026, 1, 1 + int(h)) for h in rows["h"]]
    for frame in (pl.from_pandas(rows).lazy(), duckdb.connect().from_arrow(pa.Table.from_pandas(rows))):
        found = summarize_frame(frame, **NAMES, by="day")
        assert len(found) == 3
        for day, part in found.items():
            of = rows["day"] == day
            agrees(ecce(part), rows["y"][of].to_numpy(), rows["p"][of].to_numpy())


def test_groups_whose_values_the_engine_may_not_find_have_a_bracket():
    rows = table("calibrated").to_pandas()
    rows["money"] = [decimal.Decimal("1.5")] * N
    (part,) = summarize_frame(duckdb.connect().from_arrow(pa.Table.from_pandas(rows)), **NAMES, by="money").values()
    assert ecce(part).bracket is not None
    rows["many"] = np.full(N, 2**63, dtype=np.uint64)
    frame = pytest.importorskip("ibis").memtable(pa.Table.from_pandas(rows[["p", "y", "many"]]))
    (part,) = summarize_frame(frame, **NAMES, by="many").values()
    assert part.n == N
    assert ecce(part).bracket is not None


@pytest.mark.parametrize("by", [None, "g"])
def test_a_connection_that_is_closed_leaves_the_bracket(by):
    rows = table("calibrated")
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        found = summarize_frame(connection.table("rows"), **NAMES, by=by)
    part = found if by is None else found["a"]
    assert ecce(part).bracket is not None
    assert assess(found).n == N


def test_a_fault_of_the_second_pass_that_leaves_the_rows_there_is_told(monkeypatch):
    found = summarize_frame(pl.from_arrow(table("calibrated")).lazy(), **NAMES)
    monkeypatch.setattr("trueness.engines.frames.lazy._place", lambda parts: nw.col("absent"))
    with pytest.raises(Exception, match="absent"):
        ecce(found)


def test_a_folder_left_behind_is_not_taken_for_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(table("calibrated"), "a.parquet")
    found, named = summarize_files("a.parquet", **NAMES), summarize_files(tmp_path / "a.parquet", **NAMES)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    pq.write_table(table("rare"), "a.parquet")
    assert ecce(found).bracket is not None
    assert ecce(named).bracket is None


@pytest.mark.parametrize("engine", ["polars lazy", "dask", "parquet", "csv"])
def test_groups_do_not_take_the_exactness_of_the_whole_away(tmp_path, engine):
    rows = table("one slot")
    found = ENGINES[engine](rows, tmp_path, **NAMES, by="g")
    whole = assess(found)
    agrees(whole.error, rows["y"].to_numpy(), rows["p"].to_numpy())
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301
    assert assess(pickle.loads(pickle.dumps(found))).error.bracket is not None  # noqa: S301
    del found["a"]
    assert assess(found).error.bracket is not None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("many", [100, 5000])
def test_the_first_of_equal_extremes(tmp_path, held, engine, many):
    """Where C stays at its highest over several scores, the worst interval ends at the first."""
    f = np.repeat([0.1, 0.3, 0.7, 0.9], many)
    y = np.concatenate([np.arange(many) < rate * many - 0.5 for rate in (0.4, 0.3, 0.7, 0.9)]).astype(float)
    rows = pa.table({"p": f, "y": y})
    worst = ecce(ENGINES[engine](rows, tmp_path, **NAMES)).worst
    assert (worst.low, worst.high, worst.share) == (0.0, 0.1, pytest.approx(0.25))


def test_a_value_and_its_p_are_of_one_statistic():
    rows = table("one slot")
    frame = rows.to_pandas()
    bare, found = summarize(rows["y"], rows["p"]), summarize_frame(frame, **NAMES)
    tests = [calibration_test(each, rng=0) for each in (bare, found)]
    assert tests[0].value == pytest.approx(tests[1].value)
    assert tests[0].pvalue == tests[1].pvalue
    assert "from the cells" in tests[1].reason


@pytest.mark.parametrize("engine", ["polars lazy", "dask", "parquet"])
def test_neighbouring_scores_of_many_rows_are_held_as_two(tmp_path, monkeypatch, engine):
    monkeypatch.setattr("trueness.data.extremes._IN_MEMORY", 100)
    f = np.where(np.arange(N) % 2, 0.3, 0.1 + 0.2)
    rng = np.random.default_rng(0)
    y = rng.random(N)
    sizes = []
    original = joined

    def counted(parts):
        sizes.append(sum(len(part.f) for part in parts))
        return original(parts)

    monkeypatch.setattr("trueness.data.extremes.joined", counted)
    agrees(ecce(ENGINES[engine](pa.table({"p": f, "y": y}), tmp_path, **NAMES)), y, f)
    assert sizes[0] <= 2 * 10  # two for each piece or partition


def test_the_curve_of_a_summary_reaches_its_extremes():
    frame = table("one slot").to_pandas()
    curve = cumulative_curve(summarize_frame(frame, **NAMES))
    assert curve.difference.max() - curve.difference.min() == pytest.approx(curve.ecce.range, abs=1e-12)
    assert np.all(np.diff(curve.share) >= 0)


def test_a_missing_group_of_numbers():
    rows = table("calibrated").to_pandas()
    rows["x"] = np.where(rows["h"] == 0, np.nan, rows["h"] / 2)
    for frame in (
        pl.from_pandas(rows),
        pl.from_pandas(rows).lazy(),
        pl.DataFrame({c: rows[c].to_numpy() for c in "ypx"}).lazy(),
    ):
        found = summarize_frame(frame, **NAMES, by="x")
        assert set(found) == {None, 0.5, 1.0}
        for group, part in found.items():
            of = rows["x"].isna() if group is None else rows["x"] == group
            agrees(ecce(part), rows["y"][of].to_numpy(), rows["p"][of].to_numpy())


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
    among = Places(np.unique(places(f, 4))[::2], 4)
    pieces = [
        Arrays(f=f[a : a + 700], y=y[a : a + 700], w=w[a : a + 700], soft=False, clipped=0, rejected={})
        for a in range(0, N, 700)
    ]
    found = again.added([again.place_sums(piece, on, among, 32) for piece in pieces])
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


def test_a_bare_summary_has_a_bracket():
    rows = table("calibrated")
    assert ecce(summarize(rows["y"], rows["p"])).bracket is not None
