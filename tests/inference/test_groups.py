"""group_tests: one combined calibration_test a group, Holm's adjustment by hand, and every kind of group label."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import trueness
from trueness import TruenessError, calibration_test, group_tests, summarize
from trueness.inference.groups import _stages


def rows(n=600, seed=0):
    """Uniform scores and calibrated outcomes."""
    rng = np.random.default_rng(seed)
    f = rng.random(n)
    return (rng.random(n) < f).astype(int), f


def letters(n, names="abc"):
    return np.array([names[i % len(names)] for i in range(n)])


def holm(p):
    """Holm (1979) as it is printed: step down from the smallest, each times the number left, never below the one before."""
    m, adjusted = len(p), [math.nan] * len(p)
    taken: set[int] = set()
    before = 0.0
    for left in range(m, 0, -1):
        smallest = min((i for i in range(m) if i not in taken), key=lambda i: p[i])
        taken.add(smallest)
        before = max(before, min(1.0, left * p[smallest]))
        adjusted[smallest] = before
    return adjusted


def shifted(sizes, shifts, seed=0):
    """Groups of given sizes, each with outcomes likelier than predicted by its shift."""
    rng = np.random.default_rng(seed)
    by = np.repeat([f"g{i}" for i in range(len(sizes))], sizes)
    f = rng.random(len(by)) * 0.5 + 0.1
    y = (rng.random(len(by)) < f + np.repeat(shifts, sizes)).astype(int)
    order = rng.permutation(len(by))
    return y[order], f[order], by[order]


# -------------------------------------------------------------------------------------------------------- each group


@pytest.mark.parametrize("keywords", [{}, {"statistic": "ecce_mad"}, {"statistic": "binned_ece", "options": {"bins": 5}}])
def test_each_group_is_tested_as_on_its_own(keywords):
    y, f = rows()
    by = letters(600)
    result = group_tests(y, f, by=by, rng=1, resamples=299, **keywords)
    assert [each.group for each in result] == ["a", "b", "c"]
    for each in result:
        here = by == each.group
        alone = calibration_test(y[here], f[here], rng=each.test.seed, resamples=299, **{"statistic": "combined", **keywords})
        assert each.test == alone
        assert each.n == alone.n == 200
        assert each.reason == ""


def test_groups_have_seeds_of_their_own_that_reproduce():
    y, f = rows()
    by = letters(600)
    for rng in (None, 3, np.random.default_rng(5)):
        result = group_tests(y, f, by=by, rng=rng, resamples=199)
        seeds = [each.test.seed for each in result]
        assert len(set(seeds)) == 3
        for each in result:
            here = by == each.group
            assert calibration_test(y[here], f[here], statistic="combined", rng=each.test.seed, resamples=199) == each.test
    assert group_tests(y, f, by=by, rng=3, resamples=199) == group_tests(y, f, by=by, rng=3, resamples=199)


def test_the_order_of_rows_does_not_matter():
    y, f = rows()
    by = letters(600)
    o = np.random.default_rng(2).permutation(600)
    expected = group_tests(y, f, by=by, rng=0, resamples=199)
    shuffled = group_tests(y[o], f[o], by=by[o], rng=0, resamples=199)
    assert [(e.group, e.n, e.test.pvalue, e.adjusted_pvalue) for e in shuffled] == [
        (e.group, e.n, e.test.pvalue, e.adjusted_pvalue) for e in expected
    ]


def test_weights():
    y, f = rows()
    by, w = letters(600), np.random.default_rng(1).random(600) + 0.5
    for each in group_tests(y, f, by=by, sample_weight=w, rng=1, resamples=199):
        here = by == each.group
        alone = calibration_test(
            y[here], f[here], sample_weight=w[here], statistic="combined", rng=each.test.seed, resamples=199
        )
        assert each.test == alone


def test_a_zero_weight_is_absence():
    y, f = rows(60)
    by = letters(60)
    w = np.where((by == "a") & (np.arange(60) > 20), 0.0, 1.0)
    result = group_tests(y, f, by=by, sample_weight=w, rng=0, resamples=99)
    assert [(each.group, each.n) for each in result] == [("a", 7), ("b", 20), ("c", 20)]
    assert result["a"].test is None


def test_a_group_of_zero_weight_is_listed():
    """BAD_INPUTS 15: an empty group is a line with n = 0 and no figures."""
    y, f = rows(60)
    by = letters(60)
    result = group_tests(y, f, by=by, sample_weight=(by != "b").astype(float), rng=0, resamples=99)
    assert [(each.group, each.n) for each in result] == [("a", 20), ("b", 0), ("c", 20)]
    assert (result["b"].test, result["b"].adjusted_pvalue, result["b"].adjusted_log10_pvalue) == (None, None, None)


def test_frequencies_are_repeated_rows():
    """Also for what counts as a small group."""
    y, f = rows(63)
    by = np.repeat(["few", "many"], [3, 60])
    w = np.random.default_rng(0).integers(4, 9, size=63)
    counted = group_tests(y, f, by=by, sample_weight=w, weight_kind="frequency", rng=0, resamples=99)
    repeated = group_tests(np.repeat(y, w), np.repeat(f, w), by=np.repeat(by, w), rng=0, resamples=99)
    assert [(e.group, e.n, e.test is None) for e in counted] == [(e.group, e.n, e.test is None) for e in repeated]


# -------------------------------------------------------------------------------------------------------------- Holm


@pytest.mark.parametrize("seed", range(5))
def test_holm_against_the_printed_procedure(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(10, 400, size=8)
    y, f, by = shifted(sizes, rng.choice([0.0, 0.02, 0.08, 0.2], size=8), seed)
    result = group_tests(y, f, by=by, rng=seed, resamples=199)
    raw = [each.test.pvalue for each in result]
    adjusted = [each.adjusted_pvalue for each in result]
    assert adjusted == pytest.approx(holm(raw), rel=1e-9)
    assert [each.adjusted_log10_pvalue for each in result] == pytest.approx([math.log10(p) for p in adjusted], abs=1e-9)
    by_raw = [adjusted[i] for i in np.argsort(raw, kind="stable")]
    assert by_raw == sorted(by_raw)  # the adjustment keeps the order of the p-values
    assert all(p <= q * (1 + 1e-12) <= 1 + 1e-9 for p, q in zip(raw, adjusted, strict=True))


def test_holm_by_hand():
    """m = 3 groups with p₁ ≪ p₂ < p₃: 3·p₁, 2·p₂, and p₃ unless 2·p₂ is larger."""
    y, f, by = shifted([1500, 1500, 1500], [0.1, 0.02, 0.0], seed=3)
    result = group_tests(y, f, by=by, statistic="ecce_r")
    first, second, third = sorted(result, key=lambda each: each.test.pvalue)
    assert all(each.test.method == "asymptotic" for each in result)
    assert first.test.pvalue < second.test.pvalue / 10
    assert first.adjusted_pvalue == pytest.approx(3 * first.test.pvalue, rel=1e-9)
    assert second.adjusted_pvalue == pytest.approx(min(1, 2 * second.test.pvalue), rel=1e-9)
    assert third.adjusted_pvalue == pytest.approx(min(1, max(2 * second.test.pvalue, third.test.pvalue)), rel=1e-9)


def test_p_values_beyond_a_float():
    """Holm's adjustment adds to the logarithm: log10 2 for the smaller of two."""
    f = np.tile(np.linspace(0.05, 0.25, 2000), 2)
    by = np.repeat(["wrong", "right"], 2000)
    y = np.concatenate([np.ones(2000), np.random.default_rng(0).random(2000) < f[:2000]])
    result = group_tests(y, f, by=by)
    wrong = result["wrong"]
    assert wrong.test.pvalue == wrong.adjusted_pvalue == 5e-324
    assert wrong.adjusted_log10_pvalue == pytest.approx(wrong.test.log10_pvalue + math.log10(2), rel=1e-12)


