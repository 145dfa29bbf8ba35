"""The rows that everything is timed on, and how big they are."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], tuple[Floats, Floats]]

MONTE_CARLO_ROWS = 50_000  # rows of the LS-ECE comparison: the estimator's kernel matrix has 10 000 times as many entries


@dataclass(frozen=True)
class Data:
    """Outcomes and predictions, both float64, and what is made of them for some of the calls."""

    case: str
    y: Floats
    f: Floats

    def __len__(self) -> int:
        return len(self.y)

    def head(self, n: int) -> "Data":
        """The first n rows."""
        return self if n >= len(self) else Data(self.case, self.y[:n], self.f[:n])

    @cached_property
    def labels(self) -> NDArray[np.uint8]:
        """The outcomes in the type that the other libraries are fastest with."""
        return self.y.astype(np.uint8)

    @cached_property
    def weight(self) -> Floats:
        """Weights between ½ and 2."""
        return 0.5 + 1.5 * np.random.default_rng(len(self)).random(len(self))

    @cached_property
    def held(self) -> dict[str, Any]:
        """The rows as other libraries hold them, made by whoever needs them first."""
        return {}

    @cached_property
    def soft(self) -> Floats:
        """Soft labels, a little below the predictions."""
        return self.f**1.3


def _uniform(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    f = rng.random(n)
    return f, f


def _rounded(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    f = np.round(rng.random(n), 2)
    return f, f


def _rare(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    f = rng.beta(2, 200, n)
    return f, f


def _miscalibrated(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    f = rng.random(n)
    return f, f**1.3


CASES: Mapping[str, Draw] = MappingProxyType(
    {"uniform": _uniform, "rounded": _rounded, "rare": _rare, "miscalibrated": _miscalibrated}
)

DESCRIPTIONS = MappingProxyType(
    {
        "uniform": "calibrated, scores uniform on [0, 1]",
        "rounded": "calibrated, uniform scores rounded to 0.01",
        "rare": "calibrated, scores from Beta(2, 200)",
        "miscalibrated": "uniform scores f, outcomes with probability f^1.3",
    }
)


def make(case: str, n: int, seed: int) -> Data:
    """n rows of a case; the same seed gives the same rows."""
    rng = np.random.default_rng([seed, list(CASES).index(case), n])
    f, truth = CASES[case](rng, n)
    return Data(case, (rng.random(n) < truth).astype(np.float64), f)


def power(n: int) -> str:
    """A number of rows for people.

    Examples
    --------
    >>> power(10**7), power(50_000), power(131_072)
    ('1e7', '5e4', '131072')
    """
    digits = str(n).rstrip("0")
    return f"{digits}e{len(str(n)) - len(digits)}" if len(digits) == 1 else str(n)


def sizes(text: str) -> tuple[int, ...]:
    """Row counts written as 1e4,1e6.

    Examples
    --------
    >>> sizes("1e4,2000")
    (2000, 10000)
    """
    return tuple(sorted(set(_counts(text))))


def _counts(text: str) -> Iterator[int]:
    for word in text.split(","):
        count = float(word)
        if count != int(count) or not 1000 <= count <= 1e9:
            raise ValueError(f"{word!r} is not a whole number of rows between 1000 and 1e9")
        yield int(count)
