"""The clean world: small data on which every public function answers, and a clean value for every parameter by its name.

Scores are 64ths and weights halves, so that every dtype down to float16 holds them exactly.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import trueness

N = 64
_RNG = np.random.default_rng(20)
F = _RNG.integers(1, 64, N) / 64
F[:3] = 0.0, 1.0, 0.5
Y = (_RNG.random(N) < F).astype(np.float64)
W = _RNG.integers(1, 5, N) / 2
G = np.array(["de", "fr"])[_RNG.integers(0, 2, N)]
RIVAL = np.clip(F + _RNG.integers(-8, 9, N) / 64, 0, 1)
CLUSTERS = np.arange(N) // 2
LABELS = _RNG.integers(0, 3, N)
PROBA = np.array([(2, 1, 1), (1, 2, 1), (1, 1, 2)])[_RNG.integers(0, 3, N)] / 4
for _array in (F, Y, W, G, CLUSTERS, RIVAL, LABELS, PROBA):
    _array.flags.writeable = False

COLUMNS = {"y": Y, "p": F, "w": W, "g": G, "q": RIVAL, "c": CLUSTERS}


class Model:
    """An estimator in scikit-learn's manner that predicts what it is shown."""

    classes_ = (0, 1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The one column of X as the probability of the second class."""
        f = np.asarray(X)[:, 0]
        return np.stack([1 - f, f], axis=1)


class World:
    """Clean values that need a folder or are dear to make."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.csv = folder / "rows.csv"
        self.parquet = folder / "rows.parquet"
        self.tns = folder / "summary.tns"
        self.record = folder / "record.tns"
        self.frame = pd.DataFrame(COLUMNS)
        self.frame.to_csv(self.csv, index=False)
        self.frame.to_parquet(self.parquet, index=False)
        self.summary().save(self.tns)
        self.by_group().save(self.record)

    @cache  # noqa: B019
    def summary(self) -> trueness.Summary:
        return trueness.summarize(Y, F)

    @cache  # noqa: B019
    def by_group(self) -> trueness.Record:
        return trueness.summarize_frame(self.frame, outcome="y", prediction="p", by="g")

    @cache  # noqa: B019
    def query(self) -> pd.DataFrame:
        """What a warehouse has returned."""
        import duckdb

        with duckdb.connect() as database:
            database.register("preds", self.frame)
            text = trueness.sql("duckdb", source="preds", outcome="y", prediction="p")
            return database.execute(text).df()

    def curve(self) -> Any:
        return trueness.reliability_curve(Y, F, kind="binned")


# By the parameter's name; what differs from function to function stands in OWN.
CLEAN: dict[str, Callable[[World], Any]] = {
    "X": lambda w: F[:, None],
    "align": lambda w: "position",
    "ax": lambda w: None,
    "axes": lambda w: ["g"],
    "axis": lambda w: "g",
    "band": lambda w: "simultaneous",
    "bandwidth": lambda w: 0.125,
    "bins": lambda w: 10,
    "by": lambda w: G,
    "classes": lambda w: [0, 1, 2],
    "closed": lambda w: "right",
    "cluster": lambda w: CLUSTERS,
    "curve": lambda w: w.curve(),
    "debias": lambda w: True,
    "deep": lambda w: True,
    "delimiter": lambda w: ",",
    "device": lambda w: "cpu",
    "dialect": lambda w: "duckdb",
    "draws": lambda w: 10,
    "estimator": lambda w: Model(),
    "exact": lambda w: True,
    "extremes": lambda w: None,
    "figure": lambda w: None,
    "frame": lambda w: w.frame,
    "from_logits": lambda w: False,
    "group": lambda w: None,
    "k": lambda w: 2,
    "kind": lambda w: "binned",
    "alpha": lambda w: 0.05,
    "level": lambda w: 0.9,
    "mass": lambda w: W,
    "memory_limit": lambda w: "1GB",
    "method": lambda w: "auto",
    "metric": lambda w: "binned_ece",
    "metrics": lambda w: ["ecce_r"],
    "min_rows": lambda w: 5,
    "nan": lambda w: "drop",
    "noise": lambda w: "uniform",
    "norm": lambda w: "l2",
    "options": lambda w: {},
    "outcome": lambda w: "y",
    "p": lambda w: F[3:9],
    "path": lambda w: w.folder / "written.html",
    "paths": lambda w: w.csv,
    "pos_label": lambda w: 1,
    "prediction": lambda w: "p",
    "predictions": lambda w: {"a": F, "b": RIVAL},
    "proba": lambda w: PROBA,
    "progress": lambda w: print_nothing,
    "resamples": lambda w: 19,
    "resume": lambda w: w.folder / "resume",
    "rng": lambda w: 0,
    "sample_weight": lambda w: W,
    "scale": lambda w: "logit",
    "score": lambda w: "brier",
    "soft": lambda w: True,
    "source": lambda w: "preds",
    "statistic": lambda w: "ecce_mad",
    "strategy": lambda w: "quantile",
    "summaries": lambda w: dict(w.by_group()),
    "ties": lambda w: "first",
    "title": lambda w: "A page",
    "truth": lambda w: RIVAL,
    "weight": lambda w: "w",
    "weight_kind": lambda w: "importance",
    "weighting": lambda w: "width",
    "x": lambda w: F[3:9] * 3,
    "y": lambda w: Y,
    "y_prob": lambda w: F,
    "y_true": lambda w: Y,
}

OWN: dict[str, dict[str, Callable[[World], Any]]] = {
    "Record.load": {"path": lambda w: w.record},
    "Record.save": {"path": lambda w: w.folder / "saved.tns"},
    "Summary.from_frame": {"frame": lambda w: w.query()},
    "Summary.load": {"path": lambda w: w.tns},
    "Summary.save": {"path": lambda w: w.folder / "saved.tns"},
    "bin_sweep": {"bins": lambda w: [5, 15]},
    "confidence_interval": {"method": lambda w: "bootstrap"},
    "logit_smoothed_ece": {"method": lambda w: "integral"},
    "one_vs_rest": {"y_true": lambda w: LABELS},
    "reliability_curve": {"kind": lambda w: "smooth"},
    "sql": {"by": lambda w: "g"},
    "summarize_files": {"by": lambda w: "g", "cluster": lambda w: "c"},
    "summarize_frame": {"by": lambda w: "g", "cluster": lambda w: "c"},
    "top_k": {"y_true": lambda w: LABELS},
    "top_label": {"y_true": lambda w: LABELS},
    "torch.CalibrationSummary.set_extra_state": {"state": lambda w: sums_in_tensors().get_extra_state()},
    "torch.CalibrationSummary.update": {
        "sample_weight": lambda w: tensor(W),
        "y_prob": lambda w: tensor(F),
        "y_true": lambda w: tensor(Y),
    },
}


def print_nothing(*done: object) -> None:
    """A progress callable."""


def sums_in_tensors() -> Any:
    """Sums kept by PyTorch."""
    from trueness.torch import CalibrationSummary

    sums = CalibrationSummary(soft=True)
    sums.update(y_true=tensor(Y), y_prob=tensor(F), sample_weight=tensor(W))
    return sums


def tensor(x: np.ndarray) -> Any:
    """The same numbers in PyTorch."""
    import torch

    return torch.tensor(x)
