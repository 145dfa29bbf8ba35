r"""Gaussian smoothing in the cosine basis.

On a window mapped to [0, 1] the reflected Gaussian kernel is diagonal in cos(πkt):

    Σ_i m_i K̃_σ(t, x_i) = a_0 + 2 Σ_{k≥1} exp(−σ²π²k²/2) a_k cos(πkt),    a_k = Σ_i m_i cos(πk x_i)

so the coefficients a_k, found once, serve every σ. All reflections are included exactly.
"""

import math

import numpy as np

from trueness._types import Array, Floats

CELLS_PER_BANDWIDTH = 8  # with moments to order 5 the grid then shows below 1e-9
REACH = 8.6  # exp(−8.6²/2) is below float64's resolution
_DERIVATIVE_SIGN = (1, -1, -1, 1, 1, -1)  # of cos, sin alternating: cos, −sin, −cos, sin, cos, −sin


def cosine_coefficients(moments: Floats) -> Floats:
    """a_k for k below the number of cells, from the moments [p, cell] of masses on equal cells of [0, 1]."""
    from scipy.fft import dct, dst

    cells = moments.shape[1]
    a = np.zeros(cells)
    argument = np.pi * np.arange(cells) / cells
    factor = np.full(cells, 0.5)  # scipy's transforms carry a factor 2
    even, odd = dct(moments[0::2], type=2), dst(moments[1::2], type=2)
    for p in range(len(moments)):
        if p:
            factor *= argument / p
        if p % 2 == 0:
            a += _DERIVATIVE_SIGN[p] * factor * even[p // 2]
        else:
            a[1:] += _DERIVATIVE_SIGN[p] * factor[1:] * odd[p // 2][:-1]
    return a


def intervals_for(sigma: float, nodes: int = 12) -> int:
    """Steps of [0, 1] that resolve features of width σ with so many nodes, a power of two."""
    return 1 << max(4, math.ceil(math.log2(nodes / sigma)))


def smoothed(a: Floats, sigma: float, intervals: int) -> tuple[Floats, Floats, Floats]:
    """The smoothed measure and its first two derivatives at the ends of equal intervals of [0, 1]."""
    from scipy.fft import dct, dst

    last = min(len(a) - 1, intervals - 1, int(REACH / (np.pi * sigma)))
    frequency = np.pi * np.arange(last + 1)
    damped = a[: last + 1] * damping(sigma, frequency)
    padded = np.zeros((3, intervals + 1))
    padded[0, : last + 1] = damped
    padded[1, : last + 1] = -frequency * damped
    padded[2, : last + 1] = -frequency * frequency * damped
    value, second = dct(padded[[0, 2]], type=1)
    first = np.zeros(intervals + 1)
    first[1:-1] = dst(padded[1, 1:-1], type=1)
    return value, first, second


def rough_size(a: Floats, sigma: float, intervals: int) -> float:
    """∫|g| of the smoothed measure by the trapezoid rule at the ends of equal intervals."""
    from scipy.fft import dct

    last = min(len(a) - 1, intervals - 1, int(REACH / (np.pi * sigma)))
    padded = np.zeros(intervals + 1)
    padded[: last + 1] = a[: last + 1] * damping(sigma, np.pi * np.arange(last + 1))
    size = np.abs(dct(padded, type=1))
    return float((size.sum() - (size[0] + size[-1]) / 2) / intervals)


def damping(sigma: float | Array, frequency: Array, share: float = 0.5) -> Floats:
    """What a kernel of width σ leaves of each frequency; a `share` of ¼ is that of the kernel squared, of width σ/√2."""
    return np.asarray(np.exp(-share * (sigma * frequency) ** 2), dtype=np.float64)


def smoothed_nodes(values: Floats, sigma: float) -> Floats:
    """∫K̃_σ(t, s) v(s) ds at equal steps of [0, 1], where `values` are v."""
    from scipy.fft import dct, idct

    return np.asarray(idct(dct(values, type=1) * damping(sigma, np.pi * np.arange(len(values))), type=1))


def smoothed_variance(mass: Array, total: float, sigma: float) -> Floats:
    """Σ m K_σ² over a total, in the middle of equal cells of [0, 1], from the masses of the cells.

    The kernel squared is a kernel of width σ/√2 over 2√π·σ; reflections that overlap are left out.
    """
    from scipy.fft import dct

    cells = len(mass)
    damped = dct(mass, type=2) / (2 * total) * damping(sigma * np.pi, np.arange(cells), 0.25)
    return np.asarray(np.maximum(dct(damped, type=3), 0.0) / (2 * np.sqrt(np.pi) * sigma))
