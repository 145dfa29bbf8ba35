"""What can be had without draws: expected binned errors, the floor of noise, the limits of the cumulative errors."""

import math
from typing import NamedTuple

import numpy as np

from reproductions.arrays import Floats
from reproductions.cumulative.synthetic import PLACES

DRAWS = 16  # observations in every bin of Figure 8


class Binned(NamedTuple):
    """Both binned errors; of a sample, or their means or standard deviations."""

    ece1: float
    ece2: float


def widths(f: Floats) -> Floats:
    """S¹_{j+1} − S¹_j of bins of sixteen scores, with 1 after the last (Section 2.1.1)."""
    return np.diff(np.append(f[::DRAWS], 1.0))


def binned_errors(y: Floats, f: Floats) -> Binned:
    """ECE¹ (4) and ECE² (3) of sorted, distinct scores in bins of sixteen: `binned_ece` with more than its 16,384 bins."""
    gap = np.abs((y - f).reshape(-1, DRAWS).mean(axis=1))
    width = widths(f)
    return Binned(float(width @ gap), float(width @ gap**2))


def successes(chance: Floats) -> Floats:
    """The law of the number of successes in each row of independent trials, one trial at a time."""
    law = np.zeros((len(chance), chance.shape[1] + 1))
    law[:, 0] = 1.0
    for trial in chance.T[:, :, None]:
        law[:, 1:] = law[:, 1:] * (1 - trial) + law[:, :-1] * trial
        law[:, :1] *= 1 - trial
    return law


def expected_errors(f: Floats, chance: Floats) -> tuple[Binned, Binned]:
    """Exact mean and standard deviation of ECE¹ and ECE² in bins of sixteen; the mean of ECE² is (9) and (18)."""
    width = widths(f)
    law = successes(chance.reshape(-1, DRAWS))
    gap = np.abs(np.arange(DRAWS + 1) / DRAWS - f.reshape(-1, DRAWS).mean(axis=1)[:, None])
    first, second, fourth = ((law * gap**power).sum(axis=1) for power in (1, 2, 4))
    mean = Binned(float(width @ first), float(width @ second))
    spread = Binned(math.sqrt(width**2 @ (second - first**2)), math.sqrt(width**2 @ (fourth - second**2)))
    return mean, spread


def floors(draws: int = DRAWS) -> Binned:
    r"""What ECE¹ and ECE² of calibrated scores tend to with `draws` observations in every bin.

    .. math:: \int_0^1 E\,|B/N - s|\,ds, \qquad \int_0^1 \frac{s(1-s)}{N}\,ds = \frac1{6N}, \qquad B \sim \mathrm{Bin}(N, s)

    the second is (8). By de Moivre :math:`E|B - Ns| = 2\nu\binom N\nu s^\nu(1-s)^{N-\nu+1}` with :math:`\nu = \lfloor Ns
    \rfloor + 1`, so that the first is a sum of incomplete beta integrals.
    """
    from scipy.special import beta, betainc, comb

    nu = np.arange(1, draws + 1)
    a, b = nu + 1, draws - nu + 2
    pieces = 2 * nu * comb(draws, nu) * beta(a, b) * (betainc(a, b, nu / draws) - betainc(a, b, (nu - 1) / draws))
    return Binned(float(pieces.sum()) / draws, 1 / (6 * draws))


def distances(f: Floats, chance: Floats) -> Binned:
    """What no noise and no bins would give: ∫|r(s) − s| ds and ∫(r(s) − s)² ds, by the scores' own widths."""
    width, gap = np.diff(np.append(f, 1.0)), np.abs(chance - f)
    return Binned(float(width @ gap), float(width @ gap**2))


def limiting_error(f: Floats, chance: Floats) -> float:
    """(14) at these scores: ∫ (r(s) − s)² + r(s)(1 − r(s))/16 ds."""
    return float(np.diff(np.append(f, 1.0)) @ ((chance - f) ** 2 + chance * (1 - chance) / DRAWS))


class Cumulative(NamedTuple):
    """Both cumulative errors; arrays where there are many samples."""

    mad: Floats
    range: Floats


def cumulative_errors(y: Floats, f: Floats) -> Cumulative:
    """ECCE-MAD (6) and ECCE-R (7) of many samples at once: rows of outcomes, or of their chances, at sorted distinct scores."""
    c = np.cumsum(y - f, axis=-1) / len(f)
    high, low = np.maximum(c.max(axis=-1), 0.0), np.minimum(c.min(axis=-1), 0.0)
    return Cumulative(np.maximum(high, -low), high - low)


def limits() -> tuple[float, float]:
    r"""(20) and (21) for the shifts t as n grows: extremes of :math:`T(x) = \int_0^x d(u) - 1 + e^{-e^2u}\,du`.

    The digits of a uniform number are 0 with chance 1/8, so d takes the value v/127 on a stretch of length
    :math:`7^b/8^7`, b the number of ones in v. T is concave on each stretch: its extremes are at ends of stretches or where
    d − 1 + exp(−e²x) = 0.
    """
    rate = math.exp(2)
    value = np.arange(2**PLACES)
    ones = np.array([v.bit_count() for v in value.tolist()])
    length = 7.0**ones / 8.0**PLACES
    end = np.cumsum(length)
    start = np.append(0.0, end[:-1])
    d = value / (2**PLACES - 1)
    before = np.append(0.0, np.cumsum(d * length)[:-1])  # ∫d up to the start of each stretch
    with np.errstate(divide="ignore"):
        crest = np.clip(-np.log1p(-d) / rate, start, end)  # inside, or at the end that is nearer to it
    x = np.concatenate([start, crest, end])
    total = np.concatenate([before, before + d * (crest - start), before + d * length])
    T = total - x - np.expm1(-rate * x) / rate
    return float(np.abs(T).max()), float(T.max() - T.min())
