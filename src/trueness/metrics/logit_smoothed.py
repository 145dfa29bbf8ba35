"""LS-ECE: expected calibration error after noise on the logits (Chidambaram et al. 2024)."""

from typing import Any, Literal

import numpy as np

from trueness._types import Floats
from trueness.data.masses import (
    LOGIT,
    CellMasses,
    Masses,
    RowMasses,
    Smoothed,
    logit,
    sigmoid,
    sigmoid_link,
    window_for,
)
from trueness.data.sample import as_data, as_rows
from trueness.options import check_bandwidth, check_choice, check_count, check_rng
from trueness.summary.summary import Summary

_BLOCK = 1 << 21  # kernel values held at a time by the Monte Carlo estimator


def logit_smoothed_ece(
    y_true: Any,
    y_prob: Any = None,
    *,
    bandwidth: float = 1 / 15,
    noise: Literal["gaussian", "uniform"] = "gaussian",
    method: Literal["integral", "monte-carlo"] = "integral",
    draws: int = 10_000,
    rng: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Calibration error of the predictions after a little noise on their logits.

    .. math:: \mathrm{LS\text{-}ECE}_\xi = \int \Bigl|\frac1W \sum_i w_i\,(y_i - \rho(u))\,p_\xi(u - h_i)\Bigr|\,du, \qquad
              h_i = \ln\frac{f_i}{1 - f_i}, \quad \rho(u) = \frac{1}{1 + e^{-u}}

    Continuous in the predictions, unlike binned ECE. Smaller is better, but a calibrated model does not get 0: the noise
    itself moves predictions (0.069 at bandwidth 1). Scores are clipped to [1e-10, 1 − 1e-10] for the logit only.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays.
    y_prob : array-like
        Predicted probabilities.
    bandwidth : float
        σ in units of the logit, from 1e-10 to 1000: standard deviation of Gaussian noise, or full width of uniform noise. The
        paper's 1/bins. Gaussian noise needs about 1e-4 where scores spread over the whole range.
    noise : {"gaussian", "uniform"}
        Distribution of the noise ξ.
    method : {"integral", "monte-carlo"}
        Integrate exactly, or draw noisy predictions as the paper does (needs rows; slow and noisy, for comparison).
    draws : int
        Draws of the Monte Carlo method.
    rng : None, int or numpy Generator
        Randomness of the Monte Carlo method.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    float

    References
    ----------
    M. Chidambaram, H. Lee, C. McSwiggen, S. Rezchikov (2024). How flawed is ECE? An analysis via logit smoothing. ICML.

    Examples
    --------
    >>> round(logit_smoothed_ece([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9]), 6)
    0.250133
    """
    sigma = check_bandwidth(bandwidth, smallest=1e-10, largest=1000)
    check_choice("noise", noise, ("gaussian", "uniform"))
    check_choice("method", method, ("integral", "monte-carlo"))
    draws, generator = check_count("draws", draws), check_rng(rng)
    if method == "monte-carlo":
        rows = as_rows(y_true, y_prob, sample_weight, what='method="monte-carlo"').arrays
        return _monte_carlo(rows.y, logit(rows.f), rows.w, sigma, noise, draws, generator)
    data = as_data(y_true, y_prob, sample_weight)
    masses: Masses
    if isinstance(data, Summary):
        masses = CellMasses(data, LOGIT, ("outcome", "counter"), resolution=sigma)
    else:
        masses = RowMasses(data, LOGIT, ("outcome", "counter"))
    return _gaussian(masses, sigma) if noise == "gaussian" else _uniform(masses, sigma)


def _gaussian(masses: Masses, sigma: float) -> float:
    window = window_for(masses, sigma)
    return Smoothed(masses.tables(window, window.cells(sigma)), window, sigmoid_link).integral(sigma)


def _uniform(masses: Masses, sigma: float) -> float:
    """∫|(1 − ρ)A − ρB|/σ, A and B constant between the breakpoints h_i ± σ/2: exact by the antiderivative of ρ."""
    h, (outcome, counter) = masses.points()
    cuts = np.concatenate([h - sigma / 2, h + sigma / 2])
    order = np.argsort(cuts, kind="stable")
    cuts = cuts[order]
    a = np.cumsum(np.concatenate([outcome, -outcome])[order])[:-1]
    b = np.cumsum(np.concatenate([counter, -counter])[order])[:-1]
    empty = np.cumsum(np.repeat([1, -1], len(h))[order])[:-1] == 0
    a[empty] = b[empty] = 0.0
    low, high = cuts[:-1], cuts[1:]
    a, b = np.maximum(a, 0.0), np.maximum(b, 0.0)  # rounding may leave a trace of what has been taken away
    # The integrand changes sign where ρ(u) = A/(A + B), at most once in a piece.
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.log(a) - np.log(b)
    root = np.clip(np.where(np.isnan(root), low, root), low, high)
    return float((np.abs(_piece(a, b, low, root)) + np.abs(_piece(a, b, root, high))).sum() / sigma)


def _piece(a: Floats, b: Floats, low: Floats, high: Floats) -> Floats:
    """∫((1 − ρ)A − ρB) du from low to high."""
    return a * _sigmoid_integral(-high, -low) - b * _sigmoid_integral(low, high)


def _sigmoid_integral(low: Floats, high: Floats) -> Floats:
    """∫ρ du, by the antiderivative ln(1 + e^u); over a short piece by its middle, where the difference would lose digits."""
    width = high - low
    p, _, _, bend = sigmoid_link((low + high) / 2)
    short = width * (p + bend * width**2 / 24)
    return np.where(width < 1e-3, short, np.logaddexp(0, high) - np.logaddexp(0, low))


def _monte_carlo(y: Any, h: Floats, w: Floats | None, sigma: float, noise: str, draws: int, rng: np.random.Generator) -> float:
    """Mean of |Ê[Y | u] − ρ(u)| over noisy logits u, with kernel regression for the conditional mean."""
    weight = np.ones(len(h)) if w is None else w
    at = rng.choice(len(h), size=draws, p=weight / weight.sum())
    shift = rng.standard_normal(draws) if noise == "gaussian" else rng.uniform(-0.5, 0.5, draws)
    u = h[at] + sigma * shift
    total = 0.0
    step = max(1, _BLOCK // len(h))
    for start in range(0, draws, step):
        t = u[start : start + step]
        z = (t[:, None] - h) / sigma
        # Half-width σ/2 for both the noise and its kernel (the published code has σ for the kernel).
        # A draw at the very edge of its own row's kernel may round outside it; the tolerance keeps that row.
        kernel = np.exp(-0.5 * z * z) if noise == "gaussian" else (np.abs(z) <= 0.5 + 1e-9).astype(np.float64)
        kernel *= weight
        total += float(np.abs(kernel @ y / kernel.sum(axis=1) - sigmoid(t)).sum())
    return total / draws
