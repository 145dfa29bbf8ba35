"""Hostile names change no number, and are shown without doing anything."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hostile.clean import LABELS, PROBA, RIVAL, F, G, W, Y
from hostile.harness import attempt, differs
from hostile.names import ALL, TEXTS, is_shown_safely

import trueness
from trueness import TruenessError

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "lazy": pl.LazyFrame, "Arrow": pa.table, "mapping": dict}
SUMMED = trueness.summarize(Y, F, sample_weight=W)
TAGS = re.compile(r"<(/?[a-zA-Z!][^>\s]*)")


def elements(page: str) -> list[str]:
    """The tags of a page in order: what a name may not add to."""
    return TAGS.findall(page)


def answer(call):
    """A result, or None where the name was refused as it may be."""
    try:
        return attempt(call)
    except TruenessError as error:
        told = str(error)
    assert is_shown_safely(told), ascii(told)
    return None


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("name", ALL)
def test_columns(name, kind):
    text = ALL[name]
    columns = {f"y{text}": Y, f"p{text}": F, f"w{text}": W, text: [f"{g}{text}" for g in G]}
    try:
        frame = FRAMES[kind](columns)
    except UnicodeEncodeError:  # no frame can be made
        assert name == "a lone surrogate"
        return
    settings = {"outcome": f"y{text}", "prediction": f"p{text}", "weight": f"w{text}"}
    whole = answer(lambda: trueness.summarize_frame(frame, **settings))
    groups = answer(lambda: trueness.summarize_frame(frame, **settings, by=text))
    assert (whole is not None and groups is not None) or name in ("empty", "a lone surrogate", "a zero byte")
    if whole is not None:
        assert not differs(SUMMED, whole)
    if groups is not None:
        assert sorted(groups) == sorted({f"{g}{text}" for g in G})
        assert groups.n == SUMMED.n


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".ndjson"])
def test_columns_of_files(name, ending, tmp_path):
    text = TEXTS[name]
    frame = pd.DataFrame({f"y{text}": Y, f"p{text}": F, f"w{text}": W, f"g{text}": [f"{g}{text}" for g in G]})
    path = tmp_path / f"a{ending}"
    if ending == ".csv":
        frame.to_csv(path, index=False)
    elif ending == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    settings = {"outcome": f"y{text}", "prediction": f"p{text}", "weight": f"w{text}"}
    whole = answer(lambda: trueness.summarize_files(path, **settings))
    groups = answer(lambda: trueness.summarize_files(path, **settings, by=f"g{text}"))
    if ending == ".csv" and "\r" in text:  # lines that end in different ways
        assert (whole, groups) == (None, None)
        return
    assert not differs(SUMMED, whole)
    assert sorted(groups) == sorted({f"{g}{text}" for g in G})


@pytest.mark.parametrize("name", ALL)
def test_groups_predictors_and_titles_on_a_page(name, tmp_path):
    text = ALL[name]
    pages = []
    for index, shown in enumerate((text, "plain")):
        by = [f"{g}{shown}" for g in G]
        assessment = trueness.assess(Y, F, by=by, metrics=["ecce_r"])
        assert is_shown_safely(str(assessment))
        json.dumps(assessment.to_dict()).encode()
        assessment.report(tmp_path / f"{index}.html", title=shown)
        pages.append((tmp_path / f"{index}.html").read_text(encoding="utf-8"))
    assert elements(pages[0]) == elements(pages[1])


@pytest.mark.parametrize("name", ALL)
def test_predictors(name, tmp_path):
    text = ALL[name]
    results, pages = [], []
    for index, shown in enumerate((f"a{text}", "a plain")):
        comparison = trueness.compare(Y, {shown: F, "b": RIVAL}, metrics=["ecce_r"])
        assert is_shown_safely(str(comparison))
        json.dumps(comparison.to_dict()).encode()
        comparison.report(tmp_path / f"{index}.html", title=shown)
        pages.append((tmp_path / f"{index}.html").read_text(encoding="utf-8"))
        results.append([each.low for each in comparison.differences])
    assert elements(pages[0]) == elements(pages[1])
    assert not differs(*results)


@pytest.mark.parametrize("name", ALL)
def test_predictors_in_a_picture(name):
    names = [f"a{ALL[name]}", f"_{ALL[name]}", "b"]
    figure = attempt(lambda: trueness.plot_compare(Y, dict(zip(names, (F, RIVAL, W / 4), strict=True))))
    attempt(figure.canvas.draw)
    shown = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert len(shown) >= len(names), f"the legend hides a predictor: {shown}"
    assert all(map(is_shown_safely, shown))


@pytest.mark.parametrize("name", ALL)
def test_classes(name):
    classes = [f"a{ALL[name]}", "b", "c"]
    labels = np.array(classes, dtype=object)[LABELS]
    plain = trueness.top_label(LABELS, PROBA)
    assert not differs(plain, attempt(lambda: trueness.top_label(labels, PROBA, classes=classes)))
    assert list(trueness.one_vs_rest(labels, PROBA, classes=classes)) == classes


@pytest.mark.parametrize("name", TEXTS)
def test_records_on_disk(name, tmp_path):
    text = TEXTS[name]
    record = trueness.Record({f"a{text}": SUMMED, "b": SUMMED}, axes=[f"axis{text}"])
    record.save(tmp_path / "a.tns")
    back = trueness.Record.load(tmp_path / "a.tns")
    assert (list(back), back.axes) == (list(record), record.axes)
    assert is_shown_safely(repr(back))


@pytest.mark.parametrize("name", ALL)
def test_the_event(name):
    text = ALL[name] or "event"
    labels = np.where(Y > 0, text, f"no {text}").tolist()
    assert not differs(trueness.summarize(Y, F), attempt(lambda: trueness.summarize(labels, F, pos_label=text)))
