"""What a computation is given: ``sample`` is the one door, to rows (``row_sample``) or sums (``summary_sample``).

What both can be asked for: ``points`` to draw from (with ``binomials``), ``masses`` along one of the ``scales``, the extremes
of the cumulative differences (``row_extremes``), and ``certainties`` that were contradicted.
"""
