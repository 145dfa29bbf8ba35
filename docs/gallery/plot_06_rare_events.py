"""
My events are rare
==================

Fraud, failures, adverse events: one case in five hundred. Most scores lie below 0.01, and the usual diagram is a dot in a
corner.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueness

rng = np.random.default_rng(0)
risk = rng.beta(0.8, 400, 100_000)
happened = rng.random(100_000) < risk
claimed = np.clip(risk * 1.5, 0, 1)  # says half as much again
print(f"{happened.sum()} events in {happened.size} rows, a share of {happened.mean():.4f}")
print(f"mean prediction {claimed.mean():.4f}")

# %%
# In absolute terms the error is small, because the risks are. The test still finds it: it looks at the sums, and needs no bins.

print(trueness.calibration_test(happened, claimed))
print(f"SmoothECE       {trueness.smooth_ece(happened, claimed):.5f}")
print(f"perfect model   {trueness.noise_floor(happened, claimed, rng=0):.5f}")

# %%
# The diagram's axes go as far as the scores do, and the curve is smoothed on the scale of logits.

trueness.reliability_curve(happened, claimed, rng=0).plot()
plt.show()

# %%
# To see the smallest scores, too, group them by their quantiles and use logarithmic axes: 0.001 and 0.002 then lie apart.

curve = trueness.reliability_curve(
    happened, claimed, kind="binned", strategy="quantile", bins=12
)
figure, ax = plt.subplots(figsize=(5.2, 4.6), layout="constrained")
ax.plot(
    [1e-5, 0.02], [1e-5, 0.02], color="black", linewidth=0.8, linestyle="--", label="perfect"
)
held = curve.outcome > 0
reach = [curve.outcome - curve.low, curve.high - curve.outcome]
ax.errorbar(
    curve.prediction[held],
    curve.outcome[held],
    yerr=[side[held] for side in reach],
    fmt="o",
    color="#0072B2",
    capsize=2,
    label="12 bins of equal weight",
)
ax.set_xscale("log")
ax.set_yscale("log")
ax.set_xlabel("prediction")
ax.set_ylabel("share that happened")
ax.legend()
plt.show()

# %%
# With few events the limit law of the test is not to be trusted. ``calibration_test`` notices and simulates:

print(trueness.calibration_test(happened[:5_000], claimed[:5_000], rng=0))