def test_an_impossible_event_keeps_its_zero():
    y, f, by = shifted([50, 50], [0.0, 0.0])
    y[by == "g1"], f[by == "g1"] = 1, 0.0
    result = group_tests(y, f, by=by, rng=0, resamples=99)
    assert (result["g1"].adjusted_pvalue, result["g1"].adjusted_log10_pvalue) == (0.0, -math.inf)
    assert result["g0"].adjusted_pvalue == pytest.approx(result["g0"].test.pvalue, rel=1e-9)


def test_a_single_group_needs_no_adjustment():
    y, f = rows(100)
    (only,) = group_tests(y, f, by=["all"] * 100, rng=0, resamples=99)
    assert only.adjusted_pvalue == pytest.approx(only.test.pvalue, rel=1e-12)


# ------------------------------------------------------------------------------------------------------ small groups


@pytest.mark.parametrize("size", [1, 5, 9])
def test_small_groups_are_listed_and_do_not_count(size):
    y, f, by = shifted([size, 300, 300], [0.3, 0.1, 0.0])
    result = group_tests(y, f, by=by, rng=0, resamples=99)
    small = result["g0"]
    assert len(result) == 3
    assert (small.n, small.test, small.adjusted_pvalue, small.adjusted_log10_pvalue) == (size, None, None, None)
    assert "fewer than 10 rows" in small.reason
    kept = by != "g0"
    without = group_tests(y[kept], f[kept], by=by[kept], rng=0, resamples=99)
    raw = [each.test.pvalue for each in result if each.test is not None]
    assert [each.adjusted_pvalue for each in result if each.test is not None] == pytest.approx(holm(raw), rel=1e-9)
    assert len(without) == len(raw) == 2
    assert "not tested" in repr(small)
    assert "3 groups, 2 tested" in repr(result)


