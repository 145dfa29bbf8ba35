"""
Is my classifier calibrated?
============================

A naive Bayes classifier counts correlated features twice and is too sure of itself. How far off is it, and where?
"""

from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

import trueness

X, y = make_classification(
    20_000, n_features=20, n_informative=4, n_redundant=10, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = GaussianNB().fit(X_train, y_train)
y_prob = model.predict_proba(X_test)[:, 1]

# %%
# ``assess`` gives the whole answer; the first line is the verdict. In a notebook it shows as this table.

trueness.assess(y_test, y_prob)

# %%
# The picture of it:

trueness.plot_pair(y_test, y_prob)

# %%
# The curve on the left is too flat: where the model says 0.1 it happens more often, where it says 0.9 less often. That is
# over-confidence. The cumulative curve rises and falls far beyond the triangle of noise.
#
# scikit-learn users may prefer the display that they know:

trueness.CalibrationDisplay.from_estimator(model, X_test, y_test, kind="isotonic")
