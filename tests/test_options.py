"""Options that are none are refused, each by one rule and in one wording wherever it is taken."""

import inspect
import pathlib
from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import trueness
from trueness import logit_smoothed_ece, noise_floor
from trueness._values import show
from trueness.errors import InputError, TruenessError
from trueness.options import (
    MOST_DRAWS,
    check_bandwidth,
    check_bin_counts,
    check_choice,
    check_count,
    check_flag,
    check_level,
    check_names,
    check_options,
    check_path,
    check_progress,
    check_rng,
    check_seed,
    check_text,
)

Y, F = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]


@pytest.mark.parametrize("rng", [-1, 1.0, True, "0", [1], np.float64(1), np.bool_(True)])
def test_one_rule_for_seeds_and_generators(rng):
    told = set()
    for check in (check_rng, check_seed, lambda rng: logit_smoothed_ece(Y, F, rng=rng), lambda rng: noise_floor(Y, F, rng=rng)):
        with pytest.raises(InputError, match="rng: ") as caught:
            check(rng)
        told.add(str(caught.value))
    assert told == {f"rng: {show(rng)} is not None, a whole number from 0 on, or a numpy.random.Generator."}


def test_seeds_and_generators():
    assert check_seed(np.int32(7)) == 7
    assert check_rng(7).random() == np.random.default_rng(7).random()
    generator = np.random.default_rng(7)
    assert check_rng(generator) is generator
    assert check_seed(generator) == np.random.default_rng(7).integers(2**63)
    assert check_seed(None) != check_seed(None)
    assert 0 <= check_seed(None) < 2**63


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "10", None, np.float64(10)])
def test_counts_are_named(value):
    for name, call in {
        "draws": lambda: logit_smoothed_ece(Y, F, method="monte-carlo", draws=value),
        "resamples": lambda: noise_floor(Y, F, resamples=value),
        "laps": lambda: check_count("laps", value),
    }.items():
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value) == f"{name}: {show(value)} is not a positive whole number."
    assert check_count("laps", np.int8(3)) == 3


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, True, "0.9", None, float("nan")])
def test_levels_are_fractions(level):
    with pytest.raises(InputError, match=r"is not a fraction in \(0, 1\)"):
        check_level(level)


def test_levels_end_where_too_many_draws_would_be_needed():
    assert check_level(np.float32(0.5)) == 0.5
    with pytest.raises(InputError, match=r"beyond 0\.9999"):
        check_level(0.99999)
    assert check_level(0.99999, highest=0.999995) == 0.99999


@pytest.mark.parametrize("value", [0, -1.0, True, "1", None, float("inf"), float("nan")])
def test_bandwidths_are_positive(value):
    with pytest.raises(InputError, match=r"is not a positive number\. Pass"):
        check_bandwidth(value)
    with pytest.raises(InputError, match=r"is not a positive number from 1 to 2\. Pass"):
        check_bandwidth(value, 1, 2)


def test_choices():
    check_choice("kind", "a", ("a", "b"))
    with pytest.raises(InputError, match=r"^kind: 'c' is not one of 'a', 'b'\.$"):
        check_choice("kind", "c", ("a", "b"))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"nan": "Drop"}, "nan='Drop' is not a choice"),
        ({"nan": "raise", "align": 1}, "align=1 is not a choice"),
        ({"nan": "raise", "pos_label": float("nan")}, "pos_label=nan is not a label"),
        ({"nan": "raise", "pos_label": [1]}, r"pos_label=\[1\] is not a label"),
    ],
)
def test_how_rows_are_read(options, text):
    with pytest.raises(InputError, match=text):
        check_options(**options)


def test_counts_end_where_nothing_would():
    with pytest.raises(InputError, match=rf"^draws: .* is beyond {MOST_DRAWS}\. Pass at most that"):
        check_count("draws", 10**400)


@pytest.mark.parametrize("value", [None, 1, 0, "no", [True], np.array([True, False])])
def test_flags_are_true_or_false(value):
    with pytest.raises(InputError, match=r"^exact: .+ is not True or False\."):
        check_flag("exact", value)
    assert check_flag("exact", np.bool_(True)) is True


def test_bin_counts_are_one_or_several():
    assert check_bin_counts(5) == check_bin_counts([5]) == check_bin_counts(iter([np.int8(5)])) == [5]
    for value in (0, 2.5, None, "15", b"15", [5, 0], {"a": 1}, object()):
        with pytest.raises(InputError, match=r"^bins: .+ is not a whole number from 1 to 16384"):
            check_bin_counts(value)
    assert check_bin_counts(()) == []


