"""Random calls of random public functions with random hostile values, from a fresh seed that pytest tells at its end.

A failing case prints a line of Python that repeats it, with ``tests`` on the path.
"""

import os
import secrets
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hostile.clean import World
from hostile.harness import (
    BY_INDEX,
    CALLED_BACK,
    NEEDS_ANOTHER,
    NOT_OURS,
    BrokenError,
    Case,
    check,
    clean_result,
    columns_of,
)
from hostile.surface import targets
from hostile.values import REFUSED, SAME, WRONG, kind_of

SECONDS = 60
SLOW_SECONDS = 600
OWN_INDEX = "pandas, an index of its own"  # differs from the index of other forms


def seed_of_this_run() -> int:
    return int(os.environ.get("TRUENESS_FUZZ_SEED") or secrets.randbits(48))


def drawn(rng: np.random.Generator, surface: list) -> Case:
    """One random case: the same values in random forms, or one or two parameters with hostile ones."""
    target = surface[rng.integers(len(surface))]
    columns = columns_of(target)
    seed = int(rng.integers(2**32))
    if columns and rng.random() < 0.4:
        forms = {name: [form for form in SAME[kind_of(str(target), name)] if form != OWN_INDEX] for name in columns}
        return Case(target, {name: ("same", str(rng.choice(known))) for name, known in forms.items()}, seed)
    known = [name for name in target.parameters if name not in NOT_OURS]
    chosen = rng.choice(known, size=min(len(known), 1 + int(rng.random() < 0.3)), replace=False).tolist()
    return Case(target, {name: _value(rng, target, name, alone=len(chosen) == 1) for name in chosen}, seed)


def _value(rng: np.random.Generator, target: object, name: str, *, alone: bool) -> tuple[str, str]:
    refused = [value for value in REFUSED.get(kind_of(str(target), name), ()) if alone or value not in BY_INDEX | NEEDS_ANOTHER]
    if not [each for each in columns_of(target, weights=False) if each != name]:
        refused = [value for value in refused if value not in NEEDS_ANOTHER]
    if refused and rng.random() < 0.7:
        return "refused", str(rng.choice(refused))
    return "wrong", str(rng.choice([value for value in WRONG if name not in CALLED_BACK or value != "a function of too many"]))


def fuzz(seconds: float, folder: Path, record_property: Callable[[str, object], None]) -> None:
    seed = seed_of_this_run()
    record_property("told", f"TRUENESS_FUZZ_SEED={seed}")  # known also of a run that does not come to its end
    rng, world = np.random.default_rng(seed), World(folder)
    surface = [target for target in targets() if target.parameters]
    clean, held, broken = {}, Counter(), {}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        case = drawn(rng, surface)
        same = all(corpus == "same" for corpus, _ in case.hostile.values())
        if same and str(case.target) not in clean:
            clean[str(case.target)] = clean_result(case, world)
        try:
            held[check(case, world, clean.get(str(case.target)))] += 1
        except BrokenError as error:
            broken.setdefault(str(case), str(error))
    tried = held.total() + len(broken)
    told = f"TRUENESS_FUZZ_SEED={seed}: {tried} calls of {len(surface)} functions, {dict(held)}, broken {len(broken)}"
    record_property("told", told)
    if broken:
        raise AssertionError("\n".join([told, *broken.values()]))


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.full
def test_a_minute_of_random_calls(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    fuzz(SECONDS, tmp_path, record_property)


@pytest.mark.slow
def test_ten_minutes_of_random_calls(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    fuzz(SLOW_SECONDS, tmp_path, record_property)
