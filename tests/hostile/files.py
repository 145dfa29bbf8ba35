"""Damaged and odd files, each under a name: made from a clean file's bytes, and what must become of them.

"same": the clean result. "refused": an error. "either": an error, or the clean result; never another number.
"""

import gzip
from collections.abc import Callable
from typing import Any

Make = Callable[[bytes], bytes]
Cases = dict[str, tuple[str, str, Make]]  # name → (what must happen, ending of the file's name, content)


def _row(line: bytes) -> Make:
    """The clean rows and one more."""
    return lambda clean: clean + line + b"\n"


CSV: Cases = {
    "as it is": ("same", ".csv", lambda clean: clean),
    "a mark of UTF-8": ("same", ".csv", lambda clean: b"\xef\xbb\xbf" + clean),
    "lines of Windows": ("same", ".csv", lambda clean: clean.replace(b"\n", b"\r\n")),
    "no last line end": ("same", ".csv", lambda clean: clean.rstrip(b"\n")),
    "empty lines at the end": ("same", ".csv", lambda clean: clean + b"\n\n"),
    "semicolons": ("same", ".csv", lambda clean: clean.replace(b",", b";")),
    "every cell quoted": (
        "same",
        ".csv",
        lambda clean: b"\n".join(b",".join(b'"' + cell + b'"' for cell in line.split(b",")) for line in clean.split()),
    ),
    "gzip": ("same", ".csv.gz", gzip.compress),
    "gzip in two members": ("same", ".csv.gz", lambda clean: gzip.compress(clean[:90]) + gzip.compress(clean[90:])),
    "empty": ("refused", ".csv", lambda clean: b""),
    "a header alone": ("refused", ".csv", lambda clean: clean.split(b"\n")[0] + b"\n"),
    "no header": ("refused", ".csv", lambda clean: clean.split(b"\n", 1)[1]),
    "one name twice": ("refused", ".csv", lambda clean: clean.replace(b"y,p,w,g,q", b"y,p,y,g,q", 1)),
    "a cell short": ("refused", ".csv", _row(b"1,0.5")),
    "a cell too many": ("refused", ".csv", _row(b"1,0.5,1,de,0.5,0,9")),
    "empty cells too many": ("refused", ".csv", _row(b"1,0.5,1,de,0.5,0,,")),
    "a cell too many after a quoted one": ("refused", ".csv", _row(b'1,0.5,1,"de",0.5,0,9')),
    "a quote left open": ("refused", ".csv", _row(b'1,0.5,1,"de,0.5,0')),
    "a zero byte": ("refused", ".csv", _row(b"1,0.\x005,1,de,0.5,0")),
    "a zero byte in a column not read": ("refused", ".csv", _row(b"1,0.5,1,de,0.\x005,0")),
    "Latin-1": ("refused", ".csv", _row(b"1,\xe9,1,de,0.5,0")),
    "Latin-1 in a column not read": ("either", ".csv", lambda clean: clean.replace(b"de", b"d\xe9", 1)),
    "UTF-16": ("refused", ".csv", lambda clean: clean.decode().encode("utf-16")),
    "mixed line ends": ("refused", ".csv", lambda clean: clean.replace(b"\n", b"\r\n", 9)),
    "a decimal comma": ("refused", ".csv", _row(b'1,"0,5",1,de,0.5,0')),
    "an underscore in a number": ("refused", ".csv", _row(b"1,0.1_5,1,de,0.5,0")),
    "a hexadecimal number": ("refused", ".csv", _row(b"1,0x1,1,de,0.5,0")),
    "a missing value": ("refused", ".csv", _row(b"1,,1,de,0.5,0")),
    "nan": ("refused", ".csv", _row(b"1,nan,1,de,0.5,0")),
    "inf": ("refused", ".csv", _row(b"1,inf,1,de,0.5,0")),
    "NULL": ("refused", ".csv", _row(b"1,NULL,1,de,0.5,0")),
    "a word": ("refused", ".csv", _row(b"1,high,1,de,0.5,0")),
    "above 1": ("refused", ".csv", _row(b"1,1.5,1,de,0.5,0")),
    "another outcome": ("refused", ".csv", _row(b"2,0.5,1,de,0.5,0")),
    "a formula": ("refused", ".csv", _row(b"1,=1/2,1,de,0.5,0")),
    "gzip, cut": ("refused", ".csv.gz", lambda clean: gzip.compress(clean)[:-20]),
    "gzip, a wrong checksum": ("refused", ".csv.gz", lambda clean: gzip.compress(clean)[:-8] + bytes(8)),
    "gzip, rubbish behind": ("refused", ".csv.gz", lambda clean: gzip.compress(clean) + b"rubbish"),
    "not gzip": ("either", ".csv.gz", lambda clean: clean),
    "Parquet by another name": ("refused", ".parquet", lambda clean: clean),
    "JSON by another name": ("refused", ".json", lambda clean: clean),
    "a summary by another name": ("refused", ".tns", lambda clean: clean),
    "random bytes": ("refused", ".csv", lambda clean: bytes(range(256)) * 40),
}

