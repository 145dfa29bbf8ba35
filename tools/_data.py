"""Rows to measure: drawn kinds, each with a seed of its own, real data where it is at hand, and a table for the engines."""

import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import trueness

Case = tuple[str, Callable[[], Any]]
Rng = np.random.Generator

SHARED = Path(os.environ.get("TRUENESS_SHARED") or Path(__file__).resolve().parents[2] / "shared").resolve()


class LeftOut(Exception):  # noqa: N818 - no error: the case cannot be run here
    """What a case needs is not on this machine."""


class Rows(NamedTuple):
    """Outcomes, predictions, and weights where there are any."""

    y: Any
    f: Any
    w: Any = None


def each_of(*parts: Callable[[], Iterator[Case]]) -> Iterator[Case]:
    """The cases of all parts; one that cannot be made, because a name is gone, ends its part and is a case itself."""
    for part in parts:
        try:
            yield from part()
        except Exception as error:
            yield f"stopped/{part.__module__}/{part.__name__}", partial(_raise, error)


def _raise(error: Exception) -> None:
    raise error


# Drawn


def _events(rng: Rng, chance: Any) -> Any:
    return (rng.random(len(chance)) < chance).astype(np.int64)


def _off(rng: Rng, n: int) -> Rows:
    """Predictions that are too high."""
    f = rng.random(n)
    return Rows(_events(rng, f**1.2), f)


def _soft(rng: Rng, n: int) -> Rows:
    f = rng.random(n)
    return Rows(np.clip(f + rng.normal(0.02, 0.15, n), 0, 1), f)


def _mixed(rng: Rng) -> Rows:
    """Every third outcome is soft."""
    y, f, _ = _off(rng, 1500)
    return Rows(np.where(np.arange(1500) % 3, y, rng.random(1500)), f)


def _late_soft(rng: Rng) -> Rows:
    """All outcomes are hard but the last."""
    y, f, _ = _off(rng, 1500)
    return Rows(np.append(y[:-1].astype(float), 0.25), f)


def _weighted(rows: Rows, w: Any) -> Rows:
    return Rows(rows.y, rows.f, w)


def _some_zero(rng: Rng) -> Rows:
    return _weighted(_off(rng, 1500), rng.exponential(1.0, 1500) * (rng.random(1500) > 0.1))


def _ties(rng: Rng) -> Rows:
    f = rng.integers(0, 10, 1500) / 10 + 0.05
    return Rows(_events(rng, 0.5 + 0.8 * (f - 0.5)), f)


def _ends(rng: Rng, wrong: float) -> Rows:
    """Many scores of exactly 0 and 1, some next to them; a share of the certain ones is wrong."""
    near = 10.0 ** -rng.uniform(1, 16, 200)
    f = np.concatenate([np.zeros(300), np.ones(300), rng.random(500), near, 1 - near])
    return Rows(_events(rng, np.where((f == 0) | (f == 1), np.abs(f - wrong), f)), f)


def _rare(rng: Rng) -> Rows:
    f = rng.beta(2, 200, 1500)
    return Rows(_events(rng, 1.5 * f), f)


def _saturated(rng: Rng) -> Rows:
    f = 1 / (1 + np.exp(-12 * rng.standard_normal(1500)))
    return Rows(_events(rng, 0.02 + 0.96 * f), f)


def _calibrated(rng: Rng) -> Rows:
    f = rng.beta(0.6, 1.1, 1500)
    return Rows(_events(rng, f), f)


def _narrow(rng: Rng) -> Rows:
    """Predictions in float32, outcomes as booleans."""
    y, f, _ = _off(rng, 1500)
    return Rows(y.astype(bool), f.astype(np.float32))


KINDS: Mapping[str, Callable[[Rng], Rows]] = {
    "hard": lambda rng: _off(rng, 1500),
    "calibrated": _calibrated,
    "soft": lambda rng: _soft(rng, 1500),
    "mixed": _mixed,
    "late-soft": _late_soft,
    "weights": lambda rng: _weighted(_off(rng, 1500), rng.exponential(1.0, 1500)),
    "zero-weights": _some_zero,
    "whole-weights": lambda rng: _weighted(_ties(rng), rng.integers(0, 4, 1500)),
    "huge-weights": lambda rng: _weighted(_off(rng, 300), 1e300 * rng.random(300)),
    "soft-weights": lambda rng: _weighted(_soft(rng, 1500), rng.exponential(1.0, 1500)),
    "ties": _ties,
    "ends": lambda rng: _ends(rng, 0.0),
    "contradicted": lambda rng: _ends(rng, 0.05),
    "rare": _rare,
    "saturated": _saturated,
    "float32": _narrow,
    "one-score": lambda rng: Rows(_events(rng, np.full(200, 0.4)), np.full(200, 0.3)),
    "one-class": lambda rng: Rows(np.zeros(50, dtype=np.int64), rng.random(50)),
    "matched": lambda rng: (lambda f: Rows(f.copy(), f))(rng.random(300)),
    "n1": lambda rng: Rows(np.array([1]), np.array([0.7])),
    "n2": lambda rng: Rows(np.array([0, 1]), np.array([0.2, 0.6])),
    "n40": lambda rng: _off(rng, 40),
    "n40-weights": lambda rng: _weighted(_off(rng, 40), rng.exponential(1.0, 40)),
    "n40-soft": lambda rng: _soft(rng, 40),
    "big": lambda rng: _off(rng, 150_000),
    "big-weights": lambda rng: _weighted(_off(rng, 150_000), rng.exponential(1.0, 150_000)),
    "compiled": lambda rng: _off(rng, 4_300_000),
    "compiled-soft": lambda rng: _soft(rng, 300_000),
    "compiled-weights": lambda rng: _weighted(_off(rng, 300_000), rng.exponential(1.0, 300_000)),
}
LARGE = ("big", "big-weights")
HUGE = ("compiled", "compiled-soft", "compiled-weights")  # enough rows for compiled kernels, once the first has loaded them
SMALL = tuple(kind for kind in KINDS if kind not in (*LARGE, *HUGE))


