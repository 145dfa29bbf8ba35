"""Sums as values.

``ruler`` (the cells), ``summary`` (the sums of one set of rows), ``record`` (summaries under ``keys``), ``moments`` and
``spans`` (what metrics read off the sums), ``extremes`` (what the rows told beside them), ``coarse`` (fewer, wider cells),
``file`` and ``packed`` (the form on disk), ``invariants`` (what sums from elsewhere are held against).
"""
