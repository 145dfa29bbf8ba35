"""Smooth ECE (Błasiok & Nakkiran 2024): its figures, and what it proves, tried on random rows."""

from reproductions.lab import Experiment, Paper
from reproductions.smooth_ece.bandwidth import lemma_1, lemma_10
from reproductions.smooth_ece.continuity import figure_3
from reproductions.smooth_ece.diagrams import figure_1, figure_2a, figure_2b, figure_2c, figure_2d
from reproductions.smooth_ece.distance import theorem_6
from reproductions.smooth_ece.kernel import algorithms, lemma_25
from reproductions.smooth_ece.postprocessing import theorem_17
from reproductions.smooth_ece.sampling import theorem_9

PAPER = Paper(
    title="Smooth ECE: principled reliability diagrams via kernel smoothing",
    citation="J. Błasiok, P. Nakkiran (2024). ICLR. arXiv:2309.12236",
    experiments=(
        Experiment("Figure 1: the two diagrams, on rows of our own", figure_1),
        Experiment("Figure 2a: ResNet-34 on ImageNet", figure_2a),
        Experiment("Figure 2b: solar flares, DAFFS", figure_2b),
        Experiment("Figure 2c: rain in Tampere", figure_2c),
        Experiment("Figure 2d: a sine on the diagonal", figure_2d),
        Experiment("Figure 3: continuity", figure_3),
        Experiment("Lemma 1 and definition 2: the bandwidth", lemma_1),
        Experiment("Theorem 6, lemmas 7, 8, 21 and 23, theorem 20: the distance to calibration", theorem_6),
        Experiment("Theorem 9: how many rows", theorem_9),
        Experiment("Lemma 10: the area that the diagram shows", lemma_10),
        Experiment("Theorem 17: post-processing", theorem_17),
        Experiment("Algorithms 1 and 2", algorithms),
        Experiment("Lemma 25 and claim 27: the reflected kernel", lemma_25),
    ),
)
