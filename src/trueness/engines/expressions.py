"""The one reduction written once, for engines that compute columns from columns: SQL text and data frames.

Layers of columns, each made from those before, end in a group-by whose few rows `summaries` turns into summaries. The group
is the dyadic slot and the bin of each other grid; slot and bins together lie in one cell of the ruler.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trueness.errors import InputError
from trueness.inputs.faults import DROPPABLE, REASONS
from trueness.inputs.rows import ZERO_WEIGHT
from trueness.summary.columns import FLOAT_SUMS
from trueness.summary.ruler import COARSE, END, FINE, STANDARD, ZONE_OFFSET, Ruler, uniform_edges
from trueness.summary.summary import Summary, empty_summary, float_summary, integer_summary

SOFT, ZERO = 1, 2  # codes of rows that are not summed here besides those of REASONS: a soft label, a weight of zero
_HALF_UP = 2.0**31
_TINY = 2.0**-340
ROWS_OF_A_CELL = 1 << 32  # whose sums an int64 holds

Expression = Any


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

    def layers(self, a: Algebra) -> list[dict[str, Expression]]:
        """Columns to add, one layer after the other, to a table with f, y, perhaps w, and the groups; all float64."""
        found = [self._codes(a), self._usable(a), self._slot(a), *self._bins(a)]
        return [*found, *(self._float_terms(a) if self.floats else self._integer_terms(a))]

    def _codes(self, a: Algebra) -> dict[str, Expression]:
        f, y, zero = a.column("f"), a.column("y"), a.number(0)
        code = zero
        if self.weighted:
            w = a.column("w")
            positive = a.either(w < zero, a.number(-5), a.either(w > zero, zero, a.number(ZERO)))
            code = a.either(_finite(a, w), positive, a.number(-6))
        if not self.floats:
            one = a.either(_is(a, y, 1.0, self.y_tolerance), code, a.number(SOFT))
            code = a.either(_is(a, y, 0.0, self.y_tolerance), code, one)
        for x, tolerance, missing, outside in ((y, self.y_tolerance, -3, -4), (f, self.f_tolerance, -1, -2)):
            below = a.either(x > a.number(1 + tolerance), a.number(outside), code)
            inside = a.either(x < a.number(-tolerance), a.number(outside), below)
            code = a.either(_finite(a, x), inside, a.number(missing))
        return {"code": code}

    def _usable(self, a: Algebra) -> dict[str, Expression]:
        """Values within rounding are clipped; those of rows that are not used become 0, so that nothing below can fail."""
        zero, one = a.number(0), a.number(1)
        used = a.equal(a.column("code"), zero)

        def clipped(name: str) -> Expression:
            x = a.column(name)
            return a.either(used, a.either(x < zero, zero, a.either(x > one, one, x)), zero)

        def moved(name: str) -> Expression:
            x = a.column(name)
            return a.either(used, a.either(x < zero, one, a.either(x > one, one, zero)), zero)

        found = {"g": clipped("f"), "z": clipped("y"), "clipped": moved("f") + moved("y"), "n": one}
        if self.weighted:
            found["v"] = a.either(used, a.column("w"), zero)
        return found

    def _slot(self, a: Algebra) -> dict[str, Expression]:
        g = a.column("g")
        low, high = g < a.number(END), g >= a.number(1 - END)
        fine = a.floor(g * a.number(FINE))
        fine = a.either(fine > a.number(FINE - 1), a.number(FINE - 1), fine)
        coarse = a.floor(g * a.number(COARSE))
        offset = [a.number(float(each)) for each in ZONE_OFFSET]
        slot = a.either(low, fine + offset[0], a.either(high, fine + offset[2], coarse + offset[1]))
        ends = g * a.number(FINE) - fine
        r = a.either(low, ends, a.either(high, ends, g * a.number(COARSE) - coarse))
        return {"slot": slot, "r": _not_tiny(a, r)}

    def _bins(self, a: Algebra) -> list[dict[str, Expression]]:
        """The cell rule idx(m, f) of every grid, one correction a layer."""
        g, one, zero = a.column("g"), a.number(1), a.number(0)
        first, second, third = {}, {}, {}
        for m in self.grids:
            k = a.column(f"at_{m}")
            first[f"at_{m}"] = a.floor(g * a.number(m))
            second[f"at_{m}"] = k - a.either(g < a.divide(k, m, g), one, zero)
            above = k + a.either(g >= a.divide(k + one, m, g), one, zero)
            third[f"at_{m}"] = a.either(above > a.number(m - 1), a.number(m - 1), above)
        return [first, second, third]

    def _integer_terms(self, a: Algebra) -> list[dict[str, Expression]]:
        r, scale, half = a.column("r"), a.number(_HALF_UP), a.number(0.5)
        r2 = r * r
        label = a.either(a.column("z") >= half, a.number(1), a.number(0))
        terms = {"label": label}
        terms |= {f"r{j}": a.floor(power * scale + half) for j, power in ((1, r), (2, r2), (3, r2 * r))}
        return [terms]

    def _float_terms(self, a: Algebra) -> list[dict[str, Expression]]:
        g, z, r, one, zero = a.column("g"), a.column("z"), a.column("r"), a.number(1), a.number(0)
        w = a.column("v") if self.weighted else a.either(a.equal(a.column("code"), zero), one, zero)
        e, we, ww, rr = a.column("e"), a.column("we"), a.column("ww"), a.column("rr")
        soft = a.either(z > zero, a.either(z < one, one, zero), zero)
        terms = {
            "wr": a.column("weight") * r,
            "wr2": a.column("weight") * rr,
            "wer": we * r,
            "wer2": we * rr,
            "wy2": a.column("weight") * (a.column("z_") * a.column("z_")),
            "we_positive": a.either(we > zero, we, zero),
            "w2": ww,
            "w2_binomial": ww * (g * (one - g)),
            "w2e2": ww * (e * e),
            "w": a.column("weight"),
        }
        base = {"weight": w, "e": _not_tiny(a, z - g), "z_": _not_tiny(a, z), "rr": r * r, "soft": soft}
        return [base, {"we": a.column("weight") * e, "ww": a.column("weight") * a.column("weight")}, terms]


def _finite(a: Algebra, x: Expression) -> Expression:
    """Not by a test for NaN, which some engines fold away: only a finite number minus itself is 0."""
    return a.equal(x - x, a.number(0))


def _not_tiny(a: Algebra, x: Expression) -> Expression:
    """0 where the square would vanish: PostgreSQL takes that for an error."""
    return a.either(x < a.number(_TINY), a.either(x > a.number(-_TINY), a.number(0), x), x)


def _is(a: Algebra, x: Expression, value: float, tolerance: float) -> Expression:
    """Whether x is 0 or 1, or so near beyond that it is clipped to it."""
    zero, one = a.number(0), a.number(1)
    if value == 0.0:
        return a.equal(a.either(x < zero, a.either(x >= a.number(-tolerance), zero, x), x), zero)
    return a.equal(a.either(x > one, a.either(x <= a.number(1 + tolerance), one, x), x), one)


class SoftLabelsMet(Exception):  # noqa: N818 - a signal, not an error
    """Outcomes strictly between 0 and 1 among those reduced in integers: reduce again in float64."""


Table = Mapping[str, Sequence[Any]]


def summaries(table: Table, plan: Plan, *, nan: str, notes: Sequence[str] = (), names: Mapping[str, str]) -> dict[Any, Summary]:
    """Summaries by group from the rows of the group-by; without groups the only one is that of None."""
    columns = {name: _numbers(table[name]) for name in [*plan.keys[plan.by :], *plan.sums]}
    code = columns["code"].astype(np.int64)
    if not plan.floats and np.any(code == SOFT):
        raise SoftLabelsMet
    _raise_rejected(code, columns["n"], nan, names)
    groups = list(zip(*(table[f"by_{k}"] for k in range(plan.by)), strict=True)) if plan.by else [()] * len(code)
    rows: dict[Any, list[int]] = {}
    for row, group in enumerate(groups):
        named = tuple(None if _is_missing(value) else value for value in group)
        rows.setdefault(named[0] if len(named) == 1 else named or None, []).append(row)
    found = {group: _summary({k: v[at] for k, v in columns.items()}, plan, notes) for group, at in rows.items()}
    return found or {None: empty_summary(plan.on)}


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT or NA, whatever a frame has for a group that is missing."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _numbers(values: Sequence[Any]) -> NDArray[np.float64]:
    """A column of whole numbers or floats, whatever wide type the engine summed them in."""
    array = np.asarray(values)
    if array.dtype == object:
        return np.array([int(value) if value == int(value) else float(value) for value in array], dtype=object)
    return array


def _summary(columns: Mapping[str, NDArray[Any]], plan: Plan, notes: Sequence[str]) -> Summary:
    code = columns["code"].astype(np.int64)
    used = code == 0
    counts = {each: int(columns["n"][code == each].sum()) for each in (*REASONS, ZERO)}
    rejected = {REASONS.get(each, ZERO_WEIGHT): count for each, count in counts.items() if count}
    facts = {"rejected": rejected, "clipped": int(columns["clipped"].sum()), "source": tuple(sorted(notes))}
    held = {name: column[used] for name, column in columns.items()}
    cell = _cell(held, plan)
    if plan.floats:
        rows = np.zeros(plan.on.cells, dtype=np.int64)
        np.add.at(rows, cell, held["n"].astype(np.int64))
        sums = np.zeros((len(FLOAT_SUMS), plan.on.cells))
        for k, name in enumerate(FLOAT_SUMS):
            np.add.at(sums[k], cell, held[name].astype(np.float64))
        require_weights(sums[FLOAT_SUMS.index("w")], sums[FLOAT_SUMS.index("w2")])
        return float_summary(rows, sums, plan.on, soft=bool(held["soft"].sum() > 0), **facts)
    if int(held["n"].sum()) >= ROWS_OF_A_CELL and max(held["n"].tolist()) >= ROWS_OF_A_CELL:
        raise InputError(
            "more than 2^32 rows share a cell and a label, whose sums would overflow. Summarize parts and add them."
        )
    table = np.zeros((plan.on.cells, 8), dtype=np.int64)
    column = 4 * held["label"].astype(np.int64)
    for j, name in enumerate(("n", "r1", "r2", "r3")):
        np.add.at(table, (plan.on.row_of_cell[cell], column + j), held[name].astype(np.int64))
    return integer_summary(table, plan.on, **facts)


def require_weights(w: NDArray[np.float64], w2: NDArray[np.float64]) -> None:
    """Weights whose squares overflow or vanish would make every test and interval wrong."""
    with np.errstate(over="ignore"):
        total, squares = float(w.sum()), float(w2.sum())
    if not (np.isfinite(total) and np.isfinite(squares)) or (total > 0 and squares < _TINY**2):
        raise InputError(
            f"the weights, {total:.3g} in all, are so large or small that their squares overflow or vanish. "
            "Divide all weights by a constant; that changes no result."
        )


def _cell(columns: Mapping[str, NDArray[Any]], plan: Plan) -> NDArray[np.int64]:
    """The cell of each group: where the latest of its lower edges lies."""
    slots = columns["slot"].astype(np.int64)
    first = plan.on.extra_before[slots] + slots  # the slot's first cell
    low = plan.on.edges[first]
    for m in plan.grids:
        low = np.maximum(low, uniform_edges(m)[columns[f"at_{m}"].astype(np.int64)])
    return np.asarray(np.searchsorted(plan.on.edges, low, side="right") - 1)


def _raise_rejected(code: NDArray[np.int64], n: NDArray[Any], nan: str, names: Mapping[str, str]) -> None:
    """Rows that cannot be used are told with their number; an engine without an order of rows has no first one."""
    total = int(n.sum())
    lines = []
    for each, why in REASONS.items():
        count = int(n[code == each].sum())
        if count and (nan == "raise" or each not in DROPPABLE):
            role, _, what = why.partition(" ")
            remedy = _REMEDY.get(each, "Fill or remove them first, or pass nan='drop', which counts what it drops.")
            lines.append(f"column {names[role]!r}: {count} of {total} values {'is' if count == 1 else 'are'} {what}. {remedy}")
    if lines:
        raise InputError("\n".join(lines))


_REMEDY = {
    -2: "If these are logits, pass them through a sigmoid first; if percentages, divide by 100.",
    -4: "Outcomes are 0, 1 or a probability between them; name the event among other labels with pos_label=.",
    -5: "A weight says how much its row counts: pass zero or more.",
}
