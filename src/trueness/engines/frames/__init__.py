"""Data frames → Summary: columns in memory, plans that run elsewhere, partitions."""