def test_a_group_of_ten_rows_is_tested():
    y, f, by = shifted([10, 40], [0.0, 0.0])
    result = group_tests(y, f, by=by, rng=0, resamples=99)
    assert result["g0"].n == 10
    assert result["g0"].test is not None


def test_small_groups_alone():
    y, f = rows(8)
    result = group_tests(y, f, by=list("aabbccdd"), rng=0)
    assert [each.test for each in result] == [None] * 4


# ---------------------------------------------------------------------------------------------------- missing groups


def with_gaps(n=80):
    """Labels of which some are missing, and a group called as missing ones are shown."""
    return [None if i % 4 == 0 else "(missing)" if i % 4 == 1 else "x" for i in range(n)]


@pytest.mark.parametrize(
    "by",
    [
        with_gaps(),
        [math.nan if v is None else v for v in with_gaps()],
        np.array(with_gaps(), dtype=object),
        pd.Series(with_gaps()),
        pd.Series(with_gaps(), dtype="string"),
        pd.Series(with_gaps(), dtype="category"),
        [pd.NA if v is None else v for v in with_gaps()],
        pl.Series(with_gaps()),
        pl.Series(with_gaps(), dtype=pl.Categorical),
    ],
    ids=["None", "nan", "object", "pandas", "pandas string", "pandas category", "NA", "polars", "polars category"],
)
def test_missing_groups_are_one_of_their_own(by):
    y, f = rows(80)
    result = group_tests(y, f, by=by, rng=0, resamples=99)
    assert [each.group for each in result] == ["(missing)", "x", None]
    assert [each.n for each in result] == [20, 40, 20]
    assert result[None].n == 20
    assert result["(missing)"].n == 20
    here = [v is None for v in with_gaps()]
    assert result[None].test.value == pytest.approx(trueness.ecce_r(y[here], f[here]), rel=1e-12)
    assert repr(result[None]).startswith("(missing)")
    assert repr(result["(missing)"]).startswith("'(missing)'")  # told apart


