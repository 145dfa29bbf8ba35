"""Values that JSON can hold."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Arrays as lists, results as dictionaries, None for numbers that are not finite."""
    if isinstance(value, np.datetime64 | np.timedelta64):  # whose nanoseconds would be listed as bare numbers
        return str(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
