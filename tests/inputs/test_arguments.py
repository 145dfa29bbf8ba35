"""Which columns are read and how, as one object each."""

import re

import pytest

from trueness.errors import InputError
from trueness.inputs.arguments import Columns, Reading, column_names


def test_columns_are_named_once_the_outcome_first():
    columns = Columns(outcome="y", prediction="p", weight="w", by=("g", "y"), cluster="c", rivals=("q",), key="k")
    assert columns.predictions == ("p", "q")
    assert columns.numbers == ["y", "p", "q", "w"]
    assert columns.names == ["y", "p", "q", "w", "g", "c", "k"]
    assert Columns(outcome="y", prediction="p").names == ["y", "p"]


@pytest.mark.parametrize(("by", "expected"), [(None, ()), ("g", ("g",)), (["g", "h"], ("g", "h")), ((), ())])
def test_groups_by_none_one_or_several_columns(by, expected):
    assert column_names(by) == expected


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (1, "by=1 is not the name of a column"),
        (b"g", "by=b'g' is not the name of a column"),
        ({"g": 1}, "by={'g': 1} is not the name of a column"),
        (["g", None], "by: None is not the name of a column"),
        (["g", "g"], "by: column 'g' is named twice"),
    ],
)
def test_groups_by_what_names_no_column(by, expected):
    with pytest.raises(InputError, match=re.escape(expected)):
        column_names(by)


@pytest.mark.parametrize("role", ["outcome", "prediction", "weight", "cluster", "key"])
@pytest.mark.parametrize("name", [1.5, True, ["y"], b"y", None])
def test_a_column_is_named_by_text_or_a_whole_number(role, name):
    named = {"outcome": "y", "prediction": 0} | {role: name}
    if name is None and role not in ("outcome", "prediction"):
        assert Columns(**named).names == ["y", 0]
        return
    with pytest.raises(InputError, match=f"{role} is missing" if name is None else f"{role}: .* is not the name of a column"):
        Columns(**named)


def test_files_and_queries_name_columns_by_text():
    columns = Columns(outcome="y", prediction="p", by=("g",))
    assert columns.in_text() is columns
    for role, named in {"prediction": {"prediction": 0}, "by": {"by": ("g", 1)}}.items():
        with pytest.raises(InputError, match=f"{role}: [01] is not the name of a column"):
            Columns(**{"outcome": "y", "prediction": "p", **named}).in_text()


def test_roles_are_those_that_have_a_column():
    assert Columns(outcome="y", prediction="p").roles == {"outcome": "y", "prediction": "p"}
    assert Columns(outcome="y", prediction="p", weight="w").roles == {"outcome": "y", "prediction": "p", "weight": "w"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"nan": "Drop"}, "nan='Drop' is not a choice"),
        ({"align": 0}, "align=0 is not a choice"),
        ({"pos_label": [1]}, "pos_label=[1] is not a label"),
    ],
)
def test_a_choice_that_is_none_is_refused_when_it_is_made(options, expected):
    with pytest.raises(InputError, match=re.escape(expected)):
        Reading(**options)
