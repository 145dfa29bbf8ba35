"""Records what every public function returns, and compares two records: what a change of structure must leave alone.

    PYTHONPATH=<checkout>/src python -m tools.numbers record out.json
    python -m tools.numbers compare before.json after.json [--expected meant.txt]

Only public names are called, so that one script runs on a tree before and after its modules have moved. `meant.txt` holds a
line ``case-id-glob @ place-glob: reason`` for each difference that is wanted (`tools/since_0.1.txt` for those since that
version); a case is meant to change where every differing place has a reason. Real data is looked for in ``../shared``, or where
TRUENESS_SHARED points; without it those cases are left out.
"""

import argparse
import json
import math
import os
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

NEAR = 1e-13
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
_LONG = 120  # values of an array up to which it is kept whole
_PLACES = 4  # differing places shown of a case
_WIDE = 300  # letters shown of a text


# Record


def record(path: Path) -> int:
    """Run all cases and write what they give."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # the last bits of a sum depend on how many threads made it
    os.environ.update(MPLBACKEND="Agg", COLUMNS="100")
    from tools._data import SHARED, LeftOut

    start, out, home = time.perf_counter(), path.resolve(), os.getcwd()
    cases: dict[str, Any] = {}
    left_out: list[str] = []
    with tempfile.TemporaryDirectory(prefix="numbers-") as folder:
        names = {os.path.realpath(folder): "TMP", folder: "TMP", str(SHARED): "SHARED"}
        os.chdir(folder)
        for name, call in all_cases():
            _require_plain(name, cases)
            try:
                cases[name] = renamed(outcome(call, LeftOut), names)
            except LeftOut:
                left_out.append(name)
        os.chdir(home)
    text = json.dumps({"environment": _environment(), "left out": left_out, "cases": cases}, indent=1, ensure_ascii=False)
    out.write_text(text, encoding="utf-8")
    raised = sum(isinstance(each, dict) and "raises" in each for each in cases.values())
    print(f"{len(cases)} cases ({raised} of them errors) in {time.perf_counter() - start:.0f} s; {len(left_out)} left out")
    print(f"of {_measured()}")
    return 0


def _measured() -> str:
    """Which copy of the library was measured."""
    import trueness

    return str(Path(trueness.__file__).parent)


def all_cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every case: its id and what to call."""
    from tools import _cases_commands, _cases_engines, _cases_faults, _cases_files, _cases_measures, _cases_results

    for module in (_cases_measures, _cases_results, _cases_engines, _cases_files, _cases_faults, _cases_commands):
        yield from module.cases()


def _require_plain(name: str, cases: Mapping[str, Any]) -> None:
    """An id that occurs once, and that a glob and a line of expected differences can name."""
    if name in cases:
        raise ValueError(f"{name!r} is the id of two cases")
    if re.search(r"[\[\]*?\n]|: ", name):
        raise ValueError(f"{name!r} holds a letter that means something else in a glob")


def _environment() -> dict[str, Any]:
    import numpy as np

    return {"python": sys.version.split()[0], "numpy": np.__version__, "cores": os.cpu_count()}


def outcome(call: Callable[[], Any], aside: type[Exception]) -> Any:
    """What a call gives: a tree of values, or the error it raises; warnings about numbers beside it."""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        try:
            value = tree(call())
        except aside:
            raise
        except Exception as error:
            value = {"raises": type(error).__name__, "message": str(error)}
    told = [f"{each.category.__name__}: {each.message}" for each in met if _concerns_numbers(each.category)]
    return {"value": value, "warns": told} if told else value


def _concerns_numbers(category: type[Warning]) -> bool:
    return issubclass(category, RuntimeWarning) or category.__name__.startswith("Trueness")


