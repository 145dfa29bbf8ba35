"""The validity study: its limits, its truths, and that it can be interrupted and judged."""

import json
import shutil
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import trueness
from studies import coverage, judge, pairs, power, run, size, worlds
from studies.table import Results


def test_limits_are_exact_binomial() -> None:
    # P(X > 12) for 100 trials at 0.05 is 0.0014569 and P(X > 11) 0.0042734 (tables of the binomial distribution).
    assert judge.most(100, 0.05, cells=20) == 12
    assert judge.most(100, 0.05, cells=1) == 9
    assert judge.fewest(100, 0.95, cells=20) == 88
    assert judge.error(50, 100) == pytest.approx(0.05)


def test_truths_are_probabilities_and_calibrated_means_zero() -> None:
    for scores in worlds.SHAPES:
        for name in worlds.TRUTHS:
            eta, f = worlds.population(scores, name, points=2000)
            assert np.all((eta >= 0) & (eta <= 1))
            assert trueness.ecce_r(eta, f) > 0.001 * f.mean() or name == "calibrated"
    assert coverage.true_value("uniform", "calibrated", "ecce_r") == 0.0


def test_population_value_of_a_closed_form() -> None:
    # A slope of 0.6 on uniform scores: ECCE-MAD is half of E|η − f| by symmetry, found here by quadrature.
    f = (np.arange(200_000) + 0.5) / 200_000
    eta = 1 / (1 + ((1 - f) / f) ** 0.6)
    assert coverage.true_value("uniform", "slope .6", "ecce_mad") == pytest.approx(np.abs(eta - f).mean() / 2, rel=1e-9)


def test_peers_hold_their_size() -> None:
    rng = np.random.default_rng(5)
    found = {"Spiegelhalter": 0, "Hosmer-Lemeshow": 0}
    for _ in range(500):
        f = rng.random(500)
        y = (rng.random(500) < f).astype(int)
        found["Spiegelhalter"] += power.spiegelhalter(y, f) <= 0.05
        found["Hosmer-Lemeshow"] += power.hosmer_lemeshow(y, f) <= 0.05
    assert all(judge.fewest(500, 0.05, 100) <= events <= judge.most(500, 0.05, 100) for events in found.values())


def test_jobs_have_seeds_of_their_own() -> None:
    jobs = list(run.jobs("full"))
    assert len({run.key(job) for job in jobs}) == len(jobs)
    assert {cell["n"] for cell in size.cells()} == {50, 100, 300, 1_000, 10_000, 100_000}
    assert len(size.cells()) == 54
    assert len(coverage.cells()) == 75 + 40


def test_wrong_results_are_blamed() -> None:
    results = Results()
    results.add("size", {"scores": "uniform", "n": 300}, [{"ecce_r": 0.001}] * 40)
    results.add("coverage", {"scores": "uniform", "truth": "shift", "n": 50}, [{"ecce_r": (False, 0.1)}] * 40)
    assert {(cell.what, cell.right) for cell in results.sizes() + results.coverages()} >= {("ecce_r", False)}
    assert "beyond" in results.verdict()


def test_an_interrupted_study_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = {"size": {50: 3}, "coverage": {50: 2}, "power": {300: 2}}
    monkeypatch.setitem(run.PLANS, "tiny", plan)
    monkeypatch.setattr(run, "_cells", lambda part: {"power": power, "coverage": coverage}.get(part, size).cells()[:7])
    kept = tmp_path / "kept.jsonl"
    results = {}
    for job in run.jobs("tiny"):
        results[run.key(job)] = run.work(job)
    lines = [json.dumps([name, result]) for name, result in results.items()]
    kept.write_text("\n".join([json.dumps(["code", run.fingerprint()]), *lines[:-1]]) + "\n" + lines[-1][:20])  # cut short
    assert run.finished(kept) == {name: json.loads(json.dumps(results[name])) for name in list(results)[:-1]}


def test_jobs_of_other_code_are_refused(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    kept.write_text(json.dumps(["code", "another"]) + "\n" + json.dumps(["job", []]) + "\n")
    with pytest.raises(click.UsageError, match="other code"):
        run.finished(kept)


def test_a_change_anywhere_that_decides_figures_is_other_code(tmp_path: Path) -> None:
    package = Path(trueness.__file__).parent
    copy = shutil.copytree(package, tmp_path / "trueness", ignore=shutil.ignore_patterns("__pycache__"))
    assert run.fingerprint(copy) == run.fingerprint()
    deciding = ["options.py", "data/sample.py", "smoothing/__init__.py", "summary/moments.py", "engines/files/reduction.py"]
    for path, changes in [*((path, True) for path in deciding), ("plots/draw.py", False), ("report/html.py", False)]:
        before = run.fingerprint(copy)
        with (copy / path).open("a") as file:
            file.write("# changed\n")
        assert (run.fingerprint(copy) != before) == changes, path


def test_the_command_says_what_it_does() -> None:
    shown = CliRunner().invoke(run.main, ["--help"])
    assert shown.exit_code == 0
    assert "--keep" in shown.output


def test_pairs_of_predictors() -> None:
    assert pairs.true_differences("10 points too high")["ecce_r"] == pytest.approx(-0.1, abs=1e-9)
    assert pairs.true_differences("nearly the same, off")["ecce_r"] == pytest.approx(0, abs=1e-3)
    # (a − q)² − (b − q)² with a = q and b = q + 0.1.
    assert pairs.true_differences("10 points too high")["brier_score"] == pytest.approx(-0.01, abs=1e-9)
    options = ["--samples", "2", "--rows", "300", "--bootstrap", "1", "--draws", "3", "--world", "10 points too"]
    result = CliRunner().invoke(pairs.main, options)
    assert result.exit_code == 0, result.output
    assert "of 7 cells cover too rarely" in result.output
