"""
When did my model begin to drift?
=================================

Forty days of predictions, kept as one summary a day. From day 25 on the model is a little too high.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueness

rng = np.random.default_rng(0)
days = []
for day in range(40):
    score = rng.beta(1, 3, 5_000)
    happened = rng.random(5_000) < score * (1.0 if day < 25 else 0.92)
    days.append(trueness.summarize(happened, score))

# %%
# Summaries add. A window of seven days is their sum; the rows are not needed any more.

windows = range(6, 40)
week = {day: sum(days[day - 6 : day + 1]) for day in windows}
intervals = {
    day: trueness.confidence_interval(week[day], metric="ecce_r", rng=0) for day in windows
}
log10_p = {day: trueness.calibration_test(week[day]).log10_pvalue for day in windows}

# %%
# Forty looks are forty chances of a false alarm. At 0.01 in all, each look has 0.01/40.

line = np.log10(0.01 / 40)
alarm = next(day for day in windows if log10_p[day] < line)
figure, (top, bottom) = plt.subplots(2, 1, figsize=(7.2, 5), layout="constrained", sharex=True)
top.fill_between(
    windows,
    [i.low for i in intervals.values()],
    [i.high for i in intervals.values()],
    color="#0072B2",
    alpha=0.25,
)
top.plot(windows, [i.value for i in intervals.values()], color="#0072B2")
top.set_ylabel("ECCE-R, 7 days")
top.set_ylim(bottom=0)
bottom.plot(windows, list(log10_p.values()), color="#0072B2")
bottom.axhline(line, color="#D55E00", linewidth=1, label="0.01/40")
bottom.set_ylabel("log10 p")
bottom.set_xlabel("day")
bottom.legend()
for ax in (top, bottom):
    ax.axvline(25, color="black", linewidth=0.8, linestyle="--")
plt.show()

# %%

print(f"alarm on day {alarm}; {trueness.ecce(sum(days[25:])).worst}")
