"""What a file of summaries holds, for people and for programs."""

from typing import Any

import click

from trueness._text import clean


def contents(path: str) -> dict[str, Any]:
    """Kind, axes, groups, rows, cells and the rest; raises where the file is damaged, or something else."""
    from trueness.engines.files.sources import opened
    from trueness.summary.file import read
    from trueness.summary.record import Record

    with opened((path,)) as files:
        if len(files) > 1:
            raise click.UsageError(f"{path!r} means {len(files)} files; give the name of one.")
        with open(files[0], "rb") as file:
            content = read(file.read(), files[0])
    value = content.value
    parts = list(value.values()) if isinstance(value, Record) else [value]
    kinds = {part.exact for part in parts}
    return {
        "kind": "record" if isinstance(value, Record) else "summary",
        "version": content.version,
        "digest": value.digest,
        "axes": list(value.axes) if isinstance(value, Record) else [],
        "groups": len(parts),
        "rows": value.n,
        "cells": sum(len(part.cells) for part in parts),
        "ruler_cells": value.ruler.cells,
        "bins": list(value.ruler.bins),
        "merged_cells": bool(value.ruler.starts),
        "sums": "integer" if kinds == {True} else "float" if kinds == {False} else "integer and float",
        "extremes": value.extremes is not None,
        "notes": list(value.notes),
    }


def shown(path: str, inside: dict[str, Any]) -> str:
    """The same as text."""
    axes, bins = ", ".join(map(clean, inside["axes"])), ", ".join(map(str, inside["bins"]))
    merged = ", some merged" if inside["merged_cells"] else ""
    lines = [
        ("kind", f"{inside['kind']}, format version {inside['version']}"),
        ("groups", f"{inside['groups']} by {axes}" if axes else "none"),
        ("rows", str(inside["rows"])),
        ("cells", f"{inside['cells']} hold rows, of {inside['ruler_cells']} on the ruler{merged}"),
        ("bins", f"{bins} besides the standard ones" if bins else "the standard ones"),
        ("sums", inside["sums"]),
        (
            "extremes",
            ("kept: ECCE of all rows is exact" if inside["axes"] else "kept: ECCE is exact")
            if inside["extremes"]
            else "not kept: ECCE has bounds",
        ),
        ("digest", inside["digest"]),
        *(("note", clean(note, most=1000)) for note in inside["notes"]),
    ]
    return "\n".join([f"{path}: whole", *(f"  {name:9} {text}" for name, text in lines)])
