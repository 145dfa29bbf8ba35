"""
Can I trust a language model's confidence?
==========================================

A multiple-choice test gives logits for the letters A to D. Is the probability of the chosen letter how often it is right?
And does a temperature mend it?
"""

import matplotlib.pyplot as plt
import numpy as np

import trueness

rng = np.random.default_rng(0)
n = 6_000
answer = rng.integers(0, 4, n)
logits = rng.normal(size=(n, 4))
logits[np.arange(n), answer] += 1.5
logits *= 2.5  # sharpened, as training for preferences does
letters = list("ABCD")
label = np.array(letters)[answer]

right, confidence = trueness.top_label(label, logits, classes=letters, from_logits=True)
print(f"right {right.mean():.1%}, mean confidence {confidence.mean():.1%}")
print(trueness.assess(right, confidence).verdict)

# %%
# Find the temperature on one half of the questions, judge on the other.

fit, judge = slice(0, n // 2), slice(n // 2, None)


def loss(temperature):
    """Log loss of the right letter."""
    scaled = logits[fit] / temperature
    return float(
        np.mean(np.log(np.exp(scaled).sum(axis=1)) - scaled[np.arange(n // 2), answer[fit]])
    )


temperature = min(np.arange(0.5, 5, 0.05), key=loss)
pairs = {
    "as it comes": trueness.top_label(
        label[judge], logits[judge], classes=letters, from_logits=True
    ),
    f"temperature {temperature:.2f}": trueness.top_label(
        label[judge], logits[judge] / temperature, classes=letters, from_logits=True
    ),
}
right = pairs["as it comes"][0]
trueness.plot_compare(
    right,
    {name: pair[1] for name, pair in pairs.items()},
    figure=plt.figure(figsize=(9.6, 4.6), layout="constrained"),
)

# %%
# Top-label calibration says nothing about the other letters. One at a time:

for letter, (happened, probability) in trueness.one_vs_rest(
    label, logits, classes=letters, from_logits=True
).items():
    print(f"{letter}: SmoothECE {trueness.smooth_ece(happened, probability):.4f}")
