"""Brute-force twins of every measure, written from MATH.md alone: slow, obvious, and sharing no line with the library.

Every function takes ``(y, f, w=None, ...)``: outcomes (hard or soft), predictions, weights. Sums that decide a digit go
through ``math.fsum``. Smooth integrals are piecewise Chebyshev interpolants of direct kernel sums, integrated exactly
between their roots, which is good to about 1e-13.
"""

import functools
import itertools
import math
from collections import namedtuple
from fractions import Fraction

import numpy as np
from numpy.polynomial import chebyshev
from scipy import optimize, sparse, special

CLIP = 1e-10  # of the prediction before its logit, nowhere else


def rows(y, f, w=None):
    """Float64 arrays of the rows with positive weight."""
    y, f = np.asarray(y, dtype=np.float64), np.asarray(f, dtype=np.float64)
    w = np.ones(len(f)) if w is None else np.asarray(w, dtype=np.float64)
    keep = w > 0
    return y[keep], f[keep], w[keep]


def runs(y, f, w=None):
    """Distinct scores in order, with the total weight and the total weighted residual of each, divided by W."""
    y, f, w = rows(y, f, w)
    total = math.fsum(w)
    scores = np.unique(f)
    order = np.argsort(f, kind="stable")
    starts = np.searchsorted(f[order], scores)
    groups = np.split(order, starts[1:])
    mass = np.array([math.fsum(w[g]) for g in groups]) / total
    residual = np.array([math.fsum(w[g] * (y[g] - f[g])) for g in groups]) / total
    return scores, mass, residual


# ---------------------------------------------------------------------------------------------- binned (MATH 2)


def uniform_cells(f, bins, closed="left"):
    """[k/m, (k+1)/m) with the last closed, or (k/m, (k+1)/m] with the first closed, against the float64 edges k/m."""
    edges = np.array([k / bins for k in range(1, bins)])
    return np.searchsorted(edges, f, side="right" if closed == "left" else "left")


def quantile_cells(f, w, bins):
    """Bin of each row: boundary j is the end of the run at which the cumulative weight first reaches jW/B(1 - 1e-9)."""
    total = math.fsum(w)
    scores = np.unique(f)
    weight_of = {s: math.fsum(w[f == s]) for s in scores}
    cell_of, passed, boundary = {}, [], 0
    for s in scores:
        cell_of[s] = boundary
        passed.append(weight_of[s])
        cumulative = math.fsum(passed)
        while boundary < bins - 1 and cumulative >= (boundary + 1) * total / bins * (1 - 1e-9):
            boundary += 1
    return np.array([cell_of[s] for s in f], dtype=int)


def binned_ece(
    y, f, w=None, *, bins=15, strategy="uniform", norm="l1", weighting="mass", closed="left", debias=False, power=False
):
    """Binned calibration error; ``power=True`` gives the l2 sum before its square root."""
    y, f, w = rows(y, f, w)
    total = math.fsum(w)
    cell = uniform_cells(f, bins, closed) if strategy == "uniform" else quantile_cells(f, w, bins)
    order = np.argsort(cell, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(cell[order])) + 1)  # the rows of each non-empty bin
    lowest = [f[here].min() for here in groups] + [1.0]
    terms, gaps = [], []
    for j, here in enumerate(groups):
        weight = math.fsum(w[here])
        gap = math.fsum(w[here] * (y[here] - f[here])) / weight
        gaps.append(abs(gap))
        if weighting == "mass":
            share = weight / total
        else:
            share = 1 / bins if strategy == "uniform" else lowest[j + 1] - lowest[j]
        square = gap * gap
        if debias:
            n, mean = len(here), math.fsum(y[here]) / weight
            square = square - mean * (1 - mean) / (n - 1) if n > 1 else 0.0
        terms.append(share * (abs(gap) if norm == "l1" else square))
    if norm == "max":
        return max(gaps)
    value = max(0.0, math.fsum(terms))
    return math.sqrt(value) if norm == "l2" and not power else value


def soft_mean_ece(y, f, w=None, *, bins=10):
    return binned_ece(y, f, w, bins=bins)


