"""The validity study: its limits, its truths, and that it can be interrupted and judged."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import trueness
from studies import coverage, harder, judge, losses, omnibus, pairs, peers, power, repairs, run, size, table, worlds
from studies.parts import PARTS
from studies.share import Share, error, merged


def test_limits_are_exact_binomial() -> None:
    # P(X > 12) for 100 trials at 0.05 is 0.0014569 and P(X > 11) 0.0042734 (tables of the binomial distribution).
    assert judge.most(100, 0.05, cells=20) == 12
    assert judge.most(100, 0.05, cells=1) == 9
    assert judge.fewest(100, 0.95, cells=20) == 88
    assert error(50, 100) == pytest.approx(0.05)


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


def test_the_peers_are_the_tests_they_are_named_after() -> None:
    pytest.importorskip("probcal")
    rng = np.random.default_rng(6)
    f = rng.random(500)
    y = (rng.random(500) < f).astype(int)
    found = {name: test(y, f) for name, test in peers.tests().items()}
    assert tuple(found) == peers.NAMES
    assert found["probcal: Spiegelhalter"] == pytest.approx(power.spiegelhalter(y, f), rel=1e-9)
    assert found["probcal: Cox, likelihood ratio"] == pytest.approx(
        trueness.calibration_test(y, f, statistic="cox", method="asymptotic").pvalue, abs=0.05
    )  # score and likelihood ratio agree as rows grow
    assert all(0 <= p <= 1 for p in found.values())


def test_jobs_have_seeds_of_their_own() -> None:
    jobs = list(run.jobs("full"))
    assert len({run.key(job) for job in jobs}) == len(jobs)
    assert {cell["n"] for cell in size.cells()} == {50, 100, 300, 1_000, 10_000, 100_000}
    assert len(size.cells()) == 54
    assert len(coverage.cells()) == 75 + 40


def share(events, trials=40, **fields):
    given = {"table": "coverage", "what": "ecce_r", "world": "uniform", "truth": "shift", "n": 50, "at_least": 0.95}
    return Share(**(given | fields), events=events, trials=trials)


def results(*shares):
    return table.Results({"coverage": table.Found(shares, "2026-01-01", "tiny", 1.0)})


def test_wrong_results_are_blamed() -> None:
    assert not results(share(0)).judged["coverage"][0].right
    assert "beyond" in results(share(0)).verdict()
    assert "all of 1 claims about cells" in results(share(38)).verdict()


def test_what_would_have_been_seen_is_the_binomial_tail() -> None:
    # P(X > 12 | 100, q) = 0.9 and P(X < 88 | 100, q) = 0.9, sums of the probabilities themselves.
    above, below = judge.seen_above(100, 12), judge.seen_below(100, 88)
    assert sum(math.comb(100, k) * above**k * (1 - above) ** (100 - k) for k in range(13, 101)) == pytest.approx(0.9)
    assert sum(math.comb(100, k) * below**k * (1 - below) ** (100 - k) for k in range(88)) == pytest.approx(0.9)
    assert (judge.seen_above(4, 4), judge.seen_below(4, 0)) == (1.0, 0.0)


def test_a_pool_sees_what_its_cells_do_not() -> None:
    """Coverage of 0.9 in 40 cells of 60 samples: 54 of 60 breaks no limit of a cell, 2160 of 2400 that of their pool."""
    cells = [share(54, 60, truth=f"truth {i % 8}", n=n) for n in (50, 200, 1000, 5000, 50_000) for i in range(8)]
    claims = judge.judged(cells)
    assert {claim.level for claim in claims if not claim.right} >= {"one world"}
    assert all(claim.right for claim in claims if claim.level == "one cell")
    pool = next(claim for claim in claims if claim.level == "one world")
    assert (pool.events, pool.trials) == (2160, 2400)
    # The limit is shared among all limits of all levels: 40 cells, 5 numbers of rows, 8 truths, 1 world; the fifth level, all
    # worlds at one n, parts these as the second does and is left out.
    assert len(claims) == 40 + 5 + 8 + 1
    assert pool.limit == judge.fewest(2400, 0.95, 4 * 1)


def test_a_table_that_keeps_its_word_is_seldom_blamed() -> None:
    rng = np.random.default_rng(4)
    blamed = 0
    for _ in range(200):
        cells = [
            share(int(rng.binomial(200, 0.95)), 200, truth=truth, n=n, world=world)
            for world in "ab"
            for truth in "cd"
            for n in (50, 200, 1000)
        ]
        blamed += not all(claim.right for claim in judge.judged(cells))
    assert blamed <= judge.most(200, 0.05, 100)


def test_claims_of_either_side_are_pooled_apart() -> None:
    fields = {"table": "size", "what": "t", "truth": "", "at_least": None}
    cells = [share(5, 100, n=50, at_most=0.05, **fields), share(0, 100, n=300, at_most=0.05, **(fields | {"at_least": 0.035}))]
    claims = judge.judged(cells)
    pools = {(claim.upper, claim.trials) for claim in claims if claim.level == "one truth of a world at every n"}
    assert pools == {(True, 200), (False, 100)}


def test_known_failures_are_shown_and_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(table.KNOWN, ("coverage", "ecce_*", "uniform", "*"), "a reason")
    assert results(share(0)).wrong() == []
    assert "1 cells are known to fail" in results(share(0)).verdict()


def test_limits_are_shared_among_all_tables_that_claim() -> None:
    claiming = {
        share.table
        for name, part in PARTS.items()
        for cell in part.cells()[:1]
        for what in ("ecce_r", "uniform bins", "a calibrated group is blamed")
        for share in part.shares(cell, what, [(1, 1)] if name.startswith(("coverage", "bands")) else [1])
        if share.at_most is not None or share.at_least is not None
    }
    assert len(claiming) == table.CLAIMING
    assert judge.judged([share(38)], tables=7)[0].limit == judge.fewest(40, 0.95, 7)


def test_shares_of_one_cell_are_added() -> None:
    assert merged([share(3, 10, width=0.2), share(5, 30, width=0.4)]) == [share(8, 40, width=pytest.approx(0.35))]


def test_a_page_is_read_back(tmp_path: Path) -> None:
    power = [
        Share(table="power of every part", what=what, world=world, n=1000, events=events, trials=10)
        for world, found in (("a", (9, 4, 7)), ("b", (2, 8, 7)))
        for what, events in zip(("ecce_r", "cox", "combined"), found, strict=True)
    ]
    written = table.Results(
        {
            "coverage": table.Found((share(38), share(39, n=200, width=0.1)), "2026-01-01", "tiny", 0.5),
            "power of every part": table.Found(tuple(power), "2026-01-02", "tiny", 1.0),
        }
    )
    table.write(tmp_path / "page.md", written)
    assert table.load(tmp_path / "page.md") == written
    page = (tmp_path / "page.md").read_text()
    assert "all of 2 claims about cells" in page
    assert "stopped after 50% of its jobs" in page
    assert (tmp_path / "_static" / "page.png").stat().st_size > 10_000
    # The best of a is 0.9, of b 0.8: the combination loses 0.2 and 0.1, ECCE-R 0 and 0.6.
    assert "loses at most 0.20 and on average 0.15" in page.replace("\n", " ")
    assert losses.losses(power)["ecce_r"] == pytest.approx([0, 0.6])


def test_populations_of_harder_worlds_are_those_of_their_samples() -> None:
    """Weighted means of score and outcome over a large sample, within five standard errors of the population's."""
    rng = np.random.default_rng(2)
    for name in (
        "mixed labels",
        "soft, rare",
        "rare outliers",
        "Pareto weights",
        "heavy weights, f = 0",
        "atoms and continuum",
    ):
        drawn = harder.WORLDS[name].draw(rng, 100_000, harder.TRUTHS["x 1.5"])
        eta, f, w = harder.WORLDS[name].population(100_000, harder.TRUTHS["x 1.5"], points=20_000)
        v = np.ones(100_000) if drawn.w is None else drawn.w
        for column, exact in ((drawn.f, f), (drawn.y, eta)):
            target = np.average(exact, weights=w)
            scale = np.sqrt(np.sum((v * (column - target)) ** 2)) / v.sum()
            assert abs(np.average(column, weights=v) - target) < 5 * scale, name


