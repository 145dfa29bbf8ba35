"""One door to the reliability curves."""

from collections.abc import Callable
from typing import Literal

from trueness._types import Rng, Values
from trueness.curves.binned_curve import BinnedCurve, binned_curve
from trueness.curves.isotonic_curve import IsotonicCurve, isotonic_curve
from trueness.curves.local_curve import LocalCurve, local_curve
from trueness.curves.smooth_curve import SmoothCurve, smooth_curve
from trueness.data.sample import Given
from trueness.errors import InputError
from trueness.options import check_choice

_OPTIONS = {
    "local": ("bandwidth", "scale", "band", "level", "rng"),
    "smooth": ("bandwidth", "level", "rng"),
    "binned": ("bins", "strategy", "level"),
    "isotonic": ("level", "rng"),
}


def reliability_curve(
    y_true: Given,
    y_prob: Values | None = None,
    *,
    kind: Literal["local", "smooth", "binned", "isotonic"] = "local",
    bandwidth: float | Literal["smooth_ece"] | None = None,
    scale: Literal["probability", "logit"] | None = None,
    band: Literal["pointwise", "simultaneous"] | None = None,
    bins: int | None = None,
    strategy: Literal["uniform", "quantile"] | None = None,
    level: float = 0.95,
    rng: Rng = None,
    sample_weight: Values | None = None,
) -> LocalCurve | SmoothCurve | BinnedCurve | IsotonicCurve:
    """What happened as a function of what was predicted; a perfect model lies on the diagonal but for noise.

    Parameters
    ----------
    y_true : array-like or Summary
        Outcomes in {0, 1}, soft labels in [0, 1], or a summary in place of both arrays (not for "isotonic" or quantile bins).
    y_prob : array-like
        Predicted probabilities.
    kind : {"local", "smooth", "binned", "isotonic"}
        Lines fitted near each score, so that perfect predictions come out as the diagonal; averaged by SmoothECE's kernel,
        which is as wide as the error is large; averaged by bins; or fitted by isotonic regression.
    bandwidth : float or "smooth_ece", optional
        Of the kernel. By default found by cross-validation ("local", on its scale), or the one that `smooth_ece` finds
        ("smooth", for which it can be asked for by this name).
    scale : {"probability", "logit"}, optional
        Where the kernel lives ("local"); by default logits where more than half of the weight lies within 0.1 of an end.
    band : {"pointwise", "simultaneous"}, optional
        Whether bands hold at each score by itself, the default, or everywhere at once ("local").
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
    LocalCurve, SmoothCurve, BinnedCurve or IsotonicCurve
        With columns as attributes, ``table()``, ``to_dict()`` and ``plot(ax=None)``.

    Examples
    --------
    >>> curve = reliability_curve([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], kind="binned", bins=2)
    >>> [float(x) for x in curve.outcome]
    [0.0, 1.0]
    """
    check_choice("kind", kind, tuple(_OPTIONS))
    given = {"bandwidth": bandwidth, "scale": scale, "band": band, "bins": bins, "strategy": strategy, "rng": rng}
    options = {name: value for name, value in given.items() if value is not None}
    for name in options:
        if name not in _OPTIONS[kind]:
            raise InputError(f'{name}: kind="{kind}" has no such option; it takes {", ".join(_OPTIONS[kind])}.')
    if kind == "smooth" and isinstance(bandwidth, str) and bandwidth == "smooth_ece":
        del options["bandwidth"]
    make: Callable[..., LocalCurve | SmoothCurve | BinnedCurve | IsotonicCurve]
    make = {"local": local_curve, "smooth": smooth_curve, "binned": binned_curve, "isotonic": isotonic_curve}[kind]  # type: ignore[assignment]
    return make(y_true, y_prob, level=level, sample_weight=sample_weight, **options)
