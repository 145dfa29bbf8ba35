"""The whole answer: verdict, table, groups and notes."""

import json
import math
import os
import re
import subprocess
import sys
import time
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import expit, logit

import trueness
from trueness import TruenessError, assess, brownian, compare, ecce, group_tests, summarize
from trueness.demo import make_demo
from trueness.inference.gap import WorstGap
from trueness.inference.outcome import CalibrationTest, TestPart
from trueness.report import render_comparison
from trueness.verdict import also, finding

Y, P, TRUTH = make_demo()
FEW = slice(1500)


def test_the_planted_error_is_found_and_named() -> None:
    found = assess(Y, P)
    assert found.significant
    assert found.verdict.startswith(
        "Over-confident: predictions between 0.60 and 0.90 are at least 6.5 points too high, estimated 8.8 (p = "
    )
    assert found.error.worst.low == pytest.approx(0.60, abs=0.02)
    assert found.error.worst.high == pytest.approx(0.90, abs=0.02)
    assert found["smooth_ece"].value == trueness.smooth_ece(Y, P)
    for line in found.metrics:
        assert line.value == getattr(trueness, line.name)(Y, P)
        assert line.interval.low <= line.value <= line.interval.high


def test_not_significant_is_never_called_calibrated() -> None:
    found = assess(Y, TRUTH)
    assert not found.significant
    assert "does not show that there is none" in found.verdict
    assert "calibrated" not in repr(found)


@pytest.mark.parametrize(
    ("low", "high", "shift", "word"),
    [
        (0.6, 0.9, -0.2, "Over"),
        (0.6, 0.9, 0.1, "Under"),
        (0.1, 0.4, 0.2, "Too low"),  # over- or under-confident would say the opposite of what the sentence says
        (0.1, 0.4, -0.1, "Too high"),
        (0, 1, 0.1, "Too low"),
    ],
)
def test_the_way_it_is_off(low, high, shift, word) -> None:
    rng = np.random.default_rng(1)
    f = rng.random(8000)
    eta = np.clip(np.where((f > low) & (f < high), f + shift, f - 0.02 * np.sign(shift)), 0, 1)  # so that its ends are sharp
    assert assess((rng.random(len(f)) < eta).astype(int), f).verdict.startswith(word)


def test_the_page_fits_and_the_dictionary_is_json() -> None:
    found = assess(Y, P, by=np.where(P < 0.5, "low", "high"))
    page = repr(found)
    assert max(map(len, page.splitlines())) <= 100
    assert len(page.splitlines()) <= 60
    held = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert held["metrics"][0]["value"] == found.metrics[0].value
    assert held["verdict"] == found.verdict
    assert {group["group"] for group in held["groups"]} == {"low", "high"}


def test_groups_are_tested_with_adjustment() -> None:
    by = np.where(P < 0.5, "low", "high")
    found = assess(Y, P, by=by)
    direct = group_tests(Y, P, by=by, rng=0)
    assert [each.adjusted_pvalue for each in found.groups] == [each.adjusted_pvalue for each in direct]


def test_names_from_data_stay_on_their_line() -> None:
    by = np.array(["a\x1b[31m\nb", "x" * 200])[(P < 0.5).astype(int)]
    page = repr(assess(Y, P, by=by))
    assert "\x1b" not in page
    assert "\\n" in page
    assert max(map(len, page.splitlines())) <= 100


def test_frames_give_what_arrays_give() -> None:
    frame = pd.DataFrame({"y": Y[:2000], "p": P[:2000], "w": 1.0 + P[:2000], "g": np.where(P[:2000] < 0.5, "a", "b")})
    arrays = assess(Y[:2000], P[:2000], sample_weight=1.0 + P[:2000], by=frame["g"].to_numpy()).to_dict()
    for given in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame), dict(frame)):
        assert assess(given, outcome="y", prediction="p", weight="w", by="g").to_dict() == arrays
    with pytest.raises(TruenessError, match=r"no column 'q'.*'y', 'p', 'w', 'g'"):
        assess(frame, outcome="y", prediction="q")
    with pytest.raises(TruenessError, match="prediction is missing"):
        assess(frame, outcome="y")


