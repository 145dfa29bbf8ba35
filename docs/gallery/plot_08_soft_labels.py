"""
My labels are votes
===================

Seven annotators say whether a comment is toxic. The label is the share who said yes. Which of two models tells that share
better?
"""

import matplotlib.pyplot as plt
import numpy as np

import trueness

rng = np.random.default_rng(0)
latent = rng.normal(-0.5, 1.3, 12_000)
chance = 1 / (1 + np.exp(-latent))
votes = rng.binomial(7, chance) / 7
models = {"honest": chance, "exaggerates": 1 / (1 + np.exp(-1.8 * latent))}

# %%
# Taken as they are, the labels rank the models rightly. Cut at one half, they prefer the one that exaggerates: a share of 4 in
# 7 counts as certain then.

for name, prediction in models.items():
    soft = trueness.soft_mean_ece(votes, prediction)
    cut = trueness.binned_ece(votes >= 0.5, prediction, bins=10)
    print(f"{name:12} SMECE {soft:.4f}   ECE of the majority {cut:.4f}")

# %%

trueness.plot_compare(
    votes, models, figure=plt.figure(figsize=(9.6, 4.6), layout="constrained")
)

# %%
# The test for soft labels takes its noise from the residuals, not from the Bernoulli law:

for name, prediction in models.items():
    print(f"{name:12} {trueness.calibration_test(votes, prediction)}")
