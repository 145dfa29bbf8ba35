"""Every check of an option: what is no choice, no number or no seed is refused before anything is computed."""

import math
import os
import sys
from collections.abc import Mapping, Set
from typing import TypeGuard

import numpy as np

from trueness._types import Generator
from trueness._values import is_chunk, is_missing, lists, show
from trueness.errors import InputError

MAX_BINS = 2**14  # the ruler's coarse cells: more bins could not be unions of cells
MOST_DRAWS = 2**31  # more would never end
_HIGHEST_LEVEL = 0.9999  # beyond it an interval would need too many draws


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """An option that must be one of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name}: {show(value)} is not one of {', '.join(map(repr, choices))}.")


def check_options(nan: object, align: object = None, pos_label: object = None) -> None:
    """How rows are read: what becomes of missing values, how rows are matched, which label is the event."""
    if not isinstance(nan, str) or nan not in ("raise", "drop"):
        raise InputError(f"nan={show(nan)} is not a choice. Pass nan='raise' (the default) or nan='drop'.")
    if align is not None and not (isinstance(align, str) and align in ("position", "index")):
        raise InputError(
            f"align={show(align)} is not a choice. Pass align=None (the default), align='position' or align='index'."
        )
    if pos_label is not None and (is_missing(pos_label) or is_chunk(pos_label)):
        raise InputError(f"pos_label={show(pos_label)} is not a label. Pass the one value of y_true that means the event.")


def check_bins(bins: object) -> int:
    """A bin count as an int; anything but a whole number from 1 to 2^14 is an error."""
    if not _is_integer(bins) or not 1 <= bins <= MAX_BINS:
        raise InputError(
            f"bins: {show(bins)} is not a whole number from 1 to {MAX_BINS}. "
            "Pass the number of equal-width bins, for example bins=15 (bins=1 is calibration in the large)."
        )
    return int(bins)


def check_bandwidth(value: object, smallest: float = 0.0, largest: float = math.inf) -> float:
    """A positive finite number, within limits where a metric has some."""
    if not _is_real(value) or not 0 < value < math.inf or not smallest <= value <= min(largest, sys.float_info.max):
        limit = f" from {smallest:g} to {largest:g}" if largest < math.inf else ""
        raise InputError(
            f"bandwidth: {show(value)} is not a positive number{limit}. Pass the kernel's width, for example 0.05."
        )
    return float(value)


def check_level(level: object, highest: float = _HIGHEST_LEVEL) -> float:
    """A fraction, not a percentage."""
    if not _is_real(level) or not 0 < level < 1:
        raise InputError(f"level: {show(level)} is not a fraction in (0, 1). Pass for example 0.95, not 95.")
    if level > highest:
        raise InputError(
            f"level: {show(level)} is beyond {highest}, for which too many draws would be needed. Pass at most that."
        )
    return float(level)


def check_share(name: str, value: object) -> float:
    """A fraction between 0 and 1, neither of them."""
    if not _is_real(value) or not 0 < value < 1:
        raise InputError(f"{name}: {show(value)} is not a fraction in (0, 1). Pass for example 0.05.")
    return float(value)


def check_count(name: str, value: object) -> int:
    """A positive whole number, such as that of draws."""
    if not _is_integer(value) or value < 1:
        raise InputError(f"{name}: {show(value)} is not a positive whole number.")
    if value > MOST_DRAWS:
        raise InputError(f"{name}: {show(value)} is beyond {MOST_DRAWS}. Pass at most that.")
    return int(value)


def check_flag(name: str, value: object) -> bool:
    """Yes or no; a text such as "no" would count as yes."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name}: {show(value)} is not True or False.")
    return bool(value)


def check_bin_counts(bins: object) -> list[int]:
    """One bin count, or several."""
    return [check_bins(count) for count in (bins if lists(bins) else [bins])]


def check_names(name: str, value: object, example: str) -> tuple[str, ...]:
    """A list of names; one text alone is a list of letters."""
    if not lists(value) or isinstance(value, Mapping | Set):
        raise InputError(f"{name}: {show(value)} is not a list of names. Pass for example [{example!r}].")
    names = tuple(value)
    for each in names:
        if not isinstance(each, str):
            raise InputError(f"{name}: {show(each)} is not a name. Pass names as text, for example [{example!r}].")
    return names


def check_text(name: str, value: object) -> str:
    """A text, such as a title."""
    if not isinstance(value, str):
        raise InputError(f"{name}: {show(value)} is not a text. Pass a str.")
    return value


def check_path(name: str, value: object) -> str:
    """The name of a file, as text: a number would mean whatever file is open under it."""
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str):
        raise InputError(f"{name}: {show(value)} is not the name of a file. Pass a str or a pathlib.Path.")
    try:
        why = "it is empty" if not path else "it holds a zero byte" if b"\0" in os.fsencode(path) else ""
    except UnicodeEncodeError:
        why = "it is not valid Unicode"
    if why:
        raise InputError(f"{name}: {show(path)} cannot be the name of a file: {why}. Pass the name of one.")
    return path


def check_progress(progress: object) -> None:
    """Something to call while the work goes on, or nothing."""
    if progress is not None and not callable(progress):
        raise InputError(
            f"progress: {show(progress)} cannot be called. Pass a function of two numbers, what is done and all there is to do."
        )


def check_rng(rng: object) -> Generator:
    """A generator, made from None, a seed or itself."""
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(_require_seed(rng))


def check_seed(rng: object) -> int:
    """A whole number from which the same draws follow again; new for None, the next one of a generator."""
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    seed = _require_seed(rng)
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1) if seed is None else seed


def _require_seed(rng: object) -> int | None:
    if rng is None:
        return None
    if not _is_integer(rng) or rng < 0:
        raise InputError(f"rng: {show(rng)} is not None, a whole number from 0 on, or a numpy.random.Generator.")
    return int(rng)


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_real(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
