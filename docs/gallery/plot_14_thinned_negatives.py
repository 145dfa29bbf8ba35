"""
I kept only some of the negatives
=================================

Data sets often keep every positive and one negative in twenty. How do I judge a model that predicts for the world on rows
that were thinned?
"""

import matplotlib.pyplot as plt
import numpy as np

import trueness

rng = np.random.default_rng(0)
score = rng.beta(1, 30, 400_000)
happened = rng.random(400_000) < score
kept = happened | (rng.random(400_000) < 0.05)
happened, score = happened[kept], score[kept]
print(f"{happened.mean():.1%} events among the kept rows, mean prediction {score.mean():.1%}")

# %%
# Do not weight the negatives back when you test: weights must not depend on the outcome. Adjust the predictions instead.
# With all positives and a share k of the negatives kept, a model that is calibrated in the world must say
# f / (f + k (1 − f)) on the kept rows.

adjusted = score / (score + 0.05 * (1 - score))
for name, prediction in (("as predicted", score), ("adjusted", adjusted)):
    print(f"{name:12} {trueness.calibration_test(happened, prediction)}")

# %%

trueness.plot_compare(
    happened,
    {"as predicted": score, "adjusted for thinning": adjusted},
    figure=plt.figure(figsize=(9.6, 4.6), layout="constrained"),
)

# %%
# On the left the curve of the predictions as they are follows f / (f + k (1 − f)), the truth on the kept rows. It is drawn
# where at least 20 rows are near: these scores end at about 0.3.
