"""The command line by its processes: what it prints, where, with which exit code, and what it loads."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import trueness
from trueness import _text, demo


def run(*arguments, code=None, environment=None, **options):
    """`python -m trueness ...`, or a script that ends by calling the command."""
    start = ["-m", "trueness"] if code is None else ["-c", code]
    command = [sys.executable, *start, *arguments]
    return subprocess.run(
        command, capture_output=True, env={**os.environ, **(environment or {})}, timeout=120, check=False, **options
    )


FAULTY = """
import sys
from trueness import cli, demo
from trueness.errors import InputError
def make_demo():
    {statement}
demo.make_demo = make_demo
sys.exit(cli.main(sys.argv[1:]))
"""


def run_faulty(statement, *arguments):
    """The command `demo` while making its data goes wrong."""
    done = run(*(arguments or ("demo",)), code=FAULTY.format(statement=statement))
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    """The demonstration writes its report where it is called."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def demo_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    done = run("demo", cwd=folder)
    done.page = (folder / "trueness-demo.html").read_text(encoding="utf-8")
    return done


def test_demo_finds_what_was_planted(demo_run):
    assert (demo_run.returncode, demo_run.stderr) == (0, b"")
    text = " ".join(demo_run.stdout.decode().split())
    assert "between 0.60 and 0.90 are 10 points too high, all others 3 points too low" in text
    assert "The true calibration error is 0.051; " in text
    claim = (
        r"Over-confident: predictions between ([\d.]+) and ([\d.]+) are at least ([\d.]+) points too high, estimated ([\d.]+)"
    )
    low, high, least, points = re.search(claim, text).groups()
    assert (float(low), float(high)) == pytest.approx((demo.LOW, demo.HIGH), abs=0.02)
    assert float(least) / 100 <= demo.TOO_HIGH
    assert float(points) / 100 == pytest.approx(demo.TOO_HIGH, abs=0.02)


def test_demo_prints_and_writes_the_assessment(demo_run):
    found = trueness.assess(*demo.make_demo()[:2])
    assert repr(found) in demo_run.stdout.decode()
    assert found.verdict in re.sub("<[^>]*>", "", demo_run.page)
    assert "trueness-demo.html" in demo_run.stdout.decode()


def test_demo_is_the_same_every_time_and_needs_no_home(demo_run):
    done = run("demo", environment={"PYTHONHASHSEED": "7", "HOME": "/nowhere"})
    assert (done.returncode, done.stdout, done.stderr) == (0, demo_run.stdout, b"")


@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=["ascii", "C locale"],
)
def test_demo_needs_no_unicode(demo_run, environment):
    done = run("demo", environment=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n") == demo_run.stdout.count(b"\n")


def test_version():
    assert run("--version").stdout.decode() == f"trueness {trueness.__version__}\n"


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("demo", "--help")])
def test_help(arguments):
    done = run(*arguments)
    assert done.returncode == 0
    assert b"--debug" in done.stdout


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom trueness import cli\ncli.main(['--help'])\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    loaded = set(run(code=code).stderr.decode().split())
    assert "click" in loaded
    assert loaded & {"scipy", "narwhals", "pandas", "matplotlib", "duckdb", "torch", "numba", "rich"} == set()


# Faults


@pytest.mark.parametrize("arguments", [("bogus",), ("demo", "--bogus"), ("demo", "extra"), ("--error-format", "xml")])
def test_usage_errors_are_2(arguments):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"trueness: ")
    assert b"--help'" in done.stderr


def test_no_command_shows_the_help_and_is_2():
    done = run()
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Commands:" in done.stderr


def test_bad_input_is_2():
    code, out, err = run_faulty('raise InputError("y_true: 3 of 4 values are wrong.")')
    assert (code, out, err) == (2, "", "trueness: y_true: 3 of 4 values are wrong.\n")


