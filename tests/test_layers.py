"""A module imports only from stages to its left (the order of the design); the line that breaks the rule is named."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "trueness"

# From left to right; modules on one line are one stage and may import each other.
STAGES = [
    {"_types", "errors", "_atomic", "_forward", "_json", "options", "brownian"},
    {"inputs"},
    {"multiclass"},
    {"summary"},
    {"engines"},
    {"data", "smoothing"},
    {"metrics"},
    {"inference"},
    {"curves"},
    {"recalibrate"},
    {"assessment", "comparison", "_text"},
    {"plots"},
    {"report"},
    {"papers"},
    {"demo"},
    {"torch"},
    {"cli"},
    {"__main__"},
]
USERS = {"papers"}  # written as a user would, on the public names
VIEWS = {("summary.summary", "engines.sql.returned")}  # methods that point right, by an import inside the method
STAGE = {name: number for number, names in enumerate(STAGES) for name in names}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def imports(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Line and full name of every module or name of the package that a file imports, inside functions too."""
    package = ["trueness", *path.relative_to(SOURCE).parts[:-1]]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            found = [f"{stem}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in found if name.split(".")[0] == "trueness")


def breaches(path: Path, text: str) -> list[str]:
    stage = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if stage not in STAGE:
        return [f"{path}:1: {stage!r} has no stage; give it one in STAGES"]
    found = []
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for line, name in imports(path, text):
        target = [*name.split("."), ""][1]
        if (module, name.removeprefix("trueness.").rpartition(".")[0]) in VIEWS:
            continue
        if target in ("__version__", "brownian") or (name == "trueness" and stage in USERS):
            continue
        if target not in STAGE:
            found.append(f"{path}:{line}: imports {name}, which names no stage; import from the module that defines it")
        elif STAGE[target] > STAGE[stage]:
            found.append(f"{path}:{line}: {stage} imports {name}, a stage to its right")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_left(path):
    found = breaches(path, path.read_text(encoding="utf-8"))
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import trueness.plots", 1),
        ("\nfrom trueness.report import page", 2),
        ("def f():\n    from ..assess import assess", 2),
        ("from trueness import smooth_ece", 1),
        ("from trueness import cli", 1),
    ],
)
def test_a_breach_is_named_with_its_line(text, line):
    (found,) = breaches(SOURCE / "metrics" / "smooth.py", text)
    assert f"smooth.py:{line}: " in found


def test_an_import_to_the_left_is_no_breach():
    text = "from trueness.errors import InputError\nfrom ..summary import Summary\nfrom . import binned\nimport numpy"
    assert breaches(SOURCE / "metrics" / "smooth.py", text) == []


def test_a_module_without_a_stage_is_named():
    assert "has no stage" in breaches(SOURCE / "novelty.py", "")[0]
