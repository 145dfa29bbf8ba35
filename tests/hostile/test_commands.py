"""Every command of the command line with hostile options and files: an exit code that is documented, never a traceback."""

from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from hostile.clean import COLUMNS, World
from hostile.files import all_cases
from hostile.harness import attempt
from hostile.names import ALL, TEXTS, is_shown_safely

from trueness.cli import main
from trueness.cli.commands import cli

DOCUMENTED = {0, 1, 2, 3}
NUMBERS = ["-1", "0", "1", "2.5", "nan", "inf", "-inf", "1e400", "9" * 5000, "0x10", "1_000", "١"]
DEAR = ("demo",)  # assesses 20 000 rows each time
MOST = 1  # hostile words of one parameter in a plain run
QUICK = ("summarize", "verify")  # commands that read damaged files in a plain run

# What each parameter is given in a clean call, by its name; what a command needs of its own stands in OWN.
CLEAN: dict[str, list[str]] = {
    "alpha": ["--alpha", "0.01"],
    "as_json": ["--json"],
    "bins": ["--bins", "20"],
    "by": ["--by", "g"],
    "cluster": ["--cluster", "c"],
    "data": ["--data", "nowhere"],
    "debug": [],
    "delimiter": ["--delimiter", ","],
    "error_format": ["--error-format", "text"],
    "form": ["--format", "png"],
    "key": ["--key", "k"],
    "level": ["--level", "0.9"],
    "limits": ["--max", "ecce_r=0.9"],
    "memory_limit": ["--memory-limit", "1GB"],
    "nan": ["--nan", "drop"],
    "no_exact": ["--no-exact"],
    "out": ["-o", "out.file"],
    "outcome": ["-y", "y"],
    "paper": ["cumulative"],
    "path": ["summary.tns"],
    "paths": ["rows.csv"],
    "pos_label": ["--pos-label", "1"],
    "prediction": ["-p", "p"],
    "quick": ["--quick"],
    "resume": ["--resume"],
    "rng": ["--rng", "0"],
    "title": ["--title", "A page"],
    "upper": ["--upper"],
    "weight": ["-w", "w"],
}
OWN: dict[str, dict[str, list[str]]] = {
    "compare": {"prediction": ["-p", "p", "-p", "q"]},
    "merge": {"paths": ["summary.tns", "other.tns"]},
}
GIVEN = {  # besides what is required
    "assess": ["outcome", "prediction"],
    "check": ["outcome", "prediction", "limits", "alpha"],
    "compare": ["outcome", "prediction"],
    "report": ["outcome", "prediction", "out"],
    "summarize": ["outcome", "prediction"],
    "demo": ["out"],
    "reproduce": ["quick"],
}
COMMANDS = sorted(cli.commands)


def parameters(command: str) -> list[click.Parameter]:
    return [each for each in cli.commands[command].params if each.name != "help"]


def words(command: str, **hostile: list[str]) -> list[str]:
    """A clean call of a command, with some parameters in other words."""
    given: dict[str, list[str]] = {}
    for each in parameters(command):
        if each.required or each.name in GIVEN.get(command, ()) or each.name in hostile:
            if each.name not in CLEAN:
                raise LookupError(
                    f"add a clean value for parameter {each.name} of trueness {command} to tests/hostile/test_commands.py"
                )
            given[each.name] = hostile.get(each.name) or OWN.get(command, {}).get(each.name) or CLEAN[each.name]
    return [command, *(word for each in given.values() for word in each)]


@pytest.fixture(scope="module")
def clean(tmp_path_factory) -> World:
    return World(tmp_path_factory.mktemp("clean"))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, clean) -> Path:
    """A folder with clean files, where commands run."""
    inner = tmp_path / "a" / "b" / "c"  # deep enough that ../../ stays inside
    inner.mkdir(parents=True)
    for name, source in {
        "rows.csv": clean.csv,
        "summary.tns": clean.tns,
        "other.tns": clean.tns,
        "record.tns": clean.record,
    }.items():
        (inner / name).write_bytes(source.read_bytes())
    monkeypatch.chdir(inner)
    monkeypatch.setattr("trueness.cli.commands._reproduce_of_a_checkout", lambda: nothing_redone)
    monkeypatch.setattr("trueness.inference.evidence.DEFAULT", ("ecce_r",))  # words are looked at here, not metrics
    return inner


class NothingRedone:
    """What a paper's experiments give, without the hours."""

    figures = ()

    def to_dict(self):
        return {}


def nothing_redone(paper, **settings):
    return NothingRedone()


