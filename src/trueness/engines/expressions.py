"""The one reduction written once, for engines that compute columns from columns: SQL text, data frames and tensors.

Layers of columns, each made from those before, end in a group-by whose few rows `summaries` turns into summaries. The group
is the dyadic slot and the bin of each other grid; slot and bins together lie in one cell of the ruler.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from trueness._types import Array, Floats, Ints
from trueness.errors import InputError
from trueness.inputs.arguments import Role
from trueness.inputs.faults import (
    FAULTS,
    OUTCOME,
    PREDICTION,
    SOFT,
    WEIGHT,
    ZERO,
    by_reason,
    raise_refused,
)
from trueness.summary.moments import FLOAT_SUMS
from trueness.summary.ruler import COARSE, END, FINE, STANDARD, ZONE_OFFSET, Ruler, uniform_edges
from trueness.summary.summary import Summary, empty_summary, float_summary, integer_summary

_HALF_UP = 2.0**31
# Below these a product of what is summed would vanish, which PostgreSQL takes for an error: values are taken as 0 there, at the
# second one where they are squared and multiplied by squares of weights; weights as the third one.
_TINY, _TINY_SQUARED, _TINY_WEIGHT = 2.0**-340, 2.0**-128, 2.0**-380
ROWS_OF_A_CELL = 1 << 32  # whose sums an int64 holds

Expression = Any  # of the engine's own kind
Layer = dict[str, Expression]


class Algebra(Protocol):
    """What an engine must be able to say; expressions besides add, multiply, divide and compare."""

    def column(self, name: str) -> Expression:
        """A column of an earlier layer."""

    def number(self, value: float) -> Expression:
        """A float64 constant."""

    def either(self, condition: Expression, then: Expression, otherwise: Expression) -> Expression:
        """`then` where the condition holds, `otherwise` where it does not, or is missing."""

    def floor(self, value: Expression) -> Expression:
        """The largest whole number not above."""

    def equal(self, a: Expression, b: Expression) -> Expression:
        """Whether two expressions are equal."""

    def divide(self, a: Expression, by: float, like: Expression) -> Expression:
        """A correctly rounded quotient; `like` is any column of finite numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be reduced: labels in integers, or weights and soft labels in float64, on which ruler."""

    on: Ruler
    weighted: bool = False
    floats: bool = False
    by: int = 0  # columns of groups, named by_0, by_1, …
    f_tolerance: float = 4 * 2.0**-52
    y_tolerance: float = 4 * 2.0**-52

    @property
    def grids(self) -> list[int]:
        """Bin counts whose edges are not dyadic."""
        return [*STANDARD[1:], *self.on.bins]

    @property
    def keys(self) -> list[str]:
        """Columns of the group-by."""
        groups = [f"by_{k}" for k in range(self.by)]
        label = [] if self.floats else ["label"]
        return [*groups, "code", "slot", *(f"at_{m}" for m in self.grids), *label]

    @property
    def sums(self) -> list[str]:
        """Columns that are summed."""
        return ["n", "clipped", *(["soft", *FLOAT_SUMS] if self.floats else ["r1", "r2", "r3"])]

    def soft(self) -> "Plan":
        """The same in float64."""
        return replace(self, floats=True)

    def layers(self, a: Algebra, *, bins: bool = True) -> Iterator[Layer]:
        """Columns to add, one layer after the other, to a table with f, y, perhaps w, and the groups; all float64.

        A layer names columns of those before it: an algebra that computes at once adds each before it asks for the next.
        Without `bins` a cell is to be found from slot and score.
        """
        yield from self.located(a)
        if bins:
            yield from self._bins(a)
        yield from self._float_terms(a) if self.floats else self._integer_terms(a)

    def located(self, a: Algebra) -> Iterator[Layer]:
        """The first of the layers: codes, usable values, slots."""
        yield self._codes(a)
        yield self._usable(a)
        yield self._slot(a)

    def _codes(self, a: Algebra) -> Layer:
        f, y, zero = a.column("f"), a.column("y"), a.number(0)
        code = zero
        if self.weighted:
            w = a.column("w")
            missing, negative = map(a.number, WEIGHT)
            code = a.either(_finite(a, w), a.either(w < zero, negative, a.either(w > zero, zero, a.number(ZERO))), missing)
        if not self.floats:
            code = a.either(y > zero, a.either(y < a.number(1), a.number(SOFT), code), code)
        for x, tolerance, codes in ((y, self.y_tolerance, OUTCOME), (f, self.f_tolerance, PREDICTION)):
            missing, outside = map(a.number, codes)
            below = a.either(x > a.number(1 + tolerance), outside, code)
            code = a.either(_finite(a, x), a.either(x < a.number(-tolerance), outside, below), missing)
        return {"code": code}

    def _usable(self, a: Algebra) -> Layer:
        """Values within rounding are clipped; those of rows that are not used become 0, so that nothing below can fail."""
        zero, one = a.number(0), a.number(1)
        used = a.equal(a.column("code"), zero)

        def clipped(x: Expression) -> tuple[Expression, Expression]:
            low, high = x < zero, x > one
            value = a.either(used, a.either(low, zero, a.either(high, one, x)), zero)
            return value, a.either(used, a.either(low, one, a.either(high, one, zero)), zero)

        (g, f_moved), (z, y_moved) = clipped(a.column("f")), clipped(a.column("y"))
        columns = {"g": g, "z": z, "clipped": f_moved + y_moved, "n": one}
        return columns | ({"v": a.either(used, a.column("w"), zero)} if self.weighted else {})

    def _slot(self, a: Algebra) -> Layer:
        g = a.column("g")
        low, high = g < a.number(END), g >= a.number(1 - END)
        by_fine, by_coarse = g * a.number(FINE), g * a.number(COARSE)
        fine = a.floor(by_fine)
        fine = a.either(fine > a.number(FINE - 1), a.number(FINE - 1), fine)
        coarse = a.floor(by_coarse)
        offset = [a.number(float(each)) for each in ZONE_OFFSET]
        slot = a.either(low, fine + offset[0], a.either(high, fine + offset[2], coarse + offset[1]))
        ends = by_fine - fine
        r = a.either(low, ends, a.either(high, ends, by_coarse - coarse))
        return {"slot": slot, "r": _not_tiny(a, r)}

    def _bins(self, a: Algebra) -> Iterator[Layer]:
        """The cell rule idx(m, f) of every grid, one correction a layer."""
        g, one, zero = a.column("g"), a.number(1), a.number(0)

        def lowered(k: Expression, m: int) -> Expression:
            return k - a.either(g < a.divide(k, m, g), one, zero)

        def raised(k: Expression, m: int) -> Expression:
            above = k + a.either(g >= a.divide(k + one, m, g), one, zero)
            return a.either(above > a.number(m - 1), a.number(m - 1), above)

        yield {f"at_{m}": a.floor(g * a.number(m)) for m in self.grids}
        yield {f"at_{m}": lowered(a.column(f"at_{m}"), m) for m in self.grids}
        yield {f"at_{m}": raised(a.column(f"at_{m}"), m) for m in self.grids}

    def _integer_terms(self, a: Algebra) -> Iterator[Layer]:
        r, scale, half = a.column("r"), a.number(_HALF_UP), a.number(0.5)
        r2 = r * r
        label = a.either(a.column("z") >= half, a.number(1), a.number(0))
        powers = ((1, r), (2, r2), (3, r2 * r))
        yield {"label": label, **{f"r{j}": a.floor(power * scale + half) for j, power in powers}}

    def _float_terms(self, a: Algebra) -> Iterator[Layer]:
        g, z, r, one, zero = a.column("g"), a.column("z"), a.column("r"), a.number(1), a.number(0)
        given = a.column("v") if self.weighted else a.either(a.equal(a.column("code"), zero), one, zero)
        soft = a.either(z > zero, a.either(z < one, one, zero), zero)
        least = a.number(_TINY_WEIGHT)
        weight = a.either(given > zero, a.either(given < least, least, given), zero)
        yield {"w": weight, "e": _not_tiny(a, z - g), "z_": _not_tiny(a, z), "soft": soft}
        yield {f"{name}_": _not_tiny(a, a.column(name), _TINY_SQUARED) for name in ("r", "e", "g")}
        w, e, y, g, small_r, small_e = map(a.column, ("w", "e", "z_", "g_", "r_", "e_"))
        yield {"we": w * e, "ww": w * w, "rr": small_r * small_r, "ee": small_e * small_e}
        we, ww, rr, ee = map(a.column, ("we", "ww", "rr", "ee"))
        yield {
            "wr": w * r,
            "wr2": w * rr,
            "wer": we * r,
            "wer2": we * rr,
            "wy2": w * (y * y),
            "we_positive": a.either(we > zero, we, zero),
            "w2": ww,
            "w2_binomial": ww * (g * (one - g)),
            "w2e2": ww * ee,
        }


def _finite(a: Algebra, x: Expression) -> Expression:
    """Not by a test for NaN, which some engines fold away: only a finite number minus itself is 0."""
    return a.equal(x - x, a.number(0))


def _not_tiny(a: Algebra, x: Expression, least: float = _TINY) -> Expression:
    """0 where products with others would vanish."""
    return a.either(x < a.number(least), a.either(x > a.number(-least), a.number(0), x), x)


class ExtremeWeightsError(InputError):
    """Weights whose squares overflow or vanish: an engine that can scales them and reduces again."""


class SoftLabelsMet(Exception):  # noqa: N818 - a signal, not an error
    """Outcomes strictly between 0 and 1 among those reduced in integers: reduce again in float64."""


Table = Mapping[str, Sequence[Any]]


def summaries(
    table: Table, plan: Plan, *, nan: str, notes: Sequence[str] = (), names: Mapping[Role, str]
) -> dict[Any, Summary]:
    """Summaries by group from the rows of the group-by; without groups the only one is that of None."""
    columns = {name: _numbers(table[name]) for name in [*plan.keys[plan.by :], *plan.sums]}
    counts = _counts(columns)
    if not plan.floats and counts[SOFT]:
        raise SoftLabelsMet
    raise_refused(counts, int(columns["n"].sum()), nan, {role: f"column {name!r}" for role, name in names.items()})
    groups = list(zip(*(table[f"by_{k}"] for k in range(plan.by)), strict=True)) if plan.by else [()] * len(columns["code"])
    rows: dict[Any, list[int]] = {}
    for row, group in enumerate(groups):
        named = tuple(None if _is_missing(value) else value for value in group)
        rows.setdefault(named[0] if len(named) == 1 else named or None, []).append(row)
    by_group = {
        group: _summary({name: column[numbers] for name, column in columns.items()}, plan, notes)
        for group, numbers in rows.items()
    }
    return by_group or {None: empty_summary(plan.on)}


def _counts(columns: Mapping[str, Array]) -> dict[int, int]:
    """How many rows have each code."""
    codes = columns["code"].astype(np.int64)
    return {code: int(columns["n"][codes == code].sum()) for code in FAULTS}


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT or NA, whatever a frame has for a group that is missing."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _numbers(values: Sequence[Any]) -> Array:
    """A column of whole numbers or floats, whatever wide type the engine summed them in."""
    array = np.asarray(values)
    if array.dtype == object:
        return np.array([int(value) if value == int(value) else float(value) for value in array], dtype=object)
    return array


def _summary(columns: Mapping[str, Array], plan: Plan, notes: Sequence[str]) -> Summary:
    account: dict[str, Any] = {
        "rejected": by_reason(_counts(columns)),
        "clipped": int(columns["clipped"].sum()),
        "source": tuple(sorted(notes)),
    }
    usable = columns["code"].astype(np.int64) == 0
    used = {name: column[usable] for name, column in columns.items()}
    cell = _cell(used, plan)
    if plan.floats:
        rows = np.zeros(plan.on.cells, dtype=np.int64)
        np.add.at(rows, cell, used["n"].astype(np.int64))
        sums = np.zeros((len(FLOAT_SUMS), plan.on.cells))
        for k, name in enumerate(FLOAT_SUMS):
            np.add.at(sums[k], cell, used[name].astype(np.float64))
        require_weights(sums[FLOAT_SUMS.index("w")], sums[FLOAT_SUMS.index("w2")])
        return float_summary(rows, sums, plan.on, soft=bool(used["soft"].sum() > 0), **account)
    if int(used["n"].sum()) >= ROWS_OF_A_CELL and max(used["n"].tolist()) >= ROWS_OF_A_CELL:
        raise InputError(
            "more than 2^32 rows share a cell and a label, whose sums would overflow. Summarize parts and add them."
        )
    table = np.zeros((plan.on.cells, 8), dtype=np.int64)
    column = 4 * used["label"].astype(np.int64)
    for j, name in enumerate(("n", "r1", "r2", "r3")):
        np.add.at(table, (plan.on.row_of_cell[cell], column + j), used[name].astype(np.int64))
    return integer_summary(table, plan.on, **account)


def require_weights(w: Floats, w2: Floats) -> None:
    """Weights whose squares overflow or vanish would make every test and interval wrong."""
    with np.errstate(over="ignore"):
        total, squares = float(w.sum()), float(w2.sum())
    if not (np.isfinite(total) and np.isfinite(squares)) or (total > 0 and squares < _TINY**2):
        raise ExtremeWeightsError(
            f"the weights, {total:.3g} in all, are so large or small that their squares overflow or vanish. "
            "Divide all weights by a constant; that changes no result."
        )


def _cell(columns: Mapping[str, Array], plan: Plan) -> Ints:
    """The cell of each group: where the latest of its lower edges lies."""
    slots = columns["slot"].astype(np.int64)
    first = plan.on.extra_before[slots] + slots  # the slot's first cell
    low = plan.on.edges[first]
    for m in plan.grids:
        low = np.maximum(low, uniform_edges(m)[columns[f"at_{m}"].astype(np.int64)])
    return np.asarray(np.searchsorted(plan.on.edges, low, side="right") - 1)