def test_clusters_share_their_score_and_keep_calibration() -> None:
    drawn = harder.WORLDS["clusters, correlation .6"].draw(np.random.default_rng(1), 50_000)
    assert drawn.cluster is not None
    assert all(len(np.unique(drawn.f[drawn.cluster == g])) == 1 for g in range(20))
    means = np.bincount(drawn.cluster, drawn.y - drawn.f) / 10
    assert abs(means.mean()) < 5 * means.std() / np.sqrt(len(means))
    assert means.var() > 2 * np.mean(drawn.f * (1 - drawn.f)) / 10  # independent rows would have about 1


def test_truths_of_so_many_floors_are_so_far_off() -> None:
    eta, f, _ = harder.WORLDS["uniform"].population(1000, harder.TRUTHS["slope of 2 floors"])
    floor = math.sqrt(8 / math.pi) * math.sqrt(1 / 6 / 1000)
    assert trueness.ecce_r(eta, f) == pytest.approx(2 * floor, rel=1e-3)


def test_every_part_of_the_study_counts_one_sample() -> None:
    cheap = ("size", "coverage", "size, harder worlds", "coverage, harder worlds", "bands", "groups", "power of every part")
    for name in cheap:
        part = PARTS[name]
        cell = next((cell for cell in part.cells() if cell.get("scores") == "uniform, weights"), part.cells()[0])
        found = part.once(cell, 5)
        assert found
        shares = [each for what, value in found.items() for each in part.shares(cell, what, [value])]
        assert all(each.table in table.SECTIONS and 0 <= each.events <= each.trials for each in shares)
    assert len(omnibus.ALTERNATIVES) >= 20