def test_a_list_of_names_is_no_text():
    assert check_names("metrics", iter(["a", "b"]), "a") == ("a", "b")
    for value in (None, 5, "smooth_ece", b"x", {"a": 1}, {"a"}, object()):
        with pytest.raises(InputError, match=r"^metrics: .+ is not a list of names\. Pass for example \['a'\]\."):
            check_names("metrics", value, "a")
    with pytest.raises(InputError, match=r"^metrics: 5 is not a name\."):
        check_names("metrics", ["a", 5], "a")


def test_files_have_names():
    assert check_path("path", pathlib.Path("a", "b")) == str(pathlib.Path("a", "b"))
    for value in (None, 1, True, 2.5, b"x", [None], object()):
        with pytest.raises(InputError, match=r"^path: .+ is not the name of a file\. Pass a str or a pathlib\.Path\."):
            check_path("path", value)
    for value in ("", "a\0b", "\ud800"):
        with pytest.raises(InputError, match=r"^path: '.*' cannot be the name of a file"):
            check_path("path", value)


def test_titles_and_progress():
    assert check_text("title", "x") == "x"
    with pytest.raises(InputError, match=r"^title: 5 is not a text\."):
        check_text("title", 5)
    check_progress(None)
    check_progress(print)
    with pytest.raises(InputError, match=r"^progress: 3 cannot be called\. Pass a function of two numbers"):
        check_progress(3)


class Silent:
    """Something that cannot even be shown."""

    def __repr__(self):
        raise RuntimeError("no")


NUMBERS = (None, "x", [1], {}, 1j, float("nan"), -1, Silent())
WORDS = (5, "x", "", ["x"], {}, np.array(["a", "b"]), Silent())
NAMES = (5, 2.5, [None], {"a": 1}, np.array([1, 2]), Silent())
WRONG: dict[str, tuple[object, ...]] = {
    "align": WORDS,
    "ax": (3, "x", [None], plt, Silent()),
    "band": WORDS,
    "bandwidth": ("x", 0, -1, [1], 1j, Silent()),
    "bins": (0, 2.5, "15", [0], [None], 2**14 + 1, Silent()),
    "by": (1, 2.5, [None], [1], object(), Silent()),
    "cluster": (1, 2.5, [None], [1], object(), Silent()),
    "classes": (3, "ab", [["a"], ["b"]], [None, 1], {"a", "b"}, Silent()),
    "closed": WORDS,
    "curve": NUMBERS,
    "debias": (None, 1, "no", Silent()),
    "dialect": WORDS,
    "draws": (0, 2.5, "10", 10**400, Silent()),
    "estimator": NUMBERS,
    "exact": (None, 1, "no", np.array([True, False]), Silent()),
    "figure": (3, "x", [None], Silent()),
    "from_logits": (None, 1, "no", Silent()),
    "k": (0, 2.5, "1", None, Silent()),
    "kind": WORDS,
    "level": NUMBERS,
    "memory_limit": (5, "x", [1], Silent()),
    "method": WORDS,
    "metric": NAMES,
    "metrics": (None, 5, "smooth_ece", "", b"x", [None], [["a"]], {"smooth_ece"}, ["x"], Silent()),
    "nan": WORDS,
    "noise": WORDS,
    "norm": WORDS,
    "options": (3, "x", [1], {"x": 1}, Silent()),
    "path": (None, 1, b"x", [None], "", "a\0b", "\ud800", Silent()),
    "paths": (None, 1, 2.5, b"x", [None], [], object(), "\ud800", Silent()),
    "pos_label": ([1], {}, float("nan"), Silent()),
    "predictions": (None, 5, "x", [1], {}, Silent()),
    "progress": (3, "x", [print], True, Silent()),
    "resamples": (0, 2.5, "10", 10**400, Silent()),
    "resume": (1.5, 1, True, b"x", [None], "", "a\0b", Silent()),
    "rng": ("x", -1, 1.5, [1], True, Silent()),
    "scale": WORDS,
    "score": WORDS,
    "soft": (None, 1, "no", Silent()),
    "source": NAMES,
    "statistic": NAMES,
    "strategy": WORDS,
    "ties": WORDS,
    "title": (None, 5, b"x", ["x"], Silent()),
    "weight_kind": WORDS,
    "weighting": WORDS,
}
NAMED = {"outcome": NAMES, "prediction": NAMES, "weight": NAMES}  # columns of frames and files
DATA = {"y_true", "y_prob", "proba", "truth", "mass", "sample_weight", "frame", "X", "y"}  # which their own tests give wrong
CALLS = {
    "top_label": {"proba": [[0.2, 0.8]] * 4},
    "top_k": {"proba": [[0.2, 0.8]] * 4, "k": 1},
    "one_vs_rest": {"proba": [[0.2, 0.8]] * 4},
    "ece_continuity_gap": {"truth": F},
    "group_tests": {"by": Y},
    "compare": {"predictions": {"a": F, "b": F}, "metrics": ["ecce_r"]},
    "plot_compare": {"predictions": {"a": F, "b": F}},
    "assess": {"metrics": ["ecce_r"]},
    "sql": {"dialect": "duckdb", "source": "t", "outcome": "y", "prediction": "p"},
}
ELSEWHERE = {"summarize_files", "summarize_frame"}


