"""Summaries of groups in a folder; a group's name decides nothing but letters of a file's name."""

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from trueness._atomic import write_atomically
from trueness._json import plain
from trueness.cli.output import checked_output


def save_groups(found: Mapping[Any, Any], folder: str, by: Sequence[str], inputs: tuple[str, ...]) -> None:
    """One file for each group, and an index; other files of the folder stay."""
    os.makedirs(folder, exist_ok=True)
    for name in ("groups.json", *map(file_name, found)):
        checked_output(os.path.join(folder, name), inputs)
    index = []
    for group, summary in found.items():
        name = file_name(group)
        summary.save(os.path.join(folder, name))
        index.append({"file": name, "group": plain(group), "n": summary.n})
    text = json.dumps({"by": list(by), "groups": index}, indent=2)
    write_atomically(os.path.join(folder, "groups.json"), text.encode())


def file_name(group: Any) -> str:
    """A name that is safe in any folder, readable, and different for different groups."""
    text = json.dumps(plain(group))
    readable = re.sub(r"[^A-Za-z0-9]+", "-", str(group))[:40].strip("-").lower() or "group"
    return f"{readable}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.tns"
