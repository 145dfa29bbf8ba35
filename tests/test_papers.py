"""The frame of the reproductions: verdicts, the table, the command."""

import json
from pathlib import Path

import click
import pytest

from trueness.cli import cli, main
from trueness.errors import InputError
from trueness.papers import PAPERS, Experiment, Lab, MissingDataError, Paper, claim, printed, reproduce
from trueness.papers import soft_labels as any_paper


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
