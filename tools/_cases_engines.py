"""Cases of the engines: frames of every kind, queries and tensors give summaries, and what is computed from those."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

import trueness
from tools._data import Case, columns, each_of, rows

Frame = Any
DIALECTS = ("duckdb", "spark", "bigquery", "snowflake", "postgres")


def cases() -> Iterator[Case]:
    """All of them."""
    yield from each_of(_frames, _frame_options, _frame_faults, _held_frames, _queries, _returned, _tensors)


# Frames


@cache
def arrow(n: int = 1500) -> Any:
    """The columns as an Arrow table."""
    import pyarrow as pa

    return pa.table({name: pa.array(values, from_pandas=name in ("g", "t")) for name, values in columns(n).items()})


def _pandas(n: int) -> Frame:
    return arrow(n).to_pandas()


def _polars(n: int) -> Frame:
    import polars as pl

    return pl.from_arrow(arrow(n))


def _reader(n: int) -> Frame:
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(arrow(n).schema, arrow(n).to_batches(max_chunksize=n // 4))


def _duckdb(n: int) -> Frame:
    import duckdb

    return duckdb.connect(config={"threads": 1}).from_arrow(arrow(n))


def _dask(n: int, parts: int = 3) -> Frame:
    import dask
    import dask.dataframe as dd

    dask.config.set(scheduler="synchronous")
    return dd.from_pandas(_pandas(n), npartitions=parts, sort=False)


def _narwhals(n: int) -> Frame:
    import narwhals as nw

    return nw.from_native(_polars(n))


MAKERS: Mapping[str, Callable[[int], Frame]] = {
    "pandas": _pandas,
    "pandas-nullable": lambda n: _pandas(n).convert_dtypes(),
    "polars": _polars,
    "polars-lazy": lambda n: _polars(n).lazy(),
    "arrow": arrow,
    "arrow-reader": _reader,
    "duckdb": _duckdb,
    "dask": _dask,
    "dask-one": partial(_dask, parts=1),
    "narwhals": _narwhals,
    "mapping": columns,
}
UNORDERED = ("polars-lazy",)
BY: Mapping[str, Any] = {"whole": None, "by-g": "g", "by-gh": ["g", "h"]}


def values(result: Any) -> Any:
    """Summaries and what is computed from them; groups in the order of their names, which some engines leave to chance."""
    if isinstance(result, Mapping):
        groups = {group if isinstance(group, tuple) else (group,): each for group, each in result.items()}
        return [[list(group), values(groups[group])] for group in sorted(groups, key=repr)]
    metrics = ("smooth_ece", "binned_ece", "brier_score", "logit_smoothed_ece", "ecce", "ecce_r", "ecce_mad")
    return {"summary": result} | {name: getattr(trueness, name)(result) for name in metrics}


def summed(kind: str, n: int = 1500, **settings: Any) -> Any:
    """The values of a frame's summary; the frame is there all the while, so that its rows can be read again."""
    frame = MAKERS[kind](n)
    result = values(trueness.summarize_frame(frame, **{"outcome": "y", "prediction": "p"} | settings))
    return settled(result) if kind in UNORDERED else result


