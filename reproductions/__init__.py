"""The experiments of four papers, written as a user would on the public names of trueness.

Each subpackage is a paper: what it printed, what comes out here, and whether the two agree. `findings` holds the verdicts,
`lab` what an experiment works with, `reproduction` the run and its table. The package lies beside ``src`` in a checkout and is
not installed with the library; ``trueness reproduce NAME`` runs it from there.
"""

from reproductions.findings import Finding, claim, printed
from reproductions.lab import Experiment, Lab, MissingDataError, Paper
from reproductions.reproduction import PAPERS, Reproduction, reproduce

__all__ = [
    "PAPERS",
    "Experiment",
    "Finding",
    "Lab",
    "MissingDataError",
    "Paper",
    "Reproduction",
    "claim",
    "printed",
    "reproduce",
]