JSON: Cases = {
    "as it is": ("same", ".ndjson", lambda clean: clean),
    "gzip": ("same", ".jsonl.gz", gzip.compress),
    "empty": ("refused", ".ndjson", lambda clean: b""),
    "cut": ("refused", ".ndjson", lambda clean: clean.rstrip()[:-5]),
    "a bare word": ("refused", ".ndjson", _row(b"word")),
    "an array among objects": ("refused", ".ndjson", _row(b"[1, 2]")),
    "a number among objects": ("refused", ".ndjson", _row(b"17")),
    "a key missing": ("refused", ".ndjson", _row(b'{"y": 1}')),
    "null": ("refused", ".ndjson", _row(b'{"y": 1, "p": null}')),
    "an object as a number": ("refused", ".ndjson", _row(b'{"y": 1, "p": {"a": 0.5}}')),
    "a word as a number": ("refused", ".ndjson", _row(b'{"y": 1, "p": "high"}')),
    "NaN": ("refused", ".ndjson", _row(b'{"y": 1, "p": NaN}')),
    "deeply nested": ("refused", ".ndjson", _row(b'{"y": 1, "p": ' + b"[" * 5000 + b"]" * 5000 + b"}")),
    "a zero byte": ("refused", ".ndjson", _row(b'{"y": 1, "p": 0.5\0}')),
}

PARQUET: Cases = {
    "as it is": ("same", ".parquet", lambda clean: clean),
    "empty": ("refused", ".parquet", lambda clean: b""),
    "the magic word alone": ("refused", ".parquet", lambda clean: b"PAR1PAR1"),
    "cut": ("refused", ".parquet", lambda clean: clean[: len(clean) // 2]),
    "without its end": ("refused", ".parquet", lambda clean: clean[:-4]),
    "a footer of a wrong length": (
        "refused",
        ".parquet",
        lambda clean: clean[:-8] + (2**31 - 1).to_bytes(4, "little") + clean[-4:],
    ),
    "a footer of zeros": ("either", ".parquet", lambda clean: clean[:-200] + bytes(192) + clean[-8:]),
    "rubbish behind": ("refused", ".parquet", lambda clean: clean + b"rubbish"),
}

SUMMARY: Cases = {
    "as it is": ("same", ".tns", lambda clean: clean),
    "empty": ("refused", ".tns", lambda clean: b""),
    "cut": ("refused", ".tns", lambda clean: clean[: len(clean) // 2]),
    "without its last byte": ("refused", ".tns", lambda clean: clean[:-1]),
    "rubbish behind": ("refused", ".tns", lambda clean: clean + b"rubbish"),
    "twice": ("refused", ".tns", lambda clean: clean * 2),
    "a first byte changed": ("refused", ".tns", lambda clean: bytes([clean[0] ^ 1]) + clean[1:]),
    "a byte in the middle changed": ("refused", ".tns", lambda clean: _flipped(clean, len(clean) // 2)),
    "a last byte changed": ("refused", ".tns", lambda clean: _flipped(clean, len(clean) - 1)),
    "zeros": ("refused", ".tns", lambda clean: bytes(len(clean))),
    "pickle": (
        "refused",
        ".tns",
        lambda clean: b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94\x8c\x06getcwd\x94\x93\x94)R\x94.",
    ),
}


def _flipped(clean: bytes, place: int) -> bytes:
    return clean[:place] + bytes([clean[place] ^ 1]) + clean[place + 1 :]


def all_cases() -> list[tuple[str, str, str, str, Make]]:
    """(kind, name, what must happen, ending, content)."""
    kinds: dict[str, Any] = {"csv": CSV, "json": JSON, "parquet": PARQUET, "summary": SUMMARY}
    return [(kind, name, *case) for kind, cases in kinds.items() for name, case in cases.items()]
