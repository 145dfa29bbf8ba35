"""Rows as a sample: what is looked at once is not looked at again."""

import numpy as np
import pytest

from trueness import group_tests
from trueness.data.sample import as_sample
from trueness.inputs import rows as inputs


@pytest.fixture
def judged(monkeypatch):
    """How many rows each look at them judged."""
    looks, classify = [], inputs.classify

    def counted(rows, f, *columns):
        looks.append(len(f))
        return classify(rows, f, *columns)

    monkeypatch.setattr(inputs, "classify", counted)
    return looks


def test_rows_of_groups_are_judged_once(judged):
    f = np.random.default_rng(0).random(300)
    y = (np.random.default_rng(1).random(300) < f).astype(int)
    by = np.arange(300) % 3
    tests = group_tests(y, f, by=by, rng=0)
    assert judged == [300]
    for each in tests:
        alone = as_sample(y[by == each.group], f[by == each.group])
        assert each.test.value == alone.extremes.range


def test_a_part_without_soft_labels_is_hard():
    y, f = np.array([0.5, 1.0, 0.0, 1.0]), np.array([0.3, 0.6, 0.2, 0.9])
    sample = as_sample(y, f)
    assert [sample.taken(np.array(rows)).soft for rows in ([0, 1], [1, 2, 3])] == [True, False]
