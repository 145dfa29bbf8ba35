"""Files of any size → Summary: DuckDB reads, the array engine reduces.

From the name to the sums: ``sources`` (which files are meant), ``delimited``, ``json_objects`` and ``parquet`` (one file as a
``table``), ``schema`` (that they agree), ``outcomes`` and ``group_codes`` (what becomes a number), ``reader`` (all rows as one
stream), ``pieces`` and ``reduction`` (sums), ``rows_again`` (exact extremes). Beside them: ``database`` and ``arrow`` (DuckDB
and its buffers), ``integrity`` and ``text_bytes`` (what it lets pass), ``checkpoint`` (going on after an interruption),
``held_rows`` and ``rows_on_disk`` (rows for what needs them). ``summarize_files`` and ``open_files`` are the doors.
"""
