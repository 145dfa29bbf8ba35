"""
Which model is better calibrated?
=================================

Three models on the same test rows. Is the difference real?
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

import trueness

X, y = make_classification(
    16_000, n_features=20, n_informative=4, n_redundant=10, random_state=1
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
models = {
    "logistic": LogisticRegression(max_iter=1000),
    "naive Bayes": GaussianNB(),
    "forest": RandomForestClassifier(60, min_samples_leaf=5, random_state=0),
}
predictions = {
    name: model.fit(X_train, y_train).predict_proba(X_test)[:, 1]
    for name, model in models.items()
}

# %%
# Calibration errors and scores are different questions, so they are ranked apart: a model may be better calibrated and worse.
# Two share a rank where chance could explain the order. Below stand the differences: both models saw the same rows, so the
# noise they share cancels, and the last column allows for the number of differences looked at.

found = trueness.compare(
    y_test, predictions, metrics=["smooth_ece", "ecce_r", "brier_score", "log_loss"]
)
print(found)

# %%

trueness.plot_compare(
    y_test, predictions, figure=plt.figure(figsize=(9.6, 4.6), layout="constrained")
)

# %%
# The forest has the lowest Brier score and is under-confident: votes of trees are averaged towards the middle. That can be
# mended; see the example on recalibration. A lack of discrimination cannot. Its log loss is infinite: it once said that
# something was impossible, and it happened.
