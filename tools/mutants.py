"""Plants one fault at a time in a copy of the sources and says whether the fast tier of the tests catches it.

    python -m tools.mutants [--only ID ...] [--jobs 2] [--quick]
    python -m tools.mutants --list

Each fault first meets the tests named beside it (``tools/_mutants.py``) and, if these pass, the whole fast tier, which is
what a plain ``pytest`` runs; ``--quick`` leaves the latter out. A test that fails on the sound sources too catches nothing.
``--list`` says which faults can be planted where: a snippet whose file has changed is looked for in all other files.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue

from tools._mutants import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("src", "tests", "docs", "reproductions", "studies", "benchmarks", "tools")
COPIED_FILES = ("pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
PATIENCE, LONG_PATIENCE = 600, 3600  # seconds for the tests of a fault, for the whole tier
PASSED, NO_TESTS = 0, (4, 5)  # pytest's exit codes; any other is a test that failed or a module that could not be collected
NO_END = "no end"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)


class Unplantable(ValueError):  # noqa: N818 - said of the mutant
    """A fault whose snippet is not in the sources, or changes nothing."""


# Planting


@dataclass(frozen=True, slots=True)
class Planted:
    """A file below the sources, and its text with the fault."""

    path: str
    text: str


def planted(mutant: Mutant, sources: Path) -> Planted:
    """Where a fault goes, and what the file then holds."""
    path = _path_of(mutant, sources)
    text = (sources / path).read_text(encoding="utf-8")
    pieces = text.split(mutant.old)
    if mutant.occurrence is None and len(pieces) != 2:
        raise Unplantable(f"{path} holds the snippet {len(pieces) - 1} times")
    place = mutant.occurrence or 0
    if place + 2 > len(pieces):
        raise Unplantable(f"{path} holds the snippet {len(pieces) - 1} times, not {place + 1}")
    faulty = mutant.old.join(pieces[: place + 1]) + mutant.new + mutant.old.join(pieces[place + 1 :])
    try:
        same = ast.dump(ast.parse(faulty)) == ast.dump(ast.parse(text))
    except SyntaxError as error:
        raise Unplantable(f"{path} is no longer Python: {error}") from error
    if same:
        raise Unplantable(f"{path} means the same as before")
    return Planted(path, faulty)


def _path_of(mutant: Mutant, sources: Path) -> str:
    """The file named, or the only other one that holds the snippet."""
    named = sources / mutant.path
    if named.exists() and mutant.old in named.read_text(encoding="utf-8"):
        return mutant.path
    others = [path for path in sources.rglob("*.py") if mutant.old in path.read_text(encoding="utf-8")]
    if len(others) != 1:
        raise Unplantable(f"{mutant.path} does not hold the snippet, {len(others)} other files do")
    return others[0].relative_to(sources).as_posix()


# Running


@dataclass(slots=True)
class Checkout:
    """A copy of what the tests need, in which one fault at a time is planted."""

    folder: Path
    sound: set[str] = field(default_factory=set)  # tests that pass without a fault
    unsound: set[str] = field(default_factory=set)  # tests that do not, and so catch nothing

    @classmethod
    def make(cls, folder: Path) -> "Checkout":
        """Copy the project."""
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "_build", "auto_examples"))
        for name in COPIED_FILES:
            shutil.copy2(ROOT / name, folder / name)
        return cls(folder)

    @property
    def sources(self) -> Path:
        """The package."""
        return self.folder / "src" / "trueness"

    def python(self, *arguments: str, patience: float = PATIENCE) -> subprocess.CompletedProcess[str]:
        """Run Python on the copy; without bytecode, which would outlive a fault of the same size and second."""
        settings = dict.fromkeys(ONE_THREAD, "1") | {"PYTHONPATH": str(self.folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        settings["TRUENESS_SHARED"] = os.environ.get("TRUENESS_SHARED") or str(ROOT.parent / "shared")
        return subprocess.run(  # noqa: S603 - our own interpreter on a copy of our own sources
            [sys.executable, *arguments],
            cwd=self.folder,
            env=os.environ | settings,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=patience,
            check=False,
        )

    def failures(self, tests: Sequence[str], *, first: bool = True) -> list[str]:
        """The first test that fails, or all of them; without names those of the whole fast tier."""
        patience = PATIENCE if tests else LONG_PATIENCE
        left_out = [f"--deselect={test}" for test in sorted(self.unsound)]
        options = ["-q", "-p", "no:cacheprovider", *(["-x"] if first else []), *left_out]
        try:
            done = self.python("-m", "pytest", *options, *tests, patience=patience)
        except subprocess.TimeoutExpired:
            return [f"{NO_END} within {patience} s"]
        if done.returncode == PASSED:
            return []
        failed = _FAILED.findall(done.stdout)
        if done.returncode in NO_TESTS or not failed:
            raise RuntimeError(
                f"pytest {' '.join(tests)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
            )
        return failed

    def catch(self, mutant: Mutant, *, quick: bool) -> str | None:
        """The test that catches a fault, if any does."""
        fault = planted(mutant, self.sources)
        with self._planted(fault):
            self._require_import(fault.path)
        for tests in (mutant.tests,) if quick else (mutant.tests, ()):
            if test := self._catch(fault, tests):
                return test
        return None

    def _catch(self, fault: Planted, tests: Sequence[str]) -> str | None:
        while True:
            with self._planted(fault):
                test = next(iter(self.failures(tests)), None)
            if test is None or self._is_sound(test):
                return test
            self.unsound |= {test, *self.failures(tests, first=False)}

    @contextmanager
    def _planted(self, fault: Planted) -> Iterator[None]:
        path = self.sources / fault.path
        kept = path.read_bytes()
        path.write_text(fault.text, encoding="utf-8")
        try:
            yield
        finally:
            path.write_bytes(kept)

    def _require_import(self, path: str) -> None:
        module = "trueness." + path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        where = str(self.folder)
        code = f"import {module}, trueness; assert trueness.__file__.startswith({where!r}), trueness.__file__"
        done = self.python("-c", code)
        if done.returncode:
            raise Unplantable(f"{module} cannot be imported: {done.stderr.strip().splitlines()[-1]}")

    def _is_sound(self, test: str) -> bool:
        """Whether a test passes without a fault."""
        if test not in self.sound and not test.startswith(NO_END) and not self.failures([test]):
            self.sound.add(test)
        return test in self.sound or test.startswith(NO_END)


def run(mutants: Sequence[Mutant], *, jobs: int, quick: bool) -> int:
    """One line a fault, and how many were caught."""
    caught, unsound = 0, set[str]()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        idle: Queue[Checkout] = Queue()
        for number in range(jobs):
            idle.put(Checkout.make(Path(folder) / str(number)))

        def outcome(mutant: Mutant) -> tuple[str, bool]:
            checkout, start = idle.get(), time.perf_counter()
            try:
                test = checkout.catch(mutant, quick=quick)
            except Unplantable as fault:
                return f"{mutant.id}: NOT PLANTED, {fault}", False
            finally:
                idle.put(checkout)
            seconds = time.perf_counter() - start
            if test is None:
                return f"{mutant.id}: SURVIVED {'its tests' if quick else 'the fast tier'} ({seconds:.0f} s)", False
            return f"{mutant.id}: caught by {test} ({seconds:.0f} s)", True

        with ThreadPoolExecutor(jobs) as pool:
            for line, good in pool.map(outcome, mutants):
                print(line, flush=True)
                caught += good
        while not idle.empty():
            unsound |= idle.get().unsound
    for test in sorted(unsound):
        print(f"Fails without a fault, and so catches none: {test}")
    print(f"{caught} of {len(mutants)} caught")
    return 0 if caught == len(mutants) else 1


# Command line


def listed(mutants: Sequence[Mutant], sources: Path) -> int:
    """Which faults can be planted."""
    good = 0
    for mutant in mutants:
        try:
            path = planted(mutant, sources).path
        except Unplantable as fault:
            print(f"{mutant.id}: DOES NOT APPLY, {fault}")
            continue
        good += 1
        print(f"{mutant.id}: {path}{'' if path == mutant.path else f' (no longer in {mutant.path})'}")
    print(f"{good} of {len(mutants)} can be planted")
    return 0 if good == len(mutants) else 1


def chosen(only: Sequence[str]) -> Iterator[Mutant]:
    """The faults asked for, all where none is named."""
    known = {mutant.id: mutant for mutant in MUTANTS}
    for name in only or known:
        if name not in known:
            raise SystemExit(f"--only {name}: there is no such fault; see --list")
        yield known[name]


def main() -> int:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--only", nargs="+", default=[], metavar="ID", help="these faults alone")
    parser.add_argument("--list", action="store_true", help="say where each fault would be planted, and run nothing")
    parser.add_argument("--jobs", type=int, default=2, help="how many faults are tried at once")
    parser.add_argument("--quick", action="store_true", help="the tests beside each fault alone, not the whole fast tier")
    given = parser.parse_args()
    mutants = list(chosen(given.only))
    if given.list:
        return listed(mutants, ROOT / "src" / "trueness")
    return run(mutants, jobs=given.jobs, quick=given.quick)


if __name__ == "__main__":
    raise SystemExit(main())
