"""Sums: the ruler they lie on, their columns, the summary itself and its file."""