def calls() -> dict[str, tuple[Callable[..., object], dict[str, object]]]:
    """Every public function that takes rows, and every method that takes an option, with arguments that are right."""
    given: dict[str, object] = {"y_true": Y, "y_prob": F}
    made: dict[str, tuple[Callable[..., object], dict[str, object]]] = {}
    for name in trueness.__all__:
        function = getattr(trueness, name)
        if inspect.isfunction(function) and name not in ELSEWHERE:
            arguments = {**given, **CALLS.get(name, {})}
            made[name] = (function, {key: arguments[key] for key in inspect.signature(function).parameters if key in arguments})
    summary = trueness.summarize(Y, F)
    record = trueness.Record({"a": summary}, axes=["g"])
    assessment = trueness.assess(Y, F, metrics=[])
    comparison = trueness.compare(Y, {"a": F, "b": F}, metrics=["brier_score"])
    for owner in (assessment, comparison):
        made[f"{type(owner).__name__}.plot"] = (owner.plot, {})
        made[f"{type(owner).__name__}.report"] = (owner.report, {"path": "x.html"})
    for owner in (summary, record):
        made[f"{type(owner).__name__}.save"] = (owner.save, {"path": "x.tns"})
        made[f"{type(owner).__name__}.load"] = (type(owner).load, {"path": "x.tns"})
    for kind in ("local", "smooth", "binned", "isotonic"):
        made[f"{kind} curve"] = (trueness.reliability_curve(Y, F, kind=kind).plot, {})
        made[f"reliability_curve, {kind}"] = (trueness.reliability_curve, {**given, "kind": kind})
    made["cumulative curve"] = (trueness.cumulative_curve(Y, F).plot, {})
    made["sweep"] = (trueness.bin_sweep(Y, F, bins=[2]).plot, {})
    made["display"] = (lambda curve: trueness.CalibrationDisplay(curve).plot(), {})
    made["from_estimator"] = (trueness.CalibrationDisplay.from_estimator, {"estimator": None, "X": F, "y": Y})
    made["recalibrator"] = (lambda bandwidth: trueness.SmoothRecalibrator(bandwidth).fit(F, Y), {})
    made["recalibrator.sample"] = (lambda rng: trueness.SmoothRecalibrator().fit(F, Y).sample(F, rng=rng), {})
    return made


CALLED = calls()


@pytest.mark.parametrize("name", CALLED)
def test_options_of_the_wrong_type_are_refused_by_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, given = CALLED[name]
    for option, parameter in inspect.signature(function).parameters.items():
        if option in DATA | set(NAMED) or parameter.kind is parameter.VAR_KEYWORD or (name, option) == ("from_estimator", "ax"):
            continue
        values = WRONG[option]  # a new option says here what it refuses
        for value in values if not (name == "assess" and option == "by") else ():
            if name.startswith("from_estimator") and option != "estimator":
                continue
            if value is parameter.default:
                continue
            with pytest.raises(TruenessError) as caught:
                function(**{**given, option: value})
            assert option in str(caught.value), (option, value)
            assert str(caught.value).replace("\n", "").isprintable()
    plt.close("all")
    assert not list(tmp_path.iterdir())


FRAME = pd.DataFrame({"y": Y, "p": F, "w": 1.0, "g": list("aabb")})
READERS = {
    "sql": (trueness.sql, {"dialect": "duckdb", "source": "t"}),
    "summarize_files": (trueness.summarize_files, {"paths": "rows.csv"}),
    "assess": (trueness.assess, {"y_true": FRAME}),
    "assess, mapping": (trueness.assess, {"y_true": {"y": Y, "p": F}}),
}


@pytest.mark.parametrize("name", READERS)
def test_columns_are_named_by_text(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("rows.csv", index=False)
    function, given = READERS[name]
    for option, values in NAMED.items():
        for value in values:
            with pytest.raises(TruenessError, match=r"column|predict") as caught:
                function(**{**given, "outcome": "y", "prediction": "p", option: value})
            assert str(caught.value).replace("\n", "").isprintable()


def test_options_of_files_are_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("rows.csv", index=False)
    given = {"paths": "rows.csv", "outcome": "y", "prediction": "p"}
    for option in ("paths", "by", "bins", "nan", "pos_label", "exact", "memory_limit", "resume", "progress"):
        for value in WRONG[option][: -1 if option == "pos_label" else None]:
            with pytest.raises(TruenessError) as caught:
                trueness.summarize_files(**{**given, option: value})
            assert option in str(caught.value) or option == "paths", (option, value)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]
