"""Numbers for a picture, nothing drawn: ``local_curve``, ``smooth_curve``, ``binned_curve`` and ``isotonic_curve`` behind
``reliability``, ``cumulative_curve``, and the ``sweep`` over numbers of bins. ``curve`` is what all of them can do, ``limits``
are those of a mean outcome.
"""
