"""The noise floor: what a metric would be on average if the predictions were perfect."""

import math

from trueness._types import Rng, Values
from trueness.data.sample import Given, Sample, as_sample
from trueness.inference.clustering import both_ways
from trueness.inference.simulation import (
    Drawn,
    Needs,
    Progress,
    Resampling,
    refuse_soft,
    settled,
)
from trueness.metrics.drawing import Options
from trueness.metrics.registry import BoundMetric, bind
from trueness.options import check_count, check_progress, check_seed


def noise_floor(
    y_true: Given,
    y_prob: Values | None = None,
    *,
    metric: str = "smooth_ece",
    options: Options | None = None,
    resamples: int = 1999,
    rng: Rng = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    progress: Progress | None = None,
) -> float:
    r"""What a metric would be on average if the predictions were perfect.

    .. math:: \mathrm E\,T(y^*, f), \qquad y^*_i \sim \mathrm{Bernoulli}(f_i)

    at these scores and this number of rows. A finite sample of a perfect model has a positive calibration error: a value
    near the floor is no evidence of anything wrong. For ECCE with many rows it is the mean of its limit law,
    :math:`\sqrt{\pi/2}\,\sigma_n` (MAD) or :math:`\sqrt{8/\pi}\,\sigma_n` (range).

    Parameters
    ----------
    y_true : array-like, Summary or Record
        Outcomes in {0, 1}, or a summary, or a record of buckets of clusters, in place of both arrays. Soft labels have no
        floor: they are not events.
    y_prob : array-like
        Predicted probabilities.
    metric : str
        Name of a metric.
    options : mapping, optional
        The metric's options, for example ``{"bins": 20}``.
    resamples : int
        Draws of the outcomes.
    rng : None, int or numpy Generator
        Randomness; pass a seed for the same figure again.
    sample_weight : array-like, optional
        Weights ≥ 0.
    cluster : array-like, optional
        The cluster of each row, where rows of one are not independent: repeats of one question, visits of one patient. The
        floor is then that of draws that flip whole clusters, and never below that of independent rows.
    progress : callable, optional
        Called with the draws done and the draws in all.

    Returns
    -------
    float

    Examples
    --------
    >>> from trueness.demo import make_demo
    >>> y_true, y_prob, _ = make_demo()
    >>> round(noise_floor(y_true, y_prob, rng=0), 3)
    0.011
    """
    bound = bind(metric, options, what="metric")
    check_progress(progress)
    resamples, seed = check_count("resamples", resamples), check_seed(rng)
    sample = as_sample(y_true, y_prob, sample_weight, cluster=cluster)

    def floor(part: Sample) -> float:
        resampling = Resampling(part, [bound])
        refuse_soft(resampling.base, "noise_floor")
        drawn = None if resampling.uses_law(bound) else resampling.draw(seed, resamples, [Needs()], progress)[0]
        return floor_of(bound, drawn, resampling)

    return max(floor(part) for part in both_ways(sample))


def floor_of(bound: BoundMetric, drawn: Drawn | None, resampling: Resampling) -> float:
    """Mean under calibration: of the draws, or for ECCE with many points of its limit law."""
    if bound.law is not None and resampling.uses_law(bound):
        return bound.law.mean * math.sqrt(float(resampling.base.binomial.sum())) / resampling.base.total
    if drawn is None:
        raise RuntimeError("no draws were made")
    return settled(max(float(drawn.perfect.mean()), 0.0))