def tree(value: Any) -> Any:
    """A value as JSON holds it: floats exact, numbers and arrays of NumPy told from Python's."""
    if value is None or isinstance(value, bool | str) or type(value) in (int, float):
        return value
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return _of_numpy(value)
    if isinstance(value, Mapping):
        plain = all(type(key) is str for key in value)
        return {key if plain else repr(key): tree(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [tree(item) for item in value]
    if hasattr(value, "digest") and hasattr(value, "rows_in"):
        return _of_summary(value)
    if callable(getattr(value, "to_dict", None)):
        parts = {name: tree(getattr(value, name, item)) for name, item in value.to_dict().items()}
        return {"type": type(value).__name__, "repr": repr(value), **parts}
    return {"type": type(value).__name__, "repr": repr(value)}


def _of_numpy(value: Any) -> Any:
    """A scalar with its type; an array with shape and values, of a long one some of them and the sum."""
    kind, shape = str(value.dtype), list(value.shape)
    if not shape:
        return {kind: tree(value.item() if hasattr(value, "item") else value.tolist())}
    items = value.ravel().tolist()
    if len(items) <= _LONG or not all(isinstance(item, int | float) for item in items):
        return {"array": kind, "shape": shape, "values": [tree(item) for item in items]}
    known = [item for item in items if not math.isnan(item)]
    parts = {"known": len(known), "sum": math.fsum(known), "some": items[:: math.ceil(len(items) / _LONG)]}
    return {"array": kind, "shape": shape, **parts}


def _of_summary(summary: Any) -> dict[str, Any]:
    """What a summary says of itself; its bits only where they do not depend on the order of the rows."""
    names = ("n", "rows_in", "rejected", "notes", "exact", "soft", "clipped")
    parts = {name: tree(getattr(summary, name, "(absent)")) for name in names}
    exact = "integer sums" in repr(summary)
    return {"type": "Summary", "repr": repr(summary), **parts, "digest": summary.digest if exact else "float sums"}


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """The same with folders by their names here, and no addresses of objects."""
    if isinstance(value, str):
        for folder, name in names.items():
            value = value.replace(folder, name)
        return re.sub(r"\b0x[0-9a-f]{6,}", "0x", value)
    if isinstance(value, dict):
        return {renamed(key, names): renamed(item, names) for key, item in value.items()}
    return [renamed(item, names) for item in value] if isinstance(value, list) else value


# Compare


class Difference(NamedTuple):
    """A place of a case where two records differ."""

    place: str
    kind: str  # "value", "message" or "near"
    before: Any
    after: Any


def differences(before: Any, after: Any, place: str = "") -> Iterator[Difference]:
    """Every place where two trees differ."""
    if type(before) is not type(after):
        yield Difference(place, "value", before, after)
    elif isinstance(before, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            where = f"{place}/{key}" if place else key
            if key in before and key in after:
                yield from differences(before[key], after[key], where)
            else:
                yield Difference(where, "value", before.get(key, "(absent)"), after.get(key, "(absent)"))
    elif isinstance(before, list):
        if len(before) != len(after):
            yield Difference(f"{place}/length", "value", len(before), len(after))
        for number, pair in enumerate(zip(before, after, strict=False)):
            yield from differences(*pair, f"{place}/{number}")
    elif isinstance(before, float):
        if before != after and not (math.isnan(before) and math.isnan(after)):
            yield Difference(place, "near" if _near(before, after) else "value", before, after)
    elif before != after:
        yield Difference(place, "message" if place in ("message", "stderr") else "value", before, after)


def _near(before: float, after: float) -> bool:
    return abs(before - after) <= NEAR * max(1.0, abs(before))  # False for what is not finite


def verdict(differing: Sequence[Difference]) -> str:
    """What the differences of a case amount to."""
    kinds = {each.kind for each in differing}
    return next((kind for kind in ("value", "message", "near") if kind in kinds), "equal")


def compare(before: Path, after: Path, expected: Path | None) -> int:
    """Print what differs; 1 where something does that was not meant to."""
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (before, after))
    reasons = [] if expected is None else _reasons(expected)
    if old["environment"] != new["environment"]:
        print(f"The records were made differently: {old['environment']} and {new['environment']}\n")
    counts = dict.fromkeys(("equal", "near", "value", "message", "meant"), 0)
    meant: Counter[str] = Counter()
    names = [*old["cases"], *(name for name in new["cases"] if name not in old["cases"])]
    for name in names:
        kind, unmeant, reached = _judged(name, old["cases"], new["cases"], reasons)
        meant.update(reached)
        if unmeant:
            print("\n".join([name, *_shown(unmeant), ""]))
        counts[kind] += 1
    for reason, cases in meant.items():
        print(f"meant in {cases} cases: {reason}")
    for glob, place, reason in reasons:
        if reason not in meant:
            print(f"nothing differs any more at {glob} @ {place}: {reason}")
    print(_counted(len(names), counts))
    return int(counts["value"] + counts["message"] > 0)


def _judged(
    name: str, old: Mapping[str, Any], new: Mapping[str, Any], reasons: Sequence[tuple[str, str, str]]
) -> tuple[str, list[Difference], set[str]]:
    """What a case amounts to, the differences nobody meant, and the reasons of the others."""
    absent = [Difference("", "value", *(("there", "(absent)") if name in old else ("(absent)", "there")))]
    differing = list(differences(old[name], new[name])) if name in old and name in new else absent
    kind = verdict(differing)
    if kind in ("equal", "near"):
        return kind, [], set()
    explained = [(each, _reason(name, each.place, reasons)) for each in differing if each.kind != "near"]
    unmeant = [each for each, reason in explained if reason is None]
    return (verdict(unmeant) if unmeant else "meant"), unmeant, {reason for _, reason in explained if reason is not None}


def _reason(name: str, place: str, reasons: Sequence[tuple[str, str, str]]) -> str | None:
    found = (reason for glob, at, reason in reasons if fnmatchcase(name, glob) and fnmatchcase(place, at))
    return next(found, None)


def _shown(differing: Sequence[Difference]) -> list[str]:
    lines = [line for each in differing[:_PLACES] for line in _lines(each)]
    more = len(differing) - _PLACES
    return [*lines, f"  and {more} more places"] if more > 0 else lines


def _lines(each: Difference) -> list[str]:
    """A difference as text: messages whole, other long texts from where they part."""
    before, after = str(each.before), str(each.after)
    if each.kind != "message" and max(len(before), len(after)) > _WIDE:
        parted = (place for place, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1])
        start = max(0, next(parted, min(len(before), len(after))) - 40)
        before, after = (f"…{text[start : start + _WIDE]}…" for text in (before, after))
    return [f"  {each.place or 'value'}", f"    before: {before}", f"    after:  {after}"]


def _counted(total: int, counts: Mapping[str, int]) -> str:
    meant = f", {counts['meant']} meant to change" if counts["meant"] else ""
    return (
        f"{total} cases: {counts['equal']} equal, {counts['near']} floats within {NEAR:g}, {counts['value']} differ, "
        f"{counts['message']} messages differ{meant}"
    )


def _reasons(path: Path) -> list[tuple[str, str, str]]:
    """Globs of cases and of places in them that are meant to change, and why; lines that begin with # are for people."""
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    reasons = []
    for line in lines:
        if not line or line.startswith("#"):
            continue
        where, colon, reason = line.partition(": ")
        case, at, place = where.partition(" @ ")
        if not colon or not reason:
            raise SystemExit(f"{path}: write 'case-id-glob @ place-glob: reason', not {line!r}")
        reasons.append((case, place if at else "*", reason))
    return reasons


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tools.numbers", description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recorded = commands.add_parser("record", help="write what every public function returns")
    recorded.add_argument("out", type=Path)
    compared = commands.add_parser("compare", help="show where two records differ")
    compared.add_argument("before", type=Path)
    compared.add_argument("after", type=Path)
    compared.add_argument("--expected", type=Path, help="lines 'case-glob @ place-glob: reason' of what is meant")
    given = parser.parse_args(arguments)
    return record(given.out) if given.command == "record" else compare(given.before, given.after, given.expected)


if __name__ == "__main__":
    raise SystemExit(main())
