"""Chidambaram and others on logit smoothing: where ECE jumps, LS-ECE that does not, and how the two compare in practice."""

from reproductions.lab import Experiment, Paper
from reproductions.logit_smoothing.cifar import figure_3
from reproductions.logit_smoothing.continuity import theorem_4_5
from reproductions.logit_smoothing.densities import lemma_5_2
from reproductions.logit_smoothing.imagenet import figures_4_and_5
from reproductions.logit_smoothing.jumps import theorem_3_2
from reproductions.logit_smoothing.rates import theorem_5_3, theorem_5_4
from reproductions.logit_smoothing.square import proposition_3_5
from reproductions.logit_smoothing.two_points import definition_3_1, figure_2

__all__ = ["PAPER"]

PAPER = Paper(
    title="How flawed is ECE? An analysis via logit smoothing",
    citation="M. Chidambaram, H. Lee, C. McSwiggen, S. Rezchikov (2024). ICML, PMLR 235.",
    experiments=(
        Experiment("Definition 3.1: two points", definition_3_1),
        Experiment("Theorem 3.2: where the ECE of a finite distribution jumps", theorem_3_2),
        Experiment("Proposition 3.5: a jump without level sets", proposition_3_5),
        Experiment("Theorem 4.5: LS-ECE is continuous", theorem_4_5),
        Experiment("Lemma 5.2: the density of the noisy logits", lemma_5_2),
        Experiment("Theorem 5.3: LS-ECE of a sample", theorem_5_3),
        Experiment("Theorem 5.4: from LS-ECE to the true ECE", theorem_5_4),
        Experiment("Figure 2: two points, 1 to 100 bins", figure_2),
        Experiment("Figure 3: CIFAR (within 1 point is near)", figure_3),
        Experiment("Figures 4 and 5: seven models on ImageNet (within 1 point is near)", figures_4_and_5),
    ),
)
