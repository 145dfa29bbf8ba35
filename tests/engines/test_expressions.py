"""The reduction in expressions against the plain NumPy engine, at every edge and one float either side of it."""

import numpy as np
import pytest

from trueness import summarize
from trueness.engines.expressions import Plan, SoftLabelsMet, summaries
from trueness.summary.invariants import fault_of
from trueness.summary.ruler import ruler

NAMES = {"outcome": "y", "prediction": "f", "weight": "w"}


class ArrayAlgebra:
    """Expressions computed at once on arrays."""

    def __init__(self, **columns):
        self.columns = columns

    def column(self, name):
        return self.columns[name]

    def number(self, value):
        return np.float64(value)

    def either(self, condition, then, otherwise):
        return np.where(condition, then, otherwise)

    def floor(self, value):
        return np.floor(value)

    def equal(self, a, b):
        return a == b

    def divide(self, a, by, like):
        return a / np.float64(by)


def reduced(plan, nan="raise", **columns):
    """Every row as a group of its own of the group-by."""
    algebra = ArrayAlgebra(**columns)
    with np.errstate(invalid="ignore"):
        for layer in plan.layers(algebra):
            algebra.columns |= layer
    rows = len(columns["f"])
    table = {name: np.broadcast_to(column, rows) for name, column in algebra.columns.items()}
    return summaries(table, plan, nan=nan, names=NAMES)


def around_edges(bins):
    edges = ruler(bins).edges
    f = np.concatenate([edges, np.nextafter(edges, 2)[:-1], np.nextafter(edges, -1)[1:], [0.0, 5e-324, 1 - 2**-53]])
    return np.random.default_rng(0).integers(0, 2, len(f)).astype(float), f


@pytest.mark.parametrize("bins", [(), (7, 37)])
def test_cells_and_integer_sums_have_the_same_bits(bins):
    y, f = around_edges(bins)
    assert reduced(Plan(on=ruler(bins)), f=f, y=y)[None] == summarize(y, f, bins=bins)


@pytest.mark.parametrize("weighted", [False, True])
def test_float_sums_agree(weighted):
    y, f = around_edges((7,))
    rng = np.random.default_rng(1)
    y = np.where(rng.random(len(f)) < 0.5, y, rng.random(len(f)))
    w = rng.exponential(size=len(f)) if weighted else None
    plan = Plan(on=ruler((7,)), weighted=weighted, floats=True)
    found = reduced(plan, f=f, y=y, **({} if w is None else {"w": w}))[None]
    expected = summarize(y, f, sample_weight=w, bins=(7,))
    assert np.array_equal(found.cells, expected.cells)
    assert np.array_equal(found.rows, expected.rows)
    assert found.soft
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12, atol=1e-15)


def test_a_soft_label_is_met():
    with pytest.raises(SoftLabelsMet):
        reduced(Plan(on=ruler()), f=np.array([0.2, 0.7]), y=np.array([0.0, 0.5]))


def test_rows_that_are_left_out_are_counted_and_missing_groups_are_one():
    f, y = np.array([0.2, np.nan, 0.7, 0.4]), np.array([0.0, 1.0, 1.0, 1.0])
    w, by = np.array([1.0, 1.0, 0.0, 2.0]), np.array(["a", "a", None, None], dtype=object)
    found = reduced(Plan(on=ruler(), weighted=True, floats=True, by=1), nan="drop", f=f, y=y, w=w, by_0=by)
    assert list(found) == ["a", None]
    assert (found["a"].n, found["a"].rejected) == (1, {"prediction missing or not finite": 1})
    assert (found[None].n, found[None].rejected) == (1, {"zero weight": 1})


class PostgresNumbers(np.ndarray):
    """Numbers whose product, or quotient, must not vanish: PostgreSQL takes that for an error."""

    def __mul__(self, other):
        product = super().__mul__(other)
        assert not np.any((np.asarray(product) == 0) & (np.asarray(self) != 0) & (np.asarray(other) != 0)), "underflow"
        return product


class PostgresAlgebra(ArrayAlgebra):
    """The same, of such numbers."""

    def column(self, name):
        return np.asarray(super().column(name)).view(PostgresNumbers)

    def either(self, condition, then, otherwise):
        return super().either(condition, then, otherwise).view(PostgresNumbers)


@pytest.mark.parametrize("soft", [False, True])
def test_no_product_vanishes(soft):
    rng = np.random.default_rng(0)
    tiny = np.concatenate([10.0 ** rng.uniform(-323, 0, 3000), [5e-324, 1e-310, 1e-300, 2.0**-340, 2.0**-128, 0.0, 1.0]])
    f, w = rng.permutation(tiny), 10.0 ** rng.uniform(-320, 100, len(tiny))
    y = rng.permutation(tiny) if soft else (rng.random(len(tiny)) < 0.5).astype(float)
    plan = Plan(on=ruler(), weighted=True, floats=True)
    algebra = PostgresAlgebra(f=f, y=y, w=w)
    with np.errstate(under="ignore"):
        for layer in plan.layers(algebra):
            algebra.columns |= layer
    integers = PostgresAlgebra(f=f, y=np.round(y))
    for layer in Plan(on=ruler()).layers(integers):
        integers.columns |= layer
    w = rng.exponential(size=len(f))
    (found,) = reduced(plan, f=f, y=y, w=w).values()
    expected = summarize(y, f, sample_weight=w)
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12, atol=1e-35)
    w[::2] *= 1e-200  # beside others, in cells of their own too
    (found,) = reduced(plan, f=f, y=y, w=w).values()
    assert found.n == len(f)
    assert fault_of(found) is None
