"""
Where is it off, and how sure is that?
======================================

Most of these predictions are perfect. Those between 0.2 and 0.4 are 8 points too high. A single number would say 0.016 and
leave you searching.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueness

rng = np.random.default_rng(0)
score = rng.random(100_000)
truth = np.where((score > 0.2) & (score < 0.4), score - 0.08, score)
happened = rng.random(100_000) < truth

error = trueness.ecce(happened, score)
print(f"SmoothECE {trueness.smooth_ece(happened, score):.4f}")
print(error.worst)
print(trueness.calibration_test(happened, score))

# %%
# ECCE adds up the differences in the order of the score. The range between the largest and the smallest sum is the worst
# one: no other range has a larger total error. The plot shades it.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.6), layout="constrained")
trueness.reliability_curve(happened, score, kind="binned", bins=20).plot(left)
trueness.cumulative_curve(happened, score).plot(right)
plt.show()

# %%
# The curve falls from 0.2 to 0.4 and is flat elsewhere, but for noise. Where it is flat the ends of the worst range wander:
# read the curve as well. The ends are found from the same rows, so check them on other rows before you act on them.
