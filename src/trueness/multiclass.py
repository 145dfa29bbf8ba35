"""Predictions over several classes as binary problems: :func:`top_label`, :func:`top_k`, :func:`one_vs_rest`.

A table of probabilities has a row per prediction and a column per class. Which column is which class is said by the
names of a data frame's columns or by ``classes=``. A bare array without ``classes=`` has positions only: labels must
then be the integers 0 … C−1, and columns in the wrong order cannot be detected. Give names where there are any.
"""

from collections.abc import Hashable, Sequence
from operator import index
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trueness._types import Floats, Values
from trueness._values import show
from trueness.errors import InputError
from trueness.inputs.classes import blocks, read_labels, read_table
from trueness.options import check_choice

Ties = Literal["all", "first"]
Labels = NDArray[np.int8]


def top_label(
    y_true: Values,
    proba: Values,
    *,
    classes: Sequence[Hashable] | None = None,
    ties: Ties = "all",
    from_logits: bool = False,
) -> tuple[Labels, Floats]:
    r"""Whether the most probable class was right, and the probability it was given.

    .. math:: f_i = \max_c p_{ic}, \qquad y_i = 1[\,p_{i\ell_i} = f_i\,] \quad\text{for the label } \ell_i

    Confidence calibration is calibration of this pair; it says nothing of the classes that are not on top.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        The class that came true in each row.
    proba : array-like of shape (n, C), or a data frame
        A probability for each class; rows sum to 1 and are never renormalised. The columns of a data frame (pandas,
        polars, Arrow) are matched to labels by name; a name that is a string also matches a label that prints the same.
    classes : sequence, optional
        The classes, in the order of the columns of an array; for a data frame, the order in which to take its columns.
        Without it an array's labels are 0 … C−1.
    ties : {"all", "first"}
        Whether every class that shares the largest probability counts as predicted, or only the first of them.
    from_logits : bool
        `proba` holds logits: take the softmax, in float64. Never guessed. Ties are then ties between logits.

    Returns
    -------
    y : ndarray of int8
        1 where the prediction was right.
    p : ndarray of float64
        The probability given to it.

    References
    ----------
    Chidambaram, Lee, McSwiggen & Rezchikov (2024), How flawed is ECE? An analysis via logit smoothing, ICML, eq. 2.2.

    Examples
    --------
    >>> y, p = top_label([0, 2], [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
    >>> y, p
    (array([1, 0], dtype=int8), array([0.7, 0.6]))
    >>> top_label(["cat"], [[0.5, 0.5]], classes=["dog", "cat"])
    (array([1], dtype=int8), array([0.5]))
    """
    return top_k(y_true, proba, 1, classes=classes, ties=ties, from_logits=from_logits)


def top_k(
    y_true: Values,
    proba: Values,
    k: int,
    *,
    classes: Sequence[Hashable] | None = None,
    ties: Ties = "all",
    from_logits: bool = False,
) -> tuple[Labels, Floats]:
    r"""Whether the label was among the k most probable classes, and the probability they were given together.

    .. math:: f_i = \min\Bigl(1, \sum_{j \le k} p_{i(j)}\Bigr), \qquad y_i = 1[\,p_{i\ell_i} \ge p_{i(k)}\,], \qquad
        p_{i(1)} \ge \dots \ge p_{i(C)}

    With k = 1 this is :func:`top_label`; with k = C every row is right.

    Parameters
    ----------
    y_true, proba, classes, from_logits
        As in :func:`top_label`.
    k : int
        How many classes, from 1 to C.
    ties : {"all", "first"}
        Whether every class as probable as the k-th counts as predicted, or only the first k, those with equal
        probabilities in the order of the columns.

    Returns
    -------
    y : ndarray of int8
        1 where the label was among them.
    p : ndarray of float64
        The sum of their probabilities.

    Examples
    --------
    >>> top_k([2, 0], [[0.5, 0.25, 0.25], [0.125, 0.5, 0.375]], 2)
    (array([1, 0], dtype=int8), array([0.75 , 0.875]))
    >>> top_k([2, 0], [[0.5, 0.25, 0.25], [0.125, 0.5, 0.375]], 2, ties="first")
    (array([0, 0], dtype=int8), array([0.75 , 0.875]))
    """
    check_choice("ties", ties, ("all", "first"))
    table = read_table(proba, classes)
    k = _checked_k(k, table.width)
    codes = read_labels(y_true, proba, table)
    y = np.empty(table.length, dtype=np.int8)
    p = np.empty(table.length)
    for rows, scores, probabilities in blocks(table, from_logits):
        p[rows] = np.minimum(1.0, _largest(probabilities, k).sum(axis=1))
        y[rows] = _is_among(scores, codes[rows], k, ties)
    return y, p


def one_vs_rest(
    y_true: Values, proba: Values, *, classes: Sequence[Hashable] | None = None, from_logits: bool = False
) -> dict[Any, tuple[Labels, Floats]]:
    r"""One binary problem for each class: did it come true, and with what probability was it expected?

    .. math:: y_i^{(c)} = 1[\,\ell_i = c\,], \qquad f_i^{(c)} = p_{ic}

    Class-wise calibration is calibration of every one of these pairs.

    Parameters
    ----------
    y_true, proba, classes, from_logits
        As in :func:`top_label`.

    Returns
    -------
    dict
        ``{class: (y, p)}`` in the order of the columns, or of `classes`; the keys are 0 … C−1 where nothing names them.

    Examples
    --------
    >>> pairs = one_vs_rest(["b", "a"], [[0.25, 0.75], [0.5, 0.5]], classes=["a", "b"])
    >>> pairs["b"]
    (array([1, 0], dtype=int8), array([0.75, 0.5 ]))
    """
    table = read_table(proba, classes)
    codes = read_labels(y_true, proba, table)
    columns = np.empty((table.width, table.length))
    for rows, _, probabilities in blocks(table, from_logits):
        columns[:, rows] = probabilities.T
    return {name: ((codes == j).astype(np.int8), columns[j]) for j, name in enumerate(table.names)}


def _largest(probabilities: Floats, k: int) -> Floats:
    """The k largest of each row, in order, so that their sum does not depend on the order of the columns."""
    width = probabilities.shape[1]
    return np.sort(np.partition(probabilities, width - k, axis=1)[:, width - k :], axis=1)


def _is_among(scores: Floats, codes: NDArray[np.intp], k: int, ties: Ties) -> NDArray[np.bool_]:
    """Whether fewer than k classes come before the label's."""
    own = scores[np.arange(len(scores)), codes][:, None]
    ahead = np.count_nonzero(scores > own, axis=1)
    if ties == "first":
        earlier = np.arange(scores.shape[1]) < codes[:, None]
        ahead = ahead + np.count_nonzero((scores == own) & earlier, axis=1)
    return np.asarray(ahead < k)


def _checked_k(k: int, width: int) -> int:
    try:
        count = index(k)
    except TypeError:
        count = 0
    if isinstance(k, bool) or not 1 <= count <= width:
        raise InputError(f"k: {show(k)} is not a number of classes. Give a whole number from 1 to {width}.")
    return count
