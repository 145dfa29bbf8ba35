"""What is written from the library itself when the pages are built: tables of metrics and names, the help of commands."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import trueness
from trueness.metrics.registry import METRICS, Metric


def metric_rows() -> list[Sequence[str]]:
    """The registry, a line a metric."""
    head = ("metric", "range", "from a summary", "weights, soft labels", "interval by")
    return [head, *map(_metric_row, METRICS.values())]


def _metric_row(metric: Metric) -> Sequence[str]:
    low, high = metric.bounds
    return (
        f":py:func:`~trueness.{metric.name}`",
        f"{low:g} to {'∞' if high == float('inf') else format(high, 'g')}, best {metric.best:g}",
        _yes(metric.needs == "summary", metric.rows_options),
        _yes(True, metric.counts_options),
        _interval(metric),
    )


def _interval(metric: Metric) -> str:
    """What an interval is made of, where one is known to cover."""
    if not metric.has_interval:
        return "–"
    return "sign flips" if metric.drawing.law is None else "Brownian law"


def _yes(able: bool, exceptions: Mapping[str, Sequence[Any]]) -> str:
    """Yes, no, or yes but for some options."""
    if not able:
        return "no"
    said = ", ".join(
        f"``{name}={value!r}``" for name, values in exceptions.items() for value in values
    )
    return f"yes, but not {said}" if said else "yes"


def name_rows() -> list[Sequence[str]]:
    """Every public name, with the first line of its docstring."""
    head = ("name", "what it is")
    named = [(name, getattr(trueness, name)) for name in trueness.__all__]
    rows = [
        (f":py:obj:`~trueness.{name}`", (inspect.getdoc(thing) or "").partition("\n")[0])
        for name, thing in named
    ]
    return [head, *rows]


class Table(SphinxDirective):
    """A list-table of the rows that a function gives."""

    rows = staticmethod(metric_rows)

    def run(self) -> list[nodes.Node]:
        """The table."""
        lines = [".. list-table::", "   :header-rows: 1", "   :class: dense", ""]
        for row in self.rows():
            lines += [f"   {'* -' if i == 0 else '  -'} {cell}" for i, cell in enumerate(row)]
        holder = nodes.container()
        self.state.nested_parse(StringList(lines, source="trueness"), 0, holder)
        return holder.children


class NameTable(Table):
    """Every public name."""

    rows = staticmethod(name_rows)


class CommandHelp(SphinxDirective):
    """What ``trueness COMMAND --help`` prints, a section a command."""

    def run(self) -> list[nodes.Node]:
        """The sections."""
        from click import Context

        from trueness.cli.commands import cli

        found: list[nodes.Node] = []
        for name, command in cli.commands.items():
            parent = Context(cli, info_name="trueness", help_option_names=["-h", "--help"])
            text = Context(command, parent=parent, info_name=name, terminal_width=96).get_help()
            title = f"trueness {name}"
            section = nodes.section("", nodes.title("", title), ids=[title.replace(" ", "-")])
            section += nodes.literal_block(text, text, language="text")
            found.append(section)
        return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Register."""
    app.add_directive("metric-table", Table)
    app.add_directive("name-table", NameTable)
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
