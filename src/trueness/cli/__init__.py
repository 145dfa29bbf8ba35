"""The command ``trueness``: results on stdout, everything else on stderr, faults as exit codes.

``commands`` are what can be asked, ``loading`` is what they are pointed at, ``check`` the limits of a pipeline, ``contents``
what ``verify`` tells of a file, ``output`` where results go and ``exits`` how faults end.
"""

import os
import sys
from collections.abc import Sequence
from itertools import pairwise

from trueness.cli.commands import cli
from trueness.cli.exits import OK, Settings, open_streams, signals_end_cleanly, tell

__all__ = ["cli", "main"]

_COMPLETE = "_TRUENESS_COMPLETE"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    settings = Settings()
    open_streams()
    with signals_end_cleanly():
        try:
            _run(list(sys.argv[1:] if arguments is None else arguments), settings)
        except BaseException as fault:
            return tell(fault, settings)
    return OK


def _run(words: list[str], settings: Settings) -> None:
    if instruction := os.environ.get(_COMPLETE):
        from click.shell_completion import shell_complete

        raise SystemExit(shell_complete(cli, {"obj": settings}, "trueness", _COMPLETE, instruction))
    if "--error-format=json" in words or ("--error-format", "json") in pairwise(words):
        settings.error_format = "json"  # already now: a word before it may be what is wrong
    with cli.make_context("trueness", words, obj=settings) as context:
        cli.invoke(context)
    if sys.stdout is not None:
        sys.stdout.flush()  # a full disk must be met here, not after the exit code is decided