@pytest.mark.parametrize("statement", ['raise PermissionError(13, "Permission denied", "x.csv")', "raise MemoryError"])
def test_a_failing_environment_is_3(statement):
    code, out, err = run_faulty(statement)
    assert (code, out) == (3, "")
    assert re.search("Permission denied: 'x.csv'|out of memory", err)
    assert "Traceback" not in err


def test_a_bug_is_70_and_hides_its_traceback():
    code, out, err = run_faulty("raise KeyError('x')")
    assert (code, out) == (70, "")
    assert err == "trueness: this is a bug in trueness (KeyError: 'x'). Run again with --debug to see where.\n"


@pytest.mark.parametrize("arguments", [("--debug", "demo"), ("demo", "--debug")])
def test_debug_shows_the_traceback(arguments):
    code, _, err = run_faulty("raise KeyError('x')", *arguments)
    assert code == 70
    assert "Traceback" in err
    assert "in make_demo" in err


@pytest.mark.parametrize("arguments", [("--error-format", "json", "demo"), ("demo", "--error-format", "json")])
def test_errors_as_json(arguments):
    code, out, err = run_faulty('raise InputError("no rows")', *arguments)
    assert (code, out) == (2, "")
    assert json.loads(err) == {"error": "InputError", "message": "no rows", "exit_code": 2}


def test_usage_errors_as_json():
    done = run("--error-format", "json", "bogus")
    assert done.returncode == 2
    assert json.loads(done.stderr)["error"] == "usage"


@pytest.mark.parametrize(("name", "expected"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_signals(name, expected):
    code, out, err = run_faulty(f"import os, signal; os.kill(os.getpid(), signal.{name})")
    assert (code, out) == (expected, "")
    assert "Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell with pipes")
def test_a_closed_pipe_is_quiet():
    command = f'"{sys.executable}" -m trueness demo | true; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_3():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "trueness", "demo"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=120, check=False)
    assert done.returncode == 3
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell that closes streams")
@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full"])
def test_nobody_to_tell_leaves_the_exit_code(stderr):
    if stderr.endswith("full") and not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    for arguments, code in (
        ("--version", 0),
        ("demo -o nowhere/a.html", 2),
        ("assess nothing.csv -y y -p p --debug", 2),
        ("", 2),
    ):
        command = f'"{sys.executable}" -m trueness {arguments} {stderr}'
        assert subprocess.run(["bash", "-c", command], capture_output=True, timeout=120, check=False).returncode == code


# The table and the data


def test_table_aligns_its_columns():
    assert _text.table(("a", "bb"), [("ccc", "d")]) == "a    bb\n---  --\nccc  d"


@pytest.mark.full
def test_demo_data_are_what_they_are_said_to_be():
    y_true, y_prob, truth = demo.make_demo(n=1_000_000, seed=1)
    gap = y_prob - truth
    inside = (y_prob > demo.LOW) & (y_prob < demo.HIGH)
    assert gap[inside] == pytest.approx(demo.TOO_HIGH, abs=1e-12)
    assert gap[~inside] == pytest.approx(-np.minimum(demo.TOO_LOW, 1 - y_prob[~inside]), abs=1e-12)
    assert np.abs(gap).mean() == pytest.approx(demo.TRUE_ERROR, abs=3e-4)
    assert (y_true - truth).mean() == pytest.approx(0, abs=2e-3)
    assert ((y_true - truth)[inside]).mean() == pytest.approx(0, abs=4e-3)


def test_the_worst_interval_of_the_demo_is_what_was_planted():
    worst = trueness.ecce(*demo.make_demo()[:2]).worst
    assert (worst.low, worst.high) == pytest.approx((demo.LOW, demo.HIGH), abs=0.02)
    assert worst.mean_gap == pytest.approx(-demo.TOO_HIGH, abs=0.02)


def test_demo_data_are_seeded():
    first, second, other = demo.make_demo(), demo.make_demo(), demo.make_demo(seed=1)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert not np.array_equal(first[1], other[1])
    assert [len(column) for column in first] == [20_000] * 3
