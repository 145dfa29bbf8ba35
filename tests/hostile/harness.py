"""The one rule: a documented result, or a `TruenessError` that names the argument; and the same result for the same values."""

import collections.abc
import contextlib
import dataclasses
import math
import os
import re
import signal
import types
import typing
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np
from hostile.clean import World
from hostile.surface import NOT_WITH, Target
from hostile.values import GIVEN_WHOLE, REFUSED, SAME, WRONG, kind_of

import trueness
from trueness import TruenessError, TruenessWarning

# What a message may call an argument besides its name.
ALIASES: dict[str, tuple[str, ...]] = {
    "axes": ("key",),
    "axis": ("axes",),
    "by": ("column", "group"),
    "cluster": ("column",),
    "frame": ("column",),
    "outcome": ("column",),
    "path": ("file",),
    "paths": ("file", "path"),
    "prediction": ("column",),
    "predictions": ("predictor", "compare"),
    "summaries": ("key",),
    "weight": ("column",),
    "y": ("y_true",),
    "y_true": ("frame", "summary", "summarie"),
}
LIMIT = 30  # seconds of computing for one call
WAITED = 300  # seconds on the clock, for a call that waits; a machine may have other things to do
PATHS = ("path", "paths", "resume")  # an operating system's own error is an answer here
CALLED_BACK = ("progress", "scale")  # what the caller's own function raises is the caller's
NOT_OURS = ("X", "deep")  # handed to the caller's estimator as it is; there for scikit-learn alone
FINE_AS_LOGITS = {"rows that do not add to 1", "below 0", "percentages", "above 1", "a little above 1", "logits", "huge"}
NEEDS_ANOTHER = {  # wrong only beside another column
    "one value short", "one value", "no values", "one value too many", "one row short", "no rows",
    "an index in another order", "other labels in the index",
}  # fmt: skip
BY_INDEX = {"an index in another order", "other labels in the index"}


class EndlessError(Exception):
    """A call that does not come to an end."""


class BrokenError(AssertionError):
    """A call that kept no promise."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One call: what is swept and which hostile value each parameter gets, by name."""

    target: Target
    hostile: Mapping[str, tuple[str, str]]  # parameter → (corpus, name)
    seed: int = 0

    @property
    def present(self) -> tuple[str, ...]:
        """Parameters of the call besides those that every call has: values that are the same are tried in all columns."""
        same = all(corpus == "same" for corpus, _ in self.hostile.values())
        return (*self.hostile, *(columns_of(self.target) if same else ()))

    def __str__(self) -> str:
        return f"from hostile.harness import again; again({str(self.target)!r}, {dict(self.hostile)!r}, seed={self.seed})"


def columns_of(target: Target, *, weights: bool = True) -> list[str]:
    """Parameters of a clean call that hold a column each."""
    kinds = {name: kind_of(str(target), name) for name in target.parameters}
    return [name for name, kind in kinds.items() if kind and (weights or not kind.startswith("weights"))]


def cases(target: Target, parameter: str) -> Iterator[Case]:
    """Every hostile value for one parameter."""
    if parameter in NOT_OURS:
        return
    kind = kind_of(str(target), parameter)
    others = [name for name in columns_of(target, weights=False) if name != parameter]
    for name in REFUSED.get(kind, ()):
        if others or name not in NEEDS_ANOTHER:
            yield Case(target, {parameter: ("refused", name)})
    for name in WRONG:
        yield Case(target, {parameter: ("wrong", name)})


def same_cases(target: Target) -> Iterator[Case]:
    """Every form that a target's columns can have, all of them at once."""
    columns = columns_of(target)
    kinds = {name: kind_of(str(target), name) for name in columns}
    for form in dict.fromkeys(form for kind in kinds.values() for form in SAME[kind]):
        yield Case(target, {name: ("same", form) for name, kind in kinds.items() if form in SAME[kind]})


