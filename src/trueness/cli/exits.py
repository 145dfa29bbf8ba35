"""Faults as exit codes, told on stderr in a sentence or as one line of JSON.

0 done; 1 a requested check failed; 2 bad input or usage; 3 the environment failed (disk, permission, memory); 70 a bug;
130 and 143 interrupted.
"""

import io
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, NoReturn, TextIO, TypeVar

import click

from trueness._atomic import undo_all
from trueness.errors import TruenessError

OK, FAILED, BAD_INPUT, ENVIRONMENT, BUG, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 70, 130, 143

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(slots=True)
class Settings:
    """How faults are told."""

    debug: bool = False
    error_format: str = "text"


def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Note an option where the end of the command finds it after its context is gone."""
    if value and option.name:
        setattr(context.find_root().obj, option.name, value)


def fault_options(command: Command) -> Command:
    """Accept ``--debug`` and ``--error-format``, before the command's name and after it."""
    debug = click.option(
        "--debug", is_flag=True, is_eager=True, expose_value=False, callback=_keep, help="Show an error's traceback."
    )
    error_format = click.option(
        "--error-format",
        type=click.Choice(["text", "json"]),
        is_eager=True,
        expose_value=False,
        callback=_keep,
        help="How errors are written to stderr: a sentence, or one line of JSON.",
    )
    return debug(error_format(command))


def tell(fault: BaseException, settings: Settings) -> int:
    """Write the fault to stderr, and turn it into an exit code."""
    if isinstance(fault, click.exceptions.Exit):  # --help and --version have said what they had to
        return fault.exit_code
    if settings.debug:
        _echo("".join(traceback.format_exception(fault)).rstrip())
    match fault:
        case SystemExit(code=int(code)):
            return code
        case KeyboardInterrupt() | click.Abort():
            return INTERRUPTED
        case BrokenPipeError():  # the reader, such as head, has seen enough
            _drop(sys.stdout)
            return OK
        case click.exceptions.NoArgsIsHelpError():
            _echo(fault.format_message())
            return BAD_INPUT
        case click.UsageError():
            hint = f" Try '{fault.ctx.command_path} --help'." if fault.ctx else ""
            return _say(BAD_INPUT, "usage", fault.format_message() + hint, settings)
        case TruenessError():
            return _say(BAD_INPUT, type(fault).__name__, fault.shell or str(fault), settings)
        case click.FileError():
            return _say(ENVIRONMENT, "environment", fault.format_message(), settings)
        case click.ClickException():
            return _say(BAD_INPUT, "usage", fault.format_message(), settings)
        case OSError():
            _drop(sys.stdout)
            return _say(ENVIRONMENT, "environment", str(fault), settings)
        case MemoryError() | ImportError() | RuntimeError() if _lacks_memory(fault):
            return _say(ENVIRONMENT, "environment", f"out of memory. {fault}".rstrip(), settings)
    text = f"this is a bug in trueness ({type(fault).__name__}: {fault}). Run again with --debug to see where."
    return _say(BUG, "bug", text, settings)


def _lacks_memory(fault: BaseException) -> bool:
    """Whether memory is what was missing: a library could not be mapped, a thread not be started."""
    words = ("failed to map segment", "cannot allocate memory", "can't start new thread")
    return isinstance(fault, MemoryError) or any(word in str(fault).lower() for word in words)


def _say(code: int, kind: str, message: str, settings: Settings) -> int:
    fault = {"error": kind, "message": message, "exit_code": code}
    _echo(json.dumps(fault) if settings.error_format == "json" else f"trueness: {message}")
    return code


def _echo(text: str) -> None:
    try:
        click.echo(text, err=True)
    except OSError:  # nobody can be told; the exit code still says it
        _drop(sys.stderr)


def open_streams() -> None:
    """A closed stderr takes what is written and shows it nowhere; what a stream's encoding lacks is written as an escape."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - to the end; also no other file becomes descriptor 2
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop(stream: TextIO) -> None:
    """Send what is still buffered nowhere, so that the interpreter does not stumble over it while closing."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError, AttributeError):
        return


@contextmanager
def signals_end_cleanly() -> Iterator[None]:
    """While the block runs, SIGINT and SIGTERM undo what is unfinished and end the process with their exit code."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    codes = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        undo_all()
        os._exit(codes[signal.Signals(number)])

    before = {number: signal.signal(number, leave) for number in codes}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
