"""The command ``trueness``: results on stdout, everything else on stderr, faults as exit codes."""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from itertools import pairwise

from trueness.cli.commands import cli
from trueness.cli.faults import OK, Settings, escape_unprintable, tell, terminate

__all__ = ["cli", "main"]

_COMPLETE = "_TRUENESS_COMPLETE"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    settings = Settings()
    escape_unprintable()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, terminate)
    try:
        if instruction := os.environ.get(_COMPLETE):
            from click.shell_completion import shell_complete

            return shell_complete(cli, {"obj": settings}, "trueness", _COMPLETE, instruction)
        words = list(sys.argv[1:] if arguments is None else arguments)
        if "--error-format=json" in words or ("--error-format", "json") in pairwise(words):
            settings.error_format = "json"  # already now: a word before it may be what is wrong
        with cli.make_context("trueness", words, obj=settings) as context:
            cli.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()  # a full disk must be met here, not after the exit code is decided
    except BaseException as fault:
        return tell(fault, settings)
    return OK
