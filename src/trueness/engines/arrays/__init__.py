"""Arrays → Summary: plain NumPy, and numba where it pays."""