# ---------------------------------------------------------------------------------- integrals of |kernel sums|

DEGREE = 24
NODES = chebyshev.chebpts1(DEGREE + 1)
TO_COEFFICIENTS = np.linalg.inv(chebyshev.chebvander(NODES, DEGREE))
ANTIDERIVATIVE = chebyshev.chebint(np.eye(DEGREE + 1))
FROM_END_TO_END = chebyshev.chebval(1.0, ANTIDERIVATIVE) - chebyshev.chebval(-1.0, ANTIDERIVATIVE)


def integral_abs(values, panels):
    """Integral of |F| over the panels [(a, b), ...]; ``values(t)`` gives F at an array of points within one panel."""
    return math.fsum(_panel_abs(values, a, b) for a, b in panels)


def _panel_abs(values, a, b):
    middle, half = (a + b) / 2, (b - a) / 2
    coefficients = TO_COEFFICIENTS @ values(middle + half * NODES)
    size = np.abs(coefficients)
    if size.max() == 0.0:
        return 0.0
    if size[0] > size[1:].sum():  # F has one sign here
        return half * abs(float(FROM_END_TO_END @ coefficients))
    significant = int(np.flatnonzero(size > 1e-16 * size.max())[-1]) + 1
    roots = chebyshev.chebroots(coefficients[:significant])
    real = roots.real[np.abs(roots.imag) < 1e-5]
    cuts = sorted([-1.0, *real[np.abs(real) < 1].tolist(), 1.0])  # a cut where F has no root does no harm
    antiderivative = chebyshev.chebvander(np.array(cuts), DEGREE + 1) @ (ANTIDERIVATIVE @ coefficients)
    return half * math.fsum(np.abs(np.diff(antiderivative)))


def _panels(points, sigma, low=-np.inf, high=np.inf, widest=np.inf):
    """Panels of at most two sigma covering everything within nine sigma of a point, cut to [low, high]."""
    out = []
    start = max(low, points[0] - 9 * sigma)
    width = min(2 * sigma, widest)
    for left, right in zip(points, [*points[1:].tolist(), np.inf], strict=True):
        if right - left > 18 * sigma or right == np.inf:
            stop = min(high, left + 9 * sigma)
            if stop > start:
                edges = np.linspace(start, stop, max(1, math.ceil((stop - start) / width)) + 1)
                out += list(itertools.pairwise(edges))
            start = max(low, right - 9 * sigma)
    return out


def _gaussian_sums(t, points, coefficients, sigma):
    """Direct sums over the points (sorted) within nine sigma of the t's, which lie close together."""
    i, j = np.searchsorted(points, [t.min() - 9 * sigma, t.max() + 9 * sigma])
    z = (t[:, None] - points[i:j]) / sigma
    return np.exp(-0.5 * z * z) @ coefficients[i:j] / (sigma * math.sqrt(2 * math.pi))


def _reflected(scores, coefficients, sigma):
    """All images 2k + s and 2k - s within nine sigma of [0, 1], sorted, with their coefficients."""
    reach = math.ceil((9 * sigma + 2) / 2)
    points = np.concatenate([2 * k + sign * scores for k in range(-reach, reach + 1) for sign in (1, -1)])
    repeated = np.concatenate([coefficients] * (2 * (2 * reach + 1)))
    near = (points > -9 * sigma) & (points < 1 + 9 * sigma)
    order = np.argsort(points[near], kind="stable")
    return points[near][order], repeated[near][order]


# ------------------------------------------------------------------------------------------- SmoothECE (MATH 3)


def logit(f):
    f = np.clip(np.asarray(f, dtype=np.float64), CLIP, 1 - CLIP)
    return np.log(f) - np.log1p(-f)


def _positions(scores, scale):
    return logit(scores) if scale == "logit" else np.asarray([float(scale(s)) for s in scores])


def smooth_ece_at(y, f, w=None, *, sigma, scale="probability"):
    """smECE at a fixed bandwidth: the integral of |sum of residuals under the kernel|."""
    scores, _, residual = runs(y, f, w)
    return _smooth_at(scores, residual, sigma, scale)


