"""What chance alone would do, drawn row by row as MATH 5 to 7 define it: no groups of scores, no cells, no library.

Draws are arrays with one draw a row. ``residuals`` are w(y* − f) of outcomes drawn as predicted, ``flipped`` are w(y − f)
with random signs; ``ecce``, ``binned``, ``smooth_norm``, ``smooth`` and ``logit_norms`` are norms of either, and
``logit_smoothed`` is the metric of draws under calibration.
"""

import math

import numpy as np
from scipy import sparse, special, stats
from scipy.fft import dct


def outcomes(rng, f, draws):
    """Outcomes as if every prediction were right."""
    return rng.random((draws, len(f))) < f


def residuals(rng, f, draws, w=None):
    """w(y* − f) of outcomes drawn as predicted."""
    e = outcomes(rng, f, draws) - np.asarray(f)
    return e if w is None else e * w


def flipped(rng, y, f, draws, w=None):
    """w(y − f) with random signs."""
    e = np.asarray(y, dtype=np.float64) - f
    return rng.choice([-1.0, 1.0], size=(draws, len(f))) * (e if w is None else e * w)


def total_of(f, w):
    return float(len(f)) if w is None else math.fsum(w)


def ecce(e, f, w=None):
    """(ECCE-MAD, ECCE-R) of every draw: C read at the end of each run of equal scores, C_0 = 0 included (MATH 5)."""
    order = np.argsort(f, kind="stable")
    last = np.append(f[order][1:] != f[order][:-1], True)
    c = np.cumsum(e[:, order], axis=1)[:, last] / total_of(f, w)
    high, low = np.maximum(c.max(axis=1), 0), np.minimum(c.min(axis=1), 0)
    return np.maximum(high, -low), high - low


def binned(e, f, w=None, *, bins=15, cells=None):
    """Σ over bins of |Σ w r| / W: l1 ECE by mass (MATH 2). ``cells`` gives the bin of each row where not of equal width."""
    if cells is None:
        cells = np.searchsorted(np.array([k / bins for k in range(1, bins)]), f, side="right")
    gaps = [np.abs(e[:, cells == b].sum(axis=1)) for b in range(bins)]
    return sum(gaps) / total_of(f, w)


def binned_signed(e, y, f, w=None, *, bins=15, cells=None, events=True):
    """The same where a bin keeps the sign of its observed gap if that is 3.6 standard errors, the larger of two, from 0."""
    if cells is None:
        cells = np.searchsorted(np.array([k / bins for k in range(1, bins)]), f, side="right")
    w = np.ones(len(f)) if w is None else w
    total = 0.0
    for b in range(bins):
        own, drawn = cells == b, e[:, cells == b].sum(axis=1)
        gap = math.fsum(w[own] * (y[own] - f[own]))
        error = math.fsum((w[own] * (y[own] - f[own])) ** 2)
        error = math.sqrt(max(error, math.fsum(w[own] ** 2 * f[own] * (1 - f[own])) if events else 0.0))
        total = total + (drawn * np.sign(gap) if abs(gap) > 3.6 * error else np.abs(drawn))
    return total / math.fsum(w)


def smooth_signed(e, y, f, sigma, w=None):
    """smECE_σ of every draw by direct sums, where g keeps its observed sign if that is 4.5 standard errors from 0."""
    w = np.ones(len(f)) if w is None else w
    t = (np.arange(math.ceil(10 / sigma)) + 0.5) / math.ceil(10 / sigma)
    mirrors = (f, -f, 2 - f)
    kernel = sum(np.exp(-0.5 * ((t[:, None] - x) / sigma) ** 2) for x in mirrors) / (sigma * math.sqrt(2 * math.pi))
    variance = np.maximum(kernel**2 @ (w * (y - f)) ** 2, kernel**2 @ (w**2 * f * (1 - f)))
    seen = kernel @ (w * (y - f))
    g = kernel @ e.T
    certain = np.abs(seen) > 4.5 * np.sqrt(variance)
    return np.where(certain[:, None], g * np.sign(seen)[:, None], np.abs(g)).mean(axis=0) / math.fsum(w)


def cosines(e, f, w=None, *, finest):
    """a_k of every draw (MATH 3) for all k that matter from the bandwidth ``finest`` on."""
    k = np.arange(math.ceil(8.6 / (math.pi * finest)) + 1)
    return e @ np.cos(math.pi * np.outer(f, k)) / total_of(f, w)


