"""Outcomes as true and false, or as labels of which one is the event."""

import numpy as np
import pytest
from data_files import COLUMNS, F, N, Y, message, write_parquet

from trueness import summarize, summarize_files


def test_truth_values(write):
    assert summarize_files(write({"y": Y == 1, "p": F}), **COLUMNS) == summarize(Y, F)


def test_an_event_by_name(write):
    labels = {"words": ("no", "yes"), "numbers": (1, 2), "signs": (-1, 1)}
    path = write({"p": F} | {name: np.array(pair)[Y] for name, pair in labels.items()})
    for name, event in (("words", "yes"), ("numbers", 2), ("numbers", "2"), ("signs", 1)):
        found = summarize_files(path, outcome=name, prediction="p", pos_label=event)
        assert found == summarize(Y, F)
        assert any("counted as 1" in note for note in found.notes)


def test_labels_without_an_event(write):
    path = write({"y": np.where(Y, "yes", "no"), "p": F})
    text = message(path)
    assert f"'yes' ({int(Y.sum())} rows)" in text
    assert "pos_label='yes'" in text
    assert f"0 of {N} values equal 'maybe'" in message(path, pos_label="maybe")


def test_numbers_as_labels(write):
    assert "pos_label=2" in message(write({"y": Y + 1, "p": F}))


def test_an_event_that_never_occurs(write):
    path = write({"y": Y, "p": F})
    assert f"0 of {N} values equal 7" in message(path, pos_label=7)
    assert "is not a text or a number" in message(path, pos_label=[1])


def test_text_zeros_and_ones_in_parquet_need_an_event(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", {"y": Y.astype(str), "p": F})
    assert f"'1' ({int(Y.sum())} rows)" in message(path)
    assert summarize_files(path, **COLUMNS, pos_label="1") == summarize(Y, F)


def test_an_event_among_very_many_labels(tmp_path):
    labels = np.array([f"c{k}" for k in range(30_000)])
    path = write_parquet(tmp_path / "a.parquet", {"y": labels, "p": np.full(30_000, 0.5)})
    for event in ("c5", "c12345", "c29999"):
        found = summarize_files(path, **COLUMNS, pos_label=event)
        assert found == summarize(labels == event, np.full(30_000, 0.5))
    assert "0 of 30000 values equal 'd1'" in message(path, pos_label="d1")


def test_events_beyond_what_float64_tells_apart(write):
    big = 2**53 + np.arange(N) % 3  # 2^53 and 2^53 + 1 are one float64
    path = write({"y": big, "p": F})
    for event in (2**53 + 1, str(2**53 + 1), np.int64(2**53 + 1)):
        assert summarize_files(path, **COLUMNS, pos_label=event) == summarize(big == 2**53 + 1, F)


def test_numbers_among_text_are_labels_as_they_are_written(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("y,p\n1e5,0.5\n100000,0.25\nabc,0.125\n1_00000,0.75\n")
    assert summarize_files(path, **COLUMNS, pos_label="100000") == summarize([0, 1, 0, 0], [0.5, 0.25, 0.125, 0.75])
    assert summarize_files(path, **COLUMNS, pos_label="1e5") == summarize([1, 0, 0, 0], [0.5, 0.25, 0.125, 0.75])
    path.write_text("y,p\n1.0,0.5\n1,0.25\n0,0.125\n01,0.75\n")  # a column of numbers
    assert summarize_files(path, **COLUMNS, pos_label=1) == summarize([1, 1, 0, 1], [0.5, 0.25, 0.125, 0.75])


def test_true_and_false_are_not_blamed_for_bad_predictions(tmp_path):
    (tmp_path / "a.csv").write_text("y,p\nTrue,abc\nFalse,0.2\n")
    text = message(tmp_path / "a.csv")
    assert "column 'p'" in text
    assert "column 'y'" not in text


@pytest.mark.parametrize(
    ("name", "text"), [("a.csv", "y,p,w\n1,0.5,True\n0,0.2,False\n"), ("a.ndjson", '{"y":1,"p":0.5,"w":true}\n')]
)
def test_text_has_truth_values_for_outcomes_alone(tmp_path, name, text):
    """In a column of numbers true is a text like any other; Parquet, frames and arrays have a type for it."""
    (tmp_path / name).write_text(text)
    assert message(tmp_path / name, weight="w").endswith("Write 1 for true and 0 for false.")
    assert summarize_files(tmp_path / name, outcome="w", prediction="p").n


@pytest.mark.parametrize("event", [True, False, np.bool_(True)], ids=repr)
def test_a_truth_value_is_the_event_in_whichever_letters(write, event):
    assert summarize_files(write({"y": Y > 0, "p": F}), **COLUMNS, pos_label=event) == summarize((Y > 0) == event, F)
