"""What each number means, in plain words."""

MEANINGS = {
    "smooth_ece": "How far predictions are from what happened, averaged over neighbouring scores by a kernel whose width "
    "chooses itself. Zero is best. A finite sample of a perfect model gets about the noise floor.",
    "binned_ece": "The same with scores sorted into bins: the mean gap between predictions and outcomes, weighted by rows. "
    "The value depends on the number of bins and grows with it on perfect predictions.",
    "soft_mean_ece": "Binned error against labels that are probabilities themselves. Zero is best.",
    "logit_smoothed_ece": "The error after a little noise on the logits, so that it cannot jump when scores move. It is not "
    "exactly zero for a perfect model, since the noise itself moves predictions.",
    "ecce_mad": "The largest total error of all predictions up to some score. Needs no bins; errors of opposite sign in "
    "neighbouring ranges cancel.",
    "ecce_r": "The largest total error over any range of scores: how much is off there times how many rows are there. The "
    "range is named in the verdict.",
    "weak_calibration_error": "The largest error that any smooth rule for adjusting the predictions could find.",
}

COLUMNS = (
    ("value", "the metric on these rows"),
    ("interval", "holds the true value in at least that share of samples, also where the truth is 0"),
    ("noise floor", "what perfect predictions would get on average with these scores and this many rows"),
    ("p", "how often perfect predictions would look at least this far off; a large p never shows that a model is calibrated"),
)