def smooth_norm(a, sigma):
    """smECE_σ of every draw from its a_k; ``sigma`` a number, or one a draw. |g| by trapezoids a tenth of σ wide or less."""
    sigma = np.broadcast_to(np.asarray(sigma, dtype=np.float64), len(a))[:, None]
    nodes = max(a.shape[1], math.ceil(10 / float(sigma.min())))
    spectrum = np.zeros((len(a), nodes + 1))
    k = np.arange(a.shape[1])
    spectrum[:, : len(k)] = a * np.exp(-0.5 * (sigma * math.pi * k) ** 2)
    g = np.abs(dct(spectrum, type=1))  # a_0 + 2 Σ a_k cos(πkt) at t = 0, 1/nodes, …, 1
    return (g.sum(axis=1) - (g[:, 0] + g[:, -1]) / 2) / nodes


def smooth_norm_direct(e, f, sigma, w=None):
    """The same by direct sums of the kernels, the reflected ones too; for bandwidths too narrow for many cosines."""
    points = np.concatenate([f, -f, 2 - f])
    order = np.argsort(points, kind="stable")
    t = np.linspace(0, 1, math.ceil(10 / sigma) + 1)
    first, last = np.searchsorted(points[order], [t - 7 * sigma, t + 7 * sigma])
    row = np.repeat(np.arange(len(t)), last - first)
    column = order[np.arange(len(row)) - np.repeat(np.cumsum(last - first) - (last - first) - first, last - first)]
    z = (t[row] - points[column]) / sigma
    density = np.exp(-0.5 * z * z) / (sigma * math.sqrt(2 * math.pi))
    kernel = sparse.csr_array((density, (row, column % len(f))), shape=(len(t), len(f)))
    g = np.abs(kernel @ e.T)
    return (g.sum(axis=0) - (g[0] + g[-1]) / 2) * t[1] / total_of(f, w)


def smooth(e, f, w=None, *, finest, length=1.0, steps=16):
    """SmoothECE of every draw: the σ at which smECE_σ = σ, by bisection of its logarithm from ``finest`` to 1.

    With ``length`` below 1 the right end is reflected there, which is as good where no kernel reaches it, and cheaper.
    """
    a = cosines(e, f / length, w, finest=finest / length)
    low, high = np.full(len(a), math.log(finest)), np.zeros(len(a))
    for _ in range(steps):
        middle = (low + high) / 2
        sigma = np.exp(middle)
        above = np.empty(len(a), dtype=bool)
        for part in np.array_split(np.argsort(sigma), min(8, len(a))):  # each on as many nodes as its narrowest kernel needs
            needed = a[part][:, : math.ceil(8.6 * length / (math.pi * sigma[part].min())) + 1]
            above[part] = smooth_norm(needed, sigma[part] / length) > sigma[part]
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    assert np.all(low > math.log(finest)), "a draw lies below the finest bandwidth"
    assert length == 1 or f.max() + 5 * np.exp(high.max()) < length, "a kernel reaches the end"
    return np.exp((low + high) / 2)


def logit_kernel(f, sigma, noise):
    """p_ξ(u − h) at points u, sparse, and the length each u stands for: a fine lattice (Gaussian), or exact steps (uniform)."""
    h = np.log(f) - np.log1p(-f)
    order = np.argsort(h, kind="stable")
    if noise == "uniform":
        reach, cuts = sigma / 2, np.unique(np.concatenate([h - sigma / 2, h + sigma / 2]))
        u, lengths = (cuts[:-1] + cuts[1:]) / 2, np.diff(cuts)
    else:
        reach, u = 7 * sigma, np.arange(h.min() - 7 * sigma, h.max() + 7 * sigma, sigma / 8)
        lengths = np.full(len(u), sigma / 8)
    first, last = np.searchsorted(h[order], [u - reach, u + reach])
    row = np.repeat(np.arange(len(u)), last - first)
    column = order[np.arange(len(row)) - np.repeat(np.cumsum(last - first) - (last - first) - first, last - first)]
    z = (u[row] - h[column]) / sigma
    density = np.full(len(z), 1 / sigma) if noise == "uniform" else np.exp(-0.5 * z * z) / (sigma * math.sqrt(2 * math.pi))
    return u, lengths, sparse.csr_array((density, (row, column)), shape=(len(u), len(h)))


