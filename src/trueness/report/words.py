"""What each column means, in plain words."""

COLUMNS = (
    ("value", "the metric on these rows"),
    ("interval", "holds the true value in at least that share of samples, also where the truth is 0"),
    ("noise floor", "what perfect predictions would get on average with these scores and this many rows"),
    ("p", "how often perfect predictions would look at least this far off; a large p never shows that a model is calibrated"),
)
