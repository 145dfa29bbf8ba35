"""Files of any size → Summary: DuckDB reads, the array engine reduces."""
