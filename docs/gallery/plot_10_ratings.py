"""
My predictions are ratings from 0 to 10
=======================================

Experts and language models give round numbers: many rows share a score. Here forecasters said 0 %, 10 %, …, 100 %.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueness

rng = np.random.default_rng(0)
said = rng.binomial(10, rng.beta(1.5, 1.5, 4_000)) / 10
happened = rng.random(4_000) < 0.08 + 0.84 * said  # says 0 and 100 % too readily

# %%
# With eleven scores there is nothing to choose: a dot a score, with its interval. The grey bars are where all dots would lie
# if the ratings were right.

curve = trueness.reliability_curve(happened, said)
ax = curve.plot()
ax.set_title("a dot a rating")
plt.show()

# %%
# Measures without bins take rows with equal scores together, so the order of the rows never matters. The test simulates,
# because the limit law needs more distinct scores.

inner = (said > 0) & (said < 1)
print(trueness.calibration_test(happened[inner], said[inner], rng=0))

# %%
# Whoever says 0 % and is wrong once is refuted, however many rows there are:

print(trueness.calibration_test(happened, said, rng=0))
print(f"said 0 %: happened {happened[said == 0].sum()} times of {np.sum(said == 0)}")
