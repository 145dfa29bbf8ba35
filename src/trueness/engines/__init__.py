"""Where rows become sums, all by the same rule: each package holds one kind of source.

``arrays`` (NumPy, numba), ``frames`` (in memory, lazy, Dask), ``files`` (DuckDB), ``torch`` (tensors where they are) and
``sql`` (text for a warehouse). They share ``expressions``, the reduction as columns made from columns, and ``exact``, the
further passes over a source that find the extremes of its cumulative differences.
"""