def test_missing_numbers():
    y, f = rows(60)
    by = np.where(np.arange(60) % 3 == 0, np.nan, np.arange(60) % 3)
    result = group_tests(y, f, by=by, rng=0, resamples=99)
    assert [(each.group, each.n) for each in result] == [(1.0, 20), (2.0, 20), (None, 20)]
    masked = np.ma.masked_array(np.arange(60) % 3, mask=np.arange(60) % 3 == 0)
    assert [(each.group, each.n) for each in group_tests(y, f, by=masked, rng=0, resamples=99)] == [
        (1, 20),
        (2, 20),
        (None, 20),
    ]


def test_missing_dates():
    days = np.array(["2026-01-01", "NaT", "2026-01-02"], dtype="datetime64[D]")
    assert [each.group is None for each in group_tests([0, 1, 1], [0.2, 0.3, 0.5], by=days)] == [False, False, True]


# --------------------------------------------------------------------------------------------------- kinds of labels


@pytest.mark.parametrize(
    ("by", "names"),
    [
        (["b", "a"] * 30, ["a", "b"]),
        (np.array(["b", "a"] * 30), ["a", "b"]),
        (("b", "a") * 30, ["a", "b"]),
        ([10, 2] * 30, [2, 10]),
        (np.array([10, 2] * 30), [2, 10]),
        (np.array([10, 2] * 30, dtype=np.uint8), [2, 10]),
        ([True, False] * 30, [False, True]),
        (np.array([True, False] * 30), [False, True]),
        (np.array([0.5, 0.25] * 30), [0.25, 0.5]),
        (pd.Series(["b", "a"] * 30), ["a", "b"]),
        (pd.Series([10, 2] * 30), [2, 10]),
        (pd.Series([True, False] * 30), [False, True]),
        (pd.Series(["b", "a"] * 30, dtype="category"), ["a", "b"]),
        (pd.Categorical(["b", "a"] * 30), ["a", "b"]),
        (pd.Index(["b", "a"] * 30), ["a", "b"]),
        (pl.Series(["b", "a"] * 30), ["a", "b"]),
        (pl.Series([10, 2] * 30), [2, 10]),
        (pl.Series([True, False] * 30), [False, True]),
        (pl.Series(["b", "a"] * 30, dtype=pl.Categorical), ["a", "b"]),
        (pl.Series(["b", "a"] * 30, dtype=pl.Enum(["b", "a"])), ["a", "b"]),
        ([2, "b"] * 30, [2, "b"]),
    ],
)
def test_labels_of_every_kind(by, names):
    y, f = rows(60)
    result = group_tests(y, f, by=by, rng=0, resamples=99)
    assert [each.group for each in result] == names
    assert all(type(each.group) is type(name) for each, name in zip(result, names, strict=True))
    for each in result:
        assert each.n == 30
        assert result[each.group] is each
    even = np.arange(60) % 2 == 0
    (first,) = (name for name in names if name == next(iter(by)))
    (second,) = (name for name in names if name != first)
    assert result[first].test.value == pytest.approx(trueness.ecce_r(y[even], f[even]), rel=1e-12)
    assert result[second].test.value == pytest.approx(trueness.ecce_r(y[~even], f[~even]), rel=1e-12)


def test_labels_that_look_alike_are_kept_apart():
    """BAD_INPUTS 49: equal after normalisation, zero-width characters, trailing space."""
    y, f = rows(80)
    names = ["\u00e9", "e\u0301", "a\u200b", "a "]
    result = group_tests(y, f, by=names * 20, rng=0, resamples=99)
    assert len(result) == 4
    assert {each.group for each in result} == set(names)


def test_a_name_that_is_not_there():
    y, f = rows(60)
    with pytest.raises(KeyError):
        group_tests(y, f, by=letters(60), rng=0, resamples=99)["z"]


