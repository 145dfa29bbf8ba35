"""The commands on files: the same results as the functions give, and the exit code a pipeline relies on."""

import contextlib
import csv
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueness
from trueness import cli
from trueness.cli.output import Progress
from trueness.demo import make_demo

N = 3000
Y, F, TRUTH = (column[:N] for column in make_demo())
G = np.random.default_rng(1).choice(["de", "fr", ""], N)
W = np.random.default_rng(2).integers(1, 4, N)


def write(path, columns, delimiter=","):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(zip(*[column.tolist() for column in columns.values()], strict=True))
    return str(path)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write(tmp_path_factory.mktemp("rows") / "a.csv", {"id": np.arange(N), "y": Y, "p": F, "q": TRUTH, "g": G, "w": W})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, written):
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(written, "a.csv")
    return tmp_path


@pytest.fixture
def call(capsys):
    """A command run here: exit code, stdout, stderr."""

    def called(*arguments):
        capsys.readouterr()
        code = cli.main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return called


@pytest.fixture
def result(call):
    def called(*arguments):
        code, out, err = call(*arguments, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return called


ROWS = ("a.csv", "-y", "y", "-p", "p")


# assess


def test_assess_prints_the_assessment(call):
    assert call("assess", *ROWS) == (0, f"{trueness.assess(Y, F)}\n", "")


def test_assess_as_json(result):
    assert result("assess", *ROWS) == json.loads(json.dumps(trueness.assess(Y, F).to_dict()))


def test_assess_with_weights_groups_level_and_seed(result):
    found = result("assess", *ROWS, "-w", "w", "--by", "g", "--level", "0.9", "--rng", "5")
    groups = [group or None for group in G.tolist()]
    expected = trueness.assess(Y, F, sample_weight=W.astype(float), by=groups, level=0.9, rng=5)
    assert found == json.loads(json.dumps(expected.to_dict()))


def test_groups_by_two_columns(result):
    found = result("assess", *ROWS, "--by", "g", "--by", "w")
    assert sorted(map(str, (tuple(each["group"]) for each in found["groups"]))) == sorted(
        str((group, weight)) for group in ("de", "fr", None) for weight in "123"
    )


def test_the_page_is_short(call):
    write("many.csv", {"y": Y, "p": F, "g": np.arange(N) % 200})
    out = call("assess", "many.csv", "-y", "y", "-p", "p", "--by", "g")[1]
    assert len(out.splitlines()) <= 60
    assert max(map(len, out.splitlines())) <= 100
    assert "and 188 more groups" in out


@pytest.mark.full
@pytest.mark.parametrize("name", ["a.parquet", "a.csv.gz", "a.ndjson", "-"])
def test_every_kind_of_source(call, monkeypatch, name):
    expected = call("assess", *ROWS)
    if name == "a.parquet":
        pq.write_table(pa.table({"y": Y, "p": F}), name)
    elif name == "a.csv.gz":
        with open("a.csv", "rb") as file, gzip.open(name, "wb") as packed:
            packed.write(file.read())
    elif name == "a.ndjson":
        with open(name, "w") as file:
            file.writelines(json.dumps({"y": int(y), "p": float(p)}) + "\n" for y, p in zip(Y, F, strict=True))
    else:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("a.csv").read_bytes())))
    assert call("assess", name, "-y", "y", "-p", "p") == expected


def test_many_rows_are_computed_from_their_summary(call, monkeypatch):
    expected = call("assess", *ROWS)[1]
    monkeypatch.setattr("trueness.cli.loading.IN_MEMORY", 1000)
    summary = call("assess", *ROWS)[1]
    found = trueness.assess(trueness.summarize_files("a.csv", outcome="y", prediction="p", exact=True))
    assert summary == f"{found}\n"
    assert found.error.range == pytest.approx(trueness.ecce_r(Y, F), abs=1e-13)  # a second pass makes it exact
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("a.csv").read_bytes())))
    assert call("assess", "-", "-y", "y", "-p", "p")[1] == summary
    drawn = r", noise floor 0\.02\d\d|p =\s?0\.00\d+"  # simulated, from cells and from rows
    assert re.sub(drawn, "", "".join(summary.splitlines()[:2])) == re.sub(drawn, "", "".join(expected.splitlines()[:2]))
    by = call("assess", *ROWS, "--by", "g")[1]
    assert re.search(r"^\(missing\) +\d+ ", by, flags=re.MULTILINE)


def test_missing_values(call, result):
    write("holes.csv", {"y": Y, "p": np.where(np.arange(N) % 10, F.astype(str), "NA")})
    code, out, err = call("assess", "holes.csv", "-y", "y", "-p", "p")
    assert (code, out) == (2, "")
    assert err.startswith("trueness: column 'p': 300 of 3000 values are missing or not finite (first: row 0, line 2 of ")
    assert "pass --nan drop" in err
    assert "nan=" not in err
    found = result("assess", "holes.csv", "-y", "y", "-p", "p", "--nan", "drop")
    assert "300 rows not used: prediction missing or not finite" in found["notes"]
    assert found["n"] == 2700


