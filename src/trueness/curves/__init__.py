"""Numbers for a picture, nothing drawn: ``smooth_curve``, ``binned_curve`` and ``isotonic_curve`` behind ``reliability``,
``cumulative_curve``, and the ``sweep`` over numbers of bins. ``curve`` is what all of them can do.
"""
