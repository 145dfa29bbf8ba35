"""
How many bins?
==============

None, if you can. If you must: look at what the number does. The true error of these rows is known, 0.0506.
"""

import matplotlib.pyplot as plt

import trueness
from trueness.demo import TRUE_ERROR, make_demo

figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.2), layout="constrained", sharey=True)
for ax, n in zip(axes, (1_000, 50_000), strict=True):
    y_true, y_prob, _ = make_demo(n)
    trueness.bin_sweep(y_true, y_prob).plot(ax)
    ax.axhline(
        TRUE_ERROR, color="black", linewidth=1, linestyle=":", label=f"truth {TRUE_ERROR:.3g}"
    )
    ax.set_title(f"{n} rows")
    ax.legend(fontsize="small", loc="lower right")
plt.show()

# %%
# On 1 000 rows every number of bins gives another value, and all beyond ten are too large. On 50 000 rows ten to a hundred bins
# agree. Too few bins hide the error in both: over- and under-prediction cancel within a bin.

y_true, y_prob, _ = make_demo(1_000)
for bins in (2, 10, 15, 100):
    value = trueness.binned_ece(y_true, y_prob, bins=bins)
    floor = trueness.noise_floor(
        y_true, y_prob, metric="binned_ece", options={"bins": bins}, rng=0
    )
    print(f"{bins:4} bins: {value:.4f}, of a perfect model {floor:.4f}")