def test_labels(call, result):
    write("labels.csv", {"y": np.where(Y, "win", "loss"), "p": F, "z": Y + 1})
    code, _, err = call("assess", "labels.csv", "-y", "y", "-p", "p")
    assert code == 2
    assert "--pos-label 'win'" in err
    assert "pos_label" not in err
    found = result("assess", "labels.csv", "-y", "y", "-p", "p", "--pos-label", "win")
    assert found["metrics"] == result("assess", *ROWS)["metrics"]
    code, _, err = call("assess", "labels.csv", "-y", "z", "-p", "p")
    assert code == 2
    assert err.endswith("Say which value means the event: --pos-label 2.0.\n")
    assert result("assess", "labels.csv", "-y", "z", "-p", "p", "--pos-label", "2")["metrics"] == found["metrics"]


def test_what_the_data_say_is_not_reworded(call):
    labels = np.where(Y, "nan='drop'", "pos_label=3, as pos_label=")
    write("labels.csv", {"y": labels, "p": F})
    code, _, err = call("assess", "labels.csv", "-y", "y", "-p", "p")
    assert code == 2
    assert "\"nan='drop'\" (" in err
    assert err.endswith("Say which value means the event, for example --pos-label 'pos_label=3, as pos_label='.\n")


def test_an_event_that_never_occurs(call):
    code, _, err = call("assess", *ROWS, "--pos-label", "win")
    assert code == 2
    assert err.endswith("Pass the one that means the event with --pos-label.\n")


def test_another_delimiter(call):
    write("percent.csv", {"y": Y, "p": F}, delimiter="%")
    code, _, err = call("assess", "percent.csv", "-y", "y", "-p", "p")
    assert code == 2
    assert err.endswith("Is the delimiter another one? Pass it with --delimiter.\n")


# report


def test_report_writes_the_page(call):
    code, out, err = call("report", *ROWS, "--by", "g", "-o", "out.html", "--title", "A <title>")
    assert (code, err) == (0, "")
    found = trueness.assess(Y, F)
    assert out == f"{found.verdict}\n\nThe report is in out.html.\n"
    page = Path("out.html").read_text(encoding="utf-8")
    assert found.verdict in re.sub("<[^>]*>", "", page)
    assert "A &lt;title&gt;" in page
    assert page.endswith("</html>\n")


def test_report_has_a_default_name(call):
    call("report", *ROWS)
    assert os.path.exists("report.html")


# check


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--max", "smooth_ece=0.2"), 0),
        (("--max", "smooth_ece=0.02"), 1),
        (("--max", "smooth_ece=0.2", "--max", "ecce_r=0.001"), 1),
        (("--max", "brier_score=0.5"), 0),
        (("--max", "log_loss=0.1"), 1),
        (("--alpha", "0.01"), 1),
        (("--alpha", "0.01", "--max", "smooth_ece=0.2"), 1),
    ],
)
def test_check(call, options, code):
    found, out, err = call("check", *ROWS, *options)
    assert (found, err) == (code, "")
    assert ("FAIL" in out) == (code == 1)
    assert len(out.splitlines()) == len(options) / 2


def test_check_says_by_how_much(call):
    value = trueness.smooth_ece(Y, F)
    out = call("check", *ROWS, "--max", "smooth_ece=0.02")[1]
    assert out == f"FAIL  smooth_ece is {value:.6g}, limit 0.02, exceeded by {value - 0.02:.4g}\n"


def test_check_of_the_upper_end(call):
    found = trueness.assess(Y, F)["smooth_ece"]
    between = (found.value + found.interval.high) / 2
    assert call("check", *ROWS, "--max", f"smooth_ece={between}")[0] == 0
    code, out, _ = call("check", *ROWS, "--max", f"smooth_ece={between}", "--upper")
    assert code == 1
    assert "upper end of the 95 % interval of smooth_ece" in out


def test_a_true_model_passes(call):
    assert call("check", "a.csv", "-y", "y", "-p", "q", "--alpha", "0.001", "--max", "smooth_ece=0.05", "--upper")[0] == 0


def test_check_of_groups(call):
    out = call("check", *ROWS, "--alpha", "0.01", "--by", "g")[1]
    assert [line.split("group ")[1].split(":")[0] for line in out.splitlines()[1:]] == ["de", "fr", "(missing)"]
    write("few.csv", {"y": Y[:105], "p": TRUTH[:105], "g": np.where(np.arange(105) < 100, "many", "few")})
    code, out, _ = call("check", "few.csv", "-y", "y", "-p", "p", "--alpha", "0.0001", "--by", "g")
    assert code == 0
    assert "group few: not tested, fewer than 10 rows" in out


SHIFTED = np.where(np.arange(N) % 3 == 0, np.clip(TRUTH - 0.2, 0, 1), TRUTH)  # every third row is off
THIRD = np.where(np.arange(N) % 3 == 0, "off", np.where(np.arange(N) % 3 == 1, "a", "b"))


