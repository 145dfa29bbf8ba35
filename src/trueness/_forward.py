"""The one way from a result to what shows it: by name, and only when asked.

Modules import to the left alone (the order of the design), yet a curve has `.plot()` and an assessment `.report()`.
"""

from importlib import import_module
from typing import Any


def forward(module: str, name: str) -> Any:
    """A function of a module further right."""
    return getattr(import_module(f"trueness.{module}"), name)
