"""Summaries that travel between processes."""

import copy
import pickle

import numpy as np

from trueness import ecce, summarize


def test_summaries_can_be_pickled_and_copied():
    summary = summarize([0, 1, np.nan], [0.2, 0.7, 0.1], nan="drop", bins=(12,))
    assert ecce(summary).n == 2  # what was worked out is not carried along
    for other in (pickle.loads(pickle.dumps(summary)), copy.deepcopy(summary)):  # noqa: S301
        assert other == summary
        assert other.rejected == summary.rejected
        assert other.ruler is summary.ruler