@pytest.mark.parametrize("source", ["rows", "record", "large"])
def test_every_group_is_held_to_the_limit(call, monkeypatch, source):
    """The whole passes, and a group whose interval lies above the limit does not; it once did."""
    write("groups.csv", {"y": Y, "p": SHIFTED, "g": THIRD})
    arguments = ("groups.csv", "-y", "y", "-p", "p", "--by", "g")
    if source == "large":
        monkeypatch.setattr("trueness.cli.loading.IN_MEMORY", 1000)
    if source == "record":
        call("summarize", *arguments, "-o", "groups.tns")
        arguments = ("groups.tns",)
    code, out, err = call("check", *arguments, "--max", "smooth_ece=0.09", "--max", "brier_score=0.3")
    assert (code, err) == (1, "")
    lines = out.splitlines()
    assert len(lines) == 2 + 3 * 2
    assert lines[0].startswith("ok    smooth_ece is ")
    (failed,) = [line for line in lines if line.startswith("FAIL")]
    assert re.fullmatch(
        r"FAIL  group off: smooth_ece is 0\.\d+, 95 % interval 0\.[\d]+ to 0\.[\d]+, limit 0\.09, exceeded by 0\.\d+", failed
    )
    found = json.loads(call("check", *arguments, "--max", "smooth_ece=0.09", "--json")[1])
    assert [each["name"] for each in found["checks"] if not each["passed"]] == ["smooth_ece, group off"]


def test_a_group_exceeds_a_limit_within_noise(call):
    of = np.arange(N) < 60
    write("few.csv", {"y": Y, "p": TRUTH, "g": np.where(of, "few", "many")})
    value = trueness.smooth_ece(Y[of], TRUTH[of])
    limit = value / 2
    arguments = ("few.csv", "-y", "y", "-p", "p", "--by", "g")
    code, out, _ = call("check", *arguments, "--max", f"smooth_ece={limit}")
    assert code == 0
    assert re.search(r"^ok    group few: smooth_ece is .* exceeded within noise$", out, flags=re.MULTILINE)
    code, out, _ = call("check", *arguments, "--max", f"smooth_ece={2 * value}", "--upper")
    assert code == 1
    assert re.search(r"^FAIL  group few: smooth_ece is .*, exceeded by 0\.\d+$", out, flags=re.MULTILINE)


def test_groups_that_are_not_checked(call):
    group = np.where(np.arange(N) < 9, "tiny", np.where(np.arange(N) < 30, "small", "large"))
    write("few.csv", {"y": Y, "p": TRUTH, "g": group})
    code, out, _ = call("check", "few.csv", "-y", "y", "-p", "p", "--by", "g", "--max", "binned_ece=0.05")
    assert code == 0
    assert "ok    group tiny: binned_ece not checked, fewer than 10 rows" in out
    assert "ok    group small: binned_ece not checked, too few rows: 21 in 15 bins" in out
    code, out, _ = call("check", "few.csv", "-y", "y", "-p", "p", "--by", "g", "--max", "log_loss=0.1")
    assert code == 1
    assert "FAIL  group large: log_loss is " in out
    assert "log_loss not checked, fewer than 10 rows" in out


def test_a_bracket_is_held_to_the_limit_by_its_upper_end(call):
    """What is not known counts: half of an error that lies inside one cell was once let through."""
    f = np.repeat([0.500001, 0.500009], 500)
    y = np.repeat([1, 0], 500)
    trueness.summarize(y, f).save("bare.tns")
    trueness.summarize(y, f, exact=True).save("exact.tns")
    assert trueness.ecce_r(trueness.Summary.load("bare.tns")) < 1e-4
    code, out, _ = call("check", "bare.tns", "--max", "ecce_r=0.01")
    assert code == 1
    assert out.startswith("FAIL  ecce_r is at most 0.5")
    code, out, _ = call("check", "exact.tns", "--max", "ecce_r=0.01")
    assert code == 1
    assert out.startswith("FAIL  ecce_r is 0.25")


def test_check_as_json(call):
    code, out, _ = call("check", *ROWS, "--max", "smooth_ece=0.02", "--alpha", "0.01", "--json")
    found = json.loads(out)
    assert code == 1
    assert found["passed"] is False
    assert [(each["name"], each["passed"], each["limit"]) for each in found["checks"]] == [
        ("smooth_ece", False, 0.02),
        ("alpha", False, 0.01),
    ]


