"""A class-wise table: SmoothECE, ECCE-R and its p-value for every class of a table of probabilities."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import trueness

ROWS, CLASSES = 50_000, 1000
_TIMED = 20


def make_table(rows: int, classes: int, seed: int) -> tuple[Any, Any]:
    """Labels and calibrated probabilities, with a few likely classes in each row."""
    rng = np.random.default_rng(seed)
    table = np.exp(2 * rng.standard_normal((rows, classes)))
    table /= table.sum(axis=1, keepdims=True)
    reached = rng.random(rows)
    labels = np.array([np.searchsorted(np.cumsum(row), u) for row, u in zip(table, reached, strict=True)])
    return np.minimum(labels, classes - 1), table


def class_table(labels: Any, table: Any) -> list[tuple[float, float, float]]:
    """The answer for every class, by the public functions for one; to be one call once there is one for a whole table."""
    found = []
    for k in range(table.shape[1]):
        y, f = labels == k, np.ascontiguousarray(table[:, k])
        test = trueness.calibration_test(y, f, statistic="ecce_r", rng=0)
        found.append((trueness.smooth_ece(y, f), test.value, test.pvalue))
    return found


def class_seconds(rows: int, classes: int, seed: int) -> tuple[float, float]:
    """CPU seconds of the answer, and of reading the table once; classes are alike, so some are timed and the rest reckoned."""
    labels, table = make_table(rows, classes, seed)
    class_table(labels, table[:, :2])  # imports
    read = min(_cpu(lambda: table.sum()) for _ in range(3))
    some = min(_TIMED, classes)
    return _cpu(lambda: class_table(labels, table[:, :some])) * classes / some, read


def _cpu(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start
