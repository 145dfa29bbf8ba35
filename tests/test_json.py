"""Values that JSON can hold."""

import json
import math

import numpy as np

from trueness._json import plain


class Result:
    def to_dict(self):
        return {"value": math.inf, "parts": np.array([0.5, math.nan])}


def test_numbers_that_are_not_finite_are_none_however_deep():
    given = {"a": math.nan, 1: [-math.inf, np.float64(0.25)], "r": Result(), "n": np.int64(3), "t": (True, None, "x")}
    expected = {"a": None, "1": [None, 0.25], "r": {"value": None, "parts": [0.5, None]}, "n": 3, "t": [True, None, "x"]}
    assert plain(given) == expected
    assert json.loads(json.dumps(plain(given), allow_nan=False)) == expected


def test_other_things_are_what_they_are_called():
    assert plain(np.datetime64("2026-01-02")) == "2026-01-02"
    assert plain(np.datetime64(1, "ns")) == "1970-01-01T00:00:00.000000001"
    assert plain(np.timedelta64(1, "ns")) == "1 nanoseconds"