def _smooth_at(scores, residual, sigma, scale):
    if scale == "probability":
        points, coefficients = _reflected(scores, residual, sigma)
        low, high = 0.0, 1.0
    else:
        points, coefficients = _positions(scores, scale), residual
        low, high = -np.inf, np.inf
    return integral_abs(
        lambda t: _gaussian_sums(t, points, coefficients, sigma), _panels(points, sigma, low, high, widest=2 * sigma)
    )


def smooth_ece(y, f, w=None, *, scale="probability"):
    """The bandwidth at which smECE_sigma = sigma."""
    scores, _, residual = runs(y, f, w)
    if scale == "probability":
        effective = residual
    else:  # scores that share a position (clipped ends) act as one
        positions = _positions(scores, scale)
        effective = np.array([math.fsum(residual[positions == p]) for p in np.unique(positions)])
    low, high = abs(math.fsum(residual)), math.fsum(np.abs(effective))
    if high < 1e-15:
        return 0.0
    if high - low <= 1e-15:
        return low

    def excess(sigma):
        return _smooth_at(scores, residual, sigma, scale) - sigma

    if low > 0 and excess(low) <= 0:
        return low
    if excess(high) >= 0:  # up to rounding: scores so far apart that the kernels do not meet
        return high
    left = high / 2  # walk down: small bandwidths are dear
    while left > low and excess(left) < 0:
        left /= 2
    return optimize.brentq(excess, max(left, low), high, xtol=1e-14, rtol=1e-13)


def smooth_ece_area(y, f, w=None, *, sigma=None, scale="probability"):
    """Eq. 7: the area between the smooth reliability curve and the diagonal, weighted by the density of predictions."""
    sigma = smooth_ece(y, f, w, scale=scale) if sigma is None else sigma
    if sigma == 0:  # no score is off: the limit of a vanishing bandwidth
        return 0.0
    if scale == "logit":  # in u = logit(t) the same integral is LS-ECE's
        return ls_ece_gaussian(y, f, w, sigma=sigma)
    scores, mass, residual = runs(y, f, w)
    outcome = residual + mass * scores
    points, columns = _reflected(scores, np.stack([outcome, mass], axis=1), sigma)

    def difference(t):
        sums = _gaussian_sums(t, points, columns, sigma)
        return sums[:, 0] - t * sums[:, 1]

    return integral_abs(difference, _panels(points, sigma, 0.0, 1.0, widest=1.0))


# ---------------------------------------------------------------------------------------------- LS-ECE (MATH 4)


def outcomes(y, f, w=None):
    """Weight of outcomes 1 and 0 at each distinct score, divided by W; a soft label is a mixture of the two."""
    y, f, w = rows(y, f, w)
    order = np.argsort(f, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(f[order])) + 1)
    pairs = [(math.fsum(w[g] * y[g]), math.fsum(w[g] * (1 - y[g]))) for g in groups]
    return np.array(pairs) / math.fsum(w)


def ls_ece_gaussian(y, f, w=None, *, sigma=1 / 15):
    points, columns = logit(np.unique(rows(y, f, w)[1])), outcomes(y, f, w)

    def difference(u):
        sums = _gaussian_sums(u, points, columns, sigma)
        return special.expit(-u) * sums[:, 0] - special.expit(u) * sums[:, 1]  # 1 - rho(u) would lose its digits

    return integral_abs(difference, _panels(points, sigma, widest=0.5))


