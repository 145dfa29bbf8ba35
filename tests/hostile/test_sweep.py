"""Every public function, every parameter, every hostile value: a documented result, or an error that names the argument."""

from collections import Counter
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hostile.clean import N, World
from hostile.harness import BrokenError, Case, attempt, cases, check, clean_result, columns_of, differs, same_cases
from hostile.surface import LEFT_OUT, targets

import trueness

TARGETS = targets()
SWEPT = [pytest.param(target, name, id=f"{target}-{name}") for target in TARGETS for name in target.parameters]
SHOWN = 40
MOST = 1  # hostile values of one parameter in a plain run
BY_ROW = (
    "SmoothRecalibrator.predict",
    "SmoothRecalibrator.sample",
    "one_vs_rest",
    "top_k",
    "top_label",
    "CalibrationDisplay.from_estimator",
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("clean"))


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that is taken for a path is written there."""
    monkeypatch.chdir(tmp_path)


def tell(broken: list[BrokenError], tried: int) -> None:
    """Fail with what was broken, each with the line that repeats it."""
    if broken:
        shown = "\n".join(map(str, broken[:SHOWN]))
        raise AssertionError(f"{len(broken)} of {tried} calls kept no promise:\n{shown}")


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_every_public_name_answers_a_clean_call(target, world):
    first, second = (attempt(lambda: target.call(world, target.arguments(world))) for _ in range(2))
    assert not differs(first, second), "two calls with the same arguments differ"


@pytest.mark.parametrize(("target", "name"), SWEPT)
def test_every_parameter_has_a_clean_value_that_is_taken(target, name, world):
    attempt(lambda: target.call(world, target.arguments(world, name)))


def some(cases: Iterable[Case], thorough: bool) -> list[Case]:
    """All, or as many as a plain run has time for, spread over all."""
    listed = list(cases)
    return listed if thorough or len(listed) <= MOST else listed[:: -(-len(listed) // MOST)]


TIERS = pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.full)], ids=["some", "all"])


@TIERS
@pytest.mark.parametrize(("target", "name"), SWEPT)
def test_hostile_values_are_answered_or_refused_by_name(target, name, thorough, world, record_property):
    broken, held = [], Counter()
    for case in some(cases(target, name), thorough):
        try:
            held[check(case, world)] += 1
        except BrokenError as error:
            broken.append(error)
    record_property("hostile values", {"calls": len(broken) + held.total(), **held, "broken": len(broken)})
    tell(broken, len(broken) + held.total())


@TIERS
@pytest.mark.parametrize("target", [target for target in TARGETS if columns_of(target)], ids=str)
def test_the_same_values_in_another_form_give_the_same_result(target, thorough, world, record_property):
    tried = some(same_cases(target), thorough)
    clean, broken = clean_result(tried[0], world), []
    for case in tried:
        try:
            check(case, world, clean)
        except BrokenError as error:
            broken.append(error)
    record_property("values in another form", {"calls": len(tried), "same": len(tried) - len(broken), "broken": len(broken)})
    tell(broken, len(tried))


@pytest.mark.parametrize("target", [target for target in TARGETS if columns_of(target) and str(target) not in BY_ROW], ids=str)
def test_the_order_of_rows_is_nothing(target, world):
    arguments = target.arguments(world, *columns_of(target))
    order = np.random.default_rng(1).permutation(N)
    moved = {name: reordered(value, order) for name, value in arguments.items()}
    assert not differs(*(attempt(lambda given=given: target.call(world, given)) for given in (arguments, moved)))


def reordered(value, order):
    """Columns in another order, and whatever holds columns."""
    if isinstance(value, dict):
        return {name: reordered(each, order) for name, each in value.items()}
    return value[order] if getattr(value, "ndim", 0) and len(value) == N else value


def test_a_new_parameter_needs_a_clean_value(world, monkeypatch):
    def novel(y_true, y_prob, *, wavelength=3):
        """A public function as someone may add it."""

    monkeypatch.setattr(trueness, "novel", novel, raising=False)
    monkeypatch.setattr(trueness, "__all__", [*trueness.__all__, "novel"])
    (found,) = [target for target in targets() if target.name == "novel"]
    assert found.parameters == ["y_true", "y_prob", "wavelength"]
    with pytest.raises(LookupError, match=r"add a clean value for parameter wavelength of trueness\.novel"):
        found.arguments(world, "wavelength")


def test_what_is_left_out_is_there():
    for name in LEFT_OUT:
        owner, _, method = name.rpartition(".")
        assert callable(getattr(attribute(owner), method))


def attribute(name):
    return (
        getattr(import_module("trueness.torch"), name.removeprefix("torch."))
        if name.startswith("torch.")
        else getattr(trueness, name)
    )
