"""The experiments of four papers on the public API: what was printed, what comes out here, and whether the two agree."""

from trueness.papers.findings import Finding, claim, printed
from trueness.papers.lab import Experiment, Lab, MissingDataError, Paper
from trueness.papers.reproduction import PAPERS, Reproduction, reproduce

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
