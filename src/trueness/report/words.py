"""What each column means, in plain words."""

COLUMNS = (
    ("value", "the metric on these rows"),
    ("interval", "made to hold the true value in at least that share of samples, also where the truth is 0"),
    ("noise floor", "what perfect predictions would get on average with these scores and this many rows"),
    ("p", "how often perfect predictions would look at least this far off; a large p never shows that a model is calibrated"),
    (
        "combined test",
        "five tests with different eyes on the same draws, their smallest p ranked among those of the draws: ranges (ECCE-R), "
        "slope and level (Cox), waves (Neyman), groups of scores (Hosmer-Lemeshow), narrow ranges (kernel)",
    ),
    (
        "at least, estimated",
        "the range was chosen because it looks bad, so its observed gap is too large: at least so much is certain at that "
        "level, whichever was chosen; from the estimate the noise of choosing is taken off",
    ),
)
