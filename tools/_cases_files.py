"""Cases of files: of every form and of none, read to summaries; summaries as files, and what is refused of both."""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import trueness
from tools._cases_engines import BY, arrow, values
from tools._data import FLARES, RECIDIVISM, Case, each_of, real_file, summary

Thunk = Callable[[], Any]


def cases() -> Iterator[Case]:
    """All of them."""
    yield from each_of(_files, _real_files, _bad_files, _bad_options, _bad_summaries)


def _files() -> Iterator[Case]:
    yield "file/write", _written
    for form in ("csv", "tsv", "csv.gz", "jsonl", "json", "parquet"):
        for how, by in BY.items():
            for weight in (None, "w"):
                for outcome in ("y", "s"):
                    case = partial(_from_file, f"rows.{form}", outcome=outcome, weight=weight, by=by)
                    yield f"file/{form}/{outcome}{weight or ''}/{how}", case
        yield f"file/{form}/drop", partial(_from_file, f"rows.{form}", prediction="m", nan="drop")
        yield f"file/{form}/holes", partial(_from_file, f"rows.{form}", prediction="m")
        yield f"file/{form}/text", partial(_from_file, f"rows.{form}", outcome="t", pos_label="yes")
        yield f"file/{form}/boolean", partial(_from_file, f"rows.{form}", outcome="b")
        yield f"file/{form}/bins", partial(_from_file, f"rows.{form}", bins=7)
    yield "file/csv/two", partial(_from_file, ["rows.csv", "rows.tsv"])
    yield "file/csv/pattern", partial(_from_file, "rows.?sv")
    yield "file/csv/resume", partial(_from_file, "rows.csv", resume="state")
    yield "file/csv/memory", partial(_from_file, "rows.csv", memory_limit="1GB")
    yield "file/csv/progress", _progress
    yield "file/csv/assess", lambda: trueness.assess(trueness.summarize_files("rows.csv", outcome="y", prediction="p"))
    yield (
        "file/csv/assess-by",
        lambda: trueness.assess(trueness.summarize_files("rows.csv", outcome="y", prediction="p", by="g")),
    )


def _from_file(paths: Any, **settings: Any) -> Any:
    return values(trueness.summarize_files(paths, **{"outcome": "y", "prediction": "p"} | settings))


def _progress() -> Any:
    told: list[Any] = []
    trueness.summarize_files("rows.csv", outcome="y", prediction="p", progress=lambda done, total: told.append((done, total)))
    return told


