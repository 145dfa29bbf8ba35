"""The calls that this library is compared with: plain NumPy, and other libraries called as their documentation says.

Arguments go in each library's own order: torchmetrics, netcal and relplot take the predictions first.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import trueness
from benchmarks import monte_carlo
from benchmarks.data import Data
from benchmarks.item import Item, within
from benchmarks.targets import SORTING

BINS = 15

# Means of 10⁷ numbers in different orders; the bins of all libraries hold the same rows when no score lies on an edge.
MEANS = within(relative=1e-9, absolute=1e-12)
SUMMARIES = within(relative=1e-8)  # a summary keeps powers of scores to 2⁻³¹ of a cell
CUMULATED = within(absolute=1e-12)


def _importer(*modules: str) -> Callable[[], None]:
    def load() -> None:
        for module in modules:
            __import__(module)

    return load


def brier() -> list[Item]:
    """The mean squared error in NumPy: one number, where a summary serves every metric."""
    return [Item(measure="summarize", by="NumPy, Brier only", run=lambda d: np.mean((d.y - d.f) ** 2), check=SUMMARIES)]


def float_brier() -> list[Item]:
    """The same with weights, and with soft labels."""

    def weighted(d: Data) -> float:
        return float(np.sum(d.weight * (d.y - d.f) ** 2) / np.sum(d.weight))

    return [
        Item(measure="summarize, weighted", by="NumPy, Brier only", run=weighted, check=SUMMARIES),
        Item(measure="summarize, soft", by="NumPy, Brier only", run=lambda d: np.mean((d.soft - d.f) ** 2), check=SUMMARIES),
    ]


def binned_ece() -> list[Item]:
    """15-bin ECE of the three libraries people use most."""
    return [
        Item(measure="binned_ece", by="torchmetrics", run=_torchmetrics, check=MEANS, load=_importer("torch", "torchmetrics")),
        Item(measure="binned_ece", by="netcal", run=_netcal, check=MEANS, load=_importer("netcal.metrics")),
        Item(
            measure="binned_ece",
            by="scikit-learn",
            run=_calibration_curve,
            value=_ece_of_curve,
            check=MEANS,
            load=_importer("sklearn.calibration"),
        ),
    ]


def _torchmetrics(d: Data) -> float:
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    return float(binary_calibration_error(torch.from_numpy(d.f), torch.from_numpy(d.labels), n_bins=BINS, norm="l1"))


def _netcal(d: Data) -> float:
    from netcal.metrics import ECE

    return float(ECE(BINS).measure(d.f, d.labels))


def _calibration_curve(d: Data) -> Any:
    from sklearn.calibration import calibration_curve

    return calibration_curve(d.labels, d.f, n_bins=BINS)


def _ece_of_curve(curve: Any, d: Data) -> float:
    """scikit-learn returns no counts; they are found here, untimed, by its own rule, (a, b] without empty bins."""
    counts = np.bincount(np.searchsorted(np.linspace(0, 1, BINS + 1)[1:-1], d.f), minlength=BINS)
    share = counts[counts > 0] / len(d)
    return float(np.sum(share * np.abs(curve[0] - curve[1])))


def smooth_ece() -> list[Item]:
    """relplot, by the authors of SmoothECE."""
    return [
        Item(
            measure="smooth_ece",
            by="relplot",
            run=_relplot,
            value=lambda result, d: float(result[0]),
            check=_at_its_bandwidth,
            checks_result=True,
            load=_importer("relplot"),
            most=10**7,
        )
    ]


def _relplot(d: Data) -> tuple[float, float]:
    import relplot

    value, sigma = relplot.smECE(d.f, d.y, return_width=True)
    return float(value), float(sigma)


def _at_its_bandwidth(result: tuple[float, float], d: Data, ours: float) -> tuple[bool, str]:
    """relplot steps σ by 1/1024, so its fixed point is a little off; at the σ it stops at, both must say the same."""
    value, sigma = result
    same = trueness.smooth_ece(d.y, d.f, bandwidth=sigma)
    near = abs(value - same) <= 0.02 * same
    return near, f"{'yes' if near else 'NO'}, ours at its σ = {1024 * sigma:.0f}/1024 is {same:.6g}"


def ecce_r() -> list[Item]:
    """Sort all rows and cumulate."""
    return [Item(measure="ecce_r", by=SORTING, run=_sorted_ecce_r, check=CUMULATED)]


def _sorted_ecce_r(d: Data) -> float:
    order = np.argsort(d.f)
    f = d.f[order]
    c = np.cumsum(d.y[order] - f)
    c = c[np.append(f[1:] != f[:-1], True)]  # ends of runs of equal scores
    return float(max(c.max(), 0.0) - min(c.min(), 0.0)) / len(d)


def logit_smoothed_ece() -> list[Item]:
    """The paper's estimator, in NumPy and in torch."""

    def item(by: str, run: Callable[[Data], Any], *modules: str) -> Item:
        return Item(
            measure="logit_smoothed_ece",
            by=by,
            run=run,
            value=lambda result, d: float(result[0]),
            check=_within_its_noise,
            checks_result=True,
            load=_importer(*modules),
        )

    return [
        item("Monte Carlo, NumPy", monte_carlo.in_numpy),
        item("Monte Carlo, torch", monte_carlo.in_torch("float64"), "torch"),
        item("Monte Carlo, torch float32", monte_carlo.in_torch("float32"), "torch"),
    ]


def _within_its_noise(result: monte_carlo.Estimate, d: Data, ours: float) -> tuple[bool, str]:
    value, error = result
    off = (value - ours) / error
    return abs(off) <= 5, f"{'yes' if abs(off) <= 5 else 'NO'}, {off:+.1f} of its standard errors ({error:.1g})"