def test_an_undefined_upper_end_fails(call):
    write("one.csv", {"y": Y[:1], "p": F[:1]})
    code, out, _ = call("check", "one.csv", "-y", "y", "-p", "p", "--max", "smooth_ece=1", "--upper")
    assert code == 1
    assert "undefined" in out


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((), "nothing to check"),
        (("--max", "smoth_ece=0.1"), "Did you mean 'smooth_ece'?"),
        (("--max", "smooth_ece"), "METRIC=VALUE"),
        (("--max", "smooth_ece=x"), "METRIC=VALUE"),
        (("--max", "smooth_ece=nan"), "METRIC=VALUE"),
        (("--max", "smooth_ece=-1"), "METRIC=VALUE"),
        (("--max", "brier_score=1", "--upper"), "has no interval"),
        (("--max", "decompose=1"), "there is no metric"),
        (("--alpha", "5"), "not a fraction"),
        (("--alpha", "0"), "not a fraction"),
        (("--alpha", "x"), "not a valid float"),
        (("--alpha", "0.1", "--level", "95"), "level: 95.0 is not a fraction"),
    ],
)
def test_check_refuses(call, options, text):
    code, out, err = call("check", *ROWS, *options)
    assert (code, out) == (2, "")
    assert text in err


# compare


def test_compare_columns(result, call):
    found = result("compare", "a.csv", "-y", "y", "-p", "p", "-p", "q")
    expected = trueness.compare(Y, {"p": F, "q": TRUTH})
    assert found == json.loads(json.dumps(expected.to_dict()))
    assert call("compare", "a.csv", "-y", "y", "-p", "p", "-p", "q")[1] == f"{expected}\n"


@pytest.mark.full
def test_compare_files_row_by_row(result):
    write("b.csv", {"y": Y, "p": TRUTH})
    found = result("compare", "a.csv", "b.csv", "-y", "y", "-p", "p")
    assert found["differences"][0]["a"] == "a.csv"
    assert found["values"] == json.loads(json.dumps(trueness.compare(Y, {"a.csv": F, "b.csv": TRUTH}).to_dict()))["values"]


@pytest.mark.full
def test_compare_files_by_key(result, call):
    order = np.random.default_rng(3).permutation(N)
    write("b.csv", {"p": TRUTH[order], "id": order, "y": Y[order]})
    code, _, err = call("compare", "a.csv", "b.csv", "-y", "y", "-p", "p")
    assert code == 2
    assert "differ in" in err
    assert "--key" in err
    found = result("compare", "a.csv", "b.csv", "-y", "y", "-p", "p", "--key", "id")
    assert found["values"] == json.loads(json.dumps(trueness.compare(Y, {"a.csv": F, "b.csv": TRUTH}).to_dict()))["values"]


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"id": np.arange(N - 1), "y": Y[1:], "p": F[1:]}, "different keys"),
        ({"id": np.arange(N) + 1, "y": Y, "p": F}, "different keys"),
        ({"id": np.zeros(N, int), "y": Y, "p": F}, "repeats"),
        ({"id": np.where(np.arange(N) == 5, "", np.arange(N).astype(str)), "y": Y, "p": F}, "is missing in some rows"),
        ({"id": np.arange(N), "y": 1 - Y, "p": F}, "Check the key"),
        ({"y": Y, "p": F}, "there is no column 'id'"),
    ],
)
def test_keys_that_do_not_pair(call, columns, text):
    write("b.csv", columns)
    code, out, err = call("compare", "a.csv", "b.csv", "-y", "y", "-p", "p", "--key", "id")
    assert (code, out) == (2, "")
    assert text in err


def test_compare_refuses(call):
    write("b.csv", {"y": Y[1:], "p": F[1:]})
    trueness.summarize(Y, F).save("a.tns")
    trueness.summarize(Y, TRUTH).save("b.tns")
    for arguments, text in [
        (("a.csv", "-y", "y", "-p", "p"), "two"),
        (("a.csv", "-y", "y"), "-p"),
        (("a.csv", "-y", "y", "-p", "p", "-p", "p"), "twice"),
        (("a.csv", "b.csv", "-y", "y", "-p", "p"), "3000 rows, 'b.csv' has 2999"),
        (("a.tns", "b.tns", "-y", "y", "-p", "p"), "cannot be paired"),
    ]:
        code, out, err = call("compare", *arguments)
        assert (code, out) == (2, "")
        assert text in err


def test_compare_drops_what_any_predictor_lacks_and_says_so(result):
    write("holes.csv", {"y": Y, "p": np.where(np.arange(N) % 10, F.astype(str), "NA"), "q": TRUTH})
    found = result("compare", "holes.csv", "-y", "y", "-p", "p", "-p", "q", "--nan", "drop")
    assert found["n"] == 2700
    assert "300 of 3000 rows left out: the outcome or some prediction is missing" in found["notes"]


# summarize and merge


@pytest.mark.full
def test_summaries_of_days_make_the_week(call, result):
    half = N // 2
    write("1.csv", {"y": Y[:half], "p": F[:half]})
    write("2.csv", {"y": Y[half:], "p": F[half:]})
    for day in "12":
        assert call("summarize", f"{day}.csv", "-y", "y", "-p", "p", "-o", f"{day}.tns") == (0, f"{day}.tns: {half} rows\n", "")
    assert call("merge", "[12].tns", "-o", "week.tns") == (0, f"week.tns: {N} rows\n", "")
    assert trueness.Summary.load("week.tns") == trueness.summarize(Y, F)
    one, two = result("assess", "week.tns"), result("assess", "1.tns", "2.tns")
    assert one == two == json.loads(json.dumps(trueness.assess(trueness.summarize(Y, F)).to_dict()))
    assert call("report", "week.tns", "-o", "week.html")[0] == 0
    assert call("check", "week.tns", "--max", "smooth_ece=0.02")[0] == 1
    assert call("check", "week.tns", "--max", "log_loss=0.02")[0] == 2


