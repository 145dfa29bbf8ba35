"""The code on the pages: found, run in order, and what it prints held against what the page shows.

A ``python`` block is a notebook cell: the value of its last line is shown unless it is None or belongs to matplotlib. A ``sh``
block runs in bash where every line begins with ``trueness`` (``trueness reproduce`` takes minutes and is left out); so does a
step of a ``yaml`` block whose ``run`` begins so. A ``text`` block (or ``output``, whose lines the page wraps) that follows
immediately is what must be printed; ``...`` in it stands for anything. A page's blocks share one namespace and one folder.

    python docs/_ext/pages.py docs/tutorial.md      # write into the page what its blocks print
"""

import ast
import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FENCE = re.compile(
    r"^(?P<ticks>`{3,})(?P<kind>[^\s`]*)[^\n]*\n(?P<body>.*?)^(?P=ticks)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_LONG_FLOAT = re.compile(r"(\d\.\d{6})\d{3,}(?!\d*e)")
SHOWN = ("text", "output")
_QUIET = {"COLUMNS": "100", "NO_COLOR": "1"}


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block, and where its shown output stands."""

    kind: str
    code: str
    line: int
    end: int  # offset in the page just behind the block
    shown: str | None  # the text block that follows immediately
    shown_at: tuple[int, int] | None  # offsets of what is shown


def blocks(page: Path) -> list[Block]:
    """Every fenced block of a page, in order; text that is a block's output is part of that block."""
    text = page.read_text(encoding="utf-8")
    fences = list(_FENCE.finditer(text))
    found = []
    for fence, after in zip(fences, [*fences[1:], None], strict=False):
        shown = (
            after
            if after
            and after["kind"] in SHOWN
            and not text[fence.end() : after.start()].strip()
            else None
        )
        found.append(
            Block(
                kind=fence["kind"],
                code=fence["body"],
                line=text.count("\n", 0, fence.start("body")) + 1,
                end=fence.end(),
                shown=shown["body"] if shown else None,
                shown_at=shown.span("body") if shown else None,
            )
        )
    return found


def commands(block: Block) -> str | None:
    """The shell commands that a block asks for; None where it has none to run."""
    if block.kind == "sh":
        lines = [line for line in block.code.replace("\\\n", " ").splitlines() if line.strip()]
        if (
            not all(line.startswith("trueness ") for line in lines)
            or "trueness reproduce" in block.code
        ):
            return None
        return block.code
    if block.kind == "yaml":
        import yaml

        steps = [
            step for step in _runs(yaml.safe_load(block.code)) if step.startswith("trueness ")
        ]
        return "\n".join(steps) or None
    return None


def _runs(tree: Any) -> Iterator[str]:
    """Every `run` of a pipeline's description."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key == "run" and isinstance(value, str):
                yield value
            else:
                yield from _runs(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _runs(value)


def packages(page: Path) -> set[str]:
    """Top-level packages that a page's Python imports."""
    found = set()
    for block in blocks(page):
        if block.kind != "python":
            continue
        for node in ast.walk(ast.parse(block.code)):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
                if node.module == "trueness.torch":
                    found.add("torch")
    return found


def runs(page: Path) -> bool:
    """Whether a page has anything to run."""
    return any(block.kind == "python" or commands(block) is not None for block in blocks(page))


def run(page: Path) -> Iterator[tuple[Block, str | None]]:
    """Run a page's blocks in the current folder; each with what it printed, None where it is not run."""
    space: dict[str, Any] = {"__name__": "__page__"}
    for block in blocks(page):
        if block.kind == "python":
            yield block, run_python(block, page, space)
        elif (asked := commands(block)) is not None:
            printed = _run_shell(asked, page, block)
            yield block, printed if block.kind == "sh" else None
        else:
            yield block, None


def run_python(block: Block, page: Path, space: dict[str, Any]) -> str:
    """What a cell prints; a traceback names the line of the page."""
    tree = ast.parse("\n" * (block.line - 1) + block.code, filename=str(page))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, str(page), "exec"), space)  # noqa: S102 - the page's own code
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), str(page), "eval"), space)  # noqa: S307
            if value is not None and not _drawn(value):
                print(repr(value))
    return printed.getvalue()


def _drawn(value: Any) -> bool:
    first = value[0] if isinstance(value, list | tuple) and len(value) else value
    return type(first).__module__.startswith("matplotlib")


def _run_shell(asked: str, page: Path, block: Block) -> str:
    here = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command = ["bash", "-euo", "pipefail", "-c", asked]
    done = subprocess.run(  # noqa: S603 - the page's own commands
        command,
        env={**os.environ, **_QUIET, "PATH": here},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"{page}:{block.line}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def same(shown: str | None, printed: str | None) -> bool:
    """Whether the page shows what was printed."""
    if printed is None:
        return True
    if not printed.strip():
        return shown is None
    if shown is None:
        return False
    return doctest.OutputChecker().check_output(
        _trimmed(shown), _trimmed(printed), doctest.ELLIPSIS
    )


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"


def rewrite(page: Path) -> None:
    """Write into the page what its blocks print, where it shows something else."""
    page = page.resolve()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        results = list(run(page))
    text = page.read_text(encoding="utf-8")
    for block, printed in reversed(results):
        if same(block.shown, printed):
            continue
        new = (
            _trimmed(_LONG_FLOAT.sub(r"\1...", printed))
            if printed and printed.strip()
            else None
        )
        if block.shown_at is not None and new is not None:
            text = text[: block.shown_at[0]] + new + text[block.shown_at[1] :]
        elif new is not None:
            text = f"{text[: block.end]}\n\n```text\n{new}```{text[block.end :]}"
        else:
            raise RuntimeError(
                f"{page}:{block.line}: prints nothing, but the page shows an output"
            )
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    for name in sys.argv[1:]:
        rewrite(Path(name))
