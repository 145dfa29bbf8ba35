"""The real data of ``../shared/data`` as (y, f), and the figures to match; no pandas."""

import csv
import functools
import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("TRUENESS_SHARED", ROOT.parent / "shared"))


def names():
    """Names in ``reference/datasets.json``, or none when the folder is missing."""
    path = SHARED / "reference" / "datasets.json"
    return list(json.loads(path.read_text())) if path.exists() else []


@functools.cache
def figures():
    path = SHARED / "reference" / "datasets.json"
    if not path.exists():
        pytest.skip(f"no reference figures at {path}; set TRUENESS_SHARED")
    return json.loads(path.read_text())


@functools.cache
def load(name):
    """(y, f) of a data set; a column follows a colon: ``solar_flares_c1.csv:DAFFS``."""
    file, _, column = name.partition(":")
    path = SHARED / "data" / file
    if not path.exists():
        pytest.skip(f"no data at {path}; set TRUENESS_SHARED")
    y, f = (_rain(path) if file.startswith("rain") else _table(path, column)).T
    for array in (y, f):
        array.flags.writeable = False
    return y, f


def _rain(path):
    lines = [line.split() for line in path.read_text().splitlines()[1:] if line.strip()]
    pairs = [(float(line[3]), float(line[4])) for line in lines]
    return np.array([(float(rain > 0.2), 1 - p) for rain, p in pairs if rain != 999 and p != -999])


def _table(path, column):
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as stream:
        table = list(csv.DictReader(stream))
    if "confidence" in table[0]:
        return np.array([(float(r["true_label"] == r["pred_label"]), float(r["confidence"])) for r in table])
    outcome = "rlz.C1" if "rlz.C1" in table[0] else "two_year_recid"
    return np.array([(float(r[outcome]), float(r[column])) for r in table if "NA" not in (r[outcome], r[column])])


# --------------------------------------------------------------------------------------------------- random data


def _hard(rng, truth):
    return (rng.random(len(truth)) < truth).astype(np.float64)


def _uniform(rng, n=2000):
    f = rng.random(n)
    return _hard(rng, f**1.2), f, None


def _skewed(rng):
    f = rng.beta(0.4, 1.2, 3000)
    return _hard(rng, f), f, None


def _rare(rng, n=3000, excess=1.5):
    f = rng.beta(2, 200, n)
    return _hard(rng, np.minimum(excess * f, 1)), f, None


def _rounded(rng, digits, n=2500):
    f = np.round(rng.random(n), digits)
    return _hard(rng, 0.5 + 0.8 * (f - 0.5)), f, None


def _neighbours(rng):
    """0.1 + 0.2 is the next float above 0.3, 0.29 * 100 floors to 28: twins that must not be taken for one another."""
    f = rng.choice([0.1 + 0.2, 0.3, 0.29, 0.7, 0.1 * 7, 0.6, 0.2 * 3, 1 / 3, np.nextafter(1 / 3, 0), 0.58], 400)
    return _hard(rng, np.where(f == 0.3, 0.6, 0.4)), f, None


def _ends(rng):
    f = np.concatenate([np.zeros(150), np.ones(100), rng.random(500), 10.0 ** -rng.uniform(1, 14, 100)])
    f = np.concatenate([f, 1 - 2.0 ** -rng.uniform(2, 53, 100)])
    return _hard(rng, 0.02 + 0.96 * f), f, None


def _weighted(rng):
    y, f, _ = _uniform(rng, 1500)
    w = rng.exponential(1.0, len(f))
    w[rng.random(len(f)) < 0.1] = 0.0
    return y, f, w


def _whole_weights(rng):
    y, f, _ = _rounded(rng, 2, 600)
    return y, f, rng.integers(0, 5, len(f)).astype(np.float64)


def _soft(rng):
    f = rng.random(1500)
    return np.clip(f + rng.normal(0.02, 0.15, len(f)), 0, 1), f, None


def _soft_weighted(rng):
    f = np.round(rng.beta(0.5, 0.5, 900), 2)
    return rng.beta(0.5 + 2 * f, 2.2 - 2 * f), f, rng.exponential(1.0, len(f))


def _small(rng, n):
    f = rng.random(n)
    return _hard(rng, f), f, None


SAMPLES = {
    "uniform": _uniform,
    "skewed": _skewed,
    "rare": _rare,
    "rounded to 0.01": lambda rng: _rounded(rng, 2),
    "rounded to 0.1": lambda rng: _rounded(rng, 1),
    "neighbouring floats": _neighbours,
    "exact ends": _ends,
    "weighted": _weighted,
    "whole weights": _whole_weights,
    "soft": _soft,
    "soft weighted": _soft_weighted,
    "1 row": lambda rng: _small(rng, 1),
    "2 rows": lambda rng: _small(rng, 2),
    "3 rows": lambda rng: _small(rng, 3),
    "17 rows": lambda rng: _small(rng, 17),
    "over-confident": lambda rng: (lambda f: (_hard(rng, 0.5 + 0.4 * (f - 0.5)), f, None))(rng.beta(0.3, 0.3, 1000)),
    "always zero": lambda rng: (np.zeros(50), rng.random(50), None),
    "constant": lambda rng: (_hard(rng, np.full(200, 0.4)), np.full(200, 0.3), None),
    "all wrong": lambda rng: (np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 0.0]), None),
    "all right": lambda rng: (np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]), None),
    "rare, calibrated": lambda rng: _rare(rng, 700, 1.0),
    "labels matched": lambda rng: (lambda f: (f.copy(), f, None))(rng.random(300)),
}


@functools.cache
def sample(name):
    """Random (y, f, w), the same every time, read-only; w may be None."""
    arrays = SAMPLES[name](np.random.default_rng(20_000 + list(SAMPLES).index(name)))
    for array in arrays:
        if array is not None:
            array.flags.writeable = False
    return arrays
