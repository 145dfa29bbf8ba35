"""Data frames → Summary: ``dispatch`` chooses between columns read in place (``memory``), plans that run where they are
(``lazy``: polars, DuckDB, Ibis, Spark) and partitions (``dask``).
"""
