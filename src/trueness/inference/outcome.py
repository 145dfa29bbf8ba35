"""What a test of calibration found."""

from dataclasses import dataclass, fields
from typing import Any

from trueness._json import plain
from trueness._text import show_pvalue
from trueness.options import check_share

_SELDOM = ("contradictions", "rest", "parts", "clusters")  # fields that are listed where they say something
WAVES = "waves"
_LABELS = {
    "ecce_r": "ECCE-R: any range",
    "cox": "Cox: slope, intercept",
    "neyman": "Neyman: waves",
    "hosmer_lemeshow": "Hosmer-Lemeshow: groups",
    "kernel": "kernel: narrow ranges",
}
_TOLD = 0.05  # p-value below which a part has seen something


@dataclass(frozen=True, slots=True, kw_only=True)
class TestPart:
    """One of the statistics of a combined test."""

    __test__ = False  # not a test of pytest's

    name: str
    value: float
    pvalue: float
    log10_pvalue: float
    place: str = ""  # where outcomes and predictions differ most, to its eyes
    direction: str = ""  # of the predictions there: "too high", "too low", "too extreme", "too moderate"
    resamples: int | None = None  # draws from which its p was told; None where a law tells it
    near: float | None = None  # the score where they differ most, where it saw a narrow range

    @property
    def label(self) -> str:
        """Its title in tables."""
        return _LABELS[self.name]

    @property
    def words(self) -> str:
        """What it saw: "range 0.60–0.90 too high", "slope 0.71: too extreme", "waves"."""
        return f"{self.place}{':' if self.place.startswith('slope') and self.direction else ''} {self.direction}".strip()

    @property
    def shown(self) -> str:
        """The p-value as people read it: "0.03", or "≤ 0.0005" where no draw reached the value."""
        smallest = self.resamples is not None and self.pvalue * (1 + self.resamples) < 1.5
        return f"{'≤ ' if smallest else ''}{show_pvalue(self.pvalue, self.log10_pvalue)}"

    def __repr__(self) -> str:
        words = f" ({self.words})" if self.words and self.pvalue < _TOLD else ""
        return f"{self.name} = {self.value:.4g}, p {'' if self.shown.startswith('≤') else '= '}{self.shown}{words}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary; None where a number is not finite."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)} | {"words": self.words}


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationTest:
    """What a test of calibration found. A large p-value means that noise could explain it, not that the model is calibrated."""

    statistic: str
    value: float  # of a combined test that of ECCE-R
    standardized: float  # ECCE: in units of its noise scale; else standard deviations above the mean under calibration
    pvalue: float
    log10_pvalue: float
    method: str  # "asymptotic" or "simulated"
    reason: str  # why this method
    n: int
    resamples: int | None = None
    seed: int | None = None
    # Certain bounds for the p-value of the rows, where only their summary is known and the limit law is used.
    pvalue_bounds: tuple[float, float] | None = None
    # Where certain predictions were wrong, which makes p = 0: how many at least, and the test of the other rows.
    contradictions: int = 0
    rest: "CalibrationTest | None" = None
    parts: tuple[TestPart, ...] = ()  # of a combined test, the strongest evidence first
    clusters: int = 0  # that were flipped whole; 0 where rows are independent

    def __repr__(self) -> str:
        parts = f"; {'; '.join(map(repr, self.parts))}" if self.parts else ""
        return f"{self.measure} = {self.value:.4g}, p {self.shown} ({self.method}; {self.reason}), n = {self.n}{parts}"

    @property
    def measure(self) -> str:
        """What its value is one of: a combined test has that of ECCE-R, the error whose place is known."""
        return "combined test, ecce_r" if self.statistic == "combined" else self.statistic

    @property
    def shown(self) -> str:
        """The p-value in words: "= 0.03", or "≤ 0.0005" where no draw reached the value."""
        smallest = self.resamples is not None and self.pvalue * (1 + self.resamples) < 1.5
        return f"{'≤' if smallest else '='} {show_pvalue(self.pvalue, self.log10_pvalue)}"

    @property
    def explained(self) -> str:
        """The p-value without "="; a 0 with the number of certain predictions that were wrong, and the others' p."""
        return self.shown.removeprefix("= ") + self.certainties

    @property
    def certainties(self) -> str:
        """In parentheses, how many certain predictions were wrong, and the others' p; nothing where none was."""
        others = "" if self.rest is None else f"; others {self.rest.shown.removeprefix('= ')}"
        return f" ({self.contradictions} certain and wrong{others})" if self.contradictions else ""

    def seen(self, alpha: float) -> tuple[TestPart, ...]:
        """The parts that saw something, the strongest evidence first; none where all together did not."""
        check_share("alpha", alpha)
        return tuple(part for part in self.parts if part.pvalue < alpha) if self.pvalue < alpha else ()

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary; None where a number is not finite."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: plain(value) for name, value in named.items() if value or name not in _SELDOM}
