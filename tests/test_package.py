"""What a user gets from ``import trueness``: few imports, the public names, one version."""

import ast
import importlib.metadata
import importlib.resources
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import trueness

HEAVY = {
    "scipy", "narwhals", "pandas", "polars", "pyarrow", "matplotlib", "duckdb", "torch", "pyspark", "dask", "numba",
    "click", "rich", "sklearn",
}  # fmt: skip


def test_import_loads_nothing_heavy():
    code = "import sys; from trueness import *; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert HEAVY & set(done.stdout.split()) == set()


def test_all_is_sorted_and_complete():
    assert trueness.__all__ == sorted(trueness.__all__)
    for name in trueness.__all__:
        getattr(trueness, name)
    helpers = {"Any", "TYPE_CHECKING", "import_module"}
    public = {name for name, value in vars(trueness).items() if name[0] != "_" and not inspect.ismodule(value)}
    assert public - helpers == {name for name in trueness.__all__ if not inspect.ismodule(getattr(trueness, name))}


@pytest.mark.parametrize("name", trueness.__all__)
def test_every_public_name_is_documented(name):
    thing = getattr(trueness, name)
    assert inspect.getdoc(thing)
    assert getattr(thing, "__module__", thing.__name__).startswith("trueness.")


def test_every_metric_of_the_registry_is_public():
    from trueness.metrics.registry import METRICS

    assert set(METRICS) <= set(trueness.__all__)
    assert all(getattr(trueness, name) is metric.function for name, metric in METRICS.items())


def test_version_is_that_of_the_distribution():
    assert trueness.__version__ == importlib.metadata.version("trueness")


def test_types_are_published():
    assert importlib.resources.files("trueness").joinpath("py.typed").is_file()


def test_names_are_found_where_type_checkers_are_told():
    """The imports that type checkers read, the lazy table and `__all__` say the same."""
    tree = ast.parse(Path(trueness.__file__).read_text(encoding="utf-8"))
    told = {
        alias.name: node.module.removeprefix("trueness.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("trueness.")
        for alias in node.names
    }
    assert told == {**trueness._HOME, "TruenessError": "errors", "TruenessWarning": "errors"}
    assert sorted([*told, *trueness._MODULES]) == sorted(trueness.__all__)
    assert set(trueness.__all__) <= set(dir(trueness))
    with pytest.raises(AttributeError, match="no attribute 'smooth_ecee'"):
        trueness.smooth_ecee  # noqa: B018


def test_no_module_hides_a_name_that_is_public() -> None:
    code = (
        "import importlib, importlib.util, pkgutil, types, trueness\n"
        "absent = ('trueness.torch',) if importlib.util.find_spec('torch') is None else ()\n"
        "for module in pkgutil.walk_packages(trueness.__path__, 'trueness.'):\n"
        "    if not module.name.endswith(('__main__', '.compiled', '.kernels', *absent)):\n"
        "        importlib.import_module(module.name)\n"
        "hidden = [name for name in trueness.__all__ if isinstance(getattr(trueness, name), types.ModuleType)]\n"
        "assert hidden == ['brownian'], hidden\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
