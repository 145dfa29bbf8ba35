"""Scales along which scores are smoothed, and stretches of them."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trueness._types import Floats

LOGIT_CLIP = 1e-10


def logit(f: Floats) -> Floats:
    """ln(f/(1−f)), f clipped to [1e-10, 1 − 1e-10]."""
    clipped = np.clip(f, LOGIT_CLIP, 1 - LOGIT_CLIP)
    return np.log(clipped) - np.log1p(-clipped)


class Scale(NamedTuple):
    """A map from scores to positions; the probability scale reflects at its ends 0 and 1."""

    name: str
    position: Callable[[Floats], Floats]

    @property
    def reflects(self) -> bool:
        """Whether the kernel is reflected at 0 and 1."""
        return self.name == "probability"


PROBABILITY = Scale("probability", lambda f: f)
LOGIT = Scale("logit", logit)


class Window(NamedTuple):
    """An interval of positions, mapped to [0, 1] for the cosine basis."""

    low: float
    length: float


UNIT = Window(0.0, 1.0)