def test_summaries_and_groups_of_them() -> None:
    whole, parts = summarize(Y, P), {"a": summarize(Y[:9000], P[:9000]), "b": summarize(Y[9000:], P[9000:])}
    one, many = assess(whole), assess(parts)
    assert one.to_dict()["metrics"] == many.to_dict()["metrics"]
    assert [each.group for each in many.groups] == ["a", "b"]
    with pytest.raises(TruenessError, match="summaries alone"):
        assess(whole, by=["a"])


def test_missing_values_are_dropped_only_when_told() -> None:
    p = P[:500].copy()
    p[[3, 7]] = np.nan
    with pytest.raises(TruenessError, match="row 3"):
        assess(Y[:500], p)
    by = np.array(["a", "b"])[(np.arange(500) % 2)]
    found = assess(Y[:500], p, nan="drop", by=by)
    assert found.n == 498
    assert any("2 rows not used" in note for note in found.notes)
    kept = ~np.isnan(p)
    assert found["ecce_r"].value == trueness.ecce_r(Y[:500][kept], p[kept])
    assert [each.n for each in found.groups] == [250, 248]


def test_labels_by_name() -> None:
    words = np.where(Y[:500] == 1, "yes", "no")
    assert assess(words, P[:500], pos_label="yes")["ecce_r"].value == trueness.ecce_r(Y[:500], P[:500])


def test_soft_labels_and_few_rows_say_what_is_missing() -> None:
    soft = assess(TRUTH, P)
    assert soft["smooth_ece"].noise_floor is None
    assert soft["smooth_ece"].test is None
    assert soft.test.reason.startswith("soft labels")
    assert any("soft labels" in note for note in soft.notes)
    few = assess(Y[:20], P[:20])
    assert np.isnan(few["binned_ece"].interval.low)
    assert any("too few rows" in note for note in few.notes)
    assert repr(assess([1], [0.3])).startswith("No miscalibration")


def test_swapped_arguments_are_told() -> None:
    assert any("swapped" in note for note in assess(P, Y.astype(float)).notes)


def test_reproducible_and_seeded() -> None:
    assert assess(Y[:800], P[:800]).to_dict() == assess(Y[:800], P[:800]).to_dict()
    other = assess(Y[:800], P[:800], rng=1)
    assert other.seed == 1
    assert other.to_dict() != assess(Y[:800], P[:800]).to_dict()


def test_the_figure_states_the_interval() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found = assess(Y[:2000], P[:2000])
    figure = found.plot()
    texts = [text.get_text() for ax in figure.axes for text in ax.get_legend().get_texts()]
    assert any(text.startswith(f"SmoothECE {found['smooth_ece'].value:.4f} (") for text in texts)
    plt.close(figure)


@pytest.mark.full
def test_a_million_rows_finish() -> None:
    rng = np.random.default_rng(0)
    f = rng.random(1_000_000)
    y = (rng.random(len(f)) < f).astype(np.int8)
    began = time.perf_counter()
    assert assess(y, f).n == 1_000_000
    assert time.perf_counter() - began < 120  # not a benchmark: it must only not hang


def test_the_same_bytes_in_any_environment() -> None:
    code = (
        "import hashlib, json, numpy as np\nfrom trueness import assess\nfrom trueness.demo import make_demo\n"
        "y, p, _ = make_demo(3000)\n"
        "print(hashlib.sha256(json.dumps(assess(y, p, by=np.where(p < .5, 'a', 'b')).to_dict()).encode()).hexdigest())"
    )
    seen = set()
    for threads, options in (("1", ["-O"]), ("2", ["-W", "error"])):
        settings = {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "PYTHONHASHSEED": threads, "LC_ALL": "C"}
        run = [sys.executable, *options, "-c", code]
        seen.add(subprocess.run(run, env={**os.environ, **settings}, check=True, capture_output=True).stdout)
    assert len(seen) == 1


