"""SmoothECE on many draws at once against the metric itself."""

import numpy as np
import pytest
from pairs import pairwise

from trueness import smooth_ece
from trueness.data.sample import as_sample
from trueness.data.scales import LOGIT, PROBABILITY
from trueness.metrics.smooth_norm import SmoothNorm

SCALES = {"probability": PROBABILITY, "logit": LOGIT}


@pairwise(
    "sigma, kind, scale",
    (0.003, 0.05, 0.19, 0.3, 0.5, 1.0, 20.0),
    ("ends", "uniform", "rare"),
    SCALES,
    unless=lambda sigma, _, scale: sigma < 0.01 and scale == "logit",
)
def test_draws_are_smoothed_as_the_metric_is(sigma, kind, scale):
    rng = np.random.default_rng(1)
    f = {"ends": np.repeat([0.01, 0.99], 50), "uniform": rng.random(200), "rare": rng.beta(2, 200, 200)}[kind]
    y = (rng.random(len(f)) < 0.5).astype(int)
    points = as_sample(y, f).points()
    found = SmoothNorm(points, SCALES[scale], sigma).of(points.e[None, :])[0]
    assert found == pytest.approx(smooth_ece(y, f, bandwidth=sigma, scale=scale), rel=0.02, abs=1e-9)
