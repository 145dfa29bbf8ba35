"""Tensors → Summary, where they are."""
