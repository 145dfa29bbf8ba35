"""One door to the three reliability curves."""

from collections.abc import Callable
from typing import Literal

from trueness._types import Rng, Values
from trueness.curves.binned_curve import BinnedCurve, binned_curve
from trueness.curves.isotonic_curve import IsotonicCurve, isotonic_curve
from trueness.curves.smooth_curve import SmoothCurve, smooth_curve
from trueness.data.sample import Given
from trueness.errors import InputError
from trueness.options import check_choice

_OPTIONS = {"smooth": ("bandwidth", "level", "rng"), "binned": ("bins", "strategy", "level"), "isotonic": ("level", "rng")}


def reliability_curve(
    y_true: Given,
    y_prob: Values | None = None,
    *,
    kind: Literal["smooth", "binned", "isotonic"] = "smooth",
    bandwidth: float | None = None,
    bins: int | None = None,
    strategy: Literal["uniform", "quantile"] | None = None,
    level: float = 0.95,
    rng: Rng = None,
    sample_weight: Values | None = None,
) -> SmoothCurve | BinnedCurve | IsotonicCurve:
    """What happened as a function of what was predicted; a perfect model lies on the diagonal but for noise.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays (not for "isotonic" or quantile bins).
    y_prob : array-like
        Predicted probabilities.
    kind : {"smooth", "binned", "isotonic"}
        Averaged by a kernel, by bins, or fitted by isotonic regression.
    bandwidth : float, optional
        Of the kernel ("smooth"); by default the one that `smooth_ece` finds.
    bins, strategy
        Number and kind of bins ("binned"); by default 15 of equal width.
    level : float
        Level of the bands, a fraction.
    rng : None, int or numpy Generator
        Randomness of consistency bands; by default a fixed seed.
    sample_weight : array-like, optional
        Weights ≥ 0.

    Returns
    -------
    SmoothCurve, BinnedCurve or IsotonicCurve
        With columns as attributes, ``table()``, ``to_dict()`` and ``plot(ax=None)``.

    Examples
    --------
    >>> curve = reliability_curve([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], kind="binned", bins=2)
    >>> [float(x) for x in curve.outcome]
    [0.0, 1.0]
    """
    check_choice("kind", kind, tuple(_OPTIONS))
    given = {"bandwidth": bandwidth, "bins": bins, "strategy": strategy, "rng": rng}
    options = {name: value for name, value in given.items() if value is not None}
    for name in options:
        if name not in _OPTIONS[kind]:
            raise InputError(f'{name}: kind="{kind}" has no such option; it takes {", ".join(_OPTIONS[kind])}.')
    make: Callable[..., SmoothCurve | BinnedCurve | IsotonicCurve]
    make = {"smooth": smooth_curve, "binned": binned_curve, "isotonic": isotonic_curve}[kind]  # type: ignore[assignment]
    return make(y_true, y_prob, level=level, sample_weight=sample_weight, **options)
