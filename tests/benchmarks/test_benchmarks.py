"""``python -m benchmarks`` runs, says what it must, and its values agree; a time never decides a test."""

import json
import subprocess
import sys
from contextlib import suppress

import pytest
from conftest import ROOT

import trueness
from benchmarks import floor
from benchmarks.classes import class_table, make_table
from benchmarks.data import make
from benchmarks.table import Row
from benchmarks.targets import TARGETS
from benchmarks.waiting import waiting_table

PEERS = {"relplot": ("relplot",), "torchmetrics": ("torchmetrics",), "netcal": ("netcal",), "scikit-learn": ("sklearn",)}
REPORTS = {"relplot", "probcal", "calibre"}
ABSENT = "not installed (pip install 'trueness[bench]')"


def run(*words: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """The command in a process of its own; `before` is Python that runs first."""
    code = f"import sys\n{before}\nfrom benchmarks.__main__ import main\nsys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *words] if before else [sys.executable, "-m", "benchmarks", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    path = tmp_path_factory.mktemp("benchmarks") / "quick.json"
    done = run("--quick", "--json", str(path), "--figure", str(path.with_suffix(".png")))
    assert done.returncode == 0, done.stderr + done.stdout
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    return done.stdout, json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.full
def test_one_table_with_every_measure_with_and_without_numba(quick):
    page, facts = quick
    lines = {(row["rows"], row["case"], row["measure"], row["by"]) for row in facts["rows"]}
    for n in (10**4, 10**5):
        for case in ("uniform", "rounded", "rare", "miscalibrated"):
            assert {(n, case, "read", "NumPy"), (n, case, "ecce_r", "argsort + cumsum")} <= lines
        for measure in ("summarize", "summarize, weighted", "summarize, soft", "binned_ece", "smooth_ece", "ecce_r"):
            assert {(n, "uniform", measure, by) for by in ("trueness", "trueness + numba")} <= lines
        assert {(n, "uniform", "binned_ece", by) for by in ("torchmetrics", "netcal", "scikit-learn")} <= lines
        assert (n, "uniform", "smooth_ece", "relplot") in lines
    assert (1000, "uniform", "logit_smoothed_ece", "Monte Carlo, NumPy") in lines
    assert page.count("\n rows  scores") + page.count("\nrows  scores") == 1
    assert len(page.splitlines()) > len(facts["rows"]) + len(facts["targets"])


@pytest.mark.full
def test_every_engine_gives_every_bit(quick):
    _, facts = quick
    found = [row for row in facts["rows"] if row["measure"] == "engines"]
    assert {row["by"] for row in found} >= {"pandas", "polars", "polars, lazy", "pyarrow", "Parquet file", "csv file"}
    assert all(row["note"].startswith(("yes, every bit", "reference")) for row in found if row["seconds"] is not None)


@pytest.mark.full
def test_rows_on_disk(quick):
    page, facts = quick
    (found,) = facts["disk"]
    assert found["rows"] == 10**5
    assert found["peak_mib"] > 50
    assert "× scan" in page


@pytest.mark.full
def test_every_line_has_figures_or_says_why_not(quick):
    page, facts = quick
    for row in facts["rows"]:
        if row["seconds"] is None:
            assert row["note"] == ABSENT
            optional = {"trueness + numba", "Monte Carlo, torch", "Monte Carlo, torch float32", "torch, CPU"}
            assert row["by"] in {*PEERS, *REPORTS, *optional}
            assert ABSENT in page
        else:
            assert row["seconds"] > 0
            assert row["measure"] == "read" or row["cpu"] >= 0
            assert row["ratio"] == pytest.approx(row["seconds"] / row["read"])
            assert row["value"] is not None
            assert row["runs"] >= 1


@pytest.mark.full
def test_values_agree(quick):
    _, facts = quick
    compared = [row for row in facts["rows"] if row["agrees"] is not None]
    assert all(row["agrees"] for row in compared)
    # Without one peer: NumPy's Brier score, argsort + cumsum and the Monte Carlo estimator are always there.
    assert {row["measure"] for row in compared} >= {"summarize", "summarize, weighted", "ecce_r", "logit_smoothed_ece"}


@pytest.mark.full
def test_every_target_is_listed_with_figure_or_reason(quick):
    page, facts = quick
    targets = {line["work"]: line for line in facts["targets"]}
    assert len(targets) == len(TARGETS) + 9  # and classes, memory, import (2), disk (3), CUDA (2)
    for work, line in targets.items():
        assert work in page
        assert line["target"] in page
        assert (line["measured"] is None) == (line["met"] is None)
        assert line["measured"] is not None or line["why"]
    assert targets["extra memory of summarize, 1e5 rows"]["measured"] > 0
    assert targets["import trueness, beyond import numpy"]["measured"] is not None
    for name in ("confidence_interval", "assess", "compare"):
        for case in ("uniform", "rare"):
            assert targets[f"{name}, {case}, 1e3 rows"]["measured"] >= 0
            assert targets[f"{name}, {case}, 1e6 rows"]["why"] == "not measured: needs 1e6 rows"


@pytest.mark.full
def test_what_is_not_installed_is_listed(tmp_path):
    path = tmp_path / "found.json"
    gone = "".join(f"sys.modules[{name!r}] = None\n" for names in PEERS.values() for name in (*names, "torch", "numba"))
    words = ("--quick", "--sizes", "2000", "--only", "binned_ece", "--only", "smooth_ece", "--json", str(path))
    done = run(*words, before=gone)
    assert done.returncode == 0, done.stderr + done.stdout
    notes = {row["by"]: row["note"] for row in json.loads(path.read_text(encoding="utf-8"))["rows"] if row["case"] == "uniform"}
    assert {by for by, note in notes.items() if note == ABSENT} == {*PEERS, "trueness + numba"}
    assert notes["trueness"] == "reference"
    assert f"numba: {ABSENT}" in done.stdout


@pytest.mark.full
def test_tables_of_a_page_are_replaced_and_the_rest_stays(tmp_path):
    page = tmp_path / "page.md"
    places = [f"<!-- benchmarks: {name} -->\nold\n<!-- benchmarks: end -->" for name in ("import", "targets", "disk")]
    page.write_text("\n\n".join(["Before.", *places, "After."]), encoding="utf-8")
    done = run("--quick", "--only", "import", "--write", str(page))
    assert done.returncode == 0, done.stderr + done.stdout
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"Before.\n\n{places[0]}\n\n<!-- benchmarks: targets -->\n```text\ntarget ")
    assert text.endswith(f"{places[2]}\n\nAfter.")


