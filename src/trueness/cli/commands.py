"""The commands."""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from trueness import __version__
from trueness._text import clean
from trueness.cli.exits import FAILED, Command, fault_options
from trueness.cli.loading import Data, columns_of, data_options, load, load_pairs, merged
from trueness.cli.output import checked_output, echo_json, progress

COMPLETION = """
Completion of commands and options: add to the shell's start-up file

\b
  bash: eval "$(_TRUENESS_COMPLETE=bash_source trueness)"
  zsh:  eval "$(_TRUENESS_COMPLETE=zsh_source trueness)"
  fish: _TRUENESS_COMPLETE=fish_source trueness | source
"""


class InOrder(click.Group):
    """Commands listed as they are written here, the first to try first."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(self.commands)


@click.group(cls=InOrder, context_settings={"help_option_names": ["-h", "--help"]}, epilog=COMPLETION)
@click.version_option(__version__, prog_name="trueness", message="%(prog)s %(version)s")
@fault_options
def cli() -> None:
    """Are predicted probabilities true to what then happens? Off by how much, where, and how sure is that?

    Files: csv, tsv, txt, json, ndjson, jsonl (each also .gz), Parquet, and summaries (.tns); patterns and folders of one kind
    of file; - is standard input.
    """


def result_options(command: Command) -> Command:
    """Level, seed and JSON."""
    level = click.option("--level", type=float, default=0.95, show_default=True, help="Level of the intervals, a fraction.")
    rng = click.option("--rng", type=click.IntRange(0), default=0, show_default=True, help="Seed of the simulations.")
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    return level(rng(as_json(command)))


def out_option(default: str | None, what: str) -> Callable[[Command], Command]:
    """Where a file is written."""
    shown = default is not None
    return click.option(
        "-o", "--out", metavar="FILE", default=default, required=not shown, show_default=shown, help=f"Where {what} is written."
    )


@cli.command(short_help="Assess built-in data whose error is known.")
@fault_options
@out_option("trueness-demo.html", "the report")
def demo(out: str) -> None:
    """Assess a built-in data set whose miscalibration is known, and write its report."""
    import textwrap

    from trueness.assessment import assess
    from trueness.demo import PLANTED, make_demo

    checked_output(out)
    y_true, y_prob, _ = make_demo()
    with progress() as bars:
        assessment = assess(y_true, y_prob, progress=bars.drawing)
        assessment.report(out, title="trueness demo")
    click.echo(textwrap.fill(f"{len(y_true)} predictions with known truth. {PLANTED}", width=100))
    click.echo(f"\n{assessment}\n\nThe report is in {clean(str(out), 1000)}.")


@cli.command(short_help="Is it off, by how much, where, how sure?")
@data_options()
@result_options
@fault_options
def assess(data: Data, level: float, rng: int, as_json: bool) -> None:
    """Is it off, by how much, where, and how sure is that?

    \b
    trueness assess preds.parquet -y clicked -p score --by country
    trueness assess monday.tns tuesday.tns
    """
    _, assessment = _assessed(data, level, rng)
    echo_json(assessment.to_dict()) if as_json else click.echo(str(assessment))


@cli.command(short_help="All of it as one HTML page.")
@data_options()
@result_options
@out_option("report.html", "the page")
@click.option("--title", default="Calibration report", show_default=True, help="Heading of the page.")
@fault_options
def report(data: Data, level: float, rng: int, as_json: bool, out: str, title: str) -> None:
    """Write one HTML page with everything: verdict, diagrams, groups, and how it was computed.

    \b
    trueness report 'preds/*.parquet' -y clicked -p score -o report.html
    """
    from trueness.report.html import write_report

    checked_output(out, data.paths)
    _, assessment = _assessed(data, level, rng)
    write_report(assessment, out, title=title, source=data.shown)
    echo_json(assessment.to_dict()) if as_json else click.echo(
        f"{assessment.verdict}\n\nThe report is in {clean(str(out), 1000)}."
    )


def _assessed(data: Data, level: float, rng: int, metrics: Any = None) -> tuple[dict[str, Any], Any]:
    """What was read, as the arguments of `assess`, and what it finds."""
    from trueness.assessment import assess as assess_data
    from trueness.inference.evidence import DEFAULT
    from trueness.options import check_level

    check_level(level)
    with progress() as bars:
        given = load(data, bars.reading)
        return given, assess_data(**given, level=level, rng=rng, metrics=metrics or DEFAULT, progress=bars.drawing)


@cli.command(short_help="Pass or fail, for pipelines.")
@data_options()
@result_options
@click.option(
    "--max",
    "limits",
    metavar="METRIC=VALUE",
    multiple=True,
    help="Fail when the metric is larger, or with groups when any group's whole interval is; may be repeated.",
)
@click.option(
    "--alpha", type=float, help="Fail when p of the combined test is smaller; with --by also any group's Holm-adjusted p."
)
@click.option("--upper", is_flag=True, help="Hold the upper end of the metric's interval against --max, not its value.")
@fault_options
def check(data: Data, level: float, rng: int, as_json: bool, limits: tuple[str, ...], alpha: float | None, upper: bool) -> None:
    """Pass or fail, for pipelines: exit code 0 or 1, and which limit failed by how much.

    With --by, and for a record, every group is held to the limits too: it fails where its whole interval lies above one, for
    in a small group the value alone is noise; with --upper where its upper end does. Groups under 10 rows are not checked.

    \b
    trueness check preds.csv -y y -p p --max smooth_ece=0.02 --alpha 0.01
    """
    from trueness.cli.check import checks, group_checks, parse_limits, require_alpha

    if not limits and alpha is None:
        raise click.UsageError("nothing to check: pass --max METRIC=VALUE, --alpha, or both.", click.get_current_context())
    maxima = parse_limits(limits, upper=upper)
    require_alpha(alpha)
    given, assessment = _assessed(data, level, rng, [metric.name for metric, _ in maxima if metric.has_interval])
    lines = checks(given, assessment, maxima, alpha, upper)
    if assessment.groups is not None and maxima:
        lines += group_checks(given, maxima, level=level, rng=rng, upper=upper)
    passed = all(line.passed for line in lines)
    if as_json:
        echo_json(
            {"passed": passed, "checks": [line.to_dict() for line in lines], "n": assessment.n, "notes": list(assessment.notes)}
        )
    else:
        click.echo("\n".join([*map(str, lines), *(f"note  {clean(note, most=1000)}" for note in assessment.notes)]))
    if not passed:
        raise SystemExit(FAILED)


@cli.command(short_help="Several predictors on the same rows.")
@data_options(by=False, cluster=False)
@result_options
@click.option("--key", metavar="COLUMN", help="Which rows of two files belong together.")
@fault_options
def compare(data: Data, level: float, rng: int, as_json: bool, key: str | None) -> None:
    """Which of several predictors is off by less, on the same rows, as far as the rows can tell?

    \b
    trueness compare preds.csv -y y -p model_a -p model_b
    trueness compare a.csv b.csv -y y -p p --key id
    """
    from trueness.comparison import compare_rows
    from trueness.options import check_level

    check_level(level)
    with progress() as bars:
        comparison = compare_rows(load_pairs(data, key, bars.reading), level=level, rng=rng, progress=bars.drawing)
    echo_json(comparison.to_dict()) if as_json else click.echo(str(comparison))


@cli.command(short_help="Files of any size to a summary.")
@data_options()
@click.option("--bins", type=int, multiple=True, help="A bin count to keep exact besides 15, 100 and the divisors of 16384.")
@click.option("--no-exact", is_flag=True, help="Leave out the second pass, which makes ECCE exact, for bounds of it instead.")
@click.option("--memory-limit", metavar="SIZE", help="The most that the reader may hold, such as 1GB.")
@click.option("--resume", is_flag=True, help="Keep the sums so far beside FILE, and go on from them after an interruption.")
@out_option(None, "the summary, or with --by or --cluster the record,")
@fault_options
def summarize(data: Data, bins: tuple[int, ...], no_exact: bool, memory_limit: str | None, resume: bool, out: str) -> None:
    """Reduce files of any size to a summary that every other command takes; summaries of parts add up.

    With --by or --cluster, FILE is a record: a summary for each group, or bucket of clusters, in one file.

    \b
    trueness summarize 'day1/*.parquet' -y clicked -p score -o day1.tns
    """
    from trueness.engines.files.summarize_files import summarize_files

    columns = columns_of(data)
    checked_output(out, data.paths)
    with progress() as bars:
        saved = summarize_files(
            data.paths,
            outcome=columns.outcome,
            prediction=columns.prediction,
            weight=columns.weight,
            by=columns.by or None,
            cluster=columns.cluster,
            bins=bins,
            exact=not no_exact,
            nan=data.nan,
            pos_label=data.pos_label,
            delimiter=data.delimiter,
            memory_limit=memory_limit,
            resume=f"{out}.resume" if resume else None,
            progress=bars.reading,
        )
    _save(saved, out)


def _save(value: Any, out: str) -> None:
    """Write a summary or a record, and say what is in it."""
    value.save(out)
    groups = f"{len(value)} groups, " if hasattr(value, "axes") else ""
    notes = (f"Note: {clean(note, most=1000)}" for note in value.notes)
    click.echo("\n".join([f"{clean(str(out), 1000)}: {groups}{value.n} rows", *notes]))


@cli.command(short_help="Add summaries.")
@click.argument("paths", nargs=-1, required=True)
@out_option(None, "the sum")
@fault_options
def merge(paths: tuple[str, ...], out: str) -> None:
    """Add summaries, or records group by group: those of days make that of the week.

    \b
    trueness merge day*.tns -o week.tns
    """
    checked_output(out, paths)
    with progress() as bars:
        total = merged(paths, bars.reading)
    _save(total, out)


@cli.command(short_help="Is a summary's file whole, and what is in it?")
@click.argument("path", metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@fault_options
def verify(path: str, as_json: bool) -> None:
    """Check a file of summaries, its structure, its sums and its digest, and say what is in it.

    \b
    trueness verify week.tns
    """
    from trueness.cli.contents import contents, shown

    inside = contents(path)
    echo_json(inside) if as_json else click.echo(shown(path, inside))


@cli.command(short_help="The experiments of four papers, redone.")
@click.argument("paper", type=click.Choice(["soft-labels", "logit-smoothing", "smooth-ece", "cumulative"]))
@click.option("--quick", is_flag=True, help="Fewer draws: at most three minutes.")
@click.option("--data", metavar="DIR", help="Folder with the real data; what needs a file that is missing says which.")
@click.option("--format", "form", type=click.Choice(["png", "svg"]), default="png", show_default=True, help="Of the figures.")
@click.option("--rng", type=click.IntRange(0), default=0, show_default=True, help="Seed of all draws.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-o", "--out", metavar="DIR", help="Folder for the figures, made if missing; the paper's name unless told.")
@fault_options
def reproduce(paper: str, quick: bool, data: str | None, form: str, rng: int, as_json: bool, out: str | None) -> None:
    """Redo a paper's experiments: what was printed, what comes out here, and whether the two agree.

    Needs a checkout of the repository, which holds the experiments.

    \b
    trueness reproduce cumulative --quick --data data/ -o out/
    """
    run = _reproduce_of_a_checkout()
    folder = out or paper
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise click.UsageError(f"{folder!r} is not a folder; give the name of one.")
    with progress() as bars:
        redone = run(paper, quick=quick, data=data, out=folder, form=form, seed=rng, progress=bars.step)
    echo_json(redone.to_dict()) if as_json else click.echo(str(redone))
    if not as_json and redone.figures:
        click.echo(f"{len(redone.figures)} figures are in {clean(str(folder), 1000)}.")


def _reproduce_of_a_checkout() -> Any:
    """`reproductions.reproduce`, which lies beside ``src`` in a checkout: that of this file, or the current folder."""
    for root in (Path(__file__).resolve().parents[3], Path.cwd()):
        if (root / "src" / "trueness").is_dir() and str(root) not in sys.path:
            sys.path.append(str(root))
    try:
        return import_module("reproductions.reproduction").reproduce
    except ModuleNotFoundError as fault:
        if fault.name not in ("reproductions", "reproductions.reproduction"):
            raise
    raise click.ClickException(
        "the papers' experiments are not installed with the library: clone the repository and run the command in it."
    )