def test_repairs_are_judged_by_limits_shared_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = repairs.Repair("a", "held", ".8", (8, 10), 40, lambda seed: (int(seed % 4 > 0), 1), at_least=0.95)
    shown = replace(claim, name="b", at_least=None)
    monkeypatch.setattr(repairs, "REPAIRS", (claim, shown))
    assert repairs.measured(claim, 0.5) == (15, 20)
    # P(fewer than 16 of 20 | 0.95) = 0.0026: beyond, with one claim alone.
    assert (repairs.judged(claim, (15, 20)), repairs.judged(claim, (18, 20)), repairs.judged(shown, (0, 20))) == (
        "beyond",
        "within",
        "",
    )
    result = CliRunner().invoke(repairs.main)
    assert result.exit_code == 1
    assert "0.800 ± 0.126" in result.output
    assert "1 beyond their limits: a" in result.output


def test_an_interrupted_study_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = {"size": {50: 3}, "coverage": {50: 2}, "power": {300: 2}}
    monkeypatch.setitem(run.PLANS, "tiny", plan)
    monkeypatch.setattr(
        run, "PARTS", {name: part._replace(cells=lambda cells=part.cells: cells()[:7]) for name, part in PARTS.items()}
    )
    kept = tmp_path / "kept.jsonl"
    planned = run.jobs("tiny")
    done = {run.key(job): run.work(job) for job in planned}
    lines = [json.dumps([name, result]) for name, result in done.items()]
    kept.write_text("\n".join([json.dumps(["code", run.fingerprint()]), *lines[:-1]]) + "\n" + lines[-1][:20])  # cut short
    read = run.finished(kept)
    assert read == {name: json.loads(json.dumps(done[name])) for name in list(done)[:-1]}
    assert run.found(planned, read, "tiny")["coverage"].plan == "tiny"


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
