"""
How do I mend it?
=================

Two ways to mend the same model, fitted on one half of the rows and judged on the other.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.isotonic import IsotonicRegression

import trueness
from trueness.demo import make_demo

y_true, y_prob, _ = make_demo(30_000)
fit, judge = slice(0, 15_000), slice(15_000, None)
predictions = {
    "as it was": y_prob[judge],
    "smooth": trueness.SmoothRecalibrator(bandwidth=0.02)
    .fit(y_prob[fit], y_true[fit])
    .predict(y_prob[judge]),
    "isotonic": IsotonicRegression(out_of_bounds="clip", y_min=1e-3, y_max=1 - 1e-3)
    .fit(y_prob[fit], y_true[fit])
    .predict(y_prob[judge]),
}
print(
    trueness.compare(
        y_true[judge], predictions, metrics=["smooth_ece", "brier_score", "log_loss"]
    )
)

# %%

trueness.plot_compare(
    y_true[judge], predictions, figure=plt.figure(figsize=(9.6, 4.6), layout="constrained")
)

# %%
# Which error is left? Compare with the noise floor of these rows, not with 0.

for name, prediction in predictions.items():
    value = trueness.smooth_ece(y_true[judge], prediction)
    floor = trueness.noise_floor(y_true[judge], prediction, resamples=199, rng=0)
    moved = np.abs(prediction - y_prob[judge]).mean()
    print(
        f"{name:10} SmoothECE {value:.4f}, floor {floor:.4f}, moved by {moved:.4f} on average"
    )
