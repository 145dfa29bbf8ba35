"""
My error is 0.03. Is that much?
===============================

That depends on the number of rows. A perfect model gets a positive error, too; the noise floor says how large.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueness

rng = np.random.default_rng(0)
sizes = [100, 300, 1_000, 3_000, 10_000, 30_000]
perfect, tilted, floors = [], [], []
for n in sizes:
    score = rng.random(n)
    perfect.append(trueness.smooth_ece(rng.random(n) < score, score))
    happened = rng.random(n) < score**1.15
    tilted.append(trueness.smooth_ece(happened, score))
    floors.append(trueness.noise_floor(happened, score, resamples=199, rng=0))

# %%
# The same value of 0.03 is noise on 500 rows and a finding on 10 000.

figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
ax.plot(sizes, floors, color="black", linestyle="--", label="noise floor")
ax.plot(sizes, perfect, "o", color="#009E73", label="a perfect model")
ax.plot(sizes, tilted, "s-", color="#0072B2", label="a model that is off by 0.035")
ax.axhline(0.03, color="#D55E00", linewidth=1, label="0.03")
ax.set_xscale("log")
ax.set_yscale("log")
ax.set_xlabel("rows")
ax.set_ylabel("SmoothECE")
ax.legend()
plt.show()

# %%
# Report the floor beside the value, and the interval, which contains the truth in 95 % of samples:

score = rng.random(10_000)
happened = rng.random(10_000) < score**1.15
for rows in (slice(0, 500), slice(None)):
    interval = trueness.confidence_interval(happened[rows], score[rows], rng=0)
    floor = trueness.noise_floor(happened[rows], score[rows], resamples=199, rng=0)
    size = f"{interval.value:.3f}, interval {interval.low:.3f} to {interval.high:.3f}"
    print(f"n = {interval.n:5}: {size}, floor {floor:.3f}")
