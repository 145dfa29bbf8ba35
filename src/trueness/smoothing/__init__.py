"""Gaussian smoothing written once: cosine series, kernels, integrals of absolute values, the fixed point."""
