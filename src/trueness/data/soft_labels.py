"""How much soft labels vary: less than events, and how much less only they themselves can show.

If E[y | f] = f, the variance of a label is E[(y − f)²], and also f(1 − f) − E[y(1 − y)]: what is lacking to that of an event.
The second sum hardly depends on how many of a few rare labels came out high; the first is the sharper where many have.
"""

import math
from typing import NamedTuple

import numpy as np

from trueness._types import Array, Floats

# Residuals of equal size and of either sign from which labels are trusted to show their own variance; standard errors by which
# residuals of labels 0 and 1 are smaller than events' where these are shares of few votes, say.
TRUSTED = 60.0
_NO_EVENTS = 4.0
_ROUNDING = 1e-12


class LabelNoise(NamedTuple):
    """What stands for Σw²Var(y | f) of each unit (a row or a cell), and how it came about."""

    variance: Floats
    events: Floats  # share of f(1 − f) with which labels of the unit are drawn as events; 0: their residuals get random signs
    lowest: float  # certain bounds for Σ variance of the rows themselves
    highest: float
    reason: str

    @property
    def trusted(self) -> bool:
        """Whether all labels show their own variance, none of them as events do."""
        return not (self.events > 0).any()


class LabelSums(NamedTuple):
    """Sums of each unit. `hard`: every label of it is 0 or 1; `alone`: it is one row, or equal ones."""

    residual: Floats  # Σw(y − f)
    squares: Floats  # Σw²(y − f)²
    binomial: Floats  # Σw²f(1 − f)
    softness: Floats  # Σw²y(1 − y)
    wobble: Floats  # Σw⁴f(1 − f)(1 − 2f)², the variance of Σw²(y − f)² of events
    hard: Array
    alone: Array
    excess: Floats  # at least Σw²max((f − y)(1 − 2f), 0), by which f(1 − f) − y(1 − y) exceeds (y − f)²


def label_noise(sums: LabelSums) -> LabelNoise:
    """The variance of soft labels, some of which may be events.

    Labels of 0 and 1 count as events do: the larger of Σw²(y − f)² and Σw²f(1 − f); unless their residuals are so small that
    they cannot be events of the probabilities predicted, such as shares of few votes. Of the others residuals are believed
    where those of either sign are as good as 60 of equal size; if not, and in cells of several rows, some of which may be
    events, it is the larger of the two estimates above.
    """
    lack = float(sums.binomial[sums.hard].sum()) - float(sums.squares[sums.hard].sum())
    if lack > _NO_EVENTS * math.sqrt(float(sums.wobble[sums.hard].sum())) and (sums.alone & ~sums.hard).any():
        sums = sums._replace(hard=np.zeros_like(sums.hard), alone=sums.alone | sums.hard)
    soft = sums.alone & ~sums.hard
    several = ~sums.alone & ~sums.hard
    variance, events = sums.squares.copy(), np.zeros(len(sums.squares))
    sign = min(_effective(sums, soft, side) for side in (1.0, -1.0))
    doubted = [sums.hard, several] if sign >= TRUSTED else [sums.hard, several, soft]
    for part in doubted:
        binomial = float(sums.binomial[part].sum())
        estimate = binomial - float(sums.softness[part].sum())
        if estimate <= _ROUNDING * binomial:
            continue
        # As many events as would have the variance, each of the probability that was predicted.
        share = min(estimate / binomial, 1.0)
        events[part] = share
        if estimate > float(sums.squares[part].sum()):
            variance[part] = share * sums.binomial[part]
    own = float(sums.squares.sum())
    return LabelNoise(variance, events, own, own + float(sums.excess.sum()), _reason(sums, sign, doubted, soft, several))


def _effective(sums: LabelSums, among: Array, side: float) -> float:
    """(Σ|wr|)²/Σ(wr)² of the residuals of one sign: how many of equal size would tell as much."""
    there = among & (side * sums.residual > 0)
    squares = float(sums.squares[there].sum())
    return float(sums.residual[there].sum()) ** 2 / squares if squares > 0 else 0.0


def _reason(sums: LabelSums, sign: float, doubted: list[Array], soft: Array, several: Array) -> str:
    parts = []
    if soft.any():
        few = f"the larger of two estimates, for residuals of one sign are as good as {sign:.0f}, below {TRUSTED:.0f}"
        parts.append(few if len(doubted) > 2 else f"variance of their residuals, of either sign as good as {sign:.0f} or more")
    if several.any():
        parts.append("the larger of two estimates where a cell has several rows, for some may be events")
    if sums.hard.any():
        parts.append("labels of 0 and 1 count as events")
    return f"soft labels: {'; '.join(parts)}"