def test_the_waiting_times_of_a_page():
    facts = {"case": "rare", "measure": "waiting, assess", "read": 1.0}
    rows = [Row(rows=n, by="trueness + numba", seconds=n / 5e3, cpu=n / 1e4, **facts) for n in (1000, 10_000)]
    rows.append(Row(rows=1000, by="probcal", note="stopped: over the cap of 120 s, after 60 CPU s", **facts))
    head, _, ours, probcal = waiting_table(rows, "rare").splitlines()
    assert head == "| | 10³ | 10⁴ rows |"
    assert ours == "| `assess`: verdict, intervals, tests, noise floors | 100 ms | 1 s |"
    assert probcal == "| probcal's `evaluate`, bootstrap of 1000 | over 60 s | – |"


def test_the_class_wise_table_is_that_of_each_class():
    labels, table = make_table(500, 3, 0)
    assert table.sum(axis=1) == pytest.approx(1)
    y, f = labels == 1, table[:, 1]
    test = trueness.calibration_test(y, f, rng=0)
    assert class_table(labels, table)[1] == (trueness.smooth_ece(y, f), trueness.ecce_r(y, f), test.pvalue)


def test_a_fast_wrong_answer_shows():
    wrong = "from benchmarks import peers\npeers._sorted_ecce_r = lambda d: 0.5\n"
    done = run("--quick", "--sizes", "2000", "--only", "ecce_r", before=wrong)
    assert done.returncode == 1
    assert "VALUES DISAGREE: ecce_r by argsort + cumsum, uniform, 2e3 rows" in done.stdout


@pytest.mark.full
def test_a_run_over_the_cap_is_stopped_and_said():
    slow = "import time\nfrom benchmarks import peers\npeers._sorted_ecce_r = lambda d: time.sleep(60)\n"
    done = run("--quick", "--sizes", "2000", "--only", "ecce_r", "--cap", "1", before=slow)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "stopped: over the cap of 1 s" in done.stdout


@pytest.mark.parametrize("words", [("--only", "nothing"), ("--sizes", "1e2"), ("--sizes", "1.5e3,x"), ("--cap", "0")])
def test_bad_options_are_refused(words):
    done = run(*words)
    assert done.returncode == 2
    assert words[0] in done.stderr


@pytest.mark.parametrize("case", ["uniform", "rounded", "rare"])
def test_the_floor_has_the_bits_of_a_summary(case):
    data = make(case, 100_003, 5)
    with suppress(ImportError):  # no compiler, no floor
        assert floor.summary(data) == trueness.summarize(data.y, data.f)
