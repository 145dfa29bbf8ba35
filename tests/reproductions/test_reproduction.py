"""The frame of the reproductions: verdicts, the table, the command, public names only."""

import ast
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from conftest import ROOT

import trueness
from reproductions import PAPERS, Experiment, Lab, MissingDataError, Paper, claim, printed, reproduce
from reproductions import soft_labels as any_paper
from trueness.cli import cli, commands, main
from trueness.errors import InputError


@pytest.mark.parametrize(
    ("paper", "ours", "error", "verdict"),
    [
        ("0.110", 0.1104, None, "matches"),
        ("0.110", 0.1105, None, "matches"),  # on the edge of rounding either way
        ("0.110", 0.11051, None, "differs"),
        ("0.110", 0.1095, None, "matches"),
        ("0.11", 0.1149, None, "matches"),
        ("0.110", 0.1133, 0.001, "within error"),
        ("0.110", 0.1136, 0.001, "differs"),
        ("7.1e-8", 7.14e-8, None, "matches"),
        ("7.1e-8", 7.2e-8, None, "differs"),
        ("-2711", -2711.4, None, "matches"),
        ("−0.5", -0.52, None, "matches"),
        ("95", 94.6, None, "matches"),
        ("25.7", float("nan"), 1.0, "differs"),
        ("25.7", float("inf"), None, "differs"),
    ],
)
def test_verdicts_of_printed_numbers(paper, ours, error, verdict):
    found = printed("a number", paper, ours, error=error, why="a reason")
    assert found.verdict == verdict
    assert found.why == ("a reason" if verdict == "differs" else "")


def test_what_is_no_printed_number():
    with pytest.raises(ValueError, match="is not a printed number"):
        printed("a number", "about 3", 3.0)


def a_paper(*experiments):
    return Paper(title="A paper", citation="Somebody (2024).", experiments=experiments)


def drawn(lab):
    with lab.figure("line") as figure:
        figure.subplots().plot([0, 1])
    yield claim("a claim", "holds", f"{lab.rng('part').random():.6f}", holds=True)


def failing(lab):
    lab.file("rows.csv", "from somewhere")
    yield claim("never", "reached", "", holds=True)


def differing(lab):
    for number in lab.steps(range(3)):
        yield printed(f"number {number}", "0.5", 0.7, why="a long reason " * 20)


@pytest.fixture
def made_up(monkeypatch):
    paper = a_paper(Experiment("One", drawn), Experiment("Two", failing), Experiment("Three", differing))
    monkeypatch.setattr(any_paper, "PAPER", paper)


def test_the_table_figures_and_what_is_missing(made_up, tmp_path):
    steps = []
    found = reproduce("soft-labels", out=tmp_path / "new", seed=4, progress=lambda *step: steps.append(step))
    assert found.counts == {"holds": 1, "differs": 3}
    assert found.missing == {"Two": "pass --data DIR, a folder with rows.csv (from somewhere)."}
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["line.png"]
    assert steps == [("Three", 0, 3), ("Three", 1, 3), ("Three", 2, 3), ("Three", 3, 3)]
    text = str(found)
    assert "full run, seed 4" in text
    assert "not run: pass --data DIR" in text
    assert max(map(len, text.splitlines())) <= 120
    assert json.loads(json.dumps(found.to_dict()))["findings"]["One"][0]["verdict"] == "holds"
    assert repr(found) == "soft-labels: 1 holds, 3 differs, 1 without their data"


def test_the_same_seed_draws_the_same_whatever_ran_before(made_up, tmp_path):
    one, two, other = (reproduce("soft-labels", seed=seed).findings["One"] for seed in (1, 1, 2))
    assert one == two != other
    first = reproduce("soft-labels", out=tmp_path, form="svg").figures
    again = [Path(path).read_bytes() for path in first]
    reproduce("soft-labels", out=tmp_path, form="svg")
    assert again == [Path(path).read_bytes() for path in first]


def test_a_folder_without_the_file(tmp_path):
    with pytest.raises(MissingDataError, match=r"does not hold rows\.csv"):
        Lab(data=str(tmp_path)).file("rows.csv", "from somewhere")


def test_choices_that_are_none(tmp_path):
    with pytest.raises(InputError, match="is none of soft-labels"):
        reproduce("other")
    with pytest.raises(InputError, match="neither 'png' nor 'svg'"):
        reproduce("cumulative", form="gif")
    with pytest.raises(InputError, match="is not a folder"):
        reproduce("cumulative", data=tmp_path / "nowhere")


def test_the_command(made_up, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert isinstance(cli.commands["reproduce"].params[0].type, click.Choice)
    assert list(cli.commands["reproduce"].params[0].type.choices) == list(PAPERS)
    assert main(["reproduce", "soft-labels", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"] == {"holds": 1, "differs": 3}
    assert (tmp_path / "soft-labels" / "line.png").exists()
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "soft-labels", "-o", "file"]) == 2
    assert "is not a folder" in capsys.readouterr().err
    assert main(["reproduce", "soft-labels", "-o", "out", "--format", "svg"]) == 0
    assert "1 figures are in out." in capsys.readouterr().out


# -------------------------------------------------------------------------------------------------- where the command finds it

NO_DATA = ["reproduce", "cumulative", "--data", "nowhere"]  # refused by the package, not by the command


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """A library that lies in no checkout, run in a folder that is none."""
    monkeypatch.setattr(commands, "__file__", str(tmp_path / "lib" / "site-packages" / "trueness" / "cli" / "commands.py"))
    monkeypatch.setattr(sys, "path", [path for path in sys.path if not os.path.isdir(os.path.join(path, "reproductions"))])
    for name in [name for name in sys.modules if name.partition(".")[0] == "reproductions"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.chdir(tmp_path)


def test_without_a_checkout_the_command_says_where_to_get_one(elsewhere, tmp_path, capsys, monkeypatch):
    assert main(NO_DATA) == 2
    assert "clone the repository" in capsys.readouterr().err
    (tmp_path / "reproductions").mkdir()  # of figures, say: no package
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])  # syspath_prepend would put back the shortened path
    assert main(NO_DATA) == 2
    assert "clone the repository" in capsys.readouterr().err


def test_the_current_folder_may_be_the_checkout(elsewhere, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(NO_DATA) == 2
    assert "'nowhere' is not a folder" in capsys.readouterr().err


@pytest.mark.full
def test_the_library_of_a_checkout_finds_it_from_any_folder(tmp_path):
    env = {**os.environ, "PYTHONPATH": str(Path(trueness.__file__).parents[1])}
    command = [sys.executable, "-P", "-m", "trueness", *NO_DATA]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "'nowhere' is not a folder" in done.stderr


# ---------------------------------------------------------------------------------------------------- as a user would write it

PUBLIC = {"trueness", "trueness.errors", "trueness.plots"}


def test_only_public_modules_are_imported():
    found = []
    for path in sorted((ROOT / "reproductions").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            inside = [module for module in modules if module.partition(".")[0] == "trueness" and module not in PUBLIC]
            found += [f"{path}:{node.lineno}: imports {module}" for module in inside]
    assert found == []


@pytest.mark.parametrize("name", PAPERS)
def test_every_paper_has_experiments(name):
    titles = [experiment.title for experiment in importlib.import_module(PAPERS[name]).PAPER.experiments]
    assert titles
    assert len(titles) == len(set(titles))
