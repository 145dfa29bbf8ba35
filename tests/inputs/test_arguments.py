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


def test_groups_by_what_names_no_column():
    with pytest.raises(InputError, match="by=1 is not the name of a column"):
        column_names(1)


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