def ls_ece_uniform(y, f, w=None, *, sigma=1 / 15):
    """Between breakpoints h +- sigma/2 the integrand is |A rho(-u) - B rho(u)|, A and B the weights of the outcomes."""
    y, f, w = rows(y, f, w)
    h, total = logit(f), math.fsum(w)
    order = np.argsort(h, kind="stable")
    h, one, zero = h[order], (w * y)[order], (w * (1 - y))[order]
    cuts = np.unique(np.concatenate([h - sigma / 2, h + sigma / 2]))
    pieces = []
    for a, b in itertools.pairwise(cuts):
        middle = (a + b) / 2
        i, j = np.searchsorted(h, [middle - sigma / 2, middle + sigma / 2])
        if i < j:
            A, B = math.fsum(one[i:j]), math.fsum(zero[i:j])
            root = math.log(A / B) if A > 0 and B > 0 else a
            for left, right in itertools.pairwise([a, root, b] if a < root < b else [a, b]):
                pieces.append(abs(A * _sigmoid_integral(-right, -left) - B * _sigmoid_integral(left, right)))
    return math.fsum(pieces) / (total * sigma)


def _sigmoid_integral(a, b):
    """ln((1 + e^b) / (1 + e^a)), with all digits however close a and b or far from 0."""
    return math.log1p(special.expit(a) * math.expm1(b - a))


# ------------------------------------------------------------------------------------------ cumulative (MATH 5)

Cumulative = namedtuple("Cumulative", "mad range sigma low high share mean_gap unique")


def cumulative_differences(y, f, w=None):
    """(scores, C) with C_0 = 0 first, in extended precision, read at the end of each run of equal scores."""
    y, f, w = rows(y, f, w)
    order = np.argsort(f, kind="stable")
    y, f, w = y[order], f[order], w[order]
    total = np.longdouble(math.fsum(w))
    sums = np.cumsum(w.astype(np.longdouble) * (y.astype(np.longdouble) - f)) / total
    last = np.append(f[1:] != f[:-1], True)
    return np.concatenate([[0.0], f[last]]), np.concatenate([[np.longdouble(0)], sums[last]])


def ecce(y, f, w=None):
    """All of ECCE; ``unique`` says whether both extremes are attained once (else ties decide the interval)."""
    y, f, w = rows(y, f, w)
    scores, c = cumulative_differences(y, f, w)
    top, bottom = int(np.argmax(c)), int(np.argmin(c))
    mad, spread = float(np.abs(c).max()), float(c.max() - c.min())
    total = math.fsum(w)
    hard = bool(np.all((y == 0) | (y == 1)))
    sigma = math.sqrt(math.fsum(w * w * (f * (1 - f) if hard else (y - f) ** 2))) / total
    if spread == 0.0:
        return Cumulative(mad, spread, sigma, None, None, None, None, True)
    first, second = min(top, bottom), max(top, bottom)
    inside = (f <= scores[second]) & ((f > scores[first]) if first else np.ones(len(f), bool))
    weight = math.fsum(w[inside])
    gap = math.fsum(w[inside] * (y[inside] - f[inside])) / weight
    unique = int((c > c.max() - 1e-11).sum()) == 1 == int((c < c.min() + 1e-11).sum())
    return Cumulative(mad, spread, sigma, scores[first], scores[second], weight / total, gap, unique)


# -------------------------------------------------------------------------------------------- distances (MATH 8)


