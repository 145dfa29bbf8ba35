"""How sure: the laws, tests and intervals behind a measure of calibration."""

from trueness.inference import brownian

__all__ = ["brownian"]
