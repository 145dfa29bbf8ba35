"""What an experiment works with: how much to do, draws, files, a place for figures."""

import io
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from reproductions.findings import Finding
from trueness.errors import InputError

Step = TypeVar("Step")

STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "font.size": 9.0,
    "legend.frameon": False,
    "legend.fontsize": "small",
    "svg.fonttype": "none",
    "svg.hashsalt": "trueness",  # the same bytes again
}


class MissingDataError(InputError):
    """A part needs a file that is not there."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table, a figure or a theorem of a paper: the function that redoes it."""

    title: str
    run: "Callable[[Lab], Iterable[Finding]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper and its experiments, in the order of the table."""

    title: str
    citation: str
    experiments: tuple[Experiment, ...]


@dataclass(slots=True, kw_only=True)
class Lab:
    """One run of one paper.

    Parameters
    ----------
    quick : bool
        Fewer draws and smaller sizes: at most three minutes.
    data : str, optional
        The folder with the real data.
    out : str, optional
        Where figures go; without it they are drawn and thrown away.
    form : str
        png or svg.
    seed : int
        From which every experiment's own seed comes.
    progress : callable, optional
        Called with what is done, how much of it, and of how much.
    """

    quick: bool = False
    data: str | None = None
    out: str | None = None
    form: str = "png"
    seed: int = 0
    progress: Callable[[str, int, int | None], None] | None = None
    figures: list[str] = field(default_factory=list)
    doing: str = ""

    def either(self, quick: Step, full: Step) -> Step:
        """The first in a quick run, the second in a full one."""
        return quick if self.quick else full

    def rng(self, name: str) -> np.random.Generator:
        """Draws of their own for a part: the same whatever ran before it."""
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])

    def steps(self, parts: Iterable[Step], total: int | None = None) -> Iterator[Step]:
        """Go through the parts and tell how far it is."""
        if total is None and isinstance(parts, Sequence | range):
            total = len(parts)
        for done, part in enumerate(parts):
            if self.progress is not None:
                self.progress(self.doing, done, total)
            yield part
        if self.progress is not None and total is not None:
            self.progress(self.doing, total, total)

    def file(self, name: str, origin: str) -> str:
        """The path of a data file; `MissingDataError` says what is needed and where it comes from."""
        path = None if self.data is None else os.path.join(self.data, name)
        if path is None or not os.path.isfile(path):
            where = "pass --data DIR, a folder with" if self.data is None else f"{self.data!r} does not hold"
            raise MissingDataError(f"{where} {name} ({origin}).")
        return path

    @contextmanager
    def figure(self, name: str, *, width: float = 7.2, height: float = 3.6) -> Iterator[Any]:
        """A matplotlib Figure to draw on, written under `name` when the block ends."""
        import matplotlib as mpl
        from matplotlib.figure import Figure

        with mpl.rc_context({**mpl.rcParamsDefault, **STYLE, "backend": mpl.rcParams["backend"]}):
            drawn = Figure(figsize=(width, height), layout="constrained")
            yield drawn
            content = io.BytesIO()
            kept = {"Date": None} if self.form == "svg" else {}
            drawn.savefig(content, format=self.form, dpi=160, metadata=kept)
        if self.out is not None:
            path = os.path.join(self.out, f"{name}.{self.form}")
            with open(f"{path}.part", "wb") as part:
                part.write(content.getvalue())
            os.replace(part.name, path)
            self.figures.append(path)
