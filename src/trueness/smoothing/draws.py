"""Many draws smoothed at once, and the integrals of their absolute values, to first order."""

import numpy as np

from trueness._types import Array, Floats
from trueness.smoothing.cosine import damping


def smoothed_norms(a: Floats, sigmas: Array, reach: float, nodes: int) -> Floats:
    """∫|g_σ| of each row of cosine coefficients for every σ, looked at on so many nodes a σ.

    Frequencies beyond `reach`/σ do not matter.
    """
    from scipy.fft import dct, next_fast_len

    norms, damped = np.empty((len(a), len(sigmas))), damping(sigmas[:, None], np.pi * np.arange(a.shape[1]))
    for j, sigma in enumerate(sigmas):
        last = min(int(reach / (np.pi * sigma)) + 1, a.shape[1] - 1)
        intervals = next_fast_len(max(16, last + 1, int(np.ceil(nodes / sigma))))
        padded = np.zeros((len(a), intervals + 1))
        padded[:, : last + 1] = a[:, : last + 1] * damped[j, : last + 1]
        norms[:, j] = linear_integrals(dct(padded, type=1), 1 / intervals)
    return norms


def linear_integrals(g: Floats, step: float, breaks: Floats | None = None) -> Floats:
    """∫|g| of each row at equal steps, exact where g is linear: a trapezoid rule, less what it adds at a change of sign."""
    size = np.abs(g)
    both = size[:, :-1] + size[:, 1:]
    crossing = g[:, :-1] * g[:, 1:] < 0
    lost = np.divide(size[:, :-1] * size[:, 1:], both, out=np.zeros_like(both), where=crossing)
    pieces = both / 2 - lost
    return np.asarray((pieces if breaks is None else pieces * breaks).sum(axis=1) * step)
