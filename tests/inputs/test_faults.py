"""One table of faults: what every engine counts, what may be left out, and what is said, in Python and in the shell."""

import copy
import pickle

import duckdb
import numpy as np
import polars as pl
import pytest

from trueness import Summary, errors, sql, summarize, summarize_frame
from trueness.errors import InputError
from trueness.inputs.faults import (
    FAULTS,
    OUTCOME,
    PREDICTION,
    SOFT,
    WEIGHT,
    ZERO,
    by_reason,
    count_codes,
    raise_refused,
    refused,
)
from trueness.inputs.remedies import Words, as_option, lines, option

ROWS = 6
DROPPABLE = {PREDICTION[0], OUTCOME[0], WEIGHT[0]}


def test_the_table_holds_every_code_once():
    assert set(FAULTS) == {*PREDICTION, *OUTCOME, *WEIGHT, SOFT, ZERO}
    assert all(code == fault.code for code, fault in FAULTS.items())
    assert len({fault.reason for fault in FAULTS.values()}) == len(FAULTS)
    assert {code for code, fault in FAULTS.items() if fault.dropped == "if asked"} == DROPPABLE
    assert [code for code, fault in FAULTS.items() if fault.dropped == "always"] == [ZERO]


@pytest.mark.parametrize("code", FAULTS)
def test_what_may_be_left_out(code):
    assert refused({code: 3}, "raise") == ([] if code == ZERO else [code])
    assert refused({code: 3}, "drop") == ([] if code == ZERO or code in DROPPABLE else [code])
    assert refused({code: 0}, "raise") == []


def test_codes_are_counted_and_told_by_their_reason():
    codes = np.array([0, -3, 0, -1, 2, -3], dtype=np.int8)
    assert count_codes(codes) == {-3: 2, -1: 1, 2: 1}
    assert count_codes(np.zeros(3, dtype=np.int8)) == {}
    reasons = by_reason(count_codes(codes))
    assert list(reasons.items()) == [
        ("prediction missing or not finite", 1),
        ("outcome missing or not finite", 2),
        ("zero weight", 1),
    ]


def test_an_error_without_a_first_row():
    names = {"prediction": "p", "outcome": "y", "weight": "w"}
    raise_refused({-1: 2, ZERO: 1}, 9, "drop", names)
    with pytest.raises(InputError) as caught:
        raise_refused({-1: 2, -5: 1, ZERO: 1}, 9, "raise", names, {-5: Words.plain("Do something else.")})
    told = "p: 2 of 9 values are missing or not finite. Fill or remove them first, or pass {}, which counts what it drops.\n"
    assert str(caught.value) == told.format("nan='drop'") + "w: 1 of 9 values is negative. Do something else."
    assert caught.value.shell == told.format("--nan drop") + "w: 1 of 9 values is negative. Do something else."


# The same fault in every engine


def with_torch(columns, nan):
    torch = pytest.importorskip("torch")
    from trueness.torch import CalibrationSummary

    names = {"y": "y_true", "p": "y_prob", "w": "sample_weight"}
    collected = CalibrationSummary(soft="w" in columns, nan=nan)
    collected.update(**{names[name]: torch.tensor(column) for name, column in columns.items()})
    return collected.compute()


def with_sql(columns, nan):
    weight = "w" if "w" in columns else None
    query = sql("duckdb", source="t", outcome="y", prediction="p", weight=weight)
    with duckdb.connect() as connection:
        connection.register("t", pl.DataFrame(columns).to_arrow())
        return Summary.from_frame(connection.sql(query).df(), nan=nan)


def with_frame(columns, nan):
    weight = "w" if "w" in columns else None
    return summarize_frame(pl.DataFrame(columns).lazy(), outcome="y", prediction="p", weight=weight, nan=nan)


def with_arrays(columns, nan):
    return summarize(columns["y"], columns["p"], sample_weight=columns.get("w"), nan=nan)


ENGINES = {"arrays": with_arrays, "frame": with_frame, "sql": with_sql, "torch": with_torch}
BAD = {
    PREDICTION[0]: ("p", np.nan),
    PREDICTION[1]: ("p", 1.5),
    OUTCOME[0]: ("y", np.inf),
    OUTCOME[1]: ("y", 2.0),
    WEIGHT[0]: ("w", np.nan),
    WEIGHT[1]: ("w", -1.0),
    ZERO: ("w", 0.0),
}


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("code", BAD)
def test_every_engine_counts_and_says_the_same(engine, code):
    name, value = BAD[code]
    columns = {"y": [0.0, 1.0] * 3, "p": [0.1, 0.7, 0.2, 0.9, 0.3, 0.8]}
    if name == "w":
        columns["w"] = [1.0] * ROWS
    columns[name][1] = columns[name][4] = value
    fault = FAULTS[code]
    for nan in ("raise", "drop"):
        if refused({code: 2}, nan):
            with pytest.raises(InputError, match=r": 2 of 6 values are ") as caught:
                engine(columns, nan)
            assert f": 2 of 6 values are {fault.problem}" in str(caught.value)
            assert "nan=" not in caught.value.shell
            assert "pos_label" not in caught.value.shell
        else:
            found = engine(columns, nan)
            assert (found.n, dict(found.rejected)) == (ROWS - 2, {fault.reason: 2})


# Errors


def test_words_take_texts_on_both_sides():
    remedy = "Pass the one that means the event " + as_option("pos_label") + ", or " + option("nan", "x") + "."
    assert remedy.python == "Pass the one that means the event as pos_label=, or nan=x."
    assert remedy.shell == "Pass the one that means the event with --pos-label, or --nan x."
    both = lines([Words.plain("one"), remedy])
    assert (both.python, both.shell) == (f"one\n{remedy.python}", f"one\n{remedy.shell}")


@pytest.mark.parametrize("kind", ["InputError", "NeedsRowsError", "SummaryError", "MissingPackageError"])
@pytest.mark.parametrize("shell", [None, "in the shell"])
def test_errors_survive_pickle_and_copies(kind, shell):
    error = getattr(errors, kind)("in Python", shell=shell)
    for same in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):  # noqa: S301 - our own bytes
        assert type(same) is type(error)
        assert (str(same), same.shell, same.args) == ("in Python", shell, ("in Python",))


def test_an_error_told_of_a_part():
    part = Words("a", "b").error().within("batch 3")
    assert (str(part), part.shell) == ("batch 3: a", "batch 3: b")
    assert InputError("a").within("batch 3").shell is None
