"""The command ``trueness``: results on stdout, everything else on stderr, faults as exit codes.

0 done; 2 bad input or usage; 3 the environment failed (disk, permission, memory); 70 a bug; 130 and 143 interrupted.
"""

import io
import json
import os
import signal
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from trueness import __version__
from trueness.errors import TruenessError

if TYPE_CHECKING:
    from trueness.metrics.registry import Metric

OK, BAD_INPUT, ENVIRONMENT, BUG, INTERRUPTED, TERMINATED = 0, 2, 3, 70, 130, 143

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(slots=True)
class Settings:
    """How faults are told."""

    debug: bool = False
    error_format: str = "text"


def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Note an option where :func:`main` finds it after the command's context is gone."""
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


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="trueness", message="%(prog)s %(version)s")
@fault_options
def cli() -> None:
    """Are predicted probabilities true to what then happens? Off by how much, and where?"""


@cli.command()
@fault_options
def demo() -> None:
    """Measure a built-in data set whose miscalibration is known."""
    from trueness._page import table
    from trueness.demo import PLANTED, make_demo
    from trueness.metrics.registry import METRICS

    y_true, y_prob, _ = make_demo()
    rows = [row for metric in METRICS.values() for row in _rows(metric, metric.function(y_true, y_prob))]
    click.echo(textwrap.fill(f"{len(y_true)} predictions with known truth. {PLANTED}", width=100))
    click.echo()
    click.echo(table(("metric", "value", "what it is"), rows))


def _rows(metric: "Metric", value: Any) -> list[tuple[str, str, str]]:
    """A metric's lines in the table: a number, the two ends of a range, or the parts of a result below its name."""
    if isinstance(value, tuple):
        return [(metric.name, " to ".join(f"{end:.6f}" for end in value), metric.label)]
    if hasattr(value, "to_dict"):
        parts = [(f"  {name}", part) for name, part in value.to_dict().items() if isinstance(part, float)]
        return [(metric.name, "", metric.label), *((name, f"{part:.6f}", "") for name, part in parts)]
    return [(metric.name, f"{value:.6f}", metric.label)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    settings = Settings()
    _escape_unprintable()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminate)
    try:
        words = list(sys.argv[1:] if arguments is None else arguments)
        if "--error-format=json" in words or ("--error-format", "json") in pairwise(words):
            settings.error_format = "json"  # already now: a word before it may be what is wrong
        with cli.make_context("trueness", words, obj=settings) as context:
            cli.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()  # a full disk must be met here, not after the exit code is decided
    except BaseException as fault:
        return _tell(fault, settings)
    return OK


def _tell(fault: BaseException, settings: Settings) -> int:
    """Write the fault to stderr, and turn it into an exit code."""
    if isinstance(fault, click.exceptions.Exit):  # --help and --version have said what they had to
        return fault.exit_code
    if settings.debug:
        traceback.print_exception(fault)
    match fault:
        case SystemExit(code=int(code)):
            return code
        case KeyboardInterrupt() | click.Abort():
            return INTERRUPTED
        case BrokenPipeError():  # the reader, such as head, has seen enough
            _drop_stdout()
            return OK
        case click.exceptions.NoArgsIsHelpError():
            click.echo(fault.format_message(), err=True)
            return BAD_INPUT
        case click.UsageError():
            hint = f" Try '{fault.ctx.command_path} --help'." if fault.ctx else ""
            return _say(BAD_INPUT, "usage", fault.format_message() + hint, settings)
        case TruenessError():
            return _say(BAD_INPUT, type(fault).__name__, str(fault), settings)
        case click.FileError():
            return _say(ENVIRONMENT, "environment", fault.format_message(), settings)
        case click.ClickException():
            return _say(BAD_INPUT, "usage", fault.format_message(), settings)
        case OSError():
            _drop_stdout()
            return _say(ENVIRONMENT, "environment", str(fault), settings)
        case MemoryError():
            return _say(ENVIRONMENT, "environment", f"out of memory. {fault}".rstrip(), settings)
    text = f"this is a bug in trueness ({type(fault).__name__}: {fault}). Run again with --debug to see where."
    return _say(BUG, "bug", text, settings)


def _say(code: int, kind: str, message: str, settings: Settings) -> int:
    if settings.error_format == "json":
        click.echo(json.dumps({"error": kind, "message": message, "exit_code": code}), err=True)
    else:
        click.echo(f"trueness: {message}", err=True)
    return code


def _escape_unprintable() -> None:
    """Write what the terminal's encoding lacks as an escape instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_stdout() -> None:
    """Send what is still buffered nowhere, so that the interpreter does not stumble over it while closing."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return


def _terminate(number: int, frame: FrameType | None) -> None:
    raise SystemExit(TERMINATED)