def test_summarize_keeps_bins_exact(call):
    call("summarize", *ROWS, "--bins", "7", "-o", "a.tns")
    found = trueness.Summary.load("a.tns")
    assert trueness.binned_ece(found, bins=7) == pytest.approx(trueness.binned_ece(Y, F, bins=7), abs=1e-12)


def test_json_of_a_summary_depends_on_its_sums_alone(result, folder):
    (folder / "deep").mkdir()
    trueness.summarize(Y, F).save("a.tns")
    trueness.summarize(Y[::-1], F[::-1]).save("deep/b.tns")
    assert result("assess", "a.tns") == result("assess", "deep/b.tns")


def test_groups_in_one_file(call, result):
    """Names that would have been files of a folder, where groups of an earlier run were counted too."""
    evil = np.array(["../../x", "/etc/passwd", "a/b", "a b", "A", "CON", "\x1b[31m", "é", "e\u0301", ".", ""])
    group = evil[np.arange(N) % len(evil)]
    write("evil.csv", {"y": Y, "p": F, "g": group})
    rows = ("evil.csv", "-y", "y", "-p", "p", "--by", "g")
    assert call("summarize", *rows, "-o", "groups.tns") == (0, f"groups.tns: 11 groups, {N} rows\n", "")
    record = trueness.Record.load("groups.tns")
    assert record.axes == ("g",)
    assert record == {name or None: trueness.summarize(Y[group == name], F[group == name]) for name in evil.tolist()}
    assert trueness.ecce(record.total()).range == pytest.approx(trueness.ecce_r(Y, F), abs=1e-13)
    assert sorted(os.listdir()) == ["a.csv", "evil.csv", "groups.tns"]
    found = result("assess", "groups.tns")
    assert found == json.loads(json.dumps(trueness.assess(record).to_dict()))
    assert len(found["groups"]) == 11
    assert call("report", "groups.tns", "-o", "groups.html")[0] == 0
    assert call("summarize", *rows, "-o", "evil.csv")[0] == 2


def test_records_of_days_make_the_week(call):
    half = N // 2
    for day, of in (("1", slice(half)), ("2", slice(half, N))):
        write(f"{day}.csv", {"y": Y[of], "p": F[of], "g": G[of], "h": W[of]})
        assert call("summarize", f"{day}.csv", "-y", "y", "-p", "p", "--by", "g", "--by", "h", "-o", f"{day}.tns")[0] == 0
    assert call("merge", "1.tns", "2.tns", "-o", "week.tns") == (0, f"week.tns: 9 groups, {N} rows\n", "")
    week = trueness.Record.load("week.tns")
    assert week.axes == ("g", "h")
    assert week["de", "1"] == trueness.summarize(Y[(G == "de") & (W == 1)], F[(G == "de") & (W == 1)])
    assert week.extremes is None
    assert call("assess", "1.tns", "2.tns", "--json") == call("assess", "week.tns", "--json")


def test_files_that_do_not_add_up_are_named(call):
    trueness.summarize(Y, F).save("one.tns")
    for name, axes in (("g.tns", ["g"]), ("h.tns", ["h"])):
        trueness.Record({"a": trueness.summarize(Y, F)}, axes=axes).save(name)
    for command in (("assess",), ("check", "--alpha", "0.1"), ("merge", "-o", "out.tns"), ("report",)):
        for files, text in [
            (("one.tns", "g.tns"), "'one.tns' holds one summary, 'g.tns' a record by g: they do not add up."),
            (("g.tns", "one.tns"), "'g.tns' holds a record by g, 'one.tns' one summary: they do not add up."),
            (("g.tns", "h.tns"), "'g.tns' holds a record by g, 'h.tns' a record by h: they do not add up."),
        ]:
            code, out, err = call(command[0], *files, *command[1:])
            assert (code, out) == (2, "")
            assert text in err


def test_a_second_pass_unless_told(call):
    assert call("summarize", *ROWS, "-o", "exact.tns")[0] == 0
    assert call("summarize", *ROWS, "-o", "bare.tns", "--no-exact")[0] == 0
    exact, bare = trueness.Summary.load("exact.tns"), trueness.Summary.load("bare.tns")
    assert exact == trueness.summarize_files("a.csv", outcome="y", prediction="p", exact=True)
    assert bare == trueness.summarize(Y, F)
    assert trueness.ecce(exact).bracket is None
    assert trueness.ecce(bare).bracket is not None


# verify


