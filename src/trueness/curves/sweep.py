"""How much a binned error depends on its bins: the sweep over their number."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trueness._types import Floats, Values
from trueness.curves.curve import Curve
from trueness.data.sample import Given, as_sample
from trueness.errors import InputError
from trueness.metrics.binned import binned_ece
from trueness.metrics.logit_smoothed import logit_smoothed_ece
from trueness.metrics.smooth import smooth_ece
from trueness.options import check_bin_counts

BINS = (1, 2, 3, 5, 8, 10, 15, 20, 25, 50, 100)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinSweep(Curve):
    """Binned ECE over the number of bins, with the measures that have none beside it."""

    bins: Floats
    binned_ece: Floats
    logit_smoothed_ece: Floats  # at bandwidth 1/bins
    smooth_ece: float
    strategy: str
    norm: str
    weighting: str
    n: int

    columns = ("bins", "binned_ece", "logit_smoothed_ece")


def bin_sweep(
    y_true: Given,
    y_prob: Values | None = None,
    *,
    bins: Iterable[int] | int = BINS,
    strategy: Literal["uniform", "quantile"] = "uniform",
    norm: Literal["l1", "l2"] = "l1",
    weighting: Literal["mass", "width"] = "mass",
    sample_weight: Values | None = None,
) -> BinSweep:
    """Binned ECE for several numbers of bins, LS-ECE at bandwidth 1/bins, and SmoothECE.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays (numbers of bins on its ruler).
    y_prob : array-like
        Predicted probabilities.
    bins : sequence of int
        Numbers of bins.
    strategy, norm, weighting
        As for `binned_ece`.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    BinSweep
    """
    counts = check_bin_counts(bins)
    if not counts:
        raise InputError("bins: no numbers of bins. Pass at least one, for example (5, 10, 20).")
    settings: dict[str, Any] = {"strategy": strategy, "norm": norm, "weighting": weighting}
    sample = as_sample(y_true, y_prob, sample_weight)
    return BinSweep(
        bins=np.array(counts),
        binned_ece=np.array([binned_ece(sample, bins=count, **settings) for count in counts]),
        logit_smoothed_ece=np.array([logit_smoothed_ece(sample, bandwidth=1 / count) for count in counts]),
        smooth_ece=smooth_ece(sample),
        strategy=strategy,
        norm=norm,
        weighting=weighting,
        n=sample.n,
    )
