"""The real data beside the project, where they are: confidences and outcomes that a study may resample."""

import csv
import gzip
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

FOLDER = Path(os.environ.get("TRUENESS_SHARED") or Path(__file__).resolve().parents[2] / "shared") / "data"
CLASSIFIERS = (
    "imagenet_efficientnet_b1",
    "imagenet_mobilenetv3_large_100",
    "imagenet_resnet34",
    "imagenet_tf_inception_v3",
    "imagenet_tv_densenet161",
    "imagenet_tv_inception_v3",
    "imagenet_tv_resnet101",
    "cifar10_densenet40",
    "cifar100_resnet110",
)
FURTHER = (
    "recidivism_broward:logitpredprobs",
    "recidivism_broward:gbmpredprobs",
    "recidivism_broward:mturkpredprobs",
    "solar_flares_c1:DAFFS",
    "rain_finland_2003",
)


def names() -> list[str]:
    """The data sets that can be read here; none where the folder is missing."""
    return [name for name in (*CLASSIFIERS, *FURTHER) if _file(name).exists()]


def _file(name: str) -> Path:
    stem = name.partition(":")[0]
    return next((path for path in FOLDER.glob(f"{stem}.*")), FOLDER / f"{stem}.csv.gz")


@cache
def load(name: str) -> tuple[Array, Array]:
    """Outcomes and predictions of a data set; a column follows a colon."""
    path, column = _file(name), name.partition(":")[2]
    if path.suffix == ".txt":
        lines = [line.split() for line in path.read_text().splitlines()[1:] if line.strip()]
        pairs = [(float(line[3]), float(line[4])) for line in lines]
        pairs = [(float(rain > 0.2), 1 - p) for rain, p in pairs if rain != 999 and p != -999]
    else:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as stream:
            table = list(csv.DictReader(stream))
        if not column:
            pairs = [(float(row["true_label"] == row["pred_label"]), float(row["confidence"])) for row in table]
        else:
            event = "rlz.C1" if "rlz.C1" in table[0] else "two_year_recid"
            pairs = [(float(row[event]), float(row[column])) for row in table if "NA" not in (row[event], row[column])]
    y, f = np.array(pairs).T
    return y, f
