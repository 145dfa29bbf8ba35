"""Records: a dictionary of summaries that adds, merges axes away, and cannot be changed."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness
from trueness import Record, ecce_r, summarize
from trueness.errors import SummaryError
from trueness.summary.record import total_of

RNG = np.random.default_rng(0)
N = 400
F = RNG.random(N)
Y = (RNG.random(N) < F).astype(float)
W = RNG.random(N)
DAY = RNG.choice(["mon", "tue"], N)
COUNTRY = RNG.choice(np.array(["de", "fr", None], dtype=object), N)


def record(**settings):
    summaries = {}
    for day in ("mon", "tue"):
        for country in ("fr", None, "de"):
            of = (day == DAY) & (country == COUNTRY)
            summaries[day, country] = summarize(Y[of], F[of], **settings)
    return Record(summaries, axes=["day", "country"])


def test_it_reads_like_a_dictionary():
    summaries = {"b": summarize([0], [0.2]), None: summarize([1], [0.3]), "a": summarize([1], [0.9])}
    found = Record(summaries, axes=["g"])
    assert list(found) == ["b", None, "a"]
    assert dict(found) == summaries
    assert found == summaries
    assert summaries == found
    assert found != {**summaries, "a": summarize([0], [0.9])}
    assert found != {}
    assert found != "a record"
    assert None in found
    assert "c" not in found
    assert found.get("c") is None
    assert [summary.n for summary in found.values()] == [1, 1, 1]
    assert {**found} == summaries
    assert sum(found.values()) == found.total()
    assert len(found) == found.n == 3
    with pytest.raises(KeyError):
        found["c"]
    assert repr(found) == "<Record of 3 rows by g: 3 summaries>"
    assert repr(record()) == "<Record of 400 rows by day and country: 6 summaries>"


def test_it_cannot_be_changed():
    found = record()
    with pytest.raises(AttributeError, match="cannot be changed"):
        found.axes = ("other", "names")
    with pytest.raises(AttributeError, match="cannot be changed"):
        del found.axes
    with pytest.raises(TypeError):
        found["mon", "de"] = summarize([0], [0.5])
    with pytest.raises(TypeError):
        del found["mon", "de"]
    own = dict(found)
    kept = Record(own, axes=found.axes)
    own.clear()
    assert kept == found


def test_equality_and_digest():
    one, other = record(), Record(dict(reversed(list(record().items()))), axes=["day", "country"])
    assert one == other
    assert hash(one) == hash(other)
    assert one.digest == other.digest
    assert one != Record(dict(one), axes=["a", "b"])
    assert one.digest != Record(dict(one), axes=["a", "b"]).digest
    exact = summarize(Y, F, exact=True).extremes
    assert one != Record(dict(one), axes=one.axes, extremes=exact)
    assert one != record(bins=12)


@pytest.mark.parametrize("way", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy, copy.copy])  # noqa: S301
def test_copies(way):
    found = Record(dict(record()), axes=["day", "country"], extremes=summarize(Y, F, exact=True).extremes)
    found.total()
    same = way(found)
    assert same == found
    assert same.total() == found.total() == summarize(Y, F, exact=True)
    assert same.digest == found.digest


def test_totals():
    found = record()
    assert found.total() == summarize(Y, F) == total_of(found) == total_of(dict(found))
    assert found.n == N
    assert found.notes == summarize(Y, F).notes
    exact = Record(dict(found), axes=found.axes, extremes=summarize(Y, F, exact=True).extremes)
    assert ecce_r(exact.total()) == pytest.approx(ecce_r(Y, F), abs=1e-14)
    alone = Record({"a": summarize(Y, F, exact=True)}, axes=["g"])
    assert alone.total() == alone["a"]


def test_over_merges_an_axis_away():
    found = Record(dict(record()), axes=["day", "country"], extremes=summarize(Y, F, exact=True).extremes)
    by_country = found.over("day")
    assert by_country.axes == ("country",)
    assert list(by_country) == ["fr", None, "de"]
    for country, summary in by_country.items():
        of = country == COUNTRY
        assert summary == summarize(Y[of], F[of])
    by_day = found.over("country")
    assert by_day == {day: summarize(Y[day == DAY], F[day == DAY]) for day in ("mon", "tue")}
    assert by_day.over("day") == summarize(Y, F, exact=True)  # the same rows have the same extremes
    with pytest.raises(SummaryError, match=r"no axis 'week'; the axes are 'day', 'country'"):
        found.over("week")


def test_records_add_key_by_key():
    monday = Record({"de": summarize([0], [0.2]), "fr": summarize([1], [0.3])}, axes=["g"])
    tuesday = Record({"fr": summarize([0], [0.4]), "it": summarize([1], [0.5])}, axes=["g"])
    week = monday + tuesday
    assert week == {"de": summarize([0], [0.2]), "fr": summarize([1, 0], [0.3, 0.4]), "it": summarize([1], [0.5])}
    assert sum([monday, tuesday]) == week
    assert tuesday + monday == week
    assert sum([monday]) is monday
    exact = Record(dict(monday), axes=["g"], extremes=summarize([0, 1], [0.2, 0.3], exact=True).extremes)
    assert (exact + tuesday).extremes is None


def test_what_does_not_add():
    one = Record({"a": summarize([0], [0.5])}, axes=["g"])
    with pytest.raises(SummaryError, match=r"different axes do not add: 'g' and 'h'.*over\(\)"):
        one + Record({"a": summarize([0], [0.5])}, axes=["h"])
    with pytest.raises(SummaryError, match=r"different rulers"):
        one + Record({"a": summarize([0], [0.5], bins=12)}, axes=["g"])
    with pytest.raises(SummaryError, match=r"its ruler has bins=\(12,\), that of others bins=\(\)"):
        one + Record({"b": summarize([0], [0.5], bins=12)}, axes=["g"])
    for other in ({"a": summarize([0], [0.5])}, summarize([0], [0.5]), 1):
        with pytest.raises(TypeError):
            one + other


@pytest.mark.parametrize(
    ("summaries", "axes", "message"),
    [
        ({}, ["g"], "at least one"),
        ({"a": 1}, ["g"], r"key 'a': a int is not a Summary"),
        ({"a": summarize([0], [0.5])}, [], "axes"),
        ({"a": summarize([0], [0.5])}, [1], "axes"),
        ({("a", "b"): summarize([0], [0.5])}, ["g", "g"], "different names"),
        ({"ab": summarize([0], [0.5])}, ["g", "h"], r"key 'ab': is not a tuple of 2 values.*'g', 'h'"),
        ({("a",): summarize([0], [0.5])}, ["g", "h"], "not a tuple of 2 values"),
    ],
)
def test_what_is_no_record(summaries, axes, message):
    with pytest.raises(SummaryError, match=message):
        Record(summaries, axes=axes)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0, 1]), st.floats(0, 1)), min_size=2, max_size=30))
def test_parts_in_any_order_add_up_to_the_whole(rows):
    def made(part):
        groups = dict.fromkeys(group for group, _, _ in part)
        return Record({g: summarize(*zip(*[(y, f) for h, y, f in part if h == g], strict=True)) for g in groups}, axes=["g"])

    whole, cut = made(rows), len(rows) // 2
    parts = [made(part) for part in (rows[:cut], rows[cut:])]
    assert parts[0] + parts[1] == parts[1] + parts[0] == whole
    assert (parts[0] + parts[1]).digest == whole.digest
    assert whole.total() == summarize([y for _, y, _ in rows], [f for _, _, f in rows])


@pytest.mark.full
def test_many_groups_stay_feasible():
    groups = 20_000
    part = summarize([0, 1], [0.2, 0.7])
    found = Record(dict.fromkeys(range(groups), part), axes=["g"])
    assert found.total().n == found.n == 2 * groups
    assert (found + found).n == 4 * groups


def test_it_is_a_public_name():
    assert trueness.Record is Record
    assert "Record" in trueness.__all__
