"""Array-likes → checked columns of rows; the only room that validates rows."""

from trueness.inputs.checks import DROPPABLE, REASONS
from trueness.inputs.columns import CHUNK, Column, columns_text, missing_column, roots
from trueness.inputs.containers import group_values
from trueness.inputs.frames import unwrapped
from trueness.inputs.labels import Observed, is_number_text, text_problem
from trueness.inputs.rows import (
    LARGEST_WEIGHT,
    SMALLEST_WEIGHT,
    ZERO_WEIGHT,
    Arrays,
    Rows,
    check_options,
    chunk_stream,
    classify,
    raise_bad_rows,
    raise_none_left,
    read_rows,
    weight_exponent,
)

__all__ = [
    "CHUNK",
    "DROPPABLE",
    "LARGEST_WEIGHT",
    "REASONS",
    "SMALLEST_WEIGHT",
    "ZERO_WEIGHT",
    "Arrays",
    "Column",
    "Observed",
    "Rows",
    "check_options",
    "chunk_stream",
    "classify",
    "columns_text",
    "group_values",
    "is_number_text",
    "missing_column",
    "raise_bad_rows",
    "raise_none_left",
    "read_rows",
    "roots",
    "text_problem",
    "unwrapped",
    "weight_exponent",
]
