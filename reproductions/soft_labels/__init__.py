"""Soft labels: SMECE and ECE on a simulation whose posterior is known."""

from reproductions.lab import Experiment, Paper
from reproductions.soft_labels.diagram import soft_diagram
from reproductions.soft_labels.outcomes import drawn_outcomes
from reproductions.soft_labels.propositions import appendix_a, proposition_1, proposition_2, proposition_3
from reproductions.soft_labels.ranking import experiment_3
from reproductions.soft_labels.signals import experiment_1, experiment_2
from reproductions.soft_labels.sizes import experiment_4

PAPER = Paper(
    title="Soft mean expected calibration error (SMECE): a calibration metric for probabilistic labels",
    citation="M. Leznik (2026).",
    experiments=(
        Experiment("Proposition 1: SMECE is ECE when labels are 0 or 1", proposition_1),
        Experiment("Proposition 2: SMECE is 0 for predictions equal to their labels", proposition_2),
        Experiment("Proposition 3 and appendix B: ECE against thresholded labels", proposition_3),
        Experiment("Sections 1.4 and 3: outcomes drawn from the posterior", drawn_outcomes),
        Experiment("Appendix A: the posterior of two normal classes", appendix_a),
        Experiment("Experiment 1, Table 2: five models at k = 2, n = 5 000", experiment_1),
        Experiment("Experiment 2, Tables 3 and 4: six signal-to-noise ratios, n = 5 000", experiment_2),
        Experiment("Experiment 3, Tables 5 and 6: ranking of ten pairs, n = 1 000", experiment_3),
        Experiment("Experiment 4, Tables 7 and 8: five sample sizes at k = 2", experiment_4),
        Experiment("Remark 2: the soft reliability diagram", soft_diagram),
    ),
)