def check(case: Case, world: World, clean: Any = None) -> str:
    """Make the call; "answered" or "refused" where the rule is kept, else `BrokenError`. `clean` is what it should equal."""
    target, rng = case.target, np.random.default_rng(case.seed)
    arguments = target.arguments(world, *case.present)
    by_index = any(value in BY_INDEX for _, value in case.hostile.values())
    for name in columns_of(target) if by_index else ():
        if name in arguments and arguments[name].ndim == 1:
            arguments[name] = SAME["scores"]["pandas"](arguments[name])
    clean_given = dict(arguments)
    for name, (corpus, value) in case.hostile.items():
        given = np.asarray(clean_given[name]) if by_index else clean_given[name]
        arguments[name] = _made(corpus, value, kind_of(str(target), name), given, rng)
    if any(callable(arguments[name]) for name in case.hostile if name in CALLED_BACK):
        return "left"
    try:
        found = attempt(lambda: target.call(world, arguments))
    except TruenessError as error:
        _require_refusal(case, arguments, str(error))
        return "refused"
    except OSError as error:
        if any(name in PATHS and isinstance(arguments[name], str | os.PathLike | bytes) for name in case.hostile):
            return "refused"
        raise BrokenError(f"{type(error).__name__}: {error}\n    {case}") from error
    except Exception as error:
        raise BrokenError(f"{type(error).__name__}: {_short(error)}\n    {case}") from error
    _require_answer(case, arguments, found, clean)
    return "answered"


def _made(corpus: str, name: str, kind: str, clean: Any, rng: np.random.Generator) -> Any:
    if corpus == "same":
        return SAME[kind][name](clean)
    return (REFUSED[kind] if corpus == "refused" else WRONG)[name](clean, rng)


def _require_refusal(case: Case, arguments: dict[str, Any], message: str) -> None:
    if all(corpus == "same" for corpus, _ in case.hostile.values()):
        raise BrokenError(f"refused although the values are the same: {message}\n    {case}")
    if not any(_names(message, case.target, name, arguments[name]) for name in case.hostile):
        raise BrokenError(f"does not name {', '.join(case.hostile)}: {_cut(message)}\n    {case}")
    if any(not letter.isprintable() and letter != "\n" for letter in message):
        raise BrokenError(f"prints what cannot be printed: {_cut(ascii(message))}\n    {case}")


def _require_answer(case: Case, arguments: dict[str, Any], found: Any, clean: Any) -> None:
    for name, (corpus, value) in case.hostile.items():
        if corpus == "refused" and not (arguments.get("from_logits") is True and value in FINE_AS_LOGITS):
            raise BrokenError(f"{name} was let through: {_shown(found)}\n    {case}")
        if (
            corpus == "wrong"
            and not kind_of(str(case.target), name)
            and fits(case.target.hints.get(name), arguments[name]) is False
        ):
            raise BrokenError(f"{name} is of a wrong type and was let through: {_shown(found)}\n    {case}")
    if all(corpus == "same" for corpus, _ in case.hostile.values()) and (difference := differs(clean, found)):
        raise BrokenError(f"another result: {difference}\n    {case}")


def _names(message: str, target: Target, parameter: str, value: Any) -> bool:
    """Whether a message says which argument is meant, or repeats what was given for it."""
    words = (parameter, *ALIASES.get(parameter, ()))
    if parameter == "y_true" and str(target) in GIVEN_WHOLE:  # what else is then missing depends on what it is
        words = (*words, "column", *target.parameters, *NOT_WITH[str(target)])
    repeated = isinstance(value, str) and 0 < len(value) < 60 and (value in message or repr(value)[1:-1] in message)
    return repeated or any(re.search(rf"\b{re.escape(word)}s?\b", message, re.IGNORECASE) for word in words)