@pytest.mark.parametrize("kind", ["uniform", "rare", "weighted", "summary", "tied"])
def test_the_number_of_threads_does_not_show(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    p = rng.beta(2, 200, 3000) if kind == "rare" else rng.random(3000).round(2 if kind == "tied" else 9)
    y = (rng.random(3000) < p).astype(int)
    data = (summarize(y, p),) if kind == "summary" else (y, p)
    weights = {"sample_weight": rng.pareto(2, 3000) + 0.1} if kind == "weighted" else {}
    results = []
    for threads in ("1", "2", "8"):
        monkeypatch.setenv("TRUENESS_THREADS", threads)
        results.append(assess(*data, **weights).to_dict())
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("threads", ["0", "-1", "two", "1.5", " ", "²"])
def test_a_number_of_threads_that_is_none_is_refused(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUENESS_THREADS", threads)
    with pytest.raises(TruenessError, match=r"TRUENESS_THREADS: .* is not a number of threads\. Set it to 1 or more"):
        assess([0, 1, 1], [0.2, 0.5, 0.9])


def test_the_range_begins_at_the_smallest_score_and_decides_the_word() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.55, 0.74, 4000)
    y = rng.random(4000) < p - 0.15
    told = "Over-confident: predictions between 0.55 and 0.74 are at least 14 points too high, estimated 16 ("
    for data in ((y, p), (summarize(y, p),)):
        assert assess(*data).verdict.startswith(told)
    half = assess(np.ones(300), np.full(300, 0.5)).verdict
    assert re.match(r"Too low: predictions of 0\.50 are at least 4\d points too low, estimated \d\d \(", half)
    rare = rng.beta(2, 500, 40_000)
    verdict = assess(rng.random(40_000) < 1.5 * rare, rare).verdict
    words = r"predictions between 0\.0\d\d\d and 0\.0\d\d\d are at least 0\.\d+ points too low, estimated 0\.\d+ "
    assert re.search(words, verdict)


def test_over_and_under_confident_are_said_above_one_half_alone_and_never_against_the_slope() -> None:
    worst = ecce([0] * 60 + [1] * 20, np.r_[np.full(40, 0.8), np.full(40, 0.9)]).worst
    assert worst.first > 0.5
    assert worst.mean_gap < 0
    gap = WorstGap(observed=0.6, estimated=0.5, at_least=0.4)

    def said(direction: str, place: str, first: float = 0.6) -> str:
        parts = (
            TestPart(name="ecce_r", value=0.3, pvalue=1e-9, log10_pvalue=-9, place="range", direction="too high"),
            TestPart(name="cox", value=50, pvalue=1e-8, log10_pvalue=-8, place=place, direction=direction),
        )
        fields = {"statistic": "combined", "value": 9, "standardized": math.nan, "method": "simulated", "reason": "", "n": 80}
        test = CalibrationTest(**fields, pvalue=1e-8, log10_pvalue=-8, parts=parts)
        return finding(test, replace(worst, first=first), gap, alpha=0.05, high=None) + also(test, worst, alpha=0.05)

    assert said("too extreme", "slope 0.71").startswith("Over-confident: ")
    assert said("too extreme", "slope 0.71").endswith(" Also seen: slope 0.71: too extreme.")
    assert said("too moderate", "slope 1.30").startswith(
        "Too high: predictions between 0.60 and 0.90 are at least 40 points too"
    )
    assert said("too extreme", "slope 0.71", first=0.5).startswith("Too high: ")


@pytest.mark.parametrize(
    ("truth", "n", "words"),
    [
        (lambda f: expit(0.7 * logit(f)), 500, r"Too extreme: the calibration slope of the predictions is 0\.\d\d, where 1 is"),
        (lambda f: expit(1.4 * logit(f)), 500, r"Too moderate: the calibration slope of the predictions is 1\.\d\d, where 1"),
        (lambda f: f + 0.4 * f * (1 - f) * np.sin(8 * np.pi * f), 3000, r"waves"),
    ],
)
def test_the_words_say_which_part_saw_it(truth, n, words) -> None:
    rng = np.random.default_rng(3)
    f = rng.random(n)
    found = assess((rng.random(n) < truth(f)).astype(int), f)
    assert found.significant
    assert re.search(words, found.verdict), found.verdict
    shown = repr(found)
    assert all(part.label in shown for part in found.test.parts)
    assert len(shown.splitlines()) <= 60


def test_the_certain_gap_is_by_the_law_and_the_estimate_takes_the_floor_off_at_the_threshold() -> None:
    rng = np.random.default_rng(0)
    f = rng.random(4000)
    y = (rng.random(4000) < np.clip(f - 0.1 * (f > 0.5), 0, 1)).astype(int)
    found, error = assess(y, f), ecce(y, f)
    sigma, share = math.sqrt(max((f * (1 - f)).sum(), ((y - f) ** 2).sum())) / 4000, error.worst.share
    highest, usual = (float(brownian.range.isf(tail)) for tail in (0.025, 0.05))
    assert found.gap.observed == abs(error.worst.mean_gap)
    assert found.gap.at_least == pytest.approx((error.range - highest * sigma) / share, rel=1e-9)
    noise = math.sqrt(8 / math.pi) * usual * sigma**2 / error.range
    assert found.gap.estimated == pytest.approx((error.range - noise) / share, rel=1e-9)
    few = assess(y[:200], f[:200])
    assert 0 <= few.gap.at_least <= few.gap.estimated <= few.gap.observed
    assert found.to_dict()["gap"]["at_least"] == found.gap.at_least
    assert found.to_dict()["test"]["parts"][0]["words"]


def test_words_and_figure_name_the_same_two_ends() -> None:
    """Rows at score 0 lie outside a range that begins after them; an end just below 1 is not called 1."""
    rng = np.random.default_rng(0)
    f = np.r_[np.zeros(300), rng.uniform(0.02, 0.3, 300), np.full(100, 0.99999999999), np.ones(300)]
    y = np.r_[np.full(300, 0.1), f[300:600] - 0.02, np.full(100, 0.7), np.ones(300)]
    found = assess(y, f)
    worst = found.error.worst
    assert (worst.first >= 0.02, worst.high, worst.closed) == (True, 0.99999999999, False)
    assert "between 0.02 and 0.99999999999 " in found.verdict
    labels = [text.get_text() for text in found.cumulative_curve.plot().get_legend().get_texts()]
    assert any(label.startswith("0.02–0.99999999999: ") for label in labels)
    plt.close("all")
    from_sums = assess(summarize(y, f)).error.worst
    assert from_sums.first == pytest.approx(worst.first, abs=2**-14)
    everything = ecce([0, 0, 1], [0.0, 0.5, 0.9]).worst
    assert everything.closed
    assert repr(everything).startswith("scores in [0, 0.5]")


def test_a_certain_prediction_that_was_wrong_is_told_first_and_the_rest_is_tested() -> None:
    rng = np.random.default_rng(0)
    f = np.r_[rng.random(2998), 1.0, 0.0]
    y = np.r_[rng.random(2998) < np.clip(f[:2998] - 0.1, 0, 1), 0, 1].astype(int)
    found = assess(y, f)
    assert found.verdict.startswith(
        "Certain and wrong: 1 prediction of 1 did not happen and 1 prediction of 0 did happen, which calibrated predictions "
        "never do. The other 2998 rows: "
    )
    others = assess(y[:2998], f[:2998])
    assert others.verdict.partition(" (")[0] in found.verdict
    assert (found.test.pvalue, found.test.rest.pvalue) == (0.0, others.test.pvalue)
    assert found.to_dict()["metrics"][-1]["test"]["rest"]["n"] == 2998
    from_sums = assess(summarize(y, f))
    assert from_sums.verdict.partition(":")[0] == "Certain and wrong"
    assert from_sums.test.rest.pvalue == pytest.approx(others.test.pvalue, rel=0.2)
    nothing_else = assess(np.ones(300), np.zeros(300))
    assert nothing_else.verdict.startswith("Certain and wrong: 300 predictions of 0 did happen")
    assert nothing_else.test.explained == "0 (300 certain and wrong)"
    # Words, page and figure name one range, and groups say why their p is 0.
    assert found.located == others.error
    assert f"Largest total error of the other rows, as observed: {others.error.worst.described}" in repr(found)
    legend = found.plot().axes[1].get_legend_handles_labels()[1]
    assert [label for label in legend if label.startswith(others.error.worst.span)]
    assert any("2 certain and wrong left out" in label for label in legend)
    plt.close("all")
    grouped = assess(y, f, by=np.arange(3000) % 3 == 0)
    cells = {each.group: each.cells()[3] for each in grouped.groups}
    assert re.match(r"0 \(2 certain and wrong; others \d", cells[False]), cells
    assert "certain" not in cells[True]
    assert "p = 0 (2 certain and wrong; others" in repr(grouped.groups)


def test_large_integers_stay_different_groups() -> None:
    big = np.where(P[:200] < 0.5, 2**53, 2**53 + 1)
    for by in (big, big.astype(object), pd.array(big, dtype="Int64"), pl.Series(big), pa.array(big), big.tolist()):
        assert [each.group for each in group_tests(Y[:200], P[:200], by=by, rng=0)] == [2**53, 2**53 + 1]
    assert [each.group for each in assess(Y[:200], P[:200], by=big).groups] == [2**53, 2**53 + 1]


def test_a_comparison_is_short_and_shows_in_a_notebook(tmp_path) -> None:
    rng = np.random.default_rng(1)
    names = [f"a_predictor_with_a_long_name_{k}" for k in range(8)]
    found = compare(Y[FEW], {name: np.clip(P[FEW] + rng.normal(0, 0.05, 1500), 0, 1) for name in names})
    lines = repr(found).splitlines()
    assert max(map(len, lines)) <= 100
    assert len(lines) <= 50
    assert all(f"name_{k}" in repr(found) for k in range(8))
    hostile = compare(Y[FEW], {"<script>alert(1)</script>": P[FEW], "b": P[FEW] / 2})
    for text in (hostile._repr_html_(), render_comparison(hostile, title="<i>")):
        assert "<script" not in text
        assert "&lt;script&gt;" in text
    hostile.report(tmp_path / "c.html")
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert "default-src &#x27;none&#x27;" in page
    assert page.count('stroke="#0072b2"') == 2  # the curve and its legend


def test_frames_that_compute_elsewhere() -> None:
    import dask.dataframe as dd
    import duckdb

    table = pa.table({"y": Y[FEW], "p": P[FEW], "g": np.where(P[FEW] < 0.5, "low", "high")})
    expected = assess(summarize(Y[FEW], P[FEW]))
    polars = pl.from_arrow(table)
    connection = duckdb.connect()  # before DuckDB 1.5 a relation does not keep its own
    for frame in (polars.lazy(), connection.from_arrow(table), dd.from_pandas(table.to_pandas(), npartitions=3)):
        found = assess(frame, outcome="y", prediction="p")
        assert found["smooth_ece"].value == expected["smooth_ece"].value
        assert found["ecce_r"].value == pytest.approx(trueness.ecce_r(Y[FEW], P[FEW]), abs=1e-4)
    grouped = assess(polars.lazy(), outcome="y", prediction="p", by="g")
    assert [each.group for each in grouped.groups] == ["high", "low"]
    with pytest.raises(TruenessError, match="prediction is missing"):
        assess(polars.lazy(), outcome="y")


FRAMES = {
    "pandas": lambda table: table.to_pandas(),
    "pandas, odd index": lambda table: table.to_pandas().set_index(np.arange(table.num_rows)[::-1]),
    "polars": pl.from_arrow,
    "arrow": lambda table: table,
    "narwhals": lambda table: __import__("narwhals").from_native(pl.from_arrow(table)),
    "mapping": lambda table: {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names},
    "polars lazy": lambda table: pl.from_arrow(table).lazy(),
    "duckdb": lambda table: __import__("duckdb").connect().from_arrow(table),
    "dask": lambda table: __import__("dask.dataframe").dataframe.from_pandas(table.to_pandas(), npartitions=3, sort=False),
    "arrow reader": lambda table: table.to_reader(max_chunksize=90),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_groups_of_several_columns(kind) -> None:
    n = 240
    rng = np.random.default_rng(0)
    g, h = rng.choice(np.array(["a", "b", None], dtype=object), n), rng.integers(0, 2, n)
    table = pa.table({"y": Y[:n], "p": P[:n], "g": pa.array(g), "h": h})
    names = {"outcome": "y", "prediction": "p", "metrics": ["ecce_r"]}
    expected = {pair: sum(other == pair for other in zip(g, h, strict=True)) for pair in zip(g, h.tolist(), strict=True)}
    found = assess(FRAMES[kind](table), by=["g", "h"], **names)
    assert {each.group: each.n for each in found.groups} == expected
    one = assess(FRAMES[kind](table), by=("g",), **names)
    assert [each.group for each in one.groups] == ["a", "b", None]
    with pytest.raises(TruenessError, match="there is no column 'k'"):
        assess(FRAMES[kind](table), by=["g", "k"], **names)


def test_a_list_of_groups_beside_a_frame() -> None:
    frame = pl.DataFrame({"y": Y[:40], "p": P[:40]})
    groups = ["a", "b"] * 20
    found = assess(frame, outcome="y", prediction="p", by=groups, metrics=["ecce_r"])
    assert [(each.group, each.n) for each in found.groups] == [("a", 20), ("b", 20)]


def test_names_that_print_the_same_lose_no_predictor() -> None:
    """BAD_INPUTS 75."""
    with pytest.raises(TruenessError, match=r"predictions: two of the names 1, '1' print the same"):
        compare(Y[:50], {1: P[:50], "1": TRUTH[:50]})


def test_columns_of_a_frame_listed_by_an_array() -> None:
    frame = pd.DataFrame({"y": Y[:40], "p": P[:40], "g": ["a", "b"] * 20, "h": [0, 0, 1, 1] * 10})
    listed = assess(frame, outcome="y", prediction="p", by=["g", "h"], metrics=["ecce_r"])
    for by in (np.array(["g", "h"]), pd.Index(["g", "h"]), pd.Series(["g", "h"])):
        found = assess(frame, outcome="y", prediction="p", by=by, metrics=["ecce_r"])
        assert [(each.group, each.n) for each in found.groups] == [(each.group, each.n) for each in listed.groups]


def test_a_result_keeps_the_rows_it_was_made_from() -> None:
    y, p = Y[:400].copy(), P[:400].copy()
    found, several = assess(y, p), compare(y, {"a": p, "b": p / 2}, metrics=["ecce_r"])
    before = found.cumulative_curve.to_dict(), [each.arrays.f.copy() for each in several.predictions.values()]
    again, others = assess(y, p), compare(y, {"a": p, "b": p / 2}, metrics=["ecce_r"])
    p[:], y[:] = 0.5, 0
    assert again.cumulative_curve.to_dict() == before[0]
    assert all(np.array_equal(a.arrays.f, b) for a, b in zip(others.predictions.values(), before[1], strict=True))


def shuffled(values: object) -> pd.Series:
    """The same labels as a plain Series has, in another order."""
    return pd.Series(values, index=np.random.default_rng(1).permutation(len(Y[:200])))


PLAIN = pd.Series(P[:200])
GROUPS = np.array(["a", "b"] * 100)
OTHER_INDEX = {
    "group_tests": lambda: trueness.group_tests(Y[:200], PLAIN, by=shuffled(GROUPS)),
    "group_tests, outcome": lambda: trueness.group_tests(pd.Series(Y[:200]), P[:200], by=shuffled(GROUPS)),
    "assess": lambda: assess(Y[:200], PLAIN, by=shuffled(GROUPS)),
    "assess, frame": lambda: assess(
        pd.DataFrame({"y": Y[:200], "p": P[:200]}), outcome="y", prediction="p", by=shuffled(GROUPS)
    ),
    "compare": lambda: compare(Y[:200], {"a": PLAIN, "b": shuffled(TRUTH[:200])}),
    "plot_compare": lambda: trueness.plot_compare(Y[:200], {"a": PLAIN, "b": shuffled(TRUTH[:200])}),
    "compare, weight": lambda: compare(Y[:200], {"a": P[:200], "b": PLAIN}, sample_weight=shuffled(np.ones(200))),
    "mapping of series": lambda: trueness.summarize_frame(
        {"y": Y[:200], "p": PLAIN, "g": shuffled(GROUPS)}, outcome="y", prediction="p", by="g"
    ),
}


@pytest.mark.parametrize("way", OTHER_INDEX)
def test_a_column_whose_index_is_in_another_order_is_refused(way) -> None:
    """BAD_INPUTS 73: the rule for outcomes and predictions holds for groups, weights and rival predictions."""
    with pytest.raises(TruenessError, match=r": \d+ of 200 index labels are not in the order of"):
        OTHER_INDEX[way]()


def test_columns_of_one_index_are_taken_together() -> None:
    index = np.random.default_rng(2).permutation(200)
    y, p, by = (pd.Series(values, index=index) for values in (Y[:200], P[:200], GROUPS))
    found, plain = trueness.group_tests(y, p, by=by, rng=0), trueness.group_tests(Y[:200], P[:200], by=GROUPS, rng=0)
    assert found.to_dict() == plain.to_dict()
