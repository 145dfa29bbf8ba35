"""Metrics of calibration for probabilistic predictions: the experiments."""

from reproductions.cumulative import bins, captions, curves, growth, imagenet, power, theorems
from reproductions.lab import Experiment, Paper

PAPER = Paper(
    title="Metrics of calibration for probabilistic predictions",
    citation="I. Arrieta-Ibarra, P. Gujral, J. Tannen, M. Tygert, C. Xu (2022). Journal of Machine Learning Research 23.",
    experiments=(
        Experiment("Section 2: the noise of cumulative errors and its laws", theorems.theorems),
        Experiment("Figures 1, 35, 36: binned errors over the number of bins", bins.errors_over_bins),
        Experiment("Figure 2: chances of success", curves.chances),
        Experiment("Figures 3–6: reliability diagrams with bootstrap lines", bins.reliability_diagrams),
        Experiment("Figure 7: cumulative differences, observed and exact", curves.cumulative_plots),
        Experiment("Figures 8–10: errors as the sample grows", growth.growth),
        Experiment("Figures 8–10: power", power.power),
        Experiment("Captions of Figures 14–34: p-values and noise scales", captions.captions),
        Experiment("Figures 11–30: five classes of ImageNet, validation images", imagenet.classes),
        Experiment("Figures 31–34: all classes of ImageNet, validation images", imagenet.all_images),
        Experiment("Section 3.2: every class of ImageNet, validation images", imagenet.every_class),
    ),
)
