"""Rows from whatever holds them: containers, labels, alignment, and which rows cannot be used; only here are rows judged."""
