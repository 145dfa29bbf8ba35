"""A line of the table: what a paper says, what comes out here, and the verdict."""

import math
import re
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, Literal

Verdict = Literal["matches", "within error", "differs", "holds", "fails", "other data"]

ERRORS_ALLOWED = 3.0  # standard errors; of a table of a few hundred cells about one in four hundred lies beyond by chance


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One statement of a paper beside what comes out here."""

    what: str
    paper: str
    ours: str
    verdict: Verdict
    error: float | None = None
    why: str = ""

    def __repr__(self) -> str:
        return f"{self.what}: paper {self.paper}, here {self.ours}: {self.verdict}{f' ({self.why})' if self.why else ''}"

    def to_dict(self) -> dict[str, Any]:
        """All of it, safe for JSON."""
        return asdict(self)


def printed(what: str, paper: str, ours: float, *, error: float | None = None, why: str = "") -> Finding:
    """Hold a value against a printed number.

    Parameters
    ----------
    what : str
        Where it is printed and of what.
    paper : str
        The number as printed, each digit of it: ``"0.0120"`` is not ``"0.012"``.
    ours : float
        The value here.
    error : float, optional
        Standard error of the difference, where either of the two numbers comes from draws: of both together where both do.
    why : str
        Said when the numbers differ. A difference without a reason is a defect of the reproduction.

    Returns
    -------
    Finding
        ``matches`` when the value rounds to the printed digits; ``within error`` when it is no farther from them than three
        standard errors; else ``differs``.

    Examples
    --------
    >>> printed("Figure 7, ECCE-MAD", "0.01243", 0.0124296).verdict
    'matches'
    >>> printed("Table 2, SMECE", "0.110", 0.1133, error=0.002).verdict
    'within error'
    """
    number, half = _digits(paper)
    away = max(0.0, abs(ours - number) - half)
    if not math.isfinite(ours):
        verdict: Verdict = "differs"
    elif away <= 1e-9 * half:
        verdict = "matches"
    elif error is not None and away <= ERRORS_ALLOWED * error:
        verdict = "within error"
    else:
        verdict = "differs"
    told = why if verdict == "differs" else ""
    return Finding(what=what, paper=paper, ours=_shown(ours, half), verdict=verdict, error=error, why=told)


def claim(what: str, paper: str, ours: str, *, holds: bool | None, why: str = "") -> Finding:
    """Hold what was seen against a statement in words; `why` is said unless it holds.

    With ``holds=None`` the rows are not those the statement is about: what is seen on them neither bears it out nor refutes it.
    """
    verdict: Verdict = "other data" if holds is None else "holds" if holds else "fails"
    return Finding(what=what, paper=paper, ours=ours, verdict=verdict, why="" if holds else why)


def _digits(text: str) -> tuple[float, float]:
    """A printed number and half a unit of its last digit."""
    plain = text.replace("−", "-").replace("·", "").strip().removesuffix("%")
    if not re.fullmatch(r"[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?", plain):
        raise ValueError(f"{text!r} is not a printed number")
    number = Decimal(plain)
    return float(number), float(Decimal(5).scaleb(int(number.as_tuple().exponent) - 1))


def _shown(value: float, half: float) -> str:
    """Two digits more than were printed."""
    if not math.isfinite(value):
        return str(value)
    digits = 2 - math.floor(math.log10(2 * half) + 0.5)
    return f"{value:.{digits}f}" if 0 <= digits <= 9 else f"{value:.4g}"