@cache
def rows(kind: str) -> Rows:
    """Rows of a kind: the same every time."""
    return KINDS[kind](np.random.default_rng(zlib.crc32(kind.encode())))


def weights_of(kind: str) -> dict[str, Any]:
    """The weights as an argument, where a kind has some."""
    w = rows(kind).w
    return {} if w is None else {"sample_weight": w}


@cache
def summary(kind: str, bins: tuple[int, ...] = ()) -> Any:
    """The summary of a kind."""
    return trueness.summarize(rows(kind).y, rows(kind).f, bins=bins, **weights_of(kind))


def measured(function: str, kind: str, source: str, /, **options: Any) -> Any:
    """A public function of a kind's rows, or of their summary."""
    call = getattr(trueness, function)
    if source == "summary":
        return call(summary(kind), **options)
    return call(rows(kind).y, rows(kind).f, **weights_of(kind), **options)


def said(options: Mapping[str, Any]) -> str:
    """Options as an id names them."""
    return ",".join(_word(name, value) for name, value in options.items()) or "default"


def _word(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return said(value)
    return f"{name}={getattr(value, '__name__', value)}".replace(" ", "")


# Real

CLASSIFIERS = (
    "cifar100_resnet110",
    "cifar10_densenet40",
    "imagenet_efficientnet_b1",
    "imagenet_mobilenetv3_large_100",
    "imagenet_resnet34",
    "imagenet_tf_inception_v3",
    "imagenet_tv_densenet161",
    "imagenet_tv_inception_v3",
    "imagenet_tv_resnet101",
)
FORECASTERS = ("AMOS", "ASSA", "CLIM120", "DAFFS", "GDAFFS", "NICT", "NJIT", "NOAA", "SIDC")  # those with usable rows
PREDICTORS = ("logitpredprobs", "gbmpredprobs", "mturkpredprobs")
FLARES, RECIDIVISM = "solar_flares_c1.csv", "recidivism_broward.csv.gz"


def real_file(name: str) -> Path:
    """A file of the shared data."""
    path = SHARED / "data" / name
    if not path.exists():
        raise LeftOut(name)
    return path


@cache
def real_table(name: str) -> Any:
    """A file of the shared data as a pandas frame."""
    import pandas as pd

    return pd.read_csv(real_file(name))


@cache
def real(name: str) -> Rows:
    """Rows of a data set: a classifier, or a column of a file that has several."""
    if name in CLASSIFIERS:
        frame = real_table(f"{name}.csv.gz")
        return Rows((frame["true_label"] == frame["pred_label"]).to_numpy(), frame["confidence"].to_numpy())
    file, outcome = (FLARES, "rlz.C1") if name in FORECASTERS else (RECIDIVISM, "two_year_recid")
    frame = real_table(file)[[outcome, name]].dropna()
    return Rows(frame[outcome].to_numpy(), frame[name].to_numpy())


# A table for the engines


@cache
def columns(n: int = 1500) -> dict[str, Any]:
    """Columns: p scores, q in float32, m with holes; y outcomes, b booleans, s soft, t text; w weights; g and h groups."""
    rng = np.random.default_rng(n)
    f = np.concatenate([rng.random(n - 300), rng.beta(0.2, 0.2, 200), rng.integers(0, 5, 100) / 4])
    y = _events(rng, f**1.1)
    return {
        "p": f,
        "q": f.astype(np.float32),
        "m": np.where(rng.random(n) < 0.02, np.nan, f),
        "y": y,
        "b": y.astype(bool),
        "s": np.clip(f + rng.normal(0.02, 0.1, n), 0, 1),
        "t": np.where(y == 1, "yes", "no").astype(object),
        "w": rng.integers(0, 5, n) * 0.75,
        "g": rng.choice(np.array(["de", "fr", None], dtype=object), n),
        "h": rng.integers(0, 3, n),
    }
