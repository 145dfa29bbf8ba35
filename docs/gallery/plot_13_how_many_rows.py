"""
How many rows do I need?
========================

You want to show that a model's SmoothECE is below 0.02. Even for a perfect model, too few rows cannot show it: the upper end
of the interval tells.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueness

rng = np.random.default_rng(0)
sizes = [500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000]
shapes = {"events about half": (1, 1), "events about one in ten": (1, 9)}
figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for (name, (a, b)), color in zip(shapes.items(), ("#0072B2", "#D55E00"), strict=True):
    upper = []
    for n in sizes:
        score = rng.beta(a, b, n)
        upper.append(trueness.confidence_interval(rng.random(n) < score, score, rng=0).high)
    ax.plot(sizes, upper, "o-", color=color, label=name)
    enough = next(n for n, high in zip(sizes, upper, strict=True) if high <= 0.02)
    print(f"{name}: {enough} rows show that a perfect model is below 0.02")
ax.axhline(0.02, color="black", linewidth=0.8, linestyle="--", label="wanted")
ax.set_xscale("log")
ax.set_ylim(bottom=0)
ax.set_xlabel("rows")
ax.set_ylabel("upper end of the 95 % interval of SmoothECE")
ax.legend()
plt.show()

# %%
# The upper end falls with the square root of n. A model with a true error of 0.015 needs more rows than a perfect one: there is
# less room below the limit.
