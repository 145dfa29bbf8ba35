"""Limits that a pipeline sets."""

import pytest

from trueness.cli import main


@pytest.mark.parametrize(("limit", "code"), [("0.25", 0), ("0.2499999999", 1)])
def test_a_value_equal_to_its_limit_passes(tmp_path, capsys, limit, code):
    """The Brier score of 1/2 is 1/4, whatever happens."""
    rows = tmp_path / "rows.csv"
    rows.write_text("y,p\n" + "0,0.5\n1,0.5\n" * 20)
    assert main(["check", str(rows), "-y", "y", "-p", "p", "--max", f"brier_score={limit}"]) == code
    assert capsys.readouterr().out.startswith("ok" if code == 0 else "FAIL")