def _written() -> list[str]:
    """The table in a file of every form."""
    import pyarrow.parquet as pq

    frame = arrow().to_pandas()
    frame["q"] = frame["q"].astype(float)
    frame.to_csv("rows.csv", index=False)
    frame.to_csv("rows.tsv", index=False, sep="\t")
    with open("rows.csv", "rb") as plain, gzip.open("rows.csv.gz", "wb") as packed:
        packed.write(plain.read())
    objects = [
        {name: None if value is None or value != value else value for name, value in row.items()} for row in arrow().to_pylist()
    ]
    with open("rows.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in objects)
    with open("rows.json", "w", encoding="utf-8") as file:
        json.dump(objects, file)
    pq.write_table(arrow(), "rows.parquet", row_group_size=400)
    return sorted(frame.columns)


def _real_files() -> Iterator[Case]:
    for name in ("logitpredprobs", "mturkpredprobs"):
        for by in (None, "race", ("race", "sex")):
            how = "whole" if by is None else "-".join((by,) if isinstance(by, str) else by)
            yield f"real-file/recidivism/{name}/{how}", partial(_real_file, RECIDIVISM, "two_year_recid", name, by=by)
    for name in ("DAFFS", "NOAA", "CLIM120"):
        yield f"real-file/flares/{name}/drop", partial(_real_file, FLARES, "rlz.C1", name, nan="drop")
    yield "real-file/flares/AMOS/holes", partial(_real_file, FLARES, "rlz.C1", "AMOS")
    yield "real-file/flares/MCEVOL/outside", partial(_real_file, FLARES, "rlz.C1", "MCEVOL", nan="drop")
    yield "real-file/flares/ASAP/empty", partial(_real_file, FLARES, "rlz.C1", "ASAP", nan="drop")
    yield "real-file/imagenet/no-outcome", partial(_real_file, "imagenet_resnet34.csv.gz", "y", "confidence")
    yield "real-file/imagenet/outside", partial(_real_file, "imagenet_resnet34.csv.gz", "true_label", "confidence")


def _real_file(file: str, outcome: str, prediction: str, **settings: Any) -> Any:
    return _from_file(real_file(file), outcome=outcome, prediction=prediction, **settings)


# Refused


def _bad_files() -> Iterator[Case]:
    for name, content in _CONTENTS.items():
        write = partial(Path(name).write_bytes, content if isinstance(content, bytes) else content.encode())
        yield f"bad-file/{name}", partial(_summed, name, write)
        yield f"bad-file/{name}/drop", partial(_summed, name, write, nan="drop")


_CONTENTS: Mapping[str, str | bytes] = {
    "empty.csv": "",
    "header.csv": "y,p\n",
    "word.csv": "y,p\n0,0.1\n1,high\n1,0.7\n",
    "hole.csv": "y,p\n0,0.1\n1,\n1,0.7\n",
    "words.csv": "y,p\nyes,0.1\nno,0.3\nmaybe,0.7\n",
    "outside.csv": "y,p\n0,10\n1,55\n1,70\n",
    "logits.csv": "y,p\n0,-2.5\n1,1.5\n",
    "ragged.csv": "y,p\n0,0.1\n1,0.2,0.3\n",
    "short.csv": "y,p\n0,0.1\n1\n",
    "quotes.csv": 'y,p\n0,0.1\n1,"0.2\n',
    "twice.csv": "y,p,p\n0,0.1,0.2\n",
    "case.csv": "Y,P\n0,0.1\n1,0.2\n",
    "spaces.csv": "y, p\n0, 0.1\n1, 0.2\n",
    "pipes.csv": "y|p\n0|0.1\n1|0.2\n",
    "colons.csv": "y:p\n0:0.1\n1:0.2\n",
    "no-header.csv": "0,0.1\n1,0.2\n",
    "comma.csv": "y;p\n0;0,1\n1;0,2\n",
    "latin.csv": b"y,p,\xe9\n0,0.1,1\n",
    "utf16.csv": "y,p\n0,0.1\n".encode("utf-16"),
    "bom.csv": b"\xef\xbb\xbfy,p\n0,0.1\n1,0.2\n",
    "zero.csv": b"y,p\n0,0.1\n\x00,0.2\n",
    "lines.csv": b"y,p\r\n0,0.1\n1,0.2\r\n",
    "damaged.csv.gz": gzip.compress(b"y,p\n0,0.1\n1,0.2\n" * 50, mtime=0)[:-12],
    "not.csv.gz": "y,p\n0,0.1\n1,0.2\n",
    "list.json": "[[0, 0.1], [1, 0.2]]",
    "cut.json": '[{"y": 0, "p": 0.1}, {"y": 1',
    "empty.json": "[]",
    "word.jsonl": '{"y": 0, "p": 0.1}\n{"y": 1, "p": "high"}\n',
    "lacking.jsonl": '{"y": 0, "p": 0.1}\n{"y": 1}\n',
    "broken.jsonl": '{"y": 0, "p": 0.1}\n{"y": 1, "p"\n',
    "not.parquet": "y,p\n0,0.1\n",
    "rows.tns": "y,p\n0,0.1\n",
}


def _summed(paths: Any, write: Thunk | None = None, **options: Any) -> Any:
    if write is not None:
        write()
    return trueness.summarize_files(paths, **{"outcome": "y", "prediction": "p"} | options)


def _bad_options() -> Iterator[Case]:
    good = "good.csv"
    write = partial(_text, good, "y,p,w,g,t\n" + "".join(f"{k % 2},0.{k},{k},{k % 3},a{k % 2}\n" for k in range(1, 9)))
    options: Mapping[str, Mapping[str, Any]] = {
        "good": {},
        "column": {"prediction": "score"},
        "near-column": {"prediction": "P"},
        "weight": {"weight": "t"},
        "group": {"by": "nothing"},
        "nan": {"nan": "keep"},
        "bins": {"bins": 0},
        "pos_label": {"pos_label": 7},
        "pos_label-text": {"outcome": "t", "pos_label": "a2"},
        "pos_label-bytes": {"pos_label": b"1"},
        "text": {"outcome": "t"},
        "delimiter": {"delimiter": ";;"},
        "other-delimiter": {"delimiter": "|"},
        "memory_limit": {"memory_limit": "much"},
        "resume-by": {"resume": "state", "by": "g"},
        "resume-input": {"resume": good},
    }
    for name, settings in options.items():
        yield f"bad-file-option/{name}", partial(_summed, good, write, **settings)
    paths: Mapping[str, Any] = {
        "absent": "absent.csv",
        "no-match": "absent*.csv",
        "none": [],
        "twice": [good, good],
        "kinds": [good, "word.jsonl"],
        "types": [good, "words.csv"],
        "zero-byte": "a\0.csv",
    }
    for name, given in paths.items():
        yield f"bad-path/{name}", partial(_summed, given)
    yield "bad-path/empty-folder", lambda: _summed("nothing-here", partial(Path("nothing-here").mkdir, exist_ok=True))
    yield "bad-path/folder", lambda: _summed("some-here", _folder)
    yield "bad-path/number", partial(_summed, 3)


def _folder() -> None:
    Path("some-here/within").mkdir(parents=True, exist_ok=True)
    _text("some-here/a.csv", "y,p\n0,0.1\n")
    _text("some-here/within/b.csv", "y,p\n1,0.2\n")


def _bad_summaries() -> Iterator[Case]:
    faults: Mapping[str, Thunk] = {
        "rows-beside": lambda: trueness.smooth_ece(summary("n40"), [0.5]),
        "weights-beside": lambda: trueness.smooth_ece(summary("n40"), sample_weight=[1.0]),
        "add-other-ruler": lambda: summary("n40") + summary("n40", (7,)),
        "add-number": lambda: summary("n40") + 1,
        "add-text": lambda: "x" + summary("n40"),
        "load-absent": lambda: trueness.Summary.load("absent.tns"),
        "load-text": lambda: trueness.Summary.load(_text("text.tns", "not a summary")),
        "load-empty": lambda: trueness.Summary.load(_text("empty.tns", "")),
        "load-zip": lambda: trueness.Summary.load(_text("zip.tns", "PK" + 100 * "x")),
        "load-damaged": lambda: trueness.Summary.load(_damaged()),
        "load-short": lambda: trueness.Summary.load(_short()),
        "load-folder": lambda: trueness.Summary.load("."),
        "save-nowhere": lambda: summary("n40").save("no/such/folder/a.tns"),
        "from_frame-number": lambda: trueness.Summary.from_frame(3),
    }
    for name, call in faults.items():
        yield f"bad-summary/{name}", call


def _text(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def _bytes() -> bytes:
    summary("n40").save("whole.tns")
    return Path("whole.tns").read_bytes()


def _damaged() -> str:
    content = bytearray(_bytes())
    content[len(content) // 2] ^= 1
    Path("damaged.tns").write_bytes(content)
    return "damaged.tns"


def _short() -> str:
    Path("short.tns").write_bytes(_bytes()[:-20])
    return "short.tns"
