"""The captions of the ImageNet figures: p-values and noise scales from the values printed beside them.

The training images behind them are not part of this reproduction; what the captions say of one another can be held to account.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from reproductions.cumulative.curves import ROUNDING
from reproductions.cumulative.laws import law_of
from reproductions.findings import Finding, claim, printed
from reproductions.lab import Lab


class Printed(NamedTuple):
    """An error as printed, over σ_n, and its p-value; None for zero to double-precision accuracy."""

    value: str
    standardized: str
    pvalue: str | None


class Caption(NamedTuple):
    """A cumulative plot's caption."""

    figure: int
    of: str
    n: int
    mad: Printed
    range: Printed


CAPTIONS = (
    Caption(14, "night snake", 1_300, Printed("0.08059", "6.607", "7.8e-11"), Printed("0.08270", "6.780", "4.8e-11")),
    Caption(18, "sidewinder", 1_300, Printed("0.07081", "5.446", "1.0e-7"), Printed("0.1075", "8.267", None)),
    Caption(22, "Eskimo dog", 1_300, Printed("0.05534", "4.274", "3.8e-5"), Printed("0.06715", "5.186", "8.6e-7")),
    Caption(26, "wild boar", 1_300, Printed("0.1161", "10.14", None), Printed("0.1172", "10.23", None)),
    Caption(30, "sunglasses", 1_300, Printed("0.09972", "8.004", None), Printed("0.09977", "8.008", None)),
    Caption(34, "all classes", 1_281_167, Printed("0.03306", "111.7", None), Printed("0.03306", "111.7", None)),
)


def captions(lab: Lab) -> Iterator[Finding]:
    """Each p-value from its standardised error; σ_n from both errors of a caption."""
    for caption in lab.steps(CAPTIONS):
        for error, told in (("ECCE-MAD", caption.mad), ("ECCE-R", caption.range)):
            yield _pvalue(f"Figure {caption.figure}, {caption.of}: p of {error} = {told.standardized} σ_n", error, told)
        yield _sigma(caption)


def _pvalue(what: str, error: str, told: Printed) -> Finding:
    x, law = float(told.standardized), law_of(error)
    p = law.sf(x)
    if told.pvalue is not None:
        return printed(what, told.pvalue, p)
    return claim(
        what,
        "zero to double precision",
        f"{p:.4g}" if p > 1e-300 else f"10^{law.logsf(x) / math.log(10):.3f}",
        holds=p < ROUNDING,
        why=f"1 − F, summed in double precision, gives {_one_less(error, x):.2g} here: small, and not zero (what is below "
        f"{ROUNDING:g} is taken for zero).",
    )


def _one_less(error: str, x: float) -> float:
    """1 − F by the series for small x, as a program does that has no upper tail."""
    if error == "ECCE-MAD":
        terms = ((-1) ** k / (2 * k + 1) * math.exp(-(((2 * k + 1) * math.pi / x) ** 2) / 8) for k in range(200))
        return 1 - 4 / math.pi * math.fsum(terms)
    odd = [(2 * k + 1) * math.pi for k in range(200)]
    return 1 - 8 * math.fsum((1 / x**2 + 1 / o**2) * math.exp(-((o / x) ** 2) / 2) for o in odd)


def _sigma(caption: Caption) -> Finding:
    """Each error over its standardised value is σ_n, to the digits printed."""
    ranges = [_quotient(told.value, told.standardized) for told in (caption.mad, caption.range)]
    bound = 0.5 / math.sqrt(caption.n)
    (a, b), (c, d) = ranges
    return claim(
        f"Figure {caption.figure}, {caption.of}: σ_n from both errors, and at most 1/(2√n) = {bound:.4g}",
        "one σ_n",
        f"{a:.6g}–{b:.6g} and {c:.6g}–{d:.6g}",
        holds=max(a, c) <= min(b, d) and max(a, c) <= bound,
    )


def _quotient(value: str, standardized: str) -> tuple[float, float]:
    """The least and the largest quotient of two rounded numbers."""
    (low, high), (small, large) = (_rounded(text) for text in (value, standardized))
    return low / large, high / small


def _rounded(text: str) -> tuple[float, float]:
    half = 0.5 * 10.0 ** -len(text.partition(".")[2])
    return float(text) - half, float(text) + half
