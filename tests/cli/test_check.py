"""Limits that a pipeline sets."""

import re

import numpy as np
import pytest

import trueness
from trueness.cli import main


@pytest.mark.parametrize(("limit", "code"), [("0.25", 0), ("0.2499999999", 1)])
def test_a_value_equal_to_its_limit_passes(tmp_path, capsys, limit, code):
    """The Brier score of 1/2 is 1/4, whatever happens."""
    rows = tmp_path / "rows.csv"
    rows.write_text("y,p\n" + "0,0.5\n1,0.5\n" * 20)
    assert main(["check", str(rows), "-y", "y", "-p", "p", "--max", f"brier_score={limit}"]) == code
    assert capsys.readouterr().out.startswith("ok" if code == 0 else "FAIL")


def test_a_groups_bracket_is_held_to_the_limit_by_its_upper_end(tmp_path, capsys):
    """At its cell's edges C is 1e-9, between them it goes up to 1/4."""
    n = 2000
    group = trueness.summarize(np.arange(n) < n // 2, 0.5 + np.arange(n) * 1e-12)
    path = tmp_path / "groups.tns"
    trueness.Record({"a": group, "b": group}, axes=["g"]).save(path)
    for more in [], ["--upper"]:
        assert main(["check", str(path), "--max", "ecce_r=0.1", *more]) == 1
        line = next(line for line in capsys.readouterr().out.splitlines() if "group b" in line)
        assert re.match(r"FAIL  group b: ecce_r is at most 0.5, 95 % interval then 0.5 to 0.5\d+, limit 0.1, exceeded", line), (
            line
        )
    assert main(["check", str(path), "--max", "ecce_r=0.55", "--alpha", "0.01"]) == 0


def test_a_p_from_the_edges_of_cells_comes_with_a_note(tmp_path, capsys):
    path = tmp_path / "a.tns"
    trueness.summarize(np.arange(400) < 120, 0.3 + 1e-9 * np.arange(400)).save(path)
    assert main(["check", str(path), "--alpha", "0.01"]) == 0
    check, *notes = capsys.readouterr().out.splitlines()
    assert check.startswith("ok    combined test p")
    assert any(note.startswith("note  scores share cells of the summary: ECCE-R may be as large as 0.42") for note in notes)
