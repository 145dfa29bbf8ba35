"""
Is it calibrated for everyone?
==============================

A model can be calibrated as a whole and off in opposite ways for two groups.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueness

rng = np.random.default_rng(0)
n = 24_000
region = rng.choice(["north", "east", "south", "west"], n, p=[0.4, 0.3, 0.2, 0.1])
score = rng.random(n)
shift = np.select([region == "south", region == "north"], [-0.06, 0.03], 0.0)
happened = rng.random(n) < np.clip(score + shift, 0, 1)

# %%
# Every region is tested. P-values are adjusted for the number of tests (Holm), so that the chance of a false alarm in *any*
# of them stays at 5 %.

found = trueness.assess(happened, score, by=region)
print(found)

# %%
# Sizes with intervals are what to compare: p-values also reflect how many rows a group has.

names = sorted(set(region))
intervals = [
    trueness.confidence_interval(happened[region == name], score[region == name], rng=0)
    for name in names
]
figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for at, interval in enumerate(intervals):
    ax.plot(
        [interval.low, interval.high],
        [at, at],
        color="#0072B2",
        linewidth=3,
        solid_capstyle="butt",
    )
    ax.plot(interval.value, at, "o", color="#D55E00")
ax.set_yticks(
    range(len(names)),
    [f"{name} ({interval.n} rows)" for name, interval in zip(names, intervals, strict=True)],
)
ax.set_xlim(left=0)
ax.set_ylim(-0.5, len(names) - 0.5)
ax.set_xlabel("SmoothECE, 95 % interval")
plt.show()