def logit_norms(e, f, w=None, *, sigma=1 / 15, noise="gaussian"):
    """∫ |(1/W) Σ e p_ξ(u − h)| du of every draw (MATH 7)."""
    _, lengths, kernel = logit_kernel(f, sigma, noise)
    return lengths @ np.abs(kernel @ e.T) / total_of(f, w)


def logit_smoothed(e, f, w=None, *, sigma=1 / 15):
    """LS-ECE of every draw (MATH 4): y − ρ(u) is the residual y − f and, whatever the outcome, f − ρ(u)."""
    u, lengths, kernel = logit_kernel(f, sigma, "gaussian")
    weight = np.ones(len(f)) if w is None else w
    offset = kernel @ (weight * f) - special.expit(u) * (kernel @ weight)
    return lengths @ np.abs(kernel @ e.T + offset[:, None]) / total_of(f, w)


def label_variance(y, f, w=None):
    """Σw²Var(y | f) of soft labels, row by row, and whether residuals are believed: of either sign as good as 60 equal ones.

    Labels of 0 and 1 as events: the larger of Σw²r² and Σw²f(1 − f); the others Σw²r², or the larger of it and
    Σw²(f(1 − f) − y(1 − y)). Where Σw²r² of the former is 4 standard errors too small for events, they are as the others.
    """
    rows = list(zip(y, f, np.ones(len(f)) if w is None else w, strict=True))
    ends = [row for row in rows if row[0] in (0, 1)]
    lack = sum(w * w * (f * (1 - f) - (y - f) ** 2) for y, f, w in ends)
    if lack > 4 * math.sqrt(sum(w**4 * f * (1 - f) * (1 - 2 * f) ** 2 for _, f, w in ends)):
        ends = []
    others = [row for row in rows if row[0] not in (0, 1)] if ends else rows
    sizes = [[w * abs(y - f) for y, f, w in others if sign * (y - f) > 0] for sign in (1, -1)]
    believed = all(sum(size) ** 2 >= 60 * sum(x * x for x in size) > 0 for size in sizes)

    def own(some):
        return math.fsum((w * (y - f)) ** 2 for y, f, w in some)

    def lacking(some):
        return math.fsum(w * w * (f * (1 - f) - y * (1 - y)) for y, f, w in some)

    return max(own(ends), lacking(ends)) + (own(others) if believed else max(own(others), lacking(others))), believed


def ecce_upper_limit(y, f, w, level, *, spread):
    """max over all ranges I of |C(I)| + its own reach; from 0 alone for ECCE-MAD. O(n²)."""
    z, total = stats.norm.ppf((1 + level) / 2), math.fsum(w)
    order = np.argsort(f, kind="stable")
    last = np.append(np.flatnonzero(np.diff(f[order])), len(f) - 1)

    def sums(column):
        return np.append(0.0, np.cumsum(column[order])[last])

    r, w2 = y - f, w * w
    c, bs, v2, net, count, bent = (sums(x) for x in (w * r, w2 * r * r, w2 * f * (1 - f), w2 * r, w2, w2 * abs(1 - 2 * f)))
    most = 0.0
    for a in range(len(c) if spread else 1):
        size = (c[a + 1 :] - c[a]) / total
        own, null, rows, skew, lean = (x[a + 1 :] - x[a] for x in (bs, v2, count, bent, net))
        shift = size**2 * count[-1] - 2 * size * lean
        variance = (np.maximum(own, null) + np.maximum(shift, 0)) / total**2
        bend = skew / rows * z / 2 * count[-1] / total**2
        most = max(most, float(np.max(np.abs(size) + bend * z + z * np.sqrt(variance + bend**2), initial=0.0)))
    return min(most, 1.0)


def same_share(share, draws, other, others, *, errors=4):
    """Whether two shares of draws differ by no more than chance: ``errors`` standard errors of both, and one draw."""
    p = (share * draws + other * others) / (draws + others)
    error = math.sqrt(max(p * (1 - p), 1 / (draws + others)) * (1 / draws + 1 / others))
    return abs(share - other) <= errors * error + 1 / draws + 1 / others
