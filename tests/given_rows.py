"""Columns read as rows, with the options of a reading as keywords."""

from trueness.inputs.arguments import Reading
from trueness.inputs.rows import Rows, chunk_stream, read_rows

LAYOUT = ("names", "by", "part")


def rows_of(y_true, y_prob, sample_weight=None, **options) -> Rows:
    """`read_rows` with the options of `Reading` spelled out."""
    layout = {name: options.pop(name) for name in LAYOUT if name in options}
    return read_rows(y_true, y_prob, sample_weight, Reading(**options), **layout)


def chunks_of(y_true, y_prob, sample_weight=None, **options):
    """`chunk_stream` with the options of `Reading` spelled out."""
    return chunk_stream(y_true, y_prob, sample_weight, Reading(**options))