def settled(value: Any) -> Any:
    """Twelve digits of every float: the rest depends on the order in which an engine returns its sums."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, list):
        return [settled(item) for item in value]
    if isinstance(value, dict):
        return {name: settled(item) for name, item in value.items()}
    return settled(value.to_dict()) if hasattr(value, "to_dict") else value


def _frames() -> Iterator[Case]:
    for kind in MAKERS:
        for how, by in BY.items():
            for weight in (None, "w"):
                for outcome in ("y", "s"):
                    case = partial(summed, kind, outcome=outcome, weight=weight, by=by)
                    yield f"frame/{kind}/{outcome}{weight or ''}/{how}", case
        yield f"frame/{kind}/y/20000-rows", partial(summed, kind, 20_000)
        yield f"frame/{kind}/yw/20000-rows/by-g", partial(summed, kind, 20_000, weight="w", by="g")
        yield f"frame/{kind}/assess", partial(_assessed, kind)
        yield f"frame/{kind}/assess-by", partial(_assessed, kind, weight="w", by="g")


def _assessed(kind: str, **settings: Any) -> Any:
    result = trueness.assess(MAKERS[kind](1500), outcome="y", prediction="p", **settings)
    return settled(result) if kind in UNORDERED else result


def _frame_options() -> Iterator[Case]:
    options: Mapping[str, Mapping[str, Any]] = {
        "drop": {"prediction": "m", "nan": "drop"},
        "drop-by": {"prediction": "m", "nan": "drop", "by": "g"},
        "float32": {"prediction": "q"},
        "boolean": {"outcome": "b"},
        "text": {"outcome": "t", "pos_label": "yes"},
        "text-by": {"outcome": "t", "pos_label": "yes", "by": "h"},
        "number": {"outcome": "h", "pos_label": 2},
        "bins": {"bins": (37, 7)},
        "by-number": {"by": "h"},
    }
    for kind in MAKERS:
        for name, settings in options.items():
            yield f"frame/{kind}/option/{name}", partial(summed, kind, **settings)
    for kind in ("pandas", "polars", "arrow", "mapping"):
        yield f"frame/{kind}/order-of-groups", partial(_order, kind)


def _order(kind: str) -> Any:
    return list(trueness.summarize_frame(MAKERS[kind](1500), outcome="y", prediction="p", by="g"))


def _frame_faults() -> Iterator[Case]:
    options: Mapping[str, Mapping[str, Any]] = {
        "missing-values": {"prediction": "m"},
        "no-such-column": {"prediction": "P"},
        "no-such-weight": {"weight": "weights"},
        "no-such-group": {"by": ("g", "nothing")},
        "text-outcome": {"outcome": "t"},
        "text-prediction": {"prediction": "t"},
        "text-weight": {"weight": "t"},
        "absent-label": {"outcome": "t", "pos_label": "maybe"},
        "label-of-other-type": {"outcome": "y", "pos_label": "yes"},
        "outside": {"prediction": "h"},
        "outcome-outside": {"outcome": "h"},
        "nan": {"nan": "keep"},
        "bins": {"bins": 0},
    }
    for kind in MAKERS:
        for name, settings in options.items() if kind != "dask" else ():  # which of its parts is looked at first is chance
            yield f"frame/{kind}/fault/{name}", partial(summed, kind, **settings)
    yield "frame/pandas/fault/twice", _twice
    yield "frame/pandas/fault/empty", lambda: _summed_frame(_pandas(1500).iloc[:0])
    yield "frame/polars-lazy/fault/empty", lambda: _summed_frame(_polars(1500).lazy().filter(False))
    yield "frame/list/fault", lambda: _summed_frame([1, 2, 3])
    yield "frame/number/fault", lambda: _summed_frame(3.0)
    yield "frame/numpy/fault", lambda: _summed_frame(np.zeros((3, 2)))
    yield "frame/mapping/fault/lengths", lambda: _summed_frame({"y": [0, 1], "p": [0.1, 0.2, 0.3]})
    yield "frame/lazy/fault/pattern", lambda: trueness.summarize_frame(_polars(1500).lazy(), outcome="^y$", prediction="p")


def _summed_frame(frame: Any) -> Any:
    return trueness.summarize_frame(frame, outcome="y", prediction="p")


def _twice() -> Any:
    import pandas as pd

    return _summed_frame(pd.DataFrame([[0, 0.1, 0.2], [1, 0.3, 0.4]], columns=["y", "p", "p"]))


def _held_frames() -> Iterator[Case]:
    """A summary knows the exact cumulative error as long as the frame is there and is what it was."""
    for kind in ("pandas", "polars", "arrow"):
        yield f"frame/{kind}/gone", partial(_gone, kind)
    yield "frame/pandas/edited", _edited
    yield "frame/pandas/added", lambda: trueness.ecce(_summed_frame(_pandas(1500)) + _summed_frame(_pandas(1500)))


def _gone(kind: str) -> Any:
    import gc

    result = _summed_frame(_fresh(kind))
    gc.collect()
    return trueness.ecce(result)


def _fresh(kind: str) -> Any:
    """A frame that nothing else holds."""
    return arrow.__wrapped__(1500) if kind == "arrow" else MAKERS[kind](1500)


def _edited() -> Any:
    frame = _pandas(1500)
    result = _summed_frame(frame)
    frame["p"] = 1 - frame["p"]
    return trueness.ecce(result)


# Queries

QUERIES: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "soft": {"outcome": "s", "soft": True},
    "weight": {"weight": "w"},
    "soft-weight": {"outcome": "s", "weight": "w", "soft": True},
    "by": {"by": "g"},
    "by-two": {"by": ("g", "h"), "weight": "w"},
    "bins": {"bins": (37, 7)},
    "text": {"outcome": "t", "pos_label": "yes"},
    "number": {"outcome": "h", "pos_label": 2},
    "boolean": {"outcome": "b", "pos_label": True},
}


def _queries() -> Iterator[Case]:
    for dialect in DIALECTS:
        for name, settings in QUERIES.items():
            yield f"sql/{dialect}/{name}", partial(_query, dialect, **settings)
        quoted = {"outcome": 'a"b', "prediction": "c`d\\e", "by": "it's", "pos_label": "it's \\ 'so'"}
        yield f"sql/{dialect}/quoted", partial(_query, dialect, **quoted)
    yield "sql/fault/dialect", partial(_query, "oracle")
    yield "sql/fault/label", partial(_query, "duckdb", pos_label=b"yes")
    yield "sql/fault/bins", partial(_query, "duckdb", bins=-3)


def _query(dialect: Any, **settings: Any) -> str:
    return trueness.sql(dialect, **{"source": "t", "outcome": "y", "prediction": "p"} | settings)


def _returned() -> Iterator[Case]:
    for name, settings in QUERIES.items():
        for form in ("arrow", "pandas", "polars"):
            yield f"from_frame/{form}/{name}", partial(_run, form, **settings)
    yield "from_frame/drop", partial(_run, "arrow", nan="drop", prediction="m")
    yield "from_frame/fault/holes", partial(_run, "arrow", prediction="m")
    yield "from_frame/fault/soft", partial(_run, "arrow", outcome="s")
    yield "from_frame/fault/nan", partial(_run, "arrow", nan="keep")
    yield "from_frame/fault/columns", lambda: trueness.Summary.from_frame({"n": [1], "code": [0]})
    yield "from_frame/fault/floats", lambda: trueness.Summary.from_frame(_changed("n", 0.5))
    yield "from_frame/fault/negative", lambda: trueness.Summary.from_frame(_changed("n", -1))
    yield "from_frame/fault/code", lambda: trueness.Summary.from_frame(_changed("code", 77))
    yield "from_frame/fault/slot", lambda: trueness.Summary.from_frame(_changed("slot", 10**9))
    yield "from_frame/fault/empty", lambda: trueness.Summary.from_frame(_answer("pandas").iloc[:0])
    yield "from_frame/fault/list", lambda: trueness.Summary.from_frame([1, 2])
    yield "from_frame/fault/lazy", lambda: trueness.Summary.from_frame(_answer("polars").lazy())


def _answer(form: str, **settings: Any) -> Any:
    """What DuckDB returns to the query."""
    import duckdb

    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("t", arrow())
        result = connection.sql(_query("duckdb", **settings))
        return {"arrow": result.to_arrow_table, "pandas": result.df, "polars": result.pl}[form]()


def _run(form: str, *, nan: Any = "raise", **settings: Any) -> Any:
    return values(trueness.Summary.from_frame(_answer(form, **settings), nan=nan))


def _changed(name: str, value: Any) -> Any:
    frame = _answer("pandas")
    frame[name] = frame[name].astype(type(value))
    frame.loc[3, name] = value
    return frame


# Tensors


def _tensors() -> Iterator[Case]:
    for kind in ("hard", "soft", "weights", "soft-weights", "ends", "float32", "zero-weights"):
        yield f"torch/{kind}", partial(_collected, kind)
    yield "torch/bins", partial(_collected, "hard", bins=(37,))
    yield "torch/logits", partial(_collected, "hard", change=lambda f: np.log(f) - np.log1p(-f), from_logits=True)
    yield "torch/drop", partial(_collected, "hard", change=_with_hole, nan="drop")
    yield "torch/half", partial(_collected, "hard", change=lambda f: f.astype(np.float16))
    faults: Mapping[str, Callable[[], Any]] = {
        "holes": partial(_collected, "hard", change=_with_hole),
        "outside": partial(_collected, "hard", change=lambda f: 2 * f),
        "soft": partial(_collected, "soft", soft=False),
        "weights": partial(_collected, "weights", soft=False),
        "lengths": partial(_collected, "hard", change=lambda f: f[:-1]),
        "table": partial(_collected, "hard", change=lambda f: np.stack([f, f], axis=1)),
        "complex": partial(_collected, "hard", change=lambda f: f + 0j),
        "array": lambda: _module().update(y_true=rows("n2").y, y_prob=rows("n2").f),
        "nothing": lambda: _module().compute(),
        "call": lambda: _module()(1, 2),
        "bins": lambda: _module(bins=0),
        "reset": _reset,
    }
    for name, call in faults.items():
        yield f"torch/fault/{name}", call


def _module(**options: Any) -> Any:
    from trueness.torch import CalibrationSummary

    return CalibrationSummary(**options)


def _with_hole(f: Any) -> Any:
    return np.where(np.arange(len(f)) == 5, np.nan, f)


def _collected(kind: str, *, change: Callable[[Any], Any] = np.copy, soft: bool | None = None, **options: Any) -> Any:
    """Rows of a kind in three batches."""
    import torch

    y, f, w = rows(kind)
    module = _module(soft=w is not None or kind == "soft" if soft is None else soft, **options)
    given = {"y_true": y, "y_prob": change(f)} | ({} if w is None else {"sample_weight": w})
    for part in (slice(0, 7), slice(7, 900), slice(900, None)):
        module.update(**{name: torch.as_tensor(column[part]) for name, column in given.items()})
    return values(module.compute())


def _reset() -> Any:
    import torch

    module = _module()
    module.update(y_true=torch.tensor([0, 1]), y_prob=torch.tensor([0.2, 0.7]))
    module.reset()
    return module.compute()