def test_verify_says_what_is_inside(call, result):
    call("summarize", *ROWS, "--bins", "7", "-o", "a.tns")
    summary = trueness.Summary.load("a.tns")
    assert result("verify", "a.tns") == {
        "kind": "summary",
        "version": 2,
        "digest": summary.digest,
        "axes": [],
        "groups": 1,
        "rows": N,
        "cells": len(summary.cells),
        "ruler_cells": summary.ruler.cells,
        "bins": [7],
        "merged_cells": False,
        "sums": "integer",
        "extremes": True,
        "notes": [],
    }
    parts = {"a\x1b[31m": trueness.summarize(Y, F), None: trueness.summarize(Y, F, sample_weight=W)}
    trueness.Record(parts, axes=["g\x1b[31m"]).coarsen(min_rows=30).save("b.tns")
    found = result("verify", "b.tns")
    assert (found["kind"], found["groups"], found["sums"]) == ("record", 2, "integer and float")
    assert (found["extremes"], found["merged_cells"]) == (False, True)
    code, out, err = call("verify", "b.tns")
    assert (code, err) == (0, "")
    assert out.startswith("b.tns: whole\n  kind      record, format version 2\n  groups    2 by g\\x1b[31m\n  rows      6000\n")
    assert "some merged" in out
    assert "\x1b" not in out