def run(arguments: list[str], capsys) -> tuple[int, str, str]:
    code = attempt(lambda: main(arguments))
    out, err = capsys.readouterr()
    shown = f"trueness {' '.join(map(ascii, arguments))[:400]}\n    exit {code}: {ascii(err)[:400]}"
    assert code in DOCUMENTED, f"an exit code that is not documented: {shown}"
    assert "Traceback" not in err, f"a traceback: {shown}"
    assert "bug in trueness" not in err, f"a bug: {shown}"
    assert is_shown_safely(err) and is_shown_safely(out), f"prints what cannot be printed: {shown} {ascii(out)[:300]}"  # noqa: PT018
    assert code in (0, 1) or err.strip(), f"fails without a word: {shown}"
    return code, out, err


@pytest.mark.parametrize("command", COMMANDS)
def test_clean_calls_are_answered(command, capsys):
    assert run(words(command), capsys)[0] == 0


def hostile_words(parameter: click.Parameter) -> list[list[str]]:
    """A parameter in hostile words."""
    values = [*ALL.values(), *NUMBERS, "rows.csv", "summary.tns", "."]  # nothing outside the folder: -o writes
    if isinstance(parameter, click.Argument):
        return [[value] for value in values]
    return [] if getattr(parameter, "is_flag", False) else [[f"{max(parameter.opts, key=len)}={value}"] for value in values]


SWEPT = [(command, each) for command in COMMANDS for each in parameters(command) if hostile_words(each)]


@pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.full)], ids=["some", "all"])
@pytest.mark.parametrize(("command", "parameter"), SWEPT, ids=[f"{command}-{each.name}" for command, each in SWEPT])
def test_hostile_words(command, parameter, thorough, capsys, record_property):
    broken, tried = [], hostile_words(parameter)
    tried = tried if thorough else tried[:: len(tried) // (1 if command in DEAR else MOST)]
    for given in tried:
        try:
            run(words(command, **{parameter.name: given}), capsys)
        except AssertionError as error:
            broken.append(str(error).partition("\nassert")[0])
    record_property("hostile words of commands", {"calls": len(tried), "broken": len(broken)})
    assert not broken, f"{len(broken)} of {len(tried)}:\n" + "\n".join(broken)


READING = [command for command in COMMANDS if {"paths", "path"} & {each.name for each in parameters(command)}]
CASES = [pytest.param(*case, id=f"{case[0]}-{case[1]}") for case in all_cases()]


@pytest.mark.parametrize("command", [pytest.param(each, marks=() if each in QUICK else pytest.mark.full) for each in READING])
@pytest.mark.parametrize(("kind", "name", "wanted", "ending", "make"), CASES)
def test_damaged_files(command, kind, name, wanted, ending, make, folder, clean, capsys):
    sources = {"csv": clean.csv, "parquet": clean.parquet, "summary": clean.tns}
    content = sources[kind].read_bytes() if kind in sources else json_lines()
    (folder / f"damaged{ending}").write_bytes(make(content))
    named = "path" if command == "verify" else "paths"
    arguments = words(command, **{named: [f"damaged{ending}"]})
    if ending == ".tns":
        arguments = [command, f"damaged{ending}", *(["-o", "out.file"] if command in ("merge", "report", "summarize") else [])]
        arguments += ["--max", "ecce_r=0.9"] if command == "check" else []
    code, out, _ = run(arguments, capsys)
    if wanted == "refused":
        assert code in (2, 3), f"was read: {out}"
        assert not Path("out.file").exists(), "something was written"


def json_lines() -> bytes:
    return pd.DataFrame(COLUMNS).to_json(orient="records", lines=True).encode()


PLAIN = ("a script", "SQL", "a terminal's colour", "a path", "from right to left", "long")


@pytest.mark.parametrize("name", [pytest.param(each, marks=() if each in PLAIN else pytest.mark.full) for each in TEXTS])
def test_hostile_groups(name, folder, capsys):
    frame = pd.DataFrame({**COLUMNS, "g": np.where(COLUMNS["g"] == "de", "a" + TEXTS[name], "b")})
    frame.to_parquet("hostile.parquet")
    arguments = ["hostile.parquet", "-y", "y", "-p", "p", "--by", "g"]
    assert run(["assess", *arguments], capsys)[0] == 0
    assert run(["summarize", *arguments, "-o", "groups.tns"], capsys)[0] == 0
    assert run(["verify", "groups.tns"], capsys)[0] == 0
    assert run(["check", "groups.tns", "--alpha", "0.000001"], capsys)[0] == 0
    assert run(["report", "groups.tns", "-o", "page.html", "--title", TEXTS[name]], capsys)[0] == 0
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["groups.tns", "hostile.parquet", "other.tns", "page.html", "record.tns", "rows.csv", "summary.tns"]
    )
