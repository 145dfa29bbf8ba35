"""Results that travel between processes: pickled, copied and copied deep they are what they were."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trueness
from trueness.errors import InputError

RNG = np.random.default_rng(0)
P = RNG.random(200)
Y = (RNG.random(200) < P).astype(int)
BY = np.where(P > 0.5, "high", "low")
COPIES = {
    "pickle": lambda result: pickle.loads(pickle.dumps(result)),  # noqa: S301
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
copied = pytest.mark.parametrize("make_copy", COPIES.values(), ids=COPIES)


@copied
def test_summaries_can_be_copied(make_copy):
    summary = trueness.summarize([0, 1, np.nan], [0.2, 0.7, 0.1], nan="drop", bins=(12,))
    assert trueness.ecce(summary).n == 2  # what was worked out is not carried along
    other = make_copy(summary)
    assert other == summary
    assert other.rejected == summary.rejected
    assert other.ruler is summary.ruler


COMPARABLE = {
    "exact summary": lambda: trueness.summarize(Y, P, exact=True),
    "record": lambda: trueness.summarize_frame({"y": Y, "p": P, "g": BY}, outcome="y", prediction="p", by="g"),
    "test": lambda: trueness.calibration_test(Y, P, rng=0),
    "interval": lambda: trueness.confidence_interval(Y, P, rng=0),
    "group tests": lambda: trueness.group_tests(Y, P, by=BY, rng=0),
    "cumulative error": lambda: trueness.ecce(Y, P),
    "decomposition": lambda: trueness.decompose(Y, P),
}


@copied
@pytest.mark.parametrize("make", COMPARABLE.values(), ids=COMPARABLE)
def test_what_can_be_compared_stays_equal(make, make_copy):
    result = make()
    assert make_copy(result) == result


CURVES = {
    "local": lambda: trueness.reliability_curve(Y, P),
    "smooth": lambda: trueness.reliability_curve(Y, P, kind="smooth"),
    "binned": lambda: trueness.reliability_curve(Y, P, kind="binned"),
    "isotonic": lambda: trueness.reliability_curve(Y, P, kind="isotonic"),
    "cumulative": lambda: trueness.cumulative_curve(Y, P),
    "sweep": lambda: trueness.bin_sweep(Y, P, bins=[5]),
}


@copied
@pytest.mark.parametrize("make", CURVES.values(), ids=CURVES)
def test_curves_keep_their_numbers(make, make_copy):
    curve = make()
    assert make_copy(curve).to_dict() == curve.to_dict()


MISSING = np.where(P < 0.1, np.nan, P)
ASSESSED = {
    "arrays": lambda: trueness.assess(Y, P, by=BY, metrics=["ecce_r"]),
    "labels, weights, float32, missing": lambda: trueness.assess(
        pd.Series(np.where(Y, "yes", "no")),
        MISSING.astype("f4"),
        sample_weight=list(P + 1),
        nan="drop",
        pos_label="yes",
        metrics=["ecce_r"],
    ),
    "iterators": lambda: trueness.assess(iter(Y), iter(P), metrics=["ecce_r"]),
    "masked": lambda: trueness.assess(Y, np.ma.array(P, mask=P < 0.1), nan="drop", metrics=["ecce_r"]),
    "nullable": lambda: trueness.assess(pd.Series(Y, dtype="Int64"), pd.Series(P, dtype="Float64"), metrics=["ecce_r"]),
    "polars and Arrow": lambda: trueness.assess(pl.Series(Y), pa.array(P), metrics=["ecce_r"]),
    "frame": lambda: trueness.assess(pd.DataFrame({"y": Y, "p": P}), outcome="y", prediction="p", metrics=["ecce_r"]),
    "summary": lambda: trueness.assess(trueness.summarize(Y, P), metrics=["ecce_r"]),
    "summaries": lambda: trueness.assess({"a": trueness.summarize(Y, P)}, metrics=["ecce_r"]),
    "comparison": lambda: trueness.compare(Y, {"a": MISSING, "b": P**2}, nan="drop", metrics=["ecce_r", "brier_score"]),
}


@pytest.mark.parametrize("make", ASSESSED.values(), ids=ASSESSED)
def test_assessments_and_comparisons_stay_whole(make):
    result = make()
    for make_copy in COPIES.values():
        other = make_copy(result)
        assert other.to_dict() == result.to_dict()
        assert repr(other) == repr(result)


@pytest.mark.parametrize("name", ["arrays", "comparison"])
def test_a_copy_gives_the_same_page(name, tmp_path):
    result = ASSESSED[name]()
    fresh = pickle.loads(pickle.dumps(result))  # noqa: S301
    result.report(tmp_path / "original.html")
    drawn = pickle.loads(pickle.dumps(result))  # noqa: S301  (its curves are worked out by now)
    for other in (fresh, drawn):
        other.report(tmp_path / "copy.html")
        assert (tmp_path / "copy.html").read_bytes() == (tmp_path / "original.html").read_bytes()


def test_mappings_of_results_cannot_be_changed():
    summary = trueness.summarize([0, 1, np.nan], [0.2, 0.7, 0.1], nan="drop")
    assessed = trueness.assess(Y, MISSING, nan="drop", metrics=["ecce_r"])
    compared = ASSESSED["comparison"]()
    mappings = [summary.rejected, assessed.rejected, compared.values, compared.values["ecce_r"], compared.predictions]
    for mapping in mappings:
        name = next(iter(mapping))
        with pytest.raises(TypeError):
            mapping[name] = 5
        with pytest.raises(TypeError):
            del mapping[name]
        with pytest.raises(AttributeError):
            mapping._items = {}
    assert (summary.rejected, repr(summary.rejected)) == (
        {"outcome missing or not finite": 1},
        "{'outcome missing or not finite': 1}",
    )


def test_a_copy_holds_the_rows_it_had():
    p = P.copy()
    assessment = trueness.assess(Y, p, metrics=["ecce_r"])
    other = copy.deepcopy(assessment)
    p[:] = 0.5
    assert other.data.summary((12,)) == trueness.summarize(Y, P, bins=(12,))


def test_recalibrators_and_errors():
    model = trueness.SmoothRecalibrator().fit(P, Y)
    for make_copy in COPIES.values():
        np.testing.assert_array_equal(make_copy(model).predict(P), model.predict(P))
        error = make_copy(InputError("in Python", shell="in the shell"))  # noqa: S604
        assert (str(error), error.shell) == ("in Python", "in the shell")


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_kept_by_a_result_cannot_be_written_to(weighted):
    """Else its curves, worked out later, would be of other rows than its verdict."""
    p, w = P.copy(), np.linspace(1, 2, 200) if weighted else None
    assessment = trueness.assess(Y, p, sample_weight=w, metrics=["ecce_r"])
    rows = assessment.data.given
    columns = [column.chunk(0, 200) for column in (rows.f, rows.y, rows.w) if column is not None]
    arrays = assessment.data.arrays
    for array in [*columns, *(each for each in (arrays.f, arrays.y, arrays.w) if each is not None)]:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.5
    for column in columns:
        with pytest.raises(ValueError, match="WRITEABLE"):
            column.flags.writeable = True
    p[0] = 0.5  # what was given stays the caller's own
