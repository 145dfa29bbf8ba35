"""The paper's synthetic data set: equispaced scores, also squared or square-rooted, and outcomes off by a staircase."""

import math
import random
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from reproductions.arrays import Floats

SEED = 987654321
PLACES = 7  # octal digits that the staircase reads
BASE = 32_768  # the sample size of most figures

KINDS: Mapping[str, Callable[[Floats], Floats]] = MappingProxyType(
    {"equispaced": lambda x: x, "squared": np.square, "square-rooted": np.sqrt}
)


class Sample(NamedTuple):
    """Outcomes and scores, in ascending order of the scores."""

    y: Floats
    f: Floats


def scores(kind: str, n: int) -> Floats:
    """(j + ½)/n for j = 0…n − 1, as they are, squared or square-rooted."""
    return KINDS[kind]((np.arange(n) + 0.5) / n)


def staircase(n: int) -> Floats:
    """A devil's staircase d in ascending order.

    Each of the seven octal digits of round(j·8⁷/n) gives a bit, 1 unless the digit is 0; the bits are read as a binary number
    and divided by its largest value, 2⁷ − 1.
    """
    octal = np.rint(np.arange(n) * 8.0**PLACES / n).astype(np.int64)
    bits = np.zeros(n, dtype=np.int64)
    for place in range(PLACES):
        bits += (octal >> 3 * place & 7 != 0).astype(np.int64) << place
    return np.sort(bits / 2**PLACES / (1 - 2.0**-PLACES))


def shifts(n: int) -> Floats:
    """What is added to the scores, whatever their kind: t_j = d_j − 1 + exp(−e² j/n)."""
    return staircase(n) - 1 + np.exp(-math.exp(2) * np.arange(n) / n)


def probabilities(kind: str, n: int) -> Floats:
    """The chance of success, score + t, where that is one: below 0 it never happens, which the paper leaves unsaid."""
    return np.clip(scores(kind, n) + shifts(n), 0.0, 1.0)


def uniforms(n: int) -> Floats:
    """What n calls of ``random.random()`` give after ``random.seed(987654321)``, all at once.

    Both Python and NumPy make a float of 53 bits from two words of the same Mersenne twister.
    """
    _, words, _ = random.Random(SEED).getstate()  # noqa: S311 (the paper's own draws)
    twister = np.random.MT19937()
    twister.state = {"bit_generator": "MT19937", "state": {"key": np.array(words[:-1], dtype=np.uint32), "pos": words[-1]}}
    return np.random.Generator(twister).random(n)


def outcomes(u: Floats, chance: Floats) -> Floats:
    """A success wherever u ≤ its chance."""
    return (u <= chance).astype(np.float64)


def sample(kind: str, n: int) -> Sample:
    """The data set of Figures 1–7, 35 and 36."""
    return Sample(outcomes(uniforms(n), probabilities(kind, n)), scores(kind, n))