def test_series_with_other_indexes():
    """Labels belong to rows by position unless their indexes tell that they do not."""
    y, f = rows(60)
    index = np.arange(100, 160)
    series = [pd.Series(column, index=index) for column in (y, f, letters(60))]
    expected = group_tests(y, f, by=letters(60), rng=0, resamples=99)
    assert group_tests(series[0], series[1], by=series[2], rng=0, resamples=99) == expected


# --------------------------------------------------------------------------------------------------------- summaries


def test_summaries_equal_rows():
    """1500 rows a group on a grid of 2^-14, where cells hold one score each: the same test."""
    rng = np.random.default_rng(0)
    f = (rng.choice(2**14 - 512, size=4500, replace=False) + 256) / 2**14
    y, by = (rng.random(4500) < f).astype(int), letters(4500)
    expected = group_tests(y, f, by=by, rng=0)
    found = group_tests({name: summarize(y[by == name], f[by == name]) for name in "cab"}, rng=0)
    assert [each.group for each in found] == [each.group for each in expected] == ["a", "b", "c"]
    for one, other in zip(found, expected, strict=True):
        assert one.n == other.n == 1500
        assert one.test.method == other.test.method == "simulated"
        assert one.test.pvalue == pytest.approx(other.test.pvalue, rel=1e-6)
        values = {part.name: part.value for part in other.test.parts}
        assert {part.name: part.value for part in one.test.parts} == pytest.approx(values, rel=1e-6)
        assert one.adjusted_pvalue == pytest.approx(other.adjusted_pvalue, rel=1e-6)


def test_many_rows_and_summaries_give_the_same_draws():
    rng = np.random.default_rng(0)
    f = rng.random(201_000)
    y, by = (rng.random(201_000) < f).astype(int), letters(201_000, "ab")
    keywords = {"statistic": "binned_ece", "rng": 4, "resamples": 199}
    cells = {name: summarize(y[by == name], f[by == name]) for name in "ab"}
    from_rows, from_cells = group_tests(y, f, by=by, **keywords), group_tests(cells, **keywords)
    assert [each.test.pvalue for each in from_rows] == [each.test.pvalue for each in from_cells]
    assert [each.test.seed for each in from_rows] == [each.test.seed for each in from_cells]


def test_summaries_small_and_missing():
    y, f = rows(60)
    result = group_tests({None: summarize(y[:20], f[:20]), "x": summarize(y[20:25], f[20:25])}, rng=0, resamples=99)
    assert [(each.group, each.n, each.test is None) for each in result] == [("x", 5, True), (None, 20, False)]


def test_summaries_alone():
    y, f = rows(60)
    cells = {"a": summarize(y, f)}
    for keywords in ({"by": ["a"]}, {"sample_weight": [1.0]}, {"y_prob": f}):
        with pytest.raises(TruenessError, match="summaries"):
            group_tests(cells, **keywords)
    with pytest.raises(TruenessError, match=r"'b'.*not a Summary"):
        group_tests({"a": cells["a"], "b": (y, f)})


# --------------------------------------------------------------------------------------------------------- arguments


def test_a_summary_line_for_hundreds_of_groups():
    assert len(repr(group_tests(np.zeros(500, int), np.full(500, 0.1), by=np.arange(500))).splitlines()) == 1


@pytest.mark.parametrize("length", [0, 1, 59, 61])
def test_one_label_a_row(length):
    y, f = rows(60)
    with pytest.raises(TruenessError, match=rf"by: {length} .*60"):
        group_tests(y, f, by=["a"] * length)


