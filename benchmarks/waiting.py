"""How long a user waits for an answer that says how sure it is, here and in other libraries."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

import trueness
from benchmarks.data import Data
from benchmarks.item import NUMBA, WAITING, Item
from benchmarks.ours import load_numba
from benchmarks.table import Row, duration

_FEW = 1000  # rows of a first run
_WORKS = {
    "assess": "`assess`: verdict, intervals, tests, noise floors",
    "compare": "`compare` of three predictors",
    "confidence_interval": '`confidence_interval(metric="smooth_ece")`',
}
_PEERS = {
    "relplot": "relplot's diagram, bootstrap of 200",
    "probcal": "probcal's `evaluate`, bootstrap of 1000",
    "calibre": "calibre's `calibration_report`, no interval",
}


def items() -> list[Item]:
    """Ours, what summarizing the same rows costs, and what other libraries offer in place of `assess`."""
    return [
        _ours("summarize", lambda d: trueness.brier_score(trueness.summarize(d.y, d.f))),
        _ours("confidence_interval", lambda d: trueness.confidence_interval(d.y, d.f, metric="smooth_ece", rng=0).value),
        _ours("assess", lambda d: trueness.assess(d.y, d.f).metrics[0].value),
        _ours("compare", _compare, lambda d: d.held.setdefault("three", three(d))),
        _peer("relplot", _relplot),
        _peer("probcal", _probcal),
        _peer("calibre", _calibre),
    ]


def three(data: Data) -> dict[str, Any]:
    """Three predictors of the same rows."""
    return {"a": data.f, "b": data.f**1.1, "c": np.clip(data.f + 0.02, 0, 1)}


def _compare(data: Data) -> float:
    trueness.compare(data.y, data.held["three"])
    return 0.0


def _relplot(data: Data) -> float:
    from relplot import prepare_rel_diagram

    return float(prepare_rel_diagram(data.f, data.y)["ce"])


def _probcal(data: Data) -> float:
    from probcal.metrics import evaluate

    evaluate(data.y, data.f)
    return 0.0


def _calibre(data: Data) -> float:
    from calibre import calibration_report  # from 0.10 on, which needs Python 3.12

    return float(calibration_report(data.y, data.f).brier_score)


def _other_number(result: Any, data: Data, ours: float) -> tuple[bool, str]:
    return True, "another number"


def _ours(name: str, run: Callable[[Data], Any], prepare: Callable[[Data], Any] = lambda d: None) -> Item:
    how: dict[str, Any] = {"load": load_numba, "warm_up": _FEW}
    return Item(measure=f"{WAITING}, {name}", by=NUMBA, run=run, check=_other_number, prepare=prepare, **how)


def _peer(by: str, run: Callable[[Data], Any]) -> Item:
    how: dict[str, Any] = {"load": lambda: import_module(by), "warm_up": 0}
    return Item(measure=f"{WAITING}, assess", by=by, run=run, check=_other_number, **how)


def waiting_table(rows: Sequence[Row], case: str) -> str:
    """Waiting times of one kind of scores, for a page."""
    chosen = [row for row in rows if row.measure.startswith(WAITING) and row.case == case]
    sizes = sorted({row.rows for row in chosen})
    lines = [(text, f"{WAITING}, {name}", NUMBA) for name, text in _WORKS.items()]
    lines += [(text, f"{WAITING}, assess", by) for by, text in _PEERS.items()]
    head = ["| | " + " | ".join(_exponent(n) for n in sizes) + " rows |", "|---" * (len(sizes) + 1) + "|"]
    for text, measure, by in lines:
        by_size = {row.rows: row for row in chosen if row.measure == measure and row.by == by}
        cells = [duration(by_size[n].alone) or _over(by_size[n].note) if n in by_size else "–" for n in sizes]
        if set(cells) != {"–"}:
            head.append(f"| {text} | {' | '.join(cells)} |")
    return "\n".join(head)


def _exponent(n: int) -> str:
    power = len(str(n)) - 1
    return f"10{''.join('⁰¹²³⁴⁵⁶⁷⁸⁹'[int(digit)] for digit in str(power))}" if n == 10**power else str(n)


def _over(note: str) -> str:
    """More CPU seconds than it was given, or nothing."""
    return f"over {note.rpartition('after ')[2].removesuffix(' CPU s')} s" if note.startswith("stopped") else "–"
