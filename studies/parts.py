"""The parts of the study: their cells, what is done with one sample, and what is counted."""

from collections.abc import Callable
from typing import Any, NamedTuple

from studies import bands, coverage, groups, omnibus, power, size
from studies.share import Share

Cell = dict[str, Any]


class Part(NamedTuple):
    """A part of the study; seeds follow from its place among the parts and a cell's among the cells, so both only grow."""

    cells: Callable[[], list[Cell]]
    once: Callable[[Cell, int], dict[str, Any]]
    shares: Callable[[Cell, str, list[Any]], list[Share]]


PARTS: dict[str, Part] = {
    "size": Part(size.cells, size.once, size.shares),
    "size of every test": Part(size.cells_but_soft, size.once_every, size.shares),
    "coverage": Part(coverage.cells, coverage.once, coverage.shares),
    "coverage of wCE": Part(coverage.plain_cells, coverage.once_slow, coverage.shares),
    "coverage of the bootstrap": Part(coverage.plain_cells, coverage.once_bootstrap, coverage.bootstrap_shares),
    "power": Part(power.cells, power.once, power.shares),
    "size, harder worlds": Part(size.harder_cells, size.once_harder, size.harder_shares),
    "coverage, harder worlds": Part(coverage.harder_cells, coverage.once_harder, coverage.harder_shares),
    "bands": Part(bands.cells, bands.once, bands.shares),
    "groups": Part(groups.cells, groups.once, groups.shares),
    "size of every part": Part(omnibus.size_cells, omnibus.once_size, omnibus.size_shares),
    "power of every part": Part(omnibus.power_cells, omnibus.once_power, omnibus.power_shares),
}