def test_bad_arguments_are_named():
    y, f = rows(60)
    by = letters(60)
    with pytest.raises(TruenessError, match="by is missing"):
        group_tests(y, f)
    with pytest.raises(TruenessError, match="y_prob"):
        group_tests(y, by=by)
    with pytest.raises(TruenessError, match="by"):
        group_tests(y, f, by="a")
    for argument, value in {"statistic": "nonsense", "method": "x", "resamples": 0, "rng": -1, "weight_kind": "x"}.items():
        with pytest.raises(TruenessError, match=argument):
            group_tests(y, f, by=by, **{argument: value})
    with pytest.raises(TruenessError, match="options"):
        group_tests(y, f, by=by, options={"bins": 3})
    with pytest.raises(TruenessError, match="nonsense"):
        group_tests([0, 1], [0.2, 0.3], by=["a", "b"], statistic="nonsense")  # also where no group is tested
    with pytest.raises(TruenessError, match="no rows"):
        group_tests([], [], by=[])


def test_a_bad_row_is_named_by_its_place_among_all():
    y, f = rows(60)
    f[37] = 1.5
    with pytest.raises(TruenessError, match=r"1 of 60 .*row 37, value 1\.5"):
        group_tests(y, f, by=letters(60))


def test_soft_labels():
    """One soft label makes its own group soft, not the others."""
    y, f = rows(60)
    y = y.astype(float)
    y[0] = 0.5
    result = group_tests(y, f, by=letters(60), rng=0, resamples=99)
    assert "soft" in result["a"].test.reason
    assert "soft" not in result["b"].test.reason


def test_progress():
    y, f = rows(60)
    calls = []
    group_tests(y, f, by=letters(60), rng=0, resamples=19, progress=lambda *call: calls.append(call))
    assert calls[-1] == (3, 3)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_results_can_be_kept_and_shown():
    y, f = rows(60)
    result = group_tests(y, f, by=[None if i < 20 else "<b>" if i < 55 else "few" for i in range(60)], rng=0, resamples=99)
    kept = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert [each["group"] for each in kept["groups"]] == ["<b>", "few", None]
    assert [each["test"] is None for each in kept["groups"]] == [False, True, False]
    assert repr(result).startswith("3 groups, 2 tested")
    assert "\n" not in repr(result)
    assert "adjusted" in repr(result["<b>"])


def test_one_group_among_many_can_be_found():
    """The smallest of 1999 draws' p-values is 150/2000 after Holm: nothing could be significant."""
    rng = np.random.default_rng(0)
    by, f = np.repeat(np.arange(150), 40), rng.random(6000)
    y = (rng.random(6000) < f).astype(int)
    y[by == 7] = 1 - (rng.random(40) < f[by == 7])
    tests = group_tests(y, f, by=by, rng=0)
    assert [each.group for each in tests if each.adjusted_pvalue < 0.05] == [7]
    found = tests[7].test
    assert found.resamples == 15_000
    assert calibration_test(y[by == 7], f[by == 7], statistic="combined", rng=found.seed, resamples=15_000) == found
    assert sum(each.test.resamples > 1999 for each in tests) <= 8  # those few whose p-value is open


def test_many_groups_are_drawn_as_often_as_settles_them():
    """Few draws at first; what they leave open is drawn more often, in the end 100 times the number of groups."""
    assert _stages(20, 1999) == [1999]
    assert _stages(25, 1999) == [199, 2500]
    assert _stages(150, 1999) == [199, 1999, 15_000]
    assert _stages(3000, 1999) == [199, 1999, 19_999, 300_000]
    assert _stages(30, 99) == [99, 999, 3000]
    assert _stages(30, 50_000) == [199, 50_000]
    y, f = rows(3000)
    tests = group_tests(y, f, by=np.arange(3000) % 30, rng=0)
    for each in tests:
        assert each.test.resamples in (199, 3000)
        assert (each.test.resamples == 199) <= (each.test.pvalue > 10 / 200)
    p = np.array([each.test.pvalue for each in tests])
    assert (p <= 0.05).sum() <= 5


def test_few_groups_are_not_drawn_again():
    rng = np.random.default_rng(0)
    by, f = np.repeat(np.arange(20), 30), rng.random(600)
    y = 1 - (rng.random(600) < f)
    assert {each.test.resamples for each in group_tests(y, f, by=by, rng=0, resamples=99)} == {99}