def attempt(call: Callable[[], Any]) -> Any:
    """A call with warnings as errors, other than ours, and the process's own streams safe from being closed."""
    kept = [os.dup(stream) for stream in (0, 1, 2)]
    before = {name: signal.signal(name, _too_long) for name in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    signal.setitimer(signal.ITIMER_REAL, WAITED)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", TruenessWarning)
            return call()
    finally:
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
        for name, handler in before.items():
            signal.signal(name, handler)
        for stream, copy in enumerate(kept):
            os.dup2(copy, stream)
            os.close(copy)
        _close_figures()


def _too_long(*frame: object) -> NoReturn:
    raise EndlessError(f"no answer within {LIMIT} s of computing, or {WAITED} s")


def _close_figures() -> None:
    import sys

    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def again(target: str, hostile: Mapping[str, tuple[str, str]], seed: int = 0) -> None:
    """Make one call again as the sweep and the fuzzer made it, and let what comes out come out."""
    import tempfile
    from pathlib import Path

    from hostile.surface import targets

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        world = World(Path(folder))
        case = Case(next(each for each in targets() if str(each) == target), hostile, seed)
        same = all(corpus == "same" for corpus, _ in hostile.values())
        print(check(case, world, clean_result(case, world) if same else None))


def clean_result(case: Case, world: World) -> Any:
    """What the same call gives with clean values."""
    return attempt(lambda: case.target.call(world, case.target.arguments(world, *case.present)))


# ----------------------------------------------------------------------------------------------------------- same results


def differs(a: Any, b: Any, where: str = "") -> str:
    """Where two results differ: floats by more than 1e-12, everything else at all; notes may. Empty where they agree."""
    a, b = _plain(a), _plain(b)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if list(map(str, a)) != list(map(str, b)):  # the classes of a frame's columns are texts
            return f"{where}: {list(a)} and {list(b)}"
        parts = [(key, x, y) for (key, x), y in zip(a.items(), b.values(), strict=True) if key not in ("notes", "verdict")]
        return next((found for key, x, y in parts if (found := differs(x, y, f"{where}.{key}"))), "")
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        if len(a) != len(b):
            return f"{where}: {len(a)} and {len(b)} values"
        return next((found for k, pair in enumerate(zip(a, b, strict=True)) if (found := differs(*pair, f"{where}[{k}]"))), "")
    if isinstance(a, float) and isinstance(b, float):
        near = math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12) or (math.isnan(a) and math.isnan(b))
        return "" if near else f"{where}: {a!r} and {b!r}"
    return "" if type(a) is type(b) and a == b else f"{where}: {_cut(repr(a))} and {_cut(repr(b))}"


def _plain(x: Any) -> Any:
    """What a result says, in Python's own types."""
    if isinstance(x, trueness.Summary):
        return {"n": x.n, "cells": x.cells, "rows": x.rows, "sums": x.sums, "soft": x.soft, "rejected": x.rejected}
    if isinstance(x, trueness.CalibrationDisplay):
        return _plain(x.curve)
    if isinstance(x, trueness.SmoothRecalibrator):
        return {name: value for name, value in vars(x).items() if not name.startswith("_")}
    if type(x).__name__ == "CalibrationSummary":
        return x.get_extra_state().tolist()
    if type(x).__name__ == "Tensor":
        return x.tolist()
    if hasattr(x, "to_dict") and type(x).__module__.startswith("trueness"):
        return x.to_dict()
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return {each.name: getattr(x, each.name) for each in dataclasses.fields(x)}
    if isinstance(x, np.ndarray | np.generic):
        return x.tolist()
    if type(x).__module__.startswith("matplotlib"):
        return _drawn(x)
    return x


def _drawn(x: Any) -> Any:
    """The numbers of a figure's lines."""
    return [line.get_xydata() for ax in getattr(x, "axes", []) for line in ax.get_lines()] if hasattr(x, "canvas") else None


# ---------------------------------------------------------------------------------------------------------- wrong types


def fits(hint: Any, value: Any) -> bool | None:
    """Whether a value is of an annotated type; None where that cannot be told by looking."""
    if hint is None or hint is Any:
        return None
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return _any(fits(part, value) for part in typing.get_args(hint))
    if origin is typing.Literal:
        return isinstance(value, str) and value in typing.get_args(hint)
    kind = origin or hint
    if kind is bool:
        return True if isinstance(value, bool | np.bool_) else None if isinstance(value, int) else False
    if kind is int or kind is float:
        numbers = (int, np.integer) if kind is int else (int, float, np.integer, np.floating)
        return None if isinstance(value, numbers) and not isinstance(value, bool) else False
    if kind is collections.abc.Callable:
        return None if callable(value) else False
    if kind in (collections.abc.Sequence, collections.abc.Iterable):
        return None if hasattr(value, "__iter__") or hasattr(value, "__array__") else False
    if isinstance(kind, type) and kind.__module__ in (
        "builtins",
        "collections.abc",
        "numpy",
        "numpy.random._generator",
        "types",
    ):
        return None if isinstance(value, kind) else False
    return None


def _any(answers: Iterator[bool | None]) -> bool | None:
    found = set(answers)
    return True if True in found else None if None in found else False


def _shown(found: Any) -> str:
    try:
        return _cut(repr(found))
    except Exception:
        return f"a {type(found).__name__}"


def _short(error: BaseException) -> str:
    try:
        return _cut(str(error))
    except Exception:
        return "(cannot be printed)"


def _cut(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:197]}..."