def weak_calibration_error(y, f, w=None):
    """The linear programme itself: sup sum c v over |v| <= 1 and |v' - v| <= distance of neighbouring scores."""
    scores, _, residual = runs(y, f, w)
    n = len(scores)
    if n == 1:
        return abs(float(residual[0]))
    step = sparse.diags_array([np.ones(n - 1), -np.ones(n - 1)], offsets=[1, 0], shape=(n - 1, n)).tocsr()
    gaps = np.diff(scores)
    answer = optimize.linprog(
        residual,
        A_ub=sparse.vstack([step, -step]),
        b_ub=np.concatenate([gaps, gaps]),
        bounds=(-1, 1),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert answer.status == 0, answer.message
    return max(0.0, -answer.fun)


def distance_to_calibration(y, f, w=None, *, grid=200):
    """Wasserstein distance to the nearest calibrated distribution, targets on a grid: at most 1/(2 grid) too high.

    Outcomes stay; predictions move. A soft label is the mixture of its two outcomes.
    """
    scores, mass, residual = runs(y, f, w)
    ones = residual + mass * scores
    source = np.stack([np.maximum(mass - ones, 0.0), np.maximum(ones, 0.0)])
    targets = np.unique(np.concatenate([np.arange(grid + 1) / grid, ones / mass]).clip(0, 1))
    n, m = len(scores), len(targets)
    cost = np.tile(np.abs(scores[:, None] - targets).ravel(), 2)  # index: outcome, score, target
    leave = sparse.kron(sparse.eye_array(2 * n), np.ones((1, m)))
    calibrated = sparse.hstack([sparse.kron(np.ones((1, n)), sparse.diags_array(d)) for d in (-targets, 1 - targets)])
    answer = optimize.linprog(
        cost,
        A_eq=sparse.vstack([leave, calibrated]).tocsr(),
        b_eq=np.concatenate([source.ravel(), np.zeros(m)]),
        bounds=(0, None),
        method="highs",
    )
    assert answer.status == 0, answer.message
    return answer.fun


# ------------------------------------------------------------------------------------------------ scores (MATH 9)

Decomposition = namedtuple("Decomposition", "score miscalibration discrimination uncertainty")


def brier_score(y, f, w=None):
    y, f, w = rows(y, f, w)
    return math.fsum(w * (y - f) ** 2) / math.fsum(w)


def log_loss(y, f, w=None):
    y, f, w = rows(y, f, w)
    terms = []
    for a, p, v in zip(y.tolist(), f.tolist(), w.tolist(), strict=True):
        if (a > 0 and p == 0) or (a < 1 and p == 1):
            return math.inf
        terms.append(-v * ((a * math.log(p) if a > 0 else 0.0) + ((1 - a) * math.log1p(-p) if a < 1 else 0.0)))
    return math.fsum(terms) / math.fsum(w)


def isotonic(y, f, w=None):
    """Isotonic regression of y on f by pooling neighbours, equal scores first; the fit at each row."""
    y, f, w = rows(y, f, w)
    blocks = []  # [weight, mean, scores]
    for s in np.unique(f):
        weight = math.fsum(w[f == s])
        blocks.append([weight, math.fsum(w[f == s] * y[f == s]) / weight, [s]])
        while len(blocks) > 1 and blocks[-2][1] >= blocks[-1][1]:
            (v, a, s1), (u, b, s2) = blocks[-2:]
            blocks[-2:] = [[u + v, (v * a + u * b) / (u + v), s1 + s2]]
    fit = {s: min(max(mean, 0.0), 1.0) for _, mean, members in blocks for s in members}
    return np.array([fit[s] for s in f])


def decompose(y, f, w=None, *, score="brier"):
    y, f, w = rows(y, f, w)
    measure = brier_score if score == "brier" else log_loss
    mean = math.fsum(w * y) / math.fsum(w)
    s_f, s_iso, s_mean = measure(y, f, w), measure(y, isotonic(y, f, w), w), measure(y, np.full(len(f), mean), w)
    return Decomposition(s_f, s_f - s_iso, s_mean - s_iso, s_mean)


# ------------------------------------------------------------------------------------------ continuity (MATH 4)


def ece_continuity_gap(truth, f, mass=None):
    truth, f, mass = rows(truth, f, mass)
    total = math.fsum(mass)
    distance = math.fsum(mass * np.abs(truth - f)) / total
    return distance - math.fsum(abs(math.fsum((mass * (truth - f))[f == s])) for s in np.unique(f)) / total


# ------------------------------------------------------------------------------------------------- ruler (MATH 1)


@functools.cache
def ruler_edges(bins=()):
    """Every edge as a fraction, shared ones once, then rounded to float64."""
    fine = 2**20
    edges = {Fraction(k, 2**14) for k in range(2**14 + 1)}
    edges |= {Fraction(k, fine) for k in range(2**14 + 1)} | {Fraction(fine - k, fine) for k in range(2**14 + 1)}
    for m in (100, 15, *bins):
        edges |= {Fraction(k, m) for k in range(m + 1)}
    return np.array([float(e) for e in sorted(edges)])


def ruler_cell(f, bins=()):
    return np.searchsorted(ruler_edges(tuple(bins))[1:-1], f, side="right")