def test_verify_of_what_is_damaged(call):
    trueness.summarize(Y, F).save("a.tns")
    content = bytearray(Path("a.tns").read_bytes())
    content[len(content) // 2] ^= 1
    Path("damaged.tns").write_bytes(content)
    for name, text in [("damaged.tns", "damaged"), ("a.csv", "not a trueness summary"), ("no.tns", "there is no such file")]:
        code, out, err = call("verify", name)
        assert (code, out) == (2, "")
        assert text in err
    assert call("verify", "*.tns")[0] == 2


def test_notes_of_a_file_do_not_reach_the_terminal_raw(call):
    import dataclasses

    loud = dataclasses.replace(trueness.summarize(Y[:300], F[:300]), source=("\x1b[31mred\x07",))
    loud.save("a.tns")
    for command in (("assess", "a.tns"), ("verify", "a.tns"), ("merge", "a.tns", "-o", "b.tns"), ("report", "a.tns")):
        code, out, err = call(*command)
        assert (code, err) == (0, "")
        assert "\x1b" not in out
        assert command[0] == "report" or "\\x1b[31mred" in out
    for command in (("assess", "a.tns"), ("verify", "a.tns"), ("check", "a.tns", "--alpha", "0.01")):
        code, out, err = call(*command, "--json")
        assert (code, err) == (0, "")
        assert "\x1b" not in out
        assert "\\x1b[31mred\\x07" in json.loads(out)["notes"]


def test_notes_that_are_no_text_are_refused(call):
    import dataclasses

    dataclasses.replace(trueness.summarize(Y[:300], F[:300]), source=("a\ud800b",)).save("a.tns")
    for command in (("assess", "a.tns"), ("verify", "a.tns", "--json"), ("merge", "a.tns", "-o", "b.tns"), ("report", "a.tns")):
        code, out, err = call(*command)
        assert (code, out) == (2, "")
        assert "'a.tns': not a trueness summary" in err


def test_merge_refuses(call):
    trueness.summarize(Y, F).save("a.tns")
    trueness.summarize(Y, F, bins=[7]).save("b.tns")
    damaged = bytearray(Path("a.tns").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    Path("c.tns").write_bytes(damaged)
    for arguments, text in [
        (("a.tns", "b.tns"), "different rulers"),
        (("a.tns", "c.tns"), "damaged"),
        (("a.csv",), "not a trueness summary"),
        (("a.tns", "a.tns"), "twice"),
        (("nothing.tns",), "there is no such file"),
    ]:
        code, out, err = call("merge", *arguments, "-o", "out.tns")
        assert (code, out) == (2, "")
        assert text in err
        assert not os.path.exists("out.tns")


@pytest.mark.parametrize("option", [("-y", "y"), ("-p", "p"), ("--by", "g"), ("--nan", "drop"), ("--pos-label", "1")])
def test_summaries_take_no_options_of_rows(call, option):
    trueness.summarize(Y, F).save("a.tns")
    code, _, err = call("assess", "a.tns", *option)
    assert code == 2
    assert "summaries already hold" in err


# Where results may go


@pytest.mark.parametrize("command", ["report", "summarize", "merge"])
def test_outputs_that_are_refused(call, folder, command):
    trueness.summarize(Y, F).save("a.tns")
    arguments = ("a.tns",) if command == "merge" else ROWS
    before = Path("a.csv").read_text()
    (folder / "folder").mkdir()
    os.symlink("a.csv", "link.csv")
    given = "a.tns" if command == "merge" else "a.csv"
    refused = {given: "one of the inputs", f"./{given}": "one of the inputs", "folder": "is a directory", "no/x": "not a"}
    for out, text in refused.items():
        code, _, err = call(command, *arguments, "-o", out)
        assert code == 2
        assert text in err
    assert Path("a.csv").read_text() == before


def test_a_link_is_replaced_and_what_it_points_to_stays(call):
    trueness.summarize(Y[:10], F[:10]).save("old.tns")
    os.symlink("old.tns", "link.tns")
    call("summarize", *ROWS, "-o", "link.tns")
    assert not os.path.islink("link.tns")
    assert trueness.Summary.load("link.tns").n == N
    assert trueness.Summary.load("old.tns").n == 10


# Usage


def test_columns_must_be_named(call):
    assert "'-y'" in call("assess", "a.csv", "-p", "p")[2]
    assert "'-p'" in call("assess", "a.csv", "-y", "y")[2]
    assert "'compare' takes several" in call("assess", "a.csv", "-y", "y", "-p", "p", "-p", "q")[2]
    assert call("assess")[0] == 2


def test_errors_as_json(call):
    code, out, err = call("assess", "a.csv", "-y", "y", "-p", "nope", "--error-format", "json")
    assert (code, out) == (2, "")
    found = json.loads(err)
    assert found["exit_code"] == 2
    assert "there is no column 'nope'" in found["message"]


def test_names_with_escape_codes_do_not_reach_the_terminal(call):
    write("a\x1b[31m.csv", {"y": Y, "p\x1b[31m": F, "g": np.full(N, "\x1b[2J\u202e")})
    for arguments in (("-p", "p\x1b[31m", "--by", "g"), ("-p", "no\x1b[0m")):
        _, out, err = call("assess", "a\x1b[31m.csv", "-y", "y", *arguments)
        assert "\x1b" not in out + err
        assert "\u202e" not in out + err


def trueness_process(*arguments, **environment):
    command = [sys.executable, "-m", "trueness", *arguments]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, timeout=120, check=False)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion(shell):
    assert b"_TRUENESS_COMPLETE" in trueness_process(_TRUENESS_COMPLETE=f"{shell}_source").stdout
    words = {"COMP_WORDS": "trueness as", "COMP_CWORD": "1", "_TRUENESS_COMPLETE": "bash_complete"}
    assert trueness_process(**words).stdout == b"plain,assess\n"


def shown_on_a_terminal(side):
    """What was written, once its other side is closed."""
    shown = b""
    with contextlib.suppress(OSError):
        while part := os.read(side, 65536):
            shown += part
    os.close(side)
    return shown


def test_bars_appear_on_a_terminal_when_work_goes_on(monkeypatch):
    import pty

    main, side = pty.openpty()
    with os.fdopen(side, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        for patience in (600.0, 0.0):
            bars = Progress(patience)
            bars.reading(1, 3)
            bars.drawing(2, 3)
            bars.stop()
            terminal.flush()
            terminal.write(f"|{patience}|")
    at_once, after = shown_on_a_terminal(main).split(b"|600.0|")
    assert at_once == b""
    assert b"reading" in after
    assert b"simulating" in after


def test_nothing_is_shown_of_work_that_is_soon_done(call):
    import pty

    expected = call("assess", *ROWS)[1]
    main, side = pty.openpty()
    command = [sys.executable, "-m", "trueness", "assess", *ROWS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=side, env={**os.environ, "TERM": "xterm"}) as running:
        os.close(side)
        shown = shown_on_a_terminal(main)
        out = running.stdout.read()
    assert (running.returncode, out.decode(), shown) == (0, expected, b"")


# Real data


@pytest.mark.full
def test_imagenet_and_solar_flares_through_the_command(shared, result):
    reference = json.loads((shared / "reference" / "datasets.json").read_text())
    with gzip.open(shared / "data" / "imagenet_resnet34.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    with open("resnet34.csv", "w") as file:
        file.write("y,f\n" + "".join(f"{int(r['true_label'] == r['pred_label'])},{r['confidence']}\n" for r in rows))
    solar = str(shared / "data" / "solar_flares_c1.csv")
    for arguments, name in [
        (("resnet34.csv", "-y", "y", "-p", "f"), "imagenet_resnet34.csv.gz"),
        ((solar, "-y", "rlz.C1", "-p", "DAFFS", "--nan", "drop"), "solar_flares_c1.csv:DAFFS"),
    ]:
        found, expected = result("assess", *arguments), reference[name]
        values = {line["name"]: line["value"] for line in found["metrics"]}
        assert found["n"] == expected["n"]
        assert values["smooth_ece"] == pytest.approx(expected["smooth_ece"], rel=1e-7)
        assert values["binned_ece"] == pytest.approx(expected["ece_width_15"], abs=1e-12)
        assert values["ecce_mad"] == pytest.approx(expected["ecce_mad"], abs=1e-12)
        assert values["ecce_r"] == pytest.approx(expected["ecce_r"], abs=1e-12)
        assert found["cumulative"]["sigma"] == pytest.approx(expected["ecce_sigma"], rel=1e-9)


def test_missing_forecasts_are_refused_unless_dropped(shared, call, result):
    solar = str(shared / "data" / "solar_flares_c1.csv")
    code, _, err = call("assess", solar, "-y", "rlz.C1", "-p", "AMOS")
    with open(solar) as file:
        missing = sum(row["AMOS"] == "NA" for row in csv.DictReader(file))
    assert code == 2
    assert f"column 'AMOS': {missing} of 731 values are missing" in err
    assert result("assess", solar, "-y", "rlz.C1", "-p", "AMOS", "--nan", "drop")["n"] == 731 - missing


# Found by trying to break it


def test_inputs_named_by_pattern_or_folder_are_not_overwritten(call, folder):
    (folder / "days").mkdir()
    for day in "12":
        trueness.summarize(Y, F).save(f"days/{day}.tns")
    (folder / "rows").mkdir()
    write("rows/a.csv", {"y": Y, "p": F, "g": G})
    (folder / "rows" / "groups.json").write_text('{"y": 1, "p": 0.5, "g": 1}')
    before = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    for arguments in [
        ("merge", "days/*.tns", "-o", "days/1.tns"),
        ("merge", "days", "-o", "days/2.tns"),
        ("report", "rows/*.csv", "-y", "y", "-p", "p", "-o", "rows/a.csv"),
        ("summarize", "rows/groups.json", "-y", "y", "-p", "p", "--by", "g", "-o", "rows/groups.json"),
    ]:
        code, _, err = call(*arguments)
        assert code == 2
        assert "one of the inputs" in err
    assert {path: path.read_bytes() for path in before} == before


def test_outputs_that_are_no_files(call):
    os.mkfifo("pipe")
    code, _, err = call("summarize", *ROWS, "-o", "pipe")
    assert code == 2
    assert "pipe or a device" in err
    assert call("summarize", *ROWS, "-o", "")[0] == 2
    assert call("summarize", *ROWS, "--by", "g", "-o", "")[0] == 2


def test_an_infinite_loss_in_json(call):
    write("inf.csv", {"y": np.array([1, 0, 1, 1] * 50), "p": np.array([0, 0.5, 0.5, 1] * 50)})
    code, out, _ = call("check", "inf.csv", "-y", "y", "-p", "p", "--max", "log_loss=1", "--json")
    assert code == 1
    assert json.loads(out)["checks"][0]["value"] is None


def test_names_in_the_verdict_of_compare_are_cleaned(call):
    write("\x1b[2Jred.csv", {"y": Y, "p": F})
    write("b\nc.csv", {"y": Y, "p": TRUTH})
    _, out, _ = call("compare", "\x1b[2Jred.csv", "b\nc.csv", "-y", "y", "-p", "p")
    assert "\x1b" not in out
    assert "b\\nc.csv" in out


def test_a_bad_row_found_by_key_is_named_by_its_own_line(call):
    order = np.random.default_rng(3).permutation(N)
    bad = TRUTH[order].copy()
    bad[28] = 1.7
    write("b.csv", {"p": bad, "id": order, "y": Y[order]})
    err = call("compare", "a.csv", "b.csv", "-y", "y", "-p", "p", "--key", "id")[2]
    assert "row 28, line 30 of 'b.csv', value 1.7" in err


def test_compare_keeps_notes_and_reasons_of_dropped_rows(result):
    holes = np.where(np.arange(N) % 10, F.astype(str), "NA")
    write("holes.csv", {"y": np.where(Y, "yes", "no"), "p": holes, "q": TRUTH})
    found = result("compare", "holes.csv", "-y", "y", "-p", "p", "-p", "q", "--nan", "drop", "--pos-label", "yes")
    assert any("'yes' counted as 1" in note for note in found["notes"])
    assert "p: 300 rows not used: prediction missing or not finite" in found["notes"]
    assert (found["rows_in"], found["n"]) == (3000, 2700)


def test_rows_in_are_rows_used_and_rejected(result):
    write("holes.csv", {"y": Y, "p": np.where(np.arange(N) % 10, F.astype(str), "NA"), "w": np.arange(N) % 3})
    found = result("assess", "holes.csv", "-y", "y", "-p", "p", "-w", "w", "--nan", "drop")
    assert found["rows_in"] == found["n"] + sum(found["rejected"].values()) == N


def test_standard_input_is_named(result, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("a.csv").read_bytes())))
    write("b.csv", {"y": Y, "p": TRUTH})
    assert "standard input" in result("compare", "b.csv", "-", "-y", "y", "-p", "p")["values"]["smooth_ece"]


@pytest.mark.full
def test_groups_from_files_are_those_of_arrays(result):
    groups = {"int": np.arange(N) % 3, "bool": np.arange(N) % 2 == 0, "text": G}
    pq.write_table(pa.table({"y": Y, "p": F, **groups}), "groups.parquet")
    for name, by in groups.items():
        found = result("assess", "groups.parquet", "-y", "y", "-p", "p", "--by", name)
        expected = json.loads(json.dumps(trueness.assess(Y, F, by=by).to_dict()))
        assert found["groups"] == expected["groups"]
