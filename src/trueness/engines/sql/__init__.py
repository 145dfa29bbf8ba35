"""The reduction as SQL text for a warehouse, and what its query returns."""
