"""Damaged files: an error that names the file, or the clean result; never another number."""

import pytest
from hostile.clean import F, G, Y
from hostile.files import all_cases
from hostile.harness import attempt
from hostile.names import TEXTS, is_shown_safely

import trueness
from trueness import TruenessError

CASES = [pytest.param(*case, id=f"{case[0]}-{case[1]}") for case in all_cases()]


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """The bytes of a clean file of every kind."""
    import pandas as pd
    from hostile.clean import COLUMNS

    folder, frame = tmp_path_factory.mktemp("clean"), pd.DataFrame(COLUMNS)
    frame.to_csv(folder / "a.csv", index=False)
    frame.to_json(folder / "a.json", orient="records", lines=True)
    frame.to_parquet(folder / "a.parquet", index=False)
    trueness.summarize(Y, F).save(folder / "a.summary")
    return {kind: (folder / f"a.{kind}").read_bytes() for kind in ("csv", "json", "parquet", "summary")}


def read(path, ending, **options):
    if ending == ".tns":
        return trueness.Summary.load(path)
    return trueness.summarize_files(path, outcome="y", prediction="p", **options)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("kind", "name", "wanted", "ending", "make"), CASES)
def test_damaged_files(kind, name, wanted, ending, make, exact, clean, tmp_path):
    path = tmp_path / f"a{ending}"
    path.write_bytes(make(clean[kind]))
    found, told = None, ""
    try:
        found = attempt(lambda: read(path, ending, exact=exact))
    except TruenessError as error:
        told = str(error)
    if found is None:
        assert wanted != "same", told
        assert path.name in told, f"does not name the file: {told}"
        assert is_shown_safely(told)
        return
    assert wanted != "refused", f"was read: {found}"
    want = trueness.summarize(Y, F)
    assert (found.n, found.cells.tolist(), found.sums.tolist()) == (want.n, want.cells.tolist(), want.sums.tolist())


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "summary"])
def test_every_tenth_cut(kind, clean, tmp_path):
    ending = {"json": ".ndjson", "summary": ".tns"}.get(kind, f".{kind}")
    path, want = tmp_path / f"a{ending}", trueness.summarize(Y, F)
    lines = clean[kind].count(b"\n") if kind in ("csv", "json") else 0
    for part in range(1, 20):
        content = clean[kind][: len(clean[kind]) * part // 20]
        path.write_bytes(content)
        try:
            found = attempt(lambda: read(path, ending))
        except TruenessError:
            continue
        # Text that ends anywhere is text; the rows that are there are counted, the last one whole or refused.
        assert kind in ("csv", "json"), f"{part}/20 of a {kind} file was read"
        assert found.n < want.n
        assert found.n in (content.count(b"\n"), content.count(b"\n") - 1, content.count(b"\n") + 1)
        assert lines >= found.n


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if text and "/" not in text and len(text) < 200])
def test_names_of_files(name, clean, tmp_path):
    path = tmp_path / f"{TEXTS[name]}.csv"
    path.write_bytes(clean["csv"])
    assert attempt(lambda: trueness.summarize_files(path, outcome="y", prediction="p")).n == len(Y)
    attempt(lambda: trueness.summarize_files(str(path), outcome="y", prediction="p", by="g"))
    path.write_bytes(b"")
    with pytest.raises(TruenessError) as caught:
        attempt(lambda: trueness.summarize_files(path, outcome="y", prediction="p"))
    assert is_shown_safely(str(caught.value))
    assert len(set(G)) == 2
