"""What every curve can do: give its numbers as a table or a dictionary, and draw itself."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from trueness._frozen import frozen
from trueness._json import plain


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """Columns of equal length and the settings they were made with."""

    columns: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            if isinstance(array := getattr(self, field.name), np.ndarray):
                object.__setattr__(self, field.name, frozen(array))

    def table(self) -> dict[str, Any]:
        """The columns by name, as arrays: a data frame library takes this as it is."""
        return {name: getattr(self, name) for name in self.columns}

    def to_dict(self) -> dict[str, Any]:
        """All fields; arrays as lists, None for what is not defined."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve; returns the matplotlib Axes."""
        from trueness.plots.draw import draw

        return draw(self, ax)
